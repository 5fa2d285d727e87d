"""Training: epochs of batches, validation, and early stopping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign.graph import IntArray
from everalign.methods.neural.losses import alignment_loss
from everalign.methods.neural.validation import Validation
from everalign.progress import Progress

Nodes = NDArray[np.int64]
DECAY = 0.9  # of RMSprop's mean square, and its epsilon: as in the framework of ContEA's authors
EPSILON = 1e-7


@dataclass(frozen=True)
class Schedule:
    """How long to train, and how often to look at the validation pairs."""

    max_epochs: int
    validate_every: int
    patience: int


class Stage(Protocol):
    """What is learned in a stage of a method's life, and from which losses."""

    def parameters(self) -> Iterable[nn.Parameter]: ...

    def losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """The losses of one epoch, batch by batch.

        Each is learned from before the next one is computed.
        """
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


def shuffled(rows: Nodes, size: int, rng: np.random.Generator) -> Iterator[Nodes]:
    """All rows in random order, `size` at a time; one empty batch if there are none."""
    order = rng.permutation(len(rows))
    for first in range(0, max(len(rows), 1), size):
        yield rows[order[first : first + size]]


def rmsprop(stage: Stage, learning_rate: float) -> torch.optim.Optimizer:
    """The optimiser of Dual-AMN and ContEA."""
    return torch.optim.RMSprop(stage.parameters(), lr=learning_rate, alpha=DECAY, eps=EPSILON)


def train(
    stage: Stage,
    learner: torch.optim.Optimizer,
    validation: Validation,
    schedule: Schedule,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Train until validation stops improving, and go back to the best point."""
    best, score, worse = _copy(stage), _validate(stage, validation), 0
    for epoch in range(1, schedule.max_epochs + 1):
        learn_epoch(stage, learner, rng)
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


def learn_epoch(stage: Stage, learner: torch.optim.Optimizer, rng: np.random.Generator) -> None:
    """Learn from each batch once."""
    for loss in stage.losses(rng):
        learner.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        learner.step()


def _validate(stage: Stage, validation: Validation) -> float:
    with torch.no_grad():
        return validation.score(stage.vectors(validation.nodes))


def _copy(stage: Stage) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in stage.parameters()]
