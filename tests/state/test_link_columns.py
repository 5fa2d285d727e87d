"""The links of a version as arrays, beside the rows that they come from."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import pytest
from tests.service.servers import LEFT, RIGHT, build_alignment

from everalign import Aligner
from everalign.session import AlignmentSession
from everalign.state.intervals import PairStatus


@pytest.fixture(scope="module")
def aligner(tmp_path_factory: pytest.TempPathFactory) -> Aligner:
    return build_alignment(tmp_path_factory.mktemp("columns") / "cities.state")


def iterate_steps(aligner: Aligner) -> Iterator[AlignmentSession]:
    """The alignment after each of some changes."""
    state = Path(aligner.state)
    changes = (
        lambda: None,
        lambda: aligner.confirm([(f"{LEFT}city3", f"{RIGHT}town4")], apply=True),
        lambda: aligner.reject([(f"{LEFT}city1", f"{RIGHT}town1")], apply=True),
        lambda: aligner.revert(0),
    )
    for change in changes:
        change()
        with AlignmentSession.open(state) as session:
            yield session


def test_columns_are_the_rows_in_order(aligner: Aligner) -> None:
    for session in iterate_steps(aligner):
        for status in (PairStatus.GIVEN, PairStatus.FOUND):
            columns = session.store.read_link_columns(status)
            rows = list(session.store.iterate_links(status))
            assert rows
            assert list(zip(*(column.tolist() for column in columns), strict=True)) == [
                (row.left, row.right, row.score) for row in rows
            ]
            scores = [row.score for row in rows]
            for minimum in (-inf, 0.0, scores[-1], scores[0], 0.5, 1.0):
                for maximum in (0.0, scores[-1], scores[0], 0.9, inf):
                    expected = sum(minimum <= score <= maximum for score in scores)
                    assert columns.count_scores(minimum, maximum) == expected


def test_they_follow_a_new_version(aligner: Aligner) -> None:
    with AlignmentSession.open(Path(aligner.state), write=True) as session:
        before = session.store.read_link_columns(PairStatus.FOUND)
        assert session.store.read_link_columns(PairStatus.FOUND) is before
