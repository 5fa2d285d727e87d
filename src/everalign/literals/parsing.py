"""N-Triples literals → text, language and datatype → typed values → the texts to compare."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from enum import IntEnum
from functools import cached_property
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import AttributeTriples, IntArray
from everalign.literals.dates_numbers import Date, parse_date
from everalign.literals.normalisation import (
    compute_phonetic_key,
    is_chinese,
    is_japanese,
    is_latin,
    normalise_text,
    strip_qualifier,
    transliterate,
)

MAX_LENGTH = 10_000  # characters of a text that are read: descriptions can be very long
MAX_COMPARED_LENGTH = 200  # longer texts are no names: only equal ones match
XSD = "http://www.w3.org/2001/XMLSchema#"

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CONTROL_CHARACTERS = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}
_NUMBER_TYPES = frozenset(
    XSD + name
    for name in (
        *("integer", "decimal", "double", "float", "int", "long", "short", "byte"),
        *("nonNegativeInteger", "positiveInteger", "nonPositiveInteger", "negativeInteger"),
        *("unsignedInt", "unsignedLong", "unsignedShort", "unsignedByte"),
    )
)
_DATE_TYPES = frozenset(XSD + name for name in ("date", "dateTime", "gYear", "gYearMonth"))
# What values of other datatypes look like is not known: they are compared as they are.
_TEXT_TYPES = frozenset(
    ["", XSD + "string", "http://www.w3.org/1999/02/22-rdf-syntax-ns#langString", XSD + "anyURI"]
)
_NUMBER = re.compile(r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?")
# A plain text of digits is a number, unless leading zeros or its length make it an identifier.
_PLAIN_NUMBER = re.compile(r"[+-]?(?:0|[1-9]\d{0,14})(?:\.\d{1,15})?")
_NUMBER_OR_DATE_STARTS = frozenset("+-.0123456789")
_EXACT_DIGITS = 15  # of a whole number that a float holds exactly


class Term(NamedTuple):
    """The parts of an RDF literal.

    Attributes:
        text: The lexical form, without escapes.
        language: The language tag in lower case, or an empty string.
        datatype: The IRI of the datatype, or an empty string.
    """

    text: str
    language: str = ""
    datatype: str = ""


class ValueKind(IntEnum):
    """What a value is compared as."""

    TEXT = 0
    NUMBER = 1
    DATE = 2
    EXACT = 3


class TypedValue(NamedTuple):
    """A parsed literal.

    Attributes:
        kind: What it is compared as.
        key: Equal values have the same key.
        text: A text as it was written, in Unicode form NFKC.
        language: The language tag of a text.
        number: The value of a number.
        date: The value of a date, or of a number that may be a year.
    """

    kind: ValueKind
    key: str
    text: str = ""
    language: str = ""
    number: float = 0.0
    date: Date | None = None

    @property
    def text_key(self) -> str:
        """What tells the rows of a `TextTable` apart."""
        # The language only decides how other scripts are read.
        return self.text if self.text.isascii() else f"{self.text}\n{self.language}"


def parse_term(literal: str) -> Term:
    r"""Split an N-Triples literal into text, language and datatype.

    Args:
        literal: The literal; a text without quotes is taken as it is.

    Returns:
        Its parts.

    Example:
        >>> parse_term('"Paris"@fr')
        Term(text='Paris', language='fr', datatype='')
        >>> parse_term(r'"say \"hi\""').text
        'say "hi"'
        >>> parse_term('"7"^^<http://www.w3.org/2001/XMLSchema#integer>').datatype
        'http://www.w3.org/2001/XMLSchema#integer'
    """
    # The last quote: escaped ones before it belong to the text, and no tag or IRI has any.
    end = literal.rfind('"')
    if end <= 0 or literal[0] != '"':
        return Term(literal)
    text, tail = literal[1:end], literal[end + 1 :]
    if "\\" in text:
        text = _ESCAPE.sub(_unescape, text)
    if tail.startswith("@"):
        # RDF 1.2 writes a base direction after the tag: "en--ltr".
        return Term(text, language=tail[1:].partition("--")[0].lower())
    return Term(text, datatype=tail[3:-1] if tail.startswith("^^<") else "")


def _unescape(match: re.Match[str]) -> str:
    short, long, letter = match.groups()
    if letter is not None:
        return _CONTROL_CHARACTERS.get(letter, letter)
    code = int(short or long, 16)
    return chr(code) if code <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"


def parse_value(literal: str) -> TypedValue:
    """Parse an N-Triples literal into a typed value.

    Args:
        literal: The literal.

    Returns:
        A number or date where datatype or form tell so, else a text; identifiers, long texts
        and values of unknown datatypes can only be equal.

    Example:
        >>> parse_value('"Paris"@fr').key, parse_value('"3.50"').number
        ('paris', 3.5)
        >>> parse_value('"1984-01-02"').kind.name, parse_value('"007"').kind.name
        ('DATE', 'EXACT')
    """
    term = parse_term(literal)
    text = term.text[:MAX_LENGTH].strip()
    if not term.language and text[:1] in _NUMBER_OR_DATE_STARTS:
        value = _parse_number(text, term.datatype) or _parse_date_value(text, term.datatype)
        if value is not None:
            return value
    key = normalise_text(text)
    # A digest in place of a long key, which is only ever compared for equality.
    if len(text) > MAX_COMPARED_LENGTH:
        return TypedValue(ValueKind.EXACT, blake2b(key.encode(), digest_size=16).hexdigest())
    if term.datatype not in _TEXT_TYPES or key.replace(" ", "").isdecimal():
        return TypedValue(ValueKind.EXACT, key)
    written = text if text.isascii() else unicodedata.normalize("NFKC", text)
    return TypedValue(ValueKind.TEXT, key, written, term.language)


def _parse_number(text: str, datatype: str) -> TypedValue | None:
    has_number_type = datatype in _NUMBER_TYPES
    if not has_number_type and datatype not in _TEXT_TYPES:
        return None
    if not (_NUMBER if has_number_type else _PLAIN_NUMBER).fullmatch(text):
        return None
    number = float(text)
    if not math.isfinite(number):
        return None
    if number.is_integer() and abs(number) < 10**_EXACT_DIGITS:
        key = str(int(number))
    else:
        # A whole number with more digits than a float holds is told apart by its digits.
        key = text if text.lstrip("+-").isdecimal() else repr(number)
    # Years are often written as plain numbers.
    year = parse_date(key) if len(key) == len("1815") else None
    return TypedValue(ValueKind.NUMBER, key, number=number, date=year)


def _parse_date_value(text: str, datatype: str) -> TypedValue | None:
    if datatype not in _DATE_TYPES and datatype not in _TEXT_TYPES:
        return None
    date = parse_date(text)
    return None if date is None else TypedValue(ValueKind.DATE, date.key, date=date)


@dataclass(frozen=True)
class TextTable:
    """The distinct texts of a graph in the forms that they are compared in, a row each.

    Attributes:
        normalised: The normal form, in the text's own script.
        latin: The normal form of the Latin transliteration.
        unqualified: The same without a qualifier in parentheses.
        non_latin: Which texts have letters of other scripts.
        chinese: Which of these are transliterated as Pinyin.
        row_of_value: The row of each typed value; −1 for one that is no text.
    """

    normalised: list[str]
    latin: list[str]
    unqualified: list[str]
    non_latin: NDArray[np.bool_]
    chinese: NDArray[np.bool_]
    row_of_value: IntArray

    def __len__(self) -> int:
        return len(self.normalised)

    @cached_property
    def phonetic_keys(self) -> list[str]:
        """The phonetic keys of the words of each text."""
        return [
            " ".join([compute_phonetic_key(word, pinyin=pinyin) for word in text.split()])
            for text, pinyin in zip(self.latin, self.chinese.tolist(), strict=True)
        ]

    @property
    def has_qualifier(self) -> NDArray[np.bool_]:
        """Which texts have a qualifier."""
        pairs = zip(self.latin, self.unqualified, strict=True)
        return np.array([latin != core for latin, core in pairs], dtype=np.bool_)

    def select_rows(self, rows: NDArray[np.integer]) -> TextTable:
        """Select some texts.

        Args:
            rows: Their rows, each once.

        Returns:
            A table of these texts, in the order of `rows`.
        """
        new_row = np.full(len(self) + 1, -1, dtype=np.int32)  # the last one is for no text
        new_row[rows] = np.arange(len(rows))
        selected = rows.tolist()
        return TextTable(
            [self.normalised[row] for row in selected],
            [self.latin[row] for row in selected],
            [self.unqualified[row] for row in selected],
            self.non_latin[rows],
            self.chinese[rows],
            new_row[self.row_of_value],
        )

    def apply_translations(self, translations: Mapping[str, str]) -> TextTable:
        """Put translations in place of Latin transliterations.

        Args:
            translations: Normalised texts and their normalised translations.

        Returns:
            The same rows; texts without a translation are as before.
        """
        translated = [translations.get(text) for text in self.normalised]
        is_translated = np.array([text is not None for text in translated], dtype=np.bool_)
        return replace(
            self,
            latin=[new or old for new, old in zip(translated, self.latin, strict=True)],
            unqualified=[
                new or old for new, old in zip(translated, self.unqualified, strict=True)
            ],
            non_latin=self.non_latin & ~is_translated,
            chinese=self.chinese & ~is_translated,
        )


class _TextRow(NamedTuple):
    normalised: str
    latin: str
    unqualified: str
    non_latin: bool
    chinese: bool


def build_text_table(values: Sequence[TypedValue], *, japanese: bool) -> TextTable:
    """Collect the texts among typed values, each once.

    Args:
        values: Typed values of one graph.
        japanese: How Han characters are read if neither tag nor kana decide it.

    Returns:
        The texts in the order in which they first occur.
    """
    row_of_text: dict[str, int] = {}
    row_of_value = np.full(len(values), -1, dtype=np.int32)
    rows: list[_TextRow] = []
    for position, value in enumerate(values):
        if value.kind != ValueKind.TEXT:
            continue
        key = value.text_key
        if key not in row_of_text:
            row_of_text[key] = len(rows)
            rows.append(_build_text_row(value, japanese))
        row_of_value[position] = row_of_text[key]
    columns = zip(*rows, strict=True) if rows else ((),) * len(_TextRow._fields)
    normalised, latin, unqualified, non_latin, chinese = columns
    flags = np.array(non_latin, dtype=np.bool_), np.array(chinese, dtype=np.bool_)
    return TextTable(list(normalised), list(latin), list(unqualified), *flags, row_of_value)


def _build_text_row(value: TypedValue, japanese: bool) -> _TextRow:
    text, language = value.text, value.language
    core = strip_qualifier(text)
    if is_latin(text):
        unqualified = value.key if core == text else normalise_text(core)
        return _TextRow(value.key, value.key, unqualified, False, False)
    latin = normalise_text(transliterate(text, language, japanese=japanese))
    unqualified = latin
    if core != text:
        unqualified = normalise_text(transliterate(core, language, japanese=japanese))
    chinese = is_chinese(text, language, japanese=japanese)
    return _TextRow(value.key, latin, unqualified, True, chinese)


@dataclass(frozen=True)
class ParsedLiterals:
    """The literals that entities of a graph have, parsed when they are first needed.

    Attributes:
        attribute_triples: The attribute triples of the graph.

    Example:
        >>> rows = np.array([[5, 0, 1]], dtype=np.int32)
        >>> literals = ParsedLiterals(AttributeTriples(rows, ["name"], ['"ADA"', '"Bob"']))
        >>> literals.literal_ids.tolist(), literals.texts.latin
        ([1], ['bob'])
    """

    attribute_triples: AttributeTriples

    @cached_property
    def literal_ids(self) -> IntArray:
        """The ids of literals in use, sorted."""
        return np.unique(self.attribute_triples.triples[:, 2])

    @cached_property
    def typed_values(self) -> list[TypedValue]:
        """The typed value of each literal in use."""
        literals = self.attribute_triples.literals
        return [parse_value(literals[literal]) for literal in self.literal_ids.tolist()]

    @cached_property
    def japanese(self) -> bool:
        """Whether Han characters are read as Japanese if neither tag nor kana decide it."""
        return is_japanese([v.text for v in self.typed_values if v.kind == ValueKind.TEXT])

    @cached_property
    def texts(self) -> TextTable:
        """The texts among the literals in use."""
        return build_text_table(self.typed_values, japanese=self.japanese)

    @property
    def text_of_triple(self) -> IntArray:
        """The row in `texts` of the literal of each attribute triple; −1 if it is no text."""
        positions = np.searchsorted(self.literal_ids, self.attribute_triples.triples[:, 2])
        rows: IntArray = self.texts.row_of_value[positions]
        return rows
