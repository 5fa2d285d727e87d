"""The index of literals: what comes later is matched as if it had been there from the start."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.literals.graphs import quoted, typed, values

from everalign._progress import no_progress
from everalign.graph import AttributeTriples, IntArray
from everalign.literals import (
    NO_KNOWN_PAIRS,
    CachedMatches,
    LiteralIndex,
    LiteralMatches,
    LiteralSettings,
    MatchedLiterals,
    NewLiterals,
    compare_word_bags,
    compute_explained_shares,
    compute_name_similarity,
    learn_name_models,
    match_literals,
)
from everalign.literals.word_bags import WordBags

DEFAULT = LiteralSettings()
Matches = dict[tuple[int, int], float]

NUMBERS = st.sampled_from(["0", "1", "1.0", "99", "100", "100.5", "101", "-5", "1815", "1816"])
DATES = st.sampled_from(
    ["1815-12-10", "1815", "1815-12", "1815-10-12", "1816-01-01", "1815-12-31"]
)
EXACT = st.sampled_from([typed("true", "boolean"), quoted("007"), quoted("7"), quoted("x" * 300)])
TEXTS = st.text("abé (東)", min_size=1, max_size=6).map(quoted)
LITERALS = st.lists(
    st.one_of(NUMBERS.map(quoted), DATES.map(quoted), EXACT, TEXTS), min_size=1, max_size=12
).map(lambda found: list(dict.fromkeys(found)))


def matched(
    left: Sequence[str],
    right: Sequence[str],
    used: LiteralSettings = DEFAULT,
    seeds: IntArray = NO_KNOWN_PAIRS,
) -> MatchedLiterals:
    """An entity for each literal, matched."""
    sides = values(left).attribute_triples, values(right).attribute_triples
    counts = len(left), len(right)
    found = MatchedLiterals.find(sides, counts, used, no_progress, seeds, CachedMatches.empty())
    assert found is not None
    return found


def new_literals(literals: Sequence[str], known: int) -> NewLiterals:
    """All literals but the first ones, which are known."""
    ids = np.arange(known, len(literals), dtype=np.int32)
    return NewLiterals(ids, literals[known:])


def list_matches(matches: LiteralMatches) -> Matches:
    return {(one, two): each for one, two, each in matches.to_rows()}


def add_rest(
    left: Sequence[str], right: Sequence[str], known: int, used: LiteralSettings = DEFAULT
) -> Matches:
    """What the literals behind the known ones match, when they are added."""
    index = LiteralIndex.build(matched(left[:known], right[:known], used), None)
    added = index.add_literals(new_literals(left, known), new_literals(right, known))
    return list_matches(added.matches)


def match_whole(
    left: Sequence[str], right: Sequence[str], known: int, used: LiteralSettings = DEFAULT
) -> Matches:
    """The same pairs, when all literals are matched at once."""
    found = list_matches(match_literals(values(left), values(right), used))
    return {pair: each for pair, each in found.items() if max(pair) >= known}


@pytest.mark.parametrize(
    ("left", "right", "expected"),
    [
        (quoted("Ada Lovelace"), quoted("ADA_LOVELACE"), 1.0),
        (quoted("1"), typed("1.0", "decimal"), 1.0),
        (quoted("100"), quoted("100.5"), 0.701),
        (typed("1815-12-10", "date"), typed("1815", "gYear"), 0.5),
        (typed("1815-12-10", "date"), quoted("1815"), 0.5),
        (quoted("Paris (Texas)"), quoted("Paris"), 0.6),
        (quoted("Paris (Texas)"), quoted("Paris (Ontario)"), 0.3),
        (typed("true", "boolean"), typed("true", "boolean"), 1.0),
        (typed("true", "boolean"), typed("false", "boolean"), 0.0),
        (quoted("東京タワー"), quoted("tokyo tower"), None),
        (quoted("Sergueï Choïgou"), quoted("Sergey Shoygu"), None),
    ],
)
def test_a_new_literal_finds_its_partner(left: str, right: str, expected: float | None) -> None:
    """From either side, and if both are new; None stands for what the whole matching says."""
    others = [quoted("nothing like it"), quoted("4711")]
    index = LiteralIndex.build(matched([*others, left], [*others, right]), None)
    without_left = LiteralIndex.build(matched(others, [*others, right]), None)
    without_right = LiteralIndex.build(matched([*others, left], others), None)
    without_both = LiteralIndex.build(matched(others, others), None)
    one = NewLiterals(np.array([2], dtype=np.int32), [left])
    two = NewLiterals(np.array([2], dtype=np.int32), [right])
    none = NewLiterals.none()
    for start, new in (
        (without_left, (one, none)),
        (without_right, (none, two)),
        (without_both, (one, two)),
    ):
        found = list_matches(start.add_literals(*new).matches)
        if expected is None:
            whole = match_whole([*others, left], [*others, right], 2)
            assert found[2, 2] == pytest.approx(whole[2, 2], abs=0.1)
        else:
            assert found.get((2, 2), 0.0) >= expected
            assert found.get((2, 2), 0.0) <= max(expected, 0.95 if expected else 0.0)
    assert list_matches(index.add_literals(one, two).matches) == {}


@settings(max_examples=60, deadline=None)
@given(LITERALS, LITERALS, st.integers(1, 6))
def test_values_as_if_all_had_been_there(left: list[str], right: list[str], known: int) -> None:
    """Certain pairs, numbers, dates and qualifiers rest on no weights: they are the same."""
    known = min(known, len(left), len(right))
    whole, added = match_whole(left, right, known), add_rest(left, right, known)
    fixed = {pair: each for pair, each in whole.items() if each in (1, 0.9, 0.7, 0.6, 0.5, 0.3)}
    for pair, each in fixed.items():
        assert added.get(pair, 0) >= each - 1e-4
    kinds = [
        {i for i, literal in enumerate(side) if literal.strip('"')[:1] in "-0123456789"}
        for side in (left, right)
    ]
    for pair, each in added.items():
        if pair[0] in kinds[0] and pair[1] in kinds[1]:
            assert whole[pair] == pytest.approx(each, abs=1e-4)


def draw_names(count: int, seed: int) -> list[str]:
    """Names of two or three words; few have the same."""
    rng = np.random.default_rng(seed)
    parts = [consonant + vowel for consonant in "bdfgklmnprst" for vowel in "aeiou"]
    words = ["".join(rng.choice(parts, 3)) for _ in range(400)]
    return list(
        dict.fromkeys(" ".join(rng.choice(words, rng.integers(2, 4))) for _ in range(count))
    )


def misspell(name: str) -> str:
    return name[:4] + "x" + name[5:] + "e"


def test_similar_texts_as_if_all_had_been_there() -> None:
    names = draw_names(600, seed=3)
    left = [quoted(name) for name in names]
    right = [quoted(misspell(name)) for name in names]
    known = 500
    whole, added = match_whole(left, right, known), add_rest(left, right, known)
    # Weights that are not of all texts change a probability a little: a pair at the lower limit
    # may be listed by one of the two only.
    for one, other in ((whole, added), (added, whole)):
        assert {pair for pair, each in one.items() if each > 0.2} <= other.keys()
    shared = whole.keys() & added.keys()
    assert len(shared) > 0.95 * max(len(whole), len(added))
    assert np.mean([abs(whole[pair] - added[pair]) for pair in shared]) < 0.02
    assert all((at, at) in added for at in range(known, len(names)))


def test_one_by_one_as_all_at_once() -> None:
    names = draw_names(300, seed=4)
    left, right = [quoted(name) for name in names], [quoted(misspell(name)) for name in names]
    known = 270
    at_once = add_rest(left, right, known)
    index = LiteralIndex.build(matched(left[:known], right[:known]), None)
    one_by_one: Matches = {}
    for at in range(known, len(names)):
        ids = np.array([at], dtype=np.int32)
        for new in (
            (NewLiterals(ids, [left[at]]), NewLiterals.none()),
            (NewLiterals.none(), NewLiterals(ids, [right[at]])),
        ):
            added = index.add_literals(*new)
            index = added.index
            one_by_one.update(list_matches(added.matches))
    missing = at_once.keys() - one_by_one.keys()
    assert len(missing) < 0.02 * len(at_once)
    assert all((at, at) in one_by_one for at in range(known, len(names)))


def test_with_translation_new_names_find_theirs() -> None:
    """Left words mean right words that look quite different; only seeds tell which."""
    rng = np.random.default_rng(0)
    left_words = [f"{a}{b}o" for a in ("bal", "cor", "dim", "fug") for b in "abdeiklmn"]
    right_words = [f"{a}{b}y" for a in ("wex", "zup", "quj", "hyv") for b in "rstvwxzpq"]
    meant = [rng.choice(len(left_words), 3, replace=False) for _ in range(400)]
    left = [quoted(" ".join(left_words[word] for word in words)) for words in meant]
    right = [quoted(" ".join(right_words[word] for word in words)) for words in meant]
    known = 360
    seeds = np.stack([np.arange(known)] * 2, axis=1).astype(np.int32)
    index = LiteralIndex.build(matched(left[:known], right[:known], seeds=seeds), None)
    left_first = index.add_literals(new_literals(left, known), NewLiterals.none())
    right_then = left_first.index.add_literals(NewLiterals.none(), new_literals(right, known))
    found = list_matches(right_then.matches)
    whole = list_matches(match_literals(values(left), values(right), seeds=seeds))
    expected = {pair for pair in whole if pair[1] >= known and pair[0] == pair[1]}
    assert len(expected) > 30
    assert len(expected & found.keys()) > 0.9 * len(expected)


class CountedArrays(Mapping[str, NDArray[Any]]):
    """Memory-mapped arrays that are opened when they are asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[str] = []

    def __getitem__(self, name: str) -> NDArray[Any]:
        self.opened.append(name)
        array: NDArray[Any] = np.load(self.folder / f"{name}.npy", mmap_mode="r")
        return array

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in self.folder.glob("*.npy"))

    def __len__(self) -> int:
        return len(list(iter(self)))


