"""What the evidence method keeps from version to version, and its form as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.literals import CachedMatches, LiteralMatches
from everalign.methods.base import NO_ENTITIES, StateArrays
from everalign.methods.evidence.adjacency import Adjacency, FloatArray
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.classifier import (
    CrossFittedModel,
    PairClassifier,
    TrainedModels,
)
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.incremental_state import (
    LEFT,
    RIGHT,
    FactChange,
    IncrementalState,
    PriorShares,
)
from everalign.methods.evidence.link_rates import NO_RATES
from everalign.methods.evidence.saved_state import (
    SavedChanges,
    apply_saved_changes,
    load_state,
    merge_changes,
    save_state,
)
from everalign.methods.evidence.trees import TreeModel
from everalign.methods.evidence.validation import check_change_arrays, check_saved_arrays

SIDES = ("left", "right")
CLASSIFIERS = ("classifier", "dangling_classifier")
MODELS = ("neighbour_model", "literal_model")
# Saved whole with every change.
SCALARS = (
    "changed_fact_count",
    "left_share_first",
    "left_share",
    "right_share_first",
    "right_share",
)


@dataclass(frozen=True)
class TrainingRecord:
    """What a later training has to know of the last one.

    Attributes:
        entity_counts: Numbers of left and right entities at each training so far.
        fact_counts: Number of facts of each left and right entity at the last one.
        held_out_pairs: Rows of (left, right): likely matches while the held-out links were no
            evidence.
        held_out_probability: Match probability of each.
    """

    entity_counts: NDArray[np.int64]
    fact_counts: tuple[IntArray, IntArray]
    held_out_pairs: IntArray
    held_out_probability: FloatArray

    @staticmethod
    def empty() -> TrainingRecord:
        """Build the record before the first training.

        Returns:
            A record of nothing.
        """
        return TrainingRecord(
            np.empty((0, 2), dtype=np.int64),
            (NO_ENTITIES, NO_ENTITIES),
            np.empty((0, 2), dtype=np.int32),
            np.empty(0, dtype=np.float32),
        )

    def get_held_out(self, sizes: tuple[int, int]) -> MatchProbabilities:
        """Return the match probabilities while the held-out links were no evidence.

        Args:
            sizes: Number of left and right entities now.

        Returns:
            The match probabilities.
        """
        left, right = self.held_out_pairs.T
        return MatchProbabilities.from_pairs(left, right, self.held_out_probability, sizes)


@dataclass(frozen=True)
class AlignmentState:
    """What the method keeps.

    Attributes:
        models: The trained models; None if there was too little to train on.
        blocks: Graphs, candidates, matches and relation sums.
        shares: How probable it is, before any evidence, that an entity has a counterpart.
        threshold: Confidence from which candidates are links.
        notes: Remarks of the last training.
        training: What a later training has to know of the last one.
        changed_fact_count: Facts added and removed since the last training; see `measure_growth`.
        literal_matches: Matches of literals at the last training, used again by the next one if
            literals are the same.
    """

    models: TrainedModels | None
    blocks: IncrementalState
    shares: PriorShares
    threshold: float
    notes: tuple[str, ...] = ()
    training: TrainingRecord = field(default_factory=TrainingRecord.empty)
    changed_fact_count: int = 0
    literal_matches: CachedMatches = field(default_factory=CachedMatches.empty)

    def measure_growth(self, facts: tuple[FactChange, FactChange]) -> tuple[float, int]:
        """Measure the share of facts added or removed since the models were trained.

        Args:
            facts: The change that is about to be applied.

        Returns:
            The sum of the changes of the number of facts of each entity, as a share of all facts
            and as a number. Facts that were added and removed again do not count.
        """
        changed = self.changed_fact_count
        for side in (LEFT, RIGHT):
            graph, then = self.blocks.adjacency[side], self.training.fact_counts[side]
            entities, gain = _count_gains(facts[side], graph.literal_offset)
            # Entities that have come since had no facts then.
            is_old = entities < len(then)
            before = np.where(is_old, then[np.where(is_old, entities, 0)], 0) if len(then) else 0
            now = count_facts(graph.view, entities)
            # By entity: facts added to one must not hide those removed from another.
            changed += int((np.abs(now + gain - before) - np.abs(now - before)).sum())
        total = sum(int(then.sum(dtype=np.int64)) for then in self.training.fact_counts)
        return changed / max(1, total), changed

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the state as arrays.

        Returns:
            Arrays by name, some of them with free space.
        """
        arrays = save_state(self.blocks) | self._scalars_to_arrays()
        arrays |= {
            "notes": np.frombuffer("\n".join(self.notes).encode(), np.uint8),
            "threshold": np.array(self.threshold),
            "cardinality": np.frombuffer(self.blocks.config.cardinality.encode(), np.uint8),
            "training_entity_counts": self.training.entity_counts,
            "held_out_pairs": self.training.held_out_pairs,
            "held_out_probability": self.training.held_out_probability,
            "literal_checksum": np.array(self.literal_matches.checksum),
        }
        for name, values in self.literal_matches.matches._asdict().items():
            arrays[f"literal_{name}"] = values
        for side, counts in zip(SIDES, self.training.fact_counts, strict=True):
            arrays[f"{side}_fact_counts"] = counts
        if self.models is not None:
            arrays["no_candidate_dangling"] = np.array(self.models.no_candidate_dangling)
            for side, rates in zip(SIDES, self.models.relation_rates, strict=True):
                arrays[f"{side}_relation_rates"] = rates
            for name in CLASSIFIERS:
                arrays |= _classifier_to_arrays(name, getattr(self.models, name))
        return arrays

    def changes_to_arrays(self, changes: SavedChanges) -> dict[str, NDArray[Any]]:
        """Return what an update has changed as arrays.

        Args:
            changes: The changes of graphs and candidates.

        Returns:
            Arrays by name: all that `with_changes` needs.
        """
        return changes.to_arrays() | self._scalars_to_arrays()

    def _scalars_to_arrays(self) -> dict[str, NDArray[Any]]:
        arrays: dict[str, NDArray[Any]] = {"changed_fact_count": np.array(self.changed_fact_count)}
        for side, first, share in zip(SIDES, self.shares.first, self.shares.share, strict=True):
            arrays |= {f"{side}_share_first": first, f"{side}_share": share}
        return arrays

    @staticmethod
    def from_arrays(arrays: StateArrays, config: EvidenceParameters) -> AlignmentState:
        """Restore the state.

        Args:
            arrays: What `to_arrays` has returned.
            config: Settings and constants; the cardinality is that of the arrays.

        Returns:
            The state.

        Raises:
            StateDamagedError: A value is out of range.
        """
        check_saved_arrays(arrays)
        cardinality = Cardinality(arrays["cardinality"].tobytes().decode())
        config = replace(config, cardinality=cardinality)
        notes = arrays["notes"].tobytes().decode()
        return AlignmentState(
            _models_from_arrays(arrays),
            load_state(arrays, config),
            _shares_from_arrays(arrays),
            float(arrays["threshold"]),
            tuple(notes.split("\n")) if notes else (),
            TrainingRecord(
                arrays["training_entity_counts"],
                (arrays["left_fact_counts"], arrays["right_fact_counts"]),
                arrays["held_out_pairs"],
                arrays["held_out_probability"],
            ),
            int(arrays["changed_fact_count"]),
            CachedMatches(
                int(arrays["literal_checksum"]),
                LiteralMatches(*(arrays[f"literal_{name}"] for name in LiteralMatches._fields)),
            ),
        )

    def with_changes(self, changes: Sequence[StateArrays]) -> AlignmentState:
        """Bring the state to where it was after some updates.

        Args:
            changes: What `changes_to_arrays` returned for each, oldest first.

        Returns:
            The state; the blocks of this one are changed.
        """
        if not changes:
            return self
        capacities = [
            (graph.literal_offset, graph.node_capacity, len(graph.nodes["relation_idf"]))
            for graph in self.blocks.adjacency
        ]
        for part in changes:
            check_change_arrays(part, capacities)
        apply_saved_changes(
            self.blocks, merge_changes([SavedChanges.from_arrays(arrays) for arrays in changes])
        )
        return replace(
            self,
            shares=_shares_from_arrays(changes[-1]),
            changed_fact_count=int(changes[-1]["changed_fact_count"]),
        )


