"""The synthetic world that both graphs of a sample describe: typed entities and facts.

The tables `KINDS` and `FACT_TYPES` define what exists; a row added here also needs a rendering
in `views`. Entity ids are assigned kind by kind, the most popular entity of a kind first.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from everalign.benchmark.synthetic.config import SampleConfig

Ids = NDArray[np.signedinteger]
"""Ids of entities or relations, or snapshot numbers: a column or a table of them."""
ID_TYPE = np.int32
"""The type of ids in long arrays: facts of the world and triples of the graphs."""
Flags = NDArray[np.bool_]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EntityKind:
    """A kind of entity, such as a country or a film."""

    name: str
    share: float
    """Share of all entities."""
    max_count: int | None = None
    """Maximum number of entities of this kind."""
    always_shared: bool = False
    """Whether all entities are in both graphs from snapshot 0 on, as countries are."""
    label_words: int = 1
    """Number of words of a label."""


@dataclass(frozen=True)
class FactType:
    """A type of fact: a directed relation between two kinds of entities."""

    name: str
    head: str
    """The kind of the head entities."""
    tail: str
    """The kind of the tail entities."""
    mean_count: float
    """Mean number of facts of this type of a head entity, before its activity is applied."""
    functional: bool = False
    """Whether a head has at most one fact of this type."""
    local: float = 0.7
    """Share of the tails that are in the country of the head."""
    skew: float = 2.0
    """Exponent on a uniform draw of the tail: above 1, popular tails are preferred."""


KINDS = (
    EntityKind("country", 0.006, max_count=200, always_shared=True),
    EntityKind("region", 0.03, max_count=5_000, always_shared=True),
    EntityKind("language", 0.006, max_count=300, always_shared=True),
    EntityKind("profession", 0.008, max_count=400, always_shared=True),
    EntityKind("genre", 0.010, max_count=500, always_shared=True),
    EntityKind("city", 0.14),
    EntityKind("person", 0.38, label_words=2),
    EntityKind("company", 0.07, label_words=2),
    EntityKind("university", 0.02, label_words=2),
    EntityKind("club", 0.05, label_words=2),
    EntityKind("film", 0.11, label_words=3),
    EntityKind("book", 0.06, label_words=3),
    EntityKind("album", 0.05, label_words=3),
    EntityKind("event", 0.05, label_words=2),
    EntityKind("award", 0.01, label_words=2),
)

FACT_TYPES = (
    FactType("capital", "country", "city", 1.0, functional=True, local=1.0, skew=6.0),
    FactType("official_language", "country", "language", 1.4, local=0.0),
    FactType("region_neighbour", "region", "region", 1.2, local=0.9, skew=1.0),
    FactType("region_seat", "region", "city", 0.9, functional=True, local=1.0),
    FactType("twin_town", "city", "city", 0.4, local=0.1),
    FactType("mayor", "city", "person", 0.4, functional=True, local=1.0, skew=1.3),
    FactType("birth_place", "person", "city", 0.9, functional=True, local=0.85),
    FactType("death_place", "person", "city", 0.45, functional=True, local=0.7),
    FactType("residence", "person", "city", 0.3),
    FactType("citizenship", "person", "country", 0.6, local=0.9),
    FactType("profession", "person", "profession", 1.1, local=0.0),
    FactType("spoken_language", "person", "language", 0.2, local=0.0),
    FactType("spouse", "person", "person", 0.25, local=0.9, skew=1.2),
    FactType("parent", "person", "person", 0.3, local=0.95, skew=1.2),
    FactType("influence", "person", "person", 0.4, local=0.5, skew=2.5),
    FactType("education", "person", "university", 0.5),
    FactType("employment", "person", "company", 0.35),
    FactType("membership", "person", "club", 0.5),
    FactType("honour", "person", "award", 0.4, local=0.4),
    FactType("headquarters", "company", "city", 0.9, functional=True, local=0.95),
    FactType("founder", "company", "person", 0.6, local=0.9, skew=1.3),
    FactType("owner", "company", "company", 0.4, functional=True),
    FactType("campus", "university", "city", 1.0, functional=True, local=1.0),
    FactType("rector", "university", "person", 0.6, functional=True, skew=1.3),
    FactType("home_ground", "club", "city", 1.0, functional=True, local=1.0),
    FactType("coach", "club", "person", 0.8, skew=1.3),
    FactType("rival", "club", "club", 0.4, skew=1.5),
    FactType("film_director", "film", "person", 1.0, functional=True, skew=1.6),
    FactType("film_writer", "film", "person", 0.8, skew=1.6),
    FactType("cast", "film", "person", 2.2, skew=1.8),
    FactType("film_genre", "film", "genre", 1.0, local=0.0),
    FactType("film_country", "film", "country", 0.8, functional=True, local=0.9),
    FactType("film_studio", "film", "company", 0.6),
    FactType("author", "book", "person", 1.0, functional=True, skew=1.6),
    FactType("publisher", "book", "company", 0.7, functional=True),
    FactType("book_genre", "book", "genre", 0.8, local=0.0),
    FactType("book_language", "book", "language", 0.5, functional=True, local=0.0),
    FactType("adaptation", "book", "film", 0.15, functional=True, skew=1.3),
    FactType("performer", "album", "person", 1.0, functional=True, skew=1.6),
    FactType("record_label", "album", "company", 0.7, functional=True),
    FactType("album_genre", "album", "genre", 0.9, local=0.0),
    FactType("next_album", "album", "album", 0.5, functional=True, local=0.9, skew=1.0),
    FactType("venue", "event", "city", 0.9, functional=True),
    FactType("participant", "event", "person", 1.6, skew=1.5),
    FactType("winner", "event", "club", 0.5, functional=True, local=0.5),
    FactType("next_event", "event", "event", 0.5, functional=True, local=0.9, skew=1.0),
    FactType("donor", "award", "company", 0.8, functional=True),
)

CONTAINMENT = (("city", "region"), ("region", "country"))
"""Each entity of the first kind is located in one of the second: facts `city_in`, `region_in`."""


# The constants below are chosen so that degrees, growth and the share of entities with a
# counterpart are close to those of the datasets of the ContEA paper.

# New entities have few facts each, so for the same growth in triples the number of entities must
# grow this many times faster.
_NEW_ENTITY_FACTOR = 3.5
# Weight of chance, relative to popularity, in the order in which entities are added.
_ORDER_NOISE = 0.6
# Mean number of facts of entities of snapshot 0 and of later ones, relative to the fact types.
_BASE_ACTIVITY, _NEW_ACTIVITY = 4.5, 0.5
# Standard deviation of the logarithm of the activity: a few entities have many facts.
_ACTIVITY_SIGMA = 0.6
# Probability, at each snapshot, that a delayed fact is added: the delay is geometric.
_ARRIVAL_PROBABILITY = 0.35
# Below one half, because the right graph of the paper's datasets is the larger one.
_LEFT_ONLY_SHARE = 0.42


def draw_cohorts(count: int, config: SampleConfig, rng: Generator) -> Ids:
    """Draw the snapshot in which each entity of a kind is added.

    Args:
        count: The number of entities, the most popular first.
        config: The settings of the sample.
        rng: The random generator.

    Returns:
        The snapshot number of each entity.
    """
    position = (np.arange(count) + 0.5) / count
    order = np.argsort(position + _ORDER_NOISE * rng.random(count), kind="stable")
    growth = (1 + config.growth) ** np.arange(config.snapshots) - 1
    size = 1 + _NEW_ENTITY_FACTOR * growth
    cohort = np.empty(count, dtype=np.int64)
    # Places in the order are filled snapshot by snapshot, each up to its share of the final size.
    cohort[order] = np.searchsorted(size / size[-1], position)
    return cohort


def draw_activity(cohort: Ids, rng: Generator) -> Floats:
    """Draw the number of facts of each entity, relative to the mean of a fact type.

    Args:
        cohort: The snapshot in which each entity is added.
        rng: The random generator.

    Returns:
        A log-normal factor for each entity.
    """
    # A log-normal variable with mean 1 has a mean logarithm of -sigma²/2.
    spread = rng.lognormal(-(_ACTIVITY_SIGMA**2) / 2, _ACTIVITY_SIGMA, len(cohort))
    return spread * np.where(cohort == 0, _BASE_ACTIVITY, _NEW_ACTIVITY)


def draw_presence(
    cohort: Ids, always_shared: Flags, config: SampleConfig, rng: Generator
) -> tuple[Flags, Flags]:
    """Draw which entities are in the left graph and which are in the right graph.

    Args:
        cohort: The snapshot in which each entity is added.
        always_shared: Which entities are in both graphs in any case.
        config: The settings of the sample.
        rng: The random generator.

    Returns:
        A mask for the left graph and one for the right graph.
    """
    share = np.where(cohort == 0, config.one_sided_share, config.new_one_sided_share)
    one_sided = (rng.random(len(cohort)) < share) & ~always_shared
    left_only = rng.random(len(cohort)) < _LEFT_ONLY_SHARE
    return ~one_sided | left_only, ~one_sided | ~left_only


def draw_arrivals(first_possible: Ids, config: SampleConfig, rng: Generator) -> Ids:
    """Draw the snapshot in which each fact is added to a graph.

    Args:
        first_possible: The first snapshot in which both entities of the fact exist.
        config: The settings of the sample.
        rng: The random generator.

    Returns:
        The snapshot of each fact: usually the first possible one, sometimes a later one.
    """
    is_late = rng.random(len(first_possible)) < config.late_share
    return first_possible + is_late * rng.geometric(_ARRIVAL_PROBABILITY, len(first_possible))


def draw_repeats(arrival: Ids, snapshot: int, config: SampleConfig, rng: Generator) -> Ids:
    """Draw the triples of earlier snapshots that a snapshot repeats.

    Args:
        arrival: The snapshot in which each triple is added.
        snapshot: The snapshot that repeats triples.
        config: The settings of the sample.
        rng: The random generator.

    Returns:
        The row numbers of the repeated triples.
    """
    earlier = np.flatnonzero(arrival < snapshot)
    count = round(config.repeated_share * np.count_nonzero(arrival == snapshot))
    return rng.choice(earlier, min(count, len(earlier)), replace=False)


# A pool of one or two tails would leave next to nothing to draw from in the smallest samples.
_MIN_KIND_SIZE = 3
# The largest number of relations that a fact type is split into in `views`.
_VARIANTS = 3
# Exponents on uniform draws: few countries, regions and variants hold most of the entities.
_COUNTRY_SKEW = 2.0
_CONTAINER_SKEW = 1.5
_VARIANT_SKEW = 2.0


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticWorld:
    """The entities of each kind, their properties, and the facts of each type."""

    ids_by_kind: dict[str, range]
    cohort: Ids
    """The snapshot in which each entity is added."""
    variant: Ids
    """A property of each entity that selects the relation where a fact type has several."""
    container: Ids
    """The region of a city, the country of a region, and the entity itself for other kinds."""
    on_left: Flags
    """Which entities are in the left graph."""
    on_right: Flags
    """Which entities are in the right graph."""
    facts: dict[str, tuple[Ids, Ids]]
    """The heads and the tails of the facts of each type."""

    def __len__(self) -> int:
        return len(self.cohort)


def build_world(entities: int, config: SampleConfig, rng: Generator) -> SyntheticWorld:
    """Generate a world.

    Args:
        entities: The approximate number of entities.
        config: The settings of the sample.
        rng: The random generator. The order of draws is part of the format of a sample.

    Returns:
        The world.
    """
    kinds = _assign_ids(entities)
    sizes = [len(kinds[kind.name]) for kind in KINDS]
    always_shared = np.repeat([kind.always_shared for kind in KINDS], sizes)
    cohort = np.where(
        always_shared, 0, np.concatenate([draw_cohorts(n, config, rng) for n in sizes])
    )
    on_left, on_right = draw_presence(cohort, always_shared, config, rng)
    container, home = _assign_places(kinds, len(cohort), rng)
    activity = draw_activity(cohort, rng)
    facts = {
        f"{inner}_in": _containment_facts(kinds[inner], container) for inner, _ in CONTAINMENT
    }
    for fact_type in FACT_TYPES:
        facts[fact_type.name] = _draw_facts(fact_type, kinds, home, activity, rng)
    variant = _draw_skewed(np.full(len(cohort), _VARIANTS), _VARIANT_SKEW, rng)
    return SyntheticWorld(kinds, cohort, variant, container, on_left, on_right, facts)


def _assign_ids(entities: int) -> dict[str, range]:
    ids_by_kind, start = {}, 0
    for kind in KINDS:
        size = max(_MIN_KIND_SIZE, round(entities * kind.share))
        size = size if kind.max_count is None else min(size, kind.max_count)
        ids_by_kind[kind.name] = range(start, start + size)
        start += size
    return ids_by_kind


def _draw_skewed(sizes: Ids, skew: float, rng: Generator) -> Ids:
    """Draw an index below each size; the larger the skew, the more of them are small."""
    return (rng.random(len(sizes)) ** skew * sizes).astype(np.int64)


def _assign_places(kinds: dict[str, range], count: int, rng: Generator) -> tuple[Ids, Ids]:
    """Return the container and the home country of each entity."""
    countries = kinds["country"]
    home = countries.start + _draw_skewed(np.full(count, len(countries)), _COUNTRY_SKEW, rng)
    home[countries] = countries
    # Outer places first: the home country of a place follows from its container.
    container = np.arange(count)
    for inner, outer in reversed(CONTAINMENT):
        places = np.asarray(kinds[inner])
        container[places] = _draw_tails(
            kinds[outer], home[places], home, local=1.0, skew=_CONTAINER_SKEW, rng=rng
        )
        home[places] = home[container[places]]
    return container, home


def _draw_tails(
    pool: range, head_home: Ids, home: Ids, *, local: float, skew: float, rng: Generator
) -> Ids:
    """Draw a tail from the pool for each home; a share of `local` is from the same home."""
    # Sorted by home country, the candidates of each country are one slice of `by_home`.
    by_home = pool.start + np.argsort(home[pool.start : pool.stop], kind="stable")
    start = np.searchsorted(home[by_home], head_home)
    size = np.searchsorted(home[by_home], head_home, side="right") - start
    local_position = np.minimum(start + _draw_skewed(size, skew, rng), len(pool) - 1)
    anywhere = pool.start + _draw_skewed(np.full(len(head_home), len(pool)), skew, rng)
    is_local = (rng.random(len(head_home)) < local) & (size > 0)
    return np.where(is_local, by_home[local_position], anywhere)


def _containment_facts(inner: range, container: Ids) -> tuple[Ids, Ids]:
    places = np.asarray(inner)
    return places, container[places]


def _draw_facts(
    fact_type: FactType, kinds: dict[str, range], home: Ids, activity: Floats, rng: Generator
) -> tuple[Ids, Ids]:
    heads = _draw_heads(fact_type, np.asarray(kinds[fact_type.head]), activity, rng)
    tails = _draw_tails(
        kinds[fact_type.tail],
        home[heads],
        home,
        local=fact_type.local,
        skew=fact_type.skew,
        rng=rng,
    )
    distinct = heads != tails
    return heads[distinct].astype(ID_TYPE), tails[distinct].astype(ID_TYPE)


def _draw_heads(fact_type: FactType, entities: Ids, activity: Floats, rng: Generator) -> Ids:
    """Repeat each entity as often as it has facts of the type."""
    if fact_type.functional:
        # The square root dampens activity, which would otherwise push most probabilities past 1.
        probability = fact_type.mean_count * np.sqrt(activity[entities])
        return entities[rng.random(len(entities)) < probability]
    return np.repeat(entities, rng.poisson(fact_type.mean_count * activity[entities]))