def save(index: LiteralIndex, folder: Path, *, added_only: bool = False) -> CountedArrays:
    for name, array in index.to_arrays(added_only=added_only).items():
        np.save(folder / f"{name}.npy", array)
    return CountedArrays(folder)


def test_saved_and_loaded_it_is_the_same(tmp_path: Path) -> None:
    names = draw_names(120, seed=5)
    left = [quoted(name) for name in names] + [quoted("1815"), typed("1815-12-10", "date")]
    right = [quoted(misspell(name)) for name in names] + [quoted("1815"), quoted("1820")]
    index = LiteralIndex.build(matched(left[:80], right[:80]), None)
    stored = save(index, tmp_path)
    loaded = LiteralIndex.from_arrays(stored)
    assert stored.opened == []
    for end in (100, len(left)):
        new = new_literals(left[:end], 80), new_literals(right[:end], 80)
        here, there = index.add_literals(*new), loaded.add_literals(*new)
        assert list_matches(here.matches) == list_matches(there.matches)
        index = here.index
        # Only what came since is written again.
        loaded = LiteralIndex.from_arrays(save(there.index, tmp_path, added_only=True))
    arrays = index.to_arrays()
    assert set(index.to_arrays(added_only=True)) == set(filter(LiteralIndex.is_added, arrays))
    for name, array in loaded.to_arrays().items():
        np.testing.assert_array_equal(array, arrays[name])


