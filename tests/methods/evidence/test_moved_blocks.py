"""Every computation on adjacency lists whose blocks have been moved, against the plain lists."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.evidence.moved import move_blocks, move_matches
from tests.methods.evidence.naive import Case, cases
from tests.methods.evidence.samples import NO_LINKS

from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.neighbourhood import compare_neighbourhoods
from everalign.methods.evidence.propagation import GraphPair
from everalign.methods.evidence.relations import MatchIndex, align_relations, index_matches
from everalign.methods.evidence.support import Support, search_both_sides, search_candidates

CONFIG = EvidenceParameters(max_fact_degree=3, inclusion_prior_strength=50.0)
MIN_WEIGHT = 0.0371
SPARE = 100
SEEDS = st.integers(0, 9)


def same(one: Support, two: Support) -> bool:
    return all(np.array_equal(a, b) for a, b in zip(one, two, strict=True))


def both_layouts(case: Case, seed: int) -> list[tuple[GraphPair, MatchIndex]]:
    plain = GraphPair(*case.adjacencies(CONFIG), NO_LINKS, CONFIG)
    moved = GraphPair(
        move_blocks(plain.left, seed), move_blocks(plain.right, seed + 1), NO_LINKS, CONFIG
    )
    return [(plain, case.matches), (moved, move_matches(case.matches, seed))]


@pytest.mark.slow
@given(cases(), SEEDS)
def test_relations_and_comparisons_do_not_depend_on_the_layout(case: Case, seed: int) -> None:
    pairs = np.array([(x, y) for x in range(case.sizes[0]) for y in range(case.sizes[1])])
    left_ids, right_ids = pairs.astype(np.int32).T.copy()
    results = []
    for graphs, matches in both_layouts(case, seed):
        relations = align_relations(graphs.left, graphs.right, matches, CONFIG)
        rows = compare_neighbourhoods(graphs, matches, relations, left_ids, right_ids)
        results.append((relations, rows))
    (relations, rows), (moved_relations, moved_rows) = results
    for side, moved_side in zip(relations, moved_relations, strict=True):
        for column, moved_column in zip(side, moved_side, strict=True):
            # Sums over matches may be in another order of entities, never of another size.
            assert column == pytest.approx(moved_column, rel=1e-6)
    for compared, moved_compared in zip(rows, moved_rows, strict=True):
        assert np.array_equal(compared, moved_compared)


@pytest.mark.slow
@given(cases(), SEEDS, st.integers(1, 3))
def test_one_pass_finds_what_two_searches_find(case: Case, seed: int, max_candidates: int) -> None:
    sizes = case.sizes
    rng = np.random.default_rng(seed)
    # Some entities are linked, some are not asked for, and one pair is rejected.
    masks = [np.append(rng.random(n) < 0.8, np.zeros(SPARE, np.bool_)) for n in sizes]
    searchable = masks[0], masks[1]
    asked = [mask[:n] & (rng.random(n) < 0.8) for mask, n in zip(masks, sizes, strict=True)]
    wanted = asked[0], asked[1]
    rejected = index_matches(
        np.array([0]), np.array([0]), np.ones(1), (sizes[0] + SPARE, sizes[1] + SPARE)
    )
    limits = max_candidates, MIN_WEIGHT
    results = []
    for graphs, matches in both_layouts(case, seed):
        left, right = graphs.left, graphs.right
        relations = align_relations(*case.adjacencies(CONFIG), case.matches, CONFIG)
        left_ids, right_ids = (np.flatnonzero(mask).astype(np.int32) for mask in wanted)
        from_left = search_candidates(
            left, right, matches.left, relations.left, left_ids, searchable[1], rejected.left,
            *limits,
        )  # fmt: skip
        from_right = search_candidates(
            right, left, matches.right, relations.right, right_ids, searchable[0], rejected.right,
            *limits,
        )  # fmt: skip
        one_pass = search_both_sides(
            left, right, matches.left, relations.left, wanted, searchable, rejected.left, *limits
        )
        assert same(one_pass[0], from_left)
        assert same(one_pass[1], from_right)
        results.append((from_left, from_right))
    assert same(results[0][0], results[1][0])
    assert same(results[0][1], results[1][1])
    assert not any(pair == (0, 0) for pair in zip(*results[0][0][:2], strict=True))
