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


def rank_questions(
    scores: CandidateScores, links: LinkedEntities, weights: GainWeights
) -> RankedQuestions:
    """Rank the entities of both graphs by what an answer is expected to correct.

    Args:
        scores: Candidates of entities that can be asked about; the confidences of those of one
            entity are the probabilities that each is right.
        links: The links in force.
        weights: What each correction is worth.

    Returns:
        A question for each entity that has a candidate. Equal ones are sorted by side and id.
    """
    probability = scores.confidence.astype(np.float64)
    totals = [np.bincount(ids, probability) if len(ids) else np.zeros(1) for ids in scores[:2]]
    shares = [np.maximum(1.0, total)[ids] for total, ids in zip(totals, scores[:2], strict=True)]
    if weights.exclusive:
        shares = [np.maximum(*shares)] * 2
    left = _measure_gains(*scores[:2], probability / shares[0], *links, weights)
    right = _measure_gains(*scores[1::-1], probability / shares[1], *links[::-1], weights)
    sides = np.repeat(np.array([0, 1], np.int8), [len(left[0]), len(right[0])])
    entity, gain, best = map(np.concatenate, zip(left, right, strict=True))
    order = np.argsort(-gain, kind="stable")
    return RankedQuestions(sides[order], entity[order], gain[order], best[order])


def _measure_gains(
    entity: Ids,
    candidate: Ids,
    probability: Doubles,
    link_of: Ids,
    link_of_candidate: Ids,
    weights: GainWeights,
) -> tuple[Ids, Doubles, Ids]:
    """Entities of one side, what answers about them are expected to correct, best candidates."""
    order = np.lexsort((candidate, -probability, entity))
    entity, candidate = entity[order], candidate[order]
    first = np.flatnonzero(np.diff(entity, prepend=-1))
    rank = np.arange(len(entity)) - np.repeat(first, np.diff(first, append=len(entity)))
    probability = np.where(rank < MAX_CANDIDATES, probability[order], 0.0)
    is_linked = link_of[entity] != NO_LINK
    is_link = candidate == link_of[entity]
    worth = np.where(is_linked, weights.replaced, weights.added)
    worth += weights.displaced * (link_of_candidate[candidate] != NO_LINK)
    # A link that is right is left as it is.
    gain = np.where(is_link, 0.0, worth) * probability
    if not len(first):
        return entity, gain, candidate
    total = np.add.reduceat(probability, first)
    gain = np.add.reduceat(gain, first) + is_linked[first] * weights.removed * (1 - total)
    return entity[first], gain, candidate[first]
