"""The cost model: sums that can be checked by hand, and what always holds."""

from __future__ import annotations

import json
from importlib.resources import files
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.errors import ConfigError
from everalign.planning.costs import CostModel, GraphCounts, compute_terms
from everalign.planning.plan import complete_counts, plan_alignment
from everalign.planning.steps import FIT_STEPS, UPDATE_STEPS

STEP: dict[str, Any] = {
    "serial_seconds": {"constant": 2.0, "triple": 0.001},
    "chunk_seconds": {"triple": 0.004},
    "memory_bytes": {"constant": 1000.0, "triple": 10.0},
    "disk_bytes": {"triple": 5.0},
    "job_count": 3,
}
LATER = STEP | {"memory_bytes": {"constant": 500.0}, "chunk_seconds": {}, "job_count": 0}
UPDATE = LATER | {"serial_seconds": {"delta": 0.01}}
CONTENT: dict[str, Any] = {
    "operations": {
        "fit": {"reading": STEP, "learning": LATER},
        "update": {"spreading": UPDATE},
        "retraining": {"learning": STEP},
    },
    "cluster": {"seconds_per_job": 0.5, "worker_factor": 1.5},
    "error_factors": {"seconds": 2.0, "memory": 1.1, "disk": 1.2},
    "largest_triples": 1000,
}
MODEL = CostModel.from_json(CONTENT)
GRAPH = GraphCounts(500, 100, 0, 0, 40.0, 0.0)


def plan_small(**options: Any) -> Any:
    options = {"cores": 2, "sample_statements": 0, "delta": 10, **options}
    return plan_alignment(left_counts=GRAPH, right_counts=GRAPH, model=MODEL, **options)


def test_a_plan_is_the_sum_of_its_steps() -> None:
    plan = plan_small()
    # Serial 2 + 1000 · 0.001, and half of 1000 · 0.004; then 2 + 1.
    assert [step.seconds for step in plan.fit.steps] == pytest.approx([5.0, 3.0])
    assert plan.fit.seconds == pytest.approx(8.0)
    assert plan.fit.memory_bytes == pytest.approx(1000 + 10 * 1000)
    assert plan.fit.disk_bytes == pytest.approx(2 * 5 * 1000)
    assert plan.update.seconds == pytest.approx(0.1)
    assert not plan.update.trains_models
    assert plan.fit_on_workers is None


def test_workers_share_the_chunks_and_the_driver_keeps_the_rest() -> None:
    plan = plan_small(workers=3)
    # 3 serial, 1.5 · 4 / 3 on workers, 3 jobs of half a second.
    assert plan.fit_on_workers.steps[0].seconds == pytest.approx(3 + 2 + 1.5)
    assert plan.fit_on_workers.memory_bytes == plan.fit.memory_bytes


def test_a_large_delta_trains_again() -> None:
    assert plan_small(delta=0.05).delta == 50
    assert not plan_small(delta=0.05).update.trains_models
    assert plan_small(delta=0.2).update.trains_models


def test_what_does_not_fit_says_what_would() -> None:
    plan = plan_small(memory_bytes=6000)
    assert not plan.fits_memory
    assert plan.fitting_triples == pytest.approx(500, abs=2)
    assert plan_small(memory_bytes=11_000).fits_memory
    assert plan_small(memory_bytes=11_000).fitting_triples is None
    assert plan_small(memory_bytes=100).fitting_triples == 0


@pytest.mark.parametrize(
    "options",
    [
        {"delta": 0},
        {"delta": -1},
        {"delta": float("nan")},
        {"workers": 0},
        {"cores": -1},
        {"memory_bytes": 0},
        {"sample_statements": 5},
    ],
)
def test_nonsense_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError):
        plan_small(**options)


def test_both_graphs_are_needed_and_each_once() -> None:
    with pytest.raises(ConfigError, match="files of both graphs, or the numbers of both"):
        plan_alignment(left_counts=GRAPH, sample_statements=0)
    with pytest.raises(ConfigError, match="files of both graphs"):
        plan_alignment("a.nt", left_counts=GRAPH, right_counts=GRAPH)
    with pytest.raises(ConfigError, match="files of both graphs"):
        plan_alignment("a.nt", right_counts=GRAPH)


@pytest.mark.parametrize(
    ("triples", "entities", "literals"),
    [(0, None, None), (10, 0, None), (10, 100, 0), (10, 5, -1)],
)
def test_counts_that_cannot_be(triples: int, entities: int | None, literals: int | None) -> None:
    with pytest.raises(ConfigError):
        complete_counts(triples, entities, literals)


def test_a_coefficients_file_that_lacks_something_is_an_error() -> None:
    with pytest.raises(ConfigError, match="cost coefficients"):
        CostModel.from_json({"operations": {}})


def test_the_stored_coefficients_have_every_step_and_no_negative_number() -> None:
    model = CostModel.load()
    for operation, steps in (
        ("fit", FIT_STEPS),
        ("update", UPDATE_STEPS),
        ("retraining", FIT_STEPS),
    ):
        assert tuple(model.operations[operation]) == steps
    text = (files("everalign.planning") / "cost_coefficients.json").read_text(encoding="utf-8")
    known = set(compute_terms([GRAPH]))
    for steps in json.loads(text)["operations"].values():
        for step in steps.values():
            for terms in (value for value in step.values() if isinstance(value, dict)):
                assert set(terms) <= known
                assert min(terms.values(), default=0) >= 0
    assert min(model.error_factors.values()) >= 1


@given(
    triples=st.integers(1000, 10**9),
    growth=st.floats(1, 10),
    literals=st.integers(0, 10**8),
    workers=st.integers(1, 1000),
    cores=st.integers(1, 64),
)
def test_more_costs_more_and_workers_never_slow_each_other_down(
    triples: int, growth: float, literals: int, workers: int, cores: int
) -> None:
    small = complete_counts(triples, None, literals)
    large = small.scale(growth)

    def plan_stored(graph: GraphCounts, workers: int, cores: int) -> Any:
        return plan_alignment(
            left_counts=graph,
            right_counts=graph,
            sample_statements=0,
            workers=workers,
            cores=cores,
            delta=1000,
        )

    base = plan_stored(small, workers, cores)
    grown = plan_stored(large, workers, cores)
    for name in ("seconds", "memory_bytes", "disk_bytes"):
        assert getattr(grown.fit, name) >= getattr(base.fit, name)
    more = plan_stored(small, workers + 1, cores + 1)
    assert more.fit.seconds <= base.fit.seconds
    assert more.fit_on_workers.seconds <= base.fit_on_workers.seconds
    assert base.fit.seconds > 0
