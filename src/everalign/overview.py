"""The numbers of an alignment at a glance: confidence, thresholds, reviewers (internal).

Everything here reads scores and ids, never all names or facts.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from everalign.decide import WaitingView
from everalign.select import iterate_free_proposals
from everalign.session import AlignmentSession
from everalign.state.decisions import NO_ENTITY, DecisionKind
from everalign.state.inbox import RecordedDecision
from everalign.state.intervals import PairStatus
from everalign.state.link_table import list_entities

Floats = NDArray[np.float64]

HISTOGRAM_BINS = 20
CALIBRATION_BINS = 10
THRESHOLD_STEPS = 100


@dataclass(frozen=True)
class ScoreLists:
    """The scores of a version.

    Args:
        found: Those of found links.
        proposed: Those of proposals that no link excludes.
    """

    found: Floats
    proposed: Floats


@dataclass(frozen=True)
class HistogramBin:
    """How many pairs have a confidence in a range.

    Args:
        start: The least confidence.
        end: The end of the range.
        found: Found links.
        proposed: Proposals.
    """

    start: float
    end: float
    found: int
    proposed: int


@dataclass(frozen=True)
class ThresholdEstimate:
    """What to expect if all pairs from a confidence on are links.

    Args:
        threshold: The least confidence.
        links: How many pairs reach it.
        precision: Expected share of them that are right; None if there are none.
        recall: Expected share of the right pairs, among all that were found or proposed; None if
            there are none.
    """

    threshold: float
    links: int
    precision: float | None
    recall: float | None


@dataclass(frozen=True)
class CalibrationBin:
    """Links with a similar confidence, and how many of them people found right.

    Args:
        start: The least confidence.
        end: The end of the range.
        count: How many of them people have judged.
        mean_confidence: Their mean confidence.
        correct: The share that was confirmed.
    """

    start: float
    end: float
    count: int
    mean_confidence: float
    correct: float


@dataclass(frozen=True)
class ReviewerCounts:
    """What somebody has decided.

    Args:
        author: Who; empty if they gave no name.
        answers: All decisions.
        confirmed: Pairs that are the same.
        rejected: Pairs that are not.
        no_counterpart: Entities without a counterpart.
        unsure: Pairs that are not clear.
        withdrawn: Decisions that were taken back.
        last: When the last one was recorded.
    """

    author: str
    answers: int = 0
    confirmed: int = 0
    rejected: int = 0
    no_counterpart: int = 0
    unsure: int = 0
    withdrawn: int = 0
    last: str = ""


def read_scores(session: AlignmentSession) -> ScoreLists:
    """Read the scores of the last version, without the decisions that are waiting.

    Args:
        session: An open alignment that has a version.

    Returns:
        The scores of found links and of proposals, best first.
    """
    found = session.store.read_link_columns(PairStatus.FOUND).score
    proposed = [pair.score for pair in iterate_free_proposals(session, WaitingView())]
    return ScoreLists(found, np.array(proposed, dtype=float))


def count_histogram(scores: ScoreLists, bins: int = HISTOGRAM_BINS) -> list[HistogramBin]:
    """Count pairs by confidence.

    Args:
        scores: The scores.
        bins: How many ranges to divide 0 to 1 into.

    Returns:
        The ranges; the last one includes 1.

    Example:
        >>> scores = ScoreLists(np.array([1.0, 0.9, 0.6]), np.array([0.2]))
        >>> [(row.start, row.found, row.proposed) for row in count_histogram(scores, 2)]
        [(0.0, 0, 1), (0.5, 3, 0)]
    """
    edges = np.linspace(0, 1, bins + 1)
    found, _ = np.histogram(scores.found, edges)
    proposed, _ = np.histogram(scores.proposed, edges)
    return [
        HistogramBin(float(start), float(end), int(one), int(other))
        for start, end, one, other in zip(edges[:-1], edges[1:], found, proposed, strict=True)
    ]


def estimate_thresholds(
    scores: ScoreLists, steps: int = THRESHOLD_STEPS
) -> list[ThresholdEstimate]:
    """Estimate precision and recall at thresholds, from scores that are probabilities.

    Args:
        scores: The scores.
        steps: How many steps to take from 0 to 1.

    Returns:
        An estimate for each threshold, ascending.

    Example:
        >>> scores = ScoreLists(np.array([0.9, 0.6]), np.array([0.5]))
        >>> [(row.links, row.precision, row.recall) for row in estimate_thresholds(scores, 2)][1]
        (3, 0.6666666666666666, 1.0)
    """
    ascending = np.sort(np.concatenate([scores.found, scores.proposed]))
    # Sums from each score on; the last one is that of no pairs.
    sums = np.concatenate([np.cumsum(ascending[::-1])[::-1], [0.0]])
    thresholds = np.arange(steps + 1) / steps
    firsts = np.searchsorted(ascending, thresholds - 1e-12)
    estimates = []
    for threshold, first in zip(thresholds.tolist(), firsts.tolist(), strict=True):
        count, expected = len(ascending) - first, float(sums[first])
        precision = expected / count if count else None
        recall = expected / float(sums[0]) if sums[0] else None
        estimates.append(ThresholdEstimate(threshold, count, precision, recall))
    return estimates


def count_reviewers(decisions: Iterable[RecordedDecision]) -> list[ReviewerCounts]:
    """Count decisions by author.

    Args:
        decisions: Decisions of the inbox.

    Returns:
        The authors, those with the most decisions first.
    """
    rows: dict[str, list[RecordedDecision]] = defaultdict(list)
    for decision in decisions:
        rows[decision.author].append(decision)
    counts = [_count_author(author, given) for author, given in rows.items()]
    return sorted(counts, key=lambda row: (-row.answers, row.author))


def calibrate_decisions(
    session: AlignmentSession, decisions: Sequence[RecordedDecision]
) -> list[CalibrationBin]:
    """Compare the confidence of found links with what people decided about them.

    Args:
        session: An open alignment.
        decisions: Decisions of the inbox.

    Returns:
        Ranges of the confidence in which at least one link was judged; the last decision about a
        pair counts, with the confidence that the pair had in the version that its author saw.
    """
    last: dict[tuple[int, int], RecordedDecision] = {}
    for decision in decisions:
        if NO_ENTITY not in decision.pair and decision.kind is not DecisionKind.UNSURE:
            last[decision.pair] = decision
    judged = [
        decision
        for decision in last.values()
        if decision.kind in (DecisionKind.CONFIRMED, DecisionKind.REJECTED)
    ]
    rows = _read_seen_scores(session, judged)
    bins: dict[int, list[tuple[float, bool]]] = defaultdict(list)
    for score, is_right in rows:
        bins[min(int(score * CALIBRATION_BINS), CALIBRATION_BINS - 1)].append((score, is_right))
    return [
        CalibrationBin(
            number / CALIBRATION_BINS,
            (number + 1) / CALIBRATION_BINS,
            len(group),
            sum(score for score, _ in group) / len(group),
            sum(is_right for _, is_right in group) / len(group),
        )
        for number, group in sorted(bins.items())
    ]


def _read_seen_scores(
    session: AlignmentSession, decisions: Iterable[RecordedDecision]
) -> list[tuple[float, bool]]:
    by_version: dict[int, dict[tuple[int, int], bool]] = defaultdict(dict)
    for decision in decisions:
        is_right = decision.kind is DecisionKind.CONFIRMED
        by_version[decision.seen_version][decision.pair] = is_right
    found = []
    for version, judged in by_version.items():
        for row in session.store.links.read_of_entities(*list_entities(judged), version):
            if row.status == PairStatus.FOUND and row.pair in judged:
                found.append((row.score, judged[row.pair]))
    return found


def _count_author(author: str, decisions: Sequence[RecordedDecision]) -> ReviewerCounts:
    counts = Counter(decision.kind for decision in decisions)
    return ReviewerCounts(
        author,
        len(decisions),
        counts[DecisionKind.CONFIRMED],
        counts[DecisionKind.REJECTED],
        counts[DecisionKind.NO_COUNTERPART],
        counts[DecisionKind.UNSURE],
        counts[DecisionKind.WITHDRAWN],
        decisions[-1].decided_at,
    )
