"""Numbers and moments that are nearly the same, found by sorting."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from everalign.literals.forms import Form, Kind
from everalign.literals.matches import ValueMatches, best_of
from everalign.literals.moments import agreement
from everalign.literals.settings import LiteralSettings

Floats = NDArray[np.float64]
YEAR = 372.0  # on the line on which moments stand


def near_numbers(
    left: Sequence[Form], right: Sequence[Form], settings: LiteralSettings
) -> ValueMatches:
    """The nearest numbers within the tolerance: 0.9 next to equal, 0.5 at its edge.

    >>> forms = [Form(Kind.NUMBER, "", number=number) for number in (100.0, 100.5, 150.0)]
    >>> near_numbers(forms[:1], forms, LiteralSettings()).rows()[1:]
    [(0, 1, 0.701)]
    """
    mine, theirs = _of_kind(left, Kind.NUMBER), _of_kind(right, Kind.NUMBER)
    a, b = (
        np.array([form[at].number for at in places])
        for form, places in ((left, mine), (right, theirs))
    )
    one, two = _either_way(a, b, settings.similar, lambda at: settings.tolerance * np.abs(at))
    scale = np.maximum(np.abs(a[one]), np.abs(b[two]))
    off = np.abs(a[one] - b[two]) / np.where(scale > 0, scale, 1) / settings.tolerance
    keep = off <= 1
    probability = np.where(off == 0, 1.0, 0.9 - 0.4 * off)
    return ValueMatches.of(mine[one[keep]], theirs[two[keep]], probability[keep])


def near_moments(
    left: Sequence[Form], right: Sequence[Form], settings: LiteralSettings
) -> ValueMatches:
    """The nearest moments that agree in what is known of them, at least in their year."""
    mine, theirs = _with_moment(left), _with_moment(right)
    a, b = (
        np.array([moment.place for at in places if (moment := forms[at].moment)])
        for forms, places in ((left, mine), (right, theirs))
    )
    one, two = _either_way(a, b, settings.similar, lambda at: np.full(len(at), YEAR))
    pairs = zip(mine[one].tolist(), theirs[two].tolist(), strict=True)
    probability = [_agreement(left[p], right[q]) for p, q in pairs]
    return ValueMatches.of(mine[one], theirs[two], probability)


def _agreement(one: Form, two: Form) -> float:
    if one.moment is None or two.moment is None or one.kind == two.kind == Kind.NUMBER:
        return 0.0
    return 1.0 if one.key == two.key else agreement(one.moment, two.moment)


def _with_moment(forms: Sequence[Form]) -> NDArray[np.intp]:
    return np.flatnonzero(np.array([form.moment is not None for form in forms], dtype=np.bool_))


def _of_kind(forms: Sequence[Form], kind: Kind) -> NDArray[np.intp]:
    return np.flatnonzero(np.array([form.kind == kind for form in forms], dtype=np.bool_))


def _either_way(
    a: Floats, b: Floats, count: int, reach: Callable[[Floats], Floats]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Places of pairs in which one is among the nearest of the other and within its reach."""
    one, two = _nearest(a, b, count, reach)
    back_two, back_one = _nearest(b, a, count, reach)
    pairs = best_of(
        [
            ValueMatches.of(one, two, np.ones(len(one))),
            ValueMatches.of(back_one, back_two, np.ones(len(back_one))),
        ]
    )
    return pairs.left.astype(np.intp), pairs.right.astype(np.intp)


def _nearest(
    a: Floats, b: Floats, count: int, reach: Callable[[Floats], Floats]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """For each of a, the nearest of b on either side of it in their order."""
    order = np.argsort(b, kind="stable")
    line = b[order]
    spots = np.searchsorted(line, a)[:, None] + np.arange(-count, count)
    inside = (spots >= 0) & (spots < len(line))
    gap = np.full(spots.shape, np.inf)
    gap[inside] = np.abs(line[spots[inside]] - np.broadcast_to(a[:, None], spots.shape)[inside])
    gap[gap > reach(a)[:, None]] = np.inf
    rank = np.argsort(gap, axis=1, kind="stable")[:, :count]
    chosen = np.take_along_axis(spots, rank, axis=1)
    found = np.isfinite(np.take_along_axis(gap, rank, axis=1))
    one, _ = np.nonzero(found)
    return one, order[chosen[found]]
