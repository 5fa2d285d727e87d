"""What an update brings, and its encoding as a delta: names become ids, nothing is written.

So a mistake in a file changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path

import numpy as np

from everalign._progress import Progress, no_progress
from everalign.cardinality import Cardinality
from everalign.errors import InputError, SeedError
from everalign.graph import (
    EntitySource,
    IntArray,
    LinkSource,
    TripleSource,
    Vocabulary,
    check_readable,
    check_sides,
    encode_entities,
    encode_links,
    encode_pairs,
    encode_statements,
    select_new_rows,
)
from everalign.graph.iri_names import encode_iri_names
from everalign.io import LinkReader, Table, TripleReader
from everalign.session import Vocabularies, list_name_indexes
from everalign.state import Delta, NameKind, Side, compute_digest
from everalign.state.decisions import (
    GIVEN_KINDS,
    NO_ENTITY,
    TRUSTED_KINDS,
    DecisionKind,
    Decisions,
)
from everalign.state.deltas import IRI_NAME_ARRAYS
from everalign.state.facts import FactIndex, SnapshotFacts
from everalign.state.ledger import Pair
from everalign.state.snapshots import (
    FACT_KINDS,
    REVERT_ARRAY,
    SIDES,
    GraphSnapshot,
    get_added_array_name,
    get_removed_array_name,
)

Arrays = dict[str, IntArray]
NameCounts = dict[NameKind, int]
PairCheck = Callable[[Pair], bool]

# What a delta can decide about a pair, besides the end of an earlier decision.
TAKEN_KINDS = (*TRUSTED_KINDS, DecisionKind.REJECTED)

NO_FACTS = np.empty((0, 3), dtype=np.int32)
NO_LINKS = np.empty((0, 2), dtype=np.int32)
# Every delta has these arrays, also if they are empty.
ADDED_TRIPLES = tuple(get_added_array_name(side, "triples") for side in SIDES)


@dataclass(frozen=True)
class ChangeSet:
    """Everything that one update can bring. Removals are applied before additions.

    Args:
        added_left: Triples and literals that the left graph gains, or an RDF Patch that may also
            remove some.
        added_right: The same for the right graph.
        removed_left: Triples and literals that the left graph loses. An RDF Patch must not add.
        removed_right: The same for the right graph.
        complete_left: The left graph as it is now, complete: it gains what is new in it and loses
            what is missing from it. No RDF Patch.
        complete_right: The same for the right graph.
        removed_left_entities: Left entities that are removed with all their facts.
        removed_right_entities: Right entities that are removed with all their facts.
        seeds: Trusted links to learn from.
        validation: Trusted links for validation (not used for training).
        withdrawn: Pairs whose earlier decision (seed, confirmed, rejected) no longer holds.
        confirmed: Links that are right.
        rejected: Links that are wrong.

    Example:
        >>> ChangeSet(added_left=[("Oslo", "in", "Norway")]).is_empty
        False
    """

    added_left: TripleSource | None = None
    added_right: TripleSource | None = None
    removed_left: TripleSource | None = None
    removed_right: TripleSource | None = None
    removed_left_entities: EntitySource | None = None
    removed_right_entities: EntitySource | None = None
    seeds: LinkSource | None = None
    validation: LinkSource | None = None
    withdrawn: LinkSource | None = None
    confirmed: LinkSource | None = None
    rejected: LinkSource | None = None
    complete_left: TripleSource | None = None
    complete_right: TripleSource | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing is given."""
        return all(getattr(self, entry.name) is None for entry in fields(self))

    def check_readable(self) -> None:
        """Read the beginning of every file of triples.

        Raises:
            InputError: A file does not exist or is not in a known format.
        """
        check_readable(self.added_left, self.added_right, self.removed_left, self.removed_right)
        check_readable(self.complete_left, self.complete_right)

    def describe_sources(self) -> list[str]:
        """Name where the changes come from.

        Returns:
            File names, and "memory" or the kind of decision for what is no file.
        """
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        return [_describe(name, source) for name, source in given.items() if source is not None]


@dataclass(frozen=True)
class StateBefore:
    """What an update finds.

    Args:
        facts: The facts of both graphs.
        decisions: The last decision about each pair, with those that are waiting.
        was_decided: Whether there ever was a decision about a pair, also if withdrawn.
        cardinality: Which trusted links contradict each other.
    """

    facts: FactIndex = field(default_factory=lambda: SnapshotFacts(GraphSnapshot()))
    decisions: Decisions = field(default_factory=dict)
    was_decided: PairCheck = lambda _: False
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    def list_trusted_pairs(self) -> IntArray:
        """List the pairs that people have given or confirmed.

        Returns:
            Rows of (left, right).
        """
        return _build_pair_array(
            pair for pair, kind in self.decisions.items() if kind in TRUSTED_KINDS
        )


