"""Metrics of links against gold links: precision, recall, F1, calibration, and corrections."""

from __future__ import annotations

import csv
from collections import defaultdict
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import numpy as np


@dataclass(frozen=True)
class Scores:
    """Scores of predicted links against gold links. A ratio without a denominator is 0.

    Attributes:
        predicted: Number of predicted links.
        gold: Number of gold links.
        correct: Number of predicted links that are gold links.
        calibration_error: Expected calibration error; None if scores are not probabilities.
    """

    predicted: int
    gold: int
    correct: int
    calibration_error: float | None = None

    @property
    def precision(self) -> float:
        """Share of the predicted links that are correct."""
        return self.correct / self.predicted if self.predicted else 0.0

    @property
    def recall(self) -> float:
        """Share of the gold links that are predicted."""
        return self.correct / self.gold if self.gold else 0.0

    @property
    def f1(self) -> float:
        """Harmonic mean of precision and recall."""
        # From counts: equal to 2PR / (P + R), and also defined if precision and recall are 0.
        total = self.predicted + self.gold
        return 2 * self.correct / total if total else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Convert to a mapping.

        Returns:
            Ratios and counts by name.
        """
        ratios = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**ratios, "calibration_error": self.calibration_error, **asdict(self)}


def score_links(
    predicted: Collection[tuple[Hashable, Hashable]], gold: Collection[tuple[Hashable, Hashable]]
) -> Scores:
    """Compare predicted links with gold links.

    Args:
        predicted: Pairs of left and right entity.
        gold: Pairs of left and right entity.

    Returns:
        The scores, without calibration error.

    >>> result = score_links({("a", 1), ("b", 2)}, {("a", 1), ("c", 3), ("d", 4)})
    >>> result.precision, round(result.recall, 2), result.f1
    (0.5, 0.33, 0.4)
    """
    predicted, gold = set(predicted), set(gold)
    return Scores(len(predicted), len(gold), len(predicted & gold))


def calibration_error(
    confidence: Sequence[float], correct: Sequence[bool], bins: int = 10
) -> float:
    """Compute the expected calibration error (ECE) with bins of equal width.

    The error of a bin is the difference between its mean confidence and its share of correct
    links; the ECE is their mean, weighted by the number of links in each bin.

    Args:
        confidence: The confidence of each link.
        correct: Whether each link is correct.
        bins: Number of bins.

    Returns:
        The error, from 0 (calibrated) to 1; 0 if there are no links.

    >>> round(calibration_error([0.95, 0.91, 0.3], [True, False, False]), 3)
    0.387
    """
    if not len(confidence):
        return 0.0
    probability, is_correct = np.asarray(confidence, dtype=float), np.asarray(correct, dtype=float)
    # A confidence of 1 belongs to the last bin.
    bin_ids = np.clip((probability * bins).astype(int), 0, bins - 1)
    # |mean confidence − share correct| × links of the bin is the difference of the two sums.
    gaps = np.bincount(bin_ids, weights=probability - is_correct, minlength=bins)
    return float(np.abs(gaps).sum() / len(probability))


@dataclass(frozen=True)
class ThresholdScores(Scores):
    """Scores of the links with at least a given confidence, and how right it is just above it.

    Attributes:
        threshold: The least confidence.
        band_links: Links between this threshold and the next one.
        band_confidence: Their mean confidence; None if there are none.
        band_precision: The share of them that is correct; None if there are none.
    """

    threshold: float = 0.0
    band_links: int = 0
    band_confidence: float | None = None
    band_precision: float | None = None


LinkPair = TypeVar("LinkPair", bound=tuple[Hashable, Hashable])


def score_thresholds(
    confidence: Mapping[LinkPair, float],
    gold: Collection[LinkPair],
    thresholds: Sequence[float],
    *,
    calibrated: bool = True,
) -> list[ThresholdScores]:
    """Compare links with gold links at each of some thresholds.

    Args:
        confidence: The confidence of each link.
        gold: Pairs of left and right entity.
        thresholds: The thresholds; the table is sorted by them.
        calibrated: Whether scores are probabilities, so that there is a calibration error.

    Returns:
        The scores at each threshold, lowest first.

    >>> links = {("a", 1): 0.9, ("b", 2): 0.6}
    >>> [(row.threshold, row.precision) for row in score_thresholds(links, {("a", 1)}, [0, 0.8])]
    [(0, 0.5), (0.8, 1.0)]
    """
    gold, steps = set(gold), sorted(set(thresholds))
    rows = []
    for threshold, following in pairwise([*steps, np.inf]):
        above = {pair: value for pair, value in confidence.items() if value >= threshold}
        band = {pair: value for pair, value in above.items() if value < following}
        correct = [pair in gold for pair in above]
        error = calibration_error(list(above.values()), correct) if calibrated else None
        rows.append(
            ThresholdScores(
                *(len(above), len(gold), sum(correct), error),
                threshold=threshold,
                band_links=len(band),
                band_confidence=sum(band.values()) / len(band) if band else None,
                band_precision=len(band.keys() & gold) / len(band) if band else None,
            )
        )
    return rows


Pair = tuple[str, str]


@dataclass(frozen=True)
class Correction:
    """A wrong link, and the correct link that one of its entities has later.

    Attributes:
        left: Left entity of the wrong link.
        right: Right entity of the wrong link.
        score: Score of the wrong link.
        corrected_left: Left entity of the correct link.
        corrected_right: Right entity of the correct link.
        corrected_score: Score of the correct link.
    """

    left: str
    right: str
    score: float
    corrected_left: str
    corrected_right: str
    corrected_score: float

    def rename_entities(
        self, left: Callable[[str], str], right: Callable[[str], str]
    ) -> Correction:
        """Replace the names of the entities.

        Args:
            left: Gives the new name of a left entity.
            right: Gives the new name of a right entity.

        Returns:
            The correction with new names.
        """
        return replace(
            self,
            left=left(self.left),
            right=right(self.right),
            corrected_left=left(self.corrected_left),
            corrected_right=right(self.corrected_right),
        )

    @property
    def entities(self) -> tuple[str, ...]:
        """The entities of both links."""
        return self.left, self.right, self.corrected_left, self.corrected_right


def find_corrections(
    before: Mapping[Pair, float], now: Mapping[Pair, float], gold: Collection[Pair]
) -> list[Correction]:
    """Find the wrong links of which an entity has a correct link later.

    Args:
        before: The scores of the earlier links.
        now: The scores of the later links.
        gold: The gold links.

    Returns:
        A correction for each wrong link and each correct link of one of its entities.

    >>> before, now = {("Oslo", "Bergen"): 0.3}, {("Oslo", "Christiania"): 0.8}
    >>> find_corrections(before, now, [("Oslo", "Christiania")])[0].corrected_right
    'Christiania'
    """
    gold = set(gold)
    wrong = [pair for pair in before if pair not in gold]
    wrong_by_left, wrong_by_right = defaultdict(list), defaultdict(list)
    for pair in wrong:
        wrong_by_left[pair[0]].append(pair)
        wrong_by_right[pair[1]].append(pair)
    return [
        Correction(*old, before[old], *new, now[new])
        for new in now
        if new in gold
        for old in (*wrong_by_left[new[0]], *wrong_by_right[new[1]])
    ]


def write_corrections(path: Path, rows: Iterable[Correction]) -> None:
    """Write corrections as a tab-separated table with a header.

    Args:
        path: The file to write.
        rows: The corrections.
    """
    # The csv module writes line ends itself.
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(field.name for field in fields(Correction))
        for row in rows:
            values = asdict(row).values()
            table.writerow(
                f"{value:.3f}" if isinstance(value, float) else value for value in values
            )


def read_corrections(path: Path) -> list[Correction]:
    """Read a table that `write_corrections` has written.

    Args:
        path: The file to read.

    Returns:
        The corrections.
    """
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Correction(left, right, float(score), new_left, new_right, float(new_score))
            for left, right, score, new_left, new_right, new_score in list(
                csv.reader(file, delimiter="\t")
            )[1:]
        ]
