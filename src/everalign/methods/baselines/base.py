"""What all baselines share: settings, training problem, model, and how a model is used over time.

A model is written for one pair of graphs. `RetrainedMethod` fits it from scratch at every
version; `InductiveMethod` fits it once and then only embeds new entities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Generic, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from everalign._progress import Progress
from everalign.errors import ConfigError
from everalign.graph import IntArray, UnionGraph, build_union_graph
from everalign.matching import CandidatePairs
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.neural.initialisation import (
    GraphShape,
    initialise_from_neighbours,
    transfer_parameters,
)
from everalign.methods.neural.pairs import (
    NodeArray,
    find_candidates,
    prepare_pairs,
    split_seeds,
)
from everalign.methods.neural.training import (
    RandomGenerators,
    TrainingSchedule,
    train_with_early_stopping,
)

_NOT_PARAMETERS = ("sizes", "updates")  # names of saved arrays


@dataclass(frozen=True)
class BaselineSettings:
    """Settings of every baseline; each has its own defaults.

    Attributes:
        dim: Size of an entity embedding.
        learning_rate: Learning rate.
        max_epochs: Epochs of training at most.
        validate_every: Epochs between validations.
        patience: Validations without a gain before training stops.
        neighbours: Nearest neighbours that CSLS averages over.

    Raises:
        ConfigError: A value is out of range.
    """

    dim: int = 100
    learning_rate: float = 0.01
    max_epochs: int = 200
    validate_every: int = 10
    patience: int = 3
    neighbours: int = 10

    def __post_init__(self) -> None:
        for field in fields(self):
            # Without an epoch, a model is left as it was initialised.
            is_count = isinstance(field.default, int) and field.name != "max_epochs"
            if is_count and getattr(self, field.name) < 1:
                raise ConfigError(f"{field.name!r} must be at least 1")

    @property
    def schedule(self) -> TrainingSchedule:
        """When to validate and when to stop."""
        return TrainingSchedule(self.max_epochs, self.validate_every, self.patience)


SettingsT = TypeVar("SettingsT", bound=BaselineSettings)


@dataclass(frozen=True)
class TrainingProblem:
    """The two graphs as one, and the seed pairs to learn from.

    Attributes:
        task: The alignment task.
        seeds: Rows of (left node, right node).
    """

    task: AlignmentTask
    seeds: NodeArray

    def has_graphs_of(self, task: AlignmentTask) -> bool:
        """Check whether this problem is about the graphs of a task.

        Args:
            task: The alignment task.

        Returns:
            True if both graphs are the same objects.
        """
        # Graphs are immutable: the same objects mean the same triples.
        return self.task.left is task.left and self.task.right is task.right

    @cached_property
    def graph(self) -> UnionGraph:
        """The union graph."""
        return build_union_graph(self.task.left, self.task.right)

    @cached_property
    def shape(self) -> GraphShape:
        """Numbers of entities and relations."""
        return GraphShape.from_task(self.task)


class BaselineModel(nn.Module, ABC, Generic[SettingsT]):
    """Parameters, the losses they learn from and the vectors they give, for one pair of graphs.

    A subclass makes its parameters in `__init__`, drawn from `random.torch` only. A parameter
    named `entity` has a row for each node, one named `relation` a row for each directed
    relation: `transfer_parameters` relies on it.

    Args:
        problem: The training problem.
        settings: Settings of the baseline.
        random: Source of random numbers.
    """

    def __init__(
        self, problem: TrainingProblem, settings: SettingsT, random: RandomGenerators
    ) -> None:
        super().__init__()
        self.problem, self.settings, self.random = problem, settings, random

    @abstractmethod
    def iterate_losses(self, rng: np.random.Generator) -> Iterator[Tensor]:
        """Compute the losses of an epoch, batch by batch.

        Args:
            rng: Source of random numbers.

        Yields:
            The loss of each batch; nothing where there is nothing to learn from.
        """

    @abstractmethod
    def compute_vectors(self, nodes: IntArray) -> Tensor:
        """Compute the vectors of some nodes from the parameters as they are now.

        Args:
            nodes: Nodes of the union graph.

        Returns:
            A row for each node.
        """

    def compute_all_vectors(self) -> Tensor:
        """Compute the vectors of all nodes, without gradients.

        Returns:
            A row for each node.
        """
        with torch.no_grad():
            return self.compute_vectors(np.arange(self.problem.shape.node_count, dtype=np.int32))

    def create_optimiser(self) -> torch.optim.Optimizer:
        """Create the optimiser: Adam, unless a subclass has another one.

        Returns:
            The optimiser of all parameters.
        """
        # Fused: a step is one pass over each table.
        return torch.optim.Adam(self.parameters(), lr=self.settings.learning_rate, fused=True)

    def create_split_adam(self, learning_rate: float) -> torch.optim.Optimizer:
        """Create Adam with a learning rate of its own for all but the table `entity`.

        Args:
            learning_rate: Learning rate of the other parameters.

        Returns:
            The optimiser of all parameters.
        """
        # Rows that are scaled to length 1 need a large rate to turn; with the same rate, maps
        # and gates do not settle.
        others = dict(self.named_parameters())
        table = {"params": [others.pop("entity")], "lr": self.settings.learning_rate}
        return torch.optim.Adam(
            [table, {"params": list(others.values()), "lr": learning_rate}], fused=True
        )

    def initialise_new_entities(self, is_known: NDArray[np.bool_]) -> None:
        """Fill the rows of `entity` of unknown nodes; used by inductive methods.

        Args:
            is_known: Which nodes are known.
        """
        table = self.get_parameter("entity").detach().numpy()
        initialise_from_neighbours(self.problem.graph, table, is_known)


class RetrainedMethod(Generic[SettingsT]):
    """A method that fits a model from scratch at every version.

    Args:
        model_class: The model.
        settings: Settings of the baseline.
        seed: Random seed.
    """

    def __init__(
        self, model_class: type[BaselineModel[SettingsT]], settings: SettingsT, seed: int
    ) -> None:
        self.model_class, self.settings, self.seed = model_class, settings, seed
        self.updates = 0
        self._model: BaselineModel[SettingsT] | None = None

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Train from scratch.

        Args:
            task: The alignment task.
            progress: Called while training.
        """
        # The number of the update is part of the seed: each version draws other random numbers.
        random = RandomGenerators(self.seed, self.updates)
        seeds, validation = prepare_pairs(task, random.numpy)
        model = self.model_class(TrainingProblem(task, seeds), self.settings, random)
        train_with_early_stopping(
            model,
            model.create_optimiser(),
            validation,
            self.settings.schedule,
            random.numpy,
            progress,
        )
        self._keep_model(model)

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Train from scratch again.

        Args:
            task: The alignment task after the change.
            progress: Called while training.
        """
        self.updates += 1
        self.fit(task, progress)

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Find the unlinked entities that are each other's best match by CSLS.

        Args:
            task: The alignment task.
            progress: Called while the search runs.

        Returns:
            Candidate pairs with their CSLS as score.
        """
        vectors = self._get_model(task).compute_all_vectors().numpy()
        return find_candidates(
            task, vectors, neighbours=self.settings.neighbours, progress=progress
        )

    def save(self) -> StateArrays:
        """Save what was learned.

        Returns:
            Arrays by name, for `load`.
        """
        return {
            **self._learned,
            "sizes": np.array(self._shape),
            "updates": np.array(self.updates),
        }

    def load(self, arrays: StateArrays) -> None:
        """Load what `save` returned.

        Args:
            arrays: Arrays by name.
        """
        self._shape = GraphShape(*arrays["sizes"].tolist())
        self.updates = int(arrays["updates"])
        self._learned = {
            name: value for name, value in arrays.items() if name not in _NOT_PARAMETERS
        }
        # Built when the graphs are known again: only parameters are saved.
        self._model = None

    def _keep_model(self, model: BaselineModel[SettingsT]) -> None:
        self._model, self._shape = model, model.problem.shape
        self._learned = {name: value.numpy() for name, value in model.state_dict().items()}

    def _get_model(self, task: AlignmentTask) -> BaselineModel[SettingsT]:
        """The model with what was learned, on the graphs of the task."""
        if self._model is None or not self._model.problem.has_graphs_of(task):
            # The seed does not matter: every parameter is replaced.
            problem = TrainingProblem(task, split_seeds(task)[0])
            self._model = self.model_class(problem, self.settings, RandomGenerators(0))
            self._model.load_state_dict(
                {name: torch.from_numpy(value) for name, value in self._learned.items()}
            )
        return self._model


