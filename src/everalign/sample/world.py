"""The invented world: typed entities, and facts between them with hubs and a long tail.

Entities are numbered kind by kind, the most popular of a kind first. Both sides are told from
this one world.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from everalign.sample.arrays import Flags, Floats, Ids
from everalign.sample.config import SampleConfig
from everalign.sample.growth import activity, cohorts, presence
from everalign.sample.schema import CONTAINMENT, FACT_TYPES, KINDS, FactType

_FEWEST_OF_A_KIND = 3
_FLAVOURS = 3
_COUNTRY_SKEW = 2.0
_CONTAINER_SKEW = 1.5
_FLAVOUR_SKEW = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class World:
    """The entities of each kind, what is true of each entity, and the facts of each type."""

    kinds: dict[str, range]
    cohort: Ids
    """The snapshot with which an entity comes."""
    flavour: Ids
    """A trait, such as being a feature film or a short, that decides how facts are told."""
    container: Ids
    """The region of a city, the country of a region, and for the others the entity itself."""
    on_left: Flags
    on_right: Flags
    facts: dict[str, tuple[Ids, Ids]]
    """The heads and the tails of each type of fact."""

    def __len__(self) -> int:
        return len(self.cohort)


def build_world(entities: int, config: SampleConfig, rng: Generator) -> World:
    """Invent a world of about `entities` entities."""
    kinds = _lay_out(entities)
    sizes = [len(kinds[kind.name]) for kind in KINDS]
    settled = np.repeat([kind.settled for kind in KINDS], sizes)
    cohort = np.where(settled, 0, np.concatenate([cohorts(n, config, rng) for n in sizes]))
    on_left, on_right = presence(cohort, settled, config, rng)
    container, home = _settle(kinds, len(cohort), rng)
    active = activity(cohort, rng)
    facts = {f"{inner}_in": _containment(kinds[inner], container) for inner, _ in CONTAINMENT}
    for fact_type in FACT_TYPES:
        facts[fact_type.name] = _facts(fact_type, kinds, home, active, rng)
    flavour = _skewed(np.full(len(cohort), _FLAVOURS), _FLAVOUR_SKEW, rng)
    return World(kinds, cohort, flavour, container, on_left, on_right, facts)


def _lay_out(entities: int) -> dict[str, range]:
    kinds, start = {}, 0
    for kind in KINDS:
        size = max(_FEWEST_OF_A_KIND, round(entities * kind.share))
        size = size if kind.most is None else min(size, kind.most)
        kinds[kind.name] = range(start, start + size)
        start += size
    return kinds


def _skewed(sizes: Ids, skew: float, rng: Generator) -> Ids:
    """Draw one position below each size; the larger the skew, the more of them are small."""
    return (rng.random(len(sizes)) ** skew * sizes).astype(np.int64)


def _settle(kinds: dict[str, range], count: int, rng: Generator) -> tuple[Ids, Ids]:
    """Return the container and the home country of each entity."""
    countries = kinds["country"]
    home = countries.start + _skewed(np.full(count, len(countries)), _COUNTRY_SKEW, rng)
    home[countries] = countries
    container = np.arange(count)
    for inner, outer in reversed(CONTAINMENT):
        places = np.asarray(kinds[inner])
        container[places] = _pick(
            kinds[outer], home[places], home, local=1.0, skew=_CONTAINER_SKEW, rng=rng
        )
        home[places] = home[container[places]]
    return container, home


def _pick(
    pool: range, wanted_home: Ids, home: Ids, *, local: float, skew: float, rng: Generator
) -> Ids:
    """Draw one of the pool for each wanted home; a `local` share of them is from that home."""
    by_home = pool.start + np.argsort(home[pool.start : pool.stop], kind="stable")
    start = np.searchsorted(home[by_home], wanted_home)
    size = np.searchsorted(home[by_home], wanted_home, side="right") - start
    near_position = np.minimum(start + _skewed(size, skew, rng), len(pool) - 1)
    far = pool.start + _skewed(np.full(len(wanted_home), len(pool)), skew, rng)
    is_near = (rng.random(len(wanted_home)) < local) & (size > 0)
    return np.where(is_near, by_home[near_position], far)


def _containment(inner: range, container: Ids) -> tuple[Ids, Ids]:
    places = np.asarray(inner)
    return places, container[places]


def _facts(
    fact_type: FactType, kinds: dict[str, range], home: Ids, active: Floats, rng: Generator
) -> tuple[Ids, Ids]:
    heads = _heads(fact_type, np.asarray(kinds[fact_type.head]), active, rng)
    tails = _pick(
        kinds[fact_type.tail],
        home[heads],
        home,
        local=fact_type.local,
        skew=fact_type.skew,
        rng=rng,
    )
    proper = heads != tails
    return heads[proper], tails[proper]


def _heads(fact_type: FactType, entities: Ids, active: Floats, rng: Generator) -> Ids:
    """Return each entity as often as it has facts of the type."""
    if fact_type.functional:
        chance = fact_type.mean * np.sqrt(active[entities])
        return entities[rng.random(len(entities)) < chance]
    return np.repeat(entities, rng.poisson(fact_type.mean * active[entities]))
