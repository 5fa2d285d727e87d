"""What the events say of earlier versions: what happened, what differs, what to apply.

Nothing here knows all the kinds of events: what differs is told by the links at both ends.
"""

from __future__ import annotations

import hashlib
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from everalign.graph import Names
from everalign.ledger import Event, Kind, Pair, Standing, View
from everalign.ledger.links import Partners
from everalign.rdf.linkfiles import LinkChange, Span
from everalign.reasons import find_entity
from everalign.reports import Difference, Happening
from everalign.store import Store

# What goes comes first: then the links are one-to-one after every single change.
_ORDER = ("retracted", "rejected", "withdrawn", "revised", "added", "confirmed", "rescored")


def happenings(store: Store, entity: str | None, since: int = 0) -> list[Happening]:
    """What happened to the links of one entity, or to all, from a version on, oldest first."""
    left, right = Names(store.names("left", "entity")), Names(store.names("right", "entity"))
    if entity is None:
        events = store.events(since=since)
    else:
        a, b = find_entity(entity, left, right)
        both = store.events(left=a, since=since) if a is not None else []
        both += store.events(right=b, since=since) if b is not None else []
        events = sorted(dict.fromkeys(both), key=lambda event: event.version)
    return [
        Happening(
            version=event.version,
            what=event.kind.value,
            left=left[event.left],
            right=right[event.right],
            score=event.score,
            reason=told(event, left, right),
        )
        for event in events
    ]


def differences(store: Store, before: int, after: int) -> list[Difference]:
    """How each pair differs that is not the same at both versions."""
    period = _period(store, before, after)
    found = [
        Difference(
            what,
            *period.names(pair),
            _score(period.before, pair),
            _score(period.after, pair),
            *period.account(pair),
        )
        for pair, what in differing(period.before, period.after).items()
    ]
    return sorted(found, key=lambda each: (_ORDER.index(each.what), each.left, each.right))


def changes_between(store: Store, since: int | None, until: int | None) -> list[LinkChange]:
    """What leads from the links of one version to those of another, removals first."""
    period = _period(store, since, _until(store, until))
    return [
        LinkChange(op, *period.names(pair), standing.score, _origin(standing), *account, known)
        for op, pair, standing, known in _moves(period.before, period.after)
        for account in [period.account(pair)]
    ]


def span_of(store: Store, since: int | None, until: int | None) -> Span:
    """What the links of the two versions are called."""
    before = None if since is None else version_iri(store, since)
    return Span(before, version_iri(store, _until(store, until)))


def version_iri(store: Store, version: int) -> str:
    """A name for the links of a version, which no other version of any state has."""
    digest = hashlib.sha256(store.settings().get("config", "").encode())
    # All versions so far: a copy of a state that has gone another way gets other names.
    for each in store.versions()[: version + 1]:
        digest.update(f"{each.number} {each.made_at} {each.delta}\n".encode())
    return uuid.uuid5(uuid.NAMESPACE_OID, digest.hexdigest()).urn


def told(event: Event, left: Names | Sequence[str], right: Names | Sequence[str]) -> str:
    """The reason of an event, with the names of the links that it competes with."""
    rivals = " and ".join(f"{left[a]} – {right[b]}" for a, b in event.rivals)
    if rivals and event.kind is Kind.CONFIRMED:
        return f"{event.reason}: replaces {rivals}"
    return f"{event.reason} {rivals}".strip()


def differing(before: View, after: View) -> dict[Pair, str]:
    """What has become of each pair that is not the same in both views.

    >>> old = View({(1, 10): Standing(0.5, 0, False)})
    >>> new = View({(1, 11): Standing(0.6, 1, False)}, frozenset({(2, 20)}))
    >>> differing(old, new)
    {(1, 10): 'retracted', (1, 11): 'revised', (2, 20): 'rejected'}
    """
    formerly = Partners(before.links)
    pairs = {*before.links, *after.links, *before.rejected, *after.rejected}
    return {pair: what for pair in sorted(pairs) if (what := _what(pair, before, after, formerly))}


def _what(pair: Pair, before: View, after: View, formerly: Partners) -> str:
    """One word for what has become of a pair; none if nothing has."""
    old, new = before.links.get(pair), after.links.get(pair)
    if new is None:
        return _without_link(pair, before, after)
    if old is None:
        rival = "revised" if formerly.rivals(pair) else "added"
        return "confirmed" if new.confirmed else rival
    if new.confirmed != old.confirmed:
        return "confirmed" if new.confirmed else "withdrawn"
    return "rescored" if new.score != old.score else ""


def _without_link(pair: Pair, before: View, after: View) -> str:
    rejected = pair in after.rejected
    if pair in before.links:
        return "rejected" if rejected else "retracted"
    if (pair in before.rejected) == rejected:
        return ""
    return "rejected" if rejected else "withdrawn"


def _moves(before: View, after: View) -> list[tuple[str, Pair, Standing, bool]]:
    """Operation, pair, how it stands (or stood), and whether it is there with another score."""
    gone = [
        ("remove", pair, before.links[pair], False)
        for pair in sorted(before.links)
        if pair not in after.links
    ]
    come = [
        ("add", pair, standing, pair in before.links)
        for pair, standing in sorted(after.links.items())
        if _shown(before.links.get(pair)) != _shown(standing)
    ]
    return gone + come


@dataclass(frozen=True)
class _Period:
    """Two versions and what happened between them; `last` has the last event of each pair."""

    before: View
    after: View
    last: Mapping[Pair, Event]
    left: Sequence[str]
    right: Sequence[str]
    partners: Partners
    end: int

    def names(self, pair: Pair) -> tuple[str, str]:
        return self.left[pair[0]], self.right[pair[1]]

    def account(self, pair: Pair) -> tuple[int, str]:
        """The version and the reason of the last thing that happened to a pair."""
        if event := self.last.get(pair):
            return event.version, told(event, self.left, self.right)
        # Without an event of its own, a link can only have made way for another one.
        rivals = self.partners.rivals(pair)
        others = " and ".join(" – ".join(self.names(rival)) for rival in rivals)
        return self.end, f"replaced by {others}" if others else ""


def _period(store: Store, before: int | None, after: int) -> _Period:
    views = View() if before is None else store.links(before), store.links(after)
    first, end = sorted((-1 if before is None else before, after))
    events = store.events(since=first + 1)
    last = {event.pair: event for event in events if event.version <= end}
    names = store.names("left", "entity"), store.names("right", "entity")
    return _Period(*views, last, *names, Partners(views[1].links), end)


def _until(store: Store, until: int | None) -> int:
    last = store.last_version() if until is None else until
    assert last is not None, "there is a version to lead to"
    return last


def _score(view: View, pair: Pair) -> float | None:
    standing = view.links.get(pair)
    return None if standing is None else standing.score


def _origin(standing: Standing) -> str:
    return "given" if standing.confirmed else "found"


def _shown(standing: Standing | None) -> tuple[float, bool] | None:
    return None if standing is None else (standing.score, standing.confirmed)
