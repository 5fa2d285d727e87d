"""ContEA with names: started from name vectors, or united with what names choose.

Both are in Table 6 of the ContEA paper.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch

from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.literals import LiteralMatches
from everalign.matching import CandidatePairs, find_positions
from everalign.matching.csls import find_best_of_both_sides
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.contea import ContEASettings
from everalign.methods.contea.method import ContEA
from everalign.methods.names import NameSettings
from everalign.methods.names.names import (
    EntityChoices,
    build_entity_vectors,
    choose_by_names,
    list_name_notes,
)


class ContEAWithNameVectors(ContEA):
    """ContEA whose named entities start from the vectors of their names."""

    def __init__(self, names: NameSettings, settings: ContEASettings, seed: int) -> None:
        super().__init__(settings, seed)
        self.names = names

    def _initialise_entities(self, task: AlignmentTask, new: IntArray) -> None:
        vectors = build_entity_vectors(task, self.names, self.settings.dim)
        # Entities without a name have zeros here and keep the start that ContEA gave them.
        named = new[np.abs(vectors[new]).sum(axis=1) > 0]
        with torch.no_grad():
            rows = torch.from_numpy(vectors[named] * np.float32(self.names.vector_scale))
            self.encoder.entity[torch.from_numpy(named).long()] = rows


class ContEANameUnion:
    """ContEA and name matching side by side.

    Each entity chooses by its vector and by its name; a pair is found when both its entities
    choose it, by either. ContEA itself knows nothing of names here.
    """

    def __init__(self, names: NameSettings, settings: ContEASettings, seed: int) -> None:
        self.names = names
        self._contea = ContEA(settings, seed)

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Train ContEA.

        Args:
            task: The graphs and trusted links.
            progress: Called at each step.
        """
        self._contea.fit(task, progress)

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Update ContEA.

        Args:
            task: The changed graphs and trusted links.
            progress: Called at each step.
        """
        self._contea.update(task, progress)

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Find the pairs that both entities choose.

        Args:
            task: The graphs, trusted links and attribute triples.
            progress: Called at each step.

        Returns:
            One-to-one pairs; see `unite_choices`.
        """
        by_name = choose_by_names(task, self.names, progress)
        by_vector = self._choose_by_vectors(task, progress)
        pairs = unite_choices(by_name, by_vector)
        return replace(pairs, notes=(*list_name_notes(task), *self._contea.notes))

    def save(self) -> StateArrays:
        """Give the state of ContEA.

        Returns:
            Its arrays.
        """
        return self._contea.save()

    def load(self, arrays: StateArrays) -> None:
        """Restore the state of ContEA.

        Args:
            arrays: What `save` gave.
        """
        self._contea.load(arrays)

    def _choose_by_vectors(self, task: AlignmentTask, progress: Progress) -> EntityChoices:
        left, right = task.unlinked_entities()
        if not len(left) or not len(right):
            return EntityChoices.empty()
        left_vectors, right_vectors = np.split(
            self._contea.vectors(task), [task.left.entity_count]
        )
        best_right, best_left = find_best_of_both_sides(
            left_vectors[left],
            right_vectors[right],
            neighbours=self._contea.settings.neighbours,
            rejected=find_positions(task.rejected, left, right),
            progress=progress,
        )
        pairs = LiteralMatches.from_columns(
            np.concatenate([left, left[best_left.row]]),
            np.concatenate([right[best_right.row], right]),
            np.concatenate([best_right.score, best_left.score]),
        )
        # A score of -inf: all pairs of the entity are rejected.
        is_choice = np.isfinite(pairs.probability)
        by_left = np.arange(len(pairs.left)) < len(left)
        return EntityChoices(pairs, by_left & is_choice, ~by_left & is_choice)


def unite_choices(*choices: EntityChoices) -> CandidatePairs:
    """Unite what several comparisons choose.

    Args:
        choices: The choices of each comparison.

    Returns:
        The pairs that both entities choose, in whichever comparison. Each entity is in one pair
        at most: pairs with more choices come first, then those with the higher score.
    """
    left = np.concatenate([choice.pairs.left for choice in choices])
    right = np.concatenate([choice.pairs.right for choice in choices])
    # A pair may occur several times, by name and by vector: its choices are added up.
    pairs, pair = np.unique(np.stack([left, right]), axis=1, return_inverse=True)
    by_left = np.bincount(pair, np.concatenate([choice.by_left for choice in choices]))
    by_right = np.bincount(pair, np.concatenate([choice.by_right for choice in choices]))
    # Scores of names and of CSLS are not on one scale; they only break ties between choices.
    best_score = np.full(pairs.shape[1], -1.0)
    scores = np.concatenate([choice.pairs.probability for choice in choices])
    np.maximum.at(best_score, pair, scores)
    # A score counts less than a choice does.
    total = by_left + by_right + np.minimum(best_score, 1) / 4
    mutual = np.flatnonzero((by_left > 0) & (by_right > 0))
    # Stable, after a sort by ids: the lower ids win a tie.
    mutual = mutual[np.argsort(-total[mutual], kind="stable")]
    mutual = mutual[_select_one_to_one(*pairs[:, mutual])]
    return CandidatePairs.from_columns(pairs[0, mutual], pairs[1, mutual], total[mutual])


def _select_one_to_one(left: IntArray, right: IntArray) -> list[int]:
    """Positions of the pairs whose entities are in no earlier selected pair."""
    selected: list[int] = []
    left_taken: set[int] = set()
    right_taken: set[int] = set()
    pairs = zip(left.tolist(), right.tolist(), strict=True)
    for position, (left_entity, right_entity) in enumerate(pairs):
        if left_entity not in left_taken and right_entity not in right_taken:
            selected.append(position)
            left_taken.add(left_entity)
            right_taken.add(right_entity)
    return selected
