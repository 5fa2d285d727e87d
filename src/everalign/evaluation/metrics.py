"""Precision, recall and F1 of links against gold links."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Scores:
    """How links compare with gold links. What has no denominator is 0."""

    predicted: int
    gold: int
    correct: int

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
        """The counts and the three figures."""
        figures = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {**figures, **asdict(self)}


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
