"""Which classes of the two graphs correspond, as the links of their instances tell.

As with relations, it is estimated how far one class is contained in the other: the share of the
linked instances of the left class whose counterparts have the right class, and the other way
round. A link counts with its confidence.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.graph.id_sets import mark_members
from everalign.scope import TYPE
from everalign.session import AlignmentSession
from everalign.state.snapshots import SIDES
from everalign.types import ClassAlignment

# Counts as that many linked instances that have other classes: one link alone proves little.
PRIOR_COUNT = 1.0


class LinkedPairs(NamedTuple):
    """Links as columns.

    Attributes:
        left: Left entity of each.
        right: Right entity of each.
        weight: Confidence of each; 1 for given links.
    """

    left: IntArray
    right: IntArray
    weight: NDArray[np.float64]


class ClassCounts(NamedTuple):
    """Pairs of classes with the links that they share, in ids."""

    left: IntArray
    right: IntArray
    support: NDArray[np.float64]
    left_in_right: NDArray[np.float64]
    right_in_left: NDArray[np.float64]

    def select(self, chosen: NDArray[np.bool_]) -> ClassCounts:
        """Select some of the pairs.

        Args:
            chosen: A mask over the pairs.

        Returns:
            Those pairs.
        """
        return ClassCounts(
            self.left[chosen],
            self.right[chosen],
            self.support[chosen],
            self.left_in_right[chosen],
            self.right_in_left[chosen],
        )


def align_classes(session: AlignmentSession, min_inclusion: float = 0.0) -> list[ClassAlignment]:
    """Align the classes of the last version.

    Args:
        session: An open alignment.
        min_inclusion: Leave out pairs whose inclusion is less in both directions.

    Returns:
        Pairs of classes, best first.
    """
    snapshot = session.snapshot
    types = []
    for index, side in enumerate(SIDES):
        relation = session.vocabulary(side).relations.find(TYPE)
        triples = snapshot.triples[index]
        types.append(triples[triples[:, 1] == (-1 if relation is None else relation)][:, [0, 2]])
    counts = count_shared(types[0], types[1], _read_links(session))
    chosen = np.maximum(counts.left_in_right, counts.right_in_left) >= min_inclusion
    rows = counts.select(chosen)
    left, right = (
        session.vocabulary(side).entities.map_names(ids.tolist())
        for side, ids in zip(SIDES, (rows.left, rows.right), strict=True)
    )
    found = [
        ClassAlignment(left[row[0]], right[row[1]], row[3], row[4], row[2])
        for row in zip(*(column.tolist() for column in rows), strict=True)
    ]
    return sorted(
        found,
        key=lambda pair: (
            -min(pair.left_in_right, pair.right_in_left), -pair.support, pair.left, pair.right
        ),
    )  # fmt: skip


def count_shared(left_types: IntArray, right_types: IntArray, links: LinkedPairs) -> ClassCounts:
    """Count the links between the instances of classes.

    Args:
        left_types: Rows of (entity, class) of the left graph.
        right_types: The same of the right graph.
        links: The links.

    Returns:
        The pairs of classes that share a link.

    >>> types = np.array([[0, 7], [1, 7]], dtype=np.int32)
    >>> links = LinkedPairs(np.array([0, 1]), np.array([0, 1]), np.ones(2))
    >>> count_shared(types, types[:1], links).support.tolist()
    [1.0]
    """
    # Only links of which both entities have a class can tell.
    known = np.isin(links.left, left_types[:, 0]) & np.isin(links.right, right_types[:, 0])
    links = LinkedPairs(links.left[known], links.right[known], links.weight[known])
    left_link, left_class = _join(links.left, left_types)
    right_link, right_class = _join(links.right, right_types)
    left_total = np.bincount(left_class, links.weight[left_link], minlength=1)
    right_total = np.bincount(right_class, links.weight[right_link], minlength=1)
    # All pairs of a class of the left and one of the right entity of a link.
    start = np.searchsorted(right_link, left_link, "left")
    size = np.searchsorted(right_link, left_link, "right") - start
    place = np.repeat(start - np.append(0, np.cumsum(size)[:-1]), size) + np.arange(size.sum())
    width = len(right_total)
    keys = np.repeat(left_class.astype(np.int64), size) * width + right_class[place]
    pairs, number = np.unique(keys, return_inverse=True)
    weight = np.repeat(links.weight[left_link], size)
    support = np.bincount(number, weight, len(pairs)).astype(np.float64)
    left, right = (pairs // width).astype(np.int32), (pairs % width).astype(np.int32)
    return ClassCounts(
        left,
        right,
        support,
        support / (left_total[left] + PRIOR_COUNT),
        support / (right_total[right] + PRIOR_COUNT),
    )


def _join(entities: IntArray, types: IntArray) -> tuple[NDArray[np.int64], IntArray]:
    """The number of the link and the class, for each class of each entity."""
    order = np.argsort(types[:, 0], kind="stable")
    types = types[order]
    types = types[mark_members(np.sort(entities), types[:, 0])]
    start = np.searchsorted(types[:, 0], entities, "left")
    size = np.searchsorted(types[:, 0], entities, "right") - start
    place = np.repeat(start - np.append(0, np.cumsum(size)[:-1]), size) + np.arange(size.sum())
    return np.repeat(np.arange(len(entities)), size), types[place, 1]


def _read_links(session: AlignmentSession) -> LinkedPairs:
    links = session.store.read_links().links
    pairs: Iterable[tuple[int, int]] = links.keys()
    rows = np.array(list(pairs), dtype=np.int32).reshape(-1, 2)
    weight = np.array([1.0 if link.confirmed else link.score for link in links.values()])
    return LinkedPairs(rows[:, 0], rows[:, 1], weight.astype(np.float64))
