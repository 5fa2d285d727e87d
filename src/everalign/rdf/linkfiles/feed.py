"""What has changed between two versions, for another system to apply: JSON lines, RDF Patch."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

from everalign.errors import ConfigError
from everalign.rdf.linkfiles.statements import same_as
from everalign.rdf.linkfiles.tables import json_line

FEEDS = ("jsonl", "nt", "patch")


class LinkChange(NamedTuple):
    """A link to add or to remove; to add one that is there already is to give it a new score.

    `version` and `reason` tell of the last thing that happened to it.
    """

    op: str
    left: str
    right: str
    score: float
    origin: str
    version: int
    reason: str
    known: bool = False
    """Whether the receiver has this link already, with another score."""


class Span(NamedTuple):
    """The identity of the links before and after; None before the first version."""

    before: str | None
    after: str


def write_feed(
    changes: Sequence[LinkChange],
    stream: IO[bytes],
    format: str,
    span: Span,
    removals: IO[bytes] | None = None,
) -> None:
    """Write changes, removals first; N-Triples put them into a file of their own.

    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> gone = LinkChange("remove", "urn:a", "urn:b", 0.5, "found", 2, "no longer found")
    >>> write_feed([gone], stream, "patch", Span("urn:1", "urn:2"))
    >>> print(stream.getvalue().decode().rstrip())
    H id <urn:2> .
    H prev <urn:1> .
    TX .
    D <urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:b> .
    TC .
    """
    if format not in FEEDS:
        raise ConfigError(f"changes cannot be written as {format!r}; there are {_listed(FEEDS)}")
    if removals is not None and format != "nt":
        raise ConfigError(f"{format} holds removals itself: a file of removals is for nt")
    ordered = sorted(changes, key=lambda change: change.op != "remove")
    if format == "jsonl":
        lines = [_json(change) for change in ordered]
    elif format == "patch":
        lines = _patch(ordered, span)
    else:
        removed = _statements(change for change in ordered if change.op == "remove")
        if removed and removals is None:
            raise ConfigError(
                f"N-Triples cannot say which links to remove ({len(removed)} of them): "
                "use --format patch, or --removals FILE"
            )
        lines = _statements(each for each in ordered if each.op != "remove" and not each.known)
        if removals is not None:
            removals.writelines(removed)
    stream.writelines(lines)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names)


def _json(change: LinkChange) -> bytes:
    told = change._asdict()
    del told["known"]
    return json_line(told)


def _statements(changes: Iterable[LinkChange]) -> list[bytes]:
    return [f"{same_as(change.left, change.right)}\n".encode() for change in changes]


def _patch(changes: Sequence[LinkChange], span: Span) -> list[bytes]:
    if span.before == span.after:
        return []  # a patch that leads nowhere would follow upon itself
    rows = [
        f"{'D' if change.op == 'remove' else 'A'} {same_as(change.left, change.right)}"
        for change in changes
        # RDF has no scores: a link that has only another score stays as it is.
        if not change.known
    ]
    previous = [] if span.before is None else [f"H prev <{span.before}> ."]
    lines = [f"H id <{span.after}> .", *previous, "TX .", *rows, "TC ."]
    return [f"{line}\n".encode() for line in lines]
