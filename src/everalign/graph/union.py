"""Two graphs seen as one, with merged edges: what a message-passing method walks on.

Left entity `i` is node `i`; right entity `j` is node `left.entities + j`. Every triple
(h, r, t) gives an edge h→t with relation r and an edge t→h with the inverse of r. Parallel
edges of one ordered pair of nodes are merged into one edge that carries a *set* of relations.
The same few sets come back on many edges, so edges only name their set.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.graph.graph import Graph
from everalign.graph.values import IntArray


@dataclass(frozen=True)
class UnionGraph:
    """Edges sorted by their source (`start[i]:start[i+1]` leave node i), in both directions.

    - `target[e]`, `relation_set[e]`: where edge e leads and which relations it carries
    - `reverse[e]`: the edge that leads back
    - `source[e]`: the node it leaves
    - `set_start`, `set_relation`: the directed relations of each set
    - `node_relation_start`, `node_relation`: the distinct directed relations around each node
    - `by_set_start`, `by_set`: the edges that carry each set

    The forward direction of left relation r is r, of right relation r it is
    `left.relations + r`; the inverse of directed relation d is d + `relations`.
    """

    nodes: int
    left_nodes: int
    relations: int
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
    def sets(self) -> int:
        return len(self.set_start) - 1


def unite(left: Graph, right: Graph) -> UnionGraph:
    """The two graphs as one.

    >>> union = unite(Graph.of([(0, 0, 1), (0, 1, 1)]), Graph.of([(0, 0, 1)]))
    >>> union.nodes, union.sets, union.target.tolist()
    (4, 4, [1, 0, 3, 2])
    """
    nodes = left.entities + right.entities
    relations = left.relations + right.relations
    head, relation, tail = union_triples(left, right).T
    source = np.concatenate([head, tail])
    target = np.concatenate([tail, head])
    directed = np.concatenate([relation, relation + relations])

    pair = source * nodes + target
    order = np.lexsort((directed, pair))
    pair, directed = pair[order], directed[order]
    fresh = np.ones(len(pair), dtype=bool)
    fresh[1:] = (pair[1:] != pair[:-1]) | (directed[1:] != directed[:-1])
    pair, directed = pair[fresh], directed[fresh]

    edge_pair, edge_first = np.unique(pair, return_index=True)
    edge_source, edge_target = edge_pair // nodes, edge_pair % nodes
    set_start, set_relation, relation_set = _relation_sets(directed, edge_first)
    node_relation_start, node_relation = _distinct(pair // nodes, directed, nodes, 2 * relations)
    by_set = np.argsort(relation_set, kind="stable")
    return UnionGraph(
        nodes=nodes,
        left_nodes=left.entities,
        relations=relations,
        start=_starts(edge_source, nodes),
        source=_int32(edge_source),
        target=_int32(edge_target),
        relation_set=_int32(relation_set),
        reverse=_int32(np.searchsorted(edge_pair, edge_target * nodes + edge_source)),
        set_start=_int32(set_start),
        set_relation=_int32(set_relation),
        by_set_start=_starts(relation_set, len(set_start) - 1),
        by_set=_int32(by_set),
        node_relation_start=node_relation_start,
        node_relation=node_relation,
    )


def union_triples(left: Graph, right: Graph) -> NDArray[np.int64]:
    """The triples of both graphs, as rows of nodes and forward relations."""
    shift = np.array([left.entities, left.relations, left.entities])
    return np.concatenate([left.triples.astype(np.int64), right.triples + shift])


def _relation_sets(
    directed: NDArray[np.int64], edge_first: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """The distinct sets among the edges' relations, and which of them each edge carries.

    A set is recognised by its size and the sum of a random 64-bit number per relation: two
    different sets share both with a probability of 2⁻⁶⁴ per pair of sets.
    """
    if len(directed) == 0:
        none = np.zeros(0, dtype=np.int64)
        return np.zeros(1, dtype=np.int64), none, none
    number = np.random.default_rng(0).integers(
        0, 2**64, size=int(directed.max()) + 1, dtype=np.uint64
    )
    size = np.diff(np.append(edge_first, len(directed)))
    signature = np.add.reduceat(number[directed], edge_first)
    key = np.rec.fromarrays([signature, size])
    _, example, relation_set = np.unique(key, return_index=True, return_inverse=True)
    set_start = np.concatenate([[0], np.cumsum(size[example])])
    position = np.arange(set_start[-1]) - np.repeat(set_start[:-1], size[example])
    set_relation = directed[np.repeat(edge_first[example], size[example]) + position]
    return set_start, set_relation, relation_set


def _distinct(
    node: NDArray[np.int64], value: NDArray[np.int64], nodes: int, values: int
) -> tuple[IntArray, IntArray]:
    """The distinct values of each node, as starts and a flat list."""
    key = np.unique(node * values + value)
    return _starts(key // max(values, 1), nodes), _int32(key % max(values, 1))


def _starts(sorted_or_not: NDArray[np.int64], groups: int) -> IntArray:
    counts = np.bincount(sorted_or_not, minlength=groups)
    return _int32(np.concatenate([[0], np.cumsum(counts)]))


def _int32(values: NDArray[np.int64]) -> IntArray:
    return values.astype(np.int32)