def test_what_was_trained_stays_as_it_is() -> None:
    index = LiteralIndex.build(matched([quoted("Ada")], [quoted("Bob")]), None)
    before = {name: array.copy() for name, array in index.to_arrays().items()}
    new = NewLiterals(np.array([7], dtype=np.int32), [quoted("Bob")])
    after = index.add_literals(new, new).index.to_arrays()
    for name, array in before.items():
        np.testing.assert_array_equal(index.to_arrays()[name], array)
        if not LiteralIndex.is_added(name):
            np.testing.assert_array_equal(after[name], array)


def test_a_known_literal_is_skipped() -> None:
    index = LiteralIndex.build(matched([quoted("Ada")], [quoted("Bob")]), None)
    new = NewLiterals(np.array([5, 5], dtype=np.int32), [quoted("bob"), quoted("bob")])
    first = index.add_literals(new, NewLiterals.none())
    assert first.matches.to_rows() == [(5, 0, 1.0)]
    again = first.index.add_literals(new, NewLiterals.none())
    assert again.matches.to_rows() == []


def test_a_text_that_is_there_with_another_tag() -> None:
    """The new literal has the text of an old one, and so its partners."""
    left = ['"Serguei Choigou"@fr', quoted("Marie Curie")]
    right = [quoted("Sergey Shoygu"), quoted("Pierre Curie")]
    found = matched(left, right)
    index = LiteralIndex.build(found, None)
    new = NewLiterals(np.array([2], dtype=np.int32), ['"Serguei Choigou"@en'])
    added = list_matches(index.add_literals(new, NewLiterals.none()).matches)
    old = list_matches(found.matches)
    assert added[2, 0] == pytest.approx(old[0, 0], abs=1e-4)
    assert all(left == 2 for left, _ in added)


def test_one_side_has_no_texts() -> None:
    index = LiteralIndex.build(matched([quoted("7")], [quoted("Ada")]), None)
    new = NewLiterals(np.array([3], dtype=np.int32), [quoted("Ada")])
    assert index.add_literals(new, NewLiterals.none()).matches.to_rows() == [(3, 0, 1.0)]


