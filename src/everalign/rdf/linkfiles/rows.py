"""What is written of a link, and how it is dressed."""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from math import isfinite
from typing import NamedTuple

from everalign.errors import ConfigError, InputError
from everalign.rdf.linkfiles.prefixes import Prefixes
from everalign.rdf.names import is_absolute_iri, shortened

SAME_AS = "http://www.w3.org/2002/07/owl#sameAs"
RDF = "http://www.w3.org/1999/02/22-rdf-syntax-ns#"
XSD = "http://www.w3.org/2001/XMLSchema#"
SSSOM = "https://w3id.org/sssom/"


class LinkRow(NamedTuple):
    """A link with all that a file can say of it; `origin` is given, found or proposed."""

    left: str
    right: str
    score: float
    since: int = 0
    origin: str = "found"


@dataclass(frozen=True)
class Style:
    """How links are written, where the format leaves a choice.

    `annotate` asks for the confidence beside each statement; `calibrated` says whether the
    scores of found links are confidences at all. The sources are the IRIs of the two graphs. A
    mapping set is what SSSOM makes of the links; it has an id and a licence.
    """

    prefixes: Prefixes = field(default_factory=Prefixes)
    annotate: bool = False
    calibrated: bool = True
    left_source: str | None = None
    right_source: str | None = None
    mapping_set_id: str | None = None
    license: str | None = None

    def __post_init__(self) -> None:
        for source in (self.left_source, self.right_source):
            if source is not None and not is_absolute_iri(source):
                raise ConfigError(f"the source of a graph must be an IRI, not {shortened(source)}")

    def is_confidence(self, row: LinkRow) -> bool:
        """Whether the score of this link is a probability: always, if it is a person's word."""
        return self.calibrated or row.origin == "given"


def as_iri(name: str, format: str = "N-Triples") -> str:
    """The name, if it can stand between angle brackets; an error otherwise.

    >>> as_iri("http://example.org/Zoë")
    'http://example.org/Zoë'
    """
    if not is_absolute_iri(name):
        raise InputError(
            f"{shortened(name)} is not an absolute IRI, so {format} cannot hold it; "
            "tables and JSON lines can"
        )
    return name


def decimal(score: float) -> str:
    """A score as RDF writes decimals: with a point and without an exponent.

    >>> decimal(0.93), decimal(1e-05), decimal(1)
    ('0.93', '0.00001', '1.0')
    """
    if not isfinite(score):
        raise InputError(f"a score of {score} cannot be written as a decimal")
    digits = format(Decimal(repr(float(score))), "f")
    return digits if "." in digits else f"{digits}.0"
