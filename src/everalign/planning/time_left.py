"""Estimates how long a run that is going on will still take."""

from __future__ import annotations

import math
from collections.abc import Callable
from time import monotonic

from everalign.planning.costs import CostModel, GraphCounts, compute_terms
from everalign.planning.steps import FIT_STEPS, READING, TRAINING_STEPS, UPDATE_STEPS, find_step

# Seconds by which the stored costs are trusted before the run itself tells how fast it is.
PRIOR_SECONDS = 5.0
# Seconds in which the shown end follows the computed one: a step that is over early must not make
# the number jump.
SMOOTHING_SECONDS = 15.0
# A step that takes longer than expected is never taken for done.
MAX_UNCOUNTED_SHARE = 0.95
# Of graphs whose literals and entities nobody has counted yet: as in generated ones.
_TYPICAL_ENTITY_SHARE = 0.18
_TYPICAL_LITERAL_SHARE = 0.1


class TimeLeft:
    """Follows the steps of a run and estimates the seconds that are left.

    What each step costs is known from the cost model up to a factor, the speed of this machine
    with this data, which the steps so far tell.

    Args:
        operation: "fit" or "update"; an update that turns out to train again is "retraining".
        model: What steps cost; the one of this version if None.
        clock: Tells the seconds.

    Example:
        >>> left = TimeLeft("fit")
        >>> left("reading left.nt", 50_000, 0)
        >>> left("propagating", 0, 5)
        >>> left.describe_step()
        'step 6 of 13: propagating'
    """

    def __init__(
        self,
        operation: str = "fit",
        model: CostModel | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._operation = operation
        self._given_model = model
        self._clock = clock
        self._began = self._step_began = clock()
        self._step: str | None = READING
        self._reported = READING
        self._fraction: float | None = None
        self._read_counts: dict[str, int] = {}
        self._expected: dict[str, float] = {}
        # The end that is shown, and when it was computed.
        self._end: tuple[float, float] | None = None

    def __call__(self, step: str, done: int, total: int, /) -> None:
        """Take note of progress.

        Args:
            step: Name of the current step.
            done: How much of it is done.
            total: How much there is; 0 if that is not known.
        """
        name = find_step(step)
        self._reported = step
        if name == READING:
            self._read_counts[step] = done
        if name != self._step:
            self._step, self._step_began = name, self._clock()
            if self._operation == "update" and name in TRAINING_STEPS:
                self._operation, self._expected = "retraining", {}
        self._fraction = min(1.0, done / total) if total > 0 and name != READING else None

    @property
    def _steps(self) -> tuple[str, ...]:
        return UPDATE_STEPS if self._operation == "update" else FIT_STEPS

    def describe_step(self) -> str:
        """Describe where the run is.

        Returns:
            The number and the name of the step; its name alone if it is not one of the plan.
        """
        if self._step not in self._steps:
            return self._reported
        number = self._steps.index(self._step) + 1
        return f"step {number} of {len(self._steps)}: {self._reported}"

    def estimate_seconds(self) -> float | None:
        """Estimate how long it will still take.

        Returns:
            Seconds, never negative; None while nothing can be said: nobody knows how much there
            is to read, and not every method has the steps of a plan.
        """
        if self._step is None or self._step == READING or self._step not in self._steps:
            self._end = None
            return None
        now = self._clock()
        done, rest = self._sum_expected(now)
        # How many times slower this run is than the model says.
        factor = (now - self._began + PRIOR_SECONDS) / (done + PRIOR_SECONDS)
        computed = now + factor * rest
        if self._end is None:
            end = computed
        else:
            last_end, last_time = self._end
            weight = -math.expm1(-(now - last_time) / SMOOTHING_SECONDS)
            end = last_end + weight * (computed - last_end)
        self._end = end, now
        return max(0.0, end - now)

    def _sum_expected(self, now: float) -> tuple[float, float]:
        """The expected seconds of what is done, and of what is left."""
        if not self._expected:
            self._expected = self._estimate_steps()
        names = self._steps
        assert self._step is not None
        place = names.index(self._step)
        before = sum(self._expected[name] for name in names[:place])
        after = sum(self._expected[name] for name in names[place + 1 :])
        expected = self._expected[self._step]
        share = self._fraction
        # Rounds are reported when they begin: between two reports time tells how far it is.
        passed = (now - self._step_began) / expected if expected > 0 else 1.0
        share = max(share or 0.0, min(passed, MAX_UNCOUNTED_SHARE))
        return before + share * expected, (1 - share) * expected + after

    def _estimate_steps(self) -> dict[str, float]:
        model = self._given_model or CostModel.load()
        # An update does not say how large the graphs are: it is shares of time that matter.
        triples = max(1000, sum(self._read_counts.values()))
        graph = GraphCounts(
            triples,
            round(triples * _TYPICAL_ENTITY_SHARE),
            round(triples * _TYPICAL_LITERAL_SHARE),
            round(triples * _TYPICAL_LITERAL_SHARE),
            40.0,
            20.0,
        )
        terms = compute_terms([graph], triples if self._operation == "update" else 0)
        costs = model.estimate_steps(self._operation, terms)
        return {cost.name: cost.seconds for cost in costs}
