"""What is read and written of a link, and the prefixes and options for writing it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from math import isfinite
from typing import NamedTuple, Self
from urllib.parse import quote

from pyoxigraph import NamedNode

from everalign.errors import ConfigError, InputError
from everalign.io.terms import is_absolute_iri, shorten_text

SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SSSOM = "https://w3id.org/sssom/"
# The properties that links may be written with, by their CURIEs.
LINK_PREDICATES: Mapping[str, str] = {
    "owl:sameAs": SAME_AS,
    "skos:exactMatch": "http://www.w3.org/2004/02/skos/core#exactMatch",
    "schema:sameAs": "http://schema.org/sameAs",
}
# What links may be read from: schema.org is written both ways.
LINK_PREDICATE_IRIS = frozenset([*LINK_PREDICATES.values(), "https://schema.org/sameAs"])
BLANK_NODE_PREFIX = "_:"
BLANK_NODE_PROBLEM = "an entity is a blank node"
# Nobody can own this host: the IRIs of blank nodes lead nowhere.
SKOLEM_BASE = "http://everalign.invalid/"

# The prefixes that every SSSOM file may use without declaring them.
SSSOM_PREFIXES: Mapping[str, str] = {
    "linkml": "https://w3id.org/linkml/",
    "owl": "http://www.w3.org/2002/07/owl#",
    "rdf": RDF,
    "rdfs": "http://www.w3.org/2000/01/rdf-schema#",
    "semapv": "https://w3id.org/semapv/vocab/",
    "skos": "http://www.w3.org/2004/02/skos/core#",
    "sssom": SSSOM,
    "xsd": XSD,
}

# The prefix names that Turtle, SSSOM and XML all allow.
_PREFIX_NAME = re.compile(r"[A-Za-z]([A-Za-z0-9_.-]*[A-Za-z0-9_-])?")
# PN_CHARS_BASE, PN_CHARS and PLX of the Turtle grammar, without backslash escapes.
_LETTER = (
    "A-Za-z\u00c0-\u00d6\u00d8-\u00f6\u00f8-\u02ff\u0370-\u037d\u037f-\u1fff\u200c-\u200d"
    "\u2070-\u218f\u2c00-\u2fef\u3001-\ud7ff\uf900-\ufdcf\ufdf0-\ufffd\U00010000-\U000effff"
)
_INNER = f"{_LETTER}_0-9\u00b7\u0300-\u036f\u203f-\u2040-"
_PERCENT = "%[0-9A-Fa-f]{2}"
# PN_LOCAL of the Turtle grammar: the local names that need no escape.
_TURTLE_LOCAL_NAME = re.compile(
    f"(?:[{_LETTER}_0-9:]|{_PERCENT})(?:(?:[{_INNER}.:]|{_PERCENT})*(?:[{_INNER}:]|{_PERCENT}))?"
)
# With "//" after the colon, a CURIE would be taken for an IRI.
_CURIE_LOCAL_NAME = re.compile("(?!//).+", re.DOTALL)


class LinkLine(NamedTuple):
    """A link that was read, and its line number."""

    left: str
    right: str
    line: int
    """The line number, the number of the row in Parquet, 0 if it is unknown."""


class LinkRow(NamedTuple):
    """A link to write, with all that a file can say about it."""

    left: str
    right: str
    score: float
    since: int = 0
    """The version in which the link was added."""

    origin: str = "found"
    """``given``, ``found`` or ``proposed``."""

    left_label: str = ""
    right_label: str = ""


@dataclass(frozen=True)
class Prefixes:
    """Prefixes that shorten IRIs.

    Raises:
        ConfigError: A name cannot be a prefix, or a namespace is not an IRI.

    >>> prefixes = Prefixes({"dbr": "http://dbpedia.org/resource/"})
    >>> prefixes.format_curie("http://dbpedia.org/resource/Oslo")
    'dbr:Oslo'
    """

    names: Mapping[str, str] = field(default_factory=dict)
    """The namespace of each prefix."""

    def __post_init__(self) -> None:
        for name, namespace in self.names.items():
            _check_prefix(name, namespace)

    @classmethod
    def parse(cls, entries: Iterable[str]) -> Self:
        """Parse prefixes as they are given on the command line.

        Args:
            entries: Prefixes of the form ``name=namespace``.

        Returns:
            All of them.

        Raises:
            ConfigError: An entry is not of this form, or contradicts another.

        >>> Prefixes.parse(["dbr=http://dbpedia.org/resource/"]).names
        {'dbr': 'http://dbpedia.org/resource/'}
        """
        names: dict[str, str] = {}
        for entry in entries:
            name, equals, namespace = entry.partition("=")
            if not equals:
                raise ConfigError(
                    f"invalid prefix {shorten_text(entry)}: expected NAME=IRI, such as "
                    "dbr=http://dbpedia.org/resource/"
                )
            if names.setdefault(name, namespace) != namespace:
                raise ConfigError(f"the prefix {name!r} is given twice with different IRIs")
        return cls(names)

    def format_curie(self, iri: str) -> str | None:
        """Shorten an IRI to a CURIE.

        Args:
            iri: An absolute IRI.

        Returns:
            The CURIE with the longest matching namespace, None if there is none.
        """
        return self._shorten(iri, _CURIE_LOCAL_NAME)

    def override(self, others: Prefixes) -> Prefixes:
        """Combine with prefixes that take precedence.

        Args:
            others: Other prefixes.

        Returns:
            The others, and those of these that they do not replace.
        """
        taken = set(others.names.values())
        kept = {name: iri for name, iri in self.names.items() if iri not in taken}
        return Prefixes({**kept, **others.names})

    def expand_curie(self, curie: str) -> str | None:
        """Expand a CURIE to an IRI.

        Args:
            curie: Any text.

        Returns:
            The IRI; None if the text does not begin with a prefix and a colon.

        >>> Prefixes({"dbr": "http://dbpedia.org/resource/"}).expand_curie("dbr:Oslo")
        'http://dbpedia.org/resource/Oslo'
        """
        name, colon, local_name = curie.partition(":")
        return self.names[name] + local_name if colon and name in self.names else None

    def format_turtle(self, iri: str) -> str:
        """Format an IRI for Turtle.

        Args:
            iri: An absolute IRI.

        Returns:
            A prefixed name, or the IRI in angle brackets if the name would need escapes.
        """
        return self._shorten(iri, _TURTLE_LOCAL_NAME) or f"<{iri}>"

    @cached_property
    def _longest_first(self) -> list[tuple[str, str]]:
        return sorted(self.names.items(), key=lambda item: (-len(item[1]), item[0]))

    @cached_property
    def _any_namespace(self) -> tuple[str, ...]:
        return tuple(self.names.values())

    def _shorten(self, iri: str, local_name: re.Pattern[str]) -> str | None:
        # Most IRIs have none of the namespaces, and one call tells so.
        if not iri.startswith(self._any_namespace):
            return None
        for name, namespace in self._longest_first:
            if iri.startswith(namespace) and local_name.fullmatch(iri, len(namespace)):
                return f"{name}:{iri[len(namespace) :]}"
        return None


@dataclass(frozen=True)
class ExportStyle:
    """How links are written, where a format leaves a choice.

    Raises:
        ConfigError: A source is not an IRI.
    """

    prefixes: Prefixes = field(default_factory=Prefixes)
    """The prefixes for Turtle and SSSOM."""

    annotate: bool = False
    """Whether to annotate each RDF statement with its confidence."""

    reify: bool = False
    """Whether annotations are ``rdf:Statement`` resources, which RDF 1.1 tools can read."""

    predicate: str = "owl:sameAs"
    """What links are written with: a key of `LINK_PREDICATES`."""

    labels: bool = False
    """Whether tables, JSON lines and Parquet have the labels of both entities as well."""

    languages: tuple[str, ...] = ()
    """The languages of labels, the best first."""

    spreadsheet_safe: bool = False
    """Whether cells of tables that a spreadsheet would take for a formula begin with ``'``."""

    blank_nodes: bool = False
    """Whether links of blank nodes are written, with IRIs below `skolem_base`."""

    skolem_base: str = SKOLEM_BASE
    """The IRI before ``.well-known/genid/`` of blank nodes."""

    calibrated: bool = True
    """Whether the scores of found links are probabilities."""

    left_source: str | None = None
    """The IRI of the left graph, for SSSOM and the Alignment API."""

    right_source: str | None = None
    """The IRI of the right graph."""

    mapping_set_id: str | None = None
    """The IRI of the SSSOM mapping set."""

    license: str | None = None
    """The IRI of the licence of the SSSOM mapping set."""

    def __post_init__(self) -> None:
        if self.predicate not in LINK_PREDICATES:
            known = ", ".join(LINK_PREDICATES)
            raise ConfigError(f"links cannot be written with {self.predicate!r}, only {known}")
        if not is_valid_iri(self.skolem_base):
            raise ConfigError(f"the base must be an IRI, not {shorten_text(self.skolem_base)}")
        for source in (self.left_source, self.right_source):
            if source is not None and not is_absolute_iri(source):
                raise ConfigError(
                    f"the source of a graph must be an IRI, not {shorten_text(source)}"
                )

    def name_blank_nodes(self, row: LinkRow) -> LinkRow:
        """Give blank nodes IRIs, if they are to be written.

        Args:
            row: A link.

        Returns:
            The link; its blank nodes have ``.well-known/genid`` IRIs.

        >>> style = ExportStyle(blank_nodes=True, skolem_base="http://my.org/")
        >>> style.name_blank_nodes(LinkRow("_:b0", "urn:x", 1.0)).left
        'http://my.org/.well-known/genid/left/b0'
        """
        if not self.blank_nodes:
            return row
        left, right = (
            f"{self.skolem_base.rstrip('/')}/.well-known/genid/{side}/{quote(name[2:])}"
            if name.startswith(BLANK_NODE_PREFIX)
            else name
            for side, name in (("left", row.left), ("right", row.right))
        )
        return row._replace(left=left, right=right)

    def is_confidence(self, row: LinkRow) -> bool:
        """Tell whether the score of a link is a probability.

        Args:
            row: The link.

        Returns:
            Whether the method is calibrated, or a person gave the link.
        """
        return self.calibrated or row.origin == "given"


