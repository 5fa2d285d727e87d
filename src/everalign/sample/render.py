"""One side's view of the world, as a graph that grows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from everalign.sample.arrays import Flags, Ids
from everalign.sample.config import SampleConfig
from everalign.sample.growth import arrivals, repeats
from everalign.sample.views import Rule
from everalign.sample.world import World


@dataclass(frozen=True, eq=False, repr=False)
class View:
    """The triples of one side as numbers.

    Entities that are also in the world keep its numbers; the side's own come after them.
    """

    relations: tuple[str, ...]
    entities: int
    snapshots: tuple[Ids, ...]
    """The triples that come with each snapshot, as rows in random order."""

    def size(self) -> int:
        """Return how many triples come with all snapshots."""
        return sum(len(triples) for triples in self.snapshots)

    def first_seen(self) -> Ids:
        """Return the snapshot in which each entity is seen first; `len(snapshots)` for never."""
        seen = np.full(self.entities, len(self.snapshots))
        for snapshot in reversed(range(len(self.snapshots))):
            seen[self.snapshots[snapshot][:, [0, 2]]] = snapshot
        return seen


class _Facts(NamedTuple):
    heads: Ids
    tails: Ids
    arrival: Ids


def render(
    world: World, on_side: Flags, rules: Sequence[Rule], config: SampleConfig, rng: Generator
) -> View:
    """Tell the world by the rules of one side, which has only some of the entities and facts."""
    relations = tuple(dict.fromkeys(name for rule in rules for name in rule.all_relations))
    number = {name: index for index, name in enumerate(relations)}
    entities, told = len(world), []
    for rule in rules:
        facts = _known(world, on_side, rule, config, rng)
        choice = np.array([number[name] for name in rule.relations])
        relation = choice[world.flavour[facts.heads] % len(choice)]
        if rule.reified is None:
            told.append(_direct(facts, relation, inverted=rule.inverted))
        else:
            told.append(_reified(facts, number[rule.reified], relation, entities))
            entities += len(facts.heads)
    triples = _in_time_and_once(np.concatenate(told), config.snapshots)
    return View(relations, entities, _by_snapshot(triples, config, rng))


def _known(
    world: World, on_side: Flags, rule: Rule, config: SampleConfig, rng: Generator
) -> _Facts:
    """Return the facts that the side knows, with its errors and its granularity."""
    heads, tails = world.facts[rule.fact]
    known = rng.random(len(heads)) >= config.missing_share
    heads, tails = heads[known], tails[known]
    wrong = rng.random(len(heads)) < config.wrong_share
    tails = np.where(wrong, rng.permutation(tails), tails)
    for _ in range(rule.lifted):
        tails = world.container[tails]
    kept = on_side[heads] & on_side[tails] & (heads != tails)
    heads, tails = heads[kept], tails[kept]
    known_from = np.maximum(world.cohort[heads], world.cohort[tails])
    return _Facts(heads, tails, arrivals(known_from, config, rng))


def _direct(facts: _Facts, relation: Ids, *, inverted: bool) -> Ids:
    heads, tails, arrival = facts
    if inverted:
        heads, tails = tails, heads
    return np.column_stack([heads, relation, tails, arrival])


def _reified(facts: _Facts, to_head: int, to_tail: Ids, first_event: int) -> Ids:
    """Tell each fact by an extra entity, such as a marriage, that points to head and tail."""
    heads, tails, arrival = facts
    events = first_event + np.arange(len(heads))
    about_head = np.column_stack([events, np.full(len(heads), to_head), heads, arrival])
    about_tail = np.column_stack([events, to_tail, tails, arrival])
    return np.concatenate([about_head, about_tail])


def _in_time_and_once(triples: Ids, snapshots: int) -> Ids:
    """Drop what comes after the last snapshot, and all but the first arrival of a triple."""
    triples = triples[triples[:, 3] < snapshots]
    triples = triples[np.lexsort(triples.T[::-1])]
    first = np.ones(len(triples), dtype=np.bool_)
    first[1:] = np.any(np.diff(triples[:, :3], axis=0) != 0, axis=1)
    return triples[first]


def _by_snapshot(triples: Ids, config: SampleConfig, rng: Generator) -> tuple[Ids, ...]:
    arrival = triples[:, 3]
    rows = [
        np.concatenate([np.flatnonzero(arrival == t), repeats(arrival, t, config, rng)])
        for t in range(config.snapshots)
    ]
    return tuple(triples[rng.permutation(chosen), :3] for chosen in rows)
