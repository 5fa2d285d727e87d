"""What an entity or a relation is called: its IRI without angle brackets, or its plain id."""

from __future__ import annotations

import re

Triple = tuple[str, str, str]

# The characters that N-Triples does not allow between angle brackets.
NOT_IN_IRI = bytes(range(0x21)) + b'<>"{}|^`\\'
IN_IRI = f"[^{re.escape(NOT_IN_IRI.decode())}]"
XSD_STRING = "http://www.w3.org/2001/XMLSchema#string"

_BRACKETED = re.compile(r"<([^<>]+)>", re.DOTALL)
_IRI = re.compile(rf"(?!_:){IN_IRI}+")
_ABSOLUTE_IRI = re.compile(rf"[A-Za-z][A-Za-z0-9+.-]*:{IN_IRI}+")


def without_brackets(field: str) -> str:
    """The name in a field of a table, where an IRI may stand in angle brackets.

    >>> without_brackets("<http://example.org/Ada>")
    'http://example.org/Ada'
    >>> without_brackets("Q42")
    'Q42'
    """
    match = _BRACKETED.fullmatch(field)
    return match[1] if match else field


def is_iri(name: str) -> bool:
    """Whether N-Triples allows these characters in an IRI.

    A name that looks like a blank node is not allowed either: it could be taken for one.

    >>> is_iri("http://example.org/Zoë"), is_iri("http://example.org/Zoë Doe"), is_iri("_:b0")
    (True, False, False)
    """
    return _IRI.fullmatch(name) is not None


def is_absolute_iri(name: str) -> bool:
    """Whether the name can be written between angle brackets in N-Triples.

    >>> is_absolute_iri("http://example.org/Zoë"), is_absolute_iri("Zoë"), is_absolute_iri("_:b0")
    (True, False, False)
    """
    return _ABSOLUTE_IRI.fullmatch(name) is not None


def shortened(text: str, length: int = 60) -> str:
    """The text in quotes, cut where it gets too long for a message of one line."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")
