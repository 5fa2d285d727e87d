"""CSV and TSV with a header: rows become entities, columns attributes and relations."""

from __future__ import annotations

import csv
import gzip
import io
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyoxigraph import Literal
from tests.io.conftest import Write

from everalign.errors import ConfigError, InputError
from everalign.io import SourceOptions, Table, TripleReader
from everalign.io.csv_files import detect_dialect
from everalign.io.entity_tables import format_text, format_texts

XSD = "http://www.w3.org/2001/XMLSchema#"
PEOPLE = "id,name,city,tags\n1,Ada,c1,a;b\n2,Zoë,,\n"


def read(source: Any, **options: Any) -> tuple[set[Any], set[Any], list[str]]:
    reader = TripleReader(source, **options)
    batches = list(reader.statements())
    triples = {row for batch in batches for row in batch.triples}
    literals = {row for batch in batches for row in batch.literals}
    return triples, literals, reader.notes


def refusal(source: Any) -> InputError:
    with pytest.raises(InputError) as caught:
        read(source)
    assert "\n" not in str(caught.value)
    return caught.value


def test_rows_are_entities_and_columns_attributes_or_relations(write: Write) -> None:
    path = write("people.csv", PEOPLE)
    triples, literals, notes = read(Table(path, link_columns=["city"], split={"tags": ";"}))
    assert triples == {("1", "city", "c1")}
    assert literals == {
        ("1", "name", '"Ada"'),
        ("2", "name", '"Zoë"'),
        ("1", "tags", '"a"'),
        ("1", "tags", '"b"'),
    }
    assert notes == [
        f"{path}: read as a table (comma), 2 rows, id column 'id', "
        "attributes 'name, tags', links 'city'"
    ]


@pytest.mark.parametrize(
    ("encoding", "told"),
    [
        ("utf-8", ""),
        ("utf-8-sig", ""),
        ("utf-16", "utf-16-le"),
        ("windows-1252", "windows-1252"),
        ("iso-8859-1", "windows-1252"),
    ],
)
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
def test_encoding_and_delimiter_are_detected(
    write: Write, encoding: str, told: str, delimiter: str
) -> None:
    content = PEOPLE.replace(";", "/").replace(",", delimiter).replace("\n", "\r\n")
    _, literals, notes = read(write("people.csv", content.encode(encoding)))
    assert ("2", "name", '"Zoë"') in literals
    assert [note for note in notes if "UTF-8" in note or "byte order" in note] == [
        note for note in notes if told and f": read as {told}, " in note
    ]
    assert len(notes) == (2 if told else 1)


def test_the_encoding_shows_late_in_a_large_file(write: Write) -> None:
    rows = "".join(f"{n},plain\n" for n in range(20_000))
    path = write("late.csv", ("id,name\n" + rows + "x,Zoë\n").encode("windows-1252"))
    assert ("x", "name", '"Zoë"') in read(path)[1]
    # One damaged byte in a file of UTF-8 is no other encoding.
    damaged = write("bad.csv", "id,name\n1,Zoë\n2,Zoë\n3,".encode() + b"Zo\xeb\n")
    assert refusal(damaged).problem == "byte 5 of the line (0xeb) is not UTF-8"


def test_a_given_encoding_is_used(write: Write) -> None:
    path = write("people.csv", "id,name\n1,Łódź\n".encode("iso-8859-2"))
    _, literals, notes = read(Table(path), opening=SourceOptions("iso-8859-2"))
    assert literals == {("1", "name", '"Łódź"')}
    assert f"{path}: read as iso8859-2, as its text is not UTF-8" in notes
    with pytest.raises(ConfigError, match="the encoding 'utf-99' is unknown"):
        read(path, opening=SourceOptions("utf-99"))


def test_quotes_newlines_and_backslashes_in_cells(write: Write) -> None:
    path = write("q.csv", 'id,text\n1,"a ""b"", c"\n2,"two\r\nlines"\n3,back\\slash\n')
    assert read(path)[1] == {
        ("1", "text", r'"a \"b\", c"'),
        ("2", "text", r'"two\nlines"'),
        ("3", "text", r'"back\\slash"'),
    }
    escaped = write("e.csv", 'id,text\n1,"a \\"b\\", c"\n')
    assert read(escaped)[1] == {("1", "text", r'"a \"b\", c"')}
    plain = write("t.tsv", 'id\ttext\n1\t"Weird Al" Yankovic\n2\t5" disk\n')
    assert read(plain)[1] == {
        ("1", "text", r'"\"Weird Al\" Yankovic"'),
        ("2", "text", r'"5\" disk"'),
    }


def test_numbers_and_dates_are_typed_by_their_form(write: Write) -> None:
    path = write("t.csv", "id,a,b,c,d,e\n1,7,-2.50,2024-02-29,007,7 kg\n")
    assert {literal for _, _, literal in read(path)[1]} == {
        f'"7"^^<{XSD}integer>',
        f'"-2.50"^^<{XSD}decimal>',
        f'"2024-02-29"^^<{XSD}date>',
        '"007"',
        '"7 kg"',
    }


