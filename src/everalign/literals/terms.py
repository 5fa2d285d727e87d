"""Literals as N-Triples writes them → text, language and datatype."""

from __future__ import annotations

import re
from typing import NamedTuple

_ESCAPE = re.compile(r"\\(?:u([0-9A-Fa-f]{4})|U([0-9A-Fa-f]{8})|(.))", re.DOTALL)
_CONTROL = {"t": "\t", "b": "\b", "n": "\n", "r": "\r", "f": "\f"}


class Term(NamedTuple):
    """A literal: what it says, and the language or the datatype that stand behind it."""

    text: str
    language: str = ""
    datatype: str = ""


def term_of(literal: str) -> Term:
    r"""The parts of a literal; a text without quotes is taken as it is.

    >>> term_of('"Paris"@fr')
    Term(text='Paris', language='fr', datatype='')
    >>> term_of(r'"say \"hi\""').text
    'say "hi"'
    >>> term_of('"7"^^<http://www.w3.org/2001/XMLSchema#integer>').datatype
    'http://www.w3.org/2001/XMLSchema#integer'
    """
    end = literal.rfind('"')
    if end <= 0 or literal[0] != '"':
        return Term(literal)
    text, tail = literal[1:end], literal[end + 1 :]
    if "\\" in text:
        text = _ESCAPE.sub(_unescaped, text)
    if tail.startswith("@"):
        return Term(text, language=tail[1:].partition("--")[0].lower())
    return Term(text, datatype=tail[3:-1] if tail.startswith("^^<") else "")


def _unescaped(match: re.Match[str]) -> str:
    short, long, letter = match.groups()
    if letter is not None:
        return _CONTROL.get(letter, letter)
    code = int(short or long, 16)
    return chr(code) if code <= 0x10FFFF else "\N{REPLACEMENT CHARACTER}"