def merge_change_arrays(changes: Sequence[StateArrays]) -> StateArrays:
    """Merge the changes of consecutive updates.

    Args:
        changes: What `changes_to_arrays` returned for each, oldest first.

    Returns:
        Arrays with the same effect as all of them.
    """
    merged = merge_changes([SavedChanges.from_arrays(arrays) for arrays in changes])
    last = changes[-1]
    return {**merged.to_arrays(), **{name: last[name] for name in SCALARS}}


def count_facts(adjacency: Adjacency, entities: NDArray[np.integer]) -> NDArray[np.int64]:
    """Count the triples and literals of entities.

    A triple counts for both of its entities, so that a literal counts twice.

    Args:
        adjacency: The graph.
        entities: The entities.

    Returns:
        A number for each.
    """
    start, stop = adjacency.start[entities], adjacency.stop[entities]
    # An entity without any edge has no place where its literals begin.
    literal_start = np.clip(adjacency.literal_start[entities], start, stop)
    counts: NDArray[np.int64] = (literal_start - start) + 2 * (stop - literal_start)
    return counts


def _count_gains(
    change: FactChange, literal_offset: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The entities of changed facts, and how many facts each of them gains."""
    entities, gains = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for rows, sign in ((change.added, 1), (change.removed, -1)):
        is_literal = rows[:, 2] >= literal_offset
        entities += [rows[:, 0].astype(np.int64), rows[~is_literal, 2].astype(np.int64)]
        gains += [sign * (1 + is_literal), np.full(np.count_nonzero(~is_literal), sign)]
    distinct, place = np.unique(np.concatenate(entities), return_inverse=True)
    gain = np.zeros(len(distinct), dtype=np.int64)
    np.add.at(gain, place, np.concatenate(gains))
    return distinct, gain


def _shares_from_arrays(arrays: StateArrays) -> PriorShares:
    return PriorShares(
        (arrays["left_share_first"], arrays["right_share_first"]),
        (arrays["left_share"], arrays["right_share"]),
    )


def _models_from_arrays(arrays: StateArrays) -> TrainedModels | None:
    # Saved together with the models only.
    if "no_candidate_dangling" not in arrays:
        return None
    classifier, dangling_classifier = (_classifier_from_arrays(arrays, n) for n in CLASSIFIERS)
    # A state of an earlier release has none.
    left, right = (arrays.get(f"{side}_relation_rates", NO_RATES) for side in SIDES)
    first, later = arrays["no_candidate_dangling"].tolist()
    return TrainedModels(classifier, dangling_classifier, (first, later), (left, right))


def _classifier_to_arrays(name: str, classifier: PairClassifier) -> dict[str, NDArray[Any]]:
    # The saved state holds arrays only, so that texts are stored as their bytes.
    features = "\n".join(classifier.feature_names).encode()
    arrays: dict[str, NDArray[Any]] = {f"{name}_features": np.frombuffer(features, np.uint8)}
    for part in MODELS:
        model: CrossFittedModel | None = getattr(classifier, part)
        if model is not None:
            for key, values in model.model.to_arrays().items():
                arrays[f"{name}_{part}_{key}"] = values
    return arrays


def _classifier_from_arrays(arrays: StateArrays, name: str) -> PairClassifier:
    features = arrays[f"{name}_features"].tobytes().decode()
    neighbour_model, literal_model = (f"{name}_{part}" for part in MODELS)
    return PairClassifier(
        tuple(features.split("\n")),
        _load_model(arrays, neighbour_model),
        # Saved only if there were literals to train on.
        _load_model(arrays, literal_model) if f"{literal_model}_kept" in arrays else None,
    )


def _load_model(arrays: StateArrays, prefix: str) -> CrossFittedModel:
    fields = {key: arrays[f"{prefix}_{key}"] for key in TreeModel._fields}
    return CrossFittedModel([TreeModel.from_arrays(fields)])
