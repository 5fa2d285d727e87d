"""The two judges: who learns from whom, and what is kept from the one that sees no literals."""

from __future__ import annotations

import numpy as np
import pytest

from everalign.methods.evidence.features import NAMES, OF_RIVALS
from everalign.methods.evidence.judge import Lesson, Size
from everalign.methods.evidence.panel import OF_VALUES, PLENTY_UNNAMED, Panel
from everalign.methods.evidence.side import Floats

SIZE = Size(trees=20, leaves=4, folds=2)
SUPPORT = NAMES.index("support")


def rows(count: int, *, named: bool, support: float, rival: float) -> Floats:
    """Pairs with so much support and so sure rivals; names, if there are any, agree as far."""
    out = np.random.default_rng(count).random((count, len(NAMES) + OF_VALUES)).astype(np.float32)
    out[:, SUPPORT], out[:, OF_RIVALS] = support, rival
    out[:, -OF_VALUES:] = support if named else np.nan
    return out


def panel(unnamed: int) -> Panel:
    """Right pairs have support if they are among the 600 with names, wrong ones a sure rival if
    they are among those without."""
    parts = [rows(300, named=True, support=right, rival=1 - right) for right in range(2)]
    parts += [rows(unnamed, named=False, support=0.5, rival=1 - right) for right in range(2)]
    label = np.repeat([False, True] * 2, [len(part) for part in parts])
    weight, fold = np.ones(len(label), dtype=np.float32), np.arange(len(label)) % 2
    lesson = Lesson(np.concatenate(parts), label, weight, fold)
    return Panel.learn(lesson, SIZE, seed=0, literals=True)


def chance(judges: Panel, support: float, rival: float) -> float:
    """Of a pair without names."""
    return float(judges.weigh(rows(1, named=False, support=support, rival=rival))[0])


def test_with_few_lessons_of_its_own_the_other_judge_is_blind_to_rivals() -> None:
    judges = panel(unnamed=20)
    assert chance(judges, support=1, rival=1) == chance(judges, support=1, rival=0) > 0.8
    assert chance(judges, support=0, rival=0) < 0.2


def test_with_plenty_it_learns_from_these_alone_and_hears_of_rivals() -> None:
    judges = panel(unnamed=PLENTY_UNNAMED)
    assert chance(judges, support=1, rival=1) == chance(judges, support=0, rival=1) < 0.2
    assert chance(judges, support=0, rival=0) > 0.8


@pytest.mark.parametrize("unnamed", [20, PLENTY_UNNAMED])
def test_kept_as_texts_they_judge_the_same(unnamed: int) -> None:
    judges = panel(unnamed)
    again = Panel.of(*judges.texts(), literals=True)
    assert (again.columns, again.blind) == (judges.columns, judges.blind)
    assert judges.columns == len(NAMES) + OF_VALUES
    some = np.concatenate([rows(5, named=named, support=1, rival=0.3) for named in (False, True)])
    assert again.weigh(some).tolist() == judges.weigh(some).tolist()
