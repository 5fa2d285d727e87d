"""Two graphs as one graph with merged edges, the input of message-passing methods.

Left entity `i` is node `i`; right entity `j` is node `left.entity_count + j`. Every triple
(h, r, t) gives an edge h→t with relation r and an edge t→h with the inverse of r. Parallel
edges of one ordered pair of nodes are merged into one edge that carries a *set* of relations.
The same few sets occur on many edges, so an edge holds the number of its set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.graph.triples import Graph, IntArray


@dataclass(frozen=True)
class UnionGraph:
    """Edges of both graphs in compressed sparse row form: sorted by source, then by target.

    The forward direction of left relation r is the directed relation r, that of right relation r
    is `left.relation_count + r`. The inverse of directed relation d is `d + relation_count`.

    Attributes:
        node_count: Number of nodes: the entities of both graphs.
        left_node_count: Number of nodes that are left entities.
        relation_count: Number of relations of both graphs; twice as many are directed.
        start: The edges that leave node i are `start[i]:start[i + 1]`.
        source: The node that each edge leaves.
        target: The node that each edge leads to.
        relation_set: The set of directed relations that each edge carries.
        reverse: The edge that leads back.
        set_start: The relations of set s are `set_relation[set_start[s]:set_start[s + 1]]`.
        set_relation: Directed relations, set by set.
        by_set_start: The edges that carry set s are `by_set[by_set_start[s]:by_set_start[s + 1]]`.
        by_set: Edges, set by set.
        node_relation_start: The directed relations that leave node i are
            `node_relation[node_relation_start[i]:node_relation_start[i + 1]]`, each once.
        node_relation: Directed relations, node by node.
    """

    node_count: int
    left_node_count: int
    relation_count: int
    start: IntArray
    source: IntArray
    target: IntArray
    relation_set: IntArray
    reverse: IntArray
    set_start: IntArray
    set_relation: IntArray
    by_set_start: IntArray
    by_set: IntArray
    node_relation_start: IntArray
    node_relation: IntArray

    @property
    def set_count(self) -> int:
        """Number of distinct relation sets."""
        return len(self.set_start) - 1


def build_union_graph(left: Graph, right: Graph) -> UnionGraph:
    """Build the union of two graphs.

    >>> left, right = Graph.from_triples([(0, 0, 1), (0, 1, 1)]), Graph.from_triples([(0, 0, 1)])
    >>> union = build_union_graph(left, right)
    >>> union.node_count, union.set_count, union.target.tolist()
    (4, 4, [1, 0, 3, 2])

    Args:
        left: The left graph.
        right: The right graph.

    Returns:
        The union graph.
    """
    node_count = left.entity_count + right.entity_count
    relation_count = left.relation_count + right.relation_count
    pair, directed = _directed_edges(combine_triples(left, right), node_count, relation_count)
    # An edge is a run of equal pairs in the sorted list; its relations are that run.
    edge_pair, run_start = np.unique(pair, return_index=True)
    source, target = edge_pair // node_count, edge_pair % node_count
    set_start, set_relation, relation_set = _relation_sets(directed, run_start)
    node_relation_start, node_relation = _distinct_values(
        pair // node_count, directed, node_count, 2 * relation_count
    )
    return UnionGraph(
        node_count=node_count,
        left_node_count=left.entity_count,
        relation_count=relation_count,
        start=_group_starts(source, node_count),
        source=_to_int32(source),
        target=_to_int32(target),
        relation_set=_to_int32(relation_set),
        # Edges are sorted by their pair, and every edge has one in the other direction.
        reverse=_to_int32(np.searchsorted(edge_pair, target * node_count + source)),
        set_start=_to_int32(set_start),
        set_relation=_to_int32(set_relation),
        by_set_start=_group_starts(relation_set, len(set_start) - 1),
        # Stable, so that the edges of a set stay in the order of their sources.
        by_set=_to_int32(np.argsort(relation_set, kind="stable")),
        node_relation_start=node_relation_start,
        node_relation=node_relation,
    )


def combine_triples(left: Graph, right: Graph) -> NDArray[np.int64]:
    """Concatenate the triples of two graphs, numbered as in their union.

    >>> left, right = Graph.from_triples([(0, 0, 1)]), Graph.from_triples([(1, 0, 0)])
    >>> combine_triples(left, right).tolist()
    [[0, 0, 1], [3, 1, 2]]

    Args:
        left: The left graph.
        right: The right graph.

    Returns:
        Rows (head node, forward relation, tail node).
    """
    # 64 bits: a pair of nodes becomes one number, which may be as large as the square of their
    # count.
    offset = np.array([left.entity_count, left.relation_count, left.entity_count])
    return np.concatenate([left.triples.astype(np.int64), right.triples + offset])


def _directed_edges(
    triples: NDArray[np.int64], node_count: int, relation_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return each triple in both directions, each once: node pair and directed relation, sorted.

    A node pair is one number, source · node_count + target.
    """
    head, relation, tail = triples.T
    pair = np.concatenate([head * node_count + tail, tail * node_count + head])
    directed = np.concatenate([relation, relation + relation_count])
    # The last key of `lexsort` is the primary one: by pair, then by relation.
    order = np.lexsort((directed, pair))
    pair, directed = pair[order], directed[order]
    is_first = np.ones(len(pair), dtype=bool)
    is_first[1:] = (pair[1:] != pair[:-1]) | (directed[1:] != directed[:-1])
    return pair[is_first], directed[is_first]


def _relation_sets(
    directed: NDArray[np.int64], run_start: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Find the distinct relation sets of the edges.

    Returns the starts of the sets, their relations, and the set of each edge.
    """
    if len(directed) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return np.zeros(1, dtype=np.int64), nothing, nothing
    # A set is recognised by its size and the sum of a random 64-bit number per relation: two
    # different sets share both with a probability of 2⁻⁶⁴ per pair of sets. The seed is fixed,
    # so the numbering of the sets is the same in every run.
    random_number = np.random.default_rng(0).integers(
        0, 2**64, size=int(directed.max()) + 1, dtype=np.uint64
    )
    size = np.diff(np.append(run_start, len(directed)))
    signature = np.add.reduceat(random_number[directed], run_start)
    key = np.rec.fromarrays([signature, size])
    _, example_edge, relation_set = np.unique(key, return_index=True, return_inverse=True)
    set_size = size[example_edge]
    set_start = np.concatenate([[0], np.cumsum(set_size)])
    # Counts 0, 1, … within each set, to copy the run of its example edge.
    position = np.arange(set_start[-1]) - np.repeat(set_start[:-1], set_size)
    set_relation = directed[np.repeat(run_start[example_edge], set_size) + position]
    return set_start, set_relation, relation_set


def _distinct_values(
    node: NDArray[np.int64], value: NDArray[np.int64], node_count: int, value_count: int
) -> tuple[IntArray, IntArray]:
    """List the distinct values of each node: starts and values, node by node."""
    key = np.unique(node * value_count + value)
    divisor = max(value_count, 1)  # without any relation there is no key to divide
    return _group_starts(key // divisor, node_count), _to_int32(key % divisor)


def _group_starts(group: NDArray[np.int64], group_count: int) -> IntArray:
    """Return where each group starts when its members are sorted by group."""
    sizes = np.bincount(group, minlength=group_count)
    return _to_int32(np.concatenate([[0], np.cumsum(sizes)]))


def _to_int32(values: NDArray[np.int64]) -> IntArray:
    return values.astype(np.int32)