@pytest.mark.parametrize(
    ("header", "chosen"),
    [
        ("name,ID", "ID"),
        ("idAbt,name", "idAbt"),
        ("product_id,name", "product_id"),
        ("ProductID,name", "ProductID"),
        ("name,uri", "uri"),
    ],
)
def test_the_id_column_is_recognised_by_its_name(write: Write, header: str, chosen: str) -> None:
    assert f"id column '{chosen}'" in read(write("t.csv", f"{header}\nx,y\n"))[2][0]


def test_rows_without_any_id_can_be_numbered(write: Write) -> None:
    path = write("t.csv", "name,city\nAda,Oslo\nBo,Rome\n")
    _, literals, notes = read(Table(path, id_column="#"))
    assert ("2", "name", '"Bo"') in literals
    assert "rows named by their number" in notes[0]


def test_a_base_makes_iris_and_tells_tables_apart(write: Write) -> None:
    write("city.csv", "id,name\n1,Oslo\n")
    person = write("person.csv", "id,home\nA 1,1\nhttp://e.org/x,1\n")
    base = "http://e.org/{table}/"
    triples, literals, _ = read(
        Table([person.with_name("city.csv"), person], link_columns=["home=city"], base=base)
    )
    assert triples == {
        ("http://e.org/person/A%201", "http://e.org/person/home", "http://e.org/city/1"),
        ("http://e.org/x", "http://e.org/person/home", "http://e.org/city/1"),
    }
    assert literals == {("http://e.org/city/1", "http://e.org/city/name", '"Oslo"')}
    with pytest.raises(ConfigError, match="not an absolute IRI"):
        Table(person, base="people/")


def test_rows_of_two_tables_with_the_same_id_are_told(write: Write) -> None:
    write("a.csv", "id,name\n1,Oslo\n")
    write("b.csv", "id,price\n1,7\n")
    notes = read([write("a.csv", "id,name\n1,Oslo\n"), write("b.csv", "id,price\n1,7\n")])[2]
    assert notes[1].endswith("1 rows have ids of rows in other tables: the same entities")


@pytest.mark.parametrize("suffix", ["csv", "tsv"])
def test_triples_are_recognised_by_their_header(write: Write, suffix: str) -> None:
    rows = 'Subject,predicate,object\n<urn:a>,r,urn:b\na,label,"""Ada""@EN"\n'
    path = write(f"t.{suffix}", rows)
    triples, literals, notes = read(path)
    assert triples == {("urn:a", "r", "urn:b")}
    assert literals == {("a", "label", '"Ada"@en')}
    assert notes == [f"{path}: read as triples (comma), header skipped"]


