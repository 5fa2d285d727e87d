"""Two judges: one for pairs whose literals can be compared, one for the others.

What has no literals is judged as if nothing had any. One judge for both would not do: trees that
see both sorts split by neighbours first, and hear too little of what the literals say.

What is believed of the rivals of a pair rests on literals where these have any. A judge for pairs
without literals that learned from it would expect as much of these: it does not see it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.features import OF_RIVALS
from everalign.methods.evidence.judge import Judge, Lesson, Size, learn_judges
from everalign.methods.evidence.side import Floats
from everalign.methods.evidence.values import NAMES

ENOUGH = 10  # right pairs outside of each fold, to learn what literals say
OF_VALUES = len(NAMES)


@dataclass(frozen=True)
class Panel:
    """`alone` weighs the neighbours, `named` these and the literals, if that could be learned.

    Where the graphs have literals (`literals`), the last columns of a row are about these.
    """

    alone: Judge
    named: Judge | None
    literals: bool

    @staticmethod
    def learn(lesson: Lesson, size: Size, seed: int, literals: bool) -> Panel:
        lessons = [lesson]
        if literals:
            of_named = _part(lesson, np.flatnonzero(_comparable(lesson.features)))
            taught = _teaches(of_named, size)
            lessons = [replace(lesson, features=_of_neighbours(lesson.features, taught))]
            lessons += [of_named] if taught else []
        alone, *named = learn_judges(lessons, size, seed)
        return Panel(alone, named[0] if named else None, literals)

    @property
    def columns(self) -> int:
        """How many numbers are weighed of a row."""
        unseen = len(OF_RIVALS) if self.named else 0
        return self.alone.columns + unseen + (OF_VALUES if self.literals else 0)

    def weigh(self, rows: Floats) -> Floats:
        """The probability of each row, for rows that nothing was learned from."""
        return self.weigh_learned(rows, np.full(len(rows), -1))

    def weigh_learned(self, rows: Floats, fold: NDArray[np.int64]) -> Floats:
        """The same for rows that something was learned from; a fold of -1 means none."""
        if not self.literals:
            return self.alone.weigh_learned(rows, fold)
        out = np.empty(len(rows), dtype=np.float32)
        spoken = _comparable(rows) if self.named else np.zeros_like(fold, dtype=np.bool_)
        mine, theirs = np.flatnonzero(~spoken), np.flatnonzero(spoken)
        neighbours = _of_neighbours(rows[mine], self.named is not None)
        out[mine] = self.alone.weigh_learned(neighbours, fold[mine])
        if self.named is not None:
            out[theirs] = self.named.weigh_learned(rows[theirs], fold[theirs])
        return out

    def texts(self) -> tuple[bytes, bytes]:
        """Both models as texts; an empty one where there is none."""
        return self.alone.text, self.named.text if self.named else b""

    @staticmethod
    def of(alone: bytes, named: bytes, literals: bool) -> Panel:
        """From such texts."""
        return Panel(Judge([alone]), Judge([named]) if named else None, literals)


def _of_neighbours(rows: Floats, taught: bool) -> Floats:
    """The columns that do not rest on literals; all but the last, where none could be learned."""
    found = rows[:, :-OF_VALUES]
    return np.delete(found, OF_RIVALS, axis=1) if taught else found


def _comparable(rows: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(rows[:, -OF_VALUES:]).all(axis=1), dtype=np.bool_)


def _part(lesson: Lesson, rows: NDArray[np.intp]) -> Lesson:
    return Lesson(*(column[rows] for column in vars(lesson).values()))


def _teaches(lesson: Lesson, size: Size) -> bool:
    """Whether there is enough of right and of wrong whichever fold is kept apart."""
    for fold in range(size.folds) if size.folds else (-1,):
        right = lesson.label[lesson.fold != fold]
        if not ENOUGH <= np.count_nonzero(right) <= len(right) - ENOUGH:
            return False
    return True