def test_the_nearest_text_among_many() -> None:
    """So many texts share its features that not all postings are read."""
    rng = np.random.default_rng(1)
    words = [f"{a}{b}{c}" for a in "bcdfghkl" for b in "aeiou" for c in ("nn", "rt", "st")]
    names = [" ".join(rng.choice(words, 4)) for _ in range(12_000)]
    names = list(dict.fromkeys(names))
    index = LiteralIndex.build(matched([quoted(names[0])], [*map(quoted, names)]), None)
    asked = rng.choice(len(names), 20, replace=False)
    literals = [quoted(names[at] + "x") for at in asked.tolist()]
    new = NewLiterals(np.arange(100, 120, dtype=np.int32), literals)
    found = list_matches(index.add_literals(new, NewLiterals.none()).matches)
    assert all((100 + place, at) in found for place, at in enumerate(asked.tolist()))


def test_translations_of_a_file_serve_new_literals(tmp_path: Path) -> None:
    path = tmp_path / "translations.tsv"
    path.write_text("大学\tuniversity\n小学\tprimary school\n", encoding="utf-8")
    used = LiteralSettings(translations=str(path))
    left, right = (
        [quoted("大学"), quoted("小学")],
        [quoted("University"), quoted("Primary School")],
    )
    added, whole = (act(left, right, 1, used) for act in (add_rest, match_whole))
    assert added.keys() == whole.keys() == {(1, 1)}
    assert added[1, 1] == pytest.approx(whole[1, 1], abs=0.05)


def test_vectors_serve_new_literals(tmp_path: Path) -> None:
    one, two = tmp_path / "left.vec", tmp_path / "right.vec"
    one.write_text("rosso 1 0\nblu 0 1\n", encoding="utf-8")
    two.write_text("red 1 0\nblue 0 1\n", encoding="utf-8")
    used = LiteralSettings(left_vectors=str(one), right_vectors=str(two))
    left, right = [quoted("rosso blu"), quoted("rosso")], [quoted("red blue"), quoted("red")]
    assert (1, 1) in match_whole(left, right, 1, used)
    assert add_rest(left, right, 1, used)[1, 1] == pytest.approx(0.9, abs=1e-3)


def named_graph(names: Sequence[str], extra: Sequence[str]) -> AttributeTriples:
    """Entities with a label each, some with more labels, and codes that name worse."""
    literals = [*map(quoted, names), *map(quoted, extra)]
    rows = [(at, 1, at) for at in range(len(names)) if at % 7]
    rows += [(at, 0, len(names) + at % len(extra)) for at in range(len(names)) if at % 5]
    rows += [(at, 1, (at + 1) % len(names)) for at in range(0, len(names), 3)]
    return AttributeTriples(np.array(rows, dtype=np.int32), ["code", "label"], literals)


def compare_whole(
    found: MatchedLiterals, models: Any, left: IntArray, right: IntArray
) -> NDArray[np.float32]:
    similarity = compute_name_similarity(*found.names, left, right)
    words = compare_word_bags(*found.word_bags, left, right)
    shares = compute_explained_shares(models, *found.name_tokens, left, right)
    return np.concatenate([similarity[:, None], words, shares], axis=1)


def test_names_and_words_of_pairs_as_the_whole_computation() -> None:
    names = draw_names(90, seed=6)
    codes = ["A 17 x", "B-18 y", "12345", "z" * 150]
    sides = named_graph(names, codes), named_graph([misspell(name) for name in names], codes)
    counts = len(names), len(names)
    found = MatchedLiterals.find(
        sides, counts, DEFAULT, no_progress, NO_KNOWN_PAIRS, CachedMatches.empty()
    )
    assert found is not None
    seeds = np.stack([np.arange(60)] * 2, axis=1).astype(np.int32)
    nothing = np.empty(0, dtype=np.int32)
    models = learn_name_models(
        *found.name_tokens, seeds, (nothing, nothing, np.empty(0, dtype=np.float32))
    )
    index = LiteralIndex.build(found, models)
    rng = np.random.default_rng(2)
    left = rng.integers(0, len(names), 200).astype(np.int32)
    right = np.where(rng.random(200) < 0.5, left, rng.integers(0, len(names), 200))
    right = right.astype(np.int32)
    # Only the triples of these entities, in any order.
    triples = [
        rng.permutation(side.triples[np.isin(side.triples[:, 0], entities)])
        for side, entities in zip(sides, (left, right), strict=True)
    ]
    compared = index.compare_entities(left, right, *triples)
    whole = compare_whole(found, models, left, right)
    assert np.isnan(whole).any(axis=0).all()
    assert (whole > 0.3).any(axis=0).all()
    np.testing.assert_array_equal(compared, whole)


