"""Slices of a source give the same graph as the source, bit by bit, whoever reads them."""

from __future__ import annotations

import gzip
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pyarrow
import pytest
from pyarrow import parquet

from everalign import InputError, use_engine
from everalign._parallel import Bound, Result, ThreadEngine
from everalign.graph import Vocabulary, encode_statements
from everalign.io import ReadOptions, Source, Table, TripleReader

SLICE_BYTES = 20_000
WIKIDATA = "http://www.wikidata.org"


class SliceEngine(ThreadEngine):
    """Threads that encode slices, as Spark does."""

    def __init__(self) -> None:
        self.slice_counts: list[int] = []

    @property
    def slice_bytes(self) -> int:
        return SLICE_BYTES

    def run_chunks(
        self,
        work: Callable[[int, int], Result],
        bounds: Sequence[Bound],
        receive: Callable[[int, Result], None],
        costs: Sequence[int] | None = None,
    ) -> None:
        self.slice_counts.append(len(bounds))
        super().run_chunks(work, bounds, receive, costs)


@pytest.fixture
def engine() -> SliceEngine:
    return SliceEngine()


def make_line(number: int) -> str:
    head = f"<http://x/{number % 701}>" if number % 11 else f"_:b{number % 37}"
    if number % 5 == 0:
        return f'{head} <http://x/name> "Name \\"{number % 97}\\" \u00e9\u4e2d"@en .'
    return f"{head} <http://x/r{number % 7}> <http://x/{number * 31 % 907}> ."


def write_lines(path: Path, first: int = 0, count: int = 3000) -> Path:
    lines = [make_line(number) for number in range(first, first + count)]
    path.write_text("\n".join(lines), encoding="utf-8")  # the last line has no end
    return path


def write_rows(path: Path, count: int = 6000, header: str = "") -> Path:
    rows = [f"e{number % 701}\tr{number % 7}\te{number * 31 % 907}\n" for number in range(count)]
    path.write_text(header + "".join(rows), encoding="utf-8")
    return path


def read_graph(
    source: Source, *, options: ReadOptions | None = None, skip_errors: bool = False
) -> dict[str, Any]:
    """Encode a source; all that a caller can find out about it."""
    reader = TripleReader(source, options=options, skip_errors=skip_errors)
    vocabulary = Vocabulary()
    encoded = encode_statements(reader, vocabulary)
    return {
        "names": [list(index) for index in vocabulary.list_indexes()],
        "triples": encoded.triples.tolist(),
        "literals": encoded.literals.tolist(),
        "counts": (reader.triples_read, reader.literals_read, reader.filtered_count),
        "skipped": (reader.skipped_count, reader.skipped),
        "notes": reader.notes,
        "prefixes": dict(encoded.prefixes),
    }


def check_same(engine: SliceEngine, source: Source, **settings: Any) -> None:
    """Check that the slices of a source are what the source is."""
    expected = read_graph(source, **settings)
    engine.slice_counts.clear()
    with use_engine(engine):
        found = read_graph(source, **settings)
    assert len(engine.slice_counts) == 1, "the source was read as a whole"
    assert engine.slice_counts[0] > 1
    # Names that come first in another order get other ids: they are sorted before they are stored.
    names, rows = zip(*map(sort_graph, (expected, found)), strict=True)
    assert names[0] == names[1]
    assert rows[0] == rows[1]
    for key in ("counts", "skipped", "prefixes"):
        assert found[key] == expected[key], key
    notes = [note for note in found["notes"] if "read by this process: is not UTF-8" not in note]
    assert notes == expected["notes"]


def sort_graph(graph: dict[str, Any]) -> tuple[list[list[str]], list[list[tuple[str, ...]]]]:
    entities, relations, attributes, literals = graph["names"]
    columns = [(entities, relations, entities), (entities, attributes, literals)]
    rows = [
        [tuple(index[i] for index, i in zip(kinds, row, strict=True)) for row in graph[name]]
        for name, kinds in zip(("triples", "literals"), columns, strict=True)
    ]
    return [sorted(names) for names in graph["names"]], rows


def test_a_file_of_ntriples_is_cut_at_lines(engine: SliceEngine, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "left.nt")
    check_same(engine, path)
    check_same(engine, path, options=ReadOptions.parse(["predicate=http://x/r1"]))


def test_ids_of_a_large_file_are_the_same(engine: SliceEngine, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "left.nt", count=100_000)
    assert path.stat().st_size > 1 << 22, "it is read as blocks of lines"
    expected = read_graph(path)
    with use_engine(engine):
        assert read_graph(path) == expected


@pytest.mark.parametrize("suffix", [".nt", ".nt.gz"])
def test_parts_are_read_in_order(engine: SliceEngine, tmp_path: Path, suffix: str) -> None:
    directory = tmp_path / "parts"
    directory.mkdir()
    for number in range(5):
        path = write_lines(directory / f"part-{number}.nt", 500 * number, 700)
        if suffix == ".nt.gz":
            path.with_suffix(suffix).write_bytes(gzip.compress(path.read_bytes()))
            path.unlink()
    check_same(engine, f"{directory}/*{suffix}")
    (directory / "_SUCCESS").touch()
    check_same(engine, directory.as_uri())


