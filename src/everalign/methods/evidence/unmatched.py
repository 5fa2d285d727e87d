"""Entities without a counterpart: how many there are, and who.

Nobody tells which entities have none. But hidden links show what the best candidate of an entity
looks like that has a counterpart, and, with the true pair left out, of one that has none. So
trees can learn from the looks of an entity's best candidate how likely it is to be unmatched if
half of all entities were; how many really are then follows from the looks of them all
(expectation maximisation), apart for entities that came with different versions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.candidates import RANK, Table, standings
from everalign.methods.evidence.judge import Lesson, Size
from everalign.methods.evidence.labels import NOBODY, Labels
from everalign.methods.evidence.panel import Panel
from everalign.methods.evidence.rounds import Scene
from everalign.methods.evidence.side import Floats

STEPS = 50  # of expectation maximisation: it has converged long before
CAUTION = 0.1  # the weight of a half against what expectation maximisation says
LEAST, MOST = 0.02, 0.98  # a share is never taken for certain

Shares = tuple[Floats, Floats]  # of entities with a counterpart, left and right


def learn_absence(
    scene: Scene, labels: Labels, probability: Floats, size: Size, seed: int
) -> Panel:
    """Trees that tell the best candidate of an unmatched entity from that of a matched one."""
    correct = labels.correct(scene.table)
    bereft = scene.without(correct)
    present, often = _best_of_labelled(scene.table, labels, probability)
    absent, bereft_often = _best_of_labelled(bereft.table, labels, probability[~correct])
    rows = np.concatenate([scene.features(present), bereft.features(absent)])
    label = np.repeat([False, True], [len(present), len(absent)])
    fold = np.concatenate([labels.fold(scene.table)[present], labels.fold(bereft.table)[absent]])
    even = often.sum() / max(1, bereft_often.sum())
    weight = np.concatenate([often, bereft_often * even]).astype(np.float32)
    lesson = Lesson(rows, label, weight, fold)
    return Panel.learn(lesson, size, seed, literals=scene.said is not None)


def _best_of_labelled(
    table: Table, labels: Labels, score: Floats
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The rows that are the best of an entity with a hidden link, and of how many they are."""
    left, right = standings(table, score)
    known_left = labels.of_left[table.left] != NOBODY
    known_right = labels.of_right[table.right] != NOBODY
    often = ((left[:, RANK] == 0) & known_left).astype(np.int64)
    often += (right[:, RANK] == 0) & known_right
    rows = np.flatnonzero(often)
    return rows, often[rows]


@dataclass(frozen=True)
class Groups:
    """The group of every entity: the version that it came with."""

    left: NDArray[np.int64]
    right: NDArray[np.int64]

    @staticmethod
    def of(arrivals: NDArray[np.int64]) -> Groups:
        """From the number of entities on either side after each version."""
        counts = np.diff(arrivals, axis=0, prepend=0)
        versions = np.arange(len(arrivals))
        return Groups(np.repeat(versions, counts[:, 0]), np.repeat(versions, counts[:, 1]))


def shares(
    table: Table,
    absence: Floats,
    probability: Floats,
    groups: Groups,
    free: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    empty: float,
) -> Shares:
    """The share of entities of each group that have a counterpart.

    `empty` is the probability of being unmatched, if half of all are, of an entity that has no
    candidate at all.
    """
    of_left, of_right = standings(table, probability)
    out = []
    for entity, standing, group, mine in (
        (table.left, of_left, groups.left, free[0]),
        (table.right, of_right, groups.right, free[1]),
    ):
        best = standing[:, RANK] == 0
        alone = np.full(len(group), empty, dtype=np.float32)
        alone[entity[best]] = absence[best]
        out.append(_expectation_maximisation(alone[mine], group[mine], int(group.max()) + 1))
    return out[0], out[1]


def _expectation_maximisation(absence: Floats, group: NDArray[np.int64], groups: int) -> Floats:
    size = np.maximum(1, np.bincount(group, minlength=groups))
    share = np.full(groups, 0.5)
    for _ in range(STEPS):
        present = share[group] * (1 - absence)
        present /= present + (1 - share[group]) * absence
        share = np.clip(np.bincount(group, present, minlength=groups) / size, LEAST, MOST)
    # Where entities have few triples, the looks tell little, and the share ends near 0 or 1.
    return ((1 - CAUTION) * share + CAUTION / 2).astype(np.float32)


def confidence(
    table: Table, probability: Floats, absence: Floats, share: Shares, groups: Groups
) -> Floats:
    """The probability of a pair, given that its entities may have no counterpart at all."""
    prior = _prior(share, groups.left[table.left], groups.right[table.right])
    present = prior * (1 - absence)
    return (probability * present / (present + (1 - prior) * absence)).astype(np.float32)


def _prior(share: Shares, left: NDArray[np.int64], right: NDArray[np.int64]) -> Floats:
    """The share that goes for a pair of entities of these groups.

    Both sides tell of the same links, and where entities have few triples, less than there is: so
    two late arrivals get the greater share. But a late arrival is rarely the counterpart of an
    entity that was there from the beginning: for such a pair, the lesser share counts.
    """
    one, two = share[0][left], share[1][right]
    late = (left > 0) & (right > 0)
    return np.where(late, np.maximum(one, two), np.minimum(one, two))


def expected_links(
    share: Shares, groups: Groups, free: tuple[NDArray[np.bool_], NDArray[np.bool_]]
) -> float:
    """How many links there are, as far as the shares tell.

    The two sides give two numbers. The higher one it is: of entities with few triples, more
    have a counterpart than can be told.
    """
    return max(
        float(of_group[group[mine]].sum())
        for of_group, group, mine in zip(share, (groups.left, groups.right), free, strict=True)
    )


def threshold(confidence: Floats, links: float) -> float:
    """The confidence from which on taking pairs gives the best expected F1.

    `confidence` is that of pairs that exclude each other nowhere, `links` the expected number
    of links there are.

    >>> threshold(np.array([0.9, 0.8, 0.2], dtype=np.float32), links=2.0) > 0.2
    True
    """
    if len(confidence) == 0:
        return 0.5
    best_first = np.sort(confidence)[::-1].astype(np.float64)
    f1 = 2 * np.cumsum(best_first) / (np.arange(1, len(best_first) + 1) + links)
    return float(best_first[np.argmax(f1)])