# What the columns of the rows of each kind of facts are.
FACT_COLUMNS: Mapping[str, tuple[NameKind, NameKind, NameKind]] = {
    "triples": ("entity", "relation", "entity"),
    "literals": ("entity", "attribute", "literal"),
}


def encode_change_set(
    change: ChangeSet,
    vocabularies: Vocabularies,
    before: StateBefore,
    progress: Progress = no_progress,
    *,
    rescore_all: bool = False,
    inbox_upto: int = 0,
    names_from_iris: bool = False,
) -> Delta:
    """Encode changes as rows of ids, reduced to what differs from what is known.

    Args:
        change: What comes in.
        vocabularies: The names of both graphs; new names are added to them.
        before: Facts and decisions before the update.
        progress: Called while files are read.
        rescore_all: Whether the method is to look at everything again.
        inbox_upto: The number of the last decision in the inbox that the update takes up.
        names_from_iris: Whether the readable parts of the IRIs of new entities become literals.

    Returns:
        A delta with the rows that change something and all new names. Its digest is that of
        everything given.

    Raises:
        InputError: A file, or a line in it, is not as expected.
        SeedError: Decisions contradict the graphs or each other.
    """
    # Counted before anything is encoded: names behind these counts are new.
    known: list[NameCounts] = [
        {kind: len(names) for kind, names in list_name_indexes(v)} for v in vocabularies
    ]
    entity_counts = known[0]["entity"], known[1]["entity"]
    given, unknown_count, prefixes = _encode_facts(
        change, vocabularies, before.facts, entity_counts, progress
    )
    given = _sort_new_names(given, vocabularies, known)
    given |= _encode_decisions(change, vocabularies, before)
    iri_names = _encode_iri_names(vocabularies, known) if names_from_iris else {}
    return Delta(
        # Of all that is given and not of its effect: an `init` that is run again recognises its
        # input.
        digest=compute_digest(given),
        source=_describe_change(change, rescore_all=rescore_all),
        arrays=_reduce_to_effect(given, before) | iri_names,
        new_names={
            (side, kind): names.list_names_after(counts[kind])
            for side, counts, vocabulary in zip(SIDES, known, vocabularies, strict=True)
            for kind, names in list_name_indexes(vocabulary)
        },
        counts={
            "added_literals": sum(
                len(given.get(get_added_array_name(s, "literals"), ())) for s in SIDES
            ),
            "missing_removals": unknown_count + _count_missing_removals(given, before.facts),
        },
        rescore_all=rescore_all,
        inbox_upto=inbox_upto,
        prefixes=prefixes,
    )


def encode_revert(version: int, inbox_upto: int) -> Delta:
    """Encode the return to an earlier version.

    Args:
        version: The version to revert to.
        inbox_upto: The number of the last decision in the inbox that was taken up. Those that
            are waiting go on waiting.

    Returns:
        A delta that undoes all deltas after the version.
    """
    target = {REVERT_ARRAY: np.array([[version]], dtype=np.int32)}
    arrays = dict.fromkeys(ADDED_TRIPLES, NO_FACTS) | target
    return Delta(
        compute_digest(target),
        f"revert to version {version}",
        arrays,
        runs_method=False,
        inbox_upto=inbox_upto,
    )


def _encode_facts(
    change: ChangeSet,
    vocabularies: Vocabularies,
    facts: FactIndex,
    entity_counts: tuple[int, int],
    progress: Progress,
) -> tuple[Arrays, int, dict[Side, Mapping[str, str]]]:
    """Encode added and removed facts, count removals of names never seen, collect prefixes."""
    sources = change.added_left, change.added_right
    removed_sources = change.removed_left, change.removed_right
    complete_sources = change.complete_left, change.complete_right
    entity_sources = change.removed_left_entities, change.removed_right_entities
    arrays: Arrays = {}
    unknown_count = 0
    prefixes: dict[Side, Mapping[str, str]] = {}
    for index, side in enumerate(SIDES):
        vocabulary = vocabularies[index]
        # Removals first: they can only name what the graph has had, not what the same update adds.
        removed = encode_statements(removed_sources[index], vocabulary, progress, removing=True)
        added = encode_statements(sources[index], vocabulary, progress)
        complete = encode_statements(complete_sources[index], vocabulary, progress)
        if len(complete.removed_triples) + len(complete.removed_literals):
            raise InputError("a patch is not a complete graph: give it as what is gained")
        entities: Sequence[int] = encode_entities(entity_sources[index], side, vocabulary)
        if complete_sources[index] is not None:
            # Everything is removed, and what the complete graph has is added again.
            entities = range(entity_counts[index])
        entity_triples, entity_literals = (
            facts.list_facts(index, kind, entities) if entities else NO_FACTS
            for kind in FACT_KINDS
        )
        arrays |= {
            get_added_array_name(side, "triples"): _join_rows([added.triples, complete.triples]),
            get_added_array_name(side, "literals"): _join_rows(
                [added.literals, complete.literals]
            ),
            # A patch among the added files may remove as well.
            get_removed_array_name(side, "triples"): _join_rows(
                [added.removed_triples, removed.removed_triples, entity_triples]
            ),
            get_removed_array_name(side, "literals"): _join_rows(
                [added.removed_literals, removed.removed_literals, entity_literals]
            ),
        }
        unknown_count += added.unknown_count + removed.unknown_count
        if declared := {**complete.prefixes, **added.prefixes}:
            prefixes[side] = declared
    left, right = ADDED_TRIPLES
    given = tuple(a if c is None else c for a, c in zip(sources, complete_sources, strict=True))
    check_sides((given[0], given[1]), (arrays[left], arrays[right]), vocabularies, entity_counts)
    return _drop_empty(arrays), unknown_count, prefixes


