"""The pieces of evidence for one pair, found without looking at all edges of a hub."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.methods.base import EvidencePiece
from everalign.methods.evidence.adjacency import Adjacency, find_edge, find_first
from everalign.methods.evidence.propagation import GraphPair
from everalign.methods.evidence.relations import (
    Inclusion,
    Matches,
    MatchIndex,
    RelationInclusions,
    find_inclusion,
)
from everalign.methods.evidence.weights import compute_evidence_weight

FIRST_CAPACITY = 64


class EvidenceRows(NamedTuple):
    """Pieces of evidence as columns.

    Attributes:
        ends: Rows of left relation, left neighbour, right relation and right neighbour, with the
            numbers of the method.
        probability: Match probability of the neighbours.
        weight: What the piece adds to the support of the pair.
    """

    ends: IntArray
    probability: NDArray[np.float64]
    weight: NDArray[np.float64]


class EvidenceList(Sequence[EvidencePiece]):
    """The pieces of evidence for a pair, heaviest first; each is described when it is asked for.

    Args:
        graphs: The graphs.
        rows: The pieces in order.
    """

    def __init__(self, graphs: GraphPair, rows: EvidenceRows) -> None:
        self._graphs = graphs
        self._rows = rows

    @property
    def support(self) -> float:
        """The sum of all weights."""
        return float(self._rows.weight.sum(dtype=np.float64))

    def __len__(self) -> int:
        return len(self._rows.weight)

    def __iter__(self) -> Iterator[EvidencePiece]:
        # By default each piece would be sliced out by itself, and a hub has thousands.
        return iter(self[:])

    @overload
    def __getitem__(self, index: int) -> EvidencePiece: ...
    @overload
    def __getitem__(self, index: slice) -> list[EvidencePiece]: ...
    def __getitem__(self, index: int | slice) -> EvidencePiece | list[EvidencePiece]:
        if isinstance(index, int):
            place = range(len(self))[index]
            return self[place : place + 1][0]
        columns = (column[index].tolist() for column in self._rows)
        return [
            _describe_piece(self._graphs, ends, probability, weight)
            for ends, probability, weight in zip(*columns, strict=True)
        ]


def list_evidence(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, left: int, right: int
) -> EvidenceList:
    """List the pieces of evidence for one pair, those from literals included.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        left: Left entity.
        right: Right entity.

    Returns:
        The pieces, heaviest first. Their weights sum to the support of the pair.
    """
    degrees = [
        int(graph.stop[entity] - graph.start[entity])
        for graph, entity in ((graphs.left, left), (graphs.right, right))
    ]
    # From the entity with fewer edges: the other one may be a hub.
    if degrees[0] <= degrees[1]:
        ends, values = _find_evidence(graphs.left, graphs.right, matches.left, left, right)
    else:
        ends, values = _find_evidence(graphs.right, graphs.left, matches.right, right, left)
        ends, values = ends[:, [2, 3, 0, 1]], values[:, [0, 2, 1]]
    weight = _weigh_evidence(relations.left, ends, values)
    # Relations and neighbours break ties, so that the order is the same from both sides.
    order = np.lexsort((ends[:, 2], ends[:, 3], ends[:, 1], ends[:, 0], -weight))
    return EvidenceList(graphs, EvidenceRows(ends[order], values[order, 0], weight[order]))


@jit_cached()
def _find_evidence(
    one: Adjacency, other: Adjacency, matches: Matches, x: int, x2: int
) -> tuple[IntArray, NDArray[np.float64]]:
    """Find the edges of two entities whose neighbours are matched.

    Returns rows of relation, neighbour, relation and neighbour of the other, and rows of match
    probability and both inverse functionalities.
    """
    ends = np.empty((FIRST_CAPACITY, 4), dtype=np.int32)
    values = np.empty((FIRST_CAPACITY, 3), dtype=np.float64)
    count = 0
    first, end = other.start[x2], other.stop[x2]
    for edge in range(one.start[x], one.stop[x]):
        y = one.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            y2 = matches.counterpart[m]
            edge2 = find_first(other.sorted_neighbour, first, end, y2)
            while edge2 < end and other.sorted_neighbour[edge2] == y2:
                if count == len(ends):
                    ends = np.concatenate((ends, np.empty_like(ends)))
                    values = np.concatenate((values, np.empty_like(values)))
                ends[count, 0], ends[count, 1] = one.relation[edge], y
                ends[count, 2], ends[count, 3] = other.sorted_relation[edge2], y2
                values[count, 0] = matches.probability[m]
                values[count, 1] = one.inverse_functionality[edge]
                edge_back = find_edge(other, x2, other.sorted_relation[edge2], y2)
                values[count, 2] = other.inverse_functionality[edge_back]
                count += 1
                edge2 += 1
    return ends[:count], values[:count]


@jit_cached()
def _weigh_evidence(
    inclusion: Inclusion, ends: IntArray, values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Compute the weight of each piece; `inclusion` is that of left in right relations."""
    weight = np.empty(len(ends), dtype=np.float64)
    for n in range(len(ends)):
        forward, backward = find_inclusion(inclusion, ends[n, 0], ends[n, 2])
        weight[n] = compute_evidence_weight(
            values[n, 0], forward, backward, values[n, 1], values[n, 2]
        )
    return weight


def _describe_piece(
    graphs: GraphPair, ends: Sequence[int], probability: float, weight: float
) -> EvidencePiece:
    d, y, d2, y2 = ends
    if y < graphs.left.literal_offset:
        return EvidencePiece(
            d >> 1, bool(d & 1), y, d2 >> 1, bool(d2 & 1), y2, probability, weight
        )
    # Outside the method, attributes and literals are counted from 0.
    sides = (graphs.left, d, y), (graphs.right, d2, y2)
    left, right = (
        ((relation >> 1) - side.attribute_offset, False, node - side.literal_offset)
        for side, relation, node in sides
    )
    return EvidencePiece(*left, *right, probability, weight, literal=True)
