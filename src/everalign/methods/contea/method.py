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
from everalign.matching import Candidates, mutual_best
from everalign.methods.contea.encoder import Encoder
from everalign.methods.contea.inductive import inductive_start
from everalign.methods.contea.settings import ContEASettings
from everalign.methods.contea.sizes import Sizes
from everalign.methods.contea.stages import Chance, FineTuning, Training
from everalign.methods.contea.training import Nodes, Schedule, train
from everalign.methods.contea.validation import Validation
from everalign.methods.protocol import Arrays, Problem
from everalign.progress import Progress

HELD_OUT = 0.1  # of the seeds, where no validation pairs are given
CHUNK = 16384  # nodes encoded at a time


class ContEA:
    """Continual entity alignment by a graph neural network that is fine-tuned, not retrained."""

    def __init__(self, settings: ContEASettings, seed: int) -> None:
        self.settings = settings
        self.seed = seed
        self.updates = 0
        self._united: tuple[tuple[Graph, Graph], UnionGraph] | None = None

    def fit(self, problem: Problem, progress: Progress) -> None:
        s, chance = self.settings, Chance(self.seed, self.updates)
        graph = self._union(problem)
        self._sizes = Sizes.of(problem)
        self.encoder = self._new_encoder(chance)
        seeds, valid = _seeds_and_validation(problem, chance.numpy)
        schedule = Schedule(s.batch, s.learning_rate, s.max_epochs, s.validate_every, s.patience)
        stage = Training(self.encoder, graph, s, chance)
        train(stage, seeds, valid, schedule, chance.numpy, progress)
        if s.bootstrap > 0:
            found = self.candidates(problem, progress)
            sure = _nodes(found.best(round(s.bootstrap * len(found))), graph)
            schedule = replace(
                schedule, learning_rate=s.learning_rate / 2, max_epochs=s.bootstrap_epochs
            )
            train(stage, np.concatenate([seeds, sure]), valid, schedule, chance.numpy, progress)

    def update(self, problem: Problem, progress: Progress) -> None:
        self.updates += 1
        if self.settings.retrain:
            self.fit(problem, progress)
            return
        s, chance = self.settings, Chance(self.seed, self.updates)
        graph = self._union(problem)
        new = self._grow(problem, graph, chance)
        seeds, valid = _seeds_and_validation(problem, chance.numpy)
        replayed = seeds[_near(graph, new)[seeds].any(axis=1)] if s.replay else seeds[:0]
        trusted = _nodes(problem.links.best(s.trusted), graph)
        if len(new) == 0 or len(replayed) + len(trusted) == 0:
            return
        schedule = Schedule(
            s.update_batch, s.update_learning_rate, s.update_max_epochs, 1, s.patience
        )
        stage = FineTuning(self.encoder, graph, new, trusted, s, chance)
        train(stage, replayed, valid, schedule, chance.numpy, progress)
        self.encoder.entity.data.copy_(stage.entity())

    def candidates(self, problem: Problem, progress: Progress) -> Candidates:
        left, right = problem.free()
        of_left, of_right = self.vectors(problem)
        pairs = mutual_best(
            of_left[left],
            of_right[right],
            neighbours=self.settings.neighbours,
            progress=progress,
        )
        return Candidates.of(left[pairs.left], right[pairs.right], pairs.score)

    def vectors(self, problem: Problem) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        """The vectors of all left and of all right entities."""
        left, right = np.split(self._encode(self._union(problem)), [problem.left.entities])
        return left, right

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
        old, self.encoder = self.encoder, self._new_encoder(chance)
        values = old.state_dict()
        known = before.nodes_in(self._sizes)
        with torch.no_grad():
            self.encoder.entity[known] = values.pop("entity")
            relation = values.pop("relation")
            self.encoder.relation[:] = relation.mean(0)  # what a new relation starts from
            self.encoder.relation[before.directed_in(self._sizes)] = relation
        self.encoder.load_state_dict(values, strict=False)
        is_known = np.zeros(graph.nodes, dtype=np.bool_)
        is_known[known] = True
        inductive_start(graph, self.encoder.entity.detach().numpy(), is_known)
        return np.flatnonzero(~is_known).astype(np.int32)

    def _encode(self, graph: UnionGraph) -> NDArray[np.float32]:
        """The vectors of all nodes."""
        out = np.empty((graph.nodes, self.encoder.width), dtype=np.float32)
        with torch.no_grad():
            views = self.encoder.views(graph, np.arange(graph.nodes, dtype=np.int32))
            for first in range(0, graph.nodes, CHUNK):
                part = slice(first, first + CHUNK)
                out[part] = self.encoder.cross([view[part] for view in views]).numpy()
        return out

    def _union(self, problem: Problem) -> UnionGraph:
        """The union graph of the problem, made once for fitting and searching."""
        key = (problem.left, problem.right)
        if self._united is None or any(
            a is not b for a, b in zip(self._united[0], key, strict=True)
        ):
            self._united = (key, unite(*key))
        return self._united[1]


def _seeds_and_validation(problem: Problem, rng: np.random.Generator) -> tuple[Nodes, Validation]:
    """Pairs of nodes to learn from and to judge with; part of the seeds, if none are given."""
    shift = np.array([0, problem.left.entities])
    seeds, valid = problem.seeds + shift, problem.valid + shift
    if len(valid) == 0:
        order = np.random.default_rng(len(seeds)).permutation(len(seeds))  # the same every time
        held_out = max(1, round(HELD_OUT * len(seeds))) if len(seeds) > 1 else 0
        valid, seeds = seeds[order[:held_out]], seeds[order[held_out:]]
    left, right = problem.free()
    return seeds, Validation.draw(valid, left, right + problem.left.entities, rng)


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
