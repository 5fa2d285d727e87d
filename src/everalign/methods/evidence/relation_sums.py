"""The sums behind relation alignment, kept up to date by differences.

`relations` states the formula. Its sums run over all edges; a change of some facts or matches
changes only the summands of the edges near them, which are taken out before the change and put in
after it. Sums are kept in fixed point, so that taking out is exact: after any number of updates
they are the same as if they were made anew.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph.growing import Offsets
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, find_first
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.relations import (
    Matches,
    MatchIndex,
    RelationInclusions,
    compute_inclusions,
)

# One in fixed point. Products of probabilities are at most 1, so that sums of 2^33 of them fit.
SCALE = 1 << 30

Sums = NDArray[np.int64]


class SumsChange(NamedTuple):
    """By how much sums differ, without those that do not.

    Attributes:
        key: Pairs of directed relations as in `RelationSums`, ascending.
        cooccurrence: The difference of each.
        left: Left directed relations, ascending.
        left_comparable: The difference of each.
        right: Right directed relations, ascending.
        right_comparable: The difference of each.
    """

    key: Sums
    cooccurrence: Sums
    left: Sums
    left_comparable: Sums
    right: Sums
    right_comparable: Sums

    @staticmethod
    def none() -> SumsChange:
        """Return a change of nothing.

        Returns:
            A change without entries.
        """
        return SumsChange(*(np.empty(0, np.int64) for _ in SumsChange._fields))

    def followed_by(self, later: SumsChange) -> SumsChange:
        """Add a later change.

        Args:
            later: The later change.

        Returns:
            Their net effect.
        """
        joined = SumsChange(*map(np.concatenate, zip(self, later, strict=True)))
        return SumsChange(
            *_add_up(joined.key, joined.cooccurrence),
            *_add_up(joined.left, joined.left_comparable),
            *_add_up(joined.right, joined.right_comparable),
        )


class RelationSums(NamedTuple):
    """Co-occurrences of relations and comparable edges, in fixed point.

    Attributes:
        key: Pairs of directed relations that co-occur, each as one number, ascending; the left
            one is read forwards.
        cooccurrence: The sum of each.
        left_comparable: Sum of each left directed relation.
        right_comparable: The same on the right.
    """

    key: Sums
    cooccurrence: Sums
    left_comparable: Sums
    right_comparable: Sums

    @staticmethod
    def from_graphs(left: Adjacency, right: Adjacency, matches: MatchIndex) -> RelationSums:
        """Sum over all edges.

        Args:
            left: Left graph.
            right: Right graph.
            matches: Current matches.

        Returns:
            The sums.
        """
        empty = RelationSums(
            np.empty(0, np.int64),
            np.empty(0, np.int64),
            *(np.zeros(len(side.relation_idf), np.int64) for side in (left, right)),
        )
        nodes = np.arange(len(left.start)), np.arange(len(right.start))
        return empty.add_edges(left, right, matches, *nodes, sign=1)

    def add_edges(
        self,
        left: Adjacency,
        right: Adjacency,
        matches: MatchIndex,
        left_nodes: Offsets,
        right_nodes: Offsets,
        sign: int,
    ) -> RelationSums:
        """Put in or take out the summands of all edges of some nodes.

        Args:
            left: Left graph.
            right: Right graph.
            matches: Current matches.
            left_nodes: Left nodes, distinct: those whose edges or matches change, and the matches
                of right nodes whose edges change.
            right_nodes: Right nodes, distinct, whose edges or matches change.
            sign: 1 to put in, -1 to take out.

        Returns:
            The other sums.
        """
        width = len(right.relation_idf)
        left_comparable, right_comparable = (
            self.left_comparable.copy(),
            self.right_comparable.copy(),
        )
        for side, side_matches, nodes, sums in (
            (left, matches.left, left_nodes, left_comparable),
            (right, matches.right, right_nodes, right_comparable),
        ):
            _sum_comparable(side, side_matches, nodes, _mark_nodes(side, nodes), sign, sums)
        key, amount = _list_cooccurrences(
            left, right, matches.left, left_nodes, _mark_nodes(left, left_nodes), width
        )
        return RelationSums(
            *_add_sorted(self.key, self.cooccurrence, *_add_up(key, sign * amount)),
            left_comparable,
            right_comparable,
        )

    def subtract(self, before: RelationSums) -> SumsChange:
        """Tell by how much the sums have changed.

        Args:
            before: The sums before, of the same relations.

        Returns:
            The difference.
        """
        left, right = (
            np.flatnonzero(now != then) for now, then in zip(self[2:], before[2:], strict=True)
        )
        return SumsChange(
            *_add_up(
                np.concatenate([self.key, before.key]),
                np.concatenate([self.cooccurrence, -before.cooccurrence]),
            ),
            left,
            self.left_comparable[left] - before.left_comparable[left],
            right,
            self.right_comparable[right] - before.right_comparable[right],
        )

    def apply_change(self, change: SumsChange) -> RelationSums:
        """Add a difference.

        Args:
            change: What `subtract` has returned.

        Returns:
            The other sums.
        """
        left, right = self.left_comparable.copy(), self.right_comparable.copy()
        left[change.left] += change.left_comparable
        right[change.right] += change.right_comparable
        return RelationSums(
            *_add_sorted(self.key, self.cooccurrence, change.key, change.cooccurrence),
            left,
            right,
        )

    def compute_inclusions(self, config: EvidenceParameters) -> RelationInclusions:
        """Compute the inclusion of all pairs of directed relations.

        Args:
            config: Gives the prior and its strength.

        Returns:
            The inclusions.
        """
        left, right = np.divmod(self.key, max(1, len(self.right_comparable)))
        # What holds of two relations holds of their inverses.
        return compute_inclusions(
            np.concatenate([left, left ^ 1]).astype(np.int32),
            np.concatenate([right, right ^ 1]).astype(np.int32),
            np.tile(self.cooccurrence / SCALE, 2),
            (self.left_comparable / SCALE, self.right_comparable / SCALE),
            config,
        )


def _add_up(keys: Sums, amounts: Sums) -> tuple[Sums, Sums]:
    """The sum for each key, ascending, without those that are 0."""
    distinct, place = np.unique(keys, return_inverse=True)
    sums = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(sums, place, amounts)
    keep = sums != 0
    return distinct[keep], sums[keep]


def _add_sorted(keys: Sums, sums: Sums, new_keys: Sums, change: Sums) -> tuple[Sums, Sums]:
    """Add to the sums of some keys; all are ascending, and a key whose sum is 0 is left out."""
    place = np.searchsorted(keys, new_keys)
    is_known = np.append(keys, -1)[place] == new_keys
    sums = sums.copy()
    sums[place[is_known]] += change[is_known]
    keys = np.insert(keys, place[~is_known], new_keys[~is_known])
    sums = np.insert(sums, place[~is_known], change[~is_known])
    keep = sums != 0
    return (keys, sums) if keep.all() else (keys[keep], sums[keep])


def _mark_nodes(adjacency: Adjacency, nodes: Offsets) -> BoolArray:
    # Pages of zeros that nobody looks at cost nothing.
    mask = np.zeros(len(adjacency.start), dtype=np.bool_)
    mask[nodes] = True
    return mask


@jit_cached()
def _sum_comparable(
    adjacency: Adjacency,
    matches: Matches,
    nodes: Offsets,
    is_among: BoolArray,
    sign: int,
    sums: Sums,
) -> None:
    for x in nodes:
        best = _find_best_match(matches, x)
        if best == 0:
            continue
        for edge in range(adjacency.start[x], adjacency.stop[x]):
            y, relation = adjacency.neighbour[edge], adjacency.relation[edge]
            # A triple with both ends among the nodes counts from its head only.
            if is_among[y] and relation & 1:
                continue
            amount = sign * round(np.float64(best) * _find_best_match(matches, y) * SCALE)
            sums[relation] += amount
            sums[relation ^ 1] += amount


@jit_cached()
def _find_best_match(matches: Matches, node: int) -> float:
    best = 0.0
    for m in range(matches.start[node], matches.stop[node]):
        best = max(best, matches.probability[m])
    return best


@jit_cached()
def _list_cooccurrences(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    nodes: Offsets,
    is_among: BoolArray,
    width: int,
) -> tuple[Sums, Sums]:
    """The key and the amount of each co-occurrence of the edges of some left nodes."""
    capacity, count = 1024, 0
    keys, amounts = np.empty(capacity, np.int64), np.empty(capacity, np.int64)
    for x in nodes:
        if matches.start[x] == matches.stop[x]:
            continue
        for edge in range(left.start[x], left.stop[x]):
            y, relation = left.neighbour[edge], np.int64(left.relation[edge])
            inverse = relation & 1
            if is_among[y] and inverse:
                continue
            for m in range(matches.start[x], matches.stop[x]):
                x2 = matches.counterpart[m]
                stop = right.stop[x2]
                for n in range(matches.start[y], matches.stop[y]):
                    y2 = matches.counterpart[n]
                    edge2 = find_first(right.sorted_neighbour, right.start[x2], stop, y2)
                    while edge2 < stop and right.sorted_neighbour[edge2] == y2:
                        if count == capacity:
                            capacity *= 2
                            keys = np.concatenate((keys, np.empty_like(keys)))
                            amounts = np.concatenate((amounts, np.empty_like(amounts)))
                        # Read from the head: an inverse edge counts for its relation.
                        other = right.sorted_relation[edge2] ^ inverse
                        keys[count] = (relation ^ inverse) * width + other
                        product = np.float64(matches.probability[m]) * matches.probability[n]
                        amounts[count] = round(product * SCALE)
                        count += 1
                        edge2 += 1
    return keys[:count], amounts[:count]
