"""Link files as people have them: with a header, with commas, with faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.io.conftest import Write

from everalign.errors import InputError, SeedError
from everalign.graph import Vocabulary, encode_links, encode_triples
from everalign.io import LinkReader, read_links


@pytest.fixture
def sides() -> tuple[Vocabulary, Vocabulary]:
    left, right = Vocabulary(), Vocabulary()
    encode_triples([(f"l{n}", "r", "l0") for n in range(6)], left)
    encode_triples([(f"r{n}", "s", "r0") for n in range(6)], right)
    return left, right


def list_pairs(path: Path) -> list[tuple[str, str]]:
    return [(link.left, link.right) for link in read_links(path)]


@pytest.mark.parametrize(
    "header",
    ["left,right", "Source,Target", "uri1,uri2", "idAbt,idBuy", "ltable_id,rtable_id", "id1,id2"],
)
@pytest.mark.parametrize("name", ["seeds.csv", "seeds.tsv", "seeds.txt"])
def test_a_header_is_recognised_and_skipped(write: Write, name: str, header: str) -> None:
    content = f"{header}\nl1,r1\nl2,r2\n"
    path = write(name, content if name != "seeds.tsv" else content.replace(",", "\t"))
    reader = LinkReader(path)
    assert [link[:] for link in reader] == [("l1", "r1", 2), ("l2", "r2", 3)]
    cells = ", ".join(header.split(","))
    assert reader.notes == [f"{path}: skipped the header '{cells}'"]


@pytest.mark.parametrize("first", ["Madrid\tMadrid", "id_7\tid_9", "e1\tf1", "l1\tright"])
def test_names_of_entities_are_no_header(write: Write, first: str) -> None:
    assert list_pairs(write("seeds.tsv", f"{first}\na\tb\n"))[0] == tuple(first.split("\t"))


def test_the_header_says_where_left_and_right_are(write: Write) -> None:
    path = write("seeds.csv", "score;target;source\n0.9;r1;l1\n")
    assert list_pairs(path) == [("l1", "r1")]


def test_commas_and_quotes_of_csv_are_read(write: Write) -> None:
    content = '"http://e.org/a,b";x y\n"say ""hi""";z\n'
    assert list_pairs(write("seeds.csv", content)) == [
        ("http://e.org/a,b", "x y"),
        ('say "hi"', "z"),
    ]
    text = "left,right\nZoë,r1\n"
    for encoding in ("windows-1252", "utf-16", "utf-8-sig"):
        assert list_pairs(write("seeds.csv", text.encode(encoding))) == [("Zoë", "r1")]


def test_a_column_that_may_say_that_pairs_are_wrong_is_refused(write: Write) -> None:
    path = write("pairs.csv", "ltable_id,rtable_id,label\n1,2,0\n")
    with pytest.raises(InputError, match="found 'label' as well: leave it out"):
        read_links(path)


FAULTS = "left,right\nl1,r1\nx,r2\nl1,r2\nr3,l3\nl1,r1\nl2,y\nl4\nl5,r5\n"


def test_all_faults_are_reported_at_once(
    write: Write, sides: tuple[Vocabulary, Vocabulary]
) -> None:
    path = write("seeds.csv", FAULTS)
    with pytest.raises(SeedError) as caught:
        encode_links(path, *sides)
    assert str(caught.value) == (
        f"{path}: 6 faulty links (1 unreadable line, 2 unknown entities, 1 pair with swapped "
        "sides, 1 entity linked to several, 1 repetition), the first in line 3: "
        "'x' is not an entity of the left graph"
    )
    places = [detail.split(": ")[0] for detail in caught.value.details]
    assert places == [f"{path}:{line}" for line in (3, 4, 5, 6, 7, 8)]


def test_faulty_links_are_left_out_and_counted(
    write: Write, sides: tuple[Vocabulary, Vocabulary]
) -> None:
    path = write("seeds.csv", FAULTS)
    reader = LinkReader(path, skip_errors=True)
    assert encode_links(reader, *sides).tolist() == [[1, 1], [5, 5]]
    assert reader.notes[-1] == (
        f"{path}: 6 faulty links left out: 1 unreadable line, 2 unknown entities, "
        "1 pair with swapped sides, 1 entity linked to several, 1 repetition"
    )
    assert [fault.line for fault in reader.list_faults()] == [3, 4, 5, 6, 7, 8]


def test_names_that_no_graph_knows_are_a_header_if_later_ones_are_known(
    write: Write, sides: tuple[Vocabulary, Vocabulary]
) -> None:
    path = write("seeds.csv", "sku,article\nl1,r1\n")
    reader = LinkReader(path)
    assert encode_links(reader, *sides).tolist() == [[1, 1]]
    assert reader.notes == [f"{path}: skipped the header 'sku, article'"]
    with pytest.raises(SeedError, match="2 unknown entities"):
        encode_links(write("seeds.csv", "sku,article\nx,r1\n"), *sides)


def test_repetitions_alone_are_told_only(
    write: Write, sides: tuple[Vocabulary, Vocabulary]
) -> None:
    path = write("seeds.tsv", "l1\tr1\nl2\tr2\nl1\tr1\n")
    reader = LinkReader(path)
    assert len(encode_links(reader, *sides)) == 2
    assert reader.notes == [f"{path}: 1 repetition of links ignored (line 3)"]


def test_the_list_of_faults_is_capped(write: Write, sides: tuple[Vocabulary, Vocabulary]) -> None:
    path = write("seeds.tsv", "".join(f"x{n}\ty{n}\n" for n in range(5000)))
    with pytest.raises(SeedError, match="5000 faulty links \\(5000 unknown entities\\)") as caught:
        encode_links(path, *sides)
    assert len(caught.value.details) == 100


def test_faults_of_pairs_in_memory_have_their_number(
    sides: tuple[Vocabulary, Vocabulary],
) -> None:
    with pytest.raises(SeedError) as caught:
        encode_links([("l1", "r1"), ("x", "r2"), ("l3", "y")], *sides)
    assert caught.value.details[0] == "pair 2: 'x' is not an entity of the left graph"
