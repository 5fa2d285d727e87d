"""The evidence method: fit, update, candidates, explanations, and the state between versions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress, no_progress
from everalign.graph import IntArray
from everalign.literals import (
    CachedMatches,
    LiteralMatches,
    MatchedLiterals,
    missing_package_note,
)
from everalign.matching import CandidatePairs
from everalign.methods.base import (
    NO_ENTITIES,
    AlignmentTask,
    CandidateEvidence,
    RelationMatch,
    StateArrays,
)
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.candidates import (
    CandidateTable,
    MatchProbabilities,
    select_one_to_one,
)
from everalign.methods.evidence.classifier import PairClassifier, TrainedModels
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.dangling import MatchState, compute_link_confidence
from everalign.methods.evidence.features import list_feature_names
from everalign.methods.evidence.incremental import (
    find_changed_entities,
    find_relinked_entities,
    propagate_changes,
)
from everalign.methods.evidence.neighbourhood import list_evidence
from everalign.methods.evidence.propagation import GraphPair, Vectors, propagate, select_matches
from everalign.methods.evidence.relations import (
    MatchIndex,
    RelationInclusions,
    align_relations,
    list_relation_matches,
)
from everalign.methods.evidence.training import SeedSplit, run_final_rounds, train_models

NO_LINKS: IntArray = np.empty((0, 2), dtype=np.int32)


class Evidence:
    """Finds entities that are connected alike to matched entities and literals.

    After `fit` or `load`, `update` follows the changes of the graphs.
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
        self._state = AlignmentState.empty()

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Align from nothing.

        Args:
            task: The graphs and the trusted links.
            progress: Called at each step.
        """
        self._state = AlignmentState.empty().record_sizes(task)
        self._train(task, self._build_graphs(task, progress), None, progress)

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Align after a change; the models are trained again if the change is large.

        Args:
            task: The graphs and the trusted links as they are now.
            progress: Called at each step.
        """
        old, self._state = self._state, self._state.record_sizes(task)
        graphs = self._build_graphs(task, progress)
        config = self.config
        # Models score the columns that they were trained on: new literals bring others.
        if old.models is None or old.models.classifier.feature_names != list_feature_names(graphs):
            self._train(task, graphs, None, progress)
        elif task.rescore_all or old.measure_growth(task) > config.retrain_growth:
            # From before the held-out links became anchors: the final ones rest on them and would
            # give them away.
            probabilities = old.models.held_out_probabilities
            start = probabilities.select_at_least(config.min_match_probability)
            start = start.drop_pairs(task.rejected)
            # Ids never change, so that old pairs keep theirs in graphs that have grown.
            self._train(task, graphs, start.resize(graphs.sizes), progress)
        else:
            changed = find_changed_entities(task, old.triple_counts)
            affected = changed.union(find_relinked_entities(graphs, old.anchors))
            matches = old.matches.resize(graphs.sizes)
            self._conclude(
                graphs, propagate_changes(graphs, old.models, matches, affected, progress)
            )

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:  # noqa: ARG002
        """Select the best pairs, one-to-one.

        Args:
            task: The graphs and the trusted links.
            progress: Not used.

        Returns:
            The pairs with their confidence; those below the threshold are proposals.
        """
        table, confidence = self._state.matches.probabilities.table, self._state.confidence
        rows = select_one_to_one(table, confidence)
        rows = rows[confidence[rows] >= self.config.min_proposal_confidence]
        pairs = CandidatePairs.from_columns(
            table.left[rows],
            table.right[rows],
            confidence[rows],
            threshold=self._state.threshold,
            notes=self._list_notes(task),
        )
        return replace(pairs, notes=(*pairs.notes, *_note_unverified(task, pairs.accepted())))

    def save(self) -> StateArrays:
        """Return the state as arrays.

        Returns:
            Arrays by name: all that `load` needs.
        """
        return self._state.to_arrays(self.config.min_match_probability)

    def load(self, arrays: StateArrays) -> None:
        """Restore the state.

        Args:
            arrays: What `save` has returned.
        """
        self._state = AlignmentState.from_arrays(arrays)

    def explain(
        self, task: AlignmentTask, left: int | None, right: int | None
    ) -> list[CandidateEvidence]:
        """List the candidates of an entity with the evidence for each.

        Args:
            task: The graphs and the trusted links.
            left: Left entity, or None.
            right: Right entity, if `left` is None.

        Returns:
            The candidates and trusted links of the entity, best first.
        """
        graphs = self._build_graphs(task)
        matches, relations = self._align_current(graphs)
        table, confidence = self._state.matches.probabilities.table, self._state.confidence
        pairs = [
            (int(table.left[row]), int(table.right[row]), float(confidence[row]))
            for row in _find_candidate_rows(table, left, right)
        ]
        for left_id, right_id in graphs.anchors.tolist():
            if left == left_id or right == right_id:
                pairs.append((left_id, right_id, 1.0))
        explained = []
        for left_id, right_id, score in pairs:
            pieces = list_evidence(graphs, matches, relations, left_id, right_id)
            support = sum(piece.weight for piece in pieces)
            explained.append(CandidateEvidence(left_id, right_id, score, support, tuple(pieces)))
        # Ids last, so that the order is the same in every run.
        return sorted(explained, key=lambda c: (-c.confidence, -c.support, c.left, c.right))

    def relations(self, task: AlignmentTask) -> list[RelationMatch]:
        """List the relations and attributes that correspond, best first.

        Args:
            task: The graphs and the trusted links.

        Returns:
            The pairs with their inclusion in both directions.
        """
        graphs = self._build_graphs(task)
        _, relations = self._align_current(graphs)
        return list_relation_matches(relations.left, graphs.relation_counts)

    def _align_current(self, graphs: GraphPair) -> tuple[MatchIndex, RelationInclusions]:
        matches = select_matches(graphs, self._state.matches.probabilities)
        return matches, align_relations(graphs.left, graphs.right, matches, graphs.config)

    def _build_graphs(self, task: AlignmentTask, progress: Progress = no_progress) -> GraphPair:
        split = SeedSplit.from_task(task, self.config, self.seed)
        # Held-out links must not teach how literals are translated.
        literals = MatchedLiterals.find(
            (task.left_attributes, task.right_attributes),
            (task.left.entity_count, task.right.entity_count),
            self.config.literals,
            progress,
            split.anchors,
            self._state.literal_matches,
        )
        graphs = GraphPair.from_graphs(
            task.left,
            task.right,
            np.concatenate([task.seeds, task.validation]),
            self.config,
            literals,
        )
        return replace(
            graphs,
            vectors=self._compute_vectors(task) if self._compute_vectors else None,
            removed=task.excluded_entities,
            rejected=task.rejected,
            self_trained=literals is not None and not split.has_sufficient,
        )

    def _train(
        self,
        task: AlignmentTask,
        graphs: GraphPair,
        start: MatchProbabilities | None,
        progress: Progress,
    ) -> None:
        split = SeedSplit.from_task(task, self.config, self.seed)
        trained = train_models(
            replace(graphs, anchors=split.anchors), split, start, self.seed, progress
        )
        if trained is None:
            models, matches = None, MatchState.from_propagation(propagate(graphs, progress))
        else:
            models, compared = trained
            matches = run_final_rounds(graphs, models, compared, split.held_out, progress)
        self._state = replace(self._state, models=models, fact_counts=_count_facts(task))
        self._conclude(graphs, matches)

    def _conclude(self, graphs: GraphPair, matches: MatchState) -> None:
        """Compute confidence and threshold from the match probabilities, and keep all."""
        result = compute_link_confidence(
            graphs, matches, self._state.entity_counts, self._state.models
        )
        self._state = replace(
            self._state,
            matches=matches,
            confidence=result.confidence,
            threshold=result.threshold,
            anchors=graphs.anchors,
            # Kept, so that an update without new literals need not find them again.
            literal_matches=(
                graphs.literals.to_cache() if graphs.literals else CachedMatches.empty()
            ),
        )

    def _list_notes(self, task: AlignmentTask) -> tuple[str, ...]:
        literals = [*task.left_attributes.literals, *task.right_attributes.literals]
        note = missing_package_note(literals)
        return (*self._note_seeds(task), *([note] if note else []))

    def _note_seeds(self, task: AlignmentTask) -> tuple[str, ...]:
        split = SeedSplit.from_task(task, self.config, self.seed)
        given = f"trusted links: {split.link_count}"
        if len(self._state.confidence) == 0 and split.link_count == 0:
            return ("no trusted links and no matching literals: nothing to start from",)
        if len(self._state.confidence) == 0:
            return ("no two entities share a matched neighbour: nothing to start from",)
        if self._state.models is None:
            return (f"{given}, nothing to train on: confidence is not calibrated",)
        if len(split.held_out) == 0:
            return (f"{given}, little to train on: confidence is not calibrated",)
        return ()


