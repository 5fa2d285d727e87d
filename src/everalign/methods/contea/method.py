"""ContEA: fit, update and candidates on top of the encoder.

Wang, Cui, Liu, Sun, Jiang, Han, Hu: Facing Changes: Continual Entity Alignment for Growing
Knowledge Graphs. ISWC 2022.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from everalign._progress import Progress
from everalign.graph import Graph, IntArray, UnionGraph, build_union_graph
from everalign.matching import CandidatePairs
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.contea.stages import FineTuning, InitialTraining
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.initialisation import (
    GraphShape,
    initialise_from_neighbours,
    transfer_parameters,
)
from everalign.methods.neural.pairs import (
    NodeArray,
    ValidationPairs,
    find_candidates,
    prepare_pairs,
)
from everalign.methods.neural.training import (
    RandomGenerators,
    TrainingSchedule,
    create_rmsprop,
    train_with_early_stopping,
)

# The second round starts from good parameters: it needs few epochs, at half the learning rate.
# Both were chosen on validation links.
BOOTSTRAP_EPOCHS = 6
BOOTSTRAP_RATE_FACTOR = 0.5


class ContEA:
    """Continual entity alignment by a graph neural network that is fine-tuned, not retrained.

    Args:
        settings: Settings.
        seed: Random seed.
    """

    def __init__(self, settings: ContEASettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.updates = 0
        self.notes: tuple[str, ...] = ()
        self._cached_union: tuple[tuple[Graph, Graph], UnionGraph] | None = None

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Train from scratch, then a second round with the best links found as seeds.

        Args:
            task: The alignment task.
            progress: Called while training.
        """
        settings, random = self.settings, RandomGenerators(self.seed, self.updates)
        graph = self._get_union_graph(task)
        self._shape = GraphShape.from_task(task)
        self.encoder = self._create_encoder(random)
        self._initialise_entities(task, np.arange(graph.node_count, dtype=np.int32))
        seeds, validation = prepare_pairs(task, random.numpy)
        schedule = TrainingSchedule(
            settings.max_epochs, settings.validate_every, settings.patience
        )
        stage = InitialTraining(self.encoder, graph, seeds, settings, random)
        optimiser = create_rmsprop(stage, settings.learning_rate)
        train_with_early_stopping(stage, optimiser, validation, schedule, random.numpy, progress)
        # Validated on the same links, and the parameters before it are the first candidate: a
        # round that does not help is undone.
        if settings.bootstrap > 0:
            found = self.candidates(task, progress)
            best = found.best(round(settings.bootstrap * len(found)))
            stage.seeds = np.concatenate([seeds, _list_node_pairs(best, graph)])
            optimiser = create_rmsprop(stage, settings.learning_rate * BOOTSTRAP_RATE_FACTOR)
            schedule = replace(schedule, max_epochs=BOOTSTRAP_EPOCHS)
            train_with_early_stopping(
                stage, optimiser, validation, schedule, random.numpy, progress
            )

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Initialise new entities and fine-tune, or retrain if fine-tuning is not enough.

        Args:
            task: The alignment task after the change.
            progress: Called while training.
        """
        # Part of the seed: each update draws other random numbers.
        self.updates += 1
        self.notes = self._list_reasons_to_retrain(task)
        if self.settings.retrain or self.notes:
            self.fit(task, progress)
            return
        random = RandomGenerators(self.seed, self.updates)
        graph = self._get_union_graph(task)
        new_nodes = self._grow_encoder(task, graph, random)
        seeds, validation = prepare_pairs(task, random.numpy)
        if not self.settings.replay:
            seeds = seeds[:0]
        affected_seeds = seeds[_is_next_to(graph, new_nodes)[seeds].any(axis=1)]
        trusted_links = _list_node_pairs(task.previous_links.best(self.settings.trusted), graph)
        # Otherwise, new triples only change the graph that vectors are computed on.
        if len(new_nodes) > 0 and len(affected_seeds) + len(trusted_links) > 0:
            pairs = affected_seeds, trusted_links
            stage = FineTuning(self.encoder, graph, new_nodes, *pairs, self.settings, random)
            self._fine_tune(stage, validation, random, progress)

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Find the unlinked entities that are each other's best match by CSLS.

        Args:
            task: The alignment task.
            progress: Called while the search runs.

        Returns:
            Candidate pairs with their CSLS as score.
        """
        found = find_candidates(
            task, self.vectors(task), neighbours=self.settings.neighbours, progress=progress
        )
        return replace(found, notes=self.notes)

    def vectors(self, task: AlignmentTask) -> NDArray[np.float32]:
        """Compute the vectors of all nodes of the union graph.

        Args:
            task: The alignment task.

        Returns:
            A row for each left entity, then for each right entity.
        """
        return self.encoder.compute_all_vectors(self._get_union_graph(task)).numpy()

    def save(self) -> StateArrays:
        """Save what was learned.

        Returns:
            Arrays by name, for `load`.
        """
        parameters = {name: value.numpy() for name, value in self.encoder.state_dict().items()}
        # Rows of the tables have a meaning only with the shape that they were made for.
        return {**parameters, "sizes": np.array(self._shape), "updates": np.array(self.updates)}

    def load(self, arrays: StateArrays) -> None:
        """Load what `save` returned.

        Args:
            arrays: Arrays by name.
        """
        self._shape = GraphShape(*arrays["sizes"].tolist())
        self.updates = int(arrays["updates"])
        # The seed does not matter: every parameter is replaced.
        self.encoder = self._create_encoder(RandomGenerators(0))
        names = self.encoder.state_dict().keys()
        self.encoder.load_state_dict({name: torch.from_numpy(arrays[name]) for name in names})

    def _create_encoder(self, random: RandomGenerators) -> Encoder:
        return Encoder(
            self._shape.node_count,
            self._shape.directed_relation_count,
            dim=self.settings.dim,
            depth=self.settings.depth,
            proxies=self.settings.proxies,
            generator=random.torch,
        )

    def _grow_encoder(
        self, task: AlignmentTask, graph: UnionGraph, random: RandomGenerators
    ) -> IntArray:
        """Add rows for new entities and relations and initialise them; returns the new nodes."""
        before, self._shape = self._shape, GraphShape.from_task(task)
        learned = {name: value.numpy() for name, value in self.encoder.state_dict().items()}
        # Made anew, since right rows move when the left graph grows. What neither of the next two
        # steps fills, entities that are connected to no known one, stays random.
        self.encoder = self._create_encoder(random)
        is_known = transfer_parameters(self.encoder, learned, before, self._shape)
        # The array shares its memory with the parameter, so the parameter is filled.
        initialise_from_neighbours(graph, self.encoder.entity.detach().numpy(), is_known)
        new_nodes = np.flatnonzero(~is_known).astype(np.int32)
        self._initialise_entities(task, new_nodes)
        return new_nodes

    def _initialise_entities(self, task: AlignmentTask, new_nodes: IntArray) -> None:
        """For subclasses: initialise entities by more than random numbers and neighbours."""

    def _fine_tune(
        self,
        stage: FineTuning,
        validation: ValidationPairs,
        random: RandomGenerators,
        progress: Progress,
    ) -> None:
        schedule = TrainingSchedule(
            self.settings.update_max_epochs, validate_every=1, patience=self.settings.patience
        )
        optimiser = create_rmsprop(stage, self.settings.update_learning_rate)
        train_with_early_stopping(stage, optimiser, validation, schedule, random.numpy, progress)
        # The stage has trained a copy of the new rows: only now are they the encoder's.
        self.encoder.entity.data.copy_(stage.build_entity())

    def _list_reasons_to_retrain(self, task: AlignmentTask) -> tuple[str, ...]:
        """A full pass, or what fine-tuning cannot unlearn: removed links, many removed triples."""
        reasons = ["retrained from scratch: full pass requested"] if task.rescore_all else []
        if task.removed_link_count:
            reasons.append(
                f"retrained from scratch: trusted links removed: {task.removed_link_count}"
            )
        # Triples that were added since count as well: the share is rather too small than too
        # large.
        triples_before = (
            len(task.left.triples) + len(task.right.triples) + task.removed_triple_count
        )
        if task.removed_triple_count > self.settings.max_removed_share * triples_before:
            reasons.append(f"retrained from scratch: triples removed: {task.removed_triple_count}")
        return tuple(reasons)

    def _get_union_graph(self, task: AlignmentTask) -> UnionGraph:
        """The union graph of the task, built once for training and matching."""
        graphs = (task.left, task.right)
        # Graphs are immutable: the same objects mean the same triples.
        if self._cached_union is None or any(
            cached is not graph
            for cached, graph in zip(self._cached_union[0], graphs, strict=True)
        ):
            self._cached_union = (graphs, build_union_graph(*graphs))
        return self._cached_union[1]


def _list_node_pairs(pairs: CandidatePairs, graph: UnionGraph) -> NodeArray:
    """Pairs of entities as pairs of nodes."""
    return np.stack([pairs.left, pairs.right + graph.left_node_count], axis=1)


def _is_next_to(graph: UnionGraph, nodes: IntArray) -> NDArray[np.bool_]:
    """Which nodes of the graph are a neighbour of one of `nodes`."""
    is_member = np.zeros(graph.node_count, dtype=np.bool_)
    is_member[nodes] = True
    is_neighbour = np.zeros(graph.node_count, dtype=np.bool_)
    is_neighbour[graph.target[is_member[graph.source]]] = True
    return is_neighbour
