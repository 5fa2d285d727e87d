"""Precision, recall and F1 of links against gold links, and how true their confidence is."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Scores:
    """How links compare with gold links. What has no denominator is 0.

    `calibration_error` is for scores that are probabilities: without them it is None.
    """

    predicted: int
    gold: int
    correct: int
    calibration_error: float | None = None

    @property
    def precision(self) -> float:
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """The figures and the counts."""
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**figures, "calibration_error": self.calibration_error, **asdict(self)}


def score(
    predicted: Collection[tuple[Hashable, Hashable]], gold: Collection[tuple[Hashable, Hashable]]
) -> Scores:
    """Compare two sets of pairs.

    >>> result = score({("a", 1), ("b", 2)}, {("a", 1), ("c", 3), ("d", 4)})
    >>> result.precision, round(result.recall, 2), result.f1
    (0.5, 0.33, 0.4)
    """
    predicted, gold = set(predicted), set(gold)
    return Scores(len(predicted), len(gold), len(predicted & gold))


def calibration_error(
    confidence: Sequence[float], correct: Sequence[bool], bins: int = 10
) -> float:
    """The expected calibration error: how far confidence is from the share that is right.

    Links are put into bins of equal width by their confidence. The error of a bin is the
    difference between its mean confidence and its share of right links, and a bin counts by the
    number of its links.

    >>> round(calibration_error([0.95, 0.91, 0.3], [True, False, False]), 3)
    0.387
    """
    if not len(confidence):
        return 0.0
    sure, right = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    bin_of = np.clip((sure * bins).astype(int), 0, bins - 1)
    # |mean confidence − share right| × links of the bin is the difference of the two sums.
    gaps = np.bincount(bin_of, weights=sure - right, minlength=bins)
    return float(np.abs(gaps).sum() / len(sure))