def _join_rows(parts: Sequence[IntArray]) -> IntArray:
    """Join arrays; a large one is not copied if the others are empty."""
    used = [rows for rows in parts if len(rows)]
    return used[0] if len(used) == 1 else np.concatenate([NO_FACTS, *used])


def _sort_new_names(
    facts: Arrays, vocabularies: Vocabularies, known: Sequence[NameCounts]
) -> Arrays:
    """Number what is new in sorted order, so that the order of a file does not change the links.

    Ties are broken by ids, and sums are rounded in the order of ids.
    """
    renumbered = dict(facts)
    for side, vocabulary, counts in zip(SIDES, vocabularies, known, strict=True):
        new_ids = {
            kind: names.sort_names_after(counts[kind])
            for kind, names in list_name_indexes(vocabulary)
        }
        for kind, columns in FACT_COLUMNS.items():
            for array in (get_added_array_name(side, kind), get_removed_array_name(side, kind)):
                if array in facts:
                    renumbered[array] = _renumber_rows(
                        facts[array],
                        [(counts[name_kind], new_ids[name_kind]) for name_kind in columns],
                    )
    return renumbered


def _renumber_rows(rows: IntArray, columns: Sequence[tuple[int, IntArray]]) -> IntArray:
    """Give rows the new ids of names; each column has a number of names that keep their ids."""
    renumbered = np.empty_like(rows)
    for column, (known_count, new_ids) in enumerate(columns):
        ids = rows[:, column]
        if known_count:
            is_new = ids >= known_count
            ids = ids.copy()
            ids[is_new] = new_ids[ids[is_new] - known_count]
            renumbered[:, column] = ids
        else:
            renumbered[:, column] = new_ids[ids]
    return renumbered


def _encode_iri_names(vocabularies: Vocabularies, known: Sequence[NameCounts]) -> Arrays:
    arrays = {}
    for array, vocabulary, counts in zip(IRI_NAME_ARRAYS, vocabularies, known, strict=True):
        literal_count = len(vocabulary.literals)
        rows = encode_iri_names(vocabulary, counts["entity"])
        # In sorted order like all new names: the store finds many names by it.
        new_ids = vocabulary.literals.sort_names_after(literal_count)
        is_new = rows[:, 2] >= literal_count
        rows[is_new, 2] = new_ids[rows[is_new, 2] - literal_count]
        arrays[array] = rows
    return _drop_empty(arrays)


def _encode_decisions(
    change: ChangeSet,
    vocabularies: Vocabularies,
    before: StateBefore,
) -> Arrays:
    has_seeds = change.seeds is not None or change.validation is not None
    # Only seeds are compared with all others: decisions are not read for anything else.
    trusted = before.list_trusted_pairs() if has_seeds else NO_LINKS

    def refuse_rejected(pair: Pair) -> str | None:
        if before.decisions.get(pair) is DecisionKind.REJECTED:
            return "was rejected: confirm it instead"
        alone = ((pair[0], NO_ENTITY), (NO_ENTITY, pair[1]))
        has_none = any(entity in before.decisions for entity in alone)
        return "has an entity without a counterpart: confirm it instead" if has_none else None

    def refuse_undecided(pair: Pair) -> str | None:
        # What is withdrawn already may be withdrawn again: a command can be run twice.
        return None if before.was_decided(pair) else "was neither given nor confirmed nor rejected"

    encode = partial(encode_links, left=vocabularies[0], right=vocabularies[1])
    encode = partial(encode, cardinality=before.cardinality)
    seeds = encode(change.seeds, known=trusted, refuse=refuse_rejected)
    validation = encode(change.validation, taken=seeds, known=trusted, refuse=refuse_rejected)
    # Without `known`: a confirmation may contradict earlier trusted links, and replaces them.
    confirmed = encode(change.confirmed)
    rejected = encode_pairs(change.rejected, *vocabularies)
    _check_contradiction(confirmed, rejected, vocabularies)
    withdrawn = encode_pairs(change.withdrawn, *vocabularies, refuse=refuse_undecided)
    return _drop_empty(
        {
            DecisionKind.SEED.value: seeds,
            DecisionKind.VALIDATION.value: validation,
            DecisionKind.CONFIRMED.value: confirmed,
            DecisionKind.REJECTED.value: rejected,
            DecisionKind.WITHDRAWN.value: withdrawn,
        }
    )


