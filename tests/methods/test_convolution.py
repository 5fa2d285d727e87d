"""Parts of the convolutional baselines, on numbers that can be checked by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from everalign.graph import Graph, build_union_graph

torch = pytest.importorskip("torch")

from everalign.methods.baselines.alinet import (  # noqa: E402
    AttentionPairs,
    attend_along_pairs,
    find_two_hop_pairs,
)
from everalign.methods.baselines.convolution import (  # noqa: E402
    build_mean_adjacency,
    build_normalised_adjacency,
    find_implied_edges,
)
from everalign.methods.baselines.gcn_align import compute_edge_functionality  # noqa: E402
from everalign.methods.baselines.ke_gcn import TripleScore  # noqa: E402
from everalign.methods.baselines.losses import (  # noqa: E402
    ComparedPairs,
    compute_contrastive_loss,
    compute_margin_ranking_loss,
)

PATH = build_union_graph(Graph.from_triples([(0, 0, 1), (1, 0, 2)]), Graph.empty())


def test_normalised_adjacency_of_a_path() -> None:
    # With themselves, the ends have degree 2 and the middle has degree 3.
    side, end, middle = 6**-0.5, 1 / 2, 1 / 3
    expected = [[end, side, 0], [side, middle, side], [0, side, end]]
    matrix = build_normalised_adjacency(PATH).matrix.to_dense()
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)


def test_mean_adjacency_counts_a_node_half() -> None:
    matrix = build_mean_adjacency(PATH).matrix.to_dense()
    expected = [[1 / 3, 2 / 3, 0], [0.4, 0.2, 0.4], [0, 2 / 3, 1 / 3]]
    np.testing.assert_allclose(matrix, expected, rtol=1e-6)


def test_gradient_uses_the_transpose_where_weights_differ_by_direction() -> None:
    adjacency = build_mean_adjacency(PATH, np.array([1, 3, 0.5, 2], dtype=np.float32))
    x = torch.eye(3, requires_grad=True)
    (grad,) = torch.autograd.grad(adjacency.aggregate_rows(x)[0].sum(), x)
    np.testing.assert_allclose(grad[:, 0], adjacency.matrix.to_dense()[0], rtol=1e-6)


def test_functionality_of_an_edge_is_targets_per_edge_of_its_relation() -> None:
    # Two entities lead to one: forwards two edges share a target, backwards each has its own.
    graph = build_union_graph(Graph.from_triples([(0, 0, 2), (1, 0, 2)]), Graph.empty())
    assert compute_edge_functionality(graph).tolist() == [0.5, 0.5, 1, 1]


def test_functionality_of_an_edge_is_the_sum_over_its_relations() -> None:
    graph = build_union_graph(Graph.from_triples([(0, 0, 1), (0, 1, 1)]), Graph.empty())
    assert compute_edge_functionality(graph).tolist() == [2, 2]


@pytest.fixture
def pairs() -> ComparedPairs:
    """The pair (0, 2), with node 3 as a wrong partner of 0 and node 1 as one of 2."""
    return ComparedPairs(*(torch.tensor(rows) for rows in ([0], [2], [[3]], [[1]])))


X = [[0.0, 0.0], [4.0, 4.0], [1.0, 0.0], [0.0, 2.0]]  # nodes 0 and 1 left, 2 and 3 right


def test_margin_ranking_loss(pairs: ComparedPairs) -> None:
    # The pair is 1 apart, 0 and 3 are 2 apart, 2 and 1 are 7 apart: [3+1−2]₊ + [3+1−7]₊.
    assert float(compute_margin_ranking_loss(torch.tensor(X), pairs, 3)) == 2


def test_contrastive_loss(pairs: ComparedPairs) -> None:
    # The pair is 1 apart, 0 and 3 are 2 apart, 2 and 1 are 5 apart: 1 + 0.1·([2.5−2]₊ + 0).
    loss = compute_contrastive_loss(torch.tensor(X), pairs, 2.5, 0.1)
    assert float(loss) == pytest.approx(1.05)


def test_two_hop_pairs_leave_out_neighbours_and_pair_a_lonely_node_with_itself() -> None:
    pairs = find_two_hop_pairs(PATH, 5, 5)
    assert (pairs.row.tolist(), pairs.column.tolist()) == ([0, 1, 2], [2, 1, 0])


def test_attention_is_the_softmax_of_the_products() -> None:
    pairs = AttentionPairs(np.array([0, 0]), np.array([0, 1]), 2)
    queries, keys = torch.ones((2, 1)), torch.tensor([[0.0], [math.log(3)]])
    x = torch.tensor([[4.0], [8.0]])  # a quarter of the first and three quarters of the second
    assert attend_along_pairs(pairs, queries, keys, x).tolist() == [[pytest.approx(7)], [0]]


def test_gradients_of_one_triple() -> None:
    # Both entities have a triple and themselves, so it counts w = 1/2; h + r − t = 0 + 1 − 3.
    score = TripleScore(np.array([[0, 0, 1]]), 2, 1)
    entity, relation = score.compute_gradients(torch.tensor([[0.0], [3.0]]), torch.tensor([[1.0]]))
    assert entity.tolist() == [[pytest.approx(1)], [pytest.approx(-1)]]
    assert relation.tolist() == [[pytest.approx(1)]]


def test_seeds_with_connected_partners_get_an_edge() -> None:
    """Left 0 – 1 – 2, right 3, 4, 5 with 3 – 5 only; the seeds are 0, 3 and 1, 4 and 2, 5."""
    left, right = (
        Graph.from_triples([(0, 0, 1), (1, 0, 2)]),
        Graph.from_triples([(0, 0, 2), (1, 0, 1)]),
    )
    graph = build_union_graph(left, right)
    source, target = find_implied_edges(graph, np.array([(0, 3), (1, 4), (2, 5)]))
    found = set(zip(source.tolist(), target.tolist(), strict=True))
    assert {(0, 2), (2, 0), (3, 4), (4, 3), (4, 5), (5, 4)} == {(a, b) for a, b in found if a != b}
    assert find_implied_edges(graph, np.empty((0, 2), dtype=np.int64))[0].tolist() == []
