"""Changes of links between two versions, for another system to apply: JSON lines or RDF Patch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import IO, NamedTuple

from everalign.errors import ConfigError
from everalign.io.links.records import find_name_problem
from everalign.io.links.same_as import format_same_as
from everalign.io.links.tables import format_json_line

FEED_FORMATS = ("jsonl", "nt", "patch")


class LinkChange(NamedTuple):
    """A link to add or to remove; adding a link that exists gives it a new score."""

    op: str
    """``add`` or ``remove``."""

    left: str
    right: str
    score: float
    origin: str
    version: int
    """The version of the last event of the link."""

    reason: str
    """The reason of the last event of the link."""

    cause: str
    """What ended the link, if it was removed and that is known."""

    known: bool = False
    """Whether the receiver has this link already, with another score."""


class VersionRange(NamedTuple):
    """The IRIs of the versions that a feed leads from and to."""

    before: str | None
    """None before the first version."""

    after: str


def write_change_feed(
    changes: Sequence[LinkChange],
    stream: IO[bytes],
    format: str,
    span: VersionRange,
    removals: IO[bytes] | None = None,
) -> dict[str, int]:
    """Write changes of links, removals first; those that RDF cannot hold are left out.

    Args:
        changes: The changes.
        stream: Where to write.
        format: One of `FEED_FORMATS`.
        span: The versions, for the header of RDF Patch.
        removals: Where to write removals as N-Triples, which cannot express them otherwise.

    Returns:
        How many were left out, by the reason.

    Raises:
        ConfigError: The format is unknown, or does not fit the removals.
    >>> from io import BytesIO
    >>> stream = BytesIO()
    >>> gone = LinkChange("remove", "urn:a", "urn:b", 0.5, "found", 2, "no longer found", "")
    >>> write_change_feed([gone], stream, "patch", VersionRange("urn:1", "urn:2"))
    {}
    >>> print(stream.getvalue().decode().rstrip())
    H id <urn:2> .
    H prev <urn:1> .
    TX .
    D <urn:a> <http://www.w3.org/2002/07/owl#sameAs> <urn:b> .
    TC .
    """
    if format not in FEED_FORMATS:
        known = ", ".join(FEED_FORMATS)
        raise ConfigError(f"changes cannot be written as {format!r}; the formats are {known}")
    if removals is not None and format != "nt":
        raise ConfigError(f"{format} holds removals itself: a file of removals is for nt")
    # Links stay one-to-one while a receiver applies line after line.
    ordered = sorted(changes, key=lambda change: change.op != "remove")
    if format == "jsonl":
        stream.writelines([_format_json(change) for change in ordered])
        return {}
    problems = [find_name_problem(change.left, change.right) for change in ordered]
    stated = [change for change, problem in zip(ordered, problems, strict=True) if not problem]
    if format == "patch":
        stream.writelines(_format_patch(stated, span))
    else:
        _write_statements(stated, stream, removals)
    return dict(Counter(problem for problem in problems if problem))


def _write_statements(
    changes: Sequence[LinkChange], stream: IO[bytes], removals: IO[bytes] | None
) -> None:
    removed = _format_statements(change for change in changes if change.op == "remove")
    if removed and removals is None:
        raise ConfigError(
            f"N-Triples cannot express removals ({len(removed)} links): "
            "use --format patch, or --removals FILE"
        )
    added = _format_statements(
        change for change in changes if change.op != "remove" and not change.known
    )
    if removals is not None:
        removals.writelines(removed)
    stream.writelines(added)


def _format_json(change: LinkChange) -> bytes:
    record = change._asdict()
    # A receiver need not know: to add a link that it has is to give it a new score.
    del record["known"]
    return format_json_line(record)


def _format_statements(changes: Iterable[LinkChange]) -> list[bytes]:
    return [f"{format_same_as(change.left, change.right)}\n".encode() for change in changes]


def _format_patch(changes: Sequence[LinkChange], span: VersionRange) -> list[bytes]:
    if span.before == span.after:
        return []  # a patch with the same id and prev would be its own predecessor
    rows = [
        f"{'D' if change.op == 'remove' else 'A'} {format_same_as(change.left, change.right)}"
        for change in changes
        # RDF has no scores: a link with only a new score does not change.
        if not change.known
    ]
    previous = [] if span.before is None else [f"H prev <{span.before}> ."]
    lines = [f"H id <{span.after}> .", *previous, "TX .", *rows, "TC ."]
    return [f"{line}\n".encode() for line in lines]