def _check_contradiction(
    confirmed: IntArray, rejected: IntArray, vocabularies: tuple[Vocabulary, Vocabulary]
) -> None:
    both = set(map(tuple, confirmed.tolist())) & set(map(tuple, rejected.tolist()))
    if both:
        # The smallest, so that the message is the same in every run.
        left, right = min(both)
        names = vocabularies[0].entities[left], vocabularies[1].entities[right]
        raise SeedError(f"{names[0]!r} – {names[1]!r} is both confirmed and rejected")


def _reduce_to_effect(given: Arrays, before: StateBefore) -> Arrays:
    """Keep facts that are new, removals of facts that exist, and decisions not yet in force."""
    effect = dict(given)
    for index, side in enumerate(SIDES):
        for kind in FACT_KINDS:
            added, removed = get_added_array_name(side, kind), get_removed_array_name(side, kind)
            if removed in given:
                # Removals come before additions: a fact in both is there in the end.
                rows = select_new_rows(given.get(added, NO_FACTS), given[removed])
                effect[removed] = rows[before.facts.mark_known(index, kind, rows)]
            if added in given:
                rows = select_new_rows(NO_FACTS, given[added])
                effect[added] = rows[~before.facts.mark_known(index, kind, rows)]
    for decision in TAKEN_KINDS:
        if decision.value in given:
            pairs = [(left, right) for left, right in given[decision.value].tolist()]
            effect[decision.value] = _build_pair_array(
                pair for pair in pairs if not _is_decided(before, pair, decision)
            )
    if DecisionKind.WITHDRAWN.value in given:
        effect[DecisionKind.WITHDRAWN.value] = _reduce_withdrawals(given, before)
    return _drop_empty(effect)


def _reduce_withdrawals(given: Arrays, before: StateBefore) -> IntArray:
    """Keep withdrawals of decisions that exist and are not taken again by the same delta."""
    decided_again = {
        tuple(pair) for kind in TAKEN_KINDS for pair in given.get(kind.value, NO_LINKS).tolist()
    }
    pairs = [(left, right) for left, right in given[DecisionKind.WITHDRAWN.value].tolist()]
    return _build_pair_array(
        pair for pair in pairs if pair in before.decisions and pair not in decided_again
    )


def _is_decided(before: StateBefore, pair: Pair, decision: DecisionKind) -> bool:
    current = before.decisions.get(pair)
    # To confirm a seed adds nothing.
    confirms_given = decision is DecisionKind.CONFIRMED and current in GIVEN_KINDS
    return current is decision or confirms_given


def _count_missing_removals(given: Arrays, facts: FactIndex) -> int:
    missing = 0
    for index, side in enumerate(SIDES):
        for kind in FACT_KINDS:
            rows = given.get(get_removed_array_name(side, kind), NO_FACTS)
            missing += int(np.count_nonzero(~facts.mark_known(index, kind, rows)))
    return missing


def _build_pair_array(pairs: Iterable[Pair]) -> IntArray:
    return np.array(list(pairs), dtype=np.int32).reshape(-1, 2)


def _drop_empty(arrays: Arrays) -> Arrays:
    return {name: rows for name, rows in arrays.items() if len(rows) or name in ADDED_TRIPLES}


def _describe_change(change: ChangeSet, *, rescore_all: bool) -> str:
    sources = change.describe_sources()
    if rescore_all:
        sources.append("full pass")
    elif change.is_empty:
        sources.append("earlier decisions")
    # A file name need not be valid UTF-8, what is stored must be.
    return ", ".join(dict.fromkeys(sources)).encode(errors="replace").decode()


def _describe(field_name: str, source: object) -> str:
    if isinstance(source, TripleReader):
        return source.name
    if isinstance(source, LinkReader):
        source = source.path
    if isinstance(source, Table):
        return TripleReader(source).name
    if isinstance(source, str | Path):
        return Path(source).name
    return field_name if field_name in ("confirmed", "rejected", "withdrawn") else "memory"
