"""Decisions of people on their way into the inbox, and what waiting ones do to the links.

This module is internal; `Aligner.confirm`, `reject` and the like use it. Nothing here reads more
than the rows about the entities that are decided about.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge

from everalign.errors import ConfigError, SeedError
from everalign.graph import LinkSource, NameIndex, Vocabulary, encode_links, encode_pairs
from everalign.session import AlignmentSession, convert_recorded
from everalign.state import Side
from everalign.state.decisions import NO_ENTITY, DecisionKind
from everalign.state.inbox import DecisionRequest, RecordedDecision
from everalign.state.intervals import FOREVER, LinkInterval, PairStatus
from everalign.state.ledger import LinkSet, Pair, replay_events
from everalign.types import Decision


@dataclass(frozen=True)
class DecisionNote:
    """What goes with decisions.

    Args:
        author: Who decides.
        comment: Why, in words.
        keys: A key for each pair or entity, in order; it makes a repeated request harmless.
        seen_version: The version that the author has seen; None for the last one.
    """

    author: str = ""
    comment: str = ""
    keys: Sequence[str] | None = None
    seen_version: int | None = None


def record_pairs(
    session: AlignmentSession, kind: DecisionKind, pairs: LinkSource, note: DecisionNote
) -> list[Decision]:
    """Record a decision about each of some pairs.

    Args:
        session: An open alignment; it need not be open for writing.
        kind: What is decided.
        pairs: A file, or pairs of names.
        note: Author, comment and keys.

    Returns:
        What is recorded, in the order of the pairs.

    Raises:
        ConfigError: The keys do not fit the pairs.
        SeedError: A name is unknown, pairs contradict each other, or there is nothing to withdraw.
        StateError: The alignment has no version yet.
    """
    session.check_started()
    left, right = session.entity_names()
    vocabularies = _build_vocabulary(left), _build_vocabulary(right)
    if kind is DecisionKind.CONFIRMED:
        # Confirmed pairs of one request may not exclude each other; earlier ones are replaced.
        rows = encode_links(pairs, *vocabularies, cardinality=session.config.cardinality)
    elif kind is DecisionKind.WITHDRAWN:
        rows = encode_pairs(pairs, *vocabularies, refuse=lambda pair: _refuse(session, pair))
    else:
        rows = encode_pairs(pairs, *vocabularies)
    found = [(row[0], row[1]) for row in rows.tolist()]
    return _record(session, kind, found, note)


def record_entities(
    session: AlignmentSession,
    kind: DecisionKind,
    left: Iterable[str],
    right: Iterable[str],
    note: DecisionNote,
) -> list[Decision]:
    """Record a decision about each of some entities: that it has no counterpart, or the end of it.

    Args:
        session: An open alignment; it need not be open for writing.
        kind: `NO_COUNTERPART` or `WITHDRAWN`.
        left: Names of left entities.
        right: Names of right entities.
        note: Author, comment and keys.

    Returns:
        What is recorded, left entities first.

    Raises:
        ConfigError: The keys do not fit the entities.
        SeedError: A name is unknown, or there was nothing to withdraw.
        StateError: The alignment has no version yet.
    """
    session.check_started()
    names = session.entity_names()
    pairs = [(_find_entity(names[0], "left", name), NO_ENTITY) for name in left]
    pairs += [(NO_ENTITY, _find_entity(names[1], "right", name)) for name in right]
    for pair in pairs if kind is DecisionKind.WITHDRAWN else ():
        if _refuse(session, pair):
            side, entity = (0, pair[0]) if pair[1] == NO_ENTITY else (1, pair[1])
            raise SeedError(f"{names[side][entity]!r} was never decided to have no counterpart")
    return _record(session, kind, pairs, note)


@dataclass(frozen=True)
class WaitingView:
    """The links in force as they are once the waiting decisions take effect.

    Args:
        hidden: Pairs whose rows no longer hold.
        rows: What holds instead.
        dangling: Left and right entities that have no counterpart.
    """

    hidden: frozenset[Pair] = frozenset()
    rows: tuple[LinkInterval, ...] = ()
    dangling: tuple[frozenset[int], frozenset[int]] = (frozenset(), frozenset())

    def show(self, rows: Iterable[LinkInterval], status: PairStatus) -> Iterator[LinkInterval]:
        """Show pairs with a status as they are now.

        Args:
            rows: The pairs with the status as of the last version, best first.
            status: The status.

        Returns:
            The pairs with the status, best first.
        """
        kept = (row for row in rows if row.pair not in self.hidden)
        added = [row for row in self.rows if row.status == status]
        return merge(kept, sorted(added, key=rank_link), key=rank_link)


def read_waiting_view(session: AlignmentSession, upto: int | None = None) -> WaitingView:
    """Read what the waiting decisions do to the links.

    Args:
        session: An open alignment.
        upto: The number of the last decision that counts; None for all.

    Returns:
        The view; an empty one if no decision is waiting.
    """
    waiting = session.waiting_decisions(upto)
    if not waiting:
        return WaitingView()
    plan = session.store.plan_decisions().plan_given(list(map(convert_recorded, waiting)))
    before = {row.pair: row for row in _list_rows(plan.links)}
    after = {row.pair: row for row in _list_rows(replay_events(plan.events, plan.links))}
    begun = [pair for pair, kind, _ in plan.changes.begun if kind is DecisionKind.NO_COUNTERPART]
    return WaitingView(
        frozenset(pair for pair, row in before.items() if after.get(pair) != row),
        tuple(row for pair, row in after.items() if before.get(pair) != row),
        (frozenset(left for left, _ in begun), frozenset(right for _, right in begun)),
    )


def rank_link(row: LinkInterval) -> tuple[float, int, int]:
    """Rank a pair among those with the same status.

    Args:
        row: The pair.

    Returns:
        A key to sort by, best first.
    """
    return -row.score, row.left, row.right


def name_decision(recorded: RecordedDecision, left: NameIndex, right: NameIndex) -> Decision:
    """Give a decision the names of its entities.

    Args:
        recorded: A decision of the inbox.
        left: Names of left entities.
        right: Names of right entities.

    Returns:
        The decision for people.
    """
    return Decision(
        recorded.number,
        recorded.kind.value,
        "" if recorded.left == NO_ENTITY else left[recorded.left],
        "" if recorded.right == NO_ENTITY else right[recorded.right],
        recorded.author,
        recorded.decided_at,
        recorded.comment,
        recorded.key,
        recorded.seen_version,
    )


def _record(
    session: AlignmentSession, kind: DecisionKind, pairs: Sequence[Pair], note: DecisionNote
) -> list[Decision]:
    keys: Sequence[str | None] = [None] * len(pairs) if note.keys is None else note.keys
    if len(keys) != len(pairs):
        raise ConfigError(f"{len(keys)} keys were given for {len(pairs)} decisions")
    requests = [
        DecisionRequest(pair, kind, note.author, note.comment, key)
        for pair, key in zip(pairs, keys, strict=True)
    ]
    return append_requests(session, requests, note.seen_version)


def append_requests(
    session: AlignmentSession,
    requests: Sequence[DecisionRequest],
    seen_version: int | None = None,
) -> list[Decision]:
    """Record decisions, all or none.

    Args:
        session: An open alignment that has a version.
        requests: The decisions.
        seen_version: The version that their author has seen; None for the last one.

    Returns:
        What is recorded, with names.

    Raises:
        ConfigError: There is no such version.
    """
    last = session.store.last_version()
    assert last is not None, "callers check that there is a version"
    seen = last if seen_version is None else seen_version
    if not 0 <= seen <= last:
        raise ConfigError(f"there is no version {seen}; the last one is {last}")
    recorded = session.store.inbox.append_decisions(requests, seen)
    names = session.entity_names()
    return [name_decision(row, *names) for row in recorded]


def _refuse(session: AlignmentSession, pair: Pair) -> str | None:
    # What is withdrawn already may be withdrawn again: a command can be run twice.
    decided = session.store.was_decided(pair)
    return None if decided else "was neither given nor confirmed nor rejected"


def find_decided_entity(session: AlignmentSession, side: Side, name: str) -> int:
    """Find an entity that is decided about.

    Args:
        session: An open alignment.
        side: The graph.
        name: Its name.

    Returns:
        Its id.

    Raises:
        SeedError: The graph has no such entity.
    """
    names = session.entity_names()
    return _find_entity(names[0 if side == "left" else 1], side, name)


def _find_entity(names: NameIndex, side: Side, name: str) -> int:
    entity = names.find(name)
    if entity is None:
        raise SeedError(f"{name!r} is not an entity of the {side} graph")
    return entity


def _build_vocabulary(names: NameIndex) -> Vocabulary:
    return Vocabulary(entities=names)


def _list_rows(links: LinkSet) -> Iterator[LinkInterval]:
    for (left, right), state in links.links.items():
        status = PairStatus.GIVEN if state.confirmed else PairStatus.FOUND
        yield LinkInterval(left, state.since, right, FOREVER, state.score, state.since, status)
    for left, right in sorted(links.rejected_pairs):
        yield LinkInterval(left, 0, right, FOREVER, 0.0, 0, PairStatus.REJECTED)
