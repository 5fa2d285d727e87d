"""The judge: gradient-boosted trees that weigh the features of a candidate.

Learned from candidates of entities whose counterpart is known. What it says of those very
candidates comes from trees that have not seen them (cross-fitting).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.side import Floats
from everalign.parallel import each, in_parts

PART = 20_000  # rows judged in one go
PARAMETERS = {
    "objective": "binary",
    "learning_rate": 0.1,
    "force_row_wise": True,
    "deterministic": True,
    "num_threads": 1,  # one thread per model: several models are learned side by side
    "verbosity": -1,
}


@dataclass(frozen=True)
class Lesson:
    """Rows to learn from. `fold` says which rows go together when some are kept apart."""

    features: Floats
    label: NDArray[np.bool_]
    weight: Floats
    fold: NDArray[np.int64]


@dataclass(frozen=True)
class Size:
    """How large a model is, and from how many parts it is cross-fitted (0: it is not)."""

    trees: int
    leaves: int
    folds: int


class Judge:
    """A model for all, and for each fold one that has not seen it."""

    def __init__(self, models: list[bytes]) -> None:
        """From texts of models, the one for all first; the others are needed only to learn."""
        import lightgbm

        self.text = models[0]
        self._models = [lightgbm.Booster(model_str=text.decode()) for text in models]

    @property
    def columns(self) -> int:
        """How many numbers it weighs of a row."""
        count: int = self._models[0].num_feature()
        return count

    def weigh(self, rows: Floats) -> Floats:
        """The probability of each row, for rows that nothing was learned from."""
        return self._predict(0, rows)

    def weigh_learned(self, rows: Floats, fold: NDArray[np.int64]) -> Floats:
        """The same for rows that something was learned from; a fold of -1 means none."""
        out = np.empty(len(rows), dtype=np.float32)
        for number in range(-1, len(self._models) - 1):
            mine = np.flatnonzero(fold == number)
            out[mine] = self._predict(number + 1, rows[mine])
        return out

    def _predict(self, number: int, rows: Floats) -> Floats:
        model = self._models[number]

        def part(first: int, end: int) -> Floats:
            return np.asarray(model.predict(rows[first:end], num_threads=1), dtype=np.float32)

        return np.concatenate([np.empty(0, np.float32), *in_parts(part, len(rows), PART)])


def learn_judges(lessons: list[Lesson], size: Size, seed: int) -> list[Judge]:
    """A judge from each lesson; all their models are learned side by side."""
    count = size.folds + 1
    models = each(
        lambda n: _learn(lessons[n // count], size, n % count - 1, seed), len(lessons) * count
    )
    return [Judge(models[first : first + count]) for first in range(0, len(models), count)]


def _learn(lesson: Lesson, size: Size, without: int, seed: int) -> bytes:
    import lightgbm

    rows = np.flatnonzero(lesson.fold != without) if without >= 0 else slice(None)
    data = lightgbm.Dataset(
        lesson.features[rows],
        lesson.label[rows].astype(np.float32),
        weight=lesson.weight[rows],
        params={"verbosity": -1, "num_threads": 1},
    )
    parameters = {
        **PARAMETERS,
        "num_leaves": size.leaves,
        "min_child_samples": max(1, min(20, np.count_nonzero(lesson.label[rows]) // 5)),
        "seed": seed,
    }
    model = lightgbm.train(parameters, data, num_boost_round=size.trees)
    text: str = model.model_to_string()
    return text.encode()
