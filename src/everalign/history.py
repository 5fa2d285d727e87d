"""Earlier versions: link events, differences between versions, and changes for other systems.

This module is internal; `Aligner.history`, `diff`, `changes` and `status` use it. Differences are
computed from the links at both ends, so they need not know every kind of event.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping
from dataclasses import dataclass

from everalign.explain import find_entity
from everalign.graph import NameIndex
from everalign.io.links import LinkChange, VersionRange
from everalign.pipeline import list_version_reports
from everalign.select import describe_origin
from everalign.session import AlignmentSession
from everalign.state.ledger import EventKind, LedgerEvent, LinkSet, Pair, PartnerIndex
from everalign.state.snapshots import SIDES
from everalign.types import AlignmentStatus, LinkDifference, LinkEvent

# Removals come first, so that links are one-to-one after every single change.
KIND_ORDER = ("retracted", "rejected", "withdrawn", "revised", "added", "confirmed", "rescored")


def describe_status(session: AlignmentSession) -> AlignmentStatus:
    """Describe the state of an alignment.

    Args:
        session: An open alignment.

    Returns:
        Settings, sizes and a report of each version.
    """
    config, reports = session.config, list_version_reports(session)
    links, pending = session.store.read_links(), session.store.pending_delta()
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
        seed=config.seed,
        version=session.store.last_version(),
        **sizes,
        given_links=len(links.confirmed_pairs),
        found_links=len(links.links) - len(links.confirmed_pairs),
        pending=None if pending is None else pending.source,
        reports=tuple(reports),
    )


def list_link_events(
    session: AlignmentSession, entity: str | None = None, since: int = 0
) -> list[LinkEvent]:
    """List link events, oldest first.

    Args:
        session: An open alignment.
        entity: Name of an entity of either graph; all links if None.
        since: The first version to list.

    Returns:
        The events.

    Raises:
        InputError: No graph has the entity.
    """
    left, right = (vocabulary.entities for vocabulary in session.vocabularies)
    if entity is None:
        events = session.store.read_events(since=since)
    else:
        left_id, right_id = find_entity(entity, left, right)
        found = [] if left_id is None else session.store.read_events(left=left_id, since=since)
        if right_id is not None:
            found += session.store.read_events(right=right_id, since=since)
        # A name in both graphs may be linked to itself: its events are found twice.
        events = sorted(dict.fromkeys(found), key=lambda event: event.version)
    return [
        LinkEvent(
            version=event.version,
            kind=event.kind.value,
            left=left[event.left],
            right=right[event.right],
            score=event.score,
            reason=describe_reason(event, left, right),
        )
        for event in events
    ]


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
            *interval.describe_last_event(pair),
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
            *interval.describe_last_event(pair),
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
    partners = PartnerIndex(before.links)
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


@dataclass(frozen=True)
class _VersionInterval:
    """The links of two versions and the last event of each pair between them."""

    before: LinkSet
    after: LinkSet
    last_events: Mapping[Pair, LedgerEvent]
    left_names: NameIndex
    right_names: NameIndex
    partners_after: PartnerIndex
    end: int

    def names(self, pair: Pair) -> tuple[str, str]:
        return self.left_names[pair[0]], self.right_names[pair[1]]

    def describe_last_event(self, pair: Pair) -> tuple[int, str]:
        """Give the version and the reason of the last event of a pair."""
        if event := self.last_events.get(pair):
            return event.version, describe_reason(event, self.left_names, self.right_names)
        # Without an event of its own, a link can only have made way for another one.
        competing = self.partners_after.competing_pairs(pair)
        names = " and ".join(" – ".join(self.names(other)) for other in competing)
        return self.end, f"replaced by {names}" if names else ""


def _read_interval(session: AlignmentSession, before: int | None, after: int) -> _VersionInterval:
    store = session.store
    links_before = LinkSet() if before is None else store.read_links(before)
    links_after = store.read_links(after)
    # The interval may lead backwards; the events between its ends are the same.
    start, end = sorted((-1 if before is None else before, after))
    events = store.read_events(since=start + 1)
    return _VersionInterval(
        links_before,
        links_after,
        # Of several events of a pair, the last one stays.
        {event.pair: event for event in events if event.version <= end},
        session.vocabulary("left").entities,
        session.vocabulary("right").entities,
        PartnerIndex(links_after.links),
        end,
    )


def _find_end(session: AlignmentSession, until: int | None) -> int:
    last = session.store.last_version() if until is None else until
    assert last is not None, "callers check that there is a version"
    return last


def _find_score(links: LinkSet, pair: Pair) -> float | None:
    state = links.links.get(pair)
    return None if state is None else state.score
