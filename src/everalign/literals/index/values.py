"""Numbers and dates near to new ones, found by binary search in sorted order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign.literals.dates_numbers import (
    DAYS_PER_YEAR,
    Date,
    DatePrecision,
    compare_dates,
    compare_numbers,
)
from everalign.literals.index.arrays import Array, Rows, SortedTable, expand_ranges
from everalign.literals.matches import LiteralMatches
from everalign.literals.parsing import TypedValue, ValueKind

Floats: TypeAlias = NDArray[np.float64]

# So many values on either side of a new one are looked at. In a denser crowd, those farther away
# have nearer partners of their own.
WINDOW = 50
LITERAL, YEAR, MONTH, DAY, SECONDS, PRECISION, KIND = range(7)  # columns of a table of dates


def list_numbers(ids: Array, values: Sequence[TypedValue]) -> tuple[Floats, Array]:
    """List the numbers among literals.

    Args:
        ids: The ids of the literals.
        values: Their values.

    Returns:
        The numbers and their literals.
    """
    rows = [row for row, value in enumerate(values) if value.kind == ValueKind.NUMBER]
    numbers = np.array([values[row].number for row in rows], dtype=np.float64)
    return numbers, ids[np.array(rows, dtype=np.intp)]


def list_dates(ids: Array, values: Sequence[TypedValue]) -> tuple[Floats, Array]:
    """List the dates among literals, and the numbers that may be years.

    Args:
        ids: The ids of the literals.
        values: Their values.

    Returns:
        Their positions on the axis of time, and rows of literal, units, precision and kind.
    """
    rows = [
        (*value.date, value.kind, literal, value.date.axis_position)
        for literal, value in zip(ids.tolist(), values, strict=True)
        if value.date is not None
    ]
    positions = np.array([row[-1] for row in rows], dtype=np.float64)
    columns = [(row[-2], *row[:-2]) for row in rows]
    return positions, np.array(columns, dtype=np.int32).reshape(-1, KIND + 1)


def match_new_numbers(
    queries: tuple[Floats, Array],
    own: SortedTable,
    other: SortedTable,
    neighbours: int,
    tolerance: float,
) -> LiteralMatches:
    """Pair new numbers with those of the other side.

    Args:
        queries: New numbers and their literals.
        own: All numbers of the same side, the new ones included.
        other: The numbers of the other side.
        neighbours: How many of the nearest are paired with each number.
        tolerance: The largest difference, as a share of the larger number.

    Returns:
        Pairs of the literal of a new number and one of the other side.
    """
    numbers, literals = queries
    if not len(numbers):
        return LiteralMatches.empty()
    # The larger of two numbers decides, and may be the other one.
    reach = tolerance * np.abs(numbers) / (1 - tolerance)
    query, key, value = _find_near(numbers, own, other, neighbours, reach)
    probability = compare_numbers(numbers[query], key, tolerance)
    keep = probability > 0
    return LiteralMatches.from_columns(literals[query[keep]], value[keep], probability[keep])


def match_new_dates(
    queries: tuple[Floats, Array], own: SortedTable, other: SortedTable, neighbours: int
) -> LiteralMatches:
    """Pair new dates with those of the other side.

    Args:
        queries: What `list_dates` returned of new literals.
        own: All dates of the same side, the new ones included.
        other: The dates of the other side.
        neighbours: How many of the nearest are paired with each date.

    Returns:
        Pairs of the literal of a new date and one of the other side.
    """
    positions, rows = queries
    if not len(positions):
        return LiteralMatches.empty()
    reach = np.full(len(positions), DAYS_PER_YEAR)
    query, _, found = _find_near(positions, own, other, neighbours, reach)
    new = rows[query]
    # Two numbers of four digits need not be years: they are compared as numbers only.
    dated = (new[:, KIND] != ValueKind.NUMBER) | (found[:, KIND] != ValueKind.NUMBER)
    new, found = new[dated], found[dated]
    pairs = zip(_read_dates(new), _read_dates(found), strict=True)
    return LiteralMatches.from_columns(
        new[:, LITERAL], found[:, LITERAL], [compare_dates(one, two) for one, two in pairs]
    )


def _read_dates(rows: Array) -> list[Date]:
    return [
        Date(year, month, day, seconds, DatePrecision(precision))
        for year, month, day, seconds, precision in rows[:, YEAR : PRECISION + 1].tolist()
    ]


def _find_near(
    queries: Floats, own: SortedTable, other: SortedTable, neighbours: int, reach: Floats
) -> tuple[Rows, Floats, Array]:
    """Query, key and value of all pairs in which either is among the nearest of the other."""
    numbers, keys, values = [], [], []
    for part_keys, part_values in other.parts:
        place = np.searchsorted(part_keys, queries)
        first = np.searchsorted(part_keys, queries - reach)
        end = np.searchsorted(part_keys, queries + reach, side="right")
        first, end = np.maximum(first, place - WINDOW), np.minimum(end, place + WINDOW)
        number, position = expand_ranges(first, np.maximum(end - first, 0))
        numbers.append(number)
        keys.append(part_keys[position])
        values.append(part_values[position])
    query, key, value = np.concatenate(numbers), np.concatenate(keys), np.concatenate(values)
    distance = np.abs(queries[query] - key)
    listed = _count_nearer(other, queries[query], distance) < neighbours
    rest = np.flatnonzero(~listed)
    listed[rest] = _count_nearer(own, key[rest], distance[rest]) < neighbours
    return query[listed], key[listed], value[listed]


def _count_nearer(table: SortedTable, centre: Floats, distance: Floats) -> Rows:
    """How many keys are nearer to each centre than the given distance."""
    count = np.zeros(len(centre), dtype=np.int64)
    for keys, _ in table.parts:
        above = np.searchsorted(keys, centre - distance, side="right")
        count += np.maximum(np.searchsorted(keys, centre + distance) - above, 0)
    return count
