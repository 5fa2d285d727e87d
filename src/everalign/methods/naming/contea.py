"""ContEA whose entities start from the vectors of their names, as in the paper's Table 6."""

from __future__ import annotations

import numpy as np
import torch

from everalign.graph import IntArray
from everalign.methods.contea import ContEASettings
from everalign.methods.contea.method import ContEA
from everalign.methods.naming.settings import NameSettings
from everalign.methods.naming.vectors import vectors_of_names
from everalign.methods.protocol import Problem


class NamedContEA(ContEA):
    """As ContEA, but for where named entities start; those without a name start as ever."""

    def __init__(self, names: NameSettings, settings: ContEASettings, seed: int) -> None:
        super().__init__(settings, seed)
        self.names = names

    def _start(self, problem: Problem, new: IntArray) -> None:
        vectors = vectors_of_names(problem, self.names, self.settings.dim)
        named = new[np.abs(vectors[new]).sum(axis=1) > 0]
        with torch.no_grad():
            rows = torch.from_numpy(vectors[named] * np.float32(self.names.strength))
            self.encoder.entity[torch.from_numpy(named).long()] = rows
