"""Problems whose entities have names, for methods that find nothing without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from tests.methods.evidence.samples import Pair

from everalign.graph import AttributeTriples
from everalign.methods import AlignmentTask

SYLLABLES = ("ka", "lo", "mi", "ter", "sun", "bra", "vel", "dor", "ni", "gha", "pus", "rem")


def name_of(number: int) -> str:
    """A word for each number, and as different as numbers are."""
    word = ""
    for _ in range(4):
        number, at = divmod(number, len(SYLLABLES))
        word += SYLLABLES[at]
    return word.capitalize()


def with_names(problem: AlignmentTask, gold: list[Pair]) -> AlignmentTask:
    """The problem with a name for each entity; those of gold links differ in their endings."""
    right_of = dict(gold)
    left_of = {right: left for left, right in gold}
    left = [
        f"{name_of(at)}{'a' if at in right_of else 'u'}" for at in range(problem.left.entity_count)
    ]
    right = [
        f"{name_of(left_of[at])}o" if at in left_of else f"X{name_of(at)}"
        for at in range(problem.right.entity_count)
    ]
    return replace(problem, left_attributes=labels(*left), right_attributes=labels(*right))


def labels(*names: str) -> AttributeTriples:
    """A label for each of the first entities."""
    ids = np.arange(len(names), dtype=np.int32)
    rows = np.stack([ids, np.zeros_like(ids), ids], axis=1)
    return AttributeTriples(rows, ["label"], [f'"{name}"' for name in names])
