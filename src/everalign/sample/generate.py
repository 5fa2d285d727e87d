"""A sample from a config: the world, its two sides, and the gold links between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from everalign.sample.arrays import Ids
from everalign.sample.config import SampleConfig
from everalign.sample.names import Names, invent_names
from everalign.sample.render import View, render
from everalign.sample.side import LEFT_LANGUAGE, RIGHT_LANGUAGE, Side, Triple, name_view
from everalign.sample.world import World, build_world

Link = tuple[str, str]

# A first guess, mended by trying.
_TRIPLES_PER_ENTITY = 3
_TRIES, _MOST_TRIED_TRIPLES = 4, 20_000


@dataclass(frozen=True, eq=False, repr=False)
class Sample:
    """Two graphs of one invented world that grow, and the links between them.

    >>> sample = generate(SampleConfig(triples=1_000, snapshots=2))
    >>> head, relation, tail = sample.left(0)[0]
    >>> head.startswith("http://left.example/entity/")
    True
    >>> set(sample.gold(1)) == set(sample.gold(0)) | set(sample.new_gold(1))
    True
    """

    config: SampleConfig
    seeds: list[Link]
    valid: list[Link]
    test: list[list[Link]]
    """The test links that come with each snapshot."""
    names: Names
    left_side: Side
    right_side: Side

    def left(self, snapshot: int) -> list[Triple]:
        """Return the triples that the snapshot adds to the left graph."""
        return self.left_side.triples(snapshot)

    def right(self, snapshot: int) -> list[Triple]:
        """Return the triples that the snapshot adds to the right graph."""
        return self.right_side.triples(snapshot)

    def gold(self, snapshot: int) -> list[Link]:
        """Return all test links at the snapshot: both entities are in the graphs by then."""
        until = range(len(self.test))[snapshot]
        return [link for links in self.test[: until + 1] for link in links]

    def new_gold(self, snapshot: int) -> list[Link]:
        """Return the test links that come with the snapshot."""
        return list(self.test[snapshot])

    def left_labels(self) -> Iterator[tuple[str, str]]:
        """Yield left entities with their labels in Latin letters."""
        return self.left_side.labels(self.names, self.config.misspelt_share)

    def right_labels(self) -> Iterator[tuple[str, str]]:
        """Yield right entities with their labels in Greek letters."""
        return self.right_side.labels(self.names, self.config.misspelt_share)


def generate(config: SampleConfig) -> Sample:
    """Generate the sample of a config: always the same one for the same config.

    >>> one, two = generate(SampleConfig(triples=1_000)), generate(SampleConfig(triples=1_000))
    >>> one.right(0) == two.right(0)
    True
    """
    seeds = _Seeds(*SeedSequence(config.seed).spawn(len(_Seeds._fields)))
    world, left_view, right_view = _views(_entities_for(config, seeds), config, seeds)
    names = invent_names(world, default_rng(seeds.names))
    left = name_view(left_view, LEFT_LANGUAGE, seeds.left)
    right = name_view(right_view, RIGHT_LANGUAGE, seeds.right)
    links = _links(left, right, len(world), config, default_rng(seeds.links))
    return Sample(config, *links, names, left, right)


class _Seeds(NamedTuple):
    """One per part, so that a change in one part leaves the others as they were."""

    world: SeedSequence
    left_view: SeedSequence
    right_view: SeedSequence
    names: SeedSequence
    left: SeedSequence
    right: SeedSequence
    links: SeedSequence


def _views(entities: int, config: SampleConfig, seeds: _Seeds) -> tuple[World, View, View]:
    world = build_world(entities, config, default_rng(seeds.world))
    left_rng, right_rng = default_rng(seeds.left_view), default_rng(seeds.right_view)
    left = render(world, world.on_left, LEFT_LANGUAGE.rules, config, left_rng)
    right = render(world, world.on_right, RIGHT_LANGUAGE.rules, config, right_rng)
    return world, left, right


def _entities_for(config: SampleConfig, seeds: _Seeds) -> int:
    """Return the size of the world that gives about the wanted triples, by trying some."""
    wanted = min(config.triples, _MOST_TRIED_TRIPLES)
    entities, triples_of = wanted // _TRIPLES_PER_ENTITY, {}
    for _ in range(_TRIES):
        _, left, right = _views(entities, config, seeds)
        triples_of[entities] = max(1, left.size() + right.size())
        entities = round(entities * wanted / triples_of[entities])
    closest = min(triples_of, key=lambda tried: abs(triples_of[tried] - wanted))
    if wanted == config.triples:
        return closest
    return round(closest * config.triples / triples_of[closest])


def _links(
    left: Side, right: Side, shared: int, config: SampleConfig, rng: Generator
) -> tuple[list[Link], list[Link], list[list[Link]]]:
    """Link what both sides have; the links of snapshot 0 become seeds, valid and test."""
    since = np.maximum(left.view.first_seen()[:shared], right.view.first_seen()[:shared])
    new = [rng.permutation(np.flatnonzero(since == t)) for t in range(config.snapshots)]
    seeds = round(config.seed_share * len(new[0]))
    given = seeds + round(config.valid_share * len(new[0]))

    def named(entities: Ids) -> list[Link]:
        return [(left.entities[i], right.entities[i]) for i in entities.tolist()]

    test = [new[0][given:], *new[1:]]
    return named(new[0][:seeds]), named(new[0][seeds:given]), [named(links) for links in test]
