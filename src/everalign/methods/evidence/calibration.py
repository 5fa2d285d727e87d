"""Calibration: match probabilities as held-out links say how right they are.

A classifier that was trained on likely pairs is too sure of pairs like them, and trees that were
trained on few rows are too sure in general. What the classifiers that were trained without a
held-out link say of its candidates, and whether they are right, gives a line in log-odds (Platt).
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.matching import mark_listed_pairs
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters

# Match probabilities are cut off here: trees say nothing between it and 0 or 1.
LEAST_PROBABILITY = 1e-6
MAX_STEPS = 50


class Calibration(NamedTuple):
    """The line from the log-odds of match probabilities to those of being right.

    Attributes:
        offset: Log-odds of being right at a match probability of one half.
        slope: How much they grow with those of the match probability.
    """

    offset: float = 0.0
    slope: float = 1.0

    def apply(self, probability: FloatArray) -> FloatArray:
        """Calibrate match probabilities.

        Args:
            probability: The match probabilities.

        Returns:
            How probably each pair is right, if there is a counterpart.
        """
        if self == NO_CALIBRATION:
            return probability
        logit = self.offset + self.slope * _compute_logit(probability)
        calibrated: FloatArray = (1 / (1 + np.exp(-logit))).astype(np.float32)
        # A pair without any evidence stays impossible.
        return np.where(probability > 0, calibrated, 0).astype(np.float32)


NO_CALIBRATION = Calibration()


def fit_calibration(
    probabilities: MatchProbabilities,
    held_out: IntArray,
    weight: FloatArray,
    config: EvidenceParameters,
) -> Calibration:
    """Fit the line to the candidates of held-out links.

    Args:
        probabilities: Match probabilities; those of held-out entities by models that were trained
            without them.
        held_out: Held-out links, as rows of (left, right).
        weight: How probably each is right.
        config: Gives the strength of the prior.

    Returns:
        The line; match probabilities stay as they are if there are no held-out links.
    """
    table = probabilities.table
    entity_weight = [np.zeros(size, dtype=np.float64) for size in table.sizes]
    for side in range(2):
        entity_weight[side][held_out[:, side]] = weight
    # As in training: a wrong pair is met from either of its entities, the right one from both.
    row_weight = (entity_weight[0][table.left] + entity_weight[1][table.right]) / 2
    rows = np.flatnonzero(row_weight)
    if not len(rows):
        return NO_CALIBRATION
    is_right = mark_listed_pairs(table.left[rows], table.right[rows], held_out)
    return _fit_line(
        _compute_logit(probabilities.probability[rows]),
        is_right.astype(np.float64),
        row_weight[rows],
        config.calibration_strength,
    )


def _fit_line(
    logit: NDArray[np.float64],
    is_right: NDArray[np.float64],
    weight: NDArray[np.float64],
    strength: float,
) -> Calibration:
    """Maximise the likelihood, with a prior that leaves probabilities as they are.

    Newton's steps; a step that does not lower the loss is halved.
    """
    columns = np.stack([np.ones_like(logit), logit])
    prior = np.array([0.0, 1.0])

    def compute_loss(line: NDArray[np.float64]) -> float:
        total = line @ columns
        loss = weight @ (np.logaddexp(0, total) - is_right * total)
        return float(loss + strength / 2 * np.sum((line - prior) ** 2))

    line = prior.copy()
    loss = compute_loss(line)
    for _ in range(MAX_STEPS):
        predicted = 1 / (1 + np.exp(-np.clip(line @ columns, -50, 50)))
        gradient = columns @ (weight * (predicted - is_right)) + strength * (line - prior)
        curvature = (columns * (weight * predicted * (1 - predicted))) @ columns.T
        step = np.linalg.solve(curvature + strength * np.eye(2), gradient)
        # Far from the best line the curvature is small, and the step too long.
        while (new_loss := compute_loss(line - step)) > loss and np.abs(step).max() > 1e-6:
            step /= 2
        if new_loss >= loss or np.abs(step).max() <= 1e-6:
            break
        line, loss = line - step, new_loss
    return Calibration(float(line[0]), float(max(line[1], 0.05)))


def _compute_logit(probability: FloatArray) -> NDArray[np.float64]:
    clipped = np.clip(probability.astype(np.float64), LEAST_PROBABILITY, 1 - LEAST_PROBABILITY)
    logit: NDArray[np.float64] = np.log(clipped / (1 - clipped))
    return logit
