"""Two judges: one for pairs whose literals can be compared, one for the others.

What has no literals is judged as if nothing had any. One judge for both would not do: trees that
see both sorts split by neighbours first, and hear too little of what the literals say.

The other judge learns from pairs without literals where there are plenty of right and of wrong
ones. Where there are not, it learns from all pairs. What is believed of their rivals then rests
on literals, and a judge that had learned from that would expect as much of pairs without: so it
does not see it. Where what literals say could not be learned, there is one judge, which does.
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
PLENTY_UNNAMED = 500  # right and as many wrong pairs without literals, to learn from these
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
            spoken = _comparable(lesson.features)
            of_named, of_others = _part(lesson, spoken), _part(lesson, ~spoken)
            taught = _teaches(of_named, size)
            plenty = bool(np.bincount(of_others.label, minlength=2).min() >= PLENTY_UNNAMED)
            chosen = of_others if taught and plenty else lesson
            blind = taught and not plenty
            lessons = [replace(chosen, features=_of_neighbours(chosen.features, blind))]
            lessons += [of_named] if taught else []
        alone, *named = learn_judges(lessons, size, seed)
        return Panel(alone, named[0] if named else None, literals)

    @property
    def columns(self) -> int:
        """How many numbers are weighed of a row."""
        if self.named is not None:
            return self.named.columns
        return self.alone.columns + (OF_VALUES if self.literals else 0)

    @property
    def blind(self) -> bool:
        """Whether what is believed of rivals is kept from the judge of pairs without literals."""
        return self.named is not None and self.alone.columns + OF_VALUES < self.named.columns

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
        neighbours = _of_neighbours(rows[mine], self.blind)
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


def _of_neighbours(rows: Floats, blind: bool) -> Floats:
    """The columns that are not about literals, nor, if blind, about what rests on them."""
    found = rows[:, :-OF_VALUES]
    return np.delete(found, OF_RIVALS, axis=1) if blind else found


def _comparable(rows: Floats) -> NDArray[np.bool_]:
    return np.asarray(~np.isnan(rows[:, -OF_VALUES:]).all(axis=1), dtype=np.bool_)


def _part(lesson: Lesson, rows: NDArray[np.bool_]) -> Lesson:
    return Lesson(*(column[rows] for column in vars(lesson).values()))


def _teaches(lesson: Lesson, size: Size) -> bool:
    """Whether there is enough of right and of wrong whichever fold is kept apart."""
    for fold in range(size.folds) if size.folds else (-1,):
        right = lesson.label[lesson.fold != fold]
        if not ENOUGH <= np.count_nonzero(right) <= len(right) - ENOUGH:
            return False
    return True
