"""Which parts of left names go with which parts of right ones, from pairs of names.

The counting is that of IBM's model 1 (Brown et al., The Mathematics of Statistical Machine
Translation, 1993): each part of one name comes from one of the parts of the other; from which,
is shared out by what all the pairs say, again and again. So 大学 comes to mean "university".
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.compiled import compiled
from everalign.graph import IntArray
from everalign.literals.matches import Floats32

Starts = NDArray[np.int64]
Places = NDArray[np.signedinteger]
STEPS = 5  # of expectation maximisation


class Rows(NamedTuple):
    """The parts of row x: `part[start[x]]` up to `part[start[x + 1]]`, each once; parts are
    numbers below `parts`."""

    start: Starts
    part: IntArray
    parts: int


class Meetings(NamedTuple):
    """Where parts meet: in a pair, each part of the left row meets each part of the right one.

    The meetings of pair p are `meeting[first[p]]` up to `meeting[first[p + 1]]`, for each left
    part those with the `width[p]` right ones. Meetings of the same two parts have the same
    number n: that of the left part `left[n]` with the right part `right[n]`, in their order.
    """

    meeting: IntArray
    first: Starts
    width: Starts
    left: IntArray
    right: IntArray
    parts: tuple[int, int]


def meetings_of(
    left: Rows, right: Rows, one: NDArray[np.integer], two: NDArray[np.integer]
) -> Meetings:
    """The meetings in the pairs of left rows `one` and right rows `two`.

    >>> left = Rows(np.array([0, 1, 3]), np.array([0, 0, 1], dtype=np.int32), 2)
    >>> right = Rows(np.array([0, 1, 2]), np.array([0, 1], dtype=np.int32), 2)
    >>> met = meetings_of(left, right, np.array([0, 1]), np.array([0, 1]))
    >>> list(zip(met.left.tolist(), met.right.tolist())), met.meeting.tolist()
    ([(0, 0), (0, 1), (1, 1)], [0, 1, 2])
    """
    many, width = np.diff(left.start)[one], np.diff(right.start)[two]
    first = np.zeros(len(one) + 1, dtype=np.int64)
    np.cumsum(many * width, out=first[1:])
    mine, theirs = (np.empty(first[-1], dtype=np.int32) for _ in range(2))
    _meet(left.start, left.part, right.start, right.part, one, two, mine, theirs)
    places: Places = np.arange(len(mine)).astype(np.int32 if len(mine) < 1 << 31 else np.int64)
    order = _sorted(mine, left.parts, _sorted(theirs, right.parts, places))
    meeting, heads = np.empty(len(mine), dtype=np.int32), np.empty_like(order)
    heads = heads[: _number(mine, theirs, order, meeting, heads)]
    return Meetings(meeting, first, width, mine[heads], theirs[heads], (left.parts, right.parts))


def chances(met: Meetings, amount: Floats32, doubt: float, *, back: bool = False) -> Floats32:
    """How likely, at each meeting, the left part brings about the right one (or `back`).

    `amount` is how much each pair counts. `doubt` is as much as so many times met with nothing.

    >>> rows = Rows(np.array([0, 1]), np.array([0], dtype=np.int32), 1)
    >>> met = meetings_of(rows, rows, np.array([0]), np.array([0]))
    >>> chances(met, np.ones(1, dtype=np.float32), doubt=1.0).tolist()  # met once, doubted once
    [0.5]
    """
    giver, givers = (met.right, met.parts[1]) if back else (met.left, met.parts[0])
    chance, counted = np.ones(len(giver), dtype=np.float32), np.empty(len(giver))
    for _ in range(STEPS):
        _share_out(met.meeting, met.first, met.width, amount, back, chance, counted)
        _weigh(giver, givers, doubt, counted, chance)
    return chance


@compiled()
def _meet(
    left_start: Starts,
    left_part: IntArray,
    right_start: Starts,
    right_part: IntArray,
    one: NDArray[np.integer],
    two: NDArray[np.integer],
    mine: IntArray,
    theirs: IntArray,
) -> None:
    at = 0
    for pair in range(len(one)):
        for spot in range(left_start[one[pair]], left_start[one[pair] + 1]):
            for other in range(right_start[two[pair]], right_start[two[pair] + 1]):
                mine[at], theirs[at] = left_part[spot], right_part[other]
                at += 1


@compiled()
def _sorted(part: IntArray, parts: int, order: Places) -> Places:
    """The places in `order`, those with smaller parts first: by counting, as parts are few."""
    start = np.zeros(parts + 1, dtype=np.int64)
    for each in part:
        start[each + 1] += 1
    for each in range(parts):
        start[each + 1] += start[each]
    out = np.empty_like(order)
    for at in order:
        each = part[at]
        out[start[each]] = at
        start[each] += 1
    return out


@compiled()
def _number(
    mine: IntArray,
    theirs: IntArray,
    order: Places,
    meeting: IntArray,
    heads: Places,
) -> int:
    """Number the different meetings; `heads` are the places where each is found."""
    count, left, right = 0, -1, -1
    for at in order:
        if mine[at] != left or theirs[at] != right:
            left, right = mine[at], theirs[at]
            heads[count] = at
            count += 1
        meeting[at] = count - 1
    return count


@compiled()
def _share_out(
    meeting: IntArray,
    first: Starts,
    width: Starts,
    amount: Floats32,
    back: bool,
    chance: Floats32,
    counted: NDArray[np.float64],
) -> None:
    """Count each meeting by its share in all that a part can come from."""
    counted[:] = 0
    sizes = np.diff(first)
    here = np.empty(sizes.max() if sizes.size else 0, dtype=np.float64)
    share = np.empty_like(here)
    for pair in range(len(width)):
        begin, size, many = first[pair], sizes[pair], width[pair]
        if amount[pair] == 0 or size == 0:
            continue
        for at in range(size):
            here[at] = chance[meeting[begin + at]]
        # What stands in a name is shared out among what it can come from: the chances of a
        # column when the right name is, those of a row when the left one is.
        step, groups, members = (1, size // many, many) if back else (many, many, size // many)
        for group in range(groups):
            start = group * many if back else group
            total = 0.0
            for member in range(members):
                total += here[start + member * step]
            scale = amount[pair] / total if total > 0 else 0.0
            for member in range(members):
                share[start + member * step] = here[start + member * step] * scale
        for at in range(size):
            counted[meeting[begin + at]] += share[at]


@compiled()
def _weigh(
    giver: IntArray, givers: int, doubt: float, counted: NDArray[np.float64], chance: Floats32
) -> None:
    """The chance of each meeting: its share in all that the giver brings about."""
    given = np.full(givers, doubt, dtype=np.float64)
    for number in range(len(giver)):
        given[giver[number]] += counted[number]
    for number in range(len(giver)):
        chance[number] = counted[number] / given[giver[number]]
