"""What the convolutional baselines are made of, on numbers that a person can check."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everalign.graph import Graph, unite

torch = pytest.importorskip("torch")

from everalign.methods.baselines.attention import Pairs, attend, two_steps  # noqa: E402
from everalign.methods.baselines.convolution import (  # noqa: E402
    implied_edges,
    mean_adjacency,
    normalised_adjacency,
    spread,
)
from everalign.methods.baselines.gcn_align import telling  # noqa: E402
from everalign.methods.baselines.ke_gcn import Score  # noqa: E402
from everalign.methods.baselines.margin import (  # noqa: E402
    Compared,
    contrastive,
    margin_ranking,
)

PATH = unite(Graph.of([(0, 0, 1), (1, 0, 2)]), Graph.empty())


def test_normalised_adjacency_of_a_path() -> None:
    # With themselves, the ends have degree 2 and the middle has degree 3.
    side, end, middle = 6**-0.5, 1 / 2, 1 / 3
    expected = [[end, side, 0], [side, middle, side], [0, side, end]]
    matrix = normalised_adjacency(PATH).matrix.to_dense()
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)


def test_a_mean_of_neighbours_and_half_of_oneself() -> None:
    matrix = mean_adjacency(PATH).matrix.to_dense()
    expected = [[1 / 3, 2 / 3, 0], [0.4, 0.2, 0.4], [0, 2 / 3, 1 / 3]]
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)


def test_the_gradient_goes_back_along_the_edges_also_where_weights_differ_by_direction() -> None:
    adjacency = mean_adjacency(PATH, np.array([1, 3, 0.5, 2], dtype=np.float32))
    x = torch.eye(3, requires_grad=True)
    (grad,) = torch.autograd.grad(spread(adjacency, x)[0].sum(), x)
    np.testing.assert_allclose(grad[:, 0], adjacency.matrix.to_dense()[0], rtol=1e-6)


def test_an_edge_tells_as_much_as_its_relation_has_targets_per_edge() -> None:
    # Two entities lead to one: forwards two edges share a target, backwards each has its own.
    graph = unite(Graph.of([(0, 0, 2), (1, 0, 2)]), Graph.empty())
    assert telling(graph).tolist() == [0.5, 0.5, 1, 1]


def test_an_edge_of_two_relations_tells_what_both_tell() -> None:
    graph = unite(Graph.of([(0, 0, 1), (0, 1, 1)]), Graph.empty())
    assert telling(graph).tolist() == [2, 2]


@pytest.fixture
def compared() -> Compared:
    """The pair (0, 2), with node 3 as a wrong partner of 0 and node 1 as one of 2."""
    return Compared(*(torch.tensor(rows) for rows in ([0], [2], [[3]], [[1]])))


X = [[0.0, 0.0], [4.0, 4.0], [1.0, 0.0], [0.0, 2.0]]  # nodes 0 and 1 left, 2 and 3 right


def test_margin_ranking_on_known_numbers(compared: Compared) -> None:
    # The pair is 1 apart, 0 and 3 are 2 apart, 2 and 1 are 7 apart: [3+1−2]₊ + [3+1−7]₊.
    assert float(margin_ranking(torch.tensor(X), compared, 3)) == 2


def test_contrastive_on_known_numbers(compared: Compared) -> None:
    # The pair is 1 apart, 0 and 3 are 2 apart, 2 and 1 are 5 apart: 1 + 0.1·([2.5−2]₊ + 0).
    loss = contrastive(torch.tensor(X), compared, 2.5, 0.1)
    assert float(loss) == pytest.approx(1.05)


def test_nodes_two_steps_away_are_no_neighbours_and_one_without_any_sees_itself() -> None:
    pairs = two_steps(PATH, 5, 5)
    assert (pairs.row.tolist(), pairs.column.tolist()) == ([0, 1, 2], [2, 1, 0])


def test_attention_is_shared_by_how_well_the_asked_fit() -> None:
    pairs = Pairs(np.array([0, 0]), np.array([0, 1]), 2)
    asking, asked = torch.ones((2, 1)), torch.tensor([[0.0], [math.log(3)]])
    x = torch.tensor([[4.0], [8.0]])  # a quarter of the first and three quarters of the second
    assert attend(pairs, asking, asked, x).tolist() == [[pytest.approx(7)], [0]]


def test_the_gradients_of_one_triple() -> None:
    # Both entities have a triple and themselves, so it counts w = 1/2; h + r − t = 0 + 1 − 3.
    score = Score(np.array([[0, 0, 1]]), 2, 1)
    entity, relation = score.gradients(torch.tensor([[0.0], [3.0]]), torch.tensor([[1.0]]))
    assert entity.tolist() == [[pytest.approx(1)], [pytest.approx(-1)]]
    assert relation.tolist() == [[pytest.approx(1)]]


def test_seeds_with_connected_partners_are_connected() -> None:
    """Left 0 – 1 – 2, right 3, 4, 5 with 3 – 5 only; the seeds are 0, 3 and 1, 4 and 2, 5."""
    left, right = Graph.of([(0, 0, 1), (1, 0, 2)]), Graph.of([(0, 0, 2), (1, 0, 1)])
    graph = unite(left, right)
    source, target = implied_edges(graph, np.array([(0, 3), (1, 4), (2, 5)]))
    found = set(zip(source.tolist(), target.tolist(), strict=True))
    assert {(0, 2), (2, 0), (3, 4), (4, 3), (4, 5), (5, 4)} == {(a, b) for a, b in found if a != b}
    assert implied_edges(graph, np.empty((0, 2), dtype=np.int64))[0].tolist() == []
