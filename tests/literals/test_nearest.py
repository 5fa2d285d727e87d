"""The inverted index finds what comparing all pairs would."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from everalign.literals.grams import Sparse, numbered, pieces
from everalign.literals.nearest import nearest_rows, rarity, weighed

TEXTS = st.lists(st.text("abc ", min_size=1, max_size=6), min_size=1, max_size=8)


def dense(matrix: Sparse, columns: int) -> NDArray[np.float64]:
    rows = np.zeros((matrix.rows, columns))
    owner = np.repeat(np.arange(matrix.rows), np.diff(matrix.start))
    np.add.at(rows, (owner, matrix.column), matrix.weight)
    return rows


@settings(max_examples=60, deadline=None)
@given(TEXTS, TEXTS, st.integers(1, 3))
def test_as_all_pairs(left: list[str], right: list[str], kept: int) -> None:
    one, two, columns = numbered(pieces(left, 2, 0), pieces(right, 2, 0), (len(left), len(right)))
    weight = rarity(one, two, columns)
    one, two = weighed(one, weight), weighed(two, weight)
    product = dense(one, columns) @ dense(two, columns).T
    found = nearest_rows(one, two, columns, kept)
    np.testing.assert_allclose(found.probability, product[found.left, found.right], atol=1e-5)
    listed = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    for row in range(len(left)):
        for column in range(len(right)):
            nearer = (product[row] > product[row, column] + 1e-5).sum()
            ties = (abs(product[row] - product[row, column]) <= 1e-5).sum()
            if product[row, column] > 1e-5 and nearer + ties <= kept:
                assert (row, column) in listed
