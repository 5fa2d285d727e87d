"""What one command reads from a state directory, each part of it once (internal).

Every function that works on an existing alignment takes an `AlignmentSession`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress, no_progress
from everalign.config import Config
from everalign.errors import StateDamagedError, StateError
from everalign.graph import NO_TRIPLES, IntArray, NameIndex, Vocabulary
from everalign.graph.iri_names import IRI_NAME_ATTRIBUTE
from everalign.io import Prefixes
from everalign.io.links import combine_prefixes
from everalign.methods import IncrementalMethod, Method, create_method
from everalign.state import Delta, Json, NameKind, Side, StateStore
from everalign.state.decision_table import DecisionChanges
from everalign.state.decisions import (
    Decisions,
    GivenDecision,
    LazyDecisions,
    fold_decisions,
    list_given_decisions,
)
from everalign.state.deltas import NAME_KINDS
from everalign.state.facts import FactIndex, SnapshotFacts, count_occurrences
from everalign.state.inbox import RecordedDecision
from everalign.state.ledger import LedgerEvent, Pair
from everalign.state.method_output import MethodOutput
from everalign.state.snapshots import (
    SIDES,
    DeltaInEffect,
    GraphSnapshot,
    find_revert_target,
    list_deltas_in_effect,
)
from everalign.state.verify import Finding, Remedy, verify_state

Vocabularies = tuple[Vocabulary, Vocabulary]
# Names of left and right entities by id.
EntityNames = tuple[Mapping[int, str], Mapping[int, str]]


class AlignmentSession:
    """An open alignment: settings, names, deltas and snapshot are read once and kept.

    A session for writing follows its own writes: after `commit_version` the snapshot is the one
    of the new version, without reading anything again.

    Args:
        path: The state directory.
        store: The same, open; the session closes it.
    """

    def __init__(self, path: str | Path, store: StateStore) -> None:
        self.path = Path(path)
        self.store = store
        self._vocabularies: dict[Side, Vocabulary] = {}
        self._names: dict[tuple[Side, NameKind], NameIndex] = {}
        self._pending: Delta | None = None
        self._facts: FactIndex | None = None

    @classmethod
    def open(cls, path: str | Path, *, write: bool = False) -> Self:
        """Open an existing state directory.

        Args:
            path: The state directory.
            write: Whether to lock it for writing.

        Returns:
            A session, to be used as a context manager.

        Raises:
            StateError: There is no alignment, or another process writes to it.
        """
        return cls(path, StateStore.open(path, write=write))

    def close(self) -> None:
        """Close the state directory."""
        self.store.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @cached_property
    def settings(self) -> dict[str, str]:
        """The settings that were stored when the alignment was created."""
        return self.store.read_settings()

    @cached_property
    def config(self) -> Config:
        """The configuration of the alignment."""
        return Config.parse(self.settings["config"])

    def vocabulary(self, side: Side) -> Vocabulary:
        """Return the names of one graph, to look up names and ids and to add names.

        Args:
            side: The graph.

        Returns:
            All names, including those of a delta that is being applied. They are read as they
            are needed.
        """
        if side not in self._vocabularies:
            self._vocabularies[side] = Vocabulary(
                *(self._open_names(side, kind) for kind in NAME_KINDS)
            )
        return self._vocabularies[side]

    def _open_names(self, side: Side, kind: NameKind) -> NameIndex:
        if (side, kind) not in self._names:
            self._names[side, kind] = NameIndex(stored=self.store.open_names(side, kind))
        return self._names[side, kind]

    def name_entities(self, pairs: Iterable[Pair]) -> EntityNames:
        """Read the names of the entities of pairs.

        Args:
            pairs: Pairs of a left and a right id.

        Returns:
            The names of these left and of these right entities by id.
        """
        # Pairs may come from a generator, and are looked at twice.
        pairs = list(pairs)
        left, right = (
            names.map_names(pair[index] for pair in pairs)
            for index, names in enumerate(self.entity_names())
        )
        return left, right

    @property
    def vocabularies(self) -> Vocabularies:
        """The names of the left and the right graph."""
        return self.vocabulary("left"), self.vocabulary("right")

    def entity_names(self) -> tuple[NameIndex, NameIndex]:
        """Look up names of entities without reading all of them.

        Returns:
            The entities of the left and the right graph.
        """
        # A decision asks for nothing else, and takes about as long as all names take to open.
        left, right = (
            self._vocabularies[side].entities
            if side in self._vocabularies
            else self._open_names(side, "entity")
            for side in SIDES
        )
        return left, right

    def count_names(self, side: Side, kind: NameKind) -> int:
        """Count the names of one kind in one graph.

        Args:
            side: The graph.
            kind: Entity, relation, attribute or literal.

        Returns:
            The number of names, including those of a delta that is being applied.
        """
        return len(dict(list_name_indexes(self.vocabulary(side)))[kind])

    @cached_property
    def deltas(self) -> list[Delta]:
        """The applied deltas; the position of a delta is the version that applied it."""
        return [_keep_arrays(delta) for delta in self.store.read_deltas()]

    @cached_property
    def prefixes(self) -> Prefixes:
        """The prefixes that the files of both graphs declare, and well-known ones."""
        return combine_prefixes([delta.prefixes for delta in self.deltas])

    @property
    def pending(self) -> Delta | None:
        """The delta that is journalled and not yet applied."""
        if self._pending is None and (delta := self.store.pending_delta()) is not None:
            self._pending = _keep_arrays(delta)
            # The vocabularies were read as of the last version. A delta that was encoded by this
            # session has put its names there already.
            for (side, kind), names in delta.new_names.items():
                if names:
                    index = dict(list_name_indexes(self.vocabulary(side)))[kind]
                    index.get_or_add_ids(names)
        return self._pending

    def deltas_in_effect(self, version: int | None = None) -> list[DeltaInEffect]:
        """List the deltas that make up a version.

        Args:
            version: The version; the last one if None.

        Returns:
            Version and delta, oldest first.
        """
        return list_deltas_in_effect(self.deltas, version)

    def method_version(self, version: int | None = None) -> int | None:
        """Find the version at which the method last ran.

        Args:
            version: The version to look back from; the last one if None.

        Returns:
            The version, or None if the method has not run yet.
        """
        return self.store.find_method_state(version).version

    def load_method(self, version: int | None = None) -> Method:
        """Load the method as a version left it.

        Args:
            version: The version; the last one if None.

        Returns:
            The method.

        Raises:
            StateError: The method has stored nothing yet.
            StateDamagedError: What it has stored is damaged.
        """
        method = create_method(self.config)
        arrays, changes = self.store.load_method(version)
        try:
            if isinstance(method, IncrementalMethod):
                method.load(arrays, changes)
            else:
                method.load(arrays)
        except (KeyError, IndexError, ValueError, TypeError, OverflowError) as error:
            # Checksums are right, and yet this is not what the method has saved.
            raise StateDamagedError(
                f"what the method has stored in {self.path} cannot be loaded: {error}"
            ) from error
        return method

    @cached_property
    def last_method(self) -> Method | None:
        """The method as the last version left it, before an update; None before the first."""
        return None if self.method_version() is None else self.load_method()

    @property
    def facts(self) -> FactIndex:
        """The facts of the last version, for those who ask for few of them."""
        if self._facts is None:
            method = self.last_method
            if isinstance(method, IncrementalMethod):
                self._facts = MethodFacts(self, method)
            else:
                self._facts = SnapshotFacts(self.snapshot)
        return self._facts

    def list_iri_names(self, index: int, entities: IntArray) -> IntArray:
        """List the literals that were taken from the IRIs of entities of the last version.

        Args:
            index: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            Rows of (entity, attribute, literal) that the method keeps.
        """
        if not isinstance(self.facts, MethodFacts):
            return NO_TRIPLES
        return self.facts.list_iri_names(index, entities)

    @cached_property
    def snapshot(self) -> GraphSnapshot:
        """The facts and decisions of the last version."""
        return self.read_snapshot()

    def read_snapshot(self, version: int | None = None) -> GraphSnapshot:
        """Build the facts and decisions of a version from its deltas.

        Args:
            version: The version; the last one if None.

        Returns:
            The snapshot.
        """
        number = self.store.last_version() if version is None else version
        # Many commands need the facts and never look at a decision.
        decisions = LazyDecisions(partial(self.store.read_decisions, number))
        return GraphSnapshot(decisions=decisions).with_deltas(
            delta for _, delta in self.deltas_in_effect(version)
        )

    def waiting_decisions(self, upto: int | None = None) -> list[RecordedDecision]:
        """Read the decisions that no version has taken up yet.

        Args:
            upto: The number of the last one to read; None for all.

        Returns:
            The decisions, oldest first.
        """
        return self.store.inbox.read_range(self.store.inbox_upto(), upto)

    def coming_decisions(self) -> list[GivenDecision]:
        """List the decisions that the pending delta takes up.

        Returns:
            Those of the inbox, then those that came with the delta.
        """
        assert self.pending is not None, "a delta is journalled before it is applied"
        waiting = self.store.inbox.read_range(self.store.inbox_upto(), self.pending.inbox_upto)
        return [*map(convert_recorded, waiting), *list_given_decisions(self.pending.arrays)]

    @cached_property
    def next_snapshot(self) -> GraphSnapshot:
        """The facts and decisions once the pending delta is applied; the last without one."""
        if self.pending is None:
            return self.snapshot
        target = find_revert_target(self.pending)
        if target is not None:
            # Nothing of the last version remains: the snapshot is that of the target.
            return self.read_snapshot(target)
        snapshot = self.snapshot.with_deltas([self.pending])
        return replace(snapshot, decisions=LazyDecisions(self._fold_decisions))

    def _fold_decisions(self) -> Decisions:
        decisions, coming = self.snapshot.decisions, self.coming_decisions()
        return fold_decisions(decisions, coming, self.config.cardinality)

    def journal_delta(self, delta: Delta, vocabularies: Vocabularies | None = None) -> None:
        """Write down a delta, so that it is not lost whatever happens to its update.

        Args:
            delta: What the next version is to apply.
            vocabularies: The names that it was encoded with, if not those of this session.
        """
        self.store.journal_delta(delta)
        self._pending = delta
        if vocabularies is not None:
            self._vocabularies = dict(zip(SIDES, vocabularies, strict=True))

    def commit_version(
        self,
        method: MethodOutput,
        events: Sequence[LedgerEvent],
        info: Mapping[str, Json],
        decisions: DecisionChanges,
    ) -> None:
        """Add the version that applies the pending delta.

        Args:
            method: What the method stores.
            events: The link events of the version.
            info: Facts for its report.
            decisions: How the decisions in force change.
        """
        assert self.pending is not None, "a delta is journalled before it is applied"
        self.store.commit_version(method, events, info, decisions)
        self._pending = self._facts = None
        # Whatever was read of the last version is out of date.
        for name in ("deltas", "snapshot", "next_snapshot", "last_method"):
            self.__dict__.pop(name, None)

    def check_started(self) -> None:
        """Check that the alignment has a first version.

        Raises:
            StateError: It was interrupted before.
        """
        if self.store.last_version() is None:
            raise StateError(f"{self.path} was interrupted before it began: run `init` again")


def verify_alignment(path: str | Path, progress: Progress = no_progress) -> list[Finding]:
    """Verify a state directory and what the method has stored in it.

    Args:
        path: The state directory.
        progress: Called at each step.

    Returns:
        What is wrong.

    Raises:
        StateError: It is not a state directory.
    """
    findings = verify_state(path, progress)
    # Arrays of damaged files have been found already.
    if any(finding.remedy is Remedy.DROP_METHOD for finding in findings):
        return findings
    try:
        with AlignmentSession.open(path) as session:
            state = session.store.find_method_state()
            try:
                if state.base is not None:
                    progress("checking the method", 0, 1)
                    session.load_method()
            except StateDamagedError as error:
                findings.append(Finding("method", str(error), Remedy.DROP_METHOD, state.base))
    except StateDamagedError:
        # The database cannot be read, as is among the findings.
        assert findings, "verification reads all that others read"
    return findings


def convert_recorded(recorded: RecordedDecision) -> GivenDecision:
    """Convert a decision of the inbox to one that takes effect.

    Args:
        recorded: A decision of the inbox.

    Returns:
        Its pair, kind and number.
    """
    return GivenDecision(recorded.pair, recorded.kind, recorded.number)


def list_name_indexes(vocabulary: Vocabulary) -> list[tuple[NameKind, NameIndex]]:
    """List the names of each kind.

    Args:
        vocabulary: The names of one graph.

    Returns:
        Kind and names, in the order of `NAME_KINDS`.
    """
    indexes = (
        vocabulary.entities,
        vocabulary.relations,
        vocabulary.attributes,
        vocabulary.literals,
    )
    return list(zip(NAME_KINDS, indexes, strict=True))


@dataclass(frozen=True)
class MethodFacts:
    """The facts of the last version, found by the method without reading all of them.

    Args:
        session: The open alignment.
        method: The method as the last version left it.
    """

    session: AlignmentSession
    method: IncrementalMethod

    def mark_known(self, side: int, kind: str, rows: IntArray) -> NDArray[np.bool_]:
        """Mark the rows that a graph has.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            rows: Rows of three ids.

        Returns:
            A mask over the rows.
        """
        is_literal = kind == "literals"
        if is_literal and not self._keeps_literals(side):
            return SnapshotFacts(self.session.snapshot).mark_known(side, kind, rows)
        return self.method.has_facts(side, rows, literals=is_literal)

    def list_facts(self, side: int, kind: str, entities: Sequence[int]) -> IntArray:
        """List the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            kind: "triples" or "literals".
            entities: Ids of entities.

        Returns:
            All rows that have one of them as head or tail, each once.
        """
        if kind == "literals" and not self._keeps_literals(side):
            return SnapshotFacts(self.session.snapshot).list_facts(side, kind, entities)
        triples, literals = self.method.list_facts(side, np.array(entities, dtype=np.int32))
        return triples if kind == "triples" else literals[~self._is_iri_name(side, literals)]

    def list_all_facts(self, side: int, entities: Sequence[int]) -> tuple[IntArray, IntArray]:
        """List the facts of entities, of both kinds.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            What `list_facts` lists of triples and of literals.
        """
        if not self._keeps_literals(side):
            literals = self.list_facts(side, "literals", entities)
            return self.list_facts(side, "triples", entities), literals
        triples, literals = self.method.list_facts(side, np.array(entities, dtype=np.int32))
        return triples, literals[~self._is_iri_name(side, literals)]

    def count_facts(self, side: int, entities: IntArray, limit: int) -> NDArray[np.int64]:
        """Count the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids, ascending and distinct.
            limit: Numbers above it need not be exact.

        Returns:
            How often each is head or tail of a fact.
        """
        counts = self.method.count_facts(side, entities)
        few = np.flatnonzero(counts <= limit + 1)
        if not self._keeps_literals(side):
            literals = self.list_facts(side, "literals", entities[few].tolist())
            counts[few] += count_occurrences(literals, "literals", entities[few])
        names = self.list_iri_names(side, entities[few])
        counts[few] -= count_occurrences(names, "literals", entities[few])
        return counts

    def list_iri_names(self, side: int, entities: IntArray) -> IntArray:
        """List the literals that were taken from the IRIs of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            Rows of (entity, attribute, literal).
        """
        _, literals = self.method.list_facts(side, entities)
        return literals[self._is_iri_name(side, literals)]

    def _keeps_literals(self, side: int) -> bool:
        # Where there are none, nobody has to look.
        return self.method.keeps_literals() or not self.session.count_names(SIDES[side], "literal")

    def _is_iri_name(self, side: int, literals: IntArray) -> NDArray[np.bool_]:
        # No fact of the graph: it is there as long as the entity is.
        attribute = self.session.vocabulary(SIDES[side]).attributes.find(IRI_NAME_ATTRIBUTE)
        return np.asarray(literals[:, 1] == (-1 if attribute is None else attribute))


class _KeptArrays(Mapping[str, NDArray[Any]]):
    """The arrays of a delta; each is read from its file when first needed, and kept."""

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._arrays = arrays
        self._keys = dict.fromkeys(arrays)
        self._kept: dict[str, NDArray[Any]] = {}

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._kept:
            self._kept[name] = self._arrays[name]
        return self._kept[name]

    def __contains__(self, name: object) -> bool:
        # By default, a mapping would read the array to find out.
        return name in self._keys

    def __iter__(self) -> Iterator[str]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def _keep_arrays(delta: Delta) -> Delta:
    # The store reads a file at each access, and one command needs some arrays several times.
    return replace(delta, arrays=_KeptArrays(delta.arrays))
