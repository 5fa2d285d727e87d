"""ContEA and names side by side, as in the last row of the paper's Table 6.

Each left entity chooses by its vector and by its name, each right one too; a pair is found when
both have chosen it, by whichever of the two. ContEA itself knows nothing of names here.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from everalign.graph import IntArray
from everalign.literals.matches import ValueMatches as Pairs
from everalign.matching import Candidates, best_either_way
from everalign.methods.contea import ContEASettings
from everalign.methods.contea.method import ContEA
from everalign.methods.naming.names import Choices, choices_of_names, notes_on_names
from everalign.methods.naming.settings import NameSettings
from everalign.methods.protocol import Arrays, Problem
from everalign.progress import Progress


class Union:
    """What either finds; where they disagree about an entity, what more of the choices name."""

    def __init__(self, names: NameSettings, settings: ContEASettings, seed: int) -> None:
        self.names = names
        self._contea = ContEA(settings, seed)

    def fit(self, problem: Problem, progress: Progress) -> None:
        self._contea.fit(problem, progress)

    def update(self, problem: Problem, progress: Progress) -> None:
        self._contea.update(problem, progress)

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        by_name = choices_of_names(problem, self.names, progress)
        by_vector = self._choices_of_vectors(problem, progress)
        found = united(by_name, by_vector)
        return replace(found, notes=(*notes_on_names(problem), *self._contea.notes))

    def save(self) -> Arrays:
        return self._contea.save()

    def load(self, arrays: Arrays) -> None:
        self._contea.load(arrays)

    def _choices_of_vectors(self, problem: Problem, progress: Progress) -> Choices:
        left, right = problem.free()
        if not len(left) or not len(right):
            return Choices(Pairs.none(), np.zeros(0, np.bool_), np.zeros(0, np.bool_))
        one, two = np.split(self._contea.vectors(problem), [problem.left.entities])
        there, back = best_either_way(
            one[left],
            two[right],
            neighbours=self._contea.settings.neighbours,
            progress=progress,
        )
        pairs = Pairs.of(
            np.concatenate([left, left[back.at]]),
            np.concatenate([right[there.at], right]),
            np.concatenate([there.score, back.score]),
        )
        forth = np.arange(len(pairs.left)) < len(left)
        return Choices(pairs, forth, ~forth)


def united(*choices: Choices) -> Candidates:
    """The pairs that a choice of the left one and a choice of the right one name.

    Each entity is in one pair at most: pairs that more choices name come first, then those with
    the higher score.
    """
    pairs = [each.pairs for each in choices]
    left, right = (np.concatenate([each[side] for each in pairs]) for side in range(2))
    ends, place = np.unique(np.stack([left, right]), axis=1, return_inverse=True)
    forth, home = (
        np.bincount(place, np.concatenate([each[1 + side] for each in choices]))
        for side in range(2)
    )
    best = np.full(ends.shape[1], -1.0)
    np.maximum.at(best, place, np.concatenate([each.probability for each in pairs]))
    total = forth + home + np.minimum(best, 1) / 4
    found = np.flatnonzero((forth > 0) & (home > 0))
    found = found[np.argsort(-total[found], kind="stable")]
    found = found[_one_to_one(*ends[:, found])]
    return Candidates.of(ends[0, found], ends[1, found], total[found])


def _one_to_one(left: IntArray, right: IntArray) -> list[int]:
    """Places of the pairs whose members are in no earlier kept pair."""
    kept: list[int] = []
    taken: tuple[set[int], set[int]] = set(), set()
    for at, (one, two) in enumerate(zip(left.tolist(), right.tolist(), strict=True)):
        if one not in taken[0] and two not in taken[1]:
            kept.append(at)
            taken[0].add(one)
            taken[1].add(two)
    return kept
