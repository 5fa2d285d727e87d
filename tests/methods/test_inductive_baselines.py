"""MEAN+, LAN+ and DINGAL-O: aggregation, initialisation of new entities, what is frozen."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

torch = pytest.importorskip("torch")

from everalign._progress import no_progress  # noqa: E402
from everalign.config import Config  # noqa: E402
from everalign.graph import Graph, build_union_graph  # noqa: E402
from everalign.methods import AlignmentTask, create_method  # noqa: E402
from everalign.methods.baselines.base import TrainingProblem  # noqa: E402
from everalign.methods.baselines.dual_amn import DualAMNSettings  # noqa: E402
from everalign.methods.baselines.lan_plus import LANPlus, compute_logic_weights  # noqa: E402
from everalign.methods.baselines.mean_plus import MeanPlus  # noqa: E402
from everalign.methods.neural.operators import NodeSubset  # noqa: E402
from everalign.methods.neural.training import RandomGenerators  # noqa: E402

NO_LINKS = np.empty((0, 2), dtype=np.int32)
SMALL = DualAMNSettings(dim=2, proxies=2, negatives=8, max_epochs=2)


def make_model(model_class: type[MeanPlus], graph: Graph) -> MeanPlus:
    """A model of one graph, with embeddings (1, 2), (3, 4), … and relations along the axes."""
    task = AlignmentTask(graph, Graph.empty(), seeds=NO_LINKS, validation=NO_LINKS)
    problem = TrainingProblem(task, NO_LINKS.astype(np.int64))
    model = model_class(problem, SMALL, RandomGenerators(0))
    encoder = model.encoder
    with torch.no_grad():
        rows = torch.arange(1.0, 2 * graph.entity_count + 1).reshape(-1, 2)
        encoder.entity.copy_(rows)
        for directed in range(2 * graph.relation_count):
            axis = directed % graph.relation_count
            encoder.relation[directed] = torch.eye(2)[axis] * 5
    return model


def aggregated(model: MeanPlus) -> NDArray[np.float32]:
    graph = model.problem.graph
    with torch.no_grad():
        return model.encoder.aggregate_entities(
            model.encoder.entity, graph, NodeSubset.all_nodes(graph)
        ).numpy()


def test_a_node_is_the_mean_of_itself_and_its_projected_neighbours() -> None:
    model = make_model(MeanPlus, Graph.from_triples([(0, 0, 1), (0, 1, 2), (3, 1, 0)]))
    expected: list[list[float]] = [
        # Itself whole; (3, 4) loses its first number, (5, 6) and (7, 8) their second.
        [(1 + 0 + 5 + 7) / 4, (2 + 4 + 0 + 0) / 4],
        [(3 + 0) / 2, (4 + 2) / 2],
        [(5 + 1) / 2, (6 + 0) / 2],
        [(7 + 1) / 2, (8 + 0) / 2],
    ]
    np.testing.assert_allclose(aggregated(model), expected, atol=1e-6)


def test_lan_weights_sum_to_one_at_each_node() -> None:
    model = make_model(LANPlus, Graph.from_triples([(0, 0, 1), (0, 1, 2), (0, 0, 2), (3, 1, 0)]))
    encoder = model.encoder
    with torch.no_grad():
        # Along no relation, so that projection leaves it as it is.
        encoder.entity[:] = torch.tensor([0.0, 7.0])
        encoder.relation[:] = torch.tensor([[1.0, 0], [-3, 0], [2, 0], [-1, 0]])
        encoder.get_parameter("focus").copy_(torch.tensor([0.8, 0.0]))
    np.testing.assert_allclose(aggregated(model), [[0, 7]] * 4, atol=1e-6)


def test_a_relation_that_others_imply_weighs_less() -> None:
    # Whoever has relation 1 has relation 0, not the other way round.
    graph = build_union_graph(
        Graph.from_triples([(0, 0, 4), (1, 0, 4), (2, 0, 4), (2, 1, 5)]), Graph.empty()
    )
    weight = dict(
        zip(
            zip(graph.source, graph.target, strict=True), compute_logic_weights(graph), strict=True
        )
    )
    assert weight[2, 4] == pytest.approx(1)
    assert weight[2, 5] == pytest.approx(3)


@pytest.mark.parametrize("model_class", [MeanPlus, LANPlus])
def test_an_entity_two_rings_away_is_initialised(model_class: type[MeanPlus]) -> None:
    # 0 and 1 are known; 2 is next to both, 3 only to 2, 4 and 5 only to each other.
    model = make_model(
        model_class, Graph.from_triples([(2, 0, 0), (1, 0, 2), (3, 1, 2), (4, 1, 5)])
    )
    model.initialise_new_entities(np.array([True, True, False, False, False, False]))
    expected = [[1, 2], [3, 4], [0, 3], [0, 0], [9, 10], [11, 12]]
    np.testing.assert_allclose(model.encoder.entity.detach(), expected, atol=1e-6)


@pytest.mark.parametrize("name", ["mean+", "lan+", "dingal-o"])
def test_an_update_leaves_learned_parameters_unchanged(name: str) -> None:
    graph = Graph.from_triples([(i, i % 2, (i * 5 + 3) % 12) for i in range(12)])
    pairs = np.array([(i, i) for i in range(12)], dtype=np.int32)
    method = create_method(Config(method=name, settings={"dim": 2, "max_epochs": 2}))
    method.fit(AlignmentTask(graph, graph, seeds=pairs[::2], validation=pairs[1:8:2]), no_progress)
    before = method.save()
    larger = graph.with_triples(np.array([(12, 0, 0), (13, 2, 12)], dtype=np.int32))
    valid = pairs[1:8:2]
    method.update(
        AlignmentTask(
            larger, larger, pairs[::2], valid, known_left_count=12, known_right_count=12
        ),
        no_progress,
    )
    after = method.save()
    rows = {"entity": np.r_[0:12, 14:26], "relation": np.r_[0:2, 3:5, 6:8, 9:11]}
    for part, value in before.items():
        if part not in ("sizes", "updates"):
            old = after[part][rows.get(part.split(".")[-1], ...)]
            np.testing.assert_array_equal(old, value)
