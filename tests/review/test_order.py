"""The order of questions against gains computed by hand, and by a plain loop."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.methods import CandidateScores
from everalign.review.order import (
    MAX_CANDIDATES,
    NO_LINK,
    GainWeights,
    LinkedEntities,
    group_candidates,
    measure_gain,
    rank_questions,
)

SIZES = 4, 9


def build_scores(rows: list[tuple[int, int, float]]) -> CandidateScores:
    left, right, confidence = zip(*sorted(rows), strict=True) if rows else ((), (), ())
    return CandidateScores(
        np.array(left, np.int64), np.array(right, np.int64), np.array(confidence, np.float32)
    )


def build_links(pairs: list[tuple[int, int]]) -> LinkedEntities:
    links = LinkedEntities(*(np.full(size, NO_LINK, np.int64) for size in SIZES))
    for left, right in pairs:
        links.left[left], links.right[right] = right, left
    return links


def rank(
    rows: list[tuple[int, int, float]], pairs: list[tuple[int, int]], weights: GainWeights
) -> dict[tuple[int, int], float]:
    blocks = group_candidates(build_scores(rows), SIZES, exclusive=weights.exclusive)
    ranked = rank_questions(blocks, build_links(pairs), weights)
    assert (np.diff(ranked.gain) <= 0).all()
    keys = zip(ranked.side.tolist(), ranked.entity.tolist(), strict=True)
    return dict(zip(keys, ranked.gain.tolist(), strict=True))


def test_an_unlinked_entity_gains_the_sum_of_its_candidates() -> None:
    gains = rank([(0, 0, 0.25), (0, 1, 0.5)], [], GainWeights())
    assert gains == {(0, 0): 0.75, (1, 1): 0.5, (1, 0): 0.25}
    # Six candidates: the weakest is not shown, and adds nothing.
    many = [(1, other, 0.125) for other in range(6)]
    assert rank(many, [], GainWeights())[0, 1] == 0.625


def test_a_linked_entity_gains_the_others_and_half_of_what_is_missing() -> None:
    gains = rank([(0, 0, 0.5), (0, 1, 0.25)], [(0, 0)], GainWeights())
    assert gains[0, 0] == 0.25 + 0.5 * 0.25
    assert gains[1, 0] == 0.5 * 0.5
    weights = GainWeights(added=1.0, replaced=2.0, removed=0.0, displaced=0.5)
    # Candidate 1 has a wrong link to entity 3, which ends as well.
    assert rank([(0, 0, 0.5), (0, 1, 0.25)], [(0, 0), (3, 1)], weights)[0, 0] == 0.25 * 2.5


def test_rivals_share_out_a_probability_of_one() -> None:
    assert rank([(0, n, 0.5) for n in range(4)], [], GainWeights())[0, 0] == 1.0
    rows = [(left, 0, 0.5) for left in range(4)]
    assert rank(rows, [], GainWeights())[0, 0] == 0.5
    assert rank(rows, [], GainWeights(exclusive=True))[0, 0] == 0.25


def measure_plainly(
    side: int,
    entity: int,
    rows: list[tuple[int, int, float]],
    pairs: list[tuple[int, int]],
    weights: GainWeights,
) -> float:
    own = [(row[1 - side], float(np.float32(row[2]))) for row in rows if row[side] == entity]
    total = max(1.0, sum(p for _, p in own))
    best = sorted(own, key=lambda row: (-row[1], row[0]))[:MAX_CANDIDATES]
    link = {pair[side]: pair[1 - side] for pair in pairs}.get(entity)
    taken = {pair[1 - side] for pair in pairs}
    gain = 0.0
    for other, probability in best:
        if other != link:
            worth = weights.added if link is None else weights.replaced
            gain += (worth + weights.displaced * (other in taken)) * probability / total
    if link is not None:
        gain += weights.removed * (1 - sum(p for _, p in best) / total)
    return gain


@given(
    st.dictionaries(
        st.tuples(st.integers(0, 3), st.integers(0, 8)), st.floats(0, 1, width=32), max_size=25
    ),
    st.permutations(range(9)),
    st.integers(0, 4),
)
def test_gains_are_those_of_a_plain_loop(
    candidates: dict[tuple[int, int], float], rights: list[int], link_count: int
) -> None:
    rows = [(*pair, confidence) for pair, confidence in candidates.items()]
    pairs = list(zip(range(link_count), rights, strict=False))
    weights = GainWeights(1.2, 2.0, 0.8, 0.6)
    gains = rank(rows, pairs, weights)
    assert set(gains) == {(0, row[0]) for row in rows} | {(1, row[1]) for row in rows}
    blocks = group_candidates(build_scores(rows), SIZES, exclusive=False)
    links = build_links(pairs)
    for (side, entity), gain in gains.items():
        expected = measure_plainly(side, entity, rows, pairs, weights)
        assert abs(gain - expected) < 1e-6
        shown = blocks[side].list_of(entity)[:MAX_CANDIDATES]
        alone = measure_gain(
            np.array([row[0] for row in shown]),
            np.array([row[2] for row in shown]),
            int(links[side][entity]),
            links[1 - side],
            weights,
        )
        assert abs(alone - gain) < 1e-12
