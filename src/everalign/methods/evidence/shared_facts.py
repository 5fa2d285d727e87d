"""Shared facts of a pair: the most telling ones, and how many entities have all of them.

Compiled code gets plain arrays here: taking an array out of a tuple costs more than a step of
these loops.
"""

from __future__ import annotations

from typing import NamedTuple

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import FloatArray, OffsetArray
from everalign.methods.evidence.config import EvidenceParameters


class FactLimits(NamedTuple):
    """The constants of `EvidenceParameters` about shared facts, for compiled code."""

    min_probability: float
    max_facts: int
    max_degree: int

    @staticmethod
    def from_config(config: EvidenceParameters) -> FactLimits:
        """Take the constants from the configuration.

        Args:
            config: Settings and constants of the method.

        Returns:
            The constants about shared facts.
        """
        return FactLimits(
            config.min_shared_fact_probability, config.max_joint_facts, config.max_joint_degree
        )


@jit_cached()
def insert_fact(facts: IntArray, count: int, inverse_functionality: FloatArray, edge: int) -> int:
    """Insert a fact among the most telling ones.

    Args:
        facts: Edges, the one with the greatest inverse functionality first. If it is full, the
            last one is dropped.
        count: Number of facts in it.
        inverse_functionality: That of all edges.
        edge: The edge that is the fact; those of a pair are inserted in order.

    Returns:
        The number of facts now.
    """
    # Strictly less: of equally telling facts the first one stays first, in every run.
    place = count
    while place > 0 and inverse_functionality[facts[place - 1]] < inverse_functionality[edge]:
        place -= 1
    if place == facts.size:
        return count
    for moved in range(min(count, facts.size - 1), place, -1):
        facts[moved] = facts[moved - 1]
    facts[place] = edge
    return min(count + 1, facts.size)


@jit_cached()
def count_having_all(
    facts: IntArray,
    count: int,
    sharing_first: IntArray,
    sharing_end: IntArray,
    neighbour: IntArray,
    max_degree: int,
    place: OffsetArray,
) -> int:
    """Count the entities that have all facts of a list.

    Args:
        facts: Edges of one entity, the most telling one first.
        count: Number of them, from 1 on.
        sharing_first: For each edge, the first of the entities with the same fact in `neighbour`.
        sharing_end: For each edge, the index after the last one.
        neighbour: Entities; those with one fact ascend.
        max_degree: If more entities have the most telling fact, it stands for all facts.
        place: Room for an index for each fact.

    Returns:
        The number of entities.
    """
    fewest = int(sharing_end[facts[0]] - sharing_first[facts[0]])
    if count == 1 or fewest > max_degree:
        return fewest
    rarest = 0
    for k in range(count):
        place[k] = sharing_first[facts[k]]
        size = sharing_end[facts[k]] - place[k]
        if size < fewest:
            rarest, fewest = k, size
    # The entity that the facts are of has all of them.
    if fewest == 1:
        return 1
    having = 0
    for n in range(sharing_first[facts[rarest]], sharing_end[facts[rarest]]):
        has_all = True
        for k in range(count):
            if k == rarest:
                continue
            # Entities ascend, so that each search goes on where the one before has ended.
            end = sharing_end[facts[k]]
            place[k] = _gallop(neighbour, place[k], end, neighbour[n])
            if place[k] == end:
                return having
            if neighbour[place[k]] != neighbour[n]:
                has_all = False
                break
        if has_all:
            having += 1
    return having


@jit_cached()
def _gallop(values: IntArray, first: int, end: int, value: int) -> int:
    """Find the first index whose value is not less, in steps that double."""
    step = 1
    while first + step < end and values[first + step] < value:
        first += step
        step *= 2
    end = min(first + step + 1, end)
    while first < end:
        middle = (first + end) >> 1
        if values[middle] < value:
            first = middle + 1
        else:
            end = middle
    return first
