"""ContEA, whole: fit, update and candidates on top of the encoder.

Wang, Cui, Liu, Sun, Jiang, Han, Hu: Facing Changes: Continual Entity Alignment for Growing
Knowledge Graphs. ISWC 2022.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray

from everalign.graph import Graph, IntArray, UnionGraph, unite
from everalign.matching import Candidates
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.contea.stages import FineTuning, Training
from everalign.methods.neural.chance import Chance
from everalign.methods.neural.encoder import Encoder
from everalign.methods.neural.finding import nearest_pairs
from everalign.methods.neural.growth import inductive_start, take_over
from everalign.methods.neural.seeds import seeds_and_validation
from everalign.methods.neural.sizes import Sizes
from everalign.methods.neural.training import Nodes, Schedule, rmsprop, train
from everalign.methods.protocol import Arrays, Problem
from everalign.progress import Progress


class ContEA:
    """Continual entity alignment by a graph neural network that is fine-tuned, not retrained."""

    def __init__(self, settings: ContEASettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.updates = 0
        self._united: tuple[tuple[Graph, Graph], UnionGraph] | None = None
        self.notes: tuple[str, ...] = ()

    def fit(self, problem: Problem, progress: Progress) -> None:
        s, chance = self.settings, Chance(self.seed, self.updates)
        graph = self._union(problem)
        self._sizes = Sizes.of(problem)
        self.encoder = self._new_encoder(chance)
        self._start(problem, np.arange(graph.nodes, dtype=np.int32))
        seeds, valid = seeds_and_validation(problem, chance.numpy)
        schedule = Schedule(s.max_epochs, s.validate_every, s.patience)
        stage = Training(self.encoder, graph, seeds, s, chance)
        train(stage, rmsprop(stage, s.learning_rate), valid, schedule, chance.numpy, progress)
        if s.bootstrap > 0:
            found = self.candidates(problem, progress)
            sure = _nodes(found.best(round(s.bootstrap * len(found))), graph)
            schedule = replace(schedule, max_epochs=s.bootstrap_epochs)
            stage = Training(self.encoder, graph, np.concatenate([seeds, sure]), s, chance)
            learner = rmsprop(stage, s.learning_rate / 2)
            train(stage, learner, valid, schedule, chance.numpy, progress)

    def update(self, problem: Problem, progress: Progress) -> None:
        self.updates += 1
        self.notes = self._reasons_to_retrain(problem)
        if self.settings.retrain or self.notes:
            self.fit(problem, progress)
            return
        s, chance = self.settings, Chance(self.seed, self.updates)
        graph = self._union(problem)
        new = self._grow(problem, graph, chance)
        seeds, valid = seeds_and_validation(problem, chance.numpy)
        replayed = seeds[_near(graph, new)[seeds].any(axis=1)] if s.replay else seeds[:0]
        trusted = _nodes(problem.links.best(s.trusted), graph)
        if len(new) == 0 or len(replayed) + len(trusted) == 0:
            return
        schedule = Schedule(s.update_max_epochs, 1, s.patience)
        stage = FineTuning(self.encoder, graph, new, replayed, trusted, s, chance)
        learner = rmsprop(stage, s.update_learning_rate)
        train(stage, learner, valid, schedule, chance.numpy, progress)
        self.encoder.entity.data.copy_(stage.entity())

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        vectors = self.vectors(problem)
        found = nearest_pairs(
            problem, vectors, neighbours=self.settings.neighbours, progress=progress
        )
        return replace(found, notes=self.notes)

    def vectors(self, problem: Problem) -> NDArray[np.float32]:
        """The vectors of all nodes of the union graph."""
        return self.encoder.all_vectors(self._union(problem)).numpy()

    def save(self) -> Arrays:
        values = {name: value.numpy() for name, value in self.encoder.state_dict().items()}
        return {**values, "sizes": np.array(self._sizes), "updates": np.array(self.updates)}

    def load(self, arrays: Arrays) -> None:
        self._sizes = Sizes(*arrays["sizes"].tolist())
        self.updates = int(arrays["updates"])
        self.encoder = self._new_encoder(Chance(0))
        names = self.encoder.state_dict().keys()
        self.encoder.load_state_dict({n: torch.from_numpy(arrays[n]) for n in names})

    def _new_encoder(self, chance: Chance) -> Encoder:
        s = self.settings
        return Encoder(
            self._sizes.nodes,
            self._sizes.directed,
            dim=s.dim,
            depth=s.depth,
            proxies=s.proxies,
            generator=chance.torch,
        )

    def _grow(self, problem: Problem, graph: UnionGraph, chance: Chance) -> IntArray:
        """Make room for new entities and relations and start them; returns the new nodes."""
        before, self._sizes = self._sizes, Sizes.of(problem)
        learned, self.encoder = self.encoder, self._new_encoder(chance)
        values = {name: value.numpy() for name, value in learned.state_dict().items()}
        known = take_over(self.encoder, values, before, self._sizes)
        inductive_start(graph, self.encoder.entity.detach().numpy(), known)
        new = np.flatnonzero(~known).astype(np.int32)
        self._start(problem, new)
        return new

    def _start(self, problem: Problem, new: IntArray) -> None:
        """Where new nodes start, if something better than chance and neighbours is known."""

    def _reasons_to_retrain(self, problem: Problem) -> tuple[str, ...]:
        """A full pass, and what fine-tuning cannot unlearn: links that were trusted, or a good
        part of a graph."""
        told = ["trained anew: a full pass was asked for"] if problem.full else []
        if problem.lost_links:
            told.append(f"trained anew: links that are not trusted any more: {problem.lost_links}")
        triples = len(problem.left.triples) + len(problem.right.triples)
        if problem.lost_triples > self.settings.unlearnable * (triples + problem.lost_triples):
            told.append(f"trained anew: triples that were removed: {problem.lost_triples}")
        return tuple(told)

    def _union(self, problem: Problem) -> UnionGraph:
        """The union graph of the problem, made once for fitting and searching."""
        key = (problem.left, problem.right)
        if self._united is None or any(
            a is not b for a, b in zip(self._united[0], key, strict=True)
        ):
            self._united = (key, unite(*key))
        return self._united[1]


def _nodes(pairs: Candidates, graph: UnionGraph) -> Nodes:
    """Candidates as pairs of nodes."""
    return np.stack([pairs.left, pairs.right + graph.left_nodes], axis=1)


def _near(graph: UnionGraph, new: IntArray) -> NDArray[np.bool_]:
    """Which nodes are a neighbour of a new one."""
    is_new = np.zeros(graph.nodes, dtype=np.bool_)
    is_new[new] = True
    near = np.zeros(graph.nodes, dtype=np.bool_)
    near[graph.target[is_new[graph.source]]] = True
    return near
