"""Answers to questions, as decisions of the inbox; and how they are taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import uuid4

from everalign.decide import append_requests, find_decided_entity
from everalign.errors import ConfigError, SeedError
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.decisions import NO_ENTITY, TRUSTED_KINDS, DecisionKind
from everalign.state.inbox import DecisionRequest, RecordedDecision
from everalign.state.links import Pair
from everalign.state.snapshots import SIDES
from everalign.types import Decision

SAME, DIFFERENT, NONE_OF_THESE = "same", "different", "none of these"
NO_COUNTERPART, UNSURE = "no counterpart", "unsure"
ANSWER_KINDS = {
    SAME: DecisionKind.CONFIRMED,
    DIFFERENT: DecisionKind.REJECTED,
    NONE_OF_THESE: DecisionKind.REJECTED,
    NO_COUNTERPART: DecisionKind.NO_COUNTERPART,
    UNSURE: DecisionKind.UNSURE,
}


@dataclass(frozen=True)
class Answer:
    """An answer to a question.

    Args:
        entity: Name of the entity that was asked about.
        side: Its graph.
        kind: "same" or "different" for one candidate, "none of these" for all that were shown,
            "no counterpart", or "unsure".
        candidates: Names of the candidates that it is about.
        author: Who answers.
        comment: Why, in words.
        key: Makes a repeated answer harmless; None for a key that no other answer has.
        seen_version: The version that the author has seen; None for the last one.

    Raises:
        ConfigError: There is no such kind or side, or the number of candidates does not fit.
    """

    entity: str
    side: Side
    kind: str
    candidates: Sequence[str] = ()
    author: str = ""
    comment: str = ""
    key: str | None = None
    seen_version: int | None = None

    def __post_init__(self) -> None:
        if self.kind not in ANSWER_KINDS:
            known = ", ".join(ANSWER_KINDS)
            raise ConfigError(f"an answer is one of {known}, not {self.kind!r}")
        if self.side not in SIDES:
            raise ConfigError(f"side must be left or right, not {self.side!r}")
        count = len(self.candidates)
        if self.kind in (SAME, DIFFERENT) and count != 1:
            raise ConfigError(f"{self.kind!r} is about one candidate, not {count}")
        if self.kind == NONE_OF_THESE and not count:
            raise ConfigError(f"{self.kind!r} needs the candidates that were shown")
        if self.kind == NO_COUNTERPART and count:
            raise ConfigError(f"{self.kind!r} is about no candidate")


def record_answer(session: AlignmentSession, answer: Answer) -> list[Decision]:
    """Record an answer, all of it or nothing.

    Args:
        session: An open alignment; it need not be open for writing.
        answer: The answer.

    Returns:
        What is recorded: a decision for each candidate, or one about the entity.

    Raises:
        ConfigError: There is no such version.
        SeedError: A name is unknown.
        StateError: The alignment has no version yet.
    """
    session.check_started()
    pairs = _list_pairs(session, answer)
    keys = number_keys(answer.key or uuid4().hex, len(pairs))
    requests = [
        DecisionRequest(pair, ANSWER_KINDS[answer.kind], answer.author, answer.comment, key)
        for pair, key in zip(pairs, keys, strict=True)
    ]
    return append_requests(session, requests, answer.seen_version)


def number_keys(key: str, count: int) -> list[str]:
    """Give each decision of a request a key of its own.

    Args:
        key: The key of the request.
        count: How many decisions it has.

    Returns:
        The key itself, then the key with numbers from 2 on.

    Example:
        >>> number_keys("k", 3)
        ['k', 'k/2', 'k/3']
    """
    return [key if number == 1 else f"{key}/{number}" for number in range(1, count + 1)]


def undo_answer(
    session: AlignmentSession, key: str, author: str, comment: str, undo_key: str | None
) -> list[Decision]:
    """Take an answer back: its pairs are decided as they were before it.

    Pairs that were decided again since stay as they are.

    Args:
        session: An open alignment; it need not be open for writing.
        key: The key of the answer.
        author: Who takes it back.
        comment: Why, in words.
        undo_key: Makes a repeated request harmless; None for one that follows from the key.

    Returns:
        What is recorded.

    Raises:
        SeedError: Nothing was recorded under this key.
    """
    session.check_started()
    rows = session.store.inbox.read_of_request(key)
    if not rows:
        raise SeedError(f"no decision has the key {key!r}")
    keys = number_keys(undo_key or f"undo {key}", len(rows))
    # A repeated request finds its own withdrawals, which are not to be taken for new decisions.
    own = {row.key for row in session.store.inbox.read_of_request(keys[0])}
    requests = []
    for row, new_key in zip(rows, keys, strict=True):
        earlier = [past for past in _read_pair(session, row.pair) if past.key not in own]
        if new_key in own or earlier[-1] == row:
            kind = _find_kind_before(session, row, earlier)
            requests.append(DecisionRequest(row.pair, kind, author, comment, new_key))
    return append_requests(session, requests)


def _read_pair(session: AlignmentSession, pair: Pair) -> list[RecordedDecision]:
    left, right = pair
    rows = session.store.inbox.read_of_entity(
        None if left == NO_ENTITY else left, None if right == NO_ENTITY else right
    )
    return [row for row in rows if row.pair == pair]


def _find_kind_before(
    session: AlignmentSession, row: RecordedDecision, rows: Sequence[RecordedDecision]
) -> DecisionKind:
    """What to record so that a pair is decided as it was before a decision."""
    before = [
        past.kind
        for past in rows
        if past.number < row.number and past.kind is not DecisionKind.UNSURE
    ]
    kind = before[-1] if before else _find_given_kind(session, row)
    # To be unsure has changed nothing: what stands may stay.
    return DecisionKind.CONFIRMED if kind in TRUSTED_KINDS else kind


def _find_given_kind(session: AlignmentSession, row: RecordedDecision) -> DecisionKind:
    """The decision about a pair that came with files, before the first one of the inbox."""
    sides = [{entity} - {NO_ENTITY} for entity in row.pair]
    decisions = session.store.read_decisions_of(sides[0], sides[1], row.seen_version)
    return decisions.get(row.pair, DecisionKind.WITHDRAWN)


def _list_pairs(session: AlignmentSession, answer: Answer) -> list[Pair]:
    side = SIDES.index(answer.side)
    entity = find_decided_entity(session, answer.side, answer.entity)
    names = list(dict.fromkeys(answer.candidates))
    others = [find_decided_entity(session, SIDES[1 - side], name) for name in names]
    # An answer about no candidate is one about the entity.
    return [(entity, other) if side == 0 else (other, entity) for other in others or [NO_ENTITY]]
