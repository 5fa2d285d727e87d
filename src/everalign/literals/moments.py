"""Dates and times: read as XML Schema writes them, compared by how far they agree."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from enum import IntEnum
from typing import NamedTuple

_MOMENT = re.compile(
    r"(-?\d{4,6})(?:-(\d\d)(?:-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?"
)


class Precision(IntEnum):
    """What of a moment is known."""

    YEAR = 1
    MONTH = 2
    DAY = 3
    TIME = 4


class Moment(NamedTuple):
    """A date or a time; what is not known of it is 0. `seconds` count from midnight."""

    year: int
    month: int = 0
    day: int = 0
    seconds: int = 0
    precision: Precision = Precision.YEAR

    @property
    def key(self) -> str:
        """What equal moments share; a midnight is the same as its day."""
        parts = [f"{self.year:04d}", f"{self.month:02d}", f"{self.day:02d}"]
        text = "-".join(parts[: min(self.precision, Precision.DAY)])
        return f"{text}T{self.seconds:05d}" if self.seconds else text

    @property
    def place(self) -> float:
        """Where it stands on a line on which later moments have higher places, about a day each.

        A year or a month stands in its own middle.
        """
        month = self.month - 1 if self.month else 6
        day = self.day - 1 if self.day else 15 if self.month else 0
        return self.year * 372 + month * 31 + day + self.seconds / 86_400


def moment_of(text: str) -> Moment | None:
    """The moment that a text tells, if it does.

    >>> moment_of("1815-12-10").key, moment_of("1815-12").key, moment_of("soon")
    ('1815-12-10', '1815-12', None)
    >>> moment_of("2001-01-01T01:30:00+02:00").key
    '2000-12-31T84600'
    """
    match = _MOMENT.fullmatch(text)
    if match is None:
        return None
    year, month, day, hour, minute, second = (int(part or 0) for part in match.groups()[:6])
    if match[4] is not None:
        return _with_time((year, month, day, hour, minute, second), match[7])
    if (match[2] and not 1 <= month <= 12) or (match[3] and not 1 <= day <= 31):
        return None
    precision = Precision.DAY if day else Precision.MONTH if month else Precision.YEAR
    return Moment(year, month, day, 0, precision)


def _with_time(numbers: tuple[int, int, int, int, int, int], zone: str | None) -> Moment | None:
    try:
        at = datetime(*numbers, tzinfo=UTC) - _offset(zone)
    except (ValueError, OverflowError):
        return None
    seconds = at.hour * 3600 + at.minute * 60 + at.second
    return Moment(at.year, at.month, at.day, seconds, Precision.TIME)


def _offset(zone: str | None) -> timedelta:
    if zone is None or zone == "Z":
        return timedelta()
    sign = -1 if zone[0] == "-" else 1
    return sign * timedelta(hours=int(zone[1:3]), minutes=int(zone[4:]))


def agreement(one: Moment, two: Moment) -> float:
    """How likely two moments that are not equal stand for one.

    >>> day = moment_of("1815-12-10")
    >>> agreement(day, moment_of("1815-12-10T08:00:00")), agreement(day, moment_of("1815"))
    (0.9, 0.5)
    >>> agreement(day, moment_of("1815-10-12")), agreement(day, moment_of("1816-12-10"))
    (0.5, 0.0)
    """
    if one.year != two.year:
        return 0.6 if abs(one.place - two.place) <= 1 and _both_days(one, two) else 0.0
    known = min(one.precision, two.precision)
    if known == Precision.YEAR:
        return 0.5
    if one.month == two.month and known == Precision.MONTH:
        return 0.7
    if known < Precision.DAY:
        return 0.1
    return _of_days(one, two)


def _of_days(one: Moment, two: Moment) -> float:
    """The same for two days of one year."""
    if (one.month, one.day) == (two.month, two.day):
        return 0.9
    if (one.month, one.day) == (two.day, two.month):
        return 0.5
    return 0.6 if abs(one.place - two.place) <= 1 else 0.2


def _both_days(one: Moment, two: Moment) -> bool:
    return min(one.precision, two.precision) >= Precision.DAY
