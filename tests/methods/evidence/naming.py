"""Names for the entities of a generated problem."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np
from tests.methods.evidence.samples import Sampled

from everalign.graph import AttributeTriples
from everalign.methods import AlignmentTask

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def word(number: int) -> str:
    """A word that only this number has, and that is like no other.

    >>> len(word(7)), word(7) == word(7), word(7) == word(8)
    (9, True, False)
    """
    return "".join(np.random.default_rng(number).choice(LETTERS, 9).tolist())


def values(names: Mapping[int, str], attribute: str = "name") -> AttributeTriples:
    """The names of entities as literals of one attribute."""
    numbers: dict[str, int] = {}
    rows = [
        (entity, 0, numbers.setdefault(f'"{name}"', len(numbers)))
        for entity, name in names.items()
    ]
    return AttributeTriples(
        np.array(rows, dtype=np.int32).reshape(-1, 3), [attribute], list(numbers)
    )


def named(
    sample: Sampled, snapshot: int = 0, unnamed: Collection[int] = (), wrong: Collection[int] = ()
) -> AlignmentTask:
    """The problem with names: counterparts have the same one, and nobody else has it.

    Left entities that are `unnamed` and their counterparts have none, and the right ones of
    those that are `wrong` have each other's.
    """
    problem = sample.problems[snapshot]
    links = [*sample.gold[snapshot], *problem.seeds.tolist(), *problem.validation.tolist()]
    of_right = {right: left for left, right in links}
    of_right |= dict(zip(*_handed_round(of_right, wrong), strict=True))
    left = {n: word(n) for n in range(problem.left.entity_count) if n not in unnamed}
    right = {
        n: word(of_right.get(n, 100_000 + n)).upper()
        for n in range(problem.right.entity_count)
        if of_right.get(n) not in unnamed
    }
    return replace(problem, left_attributes=values(left), right_attributes=values(right, "nomen"))


def _handed_round(
    of_right: Mapping[int, int], wrong: Collection[int]
) -> tuple[list[int], list[int]]:
    rights = [right for right, left in of_right.items() if left in wrong]
    lefts = [of_right[right] for right in rights]
    return rights, lefts[1:] + lefts[:1]
