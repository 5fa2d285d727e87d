"""Which literals say the same, and how surely."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.literals.graphs import probability, quoted, texts, typed, values

from everalign.errors import ConfigError
from everalign.graph import AttributeTriples
from everalign.literals import LiteralSettings, ParsedLiterals, match_literals

NAMES = st.lists(st.text("abcdeé -(東京カ", max_size=8), max_size=8, unique=True)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ('"Paris"@fr', '"paris"@en'),
        ('"Saint-Étienne"', '"saint_etienne"'),
        ('"ＡＢＣ"', '"abc"'),
        ('"Łódź"', '"Lodz"'),
        ('"東京"@ja', '"東京"@zh'),
        ('"1"', typed("1.0", "decimal")),
        (typed("1984", "gYear"), typed("1984", "integer")),
        (typed("true", "boolean"), typed("true", "boolean")),
        (typed("2001-01-01T00:00:00Z", "dateTime"), typed("2001-01-01", "date")),
        (r'"caf\u00E9"', '"CAFÉ"'),
        ('"!!!"', '"!!!"'),
    ],
)
def test_what_is_equal_is_certain(left: str, right: str) -> None:
    assert probability(left, right) == 1
    assert probability(right, left) == 1


@pytest.mark.parametrize(
    ("left", "right", "low", "high"),
    [
        ('"100"', '"100.5"', 0.65, 0.75),
        ('"100"', '"101"', 0.5, 0.6),
        ('"0"', '"0.0001"', 0, 0),
        ('"-5"', '"5"', 0, 0),
        (typed("1815-12-10", "date"), typed("1815-12-10T09:00:00", "dateTime"), 0.9, 0.9),
        (typed("1815-12-10", "date"), typed("1815", "gYear"), 0.5, 0.5),
        (typed("1815-12-10", "date"), typed("1815-10-12", "date"), 0.5, 0.5),
        (typed("1815-12-31", "date"), typed("1816-01-01", "date"), 0.6, 0.6),
        (typed("1815-12-10", "date"), typed("1852-11-27", "date"), 0, 0),
        (typed("true", "boolean"), typed("false", "boolean"), 0, 0),
        ('"Paris (Texas)"', '"Paris"', 0.3, 0.95),
        ('"Paris (Texas)"', '"Paris (Ontario)"', 0.3, 0.95),
        ('"Sergueï Choïgou"', '"Sergey Shoygu"', 0.1, 0.95),
        ('"Paris"', '"Tokyo"', 0, 0),
        ('"007"', '"7"', 0, 0),
    ],
)
def test_what_is_near_is_likely(left: str, right: str, low: float, high: float) -> None:
    assert low <= probability(left, right) <= high
    assert probability(left, right) == pytest.approx(probability(right, left))


def test_long_texts_must_be_equal() -> None:
    text = "word " * 50
    assert probability(quoted(text), quoted(text.upper())) == 1
    assert probability(quoted(text), quoted(text + "more")) == 0


def test_a_megabyte_is_cut() -> None:
    text = "x" * 1_000_000
    assert probability(quoted(text), quoted(text + "y")) == 1
    assert probability(quoted(text), quoted("y" + text)) == 0


def test_literals_without_a_row_are_left_out() -> None:
    both = ['"Ada"', '"Bob"']
    left = AttributeTriples(np.array([[0, 0, 1]], dtype=np.int32), ["label"], both)
    assert match_literals(ParsedLiterals(left), values(both)).to_rows() == [(1, 1, 1.0)]


def test_nothing_matches_nothing() -> None:
    assert match_literals(texts(), texts("Ada")).to_rows() == []
    assert match_literals(texts(), texts()).to_rows() == []


def test_settings_are_checked() -> None:
    with pytest.raises(ConfigError, match="left_vectors"):
        LiteralSettings(left_vectors="some.vec")
    with pytest.raises(ConfigError, match="min_probability"):
        LiteralSettings(min_probability=0.0)


@pytest.mark.slow
@settings(max_examples=40)
@given(NAMES, NAMES)
def test_every_pair_once_in_order_and_likely(left: list[str], right: list[str]) -> None:
    found = match_literals(texts(*left), texts(*right))
    pairs = [(one, two) for one, two, _ in found.to_rows()]
    assert pairs == sorted(set(pairs))
    assert np.all((found.probability >= 0.05) & (found.probability <= 1))
    listed = dict(zip(pairs, found.probability.tolist(), strict=True))
    for at, name in enumerate(left):
        if name.strip() and name in right:  # nothing says the same as nothing
            assert listed[at, right.index(name)] == 1


@pytest.mark.slow
@settings(max_examples=25)
@given(NAMES, NAMES, st.randoms(use_true_random=False))
def test_the_order_of_literals_says_nothing(left: list[str], right: list[str], random) -> None:  # type: ignore[no-untyped-def]
    def named(one: list[str], two: list[str]) -> set[tuple[str, str]]:
        rows = match_literals(texts(*one), texts(*two), LiteralSettings(neighbours=20)).to_rows()
        return {(one[a], two[b]) for a, b, _ in rows}

    other = random.sample(left, len(left)), random.sample(right, len(right))
    assert named(left, right) == named(*other)


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), max_size=8), st.lists(st.floats(-1e6, 1e6), max_size=8))
def test_numbers_within_the_tolerance_are_found(left: list[float], right: list[float]) -> None:
    one, two = ([typed(repr(number), "double") for number in side] for side in (left, right))
    found = match_literals(values(one), values(two), LiteralSettings(neighbours=20))
    expected = {
        (i, j)
        for i, a in enumerate(left)
        for j, b in enumerate(right)
        if a == b or abs(a - b) <= 0.01 * min(abs(a), abs(b))
    }
    assert expected <= {(i, j) for i, j, _ in found.to_rows()}
    for i, j, _ in found.to_rows():
        assert abs(left[i] - right[j]) <= 0.0101 * max(abs(left[i]), abs(right[j]))


def test_thousands_of_spellings_of_one_text_are_not_paired_all_with_all() -> None:
    spellings = values([f'"Same"@x-{number}' for number in range(2000)])
    found = match_literals(spellings, spellings)
    assert 2000 <= len(found.left) < 2000 * 2000 / 5
