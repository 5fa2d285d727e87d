"""What a method is given for a version: graphs, trusted links, links in force, what has changed.

Everything is read when it is asked for. A method whose updates follow the change asks only for
the change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign.graph import NO_TRIPLES, AttributeTriples, IntArray, LazyGraph
from everalign.graph.id_sets import subtract_ids, union_ids, unique_ids
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, DecisionChange, GraphChange, get_method_entry
from everalign.scope import GraphScope, find_out_of_scope
from everalign.session import AlignmentSession
from everalign.state import Delta, Side
from everalign.state.checkpoints import FolderCheckpoints
from everalign.state.decisions import NO_ENTITY, TRUSTED_KINDS, DecisionKind, fold_decisions
from everalign.state.deltas import IRI_NAME_ARRAYS
from everalign.state.facts import ENTITY_COLUMNS, count_occurrences
from everalign.state.files import StateLayout
from everalign.state.folding import RemovalChanges
from everalign.state.ledger import LinkSet, Pair, ScoredPair
from everalign.state.link_table import list_entities
from everalign.state.snapshots import (
    FACT_KINDS,
    SIDES,
    BothSides,
    GraphSnapshot,
    count_changes,
    find_revert_target,
    get_added_array_name,
    get_removed_array_name,
)

ArrayNaming: TypeAlias = Callable[[Side, str], str]

NO_IDS = np.empty(0, dtype=np.int32)
# A class with more facts is not looked at when it loses one: an update follows its delta.
MAX_SCHEMA_FACTS = 1000


@dataclass(frozen=True)
class PresenceChange:
    """Which entities of a graph have facts now and had none, or the other way round.

    Args:
        came: Ids of entities that have facts now.
        gone: Ids of entities that have none any more.
    """

    came: IntArray
    gone: IntArray


@dataclass(frozen=True)
class UpdateContext:
    """A version that is being made from the pending delta, or the last one if none is pending.

    Args:
        session: The open alignment.
        pending: The delta to apply.
        target: The version that the delta reverts to, if it does.
        method_version: The version at which the method last ran.
    """

    session: AlignmentSession
    pending: Delta | None
    target: int | None
    method_version: int | None

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
        # After a revert, what the method has seen ends at the target as well.
        return UpdateContext(session, delta, target, session.method_version(target))

    @staticmethod
    def from_last_version(session: AlignmentSession) -> UpdateContext:
        """Look at the last version, as if an update brought nothing.

        Args:
            session: An open alignment.

        Returns:
            The context of the last version.
        """
        return UpdateContext(session, None, None, session.method_version())

    def open_checkpoints(self) -> FolderCheckpoints:
        """Open the checkpoints of a run of the method on this version.

        Returns:
            What an interrupted run with the same input and settings has left, if there was one.
        """
        assert self.pending is not None, "the method runs on a pending delta"
        config, release = self.session.config.to_toml(), version("everalign")
        key = f"{release} {self.pending.digest} {self.method_version} {config}"
        return FolderCheckpoints(StateLayout(self.session.path), key)

    @cached_property
    def snapshot(self) -> GraphSnapshot:
        """The facts and decisions with the delta applied."""
        return self.session.next_snapshot

    @cached_property
    def removed_entities(self) -> BothSides:
        """The ids of the left and the right entities that have no fact."""
        left, right = (
            np.flatnonzero(~self.snapshot.present_entities(index, count)).astype(np.int32)
            for index, count in enumerate(self._entity_counts)
        )
        return left, right

    @cached_property
    def presence_changes(self) -> tuple[PresenceChange, PresenceChange]:
        """Which left and right entities have begun or ceased to have facts."""
        find = self._find_presence if self.target is None else self._compare_presence
        return find(0), find(1)

    def _find_presence(self, index: int) -> PresenceChange:
        """Look at the entities of the delta only."""
        entities = self._list_changed(index)
        gain, loss = (
            sum(
                count_occurrences(self._get_rows(name(SIDES[index], kind)), kind, entities)
                for kind in FACT_KINDS
            )
            for name in (get_added_array_name, get_removed_array_name)
        )
        before = self.session.facts.count_facts(index, entities, int(np.max(loss, initial=0)))
        had, has = before > 0, before + gain - loss > 0
        return PresenceChange(entities[has & ~had], entities[had & ~has])

    def _compare_presence(self, index: int) -> PresenceChange:
        """Compare two snapshots as a whole."""
        count = self._entity_counts[index]
        has = self.snapshot.present_entities(index, count)
        had = self.session.snapshot.present_entities(index, count)
        came, gone = (np.flatnonzero(mask).astype(np.int32) for mask in (has & ~had, had & ~has))
        return PresenceChange(came, gone)

    def find_removal_changes(self) -> RemovalChanges:
        """Find the entities that have lost all their facts, or have facts again.

        Returns:
            The changes since the last version.
        """
        removed, restored = set(), set()
        known = self.session.store.read_removed_entities()
        for side, change in zip(SIDES, self.presence_changes, strict=True):
            removed |= {(side, entity) for entity in change.gone.tolist()}
            restored |= {(side, entity) for entity in change.came.tolist()} & known
        return RemovalChanges(removed, restored)

    def build_task(self, links: LinkSet) -> AlignmentTask:
        """Build the task with everything in it.

        Args:
            links: The links in force, with the decisions of the update applied.

        Returns:
            The task. Literals are left out for methods that do not read them.
        """
        known_left, known_right = self._count_known_entities()
        left, right = self.graphs
        seeds, validation = self.trusted_links
        return AlignmentTask(
            left=left,
            right=right,
            seeds=seeds,
            validation=validation,
            known_left_count=known_left,
            known_right_count=known_right,
            previous_links=_build_candidates(links.found_links),
            rescore_all=self.rescore_all,
            left_attributes=self.attributes[0],
            right_attributes=self.attributes[1],
            changed_entities=None if self.method_version is None else self._changed_entities(),
            removed_entities=self.removed_entities,
            removed_triple_count=self._count_removed_triples(),
            removed_link_count=self._count_removed_links(),
            rejected=self.rejected_pairs,
            unaligned_entities=self.unaligned_entities,
            cardinality=self.session.config.cardinality,
        )

    @property
    def rescore_all(self) -> bool:
        """Whether the method is to look at everything again."""
        return self.pending is not None and self.pending.rescore_all

    @cached_property
    def graphs(self) -> tuple[LazyGraph, LazyGraph]:
        """Both graphs; their triples are read when they are asked for."""
        # Counted by names and not by the highest id of a fact: entities without facts keep their
        # ids.
        left, right = (
            LazyGraph(
                lambda index=index: self.snapshot.triples[index],  # type: ignore[misc]
                self._entity_counts[index],
                self.session.count_names(SIDES[index], "relation"),
            )
            for index in range(2)
        )
        return left, right

    @cached_property
    def attributes(self) -> tuple[AttributeTriples, AttributeTriples]:
        """The statements of both graphs with literals, if the method reads them."""
        return self._build_attributes(0), self._build_attributes(1)

    @cached_property
    def trusted_links(self) -> BothSides:
        """Links to train on and links for validation, between entities that have facts."""
        training = self.snapshot.decided_pairs(DecisionKind.SEED, DecisionKind.CONFIRMED)
        validation = self.snapshot.decided_pairs(DecisionKind.VALIDATION)
        return self._select_present(training), self._select_present(validation)

    @cached_property
    def rejected_pairs(self) -> IntArray:
        """The pairs that people have rejected."""
        return self.snapshot.decided_pairs(DecisionKind.REJECTED)

    @cached_property
    def unaligned_entities(self) -> BothSides:
        """Left and right entities that are out of scope, or have no counterpart by decision."""
        rows = self.snapshot.decided_pairs(DecisionKind.NO_COUNTERPART)
        left, right = (
            union_ids(rows[rows[:, index] >= 0, index], self._find_out_of_scope(index))
            for index in range(2)
        )
        return left, right

    def _find_out_of_scope(self, index: int) -> IntArray:
        vocabulary = self.session.vocabulary(SIDES[index])
        triples = self.snapshot.triples[index]
        return find_out_of_scope(self.session.config, vocabulary, triples)

    def _get_scope(self, index: int) -> GraphScope:
        return GraphScope.from_config(self.session.config, self.session.vocabulary(SIDES[index]))

    def _find_scope_change(self, index: int, others: IntArray) -> BothSides:
        """Of the delta and other entities those that are out of scope, and those in it."""
        side, facts = SIDES[index], self.session.facts
        added, removed = (
            self._get_rows(name(side, FACT_KINDS[0]))
            for name in (get_added_array_name, get_removed_array_name)
        )
        scope = self._get_scope(index)
        # What has been schema by a statement that is gone may be so by others.
        doubtful = scope.find_schema(removed)
        fact_counts = facts.count_facts(index, doubtful, MAX_SCHEMA_FACTS)
        doubtful = doubtful[fact_counts <= MAX_SCHEMA_FACTS]
        looked_at = union_ids(self.presence_changes[index].came, union_ids(others, doubtful))
        outside, inside = scope.find_outside_changed(
            added,
            removed,
            looked_at,
            lambda ids: facts.list_facts(index, FACT_KINDS[0], ids),
        )
        predicates = self._find_predicates(index, looked_at)
        return union_ids(outside, predicates), subtract_ids(inside, predicates)

    def _find_predicates(self, index: int, entities: IntArray) -> IntArray:
        """Of some entities those that are predicates, and all others that have just become one."""
        vocabulary = self.session.vocabulary(SIDES[index])
        names = list(vocabulary.entities.map_names(entities.tolist()).values())
        is_predicate = (vocabulary.relations.find_ids(names) >= 0) | (
            vocabulary.attributes.find_ids(names) >= 0
        )
        last = self.session.store.next_version() - 1
        count_names = partial(self.session.store.count_names, SIDES[index], version=last)
        relations = vocabulary.relations.list_names_after(count_names("relation"))
        attributes = vocabulary.attributes.list_names_after(count_names("attribute"))
        new = vocabulary.entities.find_ids([*relations, *attributes])
        return union_ids(entities[is_predicate], new[new >= 0])

    def list_graph_changes(self) -> tuple[GraphChange, GraphChange]:
        """List what both graphs gain and lose by the pending delta.

        Returns:
            The changes of the left and the right graph.
        """
        return self._list_graph_change(0), self._list_graph_change(1)

    def _list_graph_change(self, index: int) -> GraphChange:
        side = SIDES[index]
        added, removed = (
            [self._get_rows(name(side, kind)) for kind in FACT_KINDS]
            for name in (get_added_array_name, get_removed_array_name)
        )
        added_names, removed_names = self._list_iri_name_changes(index)
        literals = np.concatenate([added[1], added_names])
        return GraphChange(
            added[0],
            removed[0],
            literals,
            np.concatenate([removed[1], removed_names]),
            self.session.vocabulary(side).literals.map_names(literals[:, 2].tolist()),
        )

    def _list_iri_name_changes(self, index: int) -> BothSides:
        """The literals taken from IRIs, of entities that came or went."""
        change = self.presence_changes[index]
        added = self._get_rows(IRI_NAME_ARRAYS[index])
        # Entities that come back have had their names since they first came.
        first = self.session.store.count_names(
            SIDES[index], "entity", self.session.store.next_version() - 1
        )
        returned = change.came[change.came < first]
        if len(returned):
            known = self._list_iri_names(index)
            added = np.concatenate([added, known[np.isin(known[:, 0], returned)]])
        removed = self.session.list_iri_names(index, change.gone)
        return added, removed

    def list_decision_changes(self) -> DecisionChange:
        """List which trusted links and decisions have changed since the method last ran.

        Returns:
            All pairs and entities that may have changed, as they are now.
        """
        store = self.session.store
        withdrawn = _split_sides(_list_rows(p for p in self._decided_pairs if NO_ENTITY in p))
        scopes = [self._find_scope_change(index, withdrawn[index]) for index in range(2)]
        left, right = (
            {*change.came.tolist(), *change.gone.tolist(), *inside.tolist()}
            for change, (_, inside) in zip(self.presence_changes, scopes, strict=True)
        )
        decided = self._decided_pairs | set(store.read_decisions_of(left, right))
        before = store.read_decisions_of(*list_entities(decided))
        coming = [] if self.pending is None else self.session.coming_decisions()
        kinds = fold_decisions(before, coming, self.session.config.cardinality)
        pairs = sorted(pair for pair in decided if NO_ENTITY not in pair)
        present = self._mark_present_pairs(pairs)
        trusted = [
            kinds.get(pair) in TRUSTED_KINDS and is_present
            for pair, is_present in zip(pairs, present.tolist(), strict=True)
        ]
        rejected = [kinds.get(pair) is DecisionKind.REJECTED for pair in pairs]
        alone = [pair for pair in decided if NO_ENTITY in pair]
        dangling = [kinds.get(pair) is DecisionKind.NO_COUNTERPART for pair in alone]
        unaligned, undecided = (_split_sides(rows) for rows in _split_rows(alone, dangling))
        out, back = zip(
            *(
                _merge_scope(*scopes[index], unaligned[index], undecided[index])
                for index in range(2)
            ),
            strict=True,
        )
        return DecisionChange(
            *_split_rows(pairs, trusted), *_split_rows(pairs, rejected), out, back
        )

    def _mark_present_pairs(self, pairs: Sequence[Pair]) -> NDArray[np.bool_]:
        rows = np.array(pairs, dtype=np.int32).reshape(-1, 2)
        present = np.ones(len(rows), dtype=np.bool_)
        for index, change in enumerate(self.presence_changes):
            entities, place = np.unique(rows[:, index], return_inverse=True)
            has = self.session.facts.count_facts(index, entities, 0) > 0
            has = (has | np.isin(entities, change.came)) & ~np.isin(entities, change.gone)
            present &= has[place]
        return present

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

    def count_graph_changes(self) -> dict[str, int]:
        """Count the triples and entities that were added and removed.

        Returns:
            Counts by their names in a `VersionReport`.
        """
        counts: dict[str, int] = {}
        for index, side in enumerate(SIDES):
            if self.target is None:
                added, removed = (
                    len(self._get_rows(name(side, FACT_KINDS[0])))
                    for name in (get_added_array_name, get_removed_array_name)
                )
            else:
                before = self.session.snapshot.triples[index]
                added, removed = count_changes(before, self.snapshot.triples[index])
            change = self.presence_changes[index]
            counts |= {
                f"{side}_added_triples": added,
                f"{side}_removed_triples": removed,
                f"{side}_added_entities": len(change.came),
                f"{side}_removed_entities": len(change.gone),
            }
        return counts

    @cached_property
    def _entity_counts(self) -> tuple[int, int]:
        left, right = (self.session.count_names(side, "entity") for side in SIDES)
        return left, right

    def _build_attributes(self, index: int) -> AttributeTriples:
        if not get_method_entry(self.session.config.method).reads_literals:
            return AttributeTriples.empty()
        names = self.session.vocabulary(SIDES[index])
        stated, iri_names = self.snapshot.literals[index], self._list_iri_names(index)
        # A removed entity gets no name: it would be its only fact.
        iri_names = iri_names[~np.isin(iri_names[:, 0], self.removed_entities[index])]
        return AttributeTriples(
            np.concatenate([stated, iri_names]) if len(iri_names) else stated,
            names.attributes,
            names.literals,
        )

    def _list_iri_names(self, index: int) -> IntArray:
        """List the literals taken from IRIs."""
        # Of all deltas, in effect or not: an entity that a revert has removed is not new when it
        # comes back.
        deltas = [*self.session.deltas, *([] if self.pending is None else [self.pending])]
        arrays = (delta.arrays.get(IRI_NAME_ARRAYS[index], NO_TRIPLES) for delta in deltas)
        return np.concatenate([NO_TRIPLES, *arrays])

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

    def _list_changed(self, index: int) -> IntArray:
        """List the entities whose facts the delta changes."""
        parts = [
            *self._entities_in(index, get_added_array_name),
            *self._entities_in(index, get_removed_array_name),
        ]
        return unique_ids(np.concatenate([NO_IDS, *parts]))

    def _changed_entities(self) -> BothSides:
        """List the entities whose facts or trusted links have changed."""
        decided = list_entities(self._decided_pairs)
        left, right = (
            np.union1d(self._list_changed(index), np.array(sorted(decided[index]), dtype=np.int32))
            for index in range(2)
        )
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
            rows = self._get_rows(array_name(SIDES[index], kind))
            yield rows[:, list(columns)].ravel()

    def _get_rows(self, name: str) -> IntArray:
        """The rows of an array of the delta; only the pending one can have facts that are new.

        Whatever brings facts runs the method, so that it has seen those of all other deltas.
        """
        arrays = {} if self.pending is None else self.pending.arrays
        return arrays.get(name, NO_TRIPLES)

    def _count_removed_triples(self) -> int:
        return sum(len(self._get_rows(get_removed_array_name(side, "triples"))) for side in SIDES)

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


class StoredTask(AlignmentTask):
    """A task of which everything is read when the method asks for it.

    Args:
        context: The version that is being made.
    """

    def __init__(self, context: UpdateContext) -> None:
        # The fields of a frozen class are set in its dictionary.
        self.__dict__.update(
            _context=context,
            rescore_all=context.rescore_all,
            cardinality=context.session.config.cardinality,
            left=context.graphs[0],
            right=context.graphs[1],
        )

    @property
    def _source(self) -> UpdateContext:
        context: UpdateContext = self.__dict__["_context"]
        return context

    @cached_property
    def seeds(self) -> IntArray:
        """Trusted links to train on."""
        return self._source.trusted_links[0]

    @cached_property
    def validation(self) -> IntArray:
        """Trusted links for validation."""
        return self._source.trusted_links[1]

    @cached_property
    def left_attributes(self) -> AttributeTriples:
        """The statements of the left graph with literals."""
        return self._source.attributes[0]

    @cached_property
    def right_attributes(self) -> AttributeTriples:
        """The statements of the right graph with literals."""
        return self._source.attributes[1]

    @cached_property
    def removed_entities(self) -> BothSides:
        """Entities without any fact."""
        return self._source.removed_entities

    @cached_property
    def rejected(self) -> IntArray:
        """Pairs that people have rejected."""
        return self._source.rejected_pairs

    @cached_property
    def unaligned_entities(self) -> BothSides:
        """Entities that are not to be linked."""
        return self._source.unaligned_entities

    @cached_property
    def changes(self) -> tuple[GraphChange, GraphChange]:
        """What both graphs have gained and lost since the method last ran."""
        return self._source.list_graph_changes()

    @cached_property
    def decision_changes(self) -> DecisionChange:
        """Which trusted links and decisions have changed since then."""
        return self._source.list_decision_changes()


def _merge_scope(
    outside: IntArray, inside: IntArray, dangling: IntArray, undecided: IntArray
) -> BothSides:
    """The entities that are not to be linked for any reason, and those for none."""
    unaligned = union_ids(outside, dangling)
    return unaligned, subtract_ids(np.concatenate([inside, undecided]), unaligned)


def _list_rows(pairs: Iterable[Pair]) -> IntArray:
    return np.array(list(pairs), dtype=np.int32).reshape(-1, 2)


def _split_rows(pairs: Sequence[Pair], mask: Sequence[bool]) -> tuple[IntArray, IntArray]:
    """The pairs of a mask, and the others."""
    rows = _list_rows(pairs)
    chosen = np.array(mask, dtype=np.bool_)
    return rows[chosen], rows[~chosen]


def _split_sides(rows: IntArray) -> BothSides:
    """The left and the right entities of pairs in which one of the two is missing."""
    left, right = (column[column != NO_ENTITY] for column in rows.T)
    return left, right


def _build_candidates(links: Sequence[ScoredPair]) -> CandidatePairs:
    left, right, score = zip(*links, strict=True) if links else ((), (), ())
    return CandidatePairs.from_columns(left, right, score)
