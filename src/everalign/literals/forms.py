"""Literals → forms: the kind of a value, and what it is compared by."""

from __future__ import annotations

import math
import re
import unicodedata
from enum import IntEnum
from hashlib import blake2b
from typing import NamedTuple

from everalign.literals.folding import folded
from everalign.literals.moments import Moment, moment_of
from everalign.literals.terms import Term, term_of

CUT = 10_000  # characters of a text that are looked at
LONGEST = 200  # characters of a text that is compared with others than its equals
XSD = "http://www.w3.org/2001/XMLSchema#"
_NUMBERS = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)
_MOMENTS = frozenset(XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth"))
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
# A plain text of digits is a number, unless zeros in front or its length make it an identifier.
_PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_DIGITS_KEPT = 15  # of a number that fits a float
# Beyond these, what a datatype's values look like is not known: they are compared as they are.
_TEXTS = frozenset(
    ["", XSD + "string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", XSD + "anyURI"]
)


class Kind(IntEnum):
    """What a value is compared as."""

    TEXT = 0
    NUMBER = 1
    MOMENT = 2
    EXACT = 3


class Form(NamedTuple):
    """A value: equal ones share their `key`; `raw` is a text as it was written, but half-width
    letters and those in one sign are the usual ones.

    A number that may be a year has a moment as well.
    """

    kind: Kind
    key: str
    raw: str = ""
    language: str = ""
    number: float = 0.0
    moment: Moment | None = None


def form_of(literal: str) -> Form:
    """The form of a literal as N-Triples writes it.

    >>> form_of('"Paris"@fr').key, form_of('"3.50"').number, form_of('"1984-01-02"').kind.name
    ('paris', 3.5, 'MOMENT')
    >>> form_of('"007"').kind.name, form_of('"true"^^<' + XSD + 'boolean>').kind.name
    ('EXACT', 'EXACT')
    """
    term = term_of(literal)
    text = term.text[:CUT].strip()
    special = None
    if not term.language and text[:1] in _STARTS:
        special = _as_number(text, term) or _as_moment(text, term)
    if special is not None:
        return special
    key = folded(text)
    if len(text) > LONGEST:
        return Form(Kind.EXACT, blake2b(key.encode(), digest_size=16).hexdigest())
    if term.datatype not in _TEXTS or key.replace(" ", "").isdecimal():
        return Form(Kind.EXACT, key)
    raw = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return Form(Kind.TEXT, key, raw, term.language)


_STARTS = frozenset("+-.0123456789")


def _as_number(text: str, term: Term) -> Form | None:
    typed = term.datatype in _NUMBERS
    if not typed and term.datatype not in _TEXTS:
        return None
    if not (_NUMBER if typed else _PLAIN_NUMBER).fullmatch(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    whole = number.is_integer() and abs(number) < 10**_DIGITS_KEPT
    key = str(int(number)) if whole else text if _is_long(text) else repr(number)
    year = moment_of(key) if len(key) == len("1815") else None
    return Form(Kind.NUMBER, key, number=number, moment=year)


def _is_long(text: str) -> bool:
    """Whether this is a whole number with more digits than a float can tell apart."""
    return text.lstrip("+-").isdecimal()


def _as_moment(text: str, term: Term) -> Form | None:
    if term.datatype not in _MOMENTS and term.datatype not in _TEXTS:
        return None
    moment = moment_of(text)
    if moment is None:
        return None
    return Form(Kind.MOMENT, moment.key, moment=moment)
