"""What every registered method must do that can give reasons."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pytest
from tests.methods.evidence.samples import found, sampled

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.config import Config
from everalign.matching import CandidatePairs
from everalign.methods import AlignmentTask, CandidateEvidence, ExplainableMethod, create_method

# Vectors, which are no pieces of evidence, can be all that speaks for a pair of theirs.
ON_VECTORS_ALONE = {"combined"}


@dataclass(frozen=True)
class Explained:
    """A method that can give reasons, what it was given last, and what it found."""

    method: ExplainableMethod
    problem: AlignmentTask
    links: CandidatePairs


@pytest.fixture(scope="module")
def explained(config: Config) -> Explained:
    """After a fit and an update."""
    method = create_method(config)
    if not isinstance(method, ExplainableMethod):
        pytest.skip("gives no reasons")
    first, second = sampled(SampleConfig(triples=1500, snapshots=2)).problems
    method.fit(first, no_progress)
    method.update(replace(second, previous_links=found(method, first)), no_progress)
    return Explained(method, second, found(method, second))


def check(pair: CandidateEvidence) -> None:
    """Its support is what its pieces weigh, and they come heaviest first."""
    weights = [piece.weight for piece in pair.pieces]
    assert weights == sorted(weights, reverse=True)
    assert pair.support == pytest.approx(sum(weights), rel=1e-4)
    assert np.isfinite(pair.support)


@pytest.mark.slow
@pytest.mark.parametrize("side", ["left", "right"])
def test_every_link_is_explained(config: Config, explained: Explained, side: str) -> None:
    links = explained.links
    for left, right, score in zip(links.left, links.right, links.score, strict=True):
        asked = (int(left), None) if side == "left" else (None, int(right))
        rows = explained.method.explain(explained.problem, *asked)
        (pair,) = (row for row in rows if (row.left, row.right) == (left, right))
        assert pair.confidence == score
        # A proposal may outlive what once spoke for it; a link may not.
        spoken_for = len(pair.pieces) > 0 or config.method in ON_VECTORS_ALONE
        assert spoken_for or score < links.threshold
        confidences = [row.confidence for row in rows]
        assert confidences == sorted(confidences, reverse=True)
        for row in rows:
            check(row)


def test_relations_are_listed_best_first(explained: Explained) -> None:
    problem = explained.problem
    matches = explained.method.relations(problem)
    assert len(matches) > 0
    assert {match.left for match in matches} <= set(range(problem.left.relation_count))
    assert {match.right for match in matches} <= set(range(problem.right.relation_count))
    for match in matches:
        assert 0 <= match.left_in_right <= 1
        assert 0 <= match.right_in_left <= 1
        assert match.support > 0
    together = [match.left_in_right * match.right_in_left for match in matches]
    assert together == sorted(together, reverse=True)
