"""The share of dangling entities, and the confidence from which a pair is a link."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from everalign.methods.evidence.adjacency import FloatArray
from everalign.methods.evidence.candidates import CandidateTable
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.dangling import (
    CountedEntities,
    EntityGroups,
    compute_confidence,
    count_expected_links,
    estimate_matched_shares,
    find_threshold,
    restore_fall,
    soften_fall,
)

CONFIDENCES = st.lists(st.sampled_from([0.05, 0.2, 0.5, 0.8, 0.9, 1.0]), min_size=1, max_size=12)

# Of matched entities 90 % have a good candidate, of dangling ones 20 %. Were half of all
# dangling, a good and a bad candidate would mean this:
GOOD, BAD = 0.2 / (0.2 + 0.9), 0.8 / (0.8 + 0.1)


def predictions(count: int, share: float) -> FloatArray:
    """Predictions for so many entities of which a share is matched, as often as expected."""
    good = round(count * (0.9 * share + 0.2 * (1 - share)))
    return np.repeat([GOOD, BAD], [good, count - good]).astype(np.float32)


def everyone(count: int) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    return np.ones(count, dtype=np.bool_), np.ones(count, dtype=np.bool_)


def one_each(count: int) -> CandidateTable:
    ids = np.arange(count, dtype=np.int32)
    return CandidateTable.from_pairs(ids, ids, (count, count))


def matched_shares(
    table: CandidateTable,
    dangling: FloatArray,
    probability: FloatArray,
    groups: EntityGroups,
    unlinked: tuple[NDArray[np.bool_], NDArray[np.bool_]],
    no_candidate: float | tuple[float, float],
) -> tuple[FloatArray, FloatArray]:
    entities = CountedEntities(groups, unlinked, same_rates(groups))
    if isinstance(no_candidate, float):
        no_candidate = no_candidate, no_candidate
    return estimate_matched_shares(
        table, dangling, probability, entities, no_candidate, EvidenceParameters()
    )


def same_rates(groups: EntityGroups) -> tuple[FloatArray, FloatArray]:
    """Link rates that say nothing."""
    return (
        np.ones(len(groups.left), dtype=np.float32),
        np.ones(len(groups.right), dtype=np.float32),
    )


def expected_f1(taken: list[float], links: float) -> float:
    return 2 * sum(taken) / (len(taken) + links)


@pytest.mark.slow
@given(CONFIDENCES, st.sampled_from([0.5, 1.0, 3.0, 8.0]))
def test_the_threshold_gives_the_best_expected_f1(sure: list[float], links: float) -> None:
    cut = find_threshold(np.array(sure, dtype=np.float32), links)
    taken = [p for p in sure if np.float32(p) >= cut]
    best = max(expected_f1([p for p in sure if p >= least], links) for least in sure)
    assert expected_f1(taken, links) == pytest.approx(best)


def shrunk(share: float) -> float:
    """A tenth of the way to a half."""
    return 0.9 * share + 0.05


def test_the_shares_of_every_version_are_recovered() -> None:
    dangling = np.concatenate([predictions(2000, 0.8), predictions(1000, 0.3)])
    groups = EntityGroups.from_entity_counts(np.array([[2000, 2000], [3000, 3000]]))
    pairs = one_each(3000)
    left, right = matched_shares(
        pairs, dangling, np.ones_like(dangling), groups, everyone(3000), 0.9
    )
    assert left.tolist() == pytest.approx([shrunk(0.8), shrunk(0.3)], abs=0.02)
    assert right.tolist() == left.tolist()
    entities = CountedEntities(groups, everyone(3000), same_rates(groups))
    links = count_expected_links((left, right), entities)
    assert links == pytest.approx(shrunk(0.8) * 2000 + shrunk(0.3) * 1000, rel=0.02)


def test_entities_with_a_trusted_link_do_not_count() -> None:
    dangling = np.concatenate([predictions(1000, 0.5), predictions(1000, 1.0)])
    groups = EntityGroups.from_entity_counts(np.array([[2000, 2000]]))
    free = everyone(2000)
    free[0][1000:] = free[1][1000:] = False
    left, _ = matched_shares(one_each(2000), dangling, np.ones_like(dangling), groups, free, 0.9)
    assert left.tolist() == pytest.approx([0.5], abs=0.02)


def test_an_entity_without_candidates_has_the_given_dangling_probability() -> None:
    # 600 entities have a good candidate, the others have none at all.
    groups, dangling = (
        EntityGroups.from_entity_counts(np.array([[1000, 1000]])),
        np.full(600, 0.02, dtype=np.float32),
    )
    ids = np.arange(600, dtype=np.int32)
    pairs = CandidateTable.from_pairs(ids, ids, (1000, 1000))
    left, _ = matched_shares(pairs, dangling, np.ones_like(dangling), groups, everyone(1000), 0.98)
    assert left.tolist() == pytest.approx([shrunk(0.6)], abs=0.02)


def test_the_best_candidate_speaks_for_its_entity() -> None:
    # Each left entity has two candidates, and the better one is bad: all are dangling.
    ids = np.repeat(np.arange(100, dtype=np.int32), 2)
    pairs = CandidateTable.from_pairs(ids, np.arange(200, dtype=np.int32), (100, 200))
    probability = np.tile([0.9, 0.1], 100).astype(np.float32)
    dangling = np.tile([0.99, 0.01], 100).astype(np.float32)
    groups = EntityGroups.from_entity_counts(np.array([[100, 200]]))
    left, right = matched_shares(
        pairs, dangling, probability, groups, (np.ones(100, bool), np.ones(200, bool)), 0.5
    )
    assert left[0] == pytest.approx(shrunk(0), abs=0.03)
    assert right[0] == pytest.approx(0.5, abs=0.05)


def test_confidence_by_hand() -> None:
    """Bayes: 0.9, the greater share, that both are matched; by the features 3 to 1 against it."""
    groups = EntityGroups.from_entity_counts(np.array([[1, 1]]))
    share = np.array([0.8], dtype=np.float32), np.array([0.9], dtype=np.float32)
    half, dangling = np.array([0.5], dtype=np.float32), np.array([0.75], dtype=np.float32)
    present = 0.9 * 0.25 / (0.9 * 0.25 + 0.1 * 0.75)
    entities = CountedEntities(groups, everyone(1), same_rates(groups))
    found = compute_confidence(one_each(1), half, dangling, share, entities)
    assert found.tolist() == pytest.approx([0.5 * present])


def test_an_earlier_entity_is_free_for_a_later_one_if_it_found_none_before() -> None:
    """0.2 · (1 − 0.9); two entities of one version get the greater share."""
    groups = EntityGroups.from_entity_counts(np.array([[1, 1], [2, 2]]))
    share = np.array([0.9, 0.5], dtype=np.float32), np.array([0.9, 0.2], dtype=np.float32)
    pairs = CandidateTable.from_pairs(np.array([0, 1]), np.array([1, 1]), (2, 2))
    half = np.full(2, 0.5, dtype=np.float32)
    entities = CountedEntities(groups, everyone(2), same_rates(groups))
    found = compute_confidence(pairs, half, half, share, entities)
    assert found.tolist() == pytest.approx([0.5 * 0.2 * (1 - 0.9), 0.5 * 0.5])


def test_hardly_ever_linked_entities_count_as_little() -> None:
    """Half of the entities are of a kind that is never linked, but look as if they were."""
    dangling = np.concatenate([predictions(1000, 0.8), np.full(1000, 0.02, dtype=np.float32)])
    groups = EntityGroups.from_entity_counts(np.array([[2000, 2000]]))
    rate = np.repeat([1, 0.001], 1000).astype(np.float32)
    entities = CountedEntities(groups, everyone(2000), (rate, rate))
    pairs, sure = one_each(2000), np.ones(2000, dtype=np.float32)
    shares = estimate_matched_shares(
        pairs, dangling, sure, entities, (0.9, 0.9), EvidenceParameters()
    )
    assert shares[0].tolist() == pytest.approx([shrunk(0.8)], abs=0.05)
    assert count_expected_links(shares, entities) == pytest.approx(shrunk(0.8) * 1000, rel=0.1)
    found = compute_confidence(pairs, sure, dangling, shares, entities)
    # 0.8 · 0.001 to 1 before anything is known, 49 to 1 by the features.
    assert found[1500] == pytest.approx(0.0385, abs=0.005)
    # The lesser rate of the two entities counts.
    one_sided = entities._replace(rates=(np.ones_like(rate), rate))
    assert compute_confidence(pairs, sure, dangling, shares, one_sided).tolist() == found.tolist()


UNIT = st.floats(0, 1, width=32)


@given(st.lists(st.tuples(UNIT, UNIT), min_size=1))
def test_a_part_of_a_fall_is_taken_and_can_be_restored(pairs: list[tuple[float, float]]) -> None:
    alone, earlier = np.array(pairs, dtype=np.float32).T
    config = EvidenceParameters()
    kept = soften_fall(alone, earlier, config)
    mean = alone + config.earlier_weight * (earlier - alone)
    assert kept.tolist() == pytest.approx(np.maximum(alone, mean).tolist())
    restored = restore_fall(kept, earlier, config)
    assert restored.tolist() == pytest.approx(alone.tolist(), abs=1e-6)
