"""Negative sampling of wrong partners, and settings that baselines reject."""

from __future__ import annotations

import numpy as np
import pytest

from everalign.config import Config
from everalign.errors import ConfigError
from everalign.graph import Graph
from everalign.methods import AlignmentTask, create_method

torch = pytest.importorskip("torch")

from everalign.methods.baselines.base import TrainingProblem  # noqa: E402
from everalign.methods.baselines.negatives import PartnerSampler, find_nearest_rows  # noqa: E402

NO_LINKS = np.empty((0, 2), dtype=np.int32)
CIRCLE = Graph.from_triples([(0, 0, 1), (1, 0, 2), (2, 0, 0)])


def make_problem(left: Graph, right: Graph, *seeds: tuple[int, int]) -> TrainingProblem:
    task = AlignmentTask(left, right, NO_LINKS, NO_LINKS)
    return TrainingProblem(task, np.array(seeds, dtype=np.int64))


@pytest.mark.parametrize("nearest_share", [0.0, 0.5])
def test_the_true_partner_is_never_a_negative(nearest_share: float) -> None:
    # Nodes 0 to 2 are left, 3 to 5 right; each is nearest to its own partner.
    sampler = PartnerSampler(
        make_problem(CIRCLE, CIRCLE, (0, 3), (2, 5)), 20, nearest_share=nearest_share
    )
    x, rng = torch.eye(3).repeat(2, 1), np.random.default_rng(0)
    for _ in range(3):
        pairs = sampler.draw_negatives(x, rng)
        assert set(pairs.negative_right[0].tolist()) == {4, 5}
        assert set(pairs.negative_right[1].tolist()) == {3, 4}
        assert set(pairs.negative_left[0].tolist()) == {1, 2}
        assert set(pairs.negative_left[1].tolist()) == {0, 1}


def test_negatives_are_drawn_from_the_nearest() -> None:
    # Left 0 points to right 4 (its partner), then 5, 6; right 7 lies on the other side.
    left, right = (
        Graph.from_triples([(0, 0, 1), (2, 0, 3)]),
        Graph.from_triples([(0, 0, 1), (2, 0, 3)]),
    )
    sampler = PartnerSampler(make_problem(left, right, (0, 4)), 2, nearest_share=0.5)
    angles = torch.tensor([0.0, 1.0, 2.0, 3.0, 0.0, 0.3, 0.6, 3.0])
    x, rng = torch.stack([angles.cos(), angles.sin()], dim=1), np.random.default_rng(0)
    sampler.draw_negatives(x, rng)  # the first draw is of any
    found = {
        node
        for _ in range(20)
        for node in sampler.draw_negatives(x, rng).negative_right[0].tolist()
    }
    assert found == {5, 6}


def test_a_lonely_row_is_its_own_nearest() -> None:
    alone = find_nearest_rows(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([0]), 5)
    assert alone.tolist() == [[0]]


@pytest.mark.parametrize(
    ("method", "settings", "word"),
    [("dual-amn", {"dim": 0}, "dim"), ("mean+", {"dropout": 1}, "dropout")],
)
def test_invalid_settings_are_rejected(method: str, settings: dict[str, int], word: str) -> None:
    with pytest.raises(ConfigError, match=word):
        create_method(Config(method=method, settings=settings))


def test_a_share_may_be_the_integer_0() -> None:
    create_method(Config(method="alinet", settings={"nearest_share": 0}))
