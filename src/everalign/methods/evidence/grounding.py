"""Which matches rest on something certain, and which only on one another.

When a trusted link is withdrawn or triples go, pairs may be left that speak for each other and
have nothing else to speak for them. A match is grounded if it is an anchor, a match of literals,
or if a grounded match is a piece of evidence for it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.methods.evidence.matches import Matches
from everalign.methods.evidence.propagation import piece_weight
from everalign.methods.evidence.relations import Inclusion, Relations, included
from everalign.methods.evidence.side import Side, place_of
from everalign.methods.evidence.world import Beliefs, World, matches_in

Mask = NDArray[np.bool_]


def groundless(world: World, beliefs: Beliefs, relations: Relations) -> tuple[IntArray, IntArray]:
    """The pairs that count as matches and are not grounded."""
    matches = matches_in(world, beliefs).left
    one = np.repeat(np.arange(world.left.nodes), np.diff(matches.start)).astype(np.int32)
    grounded = ~world.eligible[0][one]
    while _ground(
        world.left, world.right, matches, relations.left, world.settings.faint, grounded
    ):
        pass
    return one[~grounded], matches.other[~grounded]


def only_grounded(
    world: World, beliefs: Beliefs, relations: Relations
) -> tuple[Beliefs, tuple[IntArray, IntArray]]:
    """The beliefs without those that rest on one another alone, and the pairs left out."""
    pairs = groundless(world, beliefs, relations)
    probability = beliefs.probability.copy()
    probability[beliefs.table.find(*pairs)] = 0
    return Beliefs(beliefs.table, probability), pairs


@compiled()
def _ground(
    left: Side,
    right: Side,
    matches: Matches,
    relations: Inclusion,
    faint: float,
    grounded: Mask,
) -> bool:
    """Ground what a grounded match speaks for; whether there was any."""
    found = False
    for x in range(left.bound.size):
        for m in range(matches.start[x], matches.start[x + 1]):
            if not grounded[m] and _spoken_for(
                left, right, matches, relations, faint, grounded, x, matches.other[m]
            ):
                grounded[m] = True
                found = True
    return found


@compiled()
def _spoken_for(
    left: Side,
    right: Side,
    matches: Matches,
    relations: Inclusion,
    faint: float,
    grounded: Mask,
    x: int,
    x2: int,
) -> bool:
    stop = right.start[x2 + 1]
    for e in range(left.start[x], left.start[x + 1]):
        y = left.other[e]
        for m in range(matches.start[y], matches.start[y + 1]):
            if not grounded[m]:
                continue
            at = place_of(right.near_other, right.start[x2], stop, matches.other[m])
            while at < stop and right.near_other[at] == matches.other[m]:
                there, back = included(relations, left.relation[e], right.near_relation[at])
                pinned, pinned2 = left.pinned[e], right.near_pinned[at]
                if piece_weight(matches.probability[m], there, back, pinned, pinned2) >= faint:
                    return True
                at += 1
    return False
