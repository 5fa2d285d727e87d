"""Held-out links as if their entities had come late: with as few facts as late entities have.

All trusted links are of entities that came with the first version, and these have many facts.
Entities that come later have few, and their best candidates look less alike, whether they are
right or not. The dangling classifier learns that from held-out links whose entities lose facts at
random, until they have as few as entities that came late.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import Graph, IntArray


def thin_facts(
    graph: Graph, entities: IntArray, first_count: int, rng: np.random.Generator
) -> Graph:
    """Take away facts of entities, so that they have as few as those that came late.

    Args:
        graph: The graph.
        entities: The entities that lose facts.
        first_count: Number of entities of the first version; those after them came late.
        rng: Draws how many facts each of them keeps, and which.

    Returns:
        The graph without these facts; the same one if no entity came late.

    Example:
        >>> star = Graph.from_triples([(0, 0, 1), (0, 0, 2), (0, 0, 3), (1, 0, 2)])
        >>> thinned = thin_facts(star, np.array([0]), 3, np.random.default_rng(0))
        >>> int(np.count_nonzero(thinned.triples[:, 0] == 0))
        1
    """
    ends = np.ascontiguousarray(graph.triples[:, [0, 2]])
    fact_count = np.bincount(ends.ravel(), minlength=graph.entity_count)
    late_counts = fact_count[first_count:]
    late_counts = late_counts[late_counts > 0]
    if not len(late_counts):
        return graph
    limit = np.full(graph.entity_count, len(ends) + 1, dtype=np.int64)
    limit[entities] = rng.choice(late_counts, len(entities))
    # Only their own facts are shuffled: all others stay.
    is_thinned = np.zeros(graph.entity_count, dtype=np.bool_)
    is_thinned[entities] = True
    own = rng.permutation(np.flatnonzero(is_thinned[ends].any(axis=1)))
    keep = np.ones(len(ends), dtype=np.bool_)
    keep[own] = _mark_first_facts(ends[own], limit)
    return Graph(graph.triples[keep], graph.entity_count, graph.relation_count)


@jit_cached()
def _mark_first_facts(ends: IntArray, limit: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Mark the facts, taken one by one, with which no entity has more than its limit."""
    out = np.zeros(len(ends), dtype=np.bool_)
    for row in range(len(ends)):
        head, tail = ends[row]
        if limit[head] > 0 and limit[tail] > 0:
            out[row] = True
            limit[head] -= 1
            if tail != head:
                limit[tail] -= 1
    return out
