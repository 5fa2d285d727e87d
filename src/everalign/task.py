"""The task that a method is given: the graphs as they are, and what changed since it last ran.

This module is internal: a method of your own receives an `AlignmentTask` and needs nothing here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everalign.graph import NO_TRIPLES, AttributeTriples, Graph, IntArray
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, get_method_entry
from everalign.session import AlignmentSession
from everalign.state import Delta, Side
from everalign.state.decisions import TRUSTED_KINDS, DecisionKind
from everalign.state.deltas import IRI_NAME_ARRAYS
from everalign.state.folding import RemovalChanges
from everalign.state.ledger import LinkSet, Pair, ScoredPair
from everalign.state.link_table import list_entities
from everalign.state.snapshots import (
    SIDES,
    BothSides,
    GraphSnapshot,
    count_changes,
    find_method_version,
    find_revert_target,
    get_added_array_name,
    get_removed_array_name,
)

ArrayNaming = Callable[[Side, str], str]

NO_IDS = np.empty(0, dtype=np.int32)
# The columns of a fact that hold entities.
ENTITY_COLUMNS = {"triples": [0, 2], "literals": [0]}


@dataclass(frozen=True)
class UpdateContext:
    """A version that is being made from the pending delta, or the last one if none is pending.

    Args:
        session: The open alignment.
        pending: The delta to apply.
        snapshot: The facts and decisions with the delta applied.
        method_version: The version at which the method last ran.
        recent_deltas: The deltas in effect that the method has not seen, the pending one last.
    """

    session: AlignmentSession
    pending: Delta | None
    snapshot: GraphSnapshot
    method_version: int | None
    recent_deltas: Sequence[Delta]

    @staticmethod
    def from_pending(session: AlignmentSession) -> UpdateContext:
        """Look at the version that the pending delta leads to.

        Args:
            session: An alignment that is open for writing.

        Returns:
            The context of the next version.
        """
        delta = session.pending
        assert delta is not None, "a delta is journalled before it is applied"
        target = find_revert_target(delta)
        # A revert has no rows of its own: what changes follows from the deltas of its target.
        coming = [delta] if target is None else []
        return _build_context(session, delta, session.next_snapshot, target, coming)

    @staticmethod
    def from_last_version(session: AlignmentSession) -> UpdateContext:
        """Look at the last version, as if an update brought nothing.

        Args:
            session: An open alignment.

        Returns:
            The context of the last version.
        """
        return _build_context(session, None, session.snapshot, None, [])

    @cached_property
    def removed_entities(self) -> BothSides:
        """The ids of the left and the right entities that have no fact."""
        left, right = (
            np.flatnonzero(~self.snapshot.present_entities(index, count)).astype(np.int32)
            for index, count in enumerate(self._entity_counts)
        )
        return left, right

    def find_removal_changes(self) -> RemovalChanges:
        """Find the entities that have lost all their facts, or have facts again.

        Returns:
            The changes since the last version.
        """
        before = self.session.store.read_removed_entities()
        after = {
            (side, entity)
            for side, ids in zip(SIDES, self.removed_entities, strict=True)
            for entity in ids.tolist()
        }
        return RemovalChanges(after - before, before - after)

    def build_task(self, links: LinkSet) -> AlignmentTask:
        """Build the task for the method.

        Args:
            links: The links in force, with the decisions of the update applied.

        Returns:
            The task. Literals are left out for methods that do not read them.
        """
        left_attributes, right_attributes = (self._build_attributes(index) for index in range(2))
        left, right = (self._build_graph(index) for index in range(2))
        known_left, known_right = self._count_known_entities()
        snapshot = self.snapshot
        return AlignmentTask(
            left=left,
            right=right,
            seeds=self._select_present(
                snapshot.decided_pairs(DecisionKind.SEED, DecisionKind.CONFIRMED)
            ),
            validation=self._select_present(snapshot.decided_pairs(DecisionKind.VALIDATION)),
            known_left_count=known_left,
            known_right_count=known_right,
            previous_links=_build_candidates(links.found_links),
            rescore_all=self.pending is not None and self.pending.rescore_all,
            left_attributes=left_attributes,
            right_attributes=right_attributes,
            changed_entities=None if self.method_version is None else self._changed_entities(),
            removed_entities=self.removed_entities,
            removed_triple_count=self._count_removed_triples(),
            removed_link_count=self._count_removed_links(),
            rejected=snapshot.decided_pairs(DecisionKind.REJECTED),
            dangling_entities=self.dangling_entities,
        )

    @cached_property
    def dangling_entities(self) -> BothSides:
        """The left and the right entities that have no counterpart, as people decided."""
        rows = self.snapshot.decided_pairs(DecisionKind.NO_COUNTERPART)
        left, right = (column[column >= 0] for column in rows.T)
        return left, right

    def entities_with_removed_facts(self) -> tuple[set[int], set[int]]:
        """List the entities that have lost a fact since the method last ran.

        Returns:
            Ids of left and of right entities.
        """
        left, right = (
            {
                entity
                for part in self._entities_in(index, get_removed_array_name)
                for entity in part.tolist()
            }
            for index in range(2)
        )
        return left, right

    def count_graph_changes(self, before: GraphSnapshot) -> dict[str, int]:
        """Count the triples and entities that were added and removed.

        Args:
            before: The facts to compare with.

        Returns:
            Counts by their names in a `VersionReport`.
        """
        counts: dict[str, int] = {}
        for index, (side, entity_count) in enumerate(zip(SIDES, self._entity_counts, strict=True)):
            added, removed = count_changes(before.triples[index], self.snapshot.triples[index])
            present = self.snapshot.present_entities(index, entity_count)
            was_present = before.present_entities(index, entity_count)
            counts |= {
                f"{side}_added_triples": added,
                f"{side}_removed_triples": removed,
                f"{side}_added_entities": int(np.count_nonzero(present & ~was_present)),
                f"{side}_removed_entities": int(np.count_nonzero(was_present & ~present)),
            }
        return counts

    @cached_property
    def _entity_counts(self) -> tuple[int, int]:
        left, right = (self.session.count_names(side, "entity") for side in SIDES)
        return left, right

    def _build_graph(self, index: int) -> Graph:
        # Counted by names and not by the highest id of a fact: entities without facts keep their
        # ids.
        relation_count = self.session.count_names(SIDES[index], "relation")
        return Graph(self.snapshot.triples[index], self._entity_counts[index], relation_count)

    def _build_attributes(self, index: int) -> AttributeTriples:
        if not get_method_entry(self.session.config.method).reads_literals:
            return AttributeTriples.empty()
        names = self.session.vocabulary(SIDES[index])
        stated, iri_names = self.snapshot.literals[index], self._list_iri_names(index)
        return AttributeTriples(
            np.concatenate([stated, iri_names]) if len(iri_names) else stated,
            names.attributes,
            names.literals,
        )

    def _list_iri_names(self, index: int) -> IntArray:
        """List the literals taken from IRIs, of the entities that have facts."""
        # Of all deltas, in effect or not: an entity that a revert has removed is not new when it
        # comes back.
        deltas = [*self.session.deltas, *([] if self.pending is None else [self.pending])]
        arrays = (delta.arrays.get(IRI_NAME_ARRAYS[index], NO_TRIPLES) for delta in deltas)
        rows = np.concatenate([NO_TRIPLES, *arrays])
        # A removed entity gets no name: it would be its only fact.
        return rows[~np.isin(rows[:, 0], self.removed_entities[index])]

    def _count_known_entities(self) -> tuple[int, int]:
        """Count the entities that the method has seen: ids are given in the order of arrival."""
        if self.method_version is None:
            return 0, 0
        left, right = (
            self.session.store.count_names(side, "entity", self.method_version) for side in SIDES
        )
        return left, right

    def _select_present(self, pairs: IntArray) -> IntArray:
        """Select the pairs whose two entities have facts."""
        left, right = self.removed_entities
        return pairs[~np.isin(pairs[:, 0], left) & ~np.isin(pairs[:, 1], right)]

    def _changed_entities(self) -> BothSides:
        """List the entities whose facts or trusted links have changed."""
        # `np.concatenate` needs at least one array.
        parts: tuple[list[IntArray], list[IntArray]] = ([NO_IDS], [NO_IDS])
        for index in range(2):
            parts[index].extend(self._entities_in(index, get_added_array_name))
            parts[index].extend(self._entities_in(index, get_removed_array_name))
            decided = list_entities(self._decided_pairs)[index]
            parts[index].append(np.array(sorted(decided), dtype=np.int32))
        left, right = (np.unique(np.concatenate(side)) for side in parts)
        # A trusted link of an entity that was removed or came back starts or stops to count, so
        # its other entity has changed as well.
        trusted = self.snapshot.decided_pairs(*TRUSTED_KINDS)
        removed_left, removed_right = self.removed_entities
        waiting = trusted[
            np.isin(trusted[:, 0], removed_left) | np.isin(trusted[:, 1], removed_right)
        ]
        affected = waiting[np.isin(waiting[:, 0], left) | np.isin(waiting[:, 1], right)]
        return np.union1d(left, affected[:, 0]), np.union1d(right, affected[:, 1])

    @cached_property
    def _decided_pairs(self) -> set[Pair]:
        """The pairs about which people have decided since the method last ran."""
        store, last = self.session.store, self.session.store.last_version()
        coming = (
            set()
            if self.pending is None
            else {decision.pair for decision in self.session.coming_decisions()}
        )
        if self.method_version is None or last is None:
            return coming
        return coming | store.list_decided_pairs(self.method_version, last)

    def _entities_in(self, index: int, array_name: ArrayNaming) -> Iterator[IntArray]:
        for kind, columns in ENTITY_COLUMNS.items():
            for rows in self._arrays_called(array_name(SIDES[index], kind)):
                yield rows[:, columns].ravel()

    def _arrays_called(self, name: str) -> Iterator[IntArray]:
        return (delta.arrays[name] for delta in self.recent_deltas if name in delta.arrays)

    def _count_removed_triples(self) -> int:
        names = [get_removed_array_name(side, "triples") for side in SIDES]
        return sum(len(rows) for name in names for rows in self._arrays_called(name))

    def _count_removed_links(self) -> int:
        """Count the links that the method has learned from or found, and that no longer hold."""
        if self.method_version is None:
            return 0
        store, decisions = self.session.store, self.snapshot.decisions
        untrusted = {
            pair
            for pair, kind in store.read_decisions(self.method_version).items()
            if kind in TRUSTED_KINDS and decisions.get(pair) not in TRUSTED_KINDS
        }
        rejected = {pair for pair, kind in decisions.items() if kind is DecisionKind.REJECTED}
        known = store.read_links_of(*list_entities(rejected), self.method_version)
        return len(untrusted | (rejected & known.links.keys()))


def _build_context(
    session: AlignmentSession,
    pending: Delta | None,
    snapshot: GraphSnapshot,
    version: int | None,
    coming: Sequence[Delta],
) -> UpdateContext:
    # Where `version` is the target of a revert, what the method has seen ends there as well.
    in_effect = session.deltas_in_effect(version)
    method_version = find_method_version(in_effect)
    unseen = [delta for at, delta in in_effect if method_version is None or at > method_version]
    return UpdateContext(session, pending, snapshot, method_version, [*unseen, *coming])


def _build_candidates(links: Sequence[ScoredPair]) -> CandidatePairs:
    left, right, score = zip(*links, strict=True) if links else ((), (), ())
    return CandidatePairs.from_columns(left, right, score)