def test_three_columns_without_an_id_stay_triples(write: Write) -> None:
    assert read(write("t.tsv", "name\tin\tOslo\n"))[0] == {("name", "in", "Oslo")}
    assert read(write("t.tsv", "id\tin\tname\n1\tOslo\tAda\n"))[1] == {
        ("1", "in", '"Oslo"'),
        ("1", "name", '"Ada"'),
    }


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        ("id,name\n1,Ada\n2\n", 3, "expected 2 cells as in the header, found 1: '2'"),
        ("id,name\n1,Ada,x\n", 2, "found 3: '1,Ada,x'"),
        ("id,name\n1,A\0da\n", 2, "has a NUL character"),
        ('id,name\n1,Ada\n2,"Bo\n3,Cy\n', 3, "a quotation mark that is opened here is never"),
        ('id,name\n1,"Ada"x\n', 2, "not CSV (',' expected after '\"')"),
        ("id,name,name\n1,a,b\n", None, "two columns are named 'name'"),
        (",\n1,2\n", None, "has no header: no column has a name"),
        ("12,Ada\n13,Bo\n", None, "has no header: the first line has the number 12"),
        ("name,city\nAda,Oslo\n", None, "no column is named like an id: give the id column, of"),
        ("id,name\n1,Ada\n2,Bo\n1,Cy\n", 4, "the id '1' is also that of line 2"),
        ("id,name\n,Ada\n", 2, "the id (column 'id') is empty"),
        ("id,name\n", None, "has a header but no rows"),
        ("", None, "has no triples"),
        (b"id,name\r1,Ada\r", None, "its lines end with carriage returns alone"),
        ("id\n1\n2\n", None, "has one column, 'id': cells are separated by comma"),
        (b"id,name\n1,A\x81\n", 2, "byte 4 of the line (0x81) is not UTF-8"),
        (b"\xff\xfei\0d\0,\0n\0\n\0a\0,\0\0\xd8", None, "cannot be decoded as utf-16-le"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(
    write: Write, content: str | bytes, line: int | None, problem: str
) -> None:
    path = write("t.csv", content)
    error = refusal(path)
    assert problem in error.problem
    assert (error.path, error.line) == (str(path), line)


@pytest.mark.parametrize("quoted", [True, False])
def test_a_cell_of_ten_megabytes_is_refused_quickly(write: Write, quoted: bool) -> None:
    mark = '"' if quoted else ""
    path = write("t.csv", f"id,name\n1,{mark}{'x' * 10_000_000}{mark}\n")
    started = time.process_time()
    assert "a cell is longer than 4 MiB" in refusal(path).problem
    assert time.process_time() - started < 5


def test_a_column_that_does_not_exist_is_refused(write: Write) -> None:
    path = write("t.csv", PEOPLE)
    options: dict[str, Any]
    for options in ({"id_column": "nr"}, {"link_columns": ["nr"]}, {"split": {"nr": ","}}):
        problem = refusal(Table(path, **options)).problem
        assert problem == "no table has the column 'nr'; the columns are 'id, name, city, tags'"
    with pytest.raises(ConfigError, match="the separator of the column 'tags' is empty"):
        Table(path, split={"tags": ""})


def test_errors_in_rows_are_skipped_and_listed(write: Write) -> None:
    path = write("t.csv", 'id,name\n1,Ada\n1,Bo\n2\n3,"x"y\n4,Cy\n')
    reader = TripleReader(path, skip_errors=True)
    (batch,) = reader.statements()
    assert batch.literals == [("1", "name", '"Ada"'), ("4", "name", '"Cy"')]
    assert sorted(fault.line or 0 for fault in reader.skipped) == [3, 4, 5]


def test_unnamed_columns_are_left_out_and_told(write: Write) -> None:
    _, literals, notes = read(write("t.csv", ",id,name\n0,a,Ada\n1,b,Bo\n"))
    assert literals == {("a", "name", '"Ada"'), ("b", "name", '"Bo"')}
    assert notes[0].endswith("1 without a name left out")


def test_compressed_tables_are_read(write: Write) -> None:
    path = write("people.csv.gz", gzip.compress(PEOPLE.encode()))
    assert ("1", "name", '"Ada"') in read(path)[1]


def test_parquet_with_any_columns_is_a_table(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    columns = {
        "id": [1, 2],
        "name": ["Ada", None],
        "tags": [["a", "b"], []],
        "price": [1.5, float("nan")],
        "known": [True, None],
        "friend": [2, None],
    }
    pyarrow.parquet.write_table(pyarrow.table(columns), path)
    triples, literals, notes = read(Table(path, link_columns="friend"))
    assert triples == {("1", "friend", "2")}
    assert literals == {
        ("1", "name", '"Ada"'),
        ("1", "tags", '"a"'),
        ("1", "tags", '"b"'),
        ("1", "price", f'"1.5"^^<{XSD}double>'),
        ("1", "known", f'"true"^^<{XSD}boolean>'),
    }
    assert notes[0].startswith(f"{path}: read as a table (Parquet), 2 rows, id column 'id'")


def test_parquet_that_cannot_be_decoded_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    broken = pyarrow.array([b"\xff\xfe"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"], "name": broken}), path)
    assert "cannot be read as Parquet" in refusal(path).problem
    nested = pyarrow.array([{"x": 1}])
    pyarrow.parquet.write_table(pyarrow.table({"id": ["a"], "name": nested}), path)
    assert refusal(path).problem.startswith(
        "the column 'name' cannot be read: values of type dict"
    )


cells = st.text(st.characters(codec="utf-8", exclude_characters="\0\r"), max_size=12)


@pytest.mark.slow
@given(st.lists(st.lists(cells, min_size=3, max_size=3), min_size=1, max_size=20))
def test_any_cells_come_out_as_the_standard_library_wrote_them(rows: list[list[str]]) -> None:
    """Against an oracle: the cells themselves, and the literals that pyoxigraph writes."""
    from tempfile import TemporaryDirectory

    text = io.StringIO(newline="")
    csv.writer(text).writerows([["id", "a", "b", "c"], *([n, *row] for n, row in enumerate(rows))])
    expected = {
        (str(number), name, str(Literal(cell.strip())))
        for number, row in enumerate(rows)
        for name, cell in zip("abc", row, strict=True)
        if cell.strip()
    }
    with TemporaryDirectory() as directory:
        path = Path(directory, "t.csv")
        path.write_text(text.getvalue(), "utf-8", newline="")
        found = {
            (head, name, literal.partition("^^")[0]) for head, name, literal in read_all(path)
        }
    assert found == {(head, name, text.partition("^^")[0]) for head, name, text in expected}


def read_all(path: Path) -> set[Any]:
    """The literals of a file that may have none."""
    with suppress(InputError):
        return read(path)[1]
    return set()


@given(st.lists(st.text(max_size=10)))
def test_a_column_is_written_as_its_cells_are(texts: list[str]) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    assert format_texts(texts) == [format_text(text) for text in texts]


def test_the_dialect_that_fits_most_rows_is_chosen() -> None:
    assert detect_dialect("id,name\n1,a;b\n2,c;d\n").delimiter == ","
    assert detect_dialect("id;name, first\n1;x\n").delimiter == ";"
    assert detect_dialect("only\none\n").delimiter == ","


def test_a_long_number_is_not_shown_whole(tmp_path: Path) -> None:
    path = tmp_path / "numbers.csv"
    path.write_text("1" * 5000 + ",Ada\n2,Bo\n", encoding="utf-8")
    with pytest.raises(InputError) as caught:
        list(TripleReader(path))
    assert len(str(caught.value)) < 500
