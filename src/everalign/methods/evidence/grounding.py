"""Grounding: matches that rest on one another alone are dropped.

After anchors or triples have been removed, matches may be left that are evidence for each other
and have no other evidence. A match is grounded if it is an anchor or a match of literals, which
have level 0, or if a grounded match of a lower level is evidence for it. Levels make the check
local: a match that has lost evidence and still has some of a lower level is as it was, and nothing
that rests on it has to be looked at. What many entities share (functionality 0) grounds nothing.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph.growing import Offsets
from everalign.methods.evidence.adjacency import Adjacency, find_edge, find_first
from everalign.methods.evidence.relations import Inclusion, Matches, find_inclusion
from everalign.methods.evidence.weights import compute_evidence_weight

# Of a match that is not known to be grounded; greater than any level.
NO_LEVEL = 1 << 30

Levels = NDArray[np.int32]


def compute_levels(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    is_certain: NDArray[np.bool_],
) -> Levels:
    """Compute the level of every match.

    Args:
        left: Left graph.
        right: Right graph.
        matches: Matches by left node, in the order of nodes.
        inclusion: Inclusion of left in right relations.
        min_weight: Weight from which a match is evidence for another.
        is_certain: Which matches are anchors or matches of literals.

    Returns:
        The level of each match; NO_LEVEL for those that are not grounded.
    """
    level = np.where(is_certain, 0, NO_LEVEL).astype(np.int32)
    nodes = np.repeat(np.arange(len(matches.start)), matches.stop - matches.start)
    rows = np.flatnonzero(~is_certain)
    _assign_levels(left, right, matches, inclusion, min_weight, level, rows, nodes[rows])
    return level


def refresh_levels(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    level: Levels,
    rows: Offsets,
    nodes: Offsets,
) -> tuple[Offsets, Offsets]:
    """Check matches that may have lost evidence, and those that rest on them.

    Args:
        left: Left graph.
        right: Right graph.
        matches: Matches by left node.
        inclusion: Inclusion of left in right relations.
        min_weight: Weight from which a match is evidence for another.
        level: The level of each match, NO_LEVEL for new ones; changed.
        rows: The matches to check, as rows of `matches`.
        nodes: Their left nodes.

    Returns:
        Rows and left nodes of the matches whose level has changed; NO_LEVEL is the new level of
        those that are no longer grounded.
    """
    doubtful, owners = _find_doubtful(
        left, right, matches, inclusion, min_weight, level, rows, nodes
    )
    _assign_levels(left, right, matches, inclusion, min_weight, level, doubtful, owners)
    return doubtful, owners


@jit_cached()
def _find_doubtful(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    level: Levels,
    rows: Offsets,
    nodes: Offsets,
) -> tuple[Offsets, Offsets]:
    """Take the level of matches without evidence of a lower one, and list them."""
    stack = [(rows[i], nodes[i]) for i in range(rows.size)]
    doubtful_rows = [np.int64(0) for _ in range(0)]
    doubtful_nodes = [np.int64(0) for _ in range(0)]
    while stack:
        row, x = stack.pop()
        is_new = level[row] == NO_LEVEL
        if not is_new:
            best = _find_lowest_level(
                left, right, matches, inclusion, min_weight, level, x, matches.counterpart[row]
            )
            if best < level[row]:
                continue
            level[row] = NO_LEVEL
        doubtful_rows.append(np.int64(row))
        doubtful_nodes.append(np.int64(x))
        if is_new:
            continue
        # Whatever rests on this match has to be checked as well.
        x2 = matches.counterpart[row]
        for edge in range(left.start[x], left.stop[x]):
            if left.functionality[edge] == 0:
                continue
            y = left.neighbour[edge]
            for m in range(matches.start[y], matches.stop[y]):
                if 0 < level[m] < NO_LEVEL:
                    y2 = matches.counterpart[m]
                    stop = right.stop[y2]
                    back = find_first(right.sorted_neighbour, right.start[y2], stop, x2)
                    if back < stop and right.sorted_neighbour[back] == x2:
                        stack.append((np.int64(m), np.int64(y)))
    return np.array(doubtful_rows), np.array(doubtful_nodes)


@jit_cached()
def _assign_levels(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    level: Levels,
    rows: Offsets,
    nodes: Offsets,
) -> None:
    """Give matches without a level one more than that of their evidence, until none gets any."""
    found = True
    while found:
        found = False
        # Those of one pass do not see each other: levels do not depend on the order.
        assigned = np.full(rows.size, NO_LEVEL, dtype=np.int32)
        for i in range(rows.size):
            if level[rows[i]] == NO_LEVEL:
                best = _find_lowest_level(
                    left,
                    right,
                    matches,
                    inclusion,
                    min_weight,
                    level,
                    nodes[i],
                    matches.counterpart[rows[i]],
                )
                if best < NO_LEVEL:
                    assigned[i] = best + 1
                    found = True
        for i in range(rows.size):
            if assigned[i] < NO_LEVEL:
                level[rows[i]] = assigned[i]


@jit_cached()
def _find_lowest_level(
    left: Adjacency,
    right: Adjacency,
    matches: Matches,
    inclusion: Inclusion,
    min_weight: float,
    level: Levels,
    x: int,
    x2: int,
) -> int:
    """The lowest level of a match that is evidence for the pair (x, x')."""
    best = NO_LEVEL
    stop = right.stop[x2]
    for edge in range(left.start[x], left.stop[x]):
        if left.inverse_functionality[edge] == 0:
            continue
        y = left.neighbour[edge]
        for m in range(matches.start[y], matches.stop[y]):
            if level[m] >= best:
                continue
            y2 = matches.counterpart[m]
            edge2 = find_first(right.sorted_neighbour, right.start[x2], stop, y2)
            while edge2 < stop and right.sorted_neighbour[edge2] == y2:
                forward, backward = find_inclusion(
                    inclusion, left.relation[edge], right.sorted_relation[edge2]
                )
                weight = compute_evidence_weight(
                    matches.probability[m],
                    forward,
                    backward,
                    left.inverse_functionality[edge],
                    right.inverse_functionality[
                        find_edge(right, x2, right.sorted_relation[edge2], y2)
                    ],
                )
                if weight >= min_weight:
                    best = level[m]
                    break
                edge2 += 1
            if best == 0:
                return best
    return best