def _note_unverified(task: AlignmentTask, links: CandidatePairs) -> tuple[str, ...]:
    """State the mean confidence where there is no trusted link to verify it."""
    if len(task.seeds) + len(task.validation) or not len(links):
        return ()
    mean = links.score.mean()
    # The mean confidence is the expected precision, if confidence is right.
    return (f"without trusted links: {len(links)} links of a mean confidence of {mean:.2f}",)


def _find_candidate_rows(table: CandidateTable, left: int | None, right: int | None) -> list[int]:
    if left is not None:
        return list(range(*table.left_start[left : left + 2].tolist()))
    assert right is not None, "either a left or a right entity is asked for"
    first, end = table.right_start[right : right + 2]
    rows: list[int] = table.right_order[first:end].tolist()
    return rows


def _count_facts(task: AlignmentTask) -> tuple[IntArray, IntArray]:
    """Count the triples and literals of each entity.

    A triple counts for both of its entities, so that a literal counts twice.
    """
    left, right = (
        (
            np.bincount(graph.triples[:, [0, 2]].ravel(), minlength=graph.entity_count)
            + 2 * np.bincount(attributes.triples[:, 0], minlength=graph.entity_count)
        ).astype(np.int32)
        for graph, attributes in (
            (task.left, task.left_attributes),
            (task.right, task.right_attributes),
        )
    )
    return left, right


