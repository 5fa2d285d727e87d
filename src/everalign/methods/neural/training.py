"""Training: random generators, batches, epochs, validation and early stopping."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import torch
from torch import Tensor, nn

from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.methods.neural.operators import compute_alignment_loss
from everalign.methods.neural.pairs import NodeArray, ValidationPairs

# RMSprop with the defaults of Keras, the framework of the authors of Dual-AMN and ContEA; those
# of PyTorch are 0.99 and 1e-8.
RMSPROP_DECAY = 0.9
RMSPROP_EPSILON = 1e-7


class RandomGenerators:
    """The generators of NumPy and PyTorch that all random numbers of a fit or update come from.

    Args:
        *seed: Numbers that seed both generators.
    """

    def __init__(self, *seed: int) -> None:
        self.numpy = np.random.default_rng(seed)
        # PyTorch takes one number as seed: a draw of the other generator depends on all of them.
        self.torch = torch.Generator().manual_seed(int(self.numpy.integers(2**62)))

    def apply_dropout(self, inputs: Tensor, rate: float) -> Tensor:
        """Set random numbers of a tensor to 0 and scale up the others.

        Args:
            inputs: Any tensor.
            rate: Probability that a number is dropped.

        Returns:
            A tensor of the same shape.
        """
        # PyTorch's own dropout takes no generator.
        is_kept = torch.rand(inputs.shape, generator=self.torch) >= rate
        return inputs * is_kept / (1 - rate)


@dataclass(frozen=True)
class TrainingSchedule:
    """How long to train.

    Attributes:
        max_epochs: Epochs at most.
        validate_every: Epochs between validations.
        patience: Validations without a gain before training stops.
    """

    max_epochs: int
    validate_every: int
    patience: int


class TrainingStage(Protocol):
    """What is trained: parameters, the losses they learn from and the vectors they give."""

    def parameters(self) -> Iterable[nn.Parameter]:
        """List the parameters that are trained.

        Returns:
            The parameters, in the same order at every call.
        """
        ...

    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the losses of an epoch, batch by batch.

        The optimiser takes a step after each loss, before the next one is computed.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch.
        """
        ...

    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes from the parameters as they are now.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """
        ...


@dataclass(frozen=True)
class SeedBatch:
    """A batch of pairs with negatives, as distinct nodes and the rows of the pairs among them.

    Attributes:
        nodes: The distinct nodes of pairs and negatives.
        left: Row of each pair's left member.
        right: Row of each pair's right member.
    """

    nodes: IntArray
    left: Tensor
    right: Tensor

    @staticmethod
    def from_pairs(pairs: NodeArray, negatives: NodeArray) -> SeedBatch:
        """Build a batch.

        Args:
            pairs: Rows of (left node, right node).
            negatives: Nodes, with repetitions.

        Returns:
            The batch.
        """
        # A node that is drawn several times is encoded once.
        nodes, row = np.unique(np.concatenate([pairs.ravel(), negatives]), return_inverse=True)
        pair_rows = torch.from_numpy(row[: pairs.size].reshape(pairs.shape))
        return SeedBatch(nodes.astype(np.int32), pair_rows[:, 0], pair_rows[:, 1])

    def split_pairs(self, count: int) -> tuple[SeedBatch, SeedBatch]:
        """Split the pairs, over the same nodes.

        Args:
            count: Number of pairs in the first part.

        Returns:
            The first `count` pairs, and the rest.
        """
        return (
            SeedBatch(self.nodes, self.left[:count], self.right[:count]),
            SeedBatch(self.nodes, self.left[count:], self.right[count:]),
        )

    def compute_loss(self, vectors: Tensor) -> Tensor:
        """Compute the alignment loss of both sides, with every node of the batch as a negative.

        Args:
            vectors: A row for each of `nodes`.

        Returns:
            The loss, a scalar; 0 without pairs.
        """
        if len(self.left) == 0:
            return vectors.new_zeros(())
        left, right = vectors[self.left], vectors[self.right]
        members = torch.stack([self.left, self.right], dim=1)
        return compute_alignment_loss(left, right, vectors, members) + compute_alignment_loss(
            right, left, vectors, members
        )


def iterate_batches(rows: NodeArray, size: int, rng: np.random.Generator) -> Iterator[NodeArray]:
    """Iterate over all rows in random order, batch by batch.

    Args:
        rows: Pairs or triples, a row each.
        size: Rows per batch.
        rng: Source of random numbers.

    Yields:
        The rows of each batch; one empty batch if there are no rows, so that the other terms of
        a loss are still learned from.
    """
    order = rng.permutation(len(rows))
    for first in range(0, max(len(rows), 1), size):
        yield rows[order[first : first + size]]


def create_rmsprop(stage: TrainingStage, learning_rate: float) -> torch.optim.Optimizer:
    """Create the optimiser of Dual-AMN and ContEA.

    Args:
        stage: The parameters to train.
        learning_rate: Learning rate.

    Returns:
        The optimiser.
    """
    return torch.optim.RMSprop(
        stage.parameters(), lr=learning_rate, alpha=RMSPROP_DECAY, eps=RMSPROP_EPSILON
    )


def train_with_early_stopping(
    stage: TrainingStage,
    optimiser: torch.optim.Optimizer,
    validation: ValidationPairs,
    schedule: TrainingSchedule,
    rng: np.random.Generator,
    progress: Progress,
) -> None:
    """Train until validation stops improving, then restore the best parameters.

    The parameters before training count too: a training that does not help is undone. Without
    validation pairs, the last parameters are kept.

    Args:
        stage: What to train; its parameters are changed in place.
        optimiser: Optimiser of the stage's parameters.
        validation: Validation pairs.
        schedule: When to validate and when to stop.
        rng: Source of random numbers.
        progress: Called after each epoch.
    """
    best, best_mrr, without_gain = _copy_parameters(stage), _validate(stage, validation), 0
    for epoch in range(1, schedule.max_epochs + 1):
        train_epoch(stage, optimiser, rng)
        # The last epoch is always validated: parameters are kept only if they are.
        if epoch % schedule.validate_every == 0 or epoch == schedule.max_epochs:
            mrr = _validate(stage, validation)
            without_gain = 0 if mrr > best_mrr else without_gain + 1
            # Without pairs the rank is always 0, and nothing would ever count as better.
            if mrr > best_mrr or len(validation.pairs) == 0:
                best, best_mrr = _copy_parameters(stage), mrr
        progress(f"training (validation {best_mrr:.3f})", epoch, schedule.max_epochs)
        if without_gain >= schedule.patience:
            break
    for parameter, value in zip(stage.parameters(), best, strict=True):
        # In place: model and optimiser hold these parameters.
        parameter.data.copy_(value)


def train_epoch(
    stage: TrainingStage, optimiser: torch.optim.Optimizer, rng: np.random.Generator
) -> None:
    """Train for one epoch: a step of the optimiser for each batch.

    Args:
        stage: What to train.
        optimiser: Optimiser of the stage's parameters.
        rng: Source of random numbers.
    """
    for loss in stage.iterate_losses(rng):
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def _validate(stage: TrainingStage, validation: ValidationPairs) -> float:
    with torch.no_grad():
        return validation.compute_mrr(stage.compute_vectors(validation.nodes))


def _copy_parameters(stage: TrainingStage) -> list[Tensor]:
    return [parameter.detach().clone() for parameter in stage.parameters()]
