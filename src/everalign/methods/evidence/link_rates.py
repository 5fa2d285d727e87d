"""Link rates: how often entities with given relations have a known link.

Trusted links are a sample of all links. Where it has none of the entities with some relation
although there are many, such as marriages that one graph has as entities and the other has not,
these entities have no counterpart, however well they support one another. This is learning from
positive and unlabelled examples (Elkan and Noto, KDD 2008): an entity has a counterpart as much
more rarely than others as entities like it have a known link more rarely.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray

# Upper limit of the number of links to expect where n are known: n + 2√n + 3. It covers 95% of the
# cases, also where there is none ("rule of three").
DEVIATIONS, LEAST_BOUND = 2, 3
# For each left and right relation in both directions the logarithm of its link rate.
RelationRates = tuple[FloatArray, FloatArray]
# For each left and right entity its link rate, at most 1.
LinkRates = tuple[FloatArray, FloatArray]
NO_RATES = np.empty(0, dtype=np.float32)


def estimate_relation_rates(
    adjacency: Adjacency, is_linked: BoolArray, is_counted: BoolArray
) -> FloatArray:
    """Estimate the link rate of each relation, as high as chance allows.

    Args:
        adjacency: The graph.
        is_linked: Which entities have a known link.
        is_counted: Which entities could have one.

    Returns:
        For each relation in both directions the logarithm of: the number of entities with it that
        have a known link, divided by the number if they had as many as others; 0 if it is not
        significantly less. Attributes have none.
    """
    entity_count = np.count_nonzero(is_counted)
    linked_count = np.count_nonzero(is_linked & is_counted)
    relation_count = 2 * adjacency.attribute_offset
    if not linked_count:
        return np.zeros(relation_count, dtype=np.float32)
    having, linked = _count_relations(
        adjacency, np.flatnonzero(is_counted).astype(np.int32), is_linked, relation_count
    )
    expected = np.maximum(having * (linked_count / entity_count), 1)
    bound = linked + DEVIATIONS * np.sqrt(linked) + LEAST_BOUND
    rates: FloatArray = np.log(np.minimum(bound / expected, 1)).astype(np.float32)
    return rates


@jit_cached()
def _count_relations(
    adjacency: Adjacency, entities: IntArray, is_linked: BoolArray, relation_count: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Count the entities with each relation, and those of them that have a link."""
    start, literal_start = adjacency.start, adjacency.literal_start
    relation, group_end = adjacency.relation, adjacency.group_end
    having = np.zeros(relation_count, dtype=np.int64)
    linked = np.zeros(relation_count, dtype=np.int64)
    for x in entities:
        group = start[x]
        while group < literal_start[x]:
            having[relation[group]] += 1
            linked[relation[group]] += is_linked[x]
            group = group_end[group]
    return having, linked


@jit_cached()
def compute_link_rates(
    adjacency: Adjacency, relation_rates: FloatArray, entities: NDArray[np.integer]
) -> FloatArray:
    """Compute the link rate of entities.

    Args:
        adjacency: The graph.
        relation_rates: What `estimate_relation_rates` has returned for it, or for an earlier
            version of it; new relations count as others do.
        entities: The entities.

    Returns:
        For each the geometric mean of the rates of its relations.
    """
    start, literal_start = adjacency.start, adjacency.literal_start
    relation, group_end = adjacency.relation, adjacency.group_end
    out = np.ones(entities.size, dtype=np.float32)
    for n in range(entities.size):
        total, count, group = 0.0, 0, start[entities[n]]
        while group < literal_start[entities[n]]:
            if relation[group] < relation_rates.size:
                total += relation_rates[relation[group]]
            count += 1
            group = group_end[group]
        if total < 0:
            out[n] = np.exp(total / count)
    return out
