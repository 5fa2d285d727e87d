"""Where every random choice of a fit or an update comes from."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor


class Chance:
    """The two generators that every random choice of a fit or an update comes from."""

    def __init__(self, *seed: int) -> None:
        self.numpy = np.random.default_rng(seed)
        self.torch = torch.Generator().manual_seed(int(self.numpy.integers(2**62)))

    def dropout(self, x: Tensor, share: float) -> Tensor:
        kept = torch.rand(x.shape, generator=self.torch) >= share
        return x * kept / (1 - share)
