"""The order in which statements and links are given does not change any link or confidence."""

from __future__ import annotations

import random
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import pytest

from everalign import Aligner
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.io import Triple

pytestmark = pytest.mark.slow

LABEL = "http://example.org/label"
Row = TypeVar("Row")


@dataclass(frozen=True)
class Given:
    """The statements of two graphs at first, those of an update, and trusted links."""

    left: list[Triple]
    right: list[Triple]
    new_left: list[Triple]
    new_right: list[Triple]
    seeds: list[tuple[str, str]]
    validation: list[tuple[str, str]]

    def shuffle(self, seed: int) -> Given:
        rng = random.Random(seed)

        def shuffle(rows: list[Row]) -> list[Row]:
            return rng.sample(rows, len(rows))

        return Given(
            shuffle(self.left),
            shuffle(self.right),
            shuffle(self.new_left),
            shuffle(self.new_right),
            shuffle(self.seeds),
            shuffle(self.validation),
        )


def generate(*, labels: bool, links: bool) -> Given:
    sample = generate_sample(SampleConfig(triples=3000, snapshots=2))
    sides = []
    for graph, new, names in (
        (sample.left(0), sample.left(1), sample.left_labels()),
        (sample.right(0), sample.right(1), sample.right_labels()),
    ):
        parts = []
        for triples in (graph, new):
            named = {name for head, _, tail in triples for name in (head, tail)}
            texts = [(name, LABEL, f'"{text}"') for name, text in names if name in named]
            parts.append([*triples, *(texts if labels else [])])
        sides.append(parts)
    return Given(
        sides[0][0],
        sides[1][0],
        sides[0][1],
        sides[1][1],
        sample.seeds if links else [],
        sample.validation_links if links else [],
    )


def list_links(given: Given, state: Path, *, new_share: float) -> list[list[str]]:
    """All links and proposals after the first version and after an update, as they are written."""
    aligner = Aligner.create(state, given.left, given.right, given.seeds, given.validation)
    versions = [[repr(link) for link in aligner.links(min_confidence=0)]]
    left, right = (
        # The same ones, whatever their order.
        sorted(rows)[: round(new_share * len(rows))]
        for rows in (given.new_left, given.new_right)
    )
    order = random.Random(given.left[0][0])
    aligner.update(order.sample(left, len(left)), order.sample(right, len(right)))
    return [*versions, [repr(link) for link in aligner.links(min_confidence=0)]]


@pytest.mark.parametrize(
    ("labels", "links", "new_share"),
    # With few new statements the models stay, with all they are trained again.
    [
        (True, True, 0.05),
        (False, True, 0.05),
        pytest.param(True, False, 0.05, marks=pytest.mark.long),
        pytest.param(True, False, 1, marks=pytest.mark.long),
    ],
)
def test_shuffled_statements_give_the_same_links(
    tmp_path: Path, labels: bool, links: bool, new_share: float
) -> None:
    given = generate(labels=labels, links=links)
    first = list_links(given, tmp_path / "first", new_share=new_share)
    assert all(len(version) > 100 for version in first)
    for seed in (1, 2):
        shuffled = list_links(given.shuffle(seed), tmp_path / str(seed), new_share=new_share)
        assert shuffled == first
