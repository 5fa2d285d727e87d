"""An update by a small delta: look again at what it touches, and on as far as beliefs change.

New edges change what is known of their two entities. Where the belief in a pair changes by it,
the pair's neighbours are looked at again, and so on until nothing changes or the rounds are over.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.relations import align_relations
from everalign.methods.evidence.rounds import Scene, renewed
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import ALIKE, LOOKS, SUPPORT
from everalign.methods.evidence.touched import Touched, by_changed_beliefs
from everalign.methods.evidence.world import Beliefs, World, matches_in
from everalign.progress import Progress


def spread(
    world: World, lore: Lore, known: Knowledge, touched: Touched, progress: Progress
) -> Knowledge:
    """What is known after the touched entities have got new edges."""
    beliefs = known.beliefs
    view = Scene(world, beliefs.table, _seen(known), beliefs.probability)
    matches = matches_in(world, beliefs)
    # A small delta changes no relation: one alignment serves all rounds.
    relations = align_relations(world.left, world.right, matches, world.settings)
    felt = Touched(np.zeros_like(touched.left), np.zeros_like(touched.right))
    for number in range(world.settings.spreading_rounds):
        progress("spreading", number, world.settings.spreading_rounds)
        if not touched.any():
            break
        felt = felt.or_by(touched)
        view = renewed(view, world, beliefs, touched, relations)
        before, beliefs = beliefs, _judged_again(view, lore, beliefs, touched)
        touched = by_changed_beliefs(world, before, beliefs)
    return Knowledge.of(beliefs, view.seen, _absence(view, lore, known, felt))


def _judged_again(view: Scene, lore: Lore, beliefs: Beliefs, touched: Touched) -> Beliefs:
    """Judge the pairs that were looked at; of the others the same is believed as before."""
    rows = _looked_at(view, beliefs, touched)
    probability = view.before.copy()
    probability[rows] = lore.judge.weigh(view.features(rows))
    return Beliefs(view.table, probability)


def _absence(view: Scene, lore: Lore, known: Knowledge, felt: Touched) -> Floats:
    rows = _looked_at(view, known.beliefs, felt)
    at = known.beliefs.table.find(view.table.left, view.table.right)
    absence = np.append(known.absence, np.float32(0))[at]
    absence[rows] = lore.absence.weigh(view.features(rows))
    return absence


def _looked_at(view: Scene, beliefs: Beliefs, touched: Touched) -> NDArray[np.int64]:
    new = beliefs.table.find(view.table.left, view.table.right) < 0
    return np.flatnonzero(touched.rows(view.table) | new)


def _seen(known: Knowledge) -> tuple[Floats, Floats]:
    """What was seen of each pair, as far as the standing of others depends on it."""
    out = []
    for alike in known.alike:
        seen = np.zeros((len(alike), LOOKS), dtype=np.float32)
        seen[:, SUPPORT], seen[:, ALIKE] = known.support, alike
        out.append(seen)
    return out[0], out[1]
