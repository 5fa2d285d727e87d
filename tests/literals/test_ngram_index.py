"""The inverted index finds what comparing all pairs would."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from everalign.literals.ngram_index import (
    SparseMatrix,
    inverse_frequency,
    number_features,
    search_nearest_rows,
    weight_columns,
)
from everalign.literals.ngrams import extract_ngrams

TEXTS = st.lists(st.text("abc ", min_size=1, max_size=6), min_size=1, max_size=8)


def dense(matrix: SparseMatrix, columns: int) -> NDArray[np.float64]:
    rows = np.zeros((matrix.row_count, columns))
    owner = np.repeat(np.arange(matrix.row_count), np.diff(matrix.start))
    np.add.at(rows, (owner, matrix.column), matrix.weight)
    return rows


@pytest.mark.slow
@settings(max_examples=60)
@given(TEXTS, TEXTS, st.integers(1, 3))
def test_as_all_pairs(left: list[str], right: list[str], kept: int) -> None:
    one, two, hashes = number_features(
        extract_ngrams(left, 2, 0), extract_ngrams(right, 2, 0), (len(left), len(right))
    )
    columns = len(hashes)
    weight = inverse_frequency(one, two, columns)
    one, two = weight_columns(one, weight), weight_columns(two, weight)
    product = dense(one, columns) @ dense(two, columns).T
    found = search_nearest_rows(one, two, columns, kept).pairs
    np.testing.assert_allclose(found.probability, product[found.left, found.right], atol=1e-5)
    listed = set(zip(found.left.tolist(), found.right.tolist(), strict=True))
    for row in range(len(left)):
        for column in range(len(right)):
            nearer = (product[row] > product[row, column] + 1e-5).sum()
            ties = (abs(product[row] - product[row, column]) <= 1e-5).sum()
            if product[row, column] > 1e-5 and nearer + ties <= kept:
                assert (row, column) in listed
