"""Which parts go together: against the same written plainly."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.literals.together import STEPS, Rows, chances, meetings_of

Parts = list[list[int]]
PARTS = 5
sides = st.lists(st.lists(st.integers(0, PARTS - 1), unique=True, max_size=4), max_size=5)
weights = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5)


def rows(side: Parts) -> Rows:
    start = np.cumsum([0, *map(len, side)], dtype=np.int64)
    parts = [part for row in side for part in row]
    return Rows(start, np.array(parts, dtype=np.int32), PARTS)


def plainly(left: Parts, right: Parts, amount: list[float], doubt: float) -> dict[str, float]:
    """How likely each left part brings about each right one that it meets."""
    chance = {(f, g): 1.0 for one, two in zip(left, right, strict=True) for f in one for g in two}
    for _ in range(STEPS):
        counted = dict.fromkeys(chance, 0.0)
        for one, two, weight in zip(left, right, amount, strict=True):
            for g in two if weight else []:
                total = sum(chance[f, g] for f in one)
                for f in one:
                    counted[f, g] += weight * chance[f, g] / total if total else 0
        given_by = dict.fromkeys(range(PARTS), doubt)
        for (f, _), count in counted.items():
            given_by[f] += count
        chance = {(f, g): count / given_by[f] for (f, g), count in counted.items()}
    return {f"{f} {g}": value for (f, g), value in sorted(chance.items())}


@given(sides, sides, weights, st.booleans())
def test_chances_are_those_of_the_model(
    left: Parts, right: Parts, amount: list[float], back: bool
) -> None:
    count = min(len(left), len(right))
    left, right, amount = left[:count], right[:count], amount[:count]
    which = np.arange(count)
    met = meetings_of(rows(left), rows(right), which, which)
    found = chances(met, np.array(amount, dtype=np.float32), 0.5, back=back)
    giver, other = (met.right, met.left) if back else (met.left, met.right)
    wanted = plainly(right, left, amount, 0.5) if back else plainly(left, right, amount, 0.5)
    got = {f"{f} {g}": p for f, g, p in zip(giver, other, found.tolist(), strict=True)}
    assert dict(sorted(got.items())) == pytest.approx(wanted, abs=1e-5)
