"""The time that is left: never negative, smooth, and near the truth where the model is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign.planning.costs import ClusterCoefficients, CostModel, StepCoefficients
from everalign.planning.steps import FIT_STEPS, UPDATE_STEPS
from everalign.planning.time_left import TimeLeft


class Clock:
    """A clock that a test moves."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


def make_model(seconds: float = 10.0) -> CostModel:
    step = StepCoefficients({"constant": seconds}, {}, {}, {})
    return CostModel(
        {
            "fit": dict.fromkeys(FIT_STEPS, step),
            "retraining": dict.fromkeys(FIT_STEPS, step),
            "update": dict.fromkeys(UPDATE_STEPS, step),
        },
        ClusterCoefficients(0, 1),
        {},
        1000,
    )


def start(operation: str = "fit") -> tuple[TimeLeft, Clock]:
    clock = Clock()
    return TimeLeft(operation, make_model(), clock), clock


def test_nothing_is_said_while_files_are_read() -> None:
    left, clock = start()
    left("reading a.nt", 1000, 0)
    clock.now = 10
    assert left.estimate_seconds() is None
    assert left.describe_step() == "step 1 of 13: reading a.nt"


def test_a_run_as_fast_as_the_model() -> None:
    left, clock = start()
    for number, step in enumerate(FIT_STEPS):
        clock.now = 10.0 * number
        left(step, 0, 0)
        clock.now += 5
        if number:
            expected = 10.0 * (len(FIT_STEPS) - number) - 5
            assert left.estimate_seconds() == pytest.approx(expected, abs=0.1)


def test_a_run_that_is_twice_as_slow() -> None:
    left, clock = start()
    for number, step in enumerate(FIT_STEPS[:7]):
        for tenth in range(20):
            clock.now = 20.0 * number + tenth
            left(step, tenth, 20)
            left.estimate_seconds()
    # Seven of 13 steps are done, each in 20 seconds.
    assert left.estimate_seconds() == pytest.approx(120, rel=0.15)


def test_the_estimate_does_not_jump_when_a_step_ends_early() -> None:
    left, clock = start()
    left("storing the input", 0, 0)
    clock.now = 10
    before = left.estimate_seconds()
    clock.now = 10.1
    left("storing the links", 0, 0)
    after = left.estimate_seconds()
    assert before is not None
    assert after is not None
    assert before - after < 2


def test_an_update_that_trains_again_has_the_steps_of_a_fit() -> None:
    left, _ = start("update")
    left("loading", 0, 0)
    assert left.describe_step() == "step 3 of 6: loading"
    left("learning", 0, 7)
    assert left.describe_step() == "step 8 of 13: learning"


def test_other_methods_have_no_estimate() -> None:
    left, clock = start()
    left("training (validation 0.5)", 3, 10)
    clock.now = 100
    assert left.estimate_seconds() is None
    assert left.describe_step() == "training (validation 0.5)"


@given(
    st.lists(
        st.tuples(
            st.sampled_from([*FIT_STEPS, "other"]),
            st.integers(-1, 20),
            st.integers(0, 10),
            st.floats(0, 1000),
        ),
        max_size=30,
    )
)
def test_it_is_never_negative(reports: list[tuple[str, int, int, float]]) -> None:
    left, clock = start("update")
    for step, done, total, seconds in reports:
        left(step, done, total)
        clock.now += seconds
        found = left.estimate_seconds()
        assert found is None or found >= 0
