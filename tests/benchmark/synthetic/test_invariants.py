"""What holds for every sample, whatever its config."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everalign.benchmark.synthetic import Sample, SampleConfig, Triple, generate_sample

_SAMPLES = st.builds(
    SampleConfig,
    triples=st.integers(1_000, 4_000),
    snapshots=st.integers(1, 7),
    seed=st.integers(0, 2**40),
    seed_share=st.floats(0, 0.6),
    validation_share=st.floats(0, 0.4),
    growth=st.floats(0, 0.5),
    missing_share=st.floats(0, 0.6),
    wrong_share=st.floats(0, 0.2),
    one_sided_share=st.floats(0, 0.6),
    new_one_sided_share=st.floats(0, 0.95),
    late_share=st.floats(0, 0.5),
    repeated_share=st.floats(0, 0.2),
).map(generate_sample)

_few_examples = settings(max_examples=25, suppress_health_check=[HealthCheck.too_slow])


def _entities(triples: list[Triple]) -> set[str]:
    return {entity for head, _, tail in triples for entity in (head, tail)}


def _snapshots(sample: Sample) -> range:
    return range(sample.config.snapshots)


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_links_are_one_to_one_and_the_splits_disjoint(sample: Sample) -> None:
    links = sample.seeds + sample.validation_links + sample.gold(-1)
    assert len({left for left, _ in links}) == len(links)
    assert len({right for _, right in links}) == len(links)


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_links_are_exactly_between_entities_that_are_there(sample: Sample) -> None:
    left: set[str] = set()
    right: set[str] = set()
    for snapshot in _snapshots(sample):
        left |= _entities(sample.left(snapshot))
        right |= _entities(sample.right(snapshot))
        links = sample.seeds + sample.validation_links + sample.gold(snapshot)
        assert {entity for entity, _ in links} <= left
        assert {entity for _, entity in links} <= right
        later = set(sample.gold(-1)) - set(links)
        assert not any(a in left and b in right for a, b in later)


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_snapshots_only_add(sample: Sample) -> None:
    assert sample.gold(0) == sample.new_gold(0)
    for snapshot in _snapshots(sample)[1:]:
        before, now = set(sample.gold(snapshot - 1)), set(sample.gold(snapshot))
        assert before <= now
        assert now - before == set(sample.new_gold(snapshot))


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_triples_come_once_but_for_the_asked_share_of_repeats(sample: Sample) -> None:
    for graph in (sample.left, sample.right):
        known: set[Triple] = set()
        for snapshot in _snapshots(sample):
            triples = graph(snapshot)
            new = set(triples) - known
            assert len(set(triples)) == len(triples)
            assert len(triples) - len(new) <= sample.config.repeated_share * len(new) + 1
            known |= new


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_the_size_is_about_as_asked(sample: Sample) -> None:
    triples = sum(
        len(graph(t)) for graph in (sample.left, sample.right) for t in _snapshots(sample)
    )
    asked = sample.config.triples
    assert abs(triples / asked - 1) <= 0.25 + 5 / asked**0.5  # small samples vary more


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_the_links_of_snapshot_0_are_split_as_asked(sample: Sample) -> None:
    links = len(sample.seeds) + len(sample.validation_links) + len(sample.gold(0))
    assert abs(len(sample.seeds) - sample.config.seed_share * links) <= 1
    assert abs(len(sample.validation_links) - sample.config.validation_share * links) <= 1


@pytest.mark.slow
@_few_examples
@given(_SAMPLES)
def test_the_sides_share_no_name(sample: Sample) -> None:
    def names(triples: list[Triple]) -> set[str]:
        return {name for triple in triples for name in triple}

    assert not names(sample.left(0)) & names(sample.right(0))