def test_tables_of_triples(engine: SliceEngine, tmp_path: Path) -> None:
    check_same(engine, write_rows(tmp_path / "left.tsv"))
    with_header = write_rows(tmp_path / "right.tsv", header="head\trelation\ttail\n")
    check_same(engine, [with_header, tmp_path / "left.tsv"])


def test_parquet_is_cut_at_row_groups(engine: SliceEngine, tmp_path: Path) -> None:
    rows = [(f"e{n % 701}", f"r{n % 7}", f"e{n * 31 % 907}") for n in range(20_000)]
    columns = zip(("subject", "predicate", "object"), zip(*rows, strict=True), strict=True)
    path = tmp_path / "left.parquet"
    parquet.write_table(pyarrow.table(dict(columns)), path, row_group_size=1000)
    check_same(engine, path)


def test_tables_of_entities(engine: SliceEngine, tmp_path: Path) -> None:
    for name in "abc":
        rows = "".join(f"{n},Name {n},{n % 7}\n" for n in range(ord(name), 400))
        (tmp_path / f"{name}.csv").write_text("id,name,kind\n" + rows)
    table = Table(str(tmp_path / "*.csv"), link_columns=["kind"], base="http://e.org/")
    check_same(engine, table)


def damage(path: Path, *numbers: int, by: bytes = b"<http://x/damaged> .") -> None:
    lines = path.read_bytes().split(b"\n")
    for number in numbers:
        lines[number - 1] = by
    path.write_bytes(b"\n".join(lines))


@pytest.mark.parametrize("name", ["left.nt", "left.tsv"])
@pytest.mark.parametrize("by", [b"<http://x/damaged> .", b"\xff\xfe damaged"])
def test_a_damaged_line_is_told_with_its_number(
    engine: SliceEngine, tmp_path: Path, name: str, by: bytes
) -> None:
    write = write_lines if name == "left.nt" else write_rows
    path = write(tmp_path / name)
    damage(path, 2, 1500, 2999, by=by)
    check_same(engine, path, skip_errors=True)
    damage(path, 2, by=make_line(1).encode() if name == "left.nt" else b"a\tb\tc")
    with pytest.raises(InputError) as expected:
        read_graph(path)
    with use_engine(engine), pytest.raises(InputError) as found:
        read_graph(path)
    assert str(found.value) == str(expected.value)
    assert f"{name}:1500: " in str(found.value)


def test_a_text_that_is_not_utf8_is_read_as_a_whole(engine: SliceEngine, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "left.tsv", 20_000)
    # Beyond the beginning, by which a file is cut.
    with path.open("ab") as file:
        file.write("Zürich\tliegt in\tÖsterreich\n".encode("latin-1") * 1000)
    expected = read_graph(path)
    with use_engine(engine):
        found = read_graph(path)
    notes = found.pop("notes")
    assert [*expected.pop("notes"), notes[-1]] == notes
    assert found == expected


def test_a_dump_of_wikidata_is_not_cut(engine: SliceEngine, tmp_path: Path) -> None:
    lines = [
        f'<{WIKIDATA}/entity/Q{n // 3}> <{name}> "Name {n // 3}"@en .\n'
        for n in range(2000)
        for name in [
            ("http://www.w3.org/2000/01/rdf-schema#label", "http://schema.org/name")[n % 2]
        ]
    ]
    claim = f"<{WIKIDATA}/entity/Q1> <{WIKIDATA}/prop/direct/P31> <{WIKIDATA}/entity/Q5> .\n"
    for name in ("a.nt", "b.nt"):
        (tmp_path / name).write_text(claim + "".join(lines))
    check_same(engine, str(tmp_path / "*.nt"))


def test_a_file_that_only_the_driver_has(
    engine: SliceEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write_lines(tmp_path / "left.nt")
    expected = read_graph(path)
    reader = TripleReader(path)
    slices = reader.list_slices(SLICE_BYTES)
    assert len(slices) > 5
    # As on a machine without the file, and on one with another file of this name.
    elsewhere = [part._replace(size=1) for part in slices]
    monkeypatch.setattr(TripleReader, "list_slices", lambda *_: elsewhere)
    with use_engine(engine):
        found = read_graph(path)
    (note,) = found.pop("notes")
    assert "read by this process: another file here (on " in note
    assert not expected.pop("notes")
    assert found == expected


def test_what_is_wrong_with_a_source_is_told_as_always(
    engine: SliceEngine, tmp_path: Path
) -> None:
    empty = [tmp_path / "a.nt", tmp_path / "b.nt"]
    for path in empty:
        path.write_text("# nothing\n")
    with use_engine(engine):
        with pytest.raises(InputError, match="has no triples"):
            read_graph(empty)
        with pytest.raises(InputError, match="does not exist"):
            read_graph([tmp_path / "a.nt", tmp_path / "missing.nt"])
        table = pyarrow.table({"subject": ["a"], "verb": ["b"], "object": ["c"]})
        for name in ("c.parquet", "d.parquet"):
            parquet.write_table(table, tmp_path / name)
        with pytest.raises(InputError, match=r"c.parquet: expected the columns .* found 'subject"):
            read_graph(str(tmp_path / "*.parquet"))