WORDS = st.lists(st.sampled_from(["red", "Blue", "X-100", "x100", "7", "東京"]), max_size=4)
DESCRIPTIONS = st.lists(WORDS.map(lambda words: quoted(" ".join(words))), min_size=1, max_size=8)


@settings(max_examples=60, deadline=None)
@given(DESCRIPTIONS, DESCRIPTIONS, st.integers(1, 4))
def test_words_as_if_all_had_been_there(left: list[str], right: list[str], known: int) -> None:
    """But for the weights, which are those of the known literals."""
    known = min(known, len(left), len(right))
    start = matched(left[:known], right[:known])
    added = LiteralIndex.build(start, None).add_literals(
        new_literals(left, known), new_literals(right, known)
    )
    whole = matched(left, right)
    bags = [
        WordBags.from_words(bag.start, bag.word, start.word_weights.look_up(bag.word))
        for bag in whole.word_bags
    ]
    # Each literal is one entity's.
    pairs = [(one, two) for one in range(len(left)) for two in range(len(right))]
    one, two = np.array(pairs, dtype=np.int32).T
    triples = (side.attribute_triples.triples for side in (values(left), values(right)))
    compared = added.index.compare_entities(one, two, *triples)[:, 1:-2]
    np.testing.assert_array_equal(compared, compare_word_bags(bags[0], bags[1], one, two))


def test_without_models_nothing_is_explained() -> None:
    index = LiteralIndex.build(matched([quoted("Ada")], [quoted("Ada")]), None)
    zero = np.zeros(1, dtype=np.int32)
    triples = np.zeros((1, 3), dtype=np.int32)
    compared = index.compare_entities(zero, zero, triples, triples)
    # One word, in both of the two bags; none has digits.
    rarest = np.float32(np.log(3 / 2))
    np.testing.assert_array_equal(compared, [[1, 1, np.nan, rarest, np.nan, np.nan]])


def test_new_attributes_name_last_and_new_entities_have_names() -> None:
    index = LiteralIndex.build(matched([quoted("Ada")], [quoted("Ada")]), None)
    ids = np.array([1, 2], dtype=np.int32)
    new = NewLiterals(ids, [quoted("Ada"), quoted("Bob")])
    index = index.add_literals(new, NewLiterals.none()).index
    # Entity 5 has a literal of attribute 0 and one of attribute 1, which is new; entity 6 has
    # only the latter.
    left_triples = np.array([[5, 1, 2], [5, 0, 1], [6, 1, 2]], dtype=np.int32)
    right_triples = np.array([[0, 0, 0]], dtype=np.int32)
    left, right = np.array([5, 6, 7], dtype=np.int32), np.zeros(3, dtype=np.int32)
    similarity = index.compare_entities(left, right, left_triples, right_triples)[:, 0]
    assert similarity[0] == 1
    assert similarity[1] == 0
    assert np.isnan(similarity[2])


def test_tokens_never_seen_weigh_as_those_seen_once() -> None:
    """Half of the name "rosso nuovo" is explained, if both words weigh the same."""
    left = [quoted("rosso"), quoted("blu"), quoted("verde")]
    right = [quoted("red"), quoted("blue"), quoted("green")]
    found = matched(left, right)
    seeds = np.stack([np.arange(3)] * 2, axis=1).astype(np.int32)
    nothing = np.empty(0, dtype=np.int32)
    models = learn_name_models(
        *found.name_tokens, seeds, (nothing, nothing, np.empty(0, dtype=np.float32))
    )
    index = LiteralIndex.build(found, models)
    new = NewLiterals(np.array([3], dtype=np.int32), [quoted("rosso nuov")])
    index = index.add_literals(new, NewLiterals.none()).index
    red = np.zeros((1, 3), dtype=np.int32)
    zero = np.zeros(1, dtype=np.int32)
    old_pair = index.compare_entities(zero, zero, red, red)
    new_triples = np.array([[8, 0, 3]], dtype=np.int32)
    new_pair = index.compare_entities(zero + np.int32(8), zero, new_triples, red)
    # Tokens: rosso, its stem, nuov. Two of three are explained as far as before.
    assert new_pair[0, -1] == pytest.approx(old_pair[0, -1] * 2 / 3, rel=1e-4)
