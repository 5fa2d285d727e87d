"""Training: epochs of batches, validation, and early stopping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.graph import IntArray
from everalign.methods.contea.losses import alignment_loss
from everalign.methods.contea.validation import Validation
from everalign.progress import Progress

Nodes = NDArray[np.int64]
DECAY = 0.9  # of RMSprop's mean square, and its epsilon: as in the framework of the authors
EPSILON = 1e-7


@dataclass(frozen=True)
class Schedule:
    """How to train, how long, and how often to look at the validation pairs."""

    batch: int
    learning_rate: float
    max_epochs: int
    validate_every: int
    patience: int


class Stage(Protocol):
    """What is learned in a stage of ContEA's life, and from which loss."""

    def parameters(self) -> list[nn.Parameter]: ...

    def loss(self, pairs: Nodes) -> Tensor:
        """The loss of a batch of seed pairs."""
        ...

    def vectors(self, nodes: IntArray) -> Tensor:
        """The vectors of some nodes, as they are now."""
        ...


@dataclass(frozen=True)
class Batch:
    """Seed pairs and negatives, as the distinct nodes they need and their rows among them."""

    nodes: IntArray
    left: Tensor
    right: Tensor

    @staticmethod
    def of(pairs: Nodes, others: Nodes) -> Batch:
        nodes, row = np.unique(np.concatenate([pairs.ravel(), others]), return_inverse=True)
        rows = torch.from_numpy(row[: pairs.size].reshape(pairs.shape))
        return Batch(nodes.astype(np.int32), rows[:, 0], rows[:, 1])

    def split(self, count: int) -> tuple[Batch, Batch]:
        """The first `count` pairs and the rest, over the same nodes."""
        return (
            Batch(self.nodes, self.left[:count], self.right[:count]),
            Batch(self.nodes, self.left[count:], self.right[count:]),
        )

    def alignment_loss(self, vectors: Tensor) -> Tensor:
        """Both sides' loss, with every node of the batch as a negative."""
        if len(self.left) == 0:
            return vectors.new_zeros(())
        left, right = vectors[self.left], vectors[self.right]
        own = torch.stack([self.left, self.right], dim=1)
        return alignment_loss(left, right, vectors, own) + alignment_loss(
            right, left, vectors, own
        )


def train(
    stage: Stage,
    pairs: Nodes,
    validation: Validation,
    schedule: Schedule,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Train until validation stops improving, and go back to the best point."""
    learner = torch.optim.RMSprop(
        stage.parameters(), lr=schedule.learning_rate, alpha=DECAY, eps=EPSILON
    )
    best, score, worse = _copy(stage), _validate(stage, validation), 0
    for epoch in range(1, schedule.max_epochs + 1):
        order = rng.permutation(len(pairs))
        for first in range(0, max(len(pairs), 1), schedule.batch):
            learner.zero_grad()
            stage.loss(pairs[order[first : first + schedule.batch]]).backward()  # type: ignore[no-untyped-call]
            learner.step()
        if epoch % schedule.validate_every == 0 or epoch == schedule.max_epochs:
            now = _validate(stage, validation)
            worse = 0 if now > score else worse + 1
            if now > score or len(validation.pairs) == 0:
                best, score = _copy(stage), now
        progress(f"training (validation {score:.3f})", epoch, schedule.max_epochs)
        if worse >= schedule.patience:
            break
    for parameter, value in zip(stage.parameters(), best, strict=True):
        parameter.data.copy_(value)


def _validate(stage: Stage, validation: Validation) -> float:
    with torch.no_grad():
        return validation.score(stage.vectors(validation.nodes))


def _copy(stage: Stage) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in stage.parameters()]
