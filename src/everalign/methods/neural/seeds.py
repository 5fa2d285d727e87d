"""What a neural method learns from, and what it is judged with while it learns."""

from __future__ import annotations

import numpy as np

from everalign.methods.neural.training import Nodes
from everalign.methods.neural.validation import Validation
from everalign.methods.protocol import Problem

HELD_OUT = 0.1  # of the seeds, where no validation pairs are given


def seeds_and_validation(problem: Problem, rng: np.random.Generator) -> tuple[Nodes, Validation]:
    """Pairs of nodes to learn from and to judge with; part of the seeds, if none are given."""
    seeds, valid = split(problem)
    left, right = problem.free()
    return seeds, Validation.draw(valid, left, right + problem.left.entities, rng)


def split(problem: Problem) -> tuple[Nodes, Nodes]:
    """Pairs of nodes to learn from, and those to judge with: the same ones every time."""
    shift = np.array([0, problem.left.entities])
    seeds, valid = problem.seeds + shift, problem.valid + shift
    if len(valid) == 0:
        order = np.random.default_rng(len(seeds)).permutation(len(seeds))
        held_out = max(1, round(HELD_OUT * len(seeds))) if len(seeds) > 1 else 0
        valid, seeds = seeds[order[:held_out]], seeds[order[held_out:]]
    return seeds, valid
