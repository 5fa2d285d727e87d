"""An update by a small delta: look again at what it touches, and on as far as beliefs change.

New edges change what is known of their two entities. Where the belief in a pair changes by it,
the pair's neighbours are looked at again, and so on until nothing changes or the rounds are over.
"""

from __future__ import annotations

import numpy as np

from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.rounds import Scene, renewed
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import ALIKE, LOOKS, SUPPORT
from everalign.methods.evidence.touched import Touched, by_changed_beliefs
from everalign.methods.evidence.world import Beliefs, World
from everalign.progress import Progress


def spread(
    world: World, lore: Lore, known: Knowledge, touched: Touched, progress: Progress
) -> Knowledge:
    """What is known after the touched entities have got new edges."""
    view = Scene(world, known.beliefs.table, _seen(known), known.beliefs.probability)
    for number in range(world.settings.spreading_rounds):
        progress("spreading", number, world.settings.spreading_rounds)
        if not touched.any():
            break
        before = known.beliefs
        view = renewed(view, world, before, touched)
        known = _judged_again(view, lore, known, touched)
        touched = by_changed_beliefs(world, before, known.beliefs)
    return known


def _judged_again(view: Scene, lore: Lore, known: Knowledge, touched: Touched) -> Knowledge:
    """Judge the pairs that were looked at; the others stay as they are."""
    at = known.beliefs.table.find(view.table.left, view.table.right)
    rows = np.flatnonzero(touched.rows(view.table) | (at < 0))
    features = view.features(rows)
    probability, absence = view.before.copy(), np.append(known.absence, np.float32(0))[at]
    probability[rows] = lore.judge.weigh(features)
    absence[rows] = lore.absence.weigh(features)
    return Knowledge.of(Beliefs(view.table, probability), view.seen, absence)


def _seen(known: Knowledge) -> tuple[Floats, Floats]:
    """What was seen of each pair, as far as the standing of others depends on it."""
    out = []
    for alike in known.alike:
        seen = np.zeros((len(alike), LOOKS), dtype=np.float32)
        seen[:, SUPPORT], seen[:, ALIKE] = known.support, alike
        out.append(seen)
    return out[0], out[1]
