"""The order of questions: those first whose answer is expected to correct the most.

A question is an entity of either graph with its best candidates. What an answer corrects depends
on which of the candidates is right; their confidences are the probabilities of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.methods import CandidateScores

MAX_CANDIDATES = 5  # of a question: as many as a person sees at a glance, and keys 1 to 5
NO_LINK = -1

Ids = NDArray[np.int64]
Doubles = NDArray[np.float64]


@dataclass(frozen=True)
class GainWeights:
    """What each correction is worth.

    Attributes:
        added: A right link where the entity had none.
        replaced: A right link in the place of a wrong one.
        removed: The end of a wrong link of an entity without a right one among its candidates.
        displaced: The end of a wrong link that the right candidate had.
        exclusive: Whether candidates that exclude each other share out a probability of 1, also
            if they are candidates of one entity of the other graph.
    """

    added: float = 1.0
    replaced: float = 1.0
    removed: float = 0.5
    displaced: float = 0.0
    exclusive: bool = False


# Questions are sorted by the expected number of corrected links; on validation links no other
# order was better (docs/concepts/review.md has the figures).
REVIEW_WEIGHTS = GainWeights()
# What corrections add to F1 = 2c / (f + g), in units of 1 / (f + g): a right link more is worth
# 2 - F1, a wrong one less F1, which is taken to be 0.8.
F1_WEIGHTS = GainWeights(added=1.2, replaced=2.0, removed=0.8, displaced=0.8)


class LinkedEntities(NamedTuple):
    """The counterpart in force of each left and right entity; NO_LINK for none."""

    left: Ids
    right: Ids


class RankedQuestions(NamedTuple):
    """Questions, best first.

    Attributes:
        side: 0 for an entity of the left graph, 1 for one of the right.
        entity: The entity.
        gain: What an answer is expected to correct.
        best: The best candidate.
    """

    side: NDArray[np.int8]
    entity: Ids
    gain: Doubles
    best: Ids

    def take_first(self, count: int) -> RankedQuestions:
        """Take the best questions.

        Args:
            count: How many.

        Returns:
            These questions.
        """
        return RankedQuestions(
            self.side[:count], self.entity[:count], self.gain[:count], self.best[:count]
        )


class CandidateBlocks(NamedTuple):
    """The candidates of the entities of one graph: a block for each entity, best first.

    Attributes:
        start: The first row of each entity.
        candidate: Entities of the other graph.
        confidence: Confidence of each pair.
        probability: The same, where rivals that exclude each other share out 1.
    """

    start: Ids
    candidate: Ids
    confidence: NDArray[np.float32]
    probability: Doubles

    def list_of(self, entity: int) -> list[tuple[int, float, float]]:
        """List the candidates of an entity.

        Args:
            entity: Its id.

        Returns:
            Candidate, confidence and probability, best first.
        """
        rows = slice(self.start[entity], self.start[entity + 1])
        columns = (column[rows].tolist() for column in self[1:])
        return list(zip(*columns, strict=True))


def group_candidates(
    scores: CandidateScores, sizes: tuple[int, int], *, exclusive: bool
) -> tuple[CandidateBlocks, CandidateBlocks]:
    """Group candidates by left and by right entity.

    Args:
        scores: The candidates, sorted by left and then by right id.
        sizes: Numbers of left and right entities.
        exclusive: As in `GainWeights`.

    Returns:
        The blocks of left and of right entities.
    """
    confidence = scores.confidence.astype(np.float64)
    totals = [
        np.bincount(ids, confidence, minlength=size)
        for ids, size in zip(scores[:2], sizes, strict=True)
    ]
    shares = [np.maximum(1.0, total)[ids] for total, ids in zip(totals, scores[:2], strict=True)]
    if exclusive:
        shares = [np.maximum(*shares)] * 2
    blocks = []
    both = (scores.left, scores.right), (scores.right, scores.left)
    for (entity, candidate), size, share in zip(both, sizes, shares, strict=True):
        probability = confidence / share
        order = _sort_by_confidence(entity, scores.confidence)
        start = np.append(0, np.cumsum(np.bincount(entity, minlength=size)))
        blocks.append(
            CandidateBlocks(start, candidate[order], scores.confidence[order], probability[order])
        )
    return blocks[0], blocks[1]


def _sort_by_confidence(entity: Ids, confidence: NDArray[np.float32]) -> Ids:
    """The order by entity, then by falling confidence, then as rows are."""
    # As one number each, which is sorted faster than two: the bits of a float that is not
    # negative are in the order of the numbers.
    falling = np.uint64(0xFFFFFFFF) - confidence.view(np.uint32).astype(np.uint64)
    return np.argsort(entity.astype(np.uint64) << np.uint64(32) | falling, kind="stable")


def rank_questions(
    blocks: tuple[CandidateBlocks, CandidateBlocks], links: LinkedEntities, weights: GainWeights
) -> RankedQuestions:
    """Rank the entities of both graphs by what an answer is expected to correct.

    Args:
        blocks: The candidates of left and of right entities.
        links: The links in force.
        weights: What each correction is worth.

    Returns:
        A question for each entity that has a candidate. Equal ones are sorted by side and id.
    """
    found = []
    for side in (0, 1):
        start = blocks[side].start
        entity = np.flatnonzero(np.diff(start))
        gain = _measure_gains(blocks[side], entity, links[side], links[1 - side], weights)
        sides = np.full(len(entity), side, np.int8)
        found.append((sides, entity, gain, blocks[side].candidate[start[entity]]))
    side_of, entities, gains, best = map(np.concatenate, zip(*found, strict=True))
    order = np.argsort(-gains, kind="stable")
    return RankedQuestions(side_of[order], entities[order], gains[order], best[order])


def _measure_gains(
    blocks: CandidateBlocks,
    entities: Ids,
    link_of: Ids,
    link_of_candidate: Ids,
    weights: GainWeights,
) -> Doubles:
    """What answers about entities with candidates are expected to correct."""
    if not len(entities):
        return np.empty(0)
    first = blocks.start[entities]
    sizes = blocks.start[entities + 1] - first
    owner = np.repeat(entities, sizes)
    rank = np.arange(len(owner)) - np.repeat(first, sizes)
    probability = np.where(rank < MAX_CANDIDATES, blocks.probability, 0.0)
    worth = _weigh(blocks.candidate, link_of[owner], link_of_candidate, weights)
    total = np.add.reduceat(probability, first)
    is_linked = link_of[entities] != NO_LINK
    gain = np.add.reduceat(worth * probability, first)
    return np.asarray(gain + is_linked * weights.removed * (1 - total), dtype=np.float64)


def measure_gain(
    candidates: Ids,
    probability: Doubles,
    link: int,
    link_of_candidate: Ids,
    weights: GainWeights,
) -> float:
    """Measure what an answer about one entity is expected to correct.

    Args:
        candidates: Its best candidates.
        probability: The probability that each is right.
        link: Its counterpart in force, or NO_LINK.
        link_of_candidate: The counterparts of the entities of the other graph.
        weights: What each correction is worth.

    Returns:
        The same as `rank_questions` gives.
    """
    worth = _weigh(candidates, np.array(link), link_of_candidate, weights)
    gain = float((worth * probability).sum())
    if link != NO_LINK:
        gain += weights.removed * (1 - float(probability.sum()))
    return gain


def _weigh(candidate: Ids, link: Ids, link_of_candidate: Ids, weights: GainWeights) -> Doubles:
    """What it is worth if each candidate turns out to be right."""
    worth = np.where(link != NO_LINK, weights.replaced, weights.added)
    worth = worth + weights.displaced * (link_of_candidate[candidate] != NO_LINK)
    # A link that is right is left as it is.
    return np.asarray(np.where(candidate == link, 0.0, worth), dtype=np.float64)
