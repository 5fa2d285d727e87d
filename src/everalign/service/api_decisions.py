"""Decisions: recorded at once, also while an update runs; a repeated request changes nothing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from fastapi import APIRouter

from everalign.errors import ConfigError, EverAlignError, SeedError, StateError
from everalign.service.alignment import ServedAlignment
from everalign.service.api_overview import describe_decisions
from everalign.service.common import (
    WRITE_ERRORS,
    Alignment,
    Sender,
    require_role,
)
from everalign.service.errors import classify_error
from everalign.service.models import (
    DecisionBody,
    DecisionOutcome,
    DecisionsAnswer,
    DecisionsBody,
    ErrorModel,
    SideName,
    WithdrawalsBody,
)
from everalign.service.naming import Namer
from everalign.service.settings import Role
from everalign.state.snapshots import SIDES
from everalign.types import Decision, DecisionResult
from everalign.version_reader import VersionReader

router = APIRouter(
    tags=["decisions"], responses=WRITE_ERRORS, dependencies=[require_role(Role.REVIEWER)]
)
# What the decision inbox records for each kind of answer.
RECORDED_KINDS = {
    "same": "confirmed",
    "different": "rejected",
    "none of these": "rejected",
    "no counterpart": "no counterpart",
    "not sure": "unsure",
}


@dataclass(frozen=True)
class Subject:
    """What an answer is about.

    Args:
        side: The graph of the entity.
        name: The entity.
        candidates: Entities of the other graph.
    """

    side: SideName
    name: str
    candidates: tuple[str, ...]

    @property
    def pairs(self) -> set[tuple[str, str]]:
        """The left and right names of what is recorded; empty for none."""
        others = self.candidates or ("",)
        pairs = {(self.name, other) for other in others}
        return pairs if self.side == "left" else {(right, left) for left, right in pairs}


@router.post("/decisions")
def record_decisions(alignment: Alignment, sender: Sender, body: DecisionsBody) -> DecisionsAnswer:
    """Record decisions, in order. What is recorded is on the disk when this returns."""
    author = sender.author or body.author
    outcomes = [
        _record(alignment, row.key, partial(_decide, alignment, row, author))
        for row in body.decisions
    ]
    return _describe(alignment, outcomes, {row.key: row.seen_version for row in body.decisions})


@router.post("/withdrawals")
def withdraw_decisions(
    alignment: Alignment, sender: Sender, body: WithdrawalsBody
) -> DecisionsAnswer:
    """Withdraw decisions by their keys: whether there is a link is left to the method again."""
    author = sender.author or body.author
    undo = partial(alignment.aligner.undo, author=author)
    outcomes = [
        _record(alignment, row.key, partial(undo, row.withdraws, undo_key=row.key))
        for row in body.withdrawals
    ]
    return _describe(alignment, outcomes, {})


@dataclass(frozen=True)
class _Outcome:
    key: str
    status: str
    decisions: tuple[Decision, ...] = ()
    error: EverAlignError | None = None


def _record(
    alignment: ServedAlignment, key: str, record: Callable[[], DecisionResult]
) -> _Outcome:
    # A number that was there before means that the key was, too.
    with alignment.deciding() as reader:
        last = reader.session.store.inbox.last_number()
    try:
        decisions = record().decisions
    except StateError:
        # Nothing can be recorded now, so nothing of the request is lost silently.
        raise
    except EverAlignError as error:
        return _Outcome(key, "refused", error=error)
    is_old = all(row.number <= last for row in decisions)
    return _Outcome(key, "repeated" if is_old else "recorded", decisions)


def _decide(alignment: ServedAlignment, row: DecisionBody, author: str) -> DecisionResult:
    subject = _find_subject(row)
    kind = "unsure" if row.kind == "not sure" else row.kind
    result = alignment.aligner.answer(
        subject.name,
        subject.side,
        kind,
        subject.candidates,
        author=author,
        comment=row.comment,
        key=row.key,
        seen_version=row.seen_version,
    )
    recorded = {(decision.left, decision.right) for decision in result.decisions}
    kinds = {decision.kind for decision in result.decisions}
    if recorded != subject.pairs or kinds != {RECORDED_KINDS[row.kind]}:
        raise SeedError(f"the key {row.key!r} was used for another decision")
    return result


def _find_subject(row: DecisionBody) -> Subject:
    """Find what an answer is about, in either of its two forms."""
    if row.left is not None and row.right is not None and row.entity is None:
        subject = Subject("left", row.left, (row.right,))
    elif row.entity is not None and row.left is None and row.right is None:
        subject = Subject(row.entity.side, row.entity.name, tuple(dict.fromkeys(row.candidates)))
    else:
        raise ConfigError("a decision is about `left` and `right`, or about `entity`")
    count = len(subject.candidates)
    if row.kind in ("same", "different") and count != 1:
        raise ConfigError(f"{row.kind!r} is about one candidate, not {count}")
    if row.kind == "none of these" and not count:
        raise ConfigError("'none of these' needs the candidates that were shown")
    if row.kind == "no counterpart":
        if row.entity is None:
            raise ConfigError("'no counterpart' is about `entity`")
        return Subject(subject.side, subject.name, ())
    return subject


def _describe(
    alignment: ServedAlignment, outcomes: list[_Outcome], seen: dict[str, int | None]
) -> DecisionsAnswer:
    with alignment.deciding() as reader:
        namer = Namer(alignment, reader, with_labels=alignment.is_loaded)
        results = [
            DecisionOutcome.model_validate(
                {
                    "key": row.key,
                    "status": row.status,
                    "decisions": describe_decisions(namer, reader, row.decisions),
                    "error": None if row.error is None else _describe_error(row.error),
                    "notice": _find_notice(reader, row.decisions, seen.get(row.key)),
                }
            )
            for row in outcomes
        ]
        last = reader.session.store.inbox.last_number()
        return DecisionsAnswer(results=results, version=reader.version, decisions=last)


def _describe_error(error: EverAlignError) -> ErrorModel:
    message = " ".join(str(error).encode("utf-8", "replace").decode().split())
    return ErrorModel(code=classify_error(error)[1], message=message)


def _find_notice(
    reader: VersionReader, decisions: tuple[Decision, ...], seen: int | None
) -> str | None:
    """Tell what has changed since a person has looked."""
    if seen is None or seen >= reader.version:
        return None
    for row in decisions:
        for side, name in zip(SIDES, (row.left, row.right), strict=True):
            if name and (side, reader.find_entity(name, side)[1]) in reader.removed:
                return f"{name!r} was removed from its graph; this counts if it comes back"
    return f"version {reader.version} was made since version {seen}, which was looked at"
