"""Which trusted links contradict their neighbourhood, and how probably each is right.

A link that is right has more support than the best rival of its entities; one that is wrong has
less. What wrong links look like is known without a single one: if trusted links exchange their
right entities, they are wrong. So the trusted links are a mixture of right ones and of some that
look like exchanged ones, and the share of these follows (two groups with a known null
distribution: Efron, *Large-scale simultaneous hypothesis testing*, JASA 2004).
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.methods.base import ContradictedPair
from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.link_doubts import NO_DOUBTS, LinkDoubts
from everalign.methods.evidence.neighbourhood import (
    LITERAL_WEIGHT,
    SUPPORT,
    compare_literals,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import (
    GraphPair,
    search_both,
    select_matches,
)
from everalign.methods.evidence.relations import MatchIndex, RelationInclusions, align_relations
from everalign.methods.evidence.support import Support

LEFT, RIGHT = 0, 1
NOBODY = -1
ROUNDING = 1e-4  # difference of margins that says nothing

Margins = NDArray[np.float64]


def check_links(
    graphs: GraphPair, links: IntArray, probabilities: MatchProbabilities
) -> LinkDoubts:
    """Find out which trusted links are contradicted by what is known of their neighbours.

    Args:
        graphs: The graphs; links that are no anchors are no evidence.
        links: All trusted links, as rows of (left, right).
        probabilities: Current match probabilities.

    Returns:
        The links that are not certain.
    """
    config = graphs.config
    # Where an entity may have any number of links, none contradicts another.
    if not all(config.cardinality.unique_sides) or len(links) < config.min_checked_links:
        return NO_DOUBTS
    # Doubted links count in full here: two that contradict each other would otherwise be doubted
    # and trusted in turn.
    matches = select_matches(replace(graphs, doubts=NO_DOUBTS), probabilities)
    relations = align_relations(graphs.left, graphs.right, matches, config)
    support = _sum_support(graphs, matches, relations, links)
    of_left, of_right = _find_rivals(graphs, matches, relations, links)
    rivals = of_left.support, of_right.support
    margins = compute_margins(support, np.maximum(*rivals), config)
    wrong = []
    for distance in range(1, 1 + max(1, -(-config.min_wrong_pairs // len(links)))):
        exchanged = np.stack([links[:, 0], np.roll(links[:, 1], distance)], axis=1)
        # The links that they were made from are their rivals as well.
        best = np.maximum.reduce(
            [rivals[LEFT], np.roll(rivals[RIGHT], distance), support, np.roll(support, distance)]
        )
        wrong.append(
            compute_margins(_sum_support(graphs, matches, relations, exchanged), best, config)
        )
    probability = estimate_probabilities(margins, np.concatenate(wrong), config)
    return LinkDoubts.from_probabilities(links, probability)


def _sum_support(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, pairs: IntArray
) -> FloatArray:
    left, right = (np.ascontiguousarray(column) for column in pairs.T)
    sides = compare_neighbourhoods(graphs, matches, relations, left, right)
    support = sides[LEFT][:, SUPPORT]
    if graphs.left.node_count > graphs.left.entity_count:
        literals = compare_literals(graphs, matches, relations, left, right)
        support = support + np.nan_to_num(literals[:, LITERAL_WEIGHT])
    return support


class _Rivals(NamedTuple):
    """The best other counterpart of each entity of some links, NOBODY if there is none."""

    counterpart: NDArray[np.int64]
    support: FloatArray


def _find_rivals(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, links: IntArray
) -> tuple[_Rivals, _Rivals]:
    """The best other pair of the left and of the right entity of each link."""
    # Among all entities: the counterpart of a wrong link may have a link of its own, also wrong.
    free = replace(graphs, anchors=links[:0])
    wanted = [np.zeros(size, dtype=np.bool_) for size in graphs.sizes]
    for side in (LEFT, RIGHT):
        wanted[side][links[:, side]] = True
    found = search_both(free, matches, relations, wanted[LEFT], wanted[RIGHT], max_candidates=2)
    left, right = (
        _take_best_other(found[side], links[:, side], links[:, 1 - side], graphs.sizes[side])
        for side in (LEFT, RIGHT)
    )
    return left, right


def _take_best_other(
    found: Support, entities: IntArray, counterparts: IntArray, entity_count: int
) -> _Rivals:
    entity, counterpart, support = found
    own = np.full(entity_count, NOBODY)
    own[entities] = counterparts
    is_other = own[entity] != counterpart
    entity, counterpart, support = (column[is_other] for column in found)
    order = np.lexsort((counterpart, -support, entity))
    distinct, first = np.unique(entity[order], return_index=True)
    rivals = _Rivals(np.full(entity_count, NOBODY), np.zeros(entity_count, dtype=np.float32))
    rivals.counterpart[distinct] = counterpart[order[first]]
    rivals.support[distinct] = support[order[first]]
    return _Rivals(rivals.counterpart[entities], rivals.support[entities])


def describe_doubts(
    graphs: GraphPair, matches: MatchIndex, relations: RelationInclusions, doubts: LinkDoubts
) -> list[ContradictedPair]:
    """Say what contradicts links.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        doubts: The links.

    Returns:
        Each with its best rival, in the same order.
    """
    links = doubts.pairs
    support = _sum_support(graphs, matches, relations, links)
    of_left, of_right = _find_rivals(graphs, matches, relations, links)
    described = []
    for row, (left, right) in enumerate(links.tolist()):
        rivals = [
            (float(of_left.support[row]), left, int(of_left.counterpart[row])),
            (float(of_right.support[row]), int(of_right.counterpart[row]), right),
        ]
        best, rival_left, rival_right = max(rivals, key=lambda rival: rival[0])
        rival = (rival_left, rival_right) if best > 0 else None
        probability = float(doubts.probability[row])
        described.append(
            ContradictedPair(left, right, probability, float(support[row]), rival, best)
        )
    return described


def compute_margins(support: FloatArray, rival: FloatArray, config: EvidenceParameters) -> Margins:
    """Compare the support of pairs with that of their best rivals.

    Args:
        support: Support of each pair.
        rival: Support of the best other pair of one of its entities.
        config: Gives the support that both are raised by.

    Returns:
        The logarithm of the ratio.
    """
    least = config.least_compared_support
    return np.log((support.astype(np.float64) + least) / (rival.astype(np.float64) + least))


def estimate_probabilities(
    margins: Margins, wrong_margins: Margins, config: EvidenceParameters
) -> FloatArray:
    """Estimate how probably links are right, from how pairs look that are known to be wrong.

    Args:
        margins: Of the links.
        wrong_margins: Of pairs that are wrong.
        config: Gives the share of right links that look wrong, and the bins.

    Returns:
        A probability for each link; all are 1 if no more are contradicted than right links are.
    """
    wrong_share = _estimate_wrong_share(margins, wrong_margins, config)
    if wrong_share == 0:
        return np.ones(len(margins), dtype=np.float32)
    pooled = np.concatenate([margins, wrong_margins])
    # Bins of as many, each up to an edge that is one of the values: none is empty.
    shares = np.linspace(0, 1, config.margin_bins + 1)[1:]
    edges = np.unique(np.quantile(pooled, shares, method="inverted_cdf"))[:-1]
    bins = len(edges) + 1
    count = np.bincount(np.searchsorted(edges, margins), minlength=bins)
    wrong_found = np.bincount(np.searchsorted(edges, wrong_margins), minlength=bins)
    wrong_count = wrong_found * (wrong_share * len(margins) / len(wrong_margins))
    # The right links up to each bin: what the wrong ones leave, but never more than further on.
    right_before = np.minimum.accumulate(np.cumsum(count - wrong_count)[::-1])[::-1]
    right_count = np.diff(np.maximum(right_before, 0), prepend=0)
    is_right = np.clip(right_count / np.maximum(count, 1), config.contradicted_share, 1)
    is_right = np.maximum.accumulate(is_right)
    # Between the middles of the bins, so that a small change of support changes little.
    place = np.searchsorted(edges, pooled)
    centres = [np.median(pooled[place == number]) for number in range(bins)]
    probability: FloatArray = np.interp(margins, centres, is_right).astype(np.float32)
    return probability


def _estimate_wrong_share(
    margins: Margins, wrong_margins: Margins, config: EvidenceParameters
) -> float:
    """Estimate the share of wrong links; 0 if there is no more than chance would have."""
    # Half of the wrong pairs are up to their median, and hardly any right one. In a regular graph
    # all of them are equal, but for rounding.
    middle = np.median(wrong_margins) + ROUNDING
    most = len(margins) * np.count_nonzero(wrong_margins <= middle) / len(wrong_margins)
    found = np.count_nonzero(margins <= middle)
    excess = found - config.contradicted_share * most
    if excess <= 0:
        return 0.0
    # Shrunk by what chance could have added: two standard deviations.
    certainty = max(0.0, 1 - config.chance_deviations**2 * found / excess**2)
    return float(min(config.max_wrong_share, certainty * excess / most))
