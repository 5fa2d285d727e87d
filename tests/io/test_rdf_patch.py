"""RDF Patch: what is added and removed, transactions, and rows that are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from everalign.errors import InputError
from everalign.io import ReadOptions, Statements, TripleReader, read_triples

Write = Callable[[str, str | bytes], Path]


def changes(path: Path) -> list[str]:
    """Each change as a sign and its names, in the order of the file."""
    return [
        " ".join(["-" if part.removed else "+", *row])
        for part in TripleReader(path).statements()
        for row in part.triples + part.literals
    ]


def refusal(path: Path) -> InputError:
    with pytest.raises(InputError) as caught:
        list(TripleReader(path).statements())
    assert caught.value.path == str(path)
    return caught.value


def test_a_patch_adds_and_removes_in_file_order(write: Write) -> None:
    path = write(
        "delta.rdfp",
        "H id <urn:uuid:2> .\nH prev <urn:uuid:1> .\nTX .\n"
        'PA "e" <http://e.org/> .\nPA rdfs: <http://w3/rdfs#> .\n'
        "A e:Ada e:knows e:Bo .\n"
        'A e:Ada rdfs:label "Ada: e:x"@EN .\n'
        'D e:Ada e:born "1815"^^e:year .\n'
        "A <urn:a> <urn:r> _:b0 .\nA <_:b0> <urn:r> <urn:a> .\nTC .\n",
    )
    e = "http://e.org/"
    assert changes(path) == [
        f"+ {e}Ada {e}knows {e}Bo",
        f'+ {e}Ada http://w3/rdfs#label "Ada: e:x"@en',
        f'- {e}Ada {e}born "1815"^^<{e}year>',
        "+ urn:a urn:r _:b0",
        "+ _:b0 urn:r urn:a",
    ]
    assert len(list(read_triples(path))) == 3


def test_escapes_are_decoded(write: Write) -> None:
    path = write(
        "delta.rdfp",
        'PA "e" <urn:\\u676d/> .\n'
        "A e:a <urn:\\u5dde> <urn:\\U0001F600> .\n"
        'D <urn:\\u5DDE> e:r "\\u5DDE" .\n',
    )
    assert changes(path) == ["+ urn:杭/a urn:州 urn:😀", '- urn:州 urn:杭/r "州"']


def test_additions_and_removals_alternate(write: Write) -> None:
    a, b = ("urn:a", "urn:r", "urn:b"), ("urn:b", "urn:r", "urn:a")
    path = write(
        "delta.rdfpatch",
        "D <urn:a> <urn:r> <urn:b> .\nA <urn:a> <urn:r> <urn:b> .\nA <urn:b> <urn:r> <urn:a> .\n",
    )
    assert list(TripleReader(path).statements()) == [
        Statements([a], [], True),
        Statements([a, b], [], False),
    ]


def test_an_aborted_transaction_is_ignored(write: Write) -> None:
    path = write(
        "delta.rdfp",
        "TX .\nPA e <urn:> .\nA e:a e:r e:b .\nnot looked at\nTA .\n"
        "TX .\nA <urn:c> <urn:r> <urn:d> .\nTC .\nD <urn:e> <urn:r> <urn:f> .\n",
    )
    with pytest.raises(InputError, match="rdfp:4: not a row of RDF Patch: 'not looked at'"):
        changes(path)
    path.write_text(path.read_text().replace("not looked at", "# a comment"))
    assert changes(path) == ["+ urn:c urn:r urn:d", "- urn:e urn:r urn:f"]


@pytest.mark.slow
def test_a_long_transaction_is_kept_on_disk(write: Write) -> None:
    label = "x" * 100_000
    rows = "".join(f'A <urn:{n}> <urn:n> "{label}" .\n' for n in range(400))
    assert len(changes(write("delta.rdfp", f"TX .\n{rows}TC .\n"))) == 400
    aborted = write("aborted.rdfp", f"TX .\n{rows}TA .\nD <urn:a> <urn:r> <urn:b> .\n")
    assert changes(aborted) == ["- urn:a urn:r urn:b"]


@pytest.mark.parametrize(
    "first",
    [
        "H id <urn:uuid:1> .",
        "TX .",
        "TX",
        "# made by hand\n\nA <urn:x> <urn:r> <urn:y> .",
        "PA e <urn:> .",
    ],
)
def test_a_patch_is_recognised_by_its_first_line(write: Write, first: str) -> None:
    end = "TC .\n" if first.startswith("TX") else ""
    path = write("delta.2016", f"{first}\nD <urn:a> <urn:r> <urn:b> .\n{end}")
    assert changes(path)[-1] == "- urn:a urn:r urn:b"


def test_graph_names_are_ignored_unless_filtered(write: Write) -> None:
    path = write(
        "delta.rdfp",
        "A <a> <r> <b> <urn:g> .\nD <a> <r> <c> .\nPA e <urn:> .\nA <a> <r> <d> e:h .\n",
    )
    assert changes(path) == ["+ a r b", "- a r c", "+ a r d"]
    reader = TripleReader(path, options=ReadOptions(graphs=("urn:g",)))
    assert list(reader) == [("a", "r", "b")]
    assert reader.filtered_count == 2


def test_a_patch_without_changes_is_accepted(write: Write) -> None:
    assert changes(write("delta.rdfp", "TX .\nTC .\n")) == []


@pytest.mark.parametrize(
    ("content", "line", "problem"),
    [
        (
            "A <urn:a> <urn:r> <urn:b> .\nB <urn:a> <urn:r> <urn:b> .\n",
            2,
            "not a row of RDF Patch",
        ),
        ("A <urn:a> <urn:r> .\n", 1, "not a line of N-Quads"),
        ("A <urn:a> <urn:r> <urn:b>\n", 1, "not a line of N-Quads"),
        ("\nA e:a <urn:r> <urn:b> .\n", 2, "the prefix 'e:' is not declared by a row PA"),
        ("PA e <urn:> .\nPD e .\nA e:a <urn:r> <urn:b> .\n", 3, "the prefix 'e:' is not declared"),
        ("PA e\n", 1, "not a row of RDF Patch: 'PA e'"),
        ("H id\n", 1, "not a row of RDF Patch: 'H id'"),
        ("TC .\n", 1, "TC without TX before it"),
        ("TX .\nTX .\nTC .\n", 2, "TX inside of a transaction"),
        ("\nTX .\nA <urn:a> <urn:r> <urn:b> .\n", 2, "has no end (truncated file?)"),
        ('A "x" <urn:r> <urn:b> .\n', 1, "subject"),
        ("D <urn:a> <urn:r> <urn:{}> .\n", 1, "not an IRI"),
    ],
)
def test_an_invalid_row_is_reported(write: Write, content: str, line: int, problem: str) -> None:
    error = refusal(write("delta.rdfp", content))
    assert error.line == line
    assert problem in error.problem


def test_invalid_rows_are_skipped_but_a_missing_end_is_not(write: Write) -> None:
    good = "A <urn:a> <urn:r> <urn:b> .\n"
    path = write("delta.rdfp", f"nonsense\n{good}A e:a <urn:r> <urn:b> .\nA <urn:a> .\n{good}")
    reader = TripleReader(path, skip_errors=True)
    assert len(list(reader)) == 2
    assert sorted(skip.line or 0 for skip in reader.skipped) == [1, 3, 4]
    with pytest.raises(InputError, match="has no end"):
        list(TripleReader(write("cut.rdfp", f"TX .\n{good}"), skip_errors=True))
