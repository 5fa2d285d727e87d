"""The whole inference: what is hidden, the rounds, and what is known in the end.

Some of the trusted links are hidden at first: they are no anchors, so that the judge can learn
from them what right and wrong candidates look like. When it has learned, they become anchors like
the others, and a few more rounds follow.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.methods.evidence.candidates import one_to_one
from everalign.methods.evidence.judge import Size
from everalign.methods.evidence.labels import Labels
from everalign.methods.evidence.panel import Panel
from everalign.methods.evidence.rounds import (
    Scene,
    judged,
    judged_again,
    learn,
    plain_round,
    renewed,
    reworded,
    scene,
)
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.support import ALIKE, SUPPORT
from everalign.methods.evidence.touched import by_changed_beliefs, by_pairs
from everalign.methods.evidence.unmatched import (
    Groups,
    confidence,
    expected_links,
    learn_absence,
    shares,
    threshold,
)
from everalign.methods.evidence.world import Beliefs, World, taught
from everalign.methods.protocol import Problem
from everalign.progress import Progress

FEW = 60  # hidden links, under which there is too little to learn from
LEAST_LESSONS = 20  # where the judge teaches itself: names alone say more than so few
PLENTY = 500  # hidden links, from which on they are all that is learned from
SURE = 0.9  # probability from which a pair is taken for a lesson where they are not plenty
MOST_LESSONS = 3000  # where names make nearly all pairs sure: more would only take longer
GROWING = 1.02  # by which factor a plain round has to find more for another one to follow
LEAST_LINK = 0.1  # confidence under which a pair becomes no link, however little there is to find
UNTAUGHT = 0.5  # what a plain probability is worth that no known link has been held against
ABSENCE = Size(trees=60, leaves=8, folds=0)


@dataclass(frozen=True)
class Trust:
    """The trusted links, apart: anchors from the beginning, and those hidden at first."""

    anchors: IntArray
    hidden: IntArray

    @staticmethod
    def of(problem: Problem, settings: EvidenceSettings, seed: int) -> Trust:
        """Validation links are hidden; where they are too few of all, a share of all links is.

        Where even that is too little to learn from, none are: anchors are worth more then.
        """
        together = np.concatenate([problem.seeds, problem.valid])
        count = round(settings.hidden * len(together))
        if count < FEW:
            return Trust(together, together[:0])
        if len(problem.valid) >= count / 2:
            return Trust(problem.seeds, problem.valid)
        order = np.random.default_rng(seed).permutation(len(together))
        return Trust(together[order[count:]], together[order[:count]])

    @property
    def all(self) -> IntArray:
        return np.concatenate([self.anchors, self.hidden])

    @property
    def enough(self) -> bool:
        """Whether the judge can learn from links that people vouch for."""
        return len(self.hidden) > 0

    @property
    def plenty(self) -> bool:
        """Whether these links are all that it learns from."""
        return len(self.hidden) >= PLENTY

    def lessons(self, beliefs: Beliefs, most: int | None = None) -> IntArray:
        """The pairs to learn from: the hidden links and, where they are not plenty, the pairs
        that are surest by now; `most` of these at most."""
        if self.plenty:
            return self.hidden
        table = beliefs.likely(SURE).table
        rows = one_to_one(table, beliefs.about(table))
        sure = np.stack([table.left[rows], table.right[rows]], axis=1)
        known = np.isin(sure[:, 0], self.hidden[:, 0]) | np.isin(sure[:, 1], self.hidden[:, 1])
        sure = sure[~known]
        step = 1 if most is None else max(1, -(-len(sure) // most))
        return np.concatenate([self.hidden, sure[::step]])


@dataclass(frozen=True)
class Lore:
    """What was learned: the judge, the trees for absence, the beliefs before all was revealed."""

    judge: Panel
    absence: Panel
    empty: float
    hidden: Beliefs


def study(
    world: World, trust: Trust, start: Beliefs | None, seed: int, progress: Progress
) -> tuple[Lore, Scene] | None:
    """Learn from hidden links, from nothing or from where an earlier study ended.

    Gives the last scene as well. None where there is nothing to learn from.
    """
    s = world.settings
    beliefs = start or _plainly(world, progress)
    rounds = s.judged_rounds if start is None else s.renewed_rounds
    if rounds == 0:
        return None
    world = taught(world, beliefs)
    view = scene(world, beliefs)
    for number in range(rounds):
        progress("learning", number, rounds)
        if number & (number + 1) == 0:  # the first time, and when the rounds have doubled
            if number:
                world = taught(world, beliefs)
                view = reworded(view, world)
            pairs = trust.lessons(beliefs, MOST_LESSONS if world.self_taught else None)
            labels = Labels.of(pairs, world.sizes, s.folds)
            if (world.self_taught and len(pairs) < LEAST_LESSONS) or not labels.teach(view.table):
                return None
            judge = learn(view, labels, Size(s.trees, s.leaves, s.folds), seed)
            before, beliefs = beliefs, judged(view, judge, labels)
        else:
            before, beliefs = beliefs, judged_again(view, judge, labels)
        view = renewed(view, world, beliefs, by_changed_beliefs(world, before, beliefs))
    beliefs = judged_again(view, judge, labels)
    absence = learn_absence(view, labels, beliefs.probability, ABSENCE, seed)
    return Lore(judge, absence, _emptiness(view, labels, pairs), beliefs), view


def _plainly(world: World, progress: Progress) -> Beliefs:
    """Plain rounds for as long as they find more."""
    beliefs, rounds = Beliefs.none(world.sizes), world.settings.plain_rounds
    for number in range(rounds):
        progress("propagating", number, rounds)
        before, beliefs = beliefs, plain_round(world, beliefs)
        if beliefs.probability.sum() <= GROWING * before.probability.sum():
            break
    return beliefs


def _emptiness(view: Scene, labels: Labels, pairs: IntArray) -> float:
    """How likely an entity without any candidate is unmatched, if half of all entities were."""
    bereft = view.without(labels.correct(view.table))
    empty = [
        1 + np.count_nonzero(~np.isin(pairs[:, 0], table.left))
        for table in (bereft.table, view.table)
    ]
    return empty[0] / sum(empty)


@dataclass(frozen=True)
class Knowledge:
    """All that is known of the candidates: a row for each.

    `alike` is how many entities have the pair's shared facts, on either side; `absence`, how
    likely one of the pair is unmatched if half of all entities were.
    """

    beliefs: Beliefs
    support: Floats
    alike: tuple[Floats, Floats]
    absence: Floats

    @staticmethod
    def plain(beliefs: Beliefs) -> Knowledge:
        """Of beliefs that rest on propagation alone."""
        nothing = np.zeros_like(beliefs.probability)
        return Knowledge(beliefs, nothing, (nothing, nothing), nothing)

    @staticmethod
    def of(beliefs: Beliefs, seen: tuple[Floats, Floats], absence: Floats) -> Knowledge:
        """Of beliefs that rest on a closer look."""
        left, right = seen
        return Knowledge(
            beliefs,
            left[:, SUPPORT].copy(),
            (left[:, ALIKE].copy(), right[:, ALIKE].copy()),
            absence,
        )

    def regrown(self, sizes: tuple[int, int]) -> Knowledge:
        """The same, with room for more entities."""
        return replace(self, beliefs=self.beliefs.regrown(sizes))


def conclude(
    world: World, lore: Lore, view: Scene, hidden: IntArray, progress: Progress
) -> Knowledge:
    """The last rounds, with all trusted links as anchors: also those that were hidden."""
    beliefs, rounds = lore.hidden, world.settings.final_rounds
    world = replace(world, dictionaries=view.world.dictionaries)
    touched = by_pairs(world, hidden[:, 0], hidden[:, 1])
    for number in range(max(1, rounds)):
        progress("concluding", number, rounds)
        view = renewed(view, world, beliefs, touched)
        before, beliefs = beliefs, judged_again(view, lore.judge)
        touched = by_changed_beliefs(world, before, beliefs)
    return Knowledge.of(beliefs, view.seen, lore.absence.weigh(view.features()))


def guess(world: World, progress: Progress) -> Knowledge:
    """What propagation alone says, where there is nothing to learn from."""
    return Knowledge.plain(_plainly(world, progress))


@dataclass(frozen=True)
class Verdict:
    """The confidence in every candidate, and the one from which on they become links."""

    confidence: Floats
    threshold: float


def verdict(
    world: World, knowledge: Knowledge, arrivals: NDArray[np.int64], lore: Lore | None
) -> Verdict:
    """Weigh in how many entities have no counterpart at all."""
    table, p = knowledge.beliefs
    if lore is None:
        return Verdict(p * np.float32(UNTAUGHT), UNTAUGHT / 2)
    groups = Groups.of(arrivals)
    share = shares(table, knowledge.absence, p, groups, world.free, lore.empty)
    sure = confidence(table, p, knowledge.absence, share, groups)
    links = expected_links(share, groups, world.free)
    best = threshold(sure[one_to_one(table, sure)], links)
    return Verdict(sure, max(LEAST_LINK, best))
