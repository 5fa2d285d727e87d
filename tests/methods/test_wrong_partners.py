"""Which wrong partners seed pairs are compared with, and which settings baselines refuse."""

from __future__ import annotations

import numpy as np
import pytest

from everalign.config import Config
from everalign.errors import ConfigError
from everalign.graph import Graph
from everalign.methods import Problem, make_method

torch = pytest.importorskip("torch")

from everalign.methods.baselines.margin import Comparing  # noqa: E402
from everalign.methods.baselines.rows import nearest_rows  # noqa: E402
from everalign.methods.baselines.static import Task  # noqa: E402

NO_LINKS = np.empty((0, 2), dtype=np.int32)
CIRCLE = Graph.of([(0, 0, 1), (1, 0, 2), (2, 0, 0)])


def task(left: Graph, right: Graph, *seeds: tuple[int, int]) -> Task:
    return Task(Problem(left, right, NO_LINKS, NO_LINKS), np.array(seeds, dtype=np.int64))


@pytest.mark.parametrize("nearest", [0.0, 0.5])
def test_the_right_partner_is_never_a_wrong_one(nearest: float) -> None:
    # Nodes 0 to 2 are left, 3 to 5 right; each is nearest to its own partner.
    comparing = Comparing(task(CIRCLE, CIRCLE, (0, 3), (2, 5)), 20, nearest=nearest)
    x, rng = torch.eye(3).repeat(2, 1), np.random.default_rng(0)
    for _ in range(3):
        compared = comparing.next(x, rng)
        assert set(compared.wrong_right[0].tolist()) == {4, 5}
        assert set(compared.wrong_right[1].tolist()) == {3, 4}
        assert set(compared.wrong_left[0].tolist()) == {1, 2}
        assert set(compared.wrong_left[1].tolist()) == {0, 1}


def test_near_partners_are_drawn_from_the_nearest_alone() -> None:
    # Left 0 points to right 4 (its partner), then 5, 6; right 7 lies on the other side.
    left, right = Graph.of([(0, 0, 1), (2, 0, 3)]), Graph.of([(0, 0, 1), (2, 0, 3)])
    comparing = Comparing(task(left, right, (0, 4)), 2, nearest=0.5)
    angles = torch.tensor([0.0, 1.0, 2.0, 3.0, 0.0, 0.3, 0.6, 3.0])
    x, rng = torch.stack([angles.cos(), angles.sin()], dim=1), np.random.default_rng(0)
    comparing.next(x, rng)  # the first draw is of any
    found = {node for _ in range(20) for node in comparing.next(x, rng).wrong_right[0].tolist()}
    assert found == {5, 6}


def test_one_who_is_alone_is_compared_with_itself() -> None:
    alone = nearest_rows(torch.ones(1, 2), torch.ones(1, 2), torch.tensor([0]), 5)
    assert alone.tolist() == [[0]]


@pytest.mark.parametrize(
    ("method", "settings", "word"),
    [("dual-amn", {"dim": 0}, "dim"), ("mean+", {"dropout": 1}, "dropout")],
)
def test_settings_that_make_no_sense_are_refused(
    method: str, settings: dict[str, int], word: str
) -> None:
    with pytest.raises(ConfigError, match=word):
        make_method(Config(method=method, settings=settings))


def test_a_share_may_be_given_as_the_number_0() -> None:
    make_method(Config(method="alinet", settings={"nearest": 0, "relation_share": 0}))
