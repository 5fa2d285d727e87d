"""Makes a method of a static one by learning once; later versions are only embedded."""

from __future__ import annotations

from everalign.methods.baselines.retraining import Retraining
from everalign.methods.baselines.static import SettingsT, Task
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.growth import take_over
from everalign.methods.neural.seeds import split
from everalign.methods.protocol import Problem
from everalign.progress import Progress


class Inductive(Retraining[SettingsT]):
    """A static method whose parameters stay as they are; new entities are placed by the graph."""

    def update(self, problem: Problem, progress: Progress) -> None:
        self.updates += 1
        chance = Chance(self.seed, self.updates)
        model = self.kind(Task(problem, split(problem)[0]), self.settings, chance)
        known = take_over(model, self._values, self._sizes, model.task.sizes)
        model.start_new(known)
        progress("placing new entities", 1, 1)
        self._keep(model)
