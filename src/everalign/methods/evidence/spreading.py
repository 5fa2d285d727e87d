"""An update by a small delta: look again at what it touches, and on as far as beliefs change.

Edges that come or go change what is known of their two entities. Where the belief in a pair
changes by it, the pair's neighbours are looked at again, and so on until nothing changes or the
rounds are over. Lost belief goes on after that: what rested on a pair must not outlive it.
"""

from __future__ import annotations

import numpy as np

from everalign.methods.evidence.grounding import only_grounded
from everalign.methods.evidence.inference import Knowledge, Lore
from everalign.methods.evidence.relations import align_relations
from everalign.methods.evidence.rounds import Scene, judged_again, renewed
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import ALIKE, LOOKS, SUPPORT
from everalign.methods.evidence.touched import (
    Touched,
    by_changed_beliefs,
    by_lost_belief,
    by_pairs,
    by_vanished,
    of_pairs,
)
from everalign.methods.evidence.values import WEIGHT
from everalign.methods.evidence.world import Beliefs, World, matches_in, taught
from everalign.progress import Progress

MORE_ROUNDS = 20  # in which belief that is lost goes on to those that rested on it


def spread(
    world: World, lore: Lore, known: Knowledge, touched: Touched, progress: Progress
) -> Knowledge:
    """What is known after the facts of the touched entities have changed."""
    beliefs = known.beliefs
    world = taught(world, beliefs)
    touched = touched.or_by(by_vanished(world, beliefs))
    nothing = np.empty(0, dtype=np.int64)
    view = Scene(world, beliefs.table, _seen(known), beliefs.probability, nothing)
    matches, rounds = matches_in(world, beliefs), world.settings.spreading_rounds
    # A small delta changes no relation: one alignment serves all rounds.
    relations = align_relations(world.left, world.right, matches, world.settings)
    beliefs, lost = only_grounded(world, beliefs, relations)
    touched = touched.or_by(by_pairs(world, *lost)).or_by(of_pairs(world, *lost))
    felt = Touched(np.zeros_like(touched.left), np.zeros_like(touched.right))
    for number in range(rounds + MORE_ROUNDS):
        progress("spreading", min(number, rounds), rounds)
        if not touched.any():
            break
        felt = felt.or_by(touched)
        view = renewed(view, world, beliefs, touched, relations)
        before, beliefs = beliefs, _supported(view, judged_again(view, lore.judge))
        by_belief = by_changed_beliefs if number + 1 < rounds else by_lost_belief
        touched = by_belief(world, before, beliefs)
    beliefs, _ = only_grounded(world, beliefs, relations)
    return Knowledge.of(beliefs, view.seen, _absence(view, lore, known, felt))


def _supported(view: Scene, beliefs: Beliefs) -> Beliefs:
    """The beliefs without those that nothing speaks for any more, whatever the judge says: it
    has never seen such a pair."""
    alone = view.seen[0][:, SUPPORT] <= 0
    if view.said is not None:
        alone &= ~(view.said[:, WEIGHT] > 0)
    return Beliefs(beliefs.table, np.where(alone, np.float32(0), beliefs.probability))


def _absence(view: Scene, lore: Lore, known: Knowledge, felt: Touched) -> Floats:
    """As known before, and anew for the pairs that were looked at in any round."""
    at = known.beliefs.table.find(view.table.left, view.table.right)
    rows = np.flatnonzero(felt.rows(view.table) | (at < 0))
    absence = np.append(known.absence, np.float32(0))[at]
    absence[rows] = lore.absence.weigh(view.features(rows))
    return absence


def _seen(known: Knowledge) -> tuple[Floats, Floats]:
    """What was seen of each pair, as far as the standing of others depends on it."""
    out = []
    for alike in known.alike:
        seen = np.zeros((len(alike), LOOKS), dtype=np.float32)
        seen[:, SUPPORT], seen[:, ALIKE] = known.support, alike
        out.append(seen)
    return out[0], out[1]
