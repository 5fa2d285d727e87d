"""Links in force → files of any format, each link with its reasons where the format has them."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import IO

from everalign.errors import ConfigError
from everalign.flow import config_of
from everalign.ledger import Event, Kind
from everalign.methods import entry_of
from everalign.past import told, version_iri
from everalign.rdf import Style, write_links
from everalign.rdf.linkfiles import (
    NO_LICENSE,
    Justified,
    LinkRow,
    MappingSet,
    write_sssom,
)
from everalign.rdf.writing import WRITERS
from everalign.reports import Link
from everalign.selection import Selection, all_links, refuse_uncalibrated
from everalign.store import Store

FORMATS = (*WRITERS, "sssom")

BY_HAND = "semapv:ManualMappingCuration"
# How a method comes to its links, in the words of the Semantic Mapping Vocabulary. Evidence weighs
# structure, values and rivals together; the others compare vectors.
_BY_METHOD = {
    "evidence": "semapv:CompositeMatching",
    "combined": "semapv:CompositeMatching",
} | dict.fromkeys(
    ("contea", "mtranse", "gcn-align", "aligne", "alinet", "ke-gcn", "dual-amn", "mean+", "lan+",
     "dingal-o"),
    "semapv:SemanticSimilarityThresholdMatching",
)  # fmt: skip
_UNKNOWN_METHOD = "semapv:UnspecifiedMatching"
_METHODS_WORD = ("added", "revised", "rescored")
_TAKES_OUT = ("retracted", "rejected", "withdrawn")

NamePair = tuple[str, str]


def selected(store: Store, selection: Selection, at: int | None) -> list[Link]:
    """The links that are wanted, now or at an earlier version, best first."""
    if selection.needs_probabilities:
        refuse_uncalibrated(config_of(store).method)
    return selection.of(all_links(store, at, proposals=selection.needs_probabilities))


def is_calibrated(store: Store) -> bool:
    """Whether the scores of the method are probabilities; not if the method is not known."""
    # Links can be looked at also where their method is not known.
    try:
        return entry_of(config_of(store).method).calibrated
    except ConfigError:
        return False


def write_export(
    store: Store,
    links: Sequence[Link],
    stream: IO[bytes],
    format: str,
    style: Style,
    at: int | None,
    *,
    found_only: bool,
) -> None:
    """Write links in one of `FORMATS`."""
    if format not in FORMATS:
        known = ", ".join(FORMATS)
        raise ConfigError(f"links cannot be written as {format!r}; the formats are {known}")
    style = replace(style, calibrated=is_calibrated(store))
    if format != "sssom":
        rows = (LinkRow(each.left, each.right, each.score, each.since, each.origin)
                for each in links)  # fmt: skip
        write_links(rows, stream, format, style)
        return
    if style.annotate:
        raise ConfigError("sssom has a column for the confidence: it needs no annotations")
    version = store.last_version() if at is None else at
    assert version is not None, "there is a version to export"
    about = MappingSet(
        style.mapping_set_id or version_iri(store, version),
        style.license or NO_LICENSE,
        str(version),
        style.prefixes,
        style.left_source,
        style.right_source,
    )
    account = _account(store, version, calibrated=style.calibrated)
    rejected = () if found_only else _rejected(store, version)
    write_sssom(account.rows(links, rejected), stream, about)


@dataclass(frozen=True)
class _Account:
    """What happened to every pair, and by whose word it is a link or none."""

    events: Mapping[NamePair, Sequence[Event]]
    dates: Sequence[str]
    method: str
    made_by: str
    calibrated: bool
    left: Sequence[str]
    right: Sequence[str]

    def rows(self, links: Sequence[Link], rejected: Sequence[NamePair]) -> Iterator[Justified]:
        """A row for each reason: a link that was found and then confirmed has two."""
        for link in links:
            if link.origin == "proposed":
                yield self._proposed(link)
                continue
            events = self.events.get((link.left, link.right), ())
            found = _found(events)
            if found is not None:
                yield self._by_method(link, found)
            elif link.origin != "given":
                yield self._scored(link, link.score)._replace(date=self.dates[link.since])
            if link.origin == "given":
                yield self._by_hand((link.left, link.right), _last(events, Kind.CONFIRMED))
        for pair in rejected:
            event = _last(self.events.get(pair, ()), Kind.REJECTED)
            yield self._by_hand(pair, event, negated=True)

    def _by_method(self, link: Link, event: Event) -> Justified:
        row = self._scored(link, event.score)
        comment = "; ".join(filter(None, [row.comment, told(event, self.left, self.right)]))
        return row._replace(date=self.dates[event.version], comment=comment)

    def _proposed(self, link: Link) -> Justified:
        row = self._scored(link, link.score)
        return row._replace(date=self.dates[link.since], comment="proposed, not in force")

    def _scored(self, link: Link, score: float) -> Justified:
        inside = 0 <= score <= 1
        return Justified(
            link.left,
            link.right,
            _BY_METHOD.get(self.method, _UNKNOWN_METHOD),
            confidence=score if self.calibrated and inside else None,
            similarity=score if not self.calibrated and inside else None,
            tool=f"EverAlign ({self.method})",
            tool_version=self.made_by,
            comment="" if inside else f"score {score:.4g}",
        )

    def _by_hand(self, pair: NamePair, event: Event | None, *, negated: bool = False) -> Justified:
        row = Justified(*pair, BY_HAND, confidence=1.0, negated=negated)
        if event is None:
            return row
        comment = told(event, self.left, self.right)
        return row._replace(date=self.dates[event.version], comment=comment)


def _account(store: Store, version: int, *, calibrated: bool) -> _Account:
    left, right = store.names("left", "entity"), store.names("right", "entity")
    events: dict[NamePair, list[Event]] = defaultdict(list)
    for event in store.events():
        if event.version <= version:
            events[left[event.left], right[event.right]].append(event)
    return _Account(
        events,
        [each.made_at[:10] for each in store.versions()],
        config_of(store).method,
        store.settings().get("made_by", ""),
        calibrated,
        left,
        right,
    )


def _rejected(store: Store, version: int) -> list[NamePair]:
    left, right = store.names("left", "entity"), store.names("right", "entity")
    return [(left[a], right[b]) for a, b in sorted(store.links(version).rejected)]


def _found(events: Sequence[Event]) -> Event | None:
    """The last word of a method on a pair, if it has spoken for it and not taken that back."""
    last = None
    for event in events:
        if event.kind.value in _METHODS_WORD:
            last = event
        elif event.kind.value in _TAKES_OUT:
            last = None
    return last


def _last(events: Sequence[Event], kind: Kind) -> Event | None:
    return next((event for event in reversed(events) if event.kind is kind), None)
