"""Names alone: translated or put into Latin letters, compared by Levenshtein distance.

So the ContEA paper compares itself with Google Translate (its Table 6). A pair is found when
either name is the other's best; the names compared are those that share the most rare pieces.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals import NO_KNOWN, named_entities, note_on, read_translations, search
from everalign.literals.matches import Floats32, expanded
from everalign.literals.matches import ValueMatches as Pairs
from everalign.matching import Candidates
from everalign.methods.naming.settings import NameSettings
from everalign.methods.protocol import Arrays, Problem
from everalign.progress import Progress

SHARED = 2  # entities of one name are enough to know that none of them is chosen
NEARNESS = np.float32(1e-3)  # what shared rare pieces count beside the distance: they break ties


class Choices(NamedTuple):
    """Pairs of entities with how alike their names are, and who chooses whom.

    `there` says that the right one is the best of the left one, `back` the other way round.
    """

    pairs: Pairs
    there: NDArray[np.bool_]
    back: NDArray[np.bool_]


class ByNames:
    """Links between entities whose names are each other's most similar. It learns nothing."""

    def __init__(self, settings: NameSettings) -> None:
        self.settings = settings

    def fit(self, problem: Problem, progress: Progress) -> None:
        pass

    def update(self, problem: Problem, progress: Progress) -> None:
        pass

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        pairs, there, back = choices_of_names(problem, self.settings, progress)
        both = there & back
        return Candidates.of(
            pairs.left[both],
            pairs.right[both],
            pairs.probability[both],
            notes=notes_on_names(problem),
        )

    def save(self) -> Arrays:
        return {"nothing": np.zeros(0)}

    def load(self, arrays: Arrays) -> None:
        pass


def notes_on_names(problem: Problem) -> tuple[str, ...]:
    """What would be needed to read the names better, if anything."""
    note = note_on([*problem.left_values.literals, *problem.right_values.literals])
    return (note,) if note else ()


def choices_of_names(problem: Problem, settings: NameSettings, progress: Progress) -> Choices:
    """Whom each free entity's name is most like. Where several are alike, nobody is chosen."""
    free = problem.free()
    known = read_translations(settings.translations) if settings.translations else {}
    left = named_entities(problem.left_values, free[0], known)
    right = named_entities(problem.right_values, free[1])
    progress("comparing names", 0, 1)
    if not len(left.entity) or not len(right.entity):
        none = np.zeros(0, dtype=np.bool_)
        return Choices(Pairs.none(), none, none)
    found = search(left.texts, right.texts, settings.compared, NO_KNOWN)
    alike = _alike(left.texts.latin, right.texts.latin, found.left, found.right)
    alike += NEARNESS * found.direct
    texts = Pairs(found.left, found.right, alike)
    places = expanded(texts, left.name, right.name, SHARED)
    pairs = Pairs(left.entity[places.left], right.entity[places.right], places.probability)
    enough = pairs.probability >= settings.least
    progress("comparing names", 1, 1)
    there = _is_only_best(pairs.left, pairs.probability) & enough
    return Choices(pairs, there, _is_only_best(pairs.right, pairs.probability) & enough)


def _alike(left: list[str], right: list[str], one: IntArray, two: IntArray) -> Floats32:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    mine, theirs = [left[at] for at in one.tolist()], [right[at] for at in two.tolist()]
    scorer = Levenshtein.normalized_similarity
    scores: Floats32 = cpdist(mine, theirs, scorer=scorer, dtype=np.float32)
    return scores


def _is_only_best(row: IntArray, score: Floats32) -> NDArray[np.bool_]:
    """Which entries have the highest score of their row, and no other has it too."""
    best = np.full(int(row.max(initial=-1)) + 1, -np.inf, dtype=np.float32)
    np.maximum.at(best, row, score)
    is_best = score == best[row]
    many = np.bincount(row[is_best], minlength=len(best))
    alone: NDArray[np.bool_] = is_best & (many[row] == 1)
    return alone