@dataclass(frozen=True)
class AlignmentState:
    """What the method keeps from version to version.

    Attributes:
        models: The trained models; None if there was too little to train on.
        matches: The candidates and what is known of them.
        confidence: Confidence of each candidate.
        threshold: Confidence from which candidates are links.
        entity_counts: Numbers of left and right entities after each version.
        triple_counts: Number of left and right triples now.
        fact_counts: Number of facts of each entity when the models were trained.
        anchors: The trusted links.
        literal_matches: Matches of literals, used again while no literal changes.
    """

    models: TrainedModels | None
    matches: MatchState
    confidence: FloatArray
    threshold: float
    entity_counts: NDArray[np.int64]
    triple_counts: tuple[int, int]
    fact_counts: tuple[IntArray, IntArray]
    anchors: IntArray
    literal_matches: CachedMatches

    @staticmethod
    def empty() -> AlignmentState:
        """Build the state before the first version.

        Returns:
            A state without models and candidates.
        """
        matches = MatchState.from_propagation(MatchProbabilities.empty((0, 0)))
        return AlignmentState(
            models=None,
            matches=matches,
            confidence=matches.support,
            threshold=0.0,
            entity_counts=np.empty((0, 2), dtype=np.int64),
            triple_counts=(0, 0),
            fact_counts=(NO_ENTITIES, NO_ENTITIES),
            anchors=NO_LINKS,
            literal_matches=CachedMatches.empty(),
        )

    def record_sizes(self, task: AlignmentTask) -> AlignmentState:
        """Record the sizes that the graphs have in this version.

        Args:
            task: The graphs as they are now.

        Returns:
            The state with one more version.
        """
        sizes = task.left.entity_count, task.right.entity_count
        return replace(
            self,
            entity_counts=np.concatenate([self.entity_counts, [sizes]]),
            triple_counts=(len(task.left.triples), len(task.right.triples)),
        )

    def measure_growth(self, task: AlignmentTask) -> float:
        """Measure the share of facts added or removed since the models were trained.

        Args:
            task: The graphs as they are now.

        Returns:
            The sum of the changes of the number of facts of each entity, as a share of all facts.
            Facts that were added and removed again do not count.
        """
        changed = 0
        for then, now in zip(self.fact_counts, _count_facts(task), strict=True):
            size = max(len(then), len(now))
            # By entity: facts added to one must not hide those removed from another.
            change = np.pad(now, (0, size - len(now))) - np.pad(then, (0, size - len(then)))
            changed += int(np.abs(change).sum())
        return changed / max(1, sum(int(then.sum()) for then in self.fact_counts))

    def to_arrays(self, min_match_probability: float) -> StateArrays:
        """Return the state as arrays.

        Args:
            min_match_probability: Of the match probabilities with held-out links, those below
                are not kept: nothing rests on them.

        Returns:
            Arrays by name.
        """
        probabilities, literal_matches = self.matches.probabilities, self.literal_matches.matches
        arrays = {
            "candidate_left": probabilities.table.left,
            "candidate_right": probabilities.table.right,
            "match_probability": probabilities.probability,
            "support": self.matches.support,
            "joint_frequency_left": self.matches.joint_frequency[0],
            "joint_frequency_right": self.matches.joint_frequency[1],
            "dangling_probability": self.matches.dangling,
            "confidence": self.confidence,
            "threshold": np.array(self.threshold),
            "entity_counts": self.entity_counts,
            "triple_counts": np.array(self.triple_counts),
            "fact_count_left": self.fact_counts[0],
            "fact_count_right": self.fact_counts[1],
            "anchors": self.anchors,
            "literal_checksum": np.array(self.literal_matches.checksum),
            "literal_left": literal_matches.left,
            "literal_right": literal_matches.right,
            "literal_probability": literal_matches.probability,
        }
        if self.models is None:
            return arrays
        held_out = self.models.held_out_probabilities.select_at_least(min_match_probability)
        return arrays | {
            **_classifier_to_arrays("classifier", self.models.classifier),
            **_classifier_to_arrays("dangling_classifier", self.models.dangling_classifier),
            "no_candidate_dangling": np.array(self.models.no_candidate_dangling),
            "held_out_left": held_out.table.left,
            "held_out_right": held_out.table.right,
            "held_out_probability": held_out.probability,
        }

    @staticmethod
    def from_arrays(arrays: StateArrays) -> AlignmentState:
        """Restore the state.

        Args:
            arrays: What `to_arrays` has returned.

        Returns:
            The state; models of folds are not part of it.
        """
        entity_counts = arrays["entity_counts"]
        sizes = int(entity_counts[-1, 0]), int(entity_counts[-1, 1])
        matches = MatchState(
            MatchProbabilities.from_pairs(
                arrays["candidate_left"],
                arrays["candidate_right"],
                arrays["match_probability"],
                sizes,
            ),
            arrays["support"],
            (arrays["joint_frequency_left"], arrays["joint_frequency_right"]),
            arrays["dangling_probability"],
        )
        literals = (arrays[f"literal_{name}"] for name in ("left", "right", "probability"))
        left_count, right_count = arrays["triple_counts"].tolist()
        return AlignmentState(
            models=_models_from_arrays(arrays, sizes),
            matches=matches,
            confidence=arrays["confidence"],
            threshold=float(arrays["threshold"]),
            entity_counts=entity_counts,
            triple_counts=(left_count, right_count),
            fact_counts=(arrays["fact_count_left"], arrays["fact_count_right"]),
            anchors=arrays["anchors"],
            literal_matches=CachedMatches(
                int(arrays["literal_checksum"]), LiteralMatches.from_columns(*literals)
            ),
        )


