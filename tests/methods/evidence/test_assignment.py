"""Selection that follows changes, against a selection of all pairs from nothing."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from everalign.cardinality import Cardinality
from everalign.methods.evidence.assignment import refresh_selection
from everalign.methods.evidence.candidate_store import CandidateStore
from everalign.methods.evidence.candidates import CandidateTable, select_pairs

# Few distinct scores, so that many pairs are equally good.
SCORES = st.integers(0, 4)


def select_greedily(
    scores: dict[tuple[int, int], int], cardinality: Cardinality
) -> set[tuple[int, int]]:
    """The definition: from the best pair down, unless one of its entities is taken."""
    unique_left, unique_right = cardinality.unique_sides
    chosen: set[tuple[int, int]] = set()
    for pair in sorted(scores, key=lambda pair: (-scores[pair], pair)):
        if not any(
            (unique_left and pair[0] == left) or (unique_right and pair[1] == right)
            for left, right in chosen
        ):
            chosen.add(pair)
    return chosen


def build_store(scores: dict[tuple[int, int], int]) -> CandidateStore:
    left, right = (np.array(side, np.int32) for side in zip(*sorted(scores), strict=True))
    columns = {
        "confidence": np.array([scores[pair] for pair in sorted(scores)], np.float32),
        "selected": np.zeros(len(scores), np.bool_),
    }
    return CandidateStore.from_columns(left, right, columns, (8, 4))


def list_selected(store: CandidateStore) -> set[tuple[int, int]]:
    pairs = store.list_all()
    chosen = store.column("selected")[pairs.row]
    return set(zip(pairs.left[chosen].tolist(), pairs.right[chosen].tolist(), strict=True))


@given(
    st.dictionaries(st.tuples(st.integers(0, 7), st.integers(0, 3)), SCORES, min_size=1),
    st.lists(st.dictionaries(st.integers(0, 31), SCORES, max_size=5), max_size=5),
    st.sampled_from(Cardinality),
)
def test_the_selection_is_that_of_all_pairs(
    scores: dict[tuple[int, int], int], changes: list[dict[int, int]], cardinality: Cardinality
) -> None:
    store = build_store(scores)
    refresh_selection(store, store.list_all(), cardinality)
    assert list_selected(store) == select_greedily(scores, cardinality)
    rows = list(zip(*sorted(scores), strict=True))
    table = CandidateTable.from_pairs(np.array(rows[0]), np.array(rows[1]), (8, 4))
    best = select_pairs(
        table, np.array([scores[pair] for pair in sorted(scores)], np.float32), cardinality
    )
    assert {sorted(scores)[row] for row in best} == list_selected(store)
    for change in changes:
        changed = {sorted(scores)[place % len(scores)]: score for place, score in change.items()}
        scores = scores | changed
        left, right = (np.array(sorted({pair[side] for pair in changed})) for side in (0, 1))
        touched = store.list_touching(left.astype(np.int64), right.astype(np.int64))
        expected = [p for p in sorted(scores) if p[0] in left.tolist() or p[1] in right.tolist()]
        found = list(zip(touched.left.tolist(), touched.right.tolist(), strict=True))
        assert found == expected
        store.column("confidence")[touched.row] = [scores[pair] for pair in expected]
        before = list_selected(store)
        flipped = refresh_selection(store, touched, cardinality)
        assert list_selected(store) == select_greedily(scores, cardinality)
        pairs = set(zip(flipped.left.tolist(), flipped.right.tolist(), strict=True))
        assert before ^ list_selected(store) <= pairs
