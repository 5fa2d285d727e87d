"""Links in files of every format, with justifications where the format has them (internal)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain, islice
from typing import IO

from everalign.decide import WaitingView, read_waiting_view
from everalign.errors import ConfigError
from everalign.graph import NameIndex
from everalign.history import build_version_iri, describe_reason
from everalign.io import ExportStyle, write_links
from everalign.io.links import (
    BLANK_NODE_PREFIX,
    BLANK_NODE_PROBLEM,
    LINK_FORMATS,
    NO_LICENSE,
    NO_TERM_IRI,
    JustifiedMapping,
    LinkRow,
    MappingSet,
    find_rdf_problem,
    write_sssom,
)
from everalign.io.links.records import SSSOM
from everalign.search import LabelIndex
from everalign.select import Selection, is_calibrated, iterate_links
from everalign.session import AlignmentSession, convert_recorded
from everalign.state.decisions import NO_ENTITY, DecisionKind, fold_decisions
from everalign.state.inbox import RecordedDecision
from everalign.state.intervals import PairStatus
from everalign.state.ledger import EventKind, LedgerEvent, Pair
from everalign.types import ExportResult, Link

EXPORT_FORMATS = (*LINK_FORMATS, "sssom")
# One line for each link and nothing else: a file can be written in pages.
LINE_FORMATS = ("tsv", "nt", "jsonl")
PAGE_SIZE = 1000

# `MappingReview` would claim that no alternatives were considered, which is not known.
MANUAL_JUSTIFICATION = "semapv:ManualMappingCuration"
# Terms of the Semantic Mapping Vocabulary. Evidence combines structure, literals and competing
# candidates; the neural methods compare vectors.
METHOD_JUSTIFICATIONS = {
    "evidence": "semapv:CompositeMatching",
    "combined": "semapv:CompositeMatching",
} | dict.fromkeys(
    ("contea", "mtranse", "gcn-align", "aligne", "alinet", "ke-gcn", "dual-amn", "mean+", "lan+",
     "dingal-o"),
    "semapv:SemanticSimilarityThresholdMatching",
)  # fmt: skip
OTHER_JUSTIFICATION = "semapv:UnspecifiedMatching"
FOUND_EVENTS = (EventKind.ADDED, EventKind.REVISED, EventKind.RESCORED)
LOST_EVENTS = (EventKind.RETRACTED, EventKind.REJECTED, EventKind.WITHDRAWN)

REJECTED, DANGLING = "rejected", "no counterpart"
BLANK_NODE_REMARK = f"{BLANK_NODE_PROBLEM} (to write it: --blank-nodes)"

NamePair = tuple[str, str]


def export_links(
    session: AlignmentSession,
    stream: IO[bytes],
    format: str,
    style: ExportStyle,
    selection: Selection,
    at: int | None = None,
) -> ExportResult:
    """Write links in one of `EXPORT_FORMATS`; those that the format cannot hold are left out.

    Args:
        session: An open alignment.
        stream: Where to write.
        format: One of `EXPORT_FORMATS`.
        style: How to write links where the format leaves a choice. Prefixes of the files of the
            alignment are known besides those given.
        selection: Which links to write.
        at: The version; the last one if None.

    Returns:
        The number of links written and left out.

    Raises:
        ConfigError: The format is unknown, or does not fit the style.
        InputError: An IRI has no prefix, and the format is SSSOM.
        StateError: There is no such version.
    """
    if format not in EXPORT_FORMATS:
        known = ", ".join(EXPORT_FORMATS)
        raise ConfigError(f"links cannot be written as {format!r}; the formats are {known}")
    # Only the alignment knows whether its scores are probabilities.
    style = replace(
        style,
        calibrated=is_calibrated(session),
        prefixes=session.prefixes.override(style.prefixes),
    )
    find_problem = find_rdf_problem if format == "sssom" else LINK_FORMATS[format].find_problem
    selected = _RowSelection(style, find_problem)
    with ExitStack() as resources:
        labels = None
        if format == "sssom" or style.labels:
            labels = LabelIndex.open(session)
            resources.callback(labels.close)
        rows = _iterate_rows(session, iterate_links(session, selection, at), style, labels)
        if format == "sssom":
            rejected = [] if selection.found_only else _list_rejected(session, at)
            refused = [Link(*pair, 0.0, 0, REJECTED) for pair in rejected]
            rows = chain(rows, _iterate_rows(session, refused, style, labels))
            if not selection.found_only and labels is not None:
                rows = chain(rows, _iterate_dangling(session, style, labels, at))
            chosen = list(selected.select(rows))
            _export_sssom(session, chosen, stream, style, at)
            return selected.count(sum(row.origin not in (REJECTED, DANGLING) for row in chosen))
        return selected.count(_write_rows(selected.select(rows), stream, format, style))


class _RowSelection:
    """Leaves out the links that a format cannot hold, and counts them by reason."""

    def __init__(self, style: ExportStyle, find_problem: Callable[[LinkRow], str | None]) -> None:
        self._style = style
        self._find_problem = find_problem
        self._skipped: Counter[str] = Counter()

    def select(self, rows: Iterable[LinkRow]) -> Iterator[LinkRow]:
        for unnamed in rows:
            row = self._style.name_blank_nodes(unnamed)
            if any(name.startswith(BLANK_NODE_PREFIX) for name in (row.left, row.right)):
                self._skipped[BLANK_NODE_REMARK] += 1
            elif (problem := self._find_problem(row)) is not None:
                self._skipped[problem] += 1
            else:
                yield row

    def count(self, written: int) -> ExportResult:
        return ExportResult(written, dict(self._skipped))


def _iterate_rows(
    session: AlignmentSession,
    links: Iterable[Link],
    style: ExportStyle,
    labels: LabelIndex | None,
) -> Iterator[LinkRow]:
    """Convert links, with labels if there is an index of them."""
    links = iter(links)
    while page := list(islice(links, PAGE_SIZE)):
        left, right = (
            {} if labels is None else _read_labels(session, labels, side, names, style.languages)
            for side, names in enumerate(([x.left for x in page], [x.right for x in page]))
        )
        for link in page:
            texts = left.get(link.left, ""), right.get(link.right, "")
            yield LinkRow(link.left, link.right, link.score, link.since, link.origin, *texts)


def _iterate_dangling(
    session: AlignmentSession, style: ExportStyle, labels: LabelIndex, at: int | None
) -> Iterator[LinkRow]:
    """The entities that people have decided to have no counterpart, as SSSOM writes them."""
    decisions = _read_decisions(session, at)
    names = session.entity_names()
    for pair, kind in decisions.kinds.items():
        if kind is not DecisionKind.NO_COUNTERPART:
            continue
        side = 0 if pair[1] == NO_ENTITY else 1
        name = names[side][pair[side]]
        text = _read_labels(session, labels, side, [name], style.languages).get(name, "")
        ends = (name, NO_TERM_IRI) if side == 0 else (NO_TERM_IRI, name)
        texts = (text, "") if side == 0 else ("", text)
        yield LinkRow(*ends, 1.0, 0, DANGLING, *texts)


@dataclass(frozen=True)
class _PeopleDecisions:
    """The decisions in force with those that are waiting, and who took them.

    Attributes:
        kinds: The kind of each decision.
        recorded: What the inbox has of it; nothing of what came with files.
    """

    kinds: Mapping[Pair, DecisionKind]
    recorded: Mapping[Pair, RecordedDecision]


def _read_decisions(session: AlignmentSession, at: int | None) -> _PeopleDecisions:
    stored = session.store.read_stored_decisions(at)
    kinds: dict[Pair, DecisionKind] = {row.pair: row.kind for row in stored}
    by_number = {row.number: row for row in session.store.inbox.read_range(0)}
    recorded = {row.pair: by_number[row.request] for row in stored if row.request in by_number}
    if at is None and (waiting := session.waiting_decisions()):
        given = [convert_recorded(row) for row in waiting]
        kinds = fold_decisions(kinds, given, session.config.cardinality)
        recorded |= {row.pair: row for row in waiting if kinds.get(row.pair) is row.kind}
    return _PeopleDecisions(kinds, recorded)


def _read_labels(
    session: AlignmentSession,
    labels: LabelIndex,
    side: int,
    names: Sequence[str],
    languages: Sequence[str],
) -> dict[str, str]:
    ids = session.entity_names()[side].find_ids(names).tolist()
    texts = labels.read_labels(side, ids, languages)
    return {name: texts[number] for name, number in zip(names, ids, strict=True)}


def _write_rows(
    rows: Iterator[LinkRow], stream: IO[bytes], format: str, style: ExportStyle
) -> int:
    """Write links, page by page where a file is the same as its parts one after the other."""
    # Annotations have numbers, which must not begin anew.
    is_paged = format in LINE_FORMATS and not (style.annotate or style.reify)
    page_size = PAGE_SIZE if is_paged else None
    # The first page also if there are no links: some formats have a beginning and an end.
    page = list(islice(rows, page_size))
    write_links(page, stream, format, style)
    count = len(page)
    while page_size is not None and (page := list(islice(rows, page_size))):
        write_links(page, stream, format, style)
        count += len(page)
    return count


def _export_sssom(
    session: AlignmentSession,
    rows: Sequence[LinkRow],
    stream: IO[bytes],
    style: ExportStyle,
    at: int | None,
) -> None:
    if style.annotate or style.reify:
        raise ConfigError("sssom has a column for the confidence: it needs no annotations")
    version = session.store.last_version() if at is None else at
    assert version is not None, "callers check that there is a version"
    mapping_set = MappingSet(
        style.mapping_set_id or _build_mapping_set_id(session, version),
        style.license or NO_LICENSE,
        str(version),
        style.prefixes,
        style.left_source,
        style.right_source,
        style.predicate,
    )
    decisions = _read_decisions(session, at)
    justifier = _build_justifier(session, version, decisions, calibrated=style.calibrated)
    write_sssom(justifier.justify(rows), stream, mapping_set)


def _build_mapping_set_id(session: AlignmentSession, version: int) -> str:
    # sssom-py would take `urn` for a prefix.
    return f"{SSSOM}mappings/{build_version_iri(session, version).removeprefix('urn:uuid:')}"


@dataclass(frozen=True)
class _Justifier:
    """The events of every pair up to a version, from which justifications are made."""

    events: Mapping[NamePair, Sequence[LedgerEvent]]
    dates: Sequence[str]
    method: str
    made_by: str
    calibrated: bool
    left_names: NameIndex
    right_names: NameIndex
    decisions: Mapping[NamePair, RecordedDecision]

    def justify(self, links: Sequence[LinkRow]) -> Iterator[JustifiedMapping]:
        """Yield a row for each justification: a link found and then confirmed has two."""
        for link in links:
            for row in self._justify_link(link):
                yield row._replace(left_label=link.left_label, right_label=link.right_label)

    def _justify_link(self, link: LinkRow) -> Iterator[JustifiedMapping]:
        pair = link.left, link.right
        events = self.events.get(pair, ())
        if link.origin == DANGLING:
            yield self._justify_manually(pair, None)
        elif link.origin == REJECTED:
            event = _last_of_kind(events, EventKind.REJECTED)
            yield self._justify_manually(pair, event, negated=True)
        elif link.origin == "proposed":
            yield self._justify_proposal(link)
        else:
            found = _last_finding(events)
            if found is not None:
                yield self._justify_found(link, found)
            elif link.origin != "given":
                row = self._justify_score(link, link.score)
                yield row._replace(date=self.dates[link.since])
            if link.origin == "given":
                confirmed = _last_of_kind(events, EventKind.CONFIRMED)
                yield self._justify_manually(pair, confirmed)

    def _justify_found(self, link: LinkRow, event: LedgerEvent) -> JustifiedMapping:
        row = self._justify_score(link, event.score)
        reason = describe_reason(event, self.left_names, self.right_names)
        comment = "; ".join(filter(None, [row.comment, reason]))
        return row._replace(date=self.dates[event.version], comment=comment)

    def _justify_proposal(self, link: LinkRow) -> JustifiedMapping:
        row = self._justify_score(link, link.score)
        return row._replace(date=self.dates[link.since], comment="proposed, not in force")

    def _justify_score(self, link: LinkRow, score: float) -> JustifiedMapping:
        # SSSOM allows only values from 0 to 1 in both columns.
        in_range = 0 <= score <= 1
        return JustifiedMapping(
            link.left,
            link.right,
            METHOD_JUSTIFICATIONS.get(self.method, OTHER_JUSTIFICATION),
            confidence=score if self.calibrated and in_range else None,
            similarity=score if not self.calibrated and in_range else None,
            tool=f"EverAlign ({self.method})",
            tool_version=self.made_by,
            comment="" if in_range else f"score {score:.4g}",
        )

    def _justify_manually(
        self, pair: NamePair, event: LedgerEvent | None, *, negated: bool = False
    ) -> JustifiedMapping:
        row = JustifiedMapping(*pair, MANUAL_JUSTIFICATION, confidence=1.0, negated=negated)
        decision = self.decisions.get(pair)
        if decision is not None:
            # SSSOM wants dates; a time in ISO 8601 begins with its date.
            day = decision.decided_at[:10]
            return row._replace(
                reviewer=decision.author,
                date=day,
                # The schema wants to know whose review it was.
                review_date=day if decision.author else "",
                comment=decision.comment,
            )
        if event is None:
            return row
        comment = describe_reason(event, self.left_names, self.right_names)
        return row._replace(date=self.dates[event.version], comment=comment)


def _build_justifier(
    session: AlignmentSession, version: int, decisions: _PeopleDecisions, *, calibrated: bool
) -> _Justifier:
    left, right = (vocabulary.entities for vocabulary in session.vocabularies)
    events: dict[NamePair, list[LedgerEvent]] = defaultdict(list)
    for event in session.store.iterate_events(0, version):
        events[left[event.left], right[event.right]].append(event)
    return _Justifier(
        events,
        # SSSOM wants dates; a time in ISO 8601 begins with its date.
        [row.made_at[:10] for row in session.store.list_versions()],
        session.config.method,
        session.settings.get("made_by", ""),
        calibrated,
        left,
        right,
        {
            (
                NO_TERM_IRI if pair[0] == NO_ENTITY else left[pair[0]],
                NO_TERM_IRI if pair[1] == NO_ENTITY else right[pair[1]],
            ): row
            for pair, row in decisions.recorded.items()
        },
    )


def _list_rejected(session: AlignmentSession, at: int | None) -> list[NamePair]:
    view = read_waiting_view(session) if at is None else WaitingView()
    rows = view.show(session.store.iterate_links(PairStatus.REJECTED, at), PairStatus.REJECTED)
    pairs = [row.pair for row in rows]
    left, right = session.name_entities(pairs)
    return [(left[left_id], right[right_id]) for left_id, right_id in pairs]


def _last_finding(events: Sequence[LedgerEvent]) -> LedgerEvent | None:
    """Find the last event by which a method found a pair, unless it was lost afterwards."""
    last = None
    for event in events:
        if event.kind in FOUND_EVENTS:
            last = event
        elif event.kind in LOST_EVENTS:
            last = None
    return last


def _last_of_kind(events: Sequence[LedgerEvent], kind: EventKind) -> LedgerEvent | None:
    return next((event for event in reversed(events) if event.kind is kind), None)
