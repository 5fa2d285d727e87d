"""Combined: evidence whose classifier also sees ContEA's vectors. Needs PyTorch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

import numpy as np

from everalign._progress import Progress
from everalign.causes import RetractionCause
from everalign.config import build_settings
from everalign.matching import CandidatePairs
from everalign.matching.csls import normalise_rows
from everalign.methods.base import (
    AlignmentTask,
    CandidateEvidence,
    Method,
    RelationMatch,
    StateArrays,
)
from everalign.methods.contea import ContEASettings
from everalign.methods.contea.method import ContEA
from everalign.methods.evidence import EvidenceParameters, EvidenceSettings
from everalign.methods.evidence.method import Evidence
from everalign.methods.evidence.propagation import Vectors
from everalign.methods.evidence.training import SeedSplit

# Defaults of ContEA here: longer training, or a second round on its own links, does not help the
# classifier.
CONTEA_DEFAULTS = {"max_epochs": 18, "bootstrap": 0.0}

ARRAY_PREFIX = "contea."  # keeps the names of ContEA's arrays apart from those of evidence


def make(settings: Mapping[str, Any], seed: int) -> Method:
    """Create the method from the settings of both methods.

    Args:
        settings: Names and values of `EvidenceSettings` and `ContEASettings`.
        seed: Random seed.

    Returns:
        The method, neither fitted nor loaded.

    Raises:
        ConfigError: If a setting is unknown or has an invalid value.
    """
    contea_names = {field.name for field in fields(ContEASettings)}
    evidence_settings: dict[str, Any] = {}
    contea_settings: dict[str, Any] = dict(CONTEA_DEFAULTS)
    for name, value in settings.items():
        # A name that neither has goes to evidence, which reports it as unknown.
        (contea_settings if name in contea_names else evidence_settings)[name] = value
    evidence = build_settings(EvidenceSettings, evidence_settings, "combined")
    return Combined(
        EvidenceParameters.from_settings(evidence),
        build_settings(ContEASettings, contea_settings, "combined"),
        seed,
    )


class Combined:
    """ContEA is trained first, without the links that evidence holds out; evidence follows."""

    def __init__(self, config: EvidenceParameters, contea: ContEASettings, seed: int) -> None:
        """Create both methods.

        Args:
            config: Settings and constants of evidence.
            contea: Settings of ContEA.
            seed: Random seed of both.
        """
        self._contea = ContEA(contea, seed)
        # As a function: evidence does not know ContEA, and other vectors could be given alike.
        self._evidence = Evidence(config, seed, self._compute_vectors)

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Align from nothing.

        Args:
            task: The graphs and the trusted links.
            progress: Called at each step.
        """
        # First, since evidence asks for the vectors while it is fitted.
        self._contea.fit(self._hold_out(task), progress)
        self._evidence.fit(task, progress)

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Align after a change.

        Args:
            task: The graphs and the trusted links as they are now.
            progress: Called at each step.
        """
        self._contea.update(self._hold_out(task), progress)
        self._evidence.update(task, progress)

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Select the best pairs that satisfy the cardinality.

        Args:
            task: The graphs and the trusted links.
            progress: Called at each step.

        Returns:
            The candidates of evidence, with the notes of both methods.
        """
        pairs = self._evidence.candidates(task, progress)
        return replace(pairs, notes=(*pairs.notes, *self._contea.notes))

    def explain(
        self, task: AlignmentTask, left: int | None, right: int | None
    ) -> list[CandidateEvidence]:
        """List the candidates of an entity with the evidence for each.

        Args:
            task: The graphs and the trusted links.
            left: Left entity, or None.
            right: Right entity, if `left` is None.

        Returns:
            The candidates, best first. Vectors are no piece of evidence and not listed.
        """
        return self._evidence.explain(task, left, right)

    def relations(self, task: AlignmentTask) -> list[RelationMatch]:
        """List the relations and attributes that correspond.

        Args:
            task: The graphs and the trusted links.

        Returns:
            The pairs with their inclusion in both directions, best first.
        """
        return self._evidence.relations(task)

    def find_retraction_cause(self, left: int, right: int) -> RetractionCause:
        """Find out why the last fit or update has ended a link.

        Args:
            left: Left entity.
            right: Right entity.

        Returns:
            The cause by evidence; ContEA only gives it vectors.
        """
        return self._evidence.find_retraction_cause(left, right)

    def save(self) -> StateArrays:
        """Return the state of both methods as arrays.

        Returns:
            Arrays by name; those of ContEA begin with `ARRAY_PREFIX`.
        """
        contea = {ARRAY_PREFIX + name: array for name, array in self._contea.save().items()}
        return {**self._evidence.save(), **contea}

    def load(self, arrays: StateArrays) -> None:
        """Restore the state of both methods.

        Args:
            arrays: What `save` has returned.
        """
        self._evidence.load(arrays)
        # Evidence takes the arrays that it knows by name and ignores those of ContEA.
        names = [name for name in arrays if name.startswith(ARRAY_PREFIX)]
        self._contea.load({name.removeprefix(ARRAY_PREFIX): arrays[name] for name in names})

    def _hold_out(self, task: AlignmentTask) -> AlignmentTask:
        """ContEA must not be trained on the training pairs of the classifier."""
        split = SeedSplit.from_task(task, self._evidence.config, self._evidence.seed)
        return replace(task, seeds=split.anchors, validation=split.held_out)

    def _compute_vectors(self, task: AlignmentTask) -> Vectors:
        vectors = normalise_rows(self._contea.vectors(task)).astype(np.float32, copy=False)
        left, right = np.split(vectors, [task.left.entity_count])
        return left, right
