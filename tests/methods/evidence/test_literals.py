"""Names as evidence: with trusted links, without any, for some entities only, and wrong ones."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from tests.methods.evidence.naming import named, values
from tests.methods.evidence.samples import NO_LINKS, Sampled, fitted, found, sampled

from everalign._progress import no_progress
from everalign.benchmark.metrics import score_links
from everalign.benchmark.synthetic import SampleConfig
from everalign.config import Config
from everalign.graph import AttributeTriples, Graph
from everalign.literals import CachedMatches, LiteralSettings, MatchedLiterals
from everalign.methods import AlignmentTask, ExplainableMethod, create_method

RING = Graph.from_triples([(n, 0, (n + 1) % 12) for n in range(12)])


@pytest.fixture(scope="module")
def sample() -> Sampled:
    return sampled(SampleConfig(triples=6000, snapshots=1))


@pytest.fixture(scope="module")
def plain_f1(sample: Sampled) -> float:
    problem = sample.problems[0]
    return sample.f1(found(fitted(problem), problem), 0)


@pytest.mark.slow
def test_names_find_far_more(sample: Sampled, plain_f1: float) -> None:
    problem = named(sample)
    assert sample.f1(found(fitted(problem), problem), 0) > max(0.85, plain_f1 + 0.05)


@pytest.mark.slow
def test_literals_on_one_side_change_nothing(sample: Sampled) -> None:
    problem = sample.problems[0]
    one_sided = replace(named(sample), right_attributes=AttributeTriples.empty())
    plain, other = found(fitted(problem), problem), found(fitted(one_sided), one_sided)
    assert other.pairs() == plain.pairs()
    assert other.score.tolist() == plain.score.tolist()


@pytest.mark.slow
def test_names_without_any_trusted_link(sample: Sampled) -> None:
    bare = replace(named(sample), seeds=NO_LINKS, validation=NO_LINKS)
    result = found(fitted(bare), bare)
    problem = sample.problems[0]
    gold = [*sample.gold[0], *map(tuple, problem.seeds.tolist() + problem.validation.tolist())]
    assert score_links(result.accepted().pairs(), gold).f1 > 0.9
    assert any("confidence is not calibrated" in note for note in result.notes)
    links = result.accepted()
    told = f"{len(links)} links of a mean confidence of {links.score.mean():.2f}"
    assert f"without trusted links: {told}" in result.notes


def test_a_ring_is_turned_right_by_names_alone() -> None:
    """Twelve entities in a ring, all alike but for what four of them are called."""
    called = values({0: "Ada", 3: "Eve", 5: "Ida", 9: "Una"})
    problem = AlignmentTask(
        RING, RING, NO_LINKS, NO_LINKS, left_attributes=called, right_attributes=called
    )
    links = found(fitted(problem), problem).accepted().pairs()
    assert len(links) >= 8
    assert all(left == right for left, right in links)


@pytest.mark.slow
def test_names_of_half_of_the_entities(sample: Sampled, plain_f1: float) -> None:
    half = named(sample, unnamed=set(range(0, sample.problems[0].left.entity_count, 2)))
    result = found(fitted(half), half)
    assert sample.f1(result, 0) > plain_f1
    unnamed = [pair for pair in sample.gold[0] if pair[0] % 2 == 0]
    plain = found(fitted(sample.problems[0]), sample.problems[0])
    assert right_of(result.accepted().pairs(), unnamed) >= right_of(
        plain.accepted().pairs(), unnamed
    )


def right_of(pairs: list[tuple[int, int]], gold: list[tuple[int, int]]) -> int:
    return len(set(pairs) & set(gold))


@pytest.mark.slow
def test_wrong_names_do_not_mislead(sample: Sampled, plain_f1: float) -> None:
    """A tenth of the names is wrong: not much worse than without any."""
    wrong = set(range(0, sample.problems[0].left.entity_count, 10))
    mixed = named(sample, wrong=wrong)
    result = found(fitted(mixed), mixed).accepted()
    assert sample.f1(result, 0) > plain_f1 - 0.05


def test_a_common_value_tells_less_than_a_rare_one() -> None:
    """Two attributes: five share a birthplace, each has an own number."""
    graph = Graph.from_triples([(n, 0, 10) for n in range(10)])
    rows = [(n, 0, n % 2) for n in range(10)] + [(n, 1, 2 + n) for n in range(10)]
    literals = ['"Oslo"', '"Rome"', *(f'"{100 + 7 * n}"' for n in range(10))]
    said = AttributeTriples(np.array(rows, dtype=np.int32), ["born", "number"], literals)
    seeds = np.array([(n, n) for n in range(3)] + [(10, 10)], dtype=np.int32)
    problem = AlignmentTask(
        graph, graph, seeds, NO_LINKS, left_attributes=said, right_attributes=said
    )
    method = fitted(problem)
    assert isinstance(method, ExplainableMethod)
    (pair,) = (c for c in method.explain(problem, 5, None) if c.right == 5)
    weight = {piece.left_relation: piece.weight for piece in pair.pieces if piece.literal}
    assert weight[1] > 2 * weight[0] > 0


def test_the_reasons_by_hand() -> None:
    """0 and 1 are called the same on both sides; 1 is known, so that names correspond."""
    graph = Graph.from_triples([(0, 0, 1), (2, 0, 1)])
    called = values({0: "Ada", 1: "Eve"})
    problem = AlignmentTask(
        graph, graph, np.array([(1, 1)], dtype=np.int32), NO_LINKS,
        left_attributes=called, right_attributes=called,
    )  # fmt: skip
    method = fitted(
        problem, {"min_match_probability": 1.0}
    )  # only what is certain counts as a match
    assert isinstance(method, ExplainableMethod)
    (pair,) = (c for c in method.explain(problem, 0, None) if c.right == 0)
    (piece,) = (piece for piece in pair.pieces if piece.literal)
    included = (1 + 0.1 * 2) / (1 + 2)  # names: seen once of once
    assert piece.weight == pytest.approx(-2 * math.log(1 - included), rel=1e-5)
    assert (piece.left_relation, piece.left_neighbour, piece.right_neighbour) == (0, 0, 0)
    (match,) = (match for match in method.relations(problem) if match.attributes)
    assert (match.left, match.right, match.support) == (0, 0, 1)
    assert match.left_in_right == pytest.approx(included)


@pytest.mark.slow
def test_names_that_come_later_are_weighed(sample: Sampled) -> None:
    before, after = sample.problems[0], named(sample)
    everybody = tuple(
        np.arange(graph.entity_count, dtype=np.int32) for graph in (after.left, after.right)
    )
    method = fitted(before)
    method.update(replace(after, changed_entities=(everybody[0], everybody[1])), no_progress)
    assert sample.f1(found(method, after), 0) > 0.85


@pytest.mark.slow
def test_loaded_it_goes_on_as_before(sample: Sampled) -> None:
    problem = named(sample)
    method, other = fitted(problem), create_method(Config(method="evidence"))
    other.load(method.save())
    changed = np.arange(50, dtype=np.int32), np.arange(50, dtype=np.int32)
    for each in (method, other):
        each.update(replace(problem, changed_entities=changed), no_progress)
    one, two = method.save(), other.save()
    assert one.keys() == two.keys()
    for name, value in one.items():
        np.testing.assert_array_equal(value, two[name], err_msg=name)


def test_cached_matches_need_no_parsing(sample: Sampled) -> None:
    problem = named(sample)

    def find(cache: CachedMatches) -> MatchedLiterals:
        found = MatchedLiterals.find(
            (problem.left_attributes, problem.right_attributes),
            (problem.left.entity_count, problem.right.entity_count),
            LiteralSettings(),
            no_progress,
            NO_LINKS,
            cache,
        )
        assert found is not None
        return found

    first = find(CachedMatches.empty())
    second = find(first.to_cache())
    assert second.matches is first.matches
    assert "typed_values" not in vars(second.left) | vars(second.right)
