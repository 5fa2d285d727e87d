"""Evidence and ContEA together: the judge weighs the similarity of ContEA's vectors as well."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from everalign.matching import Candidates, unit
from everalign.methods.contea import ContEASettings
from everalign.methods.contea.method import ContEA
from everalign.methods.evidence import EvidenceSettings
from everalign.methods.evidence.inference import Trust
from everalign.methods.evidence.method import Evidence
from everalign.methods.protocol import Arrays, Consideration, Problem, RelationMatch
from everalign.progress import Progress

OF_CONTEA = "contea."  # before the names of ContEA's arrays


class Combined:
    """ContEA learns first, without the links that evidence hides; then evidence does."""

    def __init__(self, evidence: EvidenceSettings, contea: ContEASettings, seed: int) -> None:
        self._contea = ContEA(contea, seed)
        self._evidence = Evidence(evidence, seed, self._unit_vectors)

    def fit(self, problem: Problem, progress: Progress) -> None:
        self._contea.fit(self._hiding(problem), progress)
        self._evidence.fit(problem, progress)

    def update(self, problem: Problem, progress: Progress) -> None:
        self._contea.update(self._hiding(problem), progress)
        self._evidence.update(problem, progress)

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        found = self._evidence.candidates(problem, progress)
        return replace(found, notes=(*found.notes, *self._contea.notes))

    def explain(
        self, problem: Problem, left: int | None, right: int | None
    ) -> list[Consideration]:
        return self._evidence.explain(problem, left, right)

    def relations(self, problem: Problem) -> list[RelationMatch]:
        return self._evidence.relations(problem)

    def save(self) -> Arrays:
        contea = {OF_CONTEA + name: value for name, value in self._contea.save().items()}
        return {**self._evidence.save(), **contea}

    def load(self, arrays: Arrays) -> None:
        self._evidence.load(arrays)
        mine = [name for name in arrays if name.startswith(OF_CONTEA)]
        self._contea.load({name.removeprefix(OF_CONTEA): arrays[name] for name in mine})

    def _hiding(self, problem: Problem) -> Problem:
        """ContEA must not learn from what the judge is to learn from."""
        trust = Trust.of(problem, self._evidence.settings, self._evidence.seed)
        return replace(problem, seeds=trust.anchors, valid=trust.hidden)

    def _unit_vectors(self, problem: Problem) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        left, right = np.split(unit(self._contea.vectors(problem)), [problem.left.entities])
        return left, right
