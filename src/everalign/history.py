"""Earlier versions: link events, differences between versions, and changes for other systems.

This module is internal; `Aligner.history`, `diff`, `changes` and `status` use it. Differences are
computed from the intervals that began or ended between the versions, so they need not know every
kind of event.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from everalign.causes import RetractionCause
from everalign.decide import name_decision
from everalign.explain import find_entity, name_contradicted
from everalign.graph import NameIndex
from everalign.io.links import LinkChange, VersionRange
from everalign.methods import ContradictedPair
from everalign.pipeline import list_version_reports
from everalign.select import describe_origin
from everalign.session import AlignmentSession
from everalign.state.inbox import RecordedDecision
from everalign.state.intervals import build_link_set
from everalign.state.ledger import EventKind, LedgerEvent, LinkSet, Pair, PartnerIndex
from everalign.state.name_reader import NameReader
from everalign.state.snapshots import SIDES
from everalign.types import AlignmentStatus, Decision, LinkDifference, LinkEvent

# Removals come first, so that links are one-to-one after every single change.
KIND_ORDER = ("retracted", "rejected", "withdrawn", "revised", "added", "confirmed", "rescored")

Names = NameIndex | Sequence[str]


def describe_status(session: AlignmentSession) -> AlignmentStatus:
    """Describe the state of an alignment.

    Args:
        session: An open alignment.

    Returns:
        Settings, sizes and a report of each version.
    """
    config, reports = session.config, list_version_reports(session)
    given, found, _ = session.store.count_links()
    pending = session.store.pending_delta()
    # Summed over the reports: the graphs themselves need not be read.
    sizes = {
        f"{side}_{kind}": sum(
            getattr(report, f"{side}_added_{kind}") - getattr(report, f"{side}_removed_{kind}")
            for report in reports
        )
        for side in SIDES
        for kind in ("triples", "entities")
    }
    return AlignmentStatus(
        state=str(session.path),
        method=config.method,
        merge_rule=config.merge_rule,
        cardinality=config.cardinality.value,
        seed=config.seed,
        languages=config.languages,
        version=session.store.last_version(),
        **sizes,
        given_links=given,
        found_links=found,
        waiting_decisions=len(session.waiting_decisions()),
        pending=None if pending is None else pending.source,
        reports=tuple(reports),
        **_describe_contradicted(session),
    )


def _describe_contradicted(session: AlignmentSession) -> dict[str, Any]:
    """What the last version has noted of given links that contradict their neighbourhood."""
    last = session.store.last_version()
    info: Mapping[str, Any] = {} if last is None else session.store.read_version(last).info
    if "contradicted_links" not in info:
        return {}
    pairs = [ContradictedPair(**row) for row in info["contradicted_links"]]
    links = name_contradicted(pairs, NameReader(session.store))
    return {"contradicted_count": info["contradicted_count"], "contradicted_links": tuple(links)}


def iterate_link_events(
    session: AlignmentSession, entity: str | None = None, since: int = 0, upto: int | None = None
) -> Iterator[LinkEvent]:
    """Iterate over link events, oldest first, then over the decisions that are waiting.

    Args:
        session: An open alignment.
        entity: Name of an entity of either graph; all links if None.
        since: The first version to list.
        upto: The number of the last decision that is shown as waiting; None for all.

    Returns:
        The events; a decision that changed no link is among them.

    Raises:
        InputError: No graph has the entity.
    """
    names = session.entity_names()
    if entity is None:
        return _iterate_all_events(session, _EventDescriber(*names), since, upto)
    # Looked up at once: a name that no graph has is an error also if nobody reads on.
    ids = find_entity(entity, *names)
    return _iterate_entity_events(session, _EventDescriber(*names), ids, since, upto)


def _iterate_all_events(
    session: AlignmentSession, describer: _EventDescriber, since: int, upto: int | None
) -> Iterator[LinkEvent]:
    store = session.store
    before = store.read_version(since - 1).inbox_upto if 0 < since <= store.next_version() else 0
    for version in store.list_versions(since):
        decisions = store.inbox.read_range(before, version.inbox_upto)
        before = version.inbox_upto
        events = store.iterate_events(version.number, version.number)
        yield from describer.describe(version.number, events, decisions)
    yield from describer.describe_waiting(session.waiting_decisions(upto))


def _iterate_entity_events(
    session: AlignmentSession,
    describer: _EventDescriber,
    ids: tuple[int | None, int | None],
    since: int,
    upto: int | None,
) -> Iterator[LinkEvent]:
    store, (left, right) = session.store, ids
    events = [] if left is None else store.read_events(left=left, since=since)
    events += [] if right is None else store.read_events(right=right, since=since)
    recorded = [] if left is None else store.inbox.read_of_entity(left=left)
    recorded += [] if right is None else store.inbox.read_of_entity(right=right)
    folded: defaultdict[int, list[RecordedDecision]] = defaultdict(list)
    waiting: list[RecordedDecision] = []
    # A name in both graphs may be linked to itself: its events are found twice.
    for decision in sorted(set(recorded)):
        version = store.find_folding_version(decision.number)
        if version is None:
            if upto is None or decision.number <= upto:
                waiting.append(decision)
        elif version >= since:
            folded[version].append(decision)
    by_version: defaultdict[int, list[LedgerEvent]] = defaultdict(list)
    for event in dict.fromkeys(events):
        by_version[event.version].append(event)
    for version in sorted({*folded, *by_version}):
        # A link that makes way was not decided about itself: the decision is another entity's.
        causes = {row.decision for row in by_version[version] if row.decision is not None}
        others = causes - {decision.number for decision in folded[version]}
        known = [row for number in others for row in store.inbox.read_range(number - 1, number)]
        yield from describer.describe(version, by_version[version], folded[version], known)
    yield from describer.describe_waiting(waiting)


@dataclass(frozen=True)
class _EventDescriber:
    """Gives events names, and the author, time and comment of the decision behind them."""

    left: NameIndex
    right: NameIndex

    def describe(
        self,
        version: int,
        events: Iterable[LedgerEvent],
        decisions: Sequence[RecordedDecision],
        other_causes: Sequence[RecordedDecision] = (),
    ) -> Iterator[LinkEvent]:
        """Describe the events of a version, then its decisions that no event stands for."""
        causes = {decision.number: decision for decision in (*decisions, *other_causes)}
        told: set[int] = set()
        for event in events:
            cause = None if event.decision is None else causes[event.decision]
            if cause is not None and cause.pair == event.pair and cause.kind == event.kind.value:
                told.add(cause.number)
            yield LinkEvent(
                event.version,
                event.kind.value,
                self.left[event.left],
                self.right[event.right],
                event.score,
                describe_reason(event, self.left, self.right),
                *_describe_cause(cause),
                cause=event.cause.value,
            )
        for decision in decisions:
            if decision.number not in told:
                yield self._describe_decision(decision, version)

    def describe_waiting(self, decisions: Iterable[RecordedDecision]) -> Iterator[LinkEvent]:
        for decision in decisions:
            yield self._describe_decision(decision, None)

    def _describe_decision(self, decision: RecordedDecision, version: int | None) -> LinkEvent:
        named = name_decision(decision, self.left, self.right)
        reason = "waiting for the next update" if version is None else "decided by a person"
        waiting = version is None
        return LinkEvent(
            version, named.kind, named.left, named.right, 0.0, reason,
            *_describe_cause(decision), waiting,
        )  # fmt: skip


def _describe_cause(decision: RecordedDecision | None) -> tuple[str, str, str]:
    if decision is None:
        return "", "", ""
    return decision.author, decision.decided_at, decision.comment


def list_differences(session: AlignmentSession, before: int, after: int) -> list[LinkDifference]:
    """List the pairs that are not the same at two versions.

    Args:
        session: An open alignment.
        before: A version.
        after: Another version, earlier or later.

    Returns:
        Differences in the order of `KIND_ORDER`.

    Raises:
        StateError: There is no such version.
    """
    interval = _read_interval(session, before, after)
    differences = [
        LinkDifference(
            kind,
            *interval.names(pair),
            _find_score(interval.before, pair),
            _find_score(interval.after, pair),
            (last := interval.describe_last_event(pair)).version,
            last.reason,
            last.cause,
        )
        for pair, kind in compare_links(interval.before, interval.after).items()
    ]
    return sorted(differences, key=lambda row: (KIND_ORDER.index(row.kind), row.left, row.right))


def list_link_changes(
    session: AlignmentSession, since: int | None = None, until: int | None = None
) -> list[LinkChange]:
    """List what leads from the links of one version to those of another.

    Args:
        session: An open alignment.
        since: The version to start from; no links at all if None.
        until: The version to reach; the last one if None.

    Returns:
        Removals, then additions.

    Raises:
        StateError: There is no such version.
    """
    interval = _read_interval(session, since, _find_end(session, until))
    before, after = interval.before.links, interval.after.links
    removed = [("remove", pair, before[pair], False) for pair in sorted(before.keys() - after)]
    added = [
        ("add", pair, state, pair in before)
        for pair, state in sorted(after.items())
        # `since` does not count: another system only sees score and origin.
        if pair not in before or before[pair]._replace(since=0) != state._replace(since=0)
    ]
    return [
        LinkChange(
            operation,
            *interval.names(pair),
            state.score,
            describe_origin(state),
            (last := interval.describe_last_event(pair)).version,
            last.reason,
            last.cause,
            known,
        )
        for operation, pair, state, known in removed + added
    ]


def name_version_range(
    session: AlignmentSession, since: int | None = None, until: int | None = None
) -> VersionRange:
    """Name the links of two versions.

    Args:
        session: An open alignment.
        since: The first version; None for no links at all.
        until: The second version; the last one if None.

    Returns:
        An IRI for each of them.
    """
    before = None if since is None else build_version_iri(session, since)
    return VersionRange(before, build_version_iri(session, _find_end(session, until)))


def build_version_iri(session: AlignmentSession, version: int) -> str:
    """Build an IRI for the links of a version that no other version of any alignment has.

    Args:
        session: An open alignment.
        version: The version.

    Returns:
        A `urn:uuid` IRI.
    """
    digest = hashlib.sha256(session.settings.get("config", "").encode())
    # All versions so far: a copy of a state directory that was updated otherwise differs.
    for row in session.store.list_versions()[: version + 1]:
        digest.update(f"{row.number} {row.made_at} {row.delta}\n".encode())
    # Derived and not random: every export of a version names it alike.
    return uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()).urn


def describe_reason(event: LedgerEvent, left: NameIndex, right: NameIndex) -> str:
    """Describe why an event happened, with the names of competing links.

    Args:
        event: A link event.
        left: Names of left entities by id.
        right: Names of right entities by id.

    Returns:
        One phrase.
    """
    competing = " and ".join(f"{left[a]} – {right[b]}" for a, b in event.competing_pairs)
    if competing and event.kind is EventKind.CONFIRMED:
        return f"{event.reason}: replaces {competing}"
    return f"{event.reason} {competing}".strip()


def compare_links(before: LinkSet, after: LinkSet) -> dict[Pair, str]:
    """Compare the links of two versions.

    Args:
        before: The links in force and rejected pairs at one version.
        after: The same at another version.

    Returns:
        The kind of difference of each pair that differs.

    >>> from everalign.state.ledger import LinkState
    >>> old = LinkSet({(1, 10): LinkState(0.5, 0, False)})
    >>> new = LinkSet({(1, 11): LinkState(0.6, 1, False)}, frozenset({(2, 20)}))
    >>> compare_links(old, new)
    {(1, 10): 'retracted', (1, 11): 'revised', (2, 20): 'rejected'}
    """
    partners = PartnerIndex(before.links, before.cardinality)
    # A set has no order of its own: pairs are sorted, so that the result has one.
    pairs = {*before.links, *after.links, *before.rejected_pairs, *after.rejected_pairs}
    kinds = {pair: _compare_pair(pair, before, after, partners) for pair in sorted(pairs)}
    return {pair: kind for pair, kind in kinds.items() if kind}


def _compare_pair(
    pair: Pair, before: LinkSet, after: LinkSet, partners_before: PartnerIndex
) -> str:
    """Name the difference of a pair; an empty string if there is none."""
    old, new = before.links.get(pair), after.links.get(pair)
    if new is None:
        return _compare_unlinked(pair, before, after)
    if old is None:
        kind = "revised" if partners_before.competing_pairs(pair) else "added"
        return "confirmed" if new.confirmed else kind
    if new.confirmed != old.confirmed:
        return "confirmed" if new.confirmed else "withdrawn"
    return "rescored" if new.score != old.score else ""


def _compare_unlinked(pair: Pair, before: LinkSet, after: LinkSet) -> str:
    rejected = pair in after.rejected_pairs
    if pair in before.links:
        return "rejected" if rejected else "retracted"
    if (pair in before.rejected_pairs) == rejected:
        return ""
    return "rejected" if rejected else "withdrawn"


class _LastEvent(NamedTuple):
    """What the last event of a pair tells."""

    version: int
    reason: str
    cause: str


@dataclass(frozen=True)
class _VersionInterval:
    """What differs between two versions, and the last event of each pair between them."""

    before: LinkSet
    after: LinkSet
    last_events: Mapping[Pair, LedgerEvent]
    left_names: NameIndex
    right_names: NameIndex
    partners_after: PartnerIndex
    end: int

    def names(self, pair: Pair) -> tuple[str, str]:
        return self.left_names[pair[0]], self.right_names[pair[1]]

    def describe_last_event(self, pair: Pair) -> _LastEvent:
        """Give the version, the reason and the cause of the last event of a pair."""
        if event := self.last_events.get(pair):
            reason = describe_reason(event, self.left_names, self.right_names)
            return _LastEvent(event.version, reason, event.cause.value)
        # Without an event of its own, a link can only have made way for another one.
        competing = self.partners_after.competing_pairs(pair)
        names = " and ".join(" – ".join(self.names(other)) for other in competing)
        if not names:
            return _LastEvent(self.end, "", RetractionCause.UNKNOWN.value)
        return _LastEvent(self.end, f"replaced by {names}", RetractionCause.BETTER_RIVAL.value)


def _read_interval(session: AlignmentSession, before: int | None, after: int) -> _VersionInterval:
    store = session.store
    # The interval may lead backwards; the rows and events between its ends are the same.
    start, end = sorted((-1 if before is None else before, after))
    if before is None:
        links = store.read_links(after)
        ends = LinkSet(cardinality=links.cardinality), links
    else:
        ended, begun = store.read_link_changes(start, end)
        cardinality = session.config.cardinality
        ends = build_link_set(ended, cardinality), build_link_set(begun, cardinality)
    links_before, links_after = ends if before is None or before <= after else ends[::-1]
    left, right = session.entity_names()
    pairs = {*links_before.links, *links_after.links}
    pairs |= links_before.rejected_pairs | links_after.rejected_pairs
    left.load(pair[0] for pair in pairs)
    right.load(pair[1] for pair in pairs)
    return _VersionInterval(
        links_before,
        links_after,
        # Of several events of a pair, the last one stays.
        {event.pair: event for event in store.iterate_events(start + 1, end)},
        left,
        right,
        PartnerIndex(links_after.links, links_after.cardinality),
        end,
    )


def _find_end(session: AlignmentSession, until: int | None) -> int:
    last = session.store.last_version() if until is None else until
    assert last is not None, "callers check that there is a version"
    return last


def _find_score(links: LinkSet, pair: Pair) -> float | None:
    state = links.links.get(pair)
    return None if state is None else state.score


def list_decisions(
    session: AlignmentSession,
    entity: str | None = None,
    author: str | None = None,
    after: int = 0,
    limit: int | None = None,
) -> list[Decision]:
    """List the decisions of the inbox, oldest first.

    Args:
        session: An open alignment.
        entity: Name of an entity of either graph; all decisions if None.
        author: Only decisions of this author.
        after: Only decisions with a greater number.
        limit: The most decisions to list.

    Returns:
        The decisions as they were recorded.

    Raises:
        InputError: No graph has the entity.
    """
    names, inbox = session.entity_names(), session.store.inbox
    if entity is None:
        rows = inbox.read_range(after)
    else:
        left, right = find_entity(entity, *names)
        found = [] if left is None else inbox.read_of_entity(left=left)
        found += [] if right is None else inbox.read_of_entity(right=right)
        rows = [row for row in sorted(set(found)) if row.number > after]
    chosen = [row for row in rows if author is None or row.author == author]
    return [name_decision(row, *names) for row in chosen[:limit]]