class InductiveMethod(RetrainedMethod[SettingsT]):
    """A method that fits a model once; at updates, new entities are only embedded.

    Takes the arguments of `RetrainedMethod`.
    """

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Initialise new entities from the known ones around them; learn nothing.

        Args:
            task: The alignment task after the change.
            progress: Called once.
        """
        self.updates += 1
        random = RandomGenerators(self.seed, self.updates)
        problem = TrainingProblem(task, split_seeds(task)[0])
        # Entities that are connected to no known one keep the rows that are drawn here.
        model = self.model_class(problem, self.settings, random)
        is_known = transfer_parameters(model, self._learned, self._shape, problem.shape)
        model.initialise_new_entities(is_known)
        progress("embedding new entities", 1, 1)
        self._keep_model(model)


def normalise_rows(rows: Tensor) -> Tensor:
    """Scale rows to length 1.

    Args:
        rows: Any tensor; its last dimension is that of the vectors.

    Returns:
        A tensor of the same shape.
    """
    return nn.functional.normalize(rows, dim=-1)


def select_rows(table: Tensor, index: Tensor) -> Tensor:
    """Select rows of a table.

    Args:
        table: A vector per row.
        index: Rows to select, of any shape.

    Returns:
        The vectors, in the shape of `index`.
    """
    # The gradient of index_select is far faster than that of indexing, and its sums have a
    # fixed order.
    return table.index_select(0, index.reshape(-1)).view(*index.shape, *table.shape[1:])
