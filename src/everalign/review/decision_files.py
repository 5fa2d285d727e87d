"""Decisions of people that come in as SSSOM files."""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path

from everalign.decide import append_requests, find_decided_entity
from everalign.errors import InputError, SeedError
from everalign.io.links import Curation, read_curations
from everalign.session import AlignmentSession, convert_recorded
from everalign.state.decisions import NO_ENTITY, TRUSTED_KINDS, DecisionKind, fold_decisions
from everalign.state.inbox import DecisionRequest
from everalign.state.links import Pair
from everalign.types import Decision


def import_decisions(
    session: AlignmentSession, path: str | Path, author: str = "", comment: str = ""
) -> list[Decision]:
    """Record the decisions of an SSSOM file, all or none.

    Args:
        session: An open alignment; it need not be open for writing.
        path: The file. Mappings that no person has judged are left out, and so are those that are
            decided like that already.
        author: Who decided, where the file does not tell.
        comment: Why, where the file does not tell.

    Returns:
        What is recorded.

    Raises:
        InputError: The file is not SSSOM, or names an entity that the graphs do not have.
        StateError: The alignment has no version yet.
    """
    session.check_started()
    path = Path(path)
    known = fold_decisions(
        session.store.read_decisions(),
        map(convert_recorded, session.waiting_decisions()),
        session.config.cardinality,
    )
    requests: dict[Pair, DecisionRequest] = {}
    for row in read_curations(path):
        pair, kind = _find_pair(session, row, path), _choose_kind(row)
        # What is in force already, a seed for example, is not decided again.
        in_force = known.get(pair)
        is_known = in_force is kind or (
            kind is DecisionKind.CONFIRMED and in_force in TRUSTED_KINDS
        )
        if not is_known:
            requests[pair] = DecisionRequest(
                pair,
                kind,
                row.reviewer or author,
                row.comment or comment,
                _make_key(row, pair, kind),
                row.date,
            )
    return append_requests(session, list(requests.values()))


def _choose_kind(row: Curation) -> DecisionKind:
    if not row.has_counterpart:
        return DecisionKind.NO_COUNTERPART
    return DecisionKind.REJECTED if row.negated else DecisionKind.CONFIRMED


def _find_pair(session: AlignmentSession, row: Curation, path: Path) -> Pair:
    try:
        left = find_decided_entity(session, "left", row.left) if row.left else NO_ENTITY
        right = find_decided_entity(session, "right", row.right) if row.right else NO_ENTITY
    except SeedError as error:
        raise InputError(str(error), path=path, line=row.line) from None
    return left, right


def _make_key(row: Curation, pair: Pair, kind: DecisionKind) -> str:
    """A key that the same row has whenever it is imported."""
    content = (*pair, kind.value, row.reviewer, row.date, row.comment)
    return f"sssom {blake2b(repr(content).encode(), digest_size=12).hexdigest()}"
