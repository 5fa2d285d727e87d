"""Links in memory: pairs, data frames of two columns, graphs with owl:sameAs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from everalign.errors import InputError
from everalign.io.filters import ReadContext
from everalign.io.links.records import LINK_PREDICATE_IRIS
from everalign.io.objects import describe_object, list_frame_rows, read_object
from everalign.io.objects import is_readable_object as is_object
from everalign.io.terms import shorten_text


def list_pairs(source: Any) -> list[tuple[str, str]]:
    """List the links that an object holds.

    Args:
        source: Pairs of names, a mapping, a data frame whose first two columns are names, or a
            graph of rdflib or pyoxigraph.

    Returns:
        Pairs of a left and a right name.

    Raises:
        InputError: It is something else.

    >>> list_pairs({"a": "A"})
    [('a', 'A')]
    >>> list_pairs([("a", "A", 0.5)])
    Traceback (most recent call last):
    everalign.errors.InputError: pair 1: expected a left and a right name, found "('a', 'A', 0.5)"
    """
    if isinstance(source, Mapping):
        source = source.items()
    if is_object(source):
        rows = list_frame_rows(source, 2)
        return _list_stated(source) if rows is None else [_check_pair(*row) for row in rows]
    if not isinstance(source, Iterable):
        raise InputError(f"{describe_object(source)} cannot be read as links")
    return [_check_row(number, row) for number, row in enumerate(source, 1)]


def _check_row(number: int, row: Any) -> tuple[str, str]:
    # Two letters are a pair for Python.
    is_pair = not isinstance(row, str) and isinstance(row, Iterable)
    names = tuple(row) if is_pair else ()
    if len(names) == 2 and all(isinstance(name, str) for name in names):
        return str(names[0]), str(names[1])
    found = shorten_text(repr(row))
    raise InputError(f"pair {number}: expected a left and a right name, found {found}")


def _check_pair(left: Any, right: Any) -> tuple[str, str]:
    return _format_id(left), _format_id(right)


def _format_id(value: Any) -> str:
    # A column of whole numbers that has a gap is one of floats for pandas.
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


def _list_stated(source: Any) -> list[tuple[str, str]]:
    context = ReadContext(Path(describe_object(source)))
    pairs = [
        (head, tail)
        for batch in read_object(source, context)
        for head, relation, tail in batch.triples
        if relation in LINK_PREDICATE_IRIS
    ]
    if not pairs:
        raise InputError("has no links, such as owl:sameAs", path=context.path)
    return pairs
