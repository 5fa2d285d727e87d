"""Numbers and dates: dates parsed as XML Schema writes them, and similar values found by sorting.

The probabilities are estimates by judgement: no dataset with linked dates was at hand.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.literals.matches import LiteralMatches, merge_matches

Floats = NDArray[np.float64]

DAYS_PER_YEAR = 372.0  # on the axis of `Date.axis_position`: 12 months of 31 days
# Numbers that differ: just above equal, and at the edge of the tolerance.
CLOSE_NUMBERS, DISTANT_NUMBERS = 0.9, 0.5
# Dates that agree as far as the less precise of the two goes.
SAME_DAY, SAME_MONTH, SAME_YEAR = 0.9, 0.7, 0.5
ADJACENT_DAYS = 0.6  # time zones, and events that last beyond midnight
SWAPPED_DAY_AND_MONTH = 0.5  # 10 December read as 12 October
OTHER_DAY_OF_YEAR = 0.2  # both days are known: one may be wrong
OTHER_MONTH_OF_YEAR = 0.1

_DATE = re.compile(
    r"(-?\d{4,6})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?"
)


class DatePrecision(IntEnum):
    """The smallest known unit of a date."""

    YEAR = 1
    MONTH = 2
    DAY = 3
    TIME = 4


class Date(NamedTuple):
    """A date, possibly with a time of day in UTC; unknown units are 0.

    Attributes:
        year: The year, negative before the common era.
        month: 1 to 12.
        day: 1 to 31.
        seconds: Seconds since midnight.
        precision: The smallest known unit.
    """

    year: int
    month: int = 0
    day: int = 0
    seconds: int = 0
    precision: DatePrecision = DatePrecision.YEAR

    @property
    def key(self) -> str:
        """The text that equal dates share; midnight is the same as its day."""
        units = [f"{self.year:04d}", f"{self.month:02d}", f"{self.day:02d}"]
        text = "-".join(units[: min(self.precision, DatePrecision.DAY)])
        return f"{text}T{self.seconds:05d}" if self.seconds else text

    @property
    def axis_position(self) -> float:
        """A number that grows with time, about 1 per day; a year or month is at its middle."""
        month = self.month - 1 if self.month else 6
        day = self.day - 1 if self.day else 15 if self.month else 0
        return self.year * DAYS_PER_YEAR + month * 31 + day + self.seconds / 86_400


def parse_date(text: str) -> Date | None:
    """Parse a date, a date with a time, a year or a year and month.

    Args:
        text: A lexical form of XML Schema.

    Returns:
        The date in UTC, or None if the text is none.

    Example:
        >>> parse_date("1815-12-10").key, parse_date("1815-12").key, parse_date("soon")
        ('1815-12-10', '1815-12', None)
        >>> parse_date("2001-01-01T01:30:00+02:00").key
        '2000-12-31T84600'
    """
    match = _DATE.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    # Only with a time can a zone move the date; a zone at a mere date is ignored.
    if match[4] is not None:
        return _convert_to_utc((year, month, day, hour, minute, second), match[7])
    if (match[2] and not 1 <= month <= 12) or (match[3] and not 1 <= day <= 31):
        return None
    precision = DatePrecision.MONTH if month else DatePrecision.YEAR
    return Date(year, month, day, 0, DatePrecision.DAY if day else precision)


def _convert_to_utc(numbers: tuple[int, int, int, int, int, int], zone: str | None) -> Date | None:
    try:
        time = datetime(*numbers, tzinfo=UTC) - _parse_offset(zone)
    except (ValueError, OverflowError):
        return None
    seconds = time.hour * 3600 + time.minute * 60 + time.second
    return Date(time.year, time.month, time.day, seconds, DatePrecision.TIME)


def _parse_offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[4:]))


def compare_dates(left: Date, right: Date) -> float:
    """Estimate the probability that two dates stand for the same one.

    Args:
        left: A date.
        right: Another one.

    Returns:
        1 for equal dates, 0 for those that contradict each other.

    Example:
        >>> day = parse_date("1815-12-10")
        >>> compare_dates(day, parse_date("1815-12-10T08:00:00"))
        0.9
        >>> compare_dates(day, parse_date("1815")), compare_dates(day, parse_date("1815-10-12"))
        (0.5, 0.5)
        >>> compare_dates(day, parse_date("1816-12-10"))
        0.0
    """
    if left.key == right.key:
        return 1.0
    precision = min(left.precision, right.precision)
    if left.year != right.year:
        # 31 December and 1 January are next to each other on the axis too.
        adjacent = abs(left.axis_position - right.axis_position) <= 1
        return ADJACENT_DAYS if adjacent and precision >= DatePrecision.DAY else 0.0
    if precision == DatePrecision.YEAR:
        return SAME_YEAR
    if precision == DatePrecision.MONTH:
        return SAME_MONTH if left.month == right.month else OTHER_MONTH_OF_YEAR
    return _compare_days(left, right)


def _compare_days(left: Date, right: Date) -> float:
    """The same for two days of one year."""
    if (left.month, left.day) == (right.month, right.day):
        return SAME_DAY
    if (left.month, left.day) == (right.day, right.month):
        return SWAPPED_DAY_AND_MONTH
    adjacent = abs(left.axis_position - right.axis_position) <= 1
    return ADJACENT_DAYS if adjacent else OTHER_DAY_OF_YEAR


def match_numbers(
    left: Floats, right: Floats, neighbours: int, tolerance: float
) -> LiteralMatches:
    """Pair numbers that differ by no more than a relative tolerance.

    Args:
        left: The left numbers.
        right: The right numbers.
        neighbours: How many of the nearest are paired with each number.
        tolerance: The largest difference, as a share of the larger number.

    Returns:
        Pairs of positions; the probability falls with the difference from 0.9 to 0.5.

    Example:
        >>> numbers = np.array([100.0, 100.5, 150.0])
        >>> match_numbers(numbers[:1], numbers, 10, 0.01).to_rows()
        [(0, 0, 1.0), (0, 1, 0.701)]
    """
    one, two = _find_neighbours(
        left, right, neighbours, lambda numbers: tolerance * np.abs(numbers)
    )
    probability = compare_numbers(left[one], right[two], tolerance)
    keep = probability > 0
    return LiteralMatches.from_columns(one[keep], two[keep], probability[keep])


def compare_numbers(left: Floats, right: Floats, tolerance: float) -> Floats:
    """Estimate the probability that two numbers stand for the same one.

    Args:
        left: Left numbers.
        right: A right number for each.
        tolerance: The largest difference, as a share of the larger number.

    Returns:
        1 for equal numbers, less for others, 0 for those that differ by more.
    """
    # Of the larger number, so that it does not matter which of the two is left.
    scale = np.maximum(np.abs(left), np.abs(right))
    difference = np.abs(left - right) / np.where(scale > 0, scale, 1) / tolerance
    falling = CLOSE_NUMBERS - (CLOSE_NUMBERS - DISTANT_NUMBERS) * difference
    probability = np.where(difference == 0, 1.0, falling)
    return np.where(difference <= 1, probability, 0.0)


def match_dates(left: Sequence[Date], right: Sequence[Date], neighbours: int) -> LiteralMatches:
    """Pair dates that agree in what both tell.

    Args:
        left: The left dates.
        right: The right dates.
        neighbours: How many of the nearest are paired with each date.

    Returns:
        Pairs of positions, with the probability of `compare_dates`.
    """
    left_positions, right_positions = (
        np.array([date.axis_position for date in dates]) for dates in (left, right)
    )
    one, two = _find_neighbours(
        left_positions,
        right_positions,
        neighbours,
        lambda positions: np.full(len(positions), DAYS_PER_YEAR),
    )
    pairs = zip(one.tolist(), two.tolist(), strict=True)
    return LiteralMatches.from_columns(
        one, two, [compare_dates(left[i], right[j]) for i, j in pairs]
    )


def _find_neighbours(
    left: Floats, right: Floats, count: int, max_distance: Callable[[Floats], Floats]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Pairs in which either is among the nearest of the other and within its distance."""
    forward = _find_nearest(left, right, count, max_distance)
    backward = _find_nearest(right, left, count, max_distance)
    pairs = merge_matches(
        [
            LiteralMatches.from_columns(*forward, np.ones(len(forward[0]))),
            LiteralMatches.from_columns(*backward, np.ones(len(backward[0]))).swap_sides(),
        ]
    )
    return pairs.left.astype(np.intp), pairs.right.astype(np.intp)


def _find_nearest(
    queries: Floats, values: Floats, count: int, max_distance: Callable[[Floats], Floats]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The nearest values of each query, looked for on either side of it in sorted order."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    # The nearest `count` are among the `count` on either side of where the query would stand.
    slots = np.searchsorted(ordered, queries)[:, None] + np.arange(-count, count)
    inside = (slots >= 0) & (slots < len(ordered))
    distance = np.full(slots.shape, np.inf)
    repeated = np.broadcast_to(queries[:, None], slots.shape)
    distance[inside] = np.abs(ordered[slots[inside]] - repeated[inside])
    distance[distance > max_distance(queries)[:, None]] = np.inf
    # Stable: of two equally near values, the lower one comes first in every run.
    nearest = np.argsort(distance, axis=1, kind="stable")[:, :count]
    chosen = np.take_along_axis(slots, nearest, axis=1)
    found = np.isfinite(np.take_along_axis(distance, nearest, axis=1))
    return np.nonzero(found)[0], order[chosen[found]]
