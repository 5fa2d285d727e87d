"""Prefixes that a person gives: IRIs become short names, where one of them fits."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from everalign.errors import ConfigError
from everalign.rdf.names import is_absolute_iri, shortened

# What SSSOM knows without being told.
BUILT_IN: Mapping[str, str] = {
    "linkml": "https://w3id.org/linkml/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": "https://w3id.org/sssom/",
    "xsd": "http://www.w3.org/2001/XMLSchema#",
}

# The names that Turtle, SSSOM and XML all allow.
_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
_LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_INNER = f"{_LETTER}_0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_PERCENT = "%[0-9A-Fa-f]{2}"
# A local part of Turtle that needs no escape.
_TURTLE_LOCAL = re.compile(
    f"(?:[{_LETTER}_0-9:]|{_PERCENT})(?:(?:[{_INNER}.:]|{_PERCENT})*(?:[{_INNER}:]|{_PERCENT}))?"
)
# What follows upon "//" would be taken for a whole IRI.
_CURIE_LOCAL = re.compile("(?!//).+", re.DOTALL)


@dataclass(frozen=True)
class Prefixes:
    """Short names for the beginnings of IRIs.

    >>> prefixes = Prefixes({"dbr": "http://dbpedia.org/resource/"})
    >>> prefixes.curie("http://dbpedia.org/resource/Oslo")
    'dbr:Oslo'
    """

    names: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, beginning in self.names.items():
            _check(name, beginning)

    @classmethod
    def parse(cls, given: Iterable[str]) -> Self:
        """The prefixes of the form ``name=beginning``.

        >>> Prefixes.parse(["dbr=http://dbpedia.org/resource/"]).names
        {'dbr': 'http://dbpedia.org/resource/'}
        """
        names: dict[str, str] = {}
        for each in given:
            name, sign, beginning = each.partition("=")
            if not sign:
                raise ConfigError(
                    f"{shortened(each)} is no prefix: it must look like "
                    "dbr=http://dbpedia.org/resource/"
                )
            if names.setdefault(name, beginning) != beginning:
                raise ConfigError(f"the prefix {name!r} is given twice, with different meanings")
        return cls(names)

    def curie(self, iri: str) -> str | None:
        """The IRI as a CURIE of the longest prefix that fits; None if there is no such prefix."""
        return self._short(iri, _CURIE_LOCAL)

    def turtle(self, iri: str) -> str:
        """The IRI as Turtle has it: a prefixed name, or whole where that would need escapes."""
        return self._short(iri, _TURTLE_LOCAL) or f"<{iri}>"

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        return sorted(self.names.items(), key=lambda each: (-len(each[1]), each[0]))

    def _short(self, iri: str, local: re.Pattern[str]) -> str | None:
        for name, beginning in self._longest_first:
            if iri.startswith(beginning) and local.fullmatch(iri, len(beginning)):
                return f"{name}:{iri[len(beginning) :]}"
        return None


def suggested(iri: str) -> str:
    """A prefix that would cover the IRI, as one would give it.

    >>> suggested("http://dbpedia.org/resource/Oslo")
    'ns=http://dbpedia.org/resource/'
    """
    cut = max(iri.rfind(mark, 0, len(iri) - 1) for mark in "#/:")
    return f"ns={iri[: cut + 1]}"


def _check(name: str, beginning: str) -> None:
    if not _NAME.fullmatch(name):
        raise ConfigError(
            f"{shortened(name)} cannot be the name of a prefix: "
            "it takes a letter, then letters, digits, '-', '_' and '.' within"
        )
    # A beginning may be as short as "urn:", which is no IRI yet.
    if not is_absolute_iri(f"{beginning}x"):
        raise ConfigError(f"the prefix {name!r} stands for {shortened(beginning)}: not an IRI")
