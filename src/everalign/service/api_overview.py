"""The overview, versions, corrections and activity."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict
from itertools import takewhile
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query

from everalign.decide import name_decision
from everalign.errors import ConfigError
from everalign.history import iterate_link_events
from everalign.methods import ExplainableMethod
from everalign.overview import (
    CalibrationBin,
    ReviewerCounts,
    ScoreLists,
    ThresholdEstimate,
    calibrate_decisions,
    count_histogram,
    count_reviewers,
    estimate_thresholds,
    read_scores,
)
from everalign.pipeline import list_version_reports
from everalign.select import is_calibrated
from everalign.service.alignment import ServedAlignment, get_mark
from everalign.service.common import (
    READ_ERRORS,
    Alignment,
    Cursor,
    Limit,
    describe_events,
    describe_mark,
)
from everalign.service.errors import ApiError
from everalign.service.models import (
    MAX_AUTHOR_LENGTH,
    ActivityAnswer,
    Answer,
    CorrectionsAnswer,
    DecisionModel,
    DisagreementModel,
    Reviewer,
    Shape,
    SideName,
    VersionsAnswer,
)
from everalign.service.naming import Namer
from everalign.service.tagged import TaggedRoute
from everalign.state.decisions import DecisionKind
from everalign.state.inbox import RecordedDecision
from everalign.state.snapshots import SIDES
from everalign.types import Decision, LinkEvent, VersionReport
from everalign.version_reader import VersionReader

router = APIRouter(tags=["overview"], responses=READ_ERRORS, route_class=TaggedRoute)
MAX_DISAGREEMENTS = 100


class VersionCounts(Shape):
    """Links of a version, and what it changed."""

    version: int
    made_at: str
    source: str
    given: int
    found: int
    added: int
    revised: int
    retracted: int
    confirmed: int
    rejected: int
    withdrawn: int
    seconds: float
    trained: bool


class Bin(Shape):
    """How many pairs have a confidence in a range; `from` and `to` are its ends."""

    start: float
    end: float
    found: int
    proposed: int


class Threshold(Shape):
    """What to expect of a threshold."""

    threshold: float
    links: int
    precision: float | None
    recall: float | None


class SideCounts(Shape):
    """Entities of a graph, with and without a link."""

    entities: int
    linked: int
    unlinked: int
    no_counterpart: int


class Calibration(Shape):
    """Confidence beside what people decided."""

    bins: list[dict[str, float]]
    count: int


class OverviewAnswer(Answer):
    """The alignment at a glance."""

    counts: dict[str, int]
    versions: list[VersionCounts]
    calibrated: bool
    histogram: list[Bin]
    thresholds: list[Threshold]
    threshold: float | None
    dangling: dict[str, SideCounts]
    last_update: dict[str, Any]
    calibration: Calibration | None
    reviewers: list[Reviewer]


@router.get("/overview")
def read_overview(alignment: Alignment) -> OverviewAnswer:
    """Describe the alignment at a glance."""
    with alignment.reading() as reader:
        mark = get_mark(reader)
        return alignment.remember("overview", mark, lambda: _build_overview(alignment, reader))


@router.get("/versions")
def list_versions(alignment: Alignment) -> VersionsAnswer:
    """List the reports of all versions."""
    with alignment.reading() as reader:
        reports = [asdict(report) for report in list_reports(alignment, reader)]
        return VersionsAnswer(versions=reports, **describe_mark(reader))


@router.get("/corrections")
def list_corrections(
    alignment: Alignment,
    version: Annotated[int | None, Query(ge=0, le=2**31)] = None,
    kind: Literal["revised", "retracted"] | None = None,
    after: Cursor = None,
    limit: Limit = 50,
) -> CorrectionsAnswer:
    """List the links that a version revised or retracted, and why."""
    with alignment.reading() as reader:
        wanted = reader.version if version is None else version
        if wanted > reader.version:
            raise ApiError(404, "not_found", f"there is no version {wanted}")
        kinds = ("revised", "retracted") if kind is None else (kind,)
        skipped = parse_offset(after)
        events = _list_corrections(alignment, reader, wanted)
        counts = Counter(event.kind for event in events)
        chosen = [event for event in events if event.kind in kinds]
        page = chosen[skipped : skipped + limit]
        end = skipped + limit
        return CorrectionsAnswer(
            of=wanted,
            events=describe_events(Namer(alignment, reader), page),
            counts={name: counts[name] for name in ("revised", "retracted")},
            next=str(end) if end < len(chosen) else None,
            **describe_mark(reader),
        )


@router.get("/activity")
def list_activity(
    alignment: Alignment,
    author: Annotated[str | None, Query(max_length=MAX_AUTHOR_LENGTH)] = None,
    after: Cursor = None,
    limit: Limit = 50,
) -> ActivityAnswer:
    """List decisions, newest first, after those about which people disagree."""
    with alignment.reading() as reader:
        recorded = read_decisions(alignment, reader)
        end = parse_offset(after) if after else reader.decision_count + 1
        rows = [
            row for row in reversed(recorded[: end - 1]) if author is None or row.author == author
        ]
        page = rows[:limit]
        namer = Namer(alignment, reader)
        disagreements = [] if after else _describe_disagreements(reader, namer)
        return ActivityAnswer(
            disagreements=disagreements,
            recorded=describe_recorded(namer, reader, page),
            next=str(page[-1].number) if len(rows) > limit else None,
            reviewers=_describe_reviewers(count_reviewers(recorded)),
            **describe_mark(reader),
        )


def list_reports(alignment: ServedAlignment, reader: VersionReader) -> list[VersionReport]:
    """List the reports of all versions.

    Args:
        alignment: The alignment.
        reader: The last version.

    Returns:
        The reports, oldest first.
    """
    return alignment.remember(
        "reports", reader.version, lambda: list_version_reports(reader.session)
    )


def read_decisions(alignment: ServedAlignment, reader: VersionReader) -> list[RecordedDecision]:
    """Read all decisions; only those that are new are read from the disk.

    Args:
        alignment: The alignment.
        reader: The version.

    Returns:
        The decisions that the reader shows, in the order of their numbers from 1.
    """
    known: list[RecordedDecision] = alignment.remember("decisions", None, list)
    if len(known) < reader.decision_count:
        known += reader.session.store.inbox.read_range(len(known), reader.decision_count)
    return known[: reader.decision_count]


def describe_recorded(
    namer: Namer, reader: VersionReader, rows: Iterable[RecordedDecision]
) -> list[DecisionModel]:
    """Describe decisions of the inbox.

    Args:
        namer: Gives labels.
        reader: The version.
        rows: Decisions.

    Returns:
        The decisions, in the same order.
    """
    names = reader.session.entity_names()
    return describe_decisions(namer, reader, [name_decision(row, *names) for row in rows])


def describe_decisions(
    namer: Namer, reader: VersionReader, decisions: Iterable[Decision]
) -> list[DecisionModel]:
    """Describe decisions.

    Args:
        namer: Gives labels.
        reader: The version.
        decisions: Decisions.

    Returns:
        The decisions, in the same order.
    """
    decisions = list(decisions)
    namer.load_names("left", (row.left for row in decisions if row.left))
    namer.load_names("right", (row.right for row in decisions if row.right))
    taken_up = reader.session.store.inbox_upto()
    return [
        DecisionModel(
            number=row.number,
            kind=row.kind,
            left=namer.get_entity("left", row.left) if row.left else None,
            right=namer.get_entity("right", row.right) if row.right else None,
            author=row.author,
            decided_at=row.decided_at,
            comment=row.comment,
            key=row.key,
            seen_version=row.seen_version,
            waiting=row.number > taken_up,
        )
        for row in decisions
    ]


def parse_offset(cursor: str | None) -> int:
    """Parse a cursor that is a number.

    Args:
        cursor: The cursor; None for the beginning.

    Returns:
        The number.

    Raises:
        ConfigError: It is not the end of a page.
    """
    if cursor is None:
        return 0
    if not cursor.isascii() or not cursor.isdigit() or len(cursor) > 12 or not int(cursor):
        raise ConfigError(f"{cursor!r} is not the end of a page")
    return int(cursor)


def _build_overview(alignment: ServedAlignment, reader: VersionReader) -> OverviewAnswer:
    store = reader.session.store
    calibrated = is_calibrated(reader.session)
    # To read all scores costs most, and a few waiting decisions hardly change them: they are those
    # of the version.
    scores: ScoreLists = alignment.remember(
        "scores", reader.digest, lambda: read_scores(reader.session)
    )
    thresholds: list[ThresholdEstimate] = estimate_thresholds(scores) if calibrated else []
    decisions = read_decisions(alignment, reader)
    reports = list_reports(alignment, reader)
    given, found, rejected = store.count_links()
    counts = {
        "given": given,
        "found": found,
        "rejected": rejected,
        "proposed": len(scores.proposed),
        "waiting": reader.decision_count - store.inbox_upto(),
    }
    last_thresholds = [row.threshold for row in reports if row.threshold is not None]
    return OverviewAnswer(
        counts=counts,
        versions=[_describe_version(reader, row) for row in reports],
        calibrated=calibrated,
        histogram=[Bin(**asdict(row)) for row in count_histogram(scores)] if calibrated else [],
        thresholds=[Threshold(**asdict(row)) for row in thresholds],
        threshold=last_thresholds[-1] if last_thresholds else None,
        dangling={side: _count_side(alignment, reader, side, reports) for side in SIDES},
        last_update=_describe_last_update(reports),
        calibration=_describe_calibration(calibrate_decisions(reader.session, decisions)),
        reviewers=_describe_reviewers(count_reviewers(decisions)),
        **describe_mark(reader),
    )


def _describe_version(reader: VersionReader, report: VersionReport) -> VersionCounts:
    given, found, _ = reader.session.store.count_links(report.version)
    return VersionCounts(
        version=report.version,
        made_at=report.made_at,
        source=report.source,
        given=given,
        found=found,
        added=report.links_added,
        revised=report.links_revised,
        retracted=report.links_retracted,
        confirmed=report.links_confirmed,
        rejected=report.links_rejected,
        withdrawn=report.links_withdrawn,
        seconds=report.seconds,
        trained=report.trained,
    )


def _describe_last_update(reports: list[VersionReport]) -> dict[str, Any]:
    report = asdict(reports[-1])
    return {name.removeprefix("links_"): value for name, value in report.items()}


def _count_side(
    alignment: ServedAlignment, reader: VersionReader, side: SideName, reports: list[VersionReport]
) -> SideCounts:
    entities = sum(
        getattr(report, f"{side}_added_entities") - getattr(report, f"{side}_removed_entities")
        for report in reports
    )
    index, count = SIDES.index(side), reader.names.count_entities(side)
    table = reader.session.store.links
    linked: int = alignment.remember(
        f"linked {side}",
        reader.version,
        lambda: len(set(table.list_linked(index, 0, count, reader.version))),
    )
    alone = [
        pair
        for pair, kind in reader.session.store.read_decisions().items()
        if kind is DecisionKind.NO_COUNTERPART and pair[1 - index] < 0
    ]
    dangling = {pair[index] for pair in alone} | reader.waiting.dangling[index] - {-1}
    return SideCounts(
        entities=entities,
        linked=linked,
        unlinked=max(0, entities - linked),
        no_counterpart=len(dangling),
    )


def _describe_calibration(bins: list[CalibrationBin]) -> Calibration | None:
    if not bins:
        return None
    return Calibration(bins=[asdict(row) for row in bins], count=sum(row.count for row in bins))


def _describe_reviewers(rows: list[ReviewerCounts]) -> list[Reviewer]:
    return [
        Reviewer(
            author=row.author,
            answers=row.answers,
            same=row.confirmed,
            different=row.rejected,
            no_counterpart=row.no_counterpart,
            not_sure=row.unsure,
            withdrawn=row.withdrawn,
            last=row.last,
        )
        for row in rows
    ]


def _list_corrections(
    alignment: ServedAlignment, reader: VersionReader, version: int
) -> list[LinkEvent]:
    def read() -> list[LinkEvent]:
        events = iterate_link_events(reader.session, None, version, 0)
        of_version = takewhile(lambda event: event.version == version, events)
        return [event for event in of_version if event.kind in ("revised", "retracted")]

    return alignment.remember("corrections", (reader.version, version), read)


def _describe_disagreements(reader: VersionReader, namer: Namer) -> list[DisagreementModel]:
    if not isinstance(reader.method, ExplainableMethod):
        return []
    found = reader.questions.list_disagreements()[:MAX_DISAGREEMENTS]
    return [
        DisagreementModel(
            entity=namer.get_entity("left" if row.side == "left" else "right", row.entity),
            decisions=describe_decisions(namer, reader, row.decisions),
        )
        for row in found
    ]
