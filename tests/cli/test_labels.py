"""Entities by label and CURIE: as arguments, on a terminal, and in the summary of `init`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.conftest import Run

from everalign import Aligner, Config
from everalign.cli.terminal import measure_width
from everalign.errors import InputError

pty = pytest.importorskip("pty", reason="needs a terminal of Unix")

LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TOY = Path(__file__).parents[1] / "toy.py"
LEFT = """\
@prefix l: <http://left.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
l:1 l:in l:9 ; a l:Town ; rdfs:label "Oslo"@en, "Oslo (by)"@nb .
l:2 l:at l:9 ; a l:Town ; rdfs:label "Berg\\u001B[31men" .
l:9 rdfs:label "Norway" .
<http://left.org/other/twin> l:of l:2 ; rdfs:label "Twin" .
<http://left.org/more/twin> l:of l:2 ; rdfs:label "Twin" .
"""
RIGHT = """\
@prefix r: <http://right.org/> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
r:a r:in r:z ; rdfs:label "Осло" .
r:z rdfs:label "Норвегия" .
"""


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    """Oslo is found with 0.5, since Norway is given and its class is not."""
    (tmp_path / "left.ttl").write_text(LEFT, encoding="utf-8")
    (tmp_path / "right.ttl").write_text(RIGHT, encoding="utf-8")
    files = tmp_path / "left.ttl", tmp_path / "right.ttl"
    seeds = [("http://left.org/9", "http://right.org/z")]
    return Aligner.create(tmp_path / "state", *files, seeds, config=toy)


def run_on_terminal(directory: Path, *arguments: str) -> str:
    """What a command prints where standard output is a terminal."""
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, TOY, *arguments], cwd=directory, stdout=slave, stderr=slave
    )
    os.close(slave)
    printed = b""
    try:
        while chunk := os.read(master, 4096):
            printed += chunk
    except OSError:  # Linux says so when the other end is closed
        pass
    os.close(master)
    assert process.wait(timeout=60) == 0, printed.decode()
    return printed.decode().replace("\r\n", "\n")


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("http://left.org/1", "http://left.org/1"),
        ("<http://left.org/1>", "http://left.org/1"),
        ("l:1", "http://left.org/1"),
        ("oslo", "http://left.org/1"),
        ("Oslo (by)", "http://left.org/1"),
        ("ОСЛО", "http://right.org/a"),
        ("other/twin", "http://left.org/other/twin"),
    ],
)
def test_an_entity_is_found_as_people_write_it(towns: Aligner, text: str, name: str) -> None:
    assert towns.find_entity(text) == name


def test_an_ambiguous_entity_lists_the_candidates(towns: Aligner) -> None:
    with pytest.raises(InputError) as caught:
        towns.find_entity("twin")
    assert str(caught.value) == (
        "'twin' is ambiguous: it can be http://left.org/more/twin, http://left.org/other/twin"
    )
    with pytest.raises(InputError, match="'Oslo' is not in the right graph"):
        towns.find_entity("Oslo", "right")


def test_an_unknown_entity_lists_similar_labels(towns: Aligner) -> None:
    with pytest.raises(
        InputError, match=r"nor as a label; similar: Norway \(http://left.org/9\)$"
    ):
        towns.find_entity("Norw")
    with pytest.raises(InputError, match=r"nor as a label$"):
        towns.find_entity("Denmark")


def test_commands_take_labels_and_curies(everalign_toy: Run, towns: Aligner) -> None:
    assert everalign_toy("explain", "state", "Oslo").stdout.startswith("http://left.org/1 (left)")
    assert "http://left.org/1" in everalign_toy("history", "state", "l:1").stdout
    assert everalign_toy("reject", "state", "Oslo", "r:a").returncode == 0
    assert towns.history("http://left.org/1")[-1].kind == "rejected"
    refused = everalign_toy("explain", "state", "Twin")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "ambiguous" in refused.stderr


def test_a_terminal_shows_labels_and_curies(towns: Aligner, tmp_path: Path) -> None:
    shown = run_on_terminal(tmp_path, "links", "state", "--languages", "nb")
    assert shown.splitlines()[0].split() == ["score", "left", "right", "origin"]
    assert "0.500  Oslo (by) (l:1)" in shown
    assert "Осло (r:a)" in shown
    shown = run_on_terminal(tmp_path, "links", "state", "--min-confidence", "0")
    assert [line.split()[-1] for line in shown.splitlines()[1:3]] == ["given", "found"]
    for command in (["history", "state"], ["explain", "state", "l:1", "--languages", "en"]):
        assert "Осло (r:a)" in run_on_terminal(tmp_path, *command)


def test_a_pipe_gets_iris_in_three_columns(everalign_toy: Run, towns: Aligner) -> None:
    lines = everalign_toy("links", "state").stdout.splitlines()
    assert lines == [
        "http://left.org/9\thttp://right.org/z\t1.0",
        "http://left.org/1\thttp://right.org/a\t0.5",
    ]
    labelled = everalign_toy("links", "state", "--labels", "--languages", "nb").stdout
    assert labelled.splitlines()[1].split("\t")[3:] == ["Oslo (by)", "Осло"]


def test_escapes_in_names_do_not_reach_the_terminal(towns: Aligner, tmp_path: Path) -> None:
    towns.confirm([("http://left.org/2", "http://right.org/a")])
    shown = run_on_terminal(tmp_path, "links", "state")
    assert "\x1b" not in shown
    assert "Berg\\x1b[31men" in shown


def test_init_ends_with_a_summary(everalign_toy: Run, towns: Aligner, tmp_path: Path) -> None:
    summary = towns.summary()
    assert (summary.left.entities, summary.left.linked) == (5, 2)
    assert [(row.name, row.entities, row.linked) for row in summary.left.classes] == [
        ("http://left.org/Town", 2, 1)
    ]
    assert (summary.found_links, summary.confidence[5], summary.doubtful) == (1, 1, 1.0)
    (tmp_path / "seeds.tsv").write_text("http://left.org/9\thttp://right.org/z\n")
    files = "--left", "left.ttl", "--right", "right.ttl", "--seeds", "seeds.tsv"
    printed = everalign_toy("init", "other", *files, "--method", "toy").stdout
    assert "left: 2 of 5 entities linked (40%)" in printed
    assert "  1 of 2 with class http://left.org/Town" in printed
    assert "Next: everalign links other" in printed


def test_a_summary_tells_what_rdf_cannot_hold(everalign_toy: Run, tmp_path: Path) -> None:
    for name, first, last in (("left", "a", "_:b"), ("right", "A", "urn:B")):
        (tmp_path / f"{name}.tsv").write_text(f"{first}\tin\t{last}\n")
    (tmp_path / "seeds.tsv").write_text("a\tA\n_:b\turn:B\n")
    files = "--left", "left.tsv", "--right", "right.tsv", "--seeds", "seeds.tsv"
    printed = everalign_toy("init", "state", *files, "--method", "toy").stdout
    assert "1 link of blank nodes, written only on request" in printed
    assert "1 link of names that are no IRIs" in printed
    assert "export state --format nt" in printed


def test_languages_of_init_are_remembered(everalign_toy: Run, tmp_path: Path) -> None:
    (tmp_path / "left.ttl").write_text(LEFT, encoding="utf-8")
    (tmp_path / "right.ttl").write_text(RIGHT, encoding="utf-8")
    (tmp_path / "seeds.tsv").write_text("http://left.org/9\thttp://right.org/z\n")
    files = "--left", "left.ttl", "--right", "right.ttl", "--seeds", "seeds.tsv"
    everalign_toy("init", "state", *files, "--method", "toy", "--languages", "nb,en")
    assert "Oslo (by)" in everalign_toy("links", "state", "--labels").stdout
    assert (
        "Oslo (by)" not in everalign_toy("links", "state", "--labels", "--languages", "en").stdout
    )
    refused = everalign_toy("links", "state", "--languages", "norwegian")
    assert (refused.returncode, refused.stdout) == (2, "")


def test_tables_fit_the_terminal(
    tmp_path: Path, toy: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A label is shortened first, then the name to its last part; wide characters count twice."""
    monkeypatch.setenv("COLUMNS", "80")
    long = "http://left.org/a/very/long/path/that/does/not/fit/1"
    left = [(long, "in", "http://left.org/9"), (long, LABEL, f'"{"Oslo " * 20}"')]
    right = [("http://right.org/a", "in", "z"), ("http://right.org/a", LABEL, f'"{"東京" * 20}"')]
    Aligner.create(tmp_path / "state", left, right, [(long, "http://right.org/a")], config=toy)
    heading, row, *_ = run_on_terminal(tmp_path, "links", "state").splitlines()
    assert row.startswith("1.000  Oslo Oslo Oslo Oslo Os… (…/1)  東京東")
    assert max(map(measure_width, (heading, row))) <= 80
    assert measure_width(row[: row.index("given")]) == heading.index("origin")


def test_explanations_show_curies_of_relations(towns: Aligner, tmp_path: Path) -> None:
    shown = run_on_terminal(tmp_path, "explain", "state", "l:1")
    assert shown.startswith("Oslo (l:1) (left)\n")
    assert "–l:in→ Norway (l:9) | –r:in→ Норвегия (r:z)" in shown


def test_a_waiting_decision_has_no_score(towns: Aligner, tmp_path: Path) -> None:
    towns.confirm([("http://left.org/2", "http://right.org/a")])
    last = run_on_terminal(tmp_path, "history", "state").splitlines()[-1]
    assert "–  waiting for the next update" in last


def test_an_ambiguous_label_tells_the_graphs(tmp_path: Path, toy: Config) -> None:
    left, right = (
        [(f"urn:{side}:1", "in", f"urn:{side}:9"), (f"urn:{side}:1", LABEL, '"Oslo"')]
        for side in "lr"
    )
    seeds = [("urn:l:9", "urn:r:9")]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=toy)
    with pytest.raises(InputError, match=r"it can be urn:l:1 \(left\), urn:r:1 \(right\)$"):
        aligner.find_entity("oslo")
