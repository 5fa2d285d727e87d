"""Tables on the command line: two CSV files, their changes, and links files with faults."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conftest import Run
from tests.servers import run_server

NAMES = ["Ada Lovelace", "Charles Babbage", "Alan Turing", "Grace Hopper", "Kurt Gödel"]
OPTIONS = (
    *("--id-column", "left=sku", "--id-column", "right=pid"),
    *("--link-columns", "knows,friend", "--split", "knows=|"),
)


@pytest.fixture
def files(tmp_path: Path) -> Path:
    write_left(tmp_path, NAMES)
    rows = [f'{n};"{name}";{1815 + n};{(n + 1) % 5}\n' for n, name in enumerate(NAMES)]
    (tmp_path / "right.csv").write_text("pid;full name;year;friend\n" + "".join(rows), "cp1252")
    return tmp_path


def write_left(directory: Path, names: list[str]) -> None:
    rows = [
        f"{n}\t{name}\t{1815 + n}\t{(n + 1) % 5}|{(n + 2) % 5}\n" for n, name in enumerate(names)
    ]
    (directory / "left.tsv").write_text("sku\tname\tborn\tknows\n" + "".join(rows), "utf-8")


def init(everalign: Run, *more: str, options: tuple[str, ...] = OPTIONS) -> tuple[int, list[str]]:
    run = everalign("init", "s", "--left", "left.tsv", "--right", "right.csv", *options, *more)
    return run.returncode, run.stderr.splitlines()


def test_two_tables_are_aligned_and_updated(everalign: Run, files: Path) -> None:
    code, told = init(everalign)
    assert code == 0, told
    assert told == [
        "left.tsv: read as a table (tab), 5 rows, id column 'sku', "
        "attributes 'name, born', links 'knows'",
        "right.csv: read as windows-1252, as its text is not UTF-8 (--encoding names another)",
        "right.csv: read as a table (semicolon), 5 rows, id column 'pid', "
        "attributes 'full name, year', links 'friend'",
    ]
    links = [line.split("\t")[:2] for line in everalign("links", "s").stdout.splitlines()]
    assert sorted(links) == [[str(n), str(n)] for n in range(5)]
    # A row changes and one is gone: without options of the right side, which is not given.
    write_left(files, ["Ada King", *NAMES[1:4]])
    options = ("--id-column", "sku", "--link-columns", "knows", "--split", "knows=|")
    run = everalign("update", "s", "--complete-left", "left.tsv", *options)
    assert run.returncode == 0, run.stderr
    status = everalign("status", "s").stdout
    assert "left   5 entities, 8 triples" in status  # others still name the row that is gone
    again = everalign("update", "s", "--complete-left", "left.tsv", *options)
    assert again.stdout.startswith("Nothing to do")


def test_an_encoding_holds_for_its_side(everalign: Run, files: Path) -> None:
    write_left(files, [*NAMES, "Łódź"])
    rows = "".join(f"{n};{name};{1815 + n};0\n" for n, name in enumerate([*NAMES, "Łódź"]))
    (files / "right.csv").write_text("pid;full name;year;friend\n" + rows, "iso-8859-2")
    encodings = ("--encoding", "right=latin2", "--encoding", "left=cp1251")
    code, told = init(everalign, *encodings)
    assert code == 0
    assert "right.csv: read as iso8859-2, as its text is not UTF-8" in told
    assert not any(line.startswith("left.tsv: read as cp1251") for line in told)
    assert ["5", "5"] in [
        line.split("\t")[:2] for line in everalign("links", "s").stdout.split("\n")
    ]


def test_a_table_at_a_url_is_fetched_once(everalign: Run, files: Path) -> None:
    with run_server() as server:
        server.files["/left.tsv"] = (
            "text/tab-separated-values",
            (files / "left.tsv").read_bytes(),
        )
        url = server.url("/left.tsv")
        run = everalign(
            *("init", "s", "--left", url, "--right", "right.csv", "--refresh"),
            *("--id-column", "sku", "--id-column", "pid", "--link-columns", "knows,friend"),
        )
        assert run.returncode == 0, run.stderr
        assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--id-column", "nr"), "no table has the column 'nr'; the columns are 'sku, name,"),
        (("--id-column", "left=pid"), "no table has the column 'pid'"),
        (("--split", "knows"), "expected --split COLUMN=TEXT"),
        (("--base", "people"), "the base 'people' is not an absolute IRI"),
        (("--encoding", "left=none"), "the encoding 'none' is unknown"),
    ],
)
def test_wrong_options_are_refused_in_one_line(
    everalign: Run, files: Path, options: tuple[str, ...], problem: str
) -> None:
    code, told = init(everalign, options=options)
    assert code == 2
    assert len(told) == 1
    assert problem in told[0]


def test_faulty_seeds_are_listed_or_left_out(everalign: Run, files: Path) -> None:
    (files / "seeds.csv").write_text("sku_id,pid_id\n0,0\n0,1\n9,2\n0,0\n")
    code, told = init(everalign, "--seeds", "seeds.csv")
    assert code == 2
    assert [line.split(": ")[0] for line in told] == [
        *(f"seeds.csv:{line}" for line in (3, 4, 5)),
        "everalign",
    ]
    code, told = init(everalign, "--seeds", "seeds.csv", "--skip-errors")
    assert code == 0
    assert "seeds.csv: skipped the header 'sku_id, pid_id'" in told
    counts = "1 unknown entity, 1 entity linked to several, 1 repetition"
    assert f"seeds.csv: 3 faulty links left out: {counts}" in told


def test_gold_links_may_have_a_header_and_unknown_entities(everalign: Run, files: Path) -> None:
    assert init(everalign)[0] == 0
    (files / "gold.csv").write_text("abt,buy\n0,0\n0,0\n1,1\n9,2\n")
    run = everalign("evaluate", "s", "gold.csv")
    assert run.returncode == 0, run.stderr
    assert "1 gold link with an entity that its graph does not have" in run.stdout
    assert "gold.csv: skipped the header 'abt, buy'" in run.stderr
    assert "gold.csv: 1 repetition of links ignored (line 3)" in run.stderr
    (files / "gold.csv").write_text("0,0\n1,1,2,3\n")
    assert everalign("evaluate", "s", "gold.csv").returncode == 2
    run = everalign("evaluate", "s", "gold.csv", "--skip-errors")
    assert run.returncode == 0
    assert "gold.csv: 1 faulty link left out: 1 unreadable line" in run.stderr