def _models_from_arrays(arrays: StateArrays, sizes: tuple[int, int]) -> TrainedModels | None:
    # Saved together with the models only.
    if "no_candidate_dangling" not in arrays:
        return None
    left, right, probability = (
        arrays[f"held_out_{name}"] for name in ("left", "right", "probability")
    )
    return TrainedModels(
        _classifier_from_arrays(arrays, "classifier"),
        _classifier_from_arrays(arrays, "dangling_classifier"),
        float(arrays["no_candidate_dangling"]),
        MatchProbabilities.from_pairs(left, right, probability, sizes),
    )


def _classifier_to_arrays(name: str, classifier: PairClassifier) -> dict[str, NDArray[np.uint8]]:
    literal_model = classifier.literal_model
    texts = {
        "features": "\n".join(classifier.feature_names).encode(),
        "neighbour_model": classifier.neighbour_model.text,
        "literal_model": literal_model.text if literal_model else b"",
    }
    # The saved state holds arrays only, so that texts are stored as their bytes.
    return {f"{name}_{part}": np.frombuffer(text, np.uint8) for part, text in texts.items()}


def _classifier_from_arrays(arrays: StateArrays, name: str) -> PairClassifier:
    feature_names, neighbour_text, literal_text = (
        arrays[f"{name}_{part}"].tobytes()
        for part in ("features", "neighbour_model", "literal_model")
    )
    return PairClassifier.from_texts(
        tuple(feature_names.decode().split("\n")), neighbour_text, literal_text
    )
