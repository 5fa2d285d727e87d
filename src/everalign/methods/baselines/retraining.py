"""Makes a method of a static one by learning from nothing at every version."""

from __future__ import annotations

from typing import Generic

import numpy as np
import torch

from everalign.matching import Candidates
from everalign.methods.baselines.static import SettingsT, Static, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.finding import nearest_pairs
from everalign.methods.neural.seeds import seeds_and_validation, split
from everalign.methods.neural.sizes import Sizes
from everalign.methods.neural.training import train
from everalign.methods.protocol import Arrays, Problem
from everalign.progress import Progress


class Retraining(Generic[SettingsT]):
    """A static method that is fitted anew at every version; what was learned is forgotten."""

    def __init__(self, kind: type[Static[SettingsT]], settings: SettingsT, seed: int) -> None:
        self.kind, self.settings, self.seed = kind, settings, seed
        self.updates = 0
        self._fitted: Static[SettingsT] | None = None

    def fit(self, problem: Problem, progress: Progress) -> None:
        chance = Chance(self.seed, self.updates)
        seeds, validation = seeds_and_validation(problem, chance.numpy)
        model = self.kind(Task(problem, seeds), self.settings, chance)
        schedule = self.settings.schedule
        train(model, model.learner(), validation, schedule, chance.numpy, progress)
        self._keep(model)

    def update(self, problem: Problem, progress: Progress) -> None:
        self.updates += 1
        self.fit(problem, progress)

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        vectors = self._model(problem).all_vectors().numpy()
        neighbours = self.settings.neighbours
        return nearest_pairs(problem, vectors, neighbours=neighbours, progress=progress)

    def save(self) -> Arrays:
        return {**self._values, "sizes": np.array(self._sizes), "updates": np.array(self.updates)}

    def load(self, arrays: Arrays) -> None:
        self._sizes = Sizes(*arrays["sizes"].tolist())
        self.updates = int(arrays["updates"])
        self._values = {n: v for n, v in arrays.items() if n not in ("sizes", "updates")}
        self._fitted = None

    def _keep(self, model: Static[SettingsT]) -> None:
        self._fitted, self._sizes = model, model.task.sizes
        self._values = {name: value.numpy() for name, value in model.state_dict().items()}

    def _model(self, problem: Problem) -> Static[SettingsT]:
        """What was learned, on the graphs of the problem."""
        if self._fitted is None or not self._fitted.task.is_of(problem):
            # Its first values are replaced, so chance plays no part.
            self._fitted = self.kind(Task(problem, split(problem)[0]), self.settings, Chance(0))
            values = {name: torch.from_numpy(value) for name, value in self._values.items()}
            self._fitted.load_state_dict(values)
        return self._fitted
