"""Calibration: the line from match probabilities to how often held-out links are right."""

from __future__ import annotations

import numpy as np
import pytest
from tests.methods.evidence.samples import NO_LINKS

from everalign.graph import IntArray
from everalign.methods.evidence.calibration import (
    NO_CALIBRATION,
    Calibration,
    fit_calibration,
)
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters

CONFIG = EvidenceParameters()
COUNT = 400  # entities of either side


def build_candidates(
    said: float, right_share: float
) -> tuple[MatchProbabilities, IntArray, np.ndarray]:
    """Each left entity has one candidate of probability `said`; so many of them are right."""
    ids = np.arange(COUNT, dtype=np.int32)
    probabilities = MatchProbabilities.from_pairs(
        ids, ids, np.full(COUNT, said, np.float32), (COUNT, 2 * COUNT)
    )
    is_wrong = ids >= right_share * COUNT
    # The right counterpart of the others is no candidate.
    held_out = np.stack([ids, np.where(is_wrong, ids + COUNT, ids)], axis=1).astype(np.int32)
    return probabilities, held_out, np.ones(COUNT, dtype=np.float32)


def test_match_probabilities_become_the_share_that_is_right() -> None:
    probabilities, held_out, weight = build_candidates(0.99, 0.75)
    calibration = fit_calibration(probabilities, held_out, weight, CONFIG)
    # A wrong pair is met from one of its entities, and counts half: 300 right ones, 50 wrong.
    expected = 300 / 350
    assert calibration.apply(np.array([0.99], np.float32)) == pytest.approx(expected, abs=0.02)


def test_without_held_out_links_nothing_changes() -> None:
    probabilities, _, _ = build_candidates(0.99, 0.75)
    no_weight = np.empty(0, dtype=np.float32)
    assert fit_calibration(probabilities, NO_LINKS, no_weight, CONFIG) == NO_CALIBRATION
    assert NO_CALIBRATION.apply(probabilities.probability) is probabilities.probability


def test_few_held_out_links_change_little() -> None:
    probabilities, held_out, weight = build_candidates(0.9, 0.5)
    some = np.arange(COUNT) % (COUNT // 2) == 0  # one right, one wrong
    calibration = fit_calibration(probabilities, held_out[some], weight[some], CONFIG)
    assert calibration.slope == pytest.approx(1, abs=0.2)


def test_links_that_are_doubted_count_less() -> None:
    probabilities, held_out, weight = build_candidates(0.95, 0.75)
    doubted = np.where(held_out[:, 0] == held_out[:, 1], weight, np.float32(0.01))
    sure, unsure = (
        fit_calibration(probabilities, held_out, by, CONFIG).apply(np.array([0.95], np.float32))
        for by in (doubted, weight)
    )
    assert sure > unsure


def test_the_order_of_pairs_stays_and_what_has_no_evidence_stays_impossible() -> None:
    probability = np.array([0, 1e-5, 0.1, 0.5, 0.9, 0.999], dtype=np.float32)
    calibrated = Calibration(-1.5, 0.45).apply(probability)
    assert (np.diff(calibrated) > 0).all()
    assert calibrated[0] == 0
