"""What a method is given, what it has to do, and how it explains itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress
from everalign.cardinality import Cardinality
from everalign.causes import RetractionCause
from everalign.graph import AttributeTriples, Graph, IntArray
from everalign.matching import NO_PAIRS, CandidatePairs

StateArrays: TypeAlias = Mapping[str, NDArray[Any]]
NO_ENTITIES: IntArray = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class GraphChange:
    """The facts that a graph has gained and lost since the method last ran.

    Args:
        added: Rows of (head, relation, tail) that it did not have.
        removed: Rows that it had.
        added_literals: Rows of (entity, attribute, literal) that it did not have.
        removed_literals: Rows that it had.
        literal_texts: The literals of `added_literals` as N-Triples writes them, by id.
    """

    added: IntArray
    removed: IntArray
    added_literals: IntArray
    removed_literals: IntArray
    literal_texts: Mapping[int, str]


@dataclass(frozen=True)
class DecisionChange:
    """Pairs and entities whose trusted links or decisions may have changed, as they are now.

    Args:
        trusted: Pairs that are trusted, as rows of (left, right).
        untrusted: Pairs that are not, and may have been.
        rejected: Pairs that are rejected.
        admitted: Pairs that are not, and may have been.
        unaligned: Left and right entities that are not to be linked.
        alignable: Left and right entities of which that is not so, and may have been.
    """

    trusted: IntArray
    untrusted: IntArray
    rejected: IntArray
    admitted: IntArray
    unaligned: tuple[IntArray, IntArray]
    alignable: tuple[IntArray, IntArray]


@dataclass(frozen=True)
class AlignmentTask:
    """Everything that a method may look at: ids, no names of entities.

    Args:
        left: The left graph as it is now.
        right: The right graph as it is now.
        seeds: Trusted links to train on, as rows of (left, right).
        validation: Trusted links for validation (not used for training).
        known_left_count: Left entities with an id from here on are new since the method last
            ran; 0 at the first version.
        known_right_count: The same for right entities.
        previous_links: The found links in force, with their scores.
        rescore_all: Whether an update is to look at everything again, not only at changes.
        left_attributes: The statements of the left graph with literals.
        right_attributes: The statements of the right graph with literals.
        changed_entities: Ids of left and right entities whose facts or trusted links have changed
            since the method last ran; None if that is not known.
        removed_entities: Ids of left and right entities without any fact; no candidate pair may
            have them.
        removed_triple_count: How many triples were removed since the method last ran.
        removed_link_count: How many links that were trusted or found then no longer hold because
            of decisions.
        rejected: Pairs that people have rejected, as rows of (left, right). None of them may be a
            candidate, or keep its entities from other pairs.
        unaligned_entities: Ids of left and right entities that are not to be linked: classes,
            properties and others out of scope, and those that have no counterpart, as people have
            decided. No candidate pair may have them.
        changes: What the left and the right graph have gained and lost since the method last ran;
            None if that is not known.
        decision_changes: Which trusted links and decisions have changed since then; None if that
            is not known.
        cardinality: How many links an entity may have. Methods that are not registered with
            `any_cardinality` are only ever given one-to-one.
    """

    left: Graph
    right: Graph
    seeds: IntArray
    validation: IntArray
    known_left_count: int = 0
    known_right_count: int = 0
    previous_links: CandidatePairs = field(default_factory=CandidatePairs.empty)
    rescore_all: bool = False
    left_attributes: AttributeTriples = field(default_factory=AttributeTriples.empty)
    right_attributes: AttributeTriples = field(default_factory=AttributeTriples.empty)
    changed_entities: tuple[IntArray, IntArray] | None = None
    removed_entities: tuple[IntArray, IntArray] = (NO_ENTITIES, NO_ENTITIES)
    removed_triple_count: int = 0
    removed_link_count: int = 0
    rejected: IntArray = field(default_factory=lambda: NO_PAIRS)
    unaligned_entities: tuple[IntArray, IntArray] = (NO_ENTITIES, NO_ENTITIES)
    changes: tuple[GraphChange, GraphChange] | None = None
    decision_changes: DecisionChange | None = None
    cardinality: Cardinality = Cardinality.ONE_TO_ONE

    @property
    def excluded_entities(self) -> tuple[IntArray, IntArray]:
        """Ids of left and right entities that no candidate pair may have."""
        left, right = (
            np.concatenate([self.removed_entities[side], self.unaligned_entities[side]])
            for side in range(2)
        )
        return left, right

    def unlinked_entities(self) -> tuple[IntArray, IntArray]:
        """List the entities that exist and may have a link besides the trusted ones.

        Returns:
            Ids of left and of right entities, ascending: those without a trusted link, and with
            one if the cardinality allows more.
        """
        # Validation links count: they are trusted, although nothing is trained on them.
        trusted = np.concatenate([self.seeds, self.validation])
        counts = self.left.entity_count, self.right.entity_count
        left, right = (
            _list_other_ids(
                counts[side],
                np.concatenate(
                    [trusted[:, side] if is_unique else NO_ENTITIES, self.excluded_entities[side]]
                ),
            )
            for side, is_unique in enumerate(self.cardinality.unique_sides)
        )
        return left, right


class Method(Protocol):
    """A way to find links. It is created from its settings and a random seed.

    A new process calls `fit`, or `load` and then `update`; after either `candidates` and `save`.
    """

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Learn from the graphs and trusted links.

        Args:
            task: The graphs and links.
            progress: To be called now and then.
        """
        ...

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Learn from what has changed, starting from what was learned before.

        Args:
            task: The graphs and links as they are now, and what has changed.
            progress: To be called now and then.
        """
        ...

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Find candidate pairs of unlinked entities.

        Args:
            task: The same task as in the last `fit` or `update`.
            progress: To be called now and then.

        Returns:
            Pairs that satisfy the cardinality of the task: at most one per entity, unless it
            allows more. Pairs below the threshold become proposals.
        """
        ...

    def save(self) -> StateArrays:
        """Return what was learned.

        Returns:
            Arrays by name; everything that `load` needs in another process.
        """
        ...

    def load(self, arrays: StateArrays) -> None:
        """Restore what was learned.

        Args:
            arrays: What `save` returned.
        """
        ...


