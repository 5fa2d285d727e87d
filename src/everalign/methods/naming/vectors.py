"""A vector for the name of each entity, reduced to as many numbers as ContEA's have."""

from __future__ import annotations

from typing import Any

import numpy as np

from everalign.literals import name_vectors, named_entities, texts_as_rows
from everalign.literals.matches import Floats32
from everalign.literals.naming import NamedEntities
from everalign.literals.vectors import refuse_other_space
from everalign.matching import unit
from everalign.methods.naming.settings import NameSettings
from everalign.methods.protocol import Problem

EXTRA = 20  # more directions than are wanted, so that the wanted ones come out well
ROUNDS = 4


def vectors_of_names(problem: Problem, settings: NameSettings, dim: int) -> Floats32:
    """A row per node of the union graph, of length 1; 0 for entities without a name.

    From word vectors if there are files of them, else from the pieces of the Latin form.
    """
    sides = (problem.left, problem.left_values), (problem.right, problem.right_values)
    left, right = (
        named_entities(values, np.arange(graph.entities, dtype=np.int32))
        for graph, values in sides
    )
    vectors = np.zeros((problem.left.entities + problem.right.entities, dim), dtype=np.float32)
    if not len(left.entity) or not len(right.entity):
        return vectors
    both = _of_words(left, right, settings) if settings.left_vectors else _of_pieces(left, right)
    reduced = _reduced(both, dim)
    vectors[left.entity] = reduced[left.name]
    vectors[problem.left.entities + right.entity] = reduced[len(left.texts) + right.name]
    return vectors


def _of_words(left: NamedEntities, right: NamedEntities, settings: NameSettings) -> object:
    one, two = (
        name_vectors(side.texts.raw, path)
        for side, path in ((left, settings.left_vectors), (right, settings.right_vectors))
    )
    refuse_other_space(one, two)
    return np.concatenate([one, two])


def _of_pieces(left: NamedEntities, right: NamedEntities) -> object:
    from scipy.sparse import csr_array, vstack

    one, two, columns = texts_as_rows(left.texts, right.texts)
    return vstack(
        [
            csr_array((rows.weight, rows.column, rows.start), shape=(rows.rows, columns))
            for rows in (one, two)
        ]
    )


def _reduced(rows: object, dim: int) -> Floats32:
    """The rows along their `dim` strongest directions (a singular value decomposition).

    The directions are found from random ones, which are pulled towards the strong ones.
    """
    matrix: Any = rows
    wanted = min(dim + EXTRA, *matrix.shape)
    span = np.random.default_rng(0).normal(size=(matrix.shape[1], wanted))
    for _ in range(ROUNDS):
        span, _ = np.linalg.qr(matrix.T @ (matrix @ span))
    around = matrix @ span
    _, _, directions = np.linalg.svd(around, full_matrices=False)
    found = np.zeros((matrix.shape[0], dim), dtype=np.float32)
    kept = (around @ directions.T)[:, :dim]
    found[:, : kept.shape[1]] = kept
    return unit(found)
