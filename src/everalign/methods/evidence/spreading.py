"""An update by a small delta: look again at what it touches, and on as far as beliefs change.

New edges change what is known of their two entities. Where the belief in a pair changes by it,
the pair's neighbours are looked at again, and so on until nothing changes or the rounds are over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import Graph, IntArray
from everalign.methods.evidence.candidates import Table
from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.matches import Both
from everalign.methods.evidence.relations import Relations, align_relations
from everalign.methods.evidence.rounds import Scene, candidates
from everalign.methods.evidence.side import Floats, Side
from everalign.methods.evidence.support import ALIKE, LOOKS, SUPPORT, look
from everalign.methods.evidence.world import Beliefs, World, matches_in
from everalign.progress import Progress

Mask = NDArray[np.bool_]
HOPELESS = 0.01  # probability under which a candidate that is not found again is forgotten
TELLING = 0.02  # how well an entity has to be pinned down to be looked at again


def spread(
    world: World, lore: Lore, now: Knowledge, touched: tuple[Mask, Mask], progress: Progress
) -> Knowledge:
    """What is known after the entities in `touched` have got new edges."""
    relations = align_relations(
        world.left, world.right, matches_in(world, now.beliefs), world.settings
    )
    for number in range(world.settings.spreading_rounds):
        progress("spreading", number, world.settings.spreading_rounds)
        if not (touched[0].any() or touched[1].any()):
            break
        after = _look_again(world, lore, relations, now, touched)
        touched = _moved(world, now.beliefs, after.beliefs)
        now = after
    return now


def touched_by(graph: Graph, old_triples: int) -> Mask:
    """The entities that have an edge among the triples from a place on."""
    out = np.zeros(graph.entities, dtype=np.bool_)
    out[graph.triples[old_triples:, 0]] = True
    out[graph.triples[old_triples:, 2]] = True
    return out


def _look_again(
    world: World, lore: Lore, relations: Relations, now: Knowledge, asked: tuple[Mask, Mask]
) -> Knowledge:
    matches = matches_in(world, now.beliefs)
    table = _candidates(world, matches, relations, now.beliefs, asked)
    rows = np.flatnonzero(asked[0][table.left] | asked[1][table.right])
    at = now.beliefs.table.find(table.left, table.right)
    seen = _seen_before(now, at)
    fresh = look(world.left, world.right, matches, relations, table.left[rows], table.right[rows])
    seen[0][rows], seen[1][rows] = fresh
    view = Scene(world, table, seen, now.beliefs.about(table))
    features = view.features(rows)
    probability, absence = view.before.copy(), _carried(now.absence, at)
    probability[rows] = lore.judge.weigh(features)
    absence[rows] = lore.absence.weigh(features)
    return Knowledge.of(Beliefs(table, probability), seen, absence)


def _candidates(
    world: World, matches: Both, relations: Relations, now: Beliefs, asked: tuple[Mask, Mask]
) -> Table:
    """The candidates of the asked entities, found anew, and those of all others."""
    lefts, rights = (
        np.flatnonzero(mask & free).astype(np.int32)
        for mask, free in zip(asked, world.free, strict=True)
    )
    found = candidates(world, matches, relations, lefts, rights)
    left, right = now.table.left, now.table.right
    keep = ~(asked[0][left] | asked[1][right]) | (now.probability >= HOPELESS)
    return world.among_free(
        np.concatenate([left[keep], found.left]), np.concatenate([right[keep], found.right])
    )


def _seen_before(now: Knowledge, at: NDArray[np.int64]) -> tuple[Floats, Floats]:
    """Of rows that are not looked at again, what the standing of others depends on."""
    out = []
    for alike in now.alike:
        seen = np.zeros((len(at), LOOKS), dtype=np.float32)
        seen[:, SUPPORT] = _carried(now.support, at)
        seen[:, ALIKE] = _carried(alike, at)
        out.append(seen)
    return out[0], out[1]


def _carried(values: Floats, at: NDArray[np.int64]) -> Floats:
    return np.append(values, np.float32(0))[at]


def _moved(world: World, before: Beliefs, after: Beliefs) -> tuple[Mask, Mask]:
    """The neighbours of entities that are believed to be someone else than before."""
    change = np.abs(after.probability - before.about(after.table)) >= world.settings.change
    left = np.unique(after.table.left[change])
    right = np.unique(after.table.right[change])
    return _neighbours(world.left, left), _neighbours(world.right, right)


def _neighbours(side: Side, entities: IntArray) -> Mask:
    out = np.zeros(side.entities, dtype=np.bool_)
    _mark_neighbours(side, entities, TELLING, out)
    return out


@compiled()
def _mark_neighbours(side: Side, entities: IntArray, least: float, out: Mask) -> None:
    for y in entities:
        for e in range(side.start[y], side.start[y + 1]):
            if side.pins[e] >= least:
                out[side.other[e]] = True