@dataclass(frozen=True)
class CandidateChanges:
    """What an update has changed for some entities.

    Args:
        left: Ids of the left entities whose pairs may have changed, ascending.
        right: Ids of the right entities, ascending.
        pairs: All candidate pairs with one of these entities.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    pairs: CandidatePairs


# Checked at run time: what such a method stores after an update follows the size of the change.
@runtime_checkable
class IncrementalMethod(Protocol):
    """A method whose updates cost as much as what they change."""

    def load(self, arrays: StateArrays, changes: Sequence[StateArrays] = ()) -> None:
        """Restore what was learned.

        Args:
            arrays: What `save` returned.
            changes: What `save_changes` returned after each update since, oldest first.
        """
        ...

    def save(self) -> StateArrays:
        """Return what was learned.

        Returns:
            Arrays by name; everything that `load` needs in another process.
        """
        ...

    def save_changes(self) -> StateArrays | None:
        """Return what the last update has changed.

        Returns:
            Arrays by name; None if everything may have changed, so that `save` is needed.
        """
        ...

    def merge_changes(self, changes: Sequence[StateArrays]) -> StateArrays:
        """Merge the changes of consecutive updates.

        Args:
            changes: What `save_changes` returned for each, oldest first.

        Returns:
            Arrays with the same effect as all of them.
        """
        ...

    def candidate_changes(self) -> CandidateChanges | None:
        """Tell which candidate pairs the last update has changed.

        Returns:
            The changes; None if any pair may have changed.
        """
        ...

    def keeps_literals(self) -> bool:
        """Tell whether it keeps literals.

        Returns:
            False if it knows nothing of the literals of the graphs.
        """
        ...

    def has_facts(self, side: int, rows: IntArray, *, literals: bool) -> NDArray[np.bool_]:
        """Tell which facts a graph has.

        Args:
            side: 0 for the left graph, 1 for the right.
            rows: Rows of (head, relation, tail) or of (entity, attribute, literal).
            literals: Whether they are the latter.

        Returns:
            A mask over the rows.
        """
        ...

    def count_facts(self, side: int, entities: IntArray) -> NDArray[np.int64]:
        """Count the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Entities of this graph.

        Returns:
            How often each is head or tail of a triple or has a literal; 0 for unknown ones.
        """
        ...

    def list_facts(self, side: int, entities: IntArray) -> tuple[IntArray, IntArray]:
        """List the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Entities of this graph.

        Returns:
            Rows of (head, relation, tail) that have one of them as head or tail, and rows of
            (entity, attribute, literal); each once.
        """
        ...


@dataclass(frozen=True)
class EvidencePiece:
    """Two matched neighbours that count as evidence for a pair.

    Args:
        left_relation: Id of the relation between the left entity and its neighbour.
        left_inverse: Whether the relation leads from the neighbour to the entity.
        left_neighbour: Id of the left neighbour.
        right_relation: Id of the relation between the right entity and its neighbour.
        right_inverse: Whether the relation leads from the neighbour to the entity.
        right_neighbour: Id of the right neighbour.
        confidence: How sure it is that the neighbours match.
        weight: What the piece adds to the support of the pair.
        literal: The neighbours are literals and the relations attributes, with ids of
            `left_attributes` and `right_attributes` of the task.
    """

    left_relation: int
    left_inverse: bool
    left_neighbour: int
    right_relation: int
    right_inverse: bool
    right_neighbour: int
    confidence: float
    weight: float
    literal: bool = False


@dataclass(frozen=True)
class CandidateEvidence:
    """A candidate pair and the evidence for it.

    Args:
        left: Id of the left entity.
        right: Id of the right entity.
        confidence: The score of the pair.
        support: Sum of the weights of all evidence, also of pieces too light to be listed.
        pieces: The evidence, heaviest first; perhaps described only as it is read.
        contributions: What adds up to the confidence, by name and in order; empty if the method
            cannot tell.
    """

    left: int
    right: int
    confidence: float
    support: float
    pieces: Sequence[EvidencePiece]
    contributions: Sequence[tuple[str, float]] = ()


@dataclass(frozen=True)
class RelationMatch:
    """How far a left and a right relation mean the same.

    Args:
        left: Id of the left relation.
        right: Id of the right relation.
        inverse: Whether the right relation is read from tail to head.
        left_in_right: Estimated share of the left relation's triples that the right one has too.
        right_in_left: The same the other way round.
        support: Number of triples that the estimate rests on.
        attributes: The two are attributes, with ids of the attributes of the task.
    """

    left: int
    right: int
    inverse: bool
    left_in_right: float
    right_in_left: float
    support: float
    attributes: bool = False


# Checked at run time: whether a method can explain its links decides what a command may do.
@runtime_checkable
class ExplainableMethod(Protocol):
    """A method that can explain its links, after `fit` or `load`."""

    def explain(
        self, task: AlignmentTask, left: int | None, right: int | None
    ) -> list[CandidateEvidence]:
        """List the candidate pairs of a left or a right entity.

        Args:
            task: The graphs and links as they are now.
            left: Id of a left entity, or None.
            right: Id of a right entity, or None; exactly one of the two is given.

        Returns:
            Candidate pairs, best first.
        """
        ...

    def relations(self, task: AlignmentTask) -> list[RelationMatch]:
        """List the relations that correspond.

        Args:
            task: The graphs and links as they are now.

        Returns:
            Pairs of relations, best first.
        """
        ...


@dataclass(frozen=True)
class ContradictedPair:
    """A trusted link that contradicts its neighbourhood.

    Args:
        left: Id of the left entity.
        right: Id of the right entity.
        probability: How probably it is right.
        support: Sum of the weights of the evidence for it.
        rival: Ids of the best other pair of one of the two entities; None if there is none.
        rival_support: The same sum for that pair.
    """

    left: int
    right: int
    probability: float
    support: float
    rival: tuple[int, int] | None
    rival_support: float


# Checked at run time, as above.
@runtime_checkable
class CheckingMethod(Protocol):
    """A method that finds out which trusted links are probably wrong, after `fit` or `load`."""

    def count_contradicted(self) -> int:
        """Count the trusted links that are more likely wrong than right.

        Returns:
            Their number.
        """
        ...

    def list_contradicted(
        self, max_count: int | None = None, left: int | None = None, right: int | None = None
    ) -> list[ContradictedPair]:
        """List the trusted links that are more likely wrong than right.

        Args:
            max_count: How many at most; None for all.
            left: Only those of this left entity.
            right: Only those of this right entity.

        Returns:
            These links, the least probable first.
        """
        ...


# Checked at run time: of other methods it is only known which rival took the place of a link.
@runtime_checkable
class RetractionExplainer(Protocol):
    """A method that can tell why a link is none any more, after `fit` or `update`."""

    def find_retraction_cause(self, left: int, right: int) -> RetractionCause:
        """Find out why the last `fit` or `update` ended a link.

        Args:
            left: Left entity.
            right: Right entity.

        Returns:
            The cause; `RetractionCause.UNKNOWN` if the method cannot tell.
        """
        ...


class CandidateScores(NamedTuple):
    """The candidate pairs that a method considers, with all competitors of each.

    Attributes:
        left: Left entity of each.
        right: Right entity of each.
        confidence: Its confidence.
    """

    left: NDArray[np.int64]
    right: NDArray[np.int64]
    confidence: NDArray[np.float32]


# Checked at run time: of other methods only links and proposals are known.
@runtime_checkable
class ScoringMethod(Protocol):
    """A method that keeps the scores of all its candidates, after `fit` or `load`."""

    def candidate_scores(self) -> CandidateScores:
        """List all candidates, whether they are selected or not.

        Returns:
            The candidates, sorted by left and then by right id.
        """
        ...


def _list_other_ids(count: int, excluded: IntArray) -> IntArray:
    keep = np.ones(count, dtype=bool)
    keep[excluded] = False
    return np.flatnonzero(keep).astype(np.int32)
