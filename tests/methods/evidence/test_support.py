"""The search in parallel ranges, and candidates with far less support than the best one."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.evidence.samples import DEFAULT_PARAMETERS, sampled

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig
from everalign.methods.evidence import comparable, support
from everalign.methods.evidence.comparable import list_comparable_edges, list_many_comparable_edges
from everalign.methods.evidence.propagation import (
    GraphPair,
    propagate,
    search_both,
    select_matches,
)
from everalign.methods.evidence.relations import MatchIndex, align_relations
from everalign.methods.evidence.support import Support, drop_weak

Found = list[tuple[int, int, float]]

# A list of supports for each entity, the best one first.
supports = st.lists(
    st.lists(st.integers(1, 64).map(float), max_size=5).map(lambda x: sorted(x, reverse=True)),
    max_size=5,
)


def build_support(rows: Found) -> Support:
    entity, counterpart, support = zip(*rows, strict=True) if rows else ((), (), ())
    return (
        np.array(entity, dtype=np.int32),
        np.array(counterpart, dtype=np.int32),
        np.array(support, dtype=np.float32),
    )


def list_rows(found: Support) -> Found:
    return list(zip(*(column.tolist() for column in found), strict=True))


def test_a_candidate_with_less_than_the_share_of_the_best_one_is_left_out() -> None:
    rows = [(0, 7, 8.0), (0, 3, 2.0), (0, 5, 1.5), (2, 1, 0.5)]
    assert list_rows(drop_weak(build_support(rows), 0.25)) == [rows[0], rows[1], rows[3]]


@given(supports, st.sampled_from([0.0, 0.125, 0.5, 1.0]))
def test_each_entity_is_judged_by_its_own_best_candidate(
    lists: list[list[float]], share: float
) -> None:
    rows = [(x, n, value) for x, values in enumerate(lists) for n, value in enumerate(values)]
    expected = [row for row in rows if row[2] >= share * lists[row[0]][0]]
    assert list_rows(drop_weak(build_support(rows), share)) == expected


@pytest.fixture(scope="module")
def matched() -> tuple[GraphPair, MatchIndex]:
    """Graphs with the matches that propagation finds."""
    problem = sampled(SampleConfig(triples=4000, snapshots=1)).problems[0]
    graphs = GraphPair.from_graphs(problem.left, problem.right, problem.seeds, DEFAULT_PARAMETERS)
    return graphs, select_matches(graphs, propagate(graphs, no_progress))


@pytest.mark.parametrize("share", [1.0, 0.3])  # in one pass, and from each side
def test_what_is_found_does_not_depend_on_ranges(
    matched: tuple[GraphPair, MatchIndex], share: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs, matches = matched
    relations = align_relations(graphs.left, graphs.right, matches, graphs.config)
    rng = np.random.default_rng(0)
    left, right = (side & (rng.random(len(side)) < share) for side in graphs.unlinked)

    def search() -> list[Found]:
        return [
            list_rows(found) for found in search_both(graphs, matches, relations, left, right, 6)
        ]

    monkeypatch.setenv("EVERALIGN_THREADS", "1")
    whole = search()
    monkeypatch.setenv("EVERALIGN_THREADS", "3")
    monkeypatch.setattr(support, "MIN_CHUNK_SIZE", 16)
    monkeypatch.setattr(support, "BLOCK_SIZE", 100)
    assert search() == whole
    assert min(map(len, whole)) > 100


def test_comparable_edges_do_not_depend_on_chunks(
    matched: tuple[GraphPair, MatchIndex], monkeypatch: pytest.MonkeyPatch
) -> None:
    graphs, matches = matched
    entities = np.arange(1, graphs.right.entity_count, 2, dtype=np.int32)
    arguments = graphs.right, graphs.sharing[1], matches.right, entities
    monkeypatch.setattr(comparable, "CHUNK_SIZE", 64)
    whole = list_comparable_edges(*arguments)
    assert len(whole.neighbour) > 100
    for name, part in list_many_comparable_edges(*arguments)._asdict().items():
        assert part.tolist() == getattr(whole, name).tolist(), name