def is_valid_iri(name: str) -> bool:
    """Tell whether a name is an absolute IRI also for strict readers.

    Args:
        name: The name of an entity.

    Returns:
        Whether it follows RFC 3987.

    >>> is_valid_iri("http://example.org/Zoë"), is_valid_iri("http://example.org/100%")
    (True, False)
    """
    if not is_absolute_iri(name):
        return False
    try:
        NamedNode(name)
    except ValueError:
        return False
    return True


def find_rdf_problem(row: LinkRow) -> str | None:
    """Find out why a link cannot be a statement of RDF.

    Args:
        row: The link.

    Returns:
        The problem; None if there is none.
    """
    problem = find_name_problem(row.left, row.right)
    if problem is not None:
        return problem
    return None if isfinite(row.score) else "the score is not a finite number"


def find_name_problem(*names: str) -> str | None:
    """Find out why names cannot be in a statement of RDF about both graphs.

    Args:
        names: Names of entities or relations.

    Returns:
        The problem; None if there is none.

    >>> find_name_problem("http://example.org/Zoë", "_:b0")
    'an entity is a blank node'
    """
    if any(name.startswith(BLANK_NODE_PREFIX) for name in names):
        return BLANK_NODE_PROBLEM
    return None if all(map(is_valid_iri, names)) else "a name is not a valid absolute IRI"


