"""The evidence method: fit, update, candidates, explanations, and the state between versions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from everalign._checkpoints import use_checkpoints
from everalign._progress import Progress
from everalign.causes import RetractionCause
from everalign.graph import IntArray
from everalign.literals import CachedMatches, MatchedLiterals, missing_package_note
from everalign.literals.index import LiteralIndex, NewLiterals
from everalign.matching import CandidatePairs
from everalign.methods.base import (
    AlignmentTask,
    CandidateChanges,
    CandidateEvidence,
    CandidateScores,
    ContradictedPair,
    RelationMatch,
    StateArrays,
)
from everalign.methods.evidence.adjacency import Adjacency, GraphCapacity
from everalign.methods.evidence.alignment_state import (
    AlignmentState,
    TrainingRecord,
    count_facts,
    merge_change_arrays,
)
from everalign.methods.evidence.candidate_store import Pairs
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.classifier import TrainedModels
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.contributions import list_parts
from everalign.methods.evidence.dangling import MatchState, learn_relation_rates, restore_fall
from everalign.methods.evidence.evidence_lists import list_evidence
from everalign.methods.evidence.incremental_state import (
    LEFT,
    RIGHT,
    FactChange,
    IncrementalState,
    PriorShares,
)
from everalign.methods.evidence.losses import LossCauses, explain_training
from everalign.methods.evidence.propagation import GraphPair, Vectors, propagate
from everalign.methods.evidence.relations import RelationInclusions, list_relation_matches
from everalign.methods.evidence.saved_state import SavedChanges, list_decisions
from everalign.methods.evidence.seed_check import describe_doubts
from everalign.methods.evidence.thinning import thin_facts
from everalign.methods.evidence.training import SeedSplit, run_final_rounds, train_models
from everalign.methods.evidence.updates import (
    AlignmentChange,
    LinkChanges,
    apply_change,
    change_lists,
    compare_facts,
    conclude_training,
    conclude_update,
    settle_training,
    spread_change,
)

# Said by notes, which are stored with the state.
NOT_CALIBRATED = "confidence is not calibrated"
ROUGH_ESTIMATE = "confidence is a rough estimate"


class Evidence:
    """Finds entities that are connected alike to matched entities and literals.

    After `fit` or `load`, `update` follows the changes of the graphs. A small change costs as much
    as what it affects: `save_changes` and `candidate_changes` then tell what has changed.
    """

    def __init__(
        self,
        config: EvidenceParameters,
        seed: int,
        compute_vectors: Callable[[AlignmentTask], Vectors] | None = None,
    ) -> None:
        """Create a method that is not fitted.

        Args:
            config: Settings and constants.
            seed: Random seed.
            compute_vectors: Gives unit vectors of the entities, if the classifier is to see how
                similar they are.
        """
        self.config = config
        self.seed = seed
        self._compute_vectors = compute_vectors
        self._fitted: AlignmentState | None = None
        # Of the last update, if it was a small one.
        self._changes: tuple[SavedChanges, LinkChanges] | None = None
        # What ended links at the last training or update.
        self._losses: LossCauses = {}
        # The state that the inclusions were computed from, and these.
        self._explained: tuple[AlignmentState, RelationInclusions] | None = None

    @property
    def _inclusions(self) -> RelationInclusions:
        # Computed once: many explanations are asked of one state, which a change replaces.
        if self._explained is None or self._explained[0] is not self._fitted:
            self._explained = self._state, self._state.blocks.inclusions
        return self._explained[1]

    @property
    def _state(self) -> AlignmentState:
        assert self._fitted is not None, "a method is fitted or loaded before it is asked"
        return self._fitted

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Align from nothing.

        Args:
            task: The graphs and the trusted links.
            progress: Called at each step.
        """
        self.config = replace(self.config, cardinality=task.cardinality)
        self._train(task, TrainingRecord.empty(), None, progress)

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Align after a change; the models are trained again if the change is large.

        Args:
            task: The graphs and the trusted links as they are now.
            progress: Called at each step.
        """
        state = self._state
        if state.models is None or self._brings_first_literals(task):
            # Models score the columns that they were trained on: first literals bring others.
            self._train(task, state.training, None, progress)
            return
        change = self._describe_change(task)
        growth, changed_fact_count = (
            (1.0, 0) if change is None else state.measure_growth(change.facts)
        )
        if change is None or task.rescore_all or growth > self.config.retrain_growth:
            self._train(task, state.training, self._choose_start(task, progress), progress)
            return
        before, sums_before = list_decisions(state.blocks), state.blocks.sums
        vectors = self._compute_vectors(task) if self._compute_vectors else None
        changed, literal_matches = apply_change(state.blocks, change)
        spread_change(state.blocks, state.models, changed, progress, vectors)
        progress("selecting links", 0, 0)
        links, shares, rows = conclude_update(
            state.blocks, state.models, state.shares, state.threshold
        )
        self._fitted = replace(state, shares=shares, changed_fact_count=changed_fact_count)
        self._changes = (
            SavedChanges.from_update(
                state.blocks, change, before, rows, literal_matches, sums_before
            ),
            links,
        )
        self._losses = links.losses

    def _choose_start(self, task: AlignmentTask, progress: Progress) -> MatchProbabilities | None:
        """The match probabilities that a training after the first one starts from."""
        split = SeedSplit.from_task(task, self.config, self.seed)
        # Where likely pairs are training pairs, errors among them would teach themselves again.
        if self.keeps_literals() and not split.has_sufficient:
            return None
        if task.rescore_all:
            return self._align_first_entities(task, split, progress)
        # From before the held-out links became anchors: the final ones rest on them and would give
        # them away.
        sizes = task.left.entity_count, task.right.entity_count
        return self._state.training.get_held_out(sizes).drop_pairs(task.rejected)

    def _align_first_entities(
        self, task: AlignmentTask, split: SeedSplit, progress: Progress
    ) -> MatchProbabilities | None:
        """Align the entities of the first version alone, from nothing.

        That they came first is information: nearly all of them have a counterpart, of later ones
        few. None if no entity came later, or if there is too little to train on.
        """
        first_counts = self._state.training.entity_counts[0].tolist()
        if [task.left.entity_count, task.right.entity_count] == first_counts:
            return None
        left, right = (
            graph.keep_entities(count)
            for graph, count in zip((task.left, task.right), first_counts, strict=True)
        )
        left_attributes, right_attributes = (
            replace(literals, triples=literals.triples[literals.triples[:, 0] < count])
            for literals, count in zip(
                (task.left_attributes, task.right_attributes), first_counts, strict=True
            )
        )
        early = AlignmentTask(
            left,
            right,
            task.seeds,
            task.validation,
            rescore_all=True,
            left_attributes=left_attributes,
            right_attributes=right_attributes,
            removed_entities=task.removed_entities,
            rejected=task.rejected,
            unaligned_entities=task.unaligned_entities,
            cardinality=task.cardinality,
        )
        graphs = replace(self._build_graphs(early, progress), anchors=split.anchors)
        # Checkpoints are those of the training that follows.
        with use_checkpoints(None):
            trained = train_models(
                graphs,
                split,
                None,
                self.config.classifier_rounds,
                (first_counts[LEFT], first_counts[RIGHT]),
                None,
                self.seed,
                progress,
            )
        if trained is None:
            return None
        return trained.probabilities.select_at_least(self.config.min_match_probability)

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:  # noqa: ARG002
        """Select the best pairs that satisfy the cardinality.

        Args:
            task: The graphs and the trusted links.
            progress: Not used.

        Returns:
            The pairs with their confidence; those below the threshold are proposals.
        """
        store = self._state.blocks.candidates
        pairs = store.list_all()
        pairs = Pairs(*(column[store.column("selected")[pairs.row]] for column in pairs))
        found = self._build_candidates(pairs)
        return replace(found, notes=(*found.notes, *_note_unverified(task, found.accepted())))

    def candidate_changes(self) -> CandidateChanges | None:
        """Tell which pairs the last update has changed.

        Returns:
            The entities whose pairs may have changed, and all pairs that they have now; None if
            any pair may have changed.
        """
        if self._changes is None:
            return None
        links = self._changes[1]
        return CandidateChanges(links.left, links.right, self._build_candidates(links.pairs))

    def _build_candidates(self, pairs: Pairs) -> CandidatePairs:
        confidence = self._state.blocks.candidates.column("confidence")[pairs.row]
        keep = confidence >= self.config.min_proposal_confidence
        return CandidatePairs.from_columns(
            pairs.left[keep],
            pairs.right[keep],
            confidence[keep],
            threshold=self._state.threshold,
            notes=self._state.notes,
            calibrated=not any(NOT_CALIBRATED in note for note in self._state.notes),
        )

    def save(self) -> StateArrays:
        """Return the state as arrays.

        Returns:
            Arrays by name: all that `load` needs.
        """
        return self._state.to_arrays()

    def load(self, arrays: StateArrays, changes: Sequence[StateArrays] = ()) -> None:
        """Restore the state.

        Args:
            arrays: What `save` has returned.
            changes: What `save_changes` has returned after each update since, oldest first.
        """
        self._fitted = AlignmentState.from_arrays(arrays, self.config).with_changes(changes)
        self.config = self._fitted.blocks.config
        self._changes, self._losses = None, {}

    def save_changes(self) -> StateArrays | None:
        """Return what the last update has changed.

        Returns:
            Arrays by name; None if everything has changed and `save` has to be called.
        """
        if self._changes is None:
            return None
        return self._state.changes_to_arrays(self._changes[0])

    def explain(
        self,
        task: AlignmentTask,  # noqa: ARG002 (everything is in the state)
        left: int | None,
        right: int | None,
    ) -> list[CandidateEvidence]:
        """List the candidates of an entity with the evidence for each.

        Args:
            task: Not used.
            left: Left entity, or None.
            right: Right entity, if `left` is None.

        Returns:
            The candidates and trusted links of the entity, best first.
        """
        blocks = self._state.blocks
        graphs, matches, inclusions = blocks.graphs, blocks.matches.view, self._inclusions
        ids = [np.array([] if entity is None else [entity], np.int64) for entity in (left, right)]
        found = blocks.candidates.list_touching(*ids)
        confidence = blocks.candidates.column("confidence")[found.row]
        pairs = list(
            zip(found.left.tolist(), found.right.tolist(), confidence.tolist(), strict=True)
        )
        column, entity = (0, left) if right is None else (1, right)
        anchors = blocks.anchors[blocks.anchors[:, column] == entity]
        pairs += [(left_id, right_id, 1.0) for left_id, right_id in anchors.tolist()]
        contributions = [*self._list_contributions(found), *([()] * len(anchors))]
        explained = []
        for (left_id, right_id, score), parts in zip(pairs, contributions, strict=True):
            pieces = list_evidence(graphs, matches, inclusions, left_id, right_id)
            explained.append(
                CandidateEvidence(left_id, right_id, score, pieces.support, pieces, parts)
            )
        # Ids last, so that the order is the same in every run.
        return sorted(explained, key=lambda c: (-c.confidence, -c.support, c.left, c.right))

    def _list_contributions(self, pairs: Pairs) -> list[tuple[tuple[str, float], ...]]:
        """What adds up to the confidence of each candidate."""
        # Propagation knows no groups of features.
        if self._state.models is None:
            return [()] * len(pairs.row)
        store = self._state.blocks.candidates
        probability, confidence = (
            store.column(name)[pairs.row] for name in ("probability", "confidence")
        )
        earlier = store.get_earlier_confidence(pairs.row)
        alone = restore_fall(confidence, earlier, self.config)
        calibrated = self._state.models.calibration.apply(probability)
        return list_parts(store.get_contributions(pairs.row), calibrated, alone, confidence)

    def count_contradicted(self) -> int:
        """Count the trusted links that are more likely wrong than right.

        Returns:
            Their number.
        """
        return len(self._state.blocks.list_contradicted().pairs)

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
        blocks = self._state.blocks
        doubts = blocks.list_contradicted()
        for side, entity in ((LEFT, left), (RIGHT, right)):
            if entity is not None:
                doubts = doubts.select_rows(doubts.pairs[:, side] == entity)
        if not len(doubts.pairs):
            return []
        graphs = replace(blocks.graphs, removed=blocks.excluded)
        doubts = doubts.select_rows(np.arange(len(doubts.pairs))[:max_count])
        return describe_doubts(graphs, blocks.matches.view, self._inclusions, doubts)

    def find_retraction_cause(self, left: int, right: int) -> RetractionCause:
        """Find out why the last training or update has ended a link.

        Args:
            left: Left entity.
            right: Right entity.

        Returns:
            The cause; unknown if the pair was no link, or only another pair took its place.
        """
        return self._losses.get((left, right), RetractionCause.UNKNOWN)

    def candidate_scores(self) -> CandidateScores:
        """List all candidates, whether they are selected or not.

        Returns:
            The candidates, sorted by left and then by right id.
        """
        pairs = self._state.blocks.candidates.list_all()
        confidence = self._state.blocks.candidates.column("confidence")[pairs.row]
        return CandidateScores(pairs.left, pairs.right, confidence)

    def relations(self, task: AlignmentTask) -> list[RelationMatch]:  # noqa: ARG002
        """List the relations and attributes that correspond, best first.

        Args:
            task: Not used.

        Returns:
            The pairs with their inclusion in both directions.
        """
        offsets = self._state.blocks.graphs.attribute_offsets
        return list_relation_matches(self._inclusions.left, offsets)

    def keeps_literals(self) -> bool:
        """Tell whether it keeps literals.

        Returns:
            Whether both graphs had any at the last training.
        """
        return self._state.blocks.literals is not None

    def has_facts(self, side: int, rows: IntArray, *, literals: bool) -> NDArray[np.bool_]:
        """Tell which facts a graph has.

        Args:
            side: 0 for the left graph, 1 for the right.
            rows: Rows of (head, relation, tail) or of (entity, attribute, literal).
            literals: Whether they are the latter.

        Returns:
            A mask over the rows.
        """
        graph = self._state.blocks.adjacency[side]
        return graph.has_edges(graph.number_literals(rows) if literals else rows)

    def count_facts(self, side: int, entities: IntArray) -> NDArray[np.int64]:
        """Count the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Entities of this graph.

        Returns:
            How often each is head or tail of a triple or has a literal; 0 for unknown ones.
        """
        view = self._state.blocks.adjacency[side].view
        is_known = entities < view.entity_count
        known = np.where(is_known, entities, 0)
        return np.where(is_known, view.stop[known] - view.start[known], 0)

    def list_facts(self, side: int, entities: IntArray) -> tuple[IntArray, IntArray]:
        """List the facts of entities.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Entities of this graph.

        Returns:
            Rows of (head, relation, tail) that have one of them as head or tail, and rows of
            (entity, attribute, literal); each once.
        """
        graph = self._state.blocks.adjacency[side]
        rows = graph.list_facts(entities[entities < graph.entity_count])
        is_literal = rows[:, 2] >= graph.literal_offset
        return rows[~is_literal], graph.unnumber_literals(rows[is_literal])

    def merge_changes(self, changes: Sequence[StateArrays]) -> StateArrays:
        """Merge the changes of consecutive updates.

        Args:
            changes: What `save_changes` has returned for each, oldest first.

        Returns:
            Arrays with the same effect as all of them.
        """
        return merge_change_arrays(changes)

    def _describe_change(self, task: AlignmentTask) -> AlignmentChange | None:
        """What an update brings; None if there is no room for it."""
        adjacency, has_literals = self._state.blocks.adjacency, self._state.blocks.literals
        graphs = task.left, task.right
        # All literals of the graphs are read only if nobody has told what has changed.
        changes = task.changes or (
            compare_facts(adjacency[LEFT], task.left, task.left_attributes),
            compare_facts(adjacency[RIGHT], task.right, task.right_attributes),
        )
        facts, literals = [], []
        for side, change in enumerate(changes):
            parts = [(change.added, change.removed)]
            if has_literals is not None:
                number = adjacency[side].number_literals
                parts.append((number(change.added_literals), number(change.removed_literals)))
            added, removed = map(np.concatenate, zip(*parts, strict=True))
            if not adjacency[side].has_room(added, graphs[side].entity_count):
                return None
            facts.append(FactChange(added, removed, graphs[side].entity_count))
            texts = change.literal_texts
            literals.append(NewLiterals(np.array(list(texts), np.int32), list(texts.values())))
        return AlignmentChange(
            (facts[LEFT], facts[RIGHT]),
            *change_lists(self._state.blocks, task),
            (literals[LEFT], literals[RIGHT]),
        )

    def _brings_first_literals(self, task: AlignmentTask) -> bool:
        """Whether both graphs have literals, and one of them had none when models were trained."""
        if self._state.blocks.literals is not None:
            return False
        # Nobody looks at the literals of the graphs where none has come.
        if task.changes and not any(len(change.added_literals) for change in task.changes):
            return False
        return bool(len(task.left_attributes.triples) and len(task.right_attributes.triples))

    def _build_graphs(self, task: AlignmentTask, progress: Progress) -> GraphPair:
        split = SeedSplit.from_task(task, self.config, self.seed)
        capacities = GraphCapacity.from_graph(task.left), GraphCapacity.from_graph(task.right)
        # A full pass starts from nothing: other trusted links may teach other translations.
        starts_anew = self._fitted is None or task.rescore_all
        # Held-out links must not teach how literals are translated.
        literals = MatchedLiterals.find(
            (task.left_attributes, task.right_attributes),
            (capacities[LEFT].entities, capacities[RIGHT].entities),
            self.config.literals,
            progress,
            split.anchors,
            CachedMatches.empty() if starts_anew else self._state.literal_matches,
        )
        progress("building adjacency lists", 0, 0)
        graphs = GraphPair.from_graphs(
            task.left,
            task.right,
            np.concatenate([task.seeds, task.validation]),
            self.config,
            literals,
            capacities,
        )
        return replace(
            graphs,
            removed=task.excluded_entities,
            rejected=task.rejected,
            schema_entities=task.unaligned_entities,
            self_trained=literals is not None and not split.has_sufficient,
        )

    def _train(
        self,
        task: AlignmentTask,
        last: TrainingRecord,
        start: MatchProbabilities | None,
        progress: Progress,
    ) -> None:
        vectors = self._compute_vectors(task) if self._compute_vectors else None
        graphs = replace(self._build_graphs(task, progress), vectors=vectors)
        entity_counts = np.concatenate([last.entity_counts, [graphs.sizes]])
        split = SeedSplit.from_task(task, self.config, self.seed)
        first_counts = int(entity_counts[0, LEFT]), int(entity_counts[0, RIGHT])
        training_graphs = replace(graphs, anchors=split.anchors)

        def thin_graphs(pairs: IntArray, seed: int) -> GraphPair:
            left, right = (
                thin_facts(graph, pairs[:, side], first_counts[side], np.random.default_rng(seed))
                for side, graph in enumerate((task.left, task.right))
            )
            return training_graphs.with_facts(left, right)

        trained = train_models(
            training_graphs,
            split,
            start,
            # An update starts close to the result, a full pass may not.
            self.config.classifier_rounds
            if start is None or task.rescore_all
            else self.config.retraining_rounds,
            first_counts,
            thin_graphs if (np.array(graphs.sizes) > first_counts).all() else None,
            self.seed,
            progress,
        )
        if trained is None:
            models, translations = None, None
            matches = MatchState.from_propagation(propagate(graphs, progress))
            held_out = MatchProbabilities.empty(graphs.sizes)
        else:
            learned = trained.compared.graphs
            models, translations = trained.models, learned.translations
            graphs = replace(graphs, categories=learned.categories, doubts=learned.doubts)
            matches = run_final_rounds(graphs, trained, split.held_out, progress)
            rates = learn_relation_rates(graphs, matches, entity_counts)
            models = replace(models, relation_rates=rates)
            # Nothing rests on less probable ones.
            held_out = trained.probabilities.select_at_least(self.config.min_match_probability)
            # The comparisons of all candidates: what follows needs the memory.
            del trained, learned
        progress("indexing candidates", 0, 0)
        literals = None
        if graphs.literals is not None:
            literals = LiteralIndex.build(graphs.literals, translations)
        blocks = IncrementalState.from_training(graphs, matches, literals, task.unaligned_entities)
        del matches
        if models is not None:
            settle_training(blocks, models, progress, graphs.vectors)
        record = TrainingRecord(
            entity_counts,
            (_count_all_facts(graphs.left), _count_all_facts(graphs.right)),
            np.stack([held_out.table.left, held_out.table.right], axis=1),
            held_out.probability,
        )
        progress("selecting links", 0, 0)
        before = self._state.blocks.candidates if self._fitted is not None else None
        result = conclude_training(
            blocks, models, entity_counts, graphs, before, is_full=task.rescore_all
        )
        if self._fitted is not None:
            thresholds = self._fitted.threshold, result.threshold
            self._losses = explain_training(self._fitted.blocks, blocks, thresholds)
        self._fitted = AlignmentState(
            models,
            blocks,
            PriorShares.from_entity_counts(entity_counts, result.shares),
            result.threshold,
            self._list_notes(task, models, len(result.confidence)),
            record,
            literal_matches=(
                graphs.literals.to_cache() if graphs.literals else CachedMatches.empty()
            ),
        )
        self._changes = None

    def _list_notes(
        self, task: AlignmentTask, models: TrainedModels | None, candidate_count: int
    ) -> tuple[str, ...]:
        literals = [*task.left_attributes.literals, *task.right_attributes.literals]
        note = missing_package_note(literals)
        return (*self._note_seeds(task, models, candidate_count), *([note] if note else []))

    def _note_seeds(
        self, task: AlignmentTask, models: TrainedModels | None, candidate_count: int
    ) -> tuple[str, ...]:
        split = SeedSplit.from_task(task, self.config, self.seed)
        given = f"trusted links: {split.link_count}"
        if candidate_count == 0 and split.link_count == 0:
            return ("no trusted links and no matching literals: nothing to start from",)
        if candidate_count == 0:
            return ("no two entities share a matched neighbour: nothing to start from",)
        if models is None:
            return (f"{given}, nothing to train on: {NOT_CALIBRATED}",)
        if len(split.held_out) == 0:
            return (f"{given}, little to train on: {NOT_CALIBRATED}",)
        if not split.has_sufficient:
            return (f"{given}, few to train on: {ROUGH_ESTIMATE}",)
        return ()


def _note_unverified(task: AlignmentTask, links: CandidatePairs) -> tuple[str, ...]:
    """State the mean confidence where there is no trusted link to verify it."""
    if len(task.seeds) + len(task.validation) or not len(links):
        return ()
    mean = links.score.mean()
    # The mean confidence is the expected precision, if confidence is right.
    return (f"without trusted links: {len(links)} links of a mean confidence of {mean:.2f}",)


def _count_all_facts(adjacency: Adjacency) -> IntArray:
    return count_facts(adjacency, np.arange(adjacency.entity_count)).astype(np.int32)
