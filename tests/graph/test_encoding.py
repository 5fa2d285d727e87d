"""What comes in is checked before anything is done with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from everalign.errors import InputError, SeedError
from everalign.graph import Vocabulary, check_sides, encode_links, encode_triples


@pytest.fixture
def sides() -> tuple[Vocabulary, Vocabulary]:
    left, right = Vocabulary(), Vocabulary()
    encode_triples([("a", "r", "b"), ("b", "r", "c")], left)
    encode_triples([("A", "s", "B"), ("B", "s", "C")], right)
    return left, right


def test_links_become_ids(sides: tuple[Vocabulary, Vocabulary]) -> None:
    assert encode_links([("a", "A"), ("c", "B"), ("a", "A")], *sides).tolist() == [[0, 0], [2, 1]]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("a\tA\nx\tB\n", "seeds.tsv:2: 'x' is not an entity of the left graph"),
        ("a\tA\nb\tX\n", "seeds.tsv:2: 'X' is not an entity of the right graph"),
        ("a\tA\na\tB\n", "seeds.tsv:2: 'a' is linked to both 'A' and 'B'"),
        ("a\tA\nb\tA\n", "seeds.tsv:2: 'A' is linked to both 'a' and 'b'"),
        ("A\ta\n", "seeds.tsv:1: left and right look swapped"),
    ],
)
def test_a_wrong_seed_is_named_with_its_line(
    sides: tuple[Vocabulary, Vocabulary], tmp_path: Path, text: str, problem: str
) -> None:
    file = tmp_path / "seeds.tsv"
    file.write_text(text)
    with pytest.raises(SeedError, match=problem):
        encode_links(file, *sides)


def test_a_seed_is_no_validation_link(sides: tuple[Vocabulary, Vocabulary]) -> None:
    seeds = encode_links([("a", "A")], *sides)
    with pytest.raises(SeedError, match="'a' – 'A' is also given as a seed"):
        encode_links([("a", "A")], *sides, taken=seeds)


def test_swapped_deltas_are_refused(sides: tuple[Vocabulary, Vocabulary]) -> None:
    rows = (
        encode_triples([("A", "s", "B"), ("B", "s", "D")], sides[0]),
        encode_triples(None, sides[1]),
    )
    with pytest.raises(InputError, match="left and right look swapped: 2 entities"):
        check_sides(("new.nt", None), rows, sides, entity_counts=(3, 3))


def test_a_delta_of_unknown_entities_is_not_called_swapped(
    sides: tuple[Vocabulary, Vocabulary],
) -> None:
    rows = encode_triples([("x", "r", "y")], sides[0]), encode_triples([("B", "s", "Y")], sides[1])
    check_sides((None, None), rows, sides, entity_counts=(3, 3))


def test_where_the_graphs_share_names_nothing_is_called_swapped() -> None:
    left, right = Vocabulary(), Vocabulary()
    encode_triples([("0", "r", "1")], left)
    encode_triples([("0", "s", "1"), ("2", "s", "3")], right)
    rows = encode_triples([("2", "r", "3")], left), encode_triples(None, right)
    check_sides((None, None), rows, (left, right), entity_counts=(2, 4))