def check_iri(name: str, format: str = "N-Triples") -> str:
    """Check that a name can be written as an IRI.

    Args:
        name: The name of an entity or a relation.
        format: The name of the output format, for the error message.

    Returns:
        The name.

    Raises:
        InputError: The name is not an absolute IRI.

    >>> check_iri("http://example.org/Zoë")
    'http://example.org/Zoë'
    """
    if not is_absolute_iri(name):
        raise InputError(
            f"{shorten_text(name)} is not an absolute IRI, which {format} requires; "
            "tables and JSON lines can hold it"
        )
    return name


def format_decimal(score: float) -> str:
    """Format a score as ``xsd:decimal``: with a point and without an exponent.

    Args:
        score: A finite number.

    Returns:
        The shortest decimal that reads back as the same number.

    Raises:
        InputError: The score is infinite or not a number.

    >>> format_decimal(0.93), format_decimal(1e-05), format_decimal(1)
    ('0.93', '0.00001', '1.0')
    """
    if not isfinite(score):
        raise InputError(f"a score of {score} cannot be written as a decimal")
    # `repr` is the shortest text that reads back; `Decimal` writes it without an exponent.
    digits = format(Decimal(repr(float(score))), "f")
    return digits if "." in digits else f"{digits}.0"


def suggest_namespace(iri: str) -> str:
    """Suggest a namespace for an IRI that no prefix matches.

    Args:
        iri: An absolute IRI.

    Returns:
        The IRI up to its local name.

    >>> suggest_namespace("http://dbpedia.org/resource/Oslo")
    'http://dbpedia.org/resource/'
    """
    # The last character is left out, so that a local name remains.
    end = max(iri.rfind(mark, 0, len(iri) - 1) for mark in "#/:")
    return iri[: end + 1]


def _check_prefix(name: str, namespace: str) -> None:
    if not _PREFIX_NAME.fullmatch(name):
        raise ConfigError(
            f"invalid prefix name {shorten_text(name)}: expected a letter, then letters, digits, "
            "'-', '_' and, except at the end, '.'"
        )
    # A namespace may be as short as "urn:", which is not yet an IRI.
    if not is_absolute_iri(f"{namespace}x"):
        raise ConfigError(f"the prefix {name!r} stands for {shorten_text(namespace)}: not an IRI")
