"""Parts of the translational baselines, on numbers that can be checked by hand."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from everalign.graph import Graph  # noqa: E402
from everalign.methods import AlignmentTask  # noqa: E402
from everalign.methods.baselines.aligne import (  # noqa: E402
    add_swapped_triples,
    compute_limit_based_loss,
)
from everalign.methods.baselines.base import TrainingProblem  # noqa: E402
from everalign.methods.baselines.mtranse import (  # noqa: E402
    MTransE,
    MTransESettings,
    select_unit_rows,
    sum_squares,
)
from everalign.methods.baselines.negatives import EntityReplacer  # noqa: E402
from everalign.methods.neural.training import RandomGenerators  # noqa: E402


def test_limit_loss_counts_only_what_is_beyond_the_limits() -> None:
    positive, negative = torch.tensor([0.0, 0.51]), torch.tensor([[3.0, 1.5], [2.0, 0.0]])
    assert float(compute_limit_based_loss(positive, negative)) == pytest.approx(
        0.5 + 0.2 * (0.5 + 2.0)
    )


def test_only_the_direction_of_a_row_counts() -> None:
    table = torch.tensor([[3.0, 4.0], [0.0, 0.5]])
    rows = select_unit_rows(table, np.array([[0, 1], [1, 1]]))
    assert torch.allclose(rows[0], torch.tensor([[0.6, 0.8], [0.0, 1.0]]))
    assert float(sum_squares(rows[0, 0] - rows[1, 0])) == pytest.approx(0.6**2 + 0.2**2)


def test_seeds_share_their_triples() -> None:
    """Nodes 0, 1, 2 are on the left, 3 and 4 on the right; 1 and 3 are the same."""
    triples = np.array([(0, 0, 1), (1, 0, 2), (3, 1, 4)])
    added = [(0, 0, 3), (3, 0, 2), (1, 1, 4)]
    found = add_swapped_triples(triples, np.array([(1, 3)]))
    assert set(map(tuple, found.tolist())) == {*map(tuple, triples.tolist()), *added}


def test_an_entity_of_two_seeds_is_swapped_with_both_partners() -> None:
    found = add_swapped_triples(np.array([(0, 0, 1)]), np.array([(1, 3), (1, 4)]))
    assert found.tolist() == [[0, 0, 1], [0, 0, 3], [0, 0, 4]]


def test_without_seeds_the_triples_stay_as_they_are() -> None:
    triples = np.array([(0, 0, 1), (1, 0, 2)])
    assert (
        add_swapped_triples(triples, np.empty((0, 2), dtype=np.int64)).tolist() == triples.tolist()
    )


def test_replacements_are_of_the_same_graph_and_then_of_its_nearest() -> None:
    """Left nodes stand at 0°, 10°, 90° and 100°, right ones at 0°, 5°, 90° and 120°."""
    angle = torch.deg2rad(torch.tensor([0.0, 10.0, 90.0, 100.0, 0.0, 5.0, 90.0, 120.0]))
    unit = torch.stack([angle.cos(), angle.sin()], dim=1)
    nodes, rng = np.arange(8), np.random.default_rng(0)
    replacer = EntityReplacer(4, 4)
    drawn = replacer.draw_replacements(nodes, 200, rng)
    assert [set(row) for row in drawn.tolist()] == [{0, 1, 2, 3}] * 4 + [{4, 5, 6, 7}] * 4
    replacer.refresh_nearest(unit, 0.25, rng)
    drawn = replacer.draw_replacements(nodes, 5, rng)
    assert [set(row) for row in drawn.tolist()] == [{1}, {0}, {3}, {2}, {5}, {4}, {7}, {6}]
    replacer.refresh_nearest(unit, 0.5, rng)
    assert set(replacer.draw_replacements(nodes[:1], 50, rng)[0].tolist()) == {1, 2}


def test_left_vectors_are_mapped() -> None:
    graph = Graph.from_triples([(0, 0, 1)])
    pairs = np.zeros((0, 2), dtype=np.int32)
    task = AlignmentTask(graph, graph, seeds=pairs, validation=pairs)
    problem = TrainingProblem(task, pairs.astype(np.int64))
    model = MTransE(problem, MTransESettings(dim=2), RandomGenerators(0))
    with torch.no_grad():
        model.entity.copy_(torch.tensor([[1.0, 0.0], [0.0, 1.0], [0.0, 2.0], [1.0, 0.0]]))
        model.map.copy_(torch.tensor([[0.0, -1.0], [1.0, 0.0]]))  # a quarter turn
    expected = torch.tensor([[0.0, 1.0], [-1.0, 0.0], [0.0, 1.0], [1.0, 0.0]])
    assert torch.allclose(model.compute_all_vectors(), expected)
