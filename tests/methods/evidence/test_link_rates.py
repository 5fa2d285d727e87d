"""Link rates: what is never linked is not linked, unless trusted links are no sample."""

from __future__ import annotations

from itertools import count
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everalign import Aligner, Config
from everalign.graph import Graph
from everalign.methods.evidence.adjacency import build_adjacency
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.link_rates import compute_link_rates, estimate_relation_rates


def estimate(having: list[int], linked: list[int], others: int) -> list[float]:
    """The rates of relations that so many entities have, so many of them linked, and some others.

    All other entities have no relation and a link.
    """
    triples, target = [], sum(having)
    is_linked: list[bool] = []
    for relation, (entities, links) in enumerate(zip(having, linked, strict=True)):
        for number in range(entities):
            triples.append((len(is_linked), relation, target))
            is_linked.append(number < links)
    facts = Graph.from_triples(triples)
    graph = Graph(facts.triples, target + 1 + others, facts.relation_count)
    adjacency = build_adjacency(graph, EvidenceParameters())
    mask = np.array(is_linked + [False] + [True] * others)
    rates = estimate_relation_rates(adjacency, mask, np.ones(len(mask), dtype=np.bool_))
    out: list[float] = np.exp(rates).tolist()
    return out[::2]


def test_rates_by_hand() -> None:
    # 26 of 200 entities have a link. Of the first kind 98 · 0.13 = 12.7 are expected and none is
    # there, so that at most 3 are possible; the second kind has more than expected.
    rates = estimate([98, 100], [0, 25], others=1)
    share = 26 / 200
    assert rates == pytest.approx([3 / (98 * share), 1])
    rates = estimate([98, 100], [0, 0], others=1)
    assert rates == [1, 1]  # one link in all: what is missing means nothing


def test_without_links_all_rates_are_the_same() -> None:
    assert estimate([10, 20], [0, 0], others=0) == [1.0, 1.0]


def test_rate_of_an_entity_is_the_geometric_mean() -> None:
    adjacency = build_adjacency(
        Graph.from_triples([(0, 0, 1), (0, 1, 1), (2, 0, 1)]), EvidenceParameters()
    )
    rates = np.log(np.array([0.5, 1, 0.02, 1], dtype=np.float32))
    found = compute_link_rates(adjacency, rates, np.array([0, 1, 2]))
    assert found.tolist() == pytest.approx([0.1, 1, 0.5])
    # A relation that has come since counts as others do.
    found = compute_link_rates(adjacency, rates[:1], np.array([0]))
    assert found.tolist() == pytest.approx([0.5**0.5])


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 60)), min_size=1, max_size=4),
    st.integers(0, 50),
)
def test_rates_fall_only_below_what_chance_allows(
    counts: list[tuple[int, int]], others: int
) -> None:
    having = [max(pair) for pair in counts if max(pair)]
    linked = [min(pair) for pair in counts if max(pair)]
    if not having:
        return
    share = (sum(linked) + others) / (sum(having) + 1 + others)
    for rate, entities, links in zip(
        estimate(having, linked, others), having, linked, strict=True
    ):
        assert 0 < rate <= 1
        if links + 3 >= entities * share:
            assert rate == 1


def write_marriages(directory: Path) -> tuple[Path, Path, list[tuple[str, str]]]:
    """People in both graphs who know each other; marriages on the left, contracts on the right.

    A contract is of the same two people as a marriage: no fact tells that they are not the same.
    """
    rng, left, right = np.random.default_rng(0), [], []
    numbers = count()
    for person in range(400):
        for other in rng.choice(400, 4, replace=False):
            left.append((f"p{person}", "knows", f"p{other}"))
            right.append((f"q{person}", "acquaintance", f"q{other}"))
    for _ in range(900):
        one, other = rng.choice(400, 2, replace=False)
        number = next(numbers)
        left += [(f"m{number}", "spouse", f"p{one}"), (f"m{number}", "spouse", f"p{other}")]
        right += [(f"c{number}", "party", f"q{one}"), (f"c{number}", "party", f"q{other}")]
    for name, triples in (("left.tsv", left), ("right.tsv", right)):
        lines = "".join("\t".join(triple) + "\n" for triple in triples)
        (directory / name).write_text(lines, encoding="utf-8")
    return (
        directory / "left.tsv",
        directory / "right.tsv",
        [(f"p{number}", f"q{number}") for number in range(250)],
    )


def test_a_kind_that_no_trusted_link_has_is_doubted(tmp_path: Path) -> None:
    left, right, links = write_marriages(tmp_path)
    doubts = {}
    for is_sample in (True, False):
        config = Config(settings={"representative_links": is_sample})
        state = tmp_path / f"{is_sample}.state"
        found = Aligner.create(state, left, right, links, config=config).links()
        people = [link for link in found if link.origin == "found" and link.left[0] == "p"]
        assert len(people) == 150
        assert all(link.left[1:] == link.right[1:] for link in people)
        doubts[is_sample] = [
            np.mean([1 - link.score for link in found if link.left[0] == kind]) for kind in "pm"
        ]
    assert doubts[True][1] > 5 * doubts[False][1]
    assert doubts[True][0] == pytest.approx(doubts[False][0], abs=0.01)
