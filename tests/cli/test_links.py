"""The commands export, check-sssom, diff, changes and history."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.ledgers import LEFT, RIGHT, Step, aligner_of

from everalign.state.ledger import EventKind

Run = Callable[..., subprocess.CompletedProcess[str]]
PREFIXES = ("--prefix", "l=http://left.org/", "--prefix", "r=http://right.org/")
EVENTS: list[list[Step]] = [
    [(EventKind.CONFIRMED, 0, 0, 1.0), (EventKind.ADDED, 1, 1, 0.8)],
    [(EventKind.RETRACTED, 1, 1, 0.8), (EventKind.REVISED, 1, 2, 0.9)],
]


@pytest.fixture
def state(tmp_path: Path) -> Path:
    aligner_of(tmp_path / "state", EVENTS)
    return tmp_path / "state"


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert (result.returncode, result.stdout) == (2, ""), result.stderr
    assert len(result.stderr.splitlines()) == 1
    for word in words:
        assert word in result.stderr


@pytest.mark.slow
def test_an_export_is_checked(everalign: Run, state: Path, tmp_path: Path) -> None:
    result = everalign(
        "export", state, "--format", "sssom", *PREFIXES, "--output", "links.sssom.tsv"
    )
    assert (result.returncode, result.stdout, result.stderr) == (0, "", "")
    checked = everalign("check-sssom", "links.sssom.tsv")
    assert (checked.returncode, checked.stdout) == (0, "links.sssom.tsv: no problems\n")
    path = tmp_path / "links.sssom.tsv"
    path.write_text(path.read_text().replace("r:2", "wd:2"))
    checked = everalign("check-sssom", "links.sssom.tsv")
    assert checked.returncode == 1
    assert checked.stdout.startswith("links.sssom.tsv:")
    assert "the prefix 'wd' of 'wd:2' is not in the curie_map" in checked.stdout
    refused(everalign("check-sssom", "nowhere.tsv"), "nowhere.tsv: does not exist")


@pytest.mark.slow
def test_a_failed_export_leaves_the_file_unchanged(
    everalign: Run, state: Path, tmp_path: Path
) -> None:
    path = tmp_path / "links.sssom.tsv"
    path.write_text("old content")
    result = everalign("export", state, "--format", "sssom", "--output", path)
    refused(result, "have no prefix", "--prefix ns1=http://left.org/")
    assert path.read_text() == "old content"
    assert sorted(each.name for each in tmp_path.iterdir()) == ["links.sssom.tsv", "state"]


@pytest.mark.slow
def test_export_selects_as_links_does(everalign: Run, state: Path) -> None:
    for options in ((), ("--found-only",), ("--at", 0), ("--min-score", 0.95)):
        assert (
            everalign("export", state, *options).stdout
            == everalign("links", state, *options).stdout
        )
    refused(everalign("export", state, "--at", 7), "has no version 7")
    refused(everalign("export", state, "--prefix", "l"), "invalid prefix 'l'")


def test_turtle_on_standard_output(everalign: Run, state: Path) -> None:
    result = everalign("export", state, "--format", "ttl", "--annotate", *PREFIXES).stdout
    assert result.splitlines()[-1] == "l:1 owl:sameAs r:2 {| sssom:confidence 0.9 |} ."


@pytest.mark.slow
def test_diff(everalign: Run, state: Path) -> None:
    result = everalign("diff", state, 0, 1).stdout.splitlines()
    assert result[0] == "Version 0 to 1: 1 retracted, 1 revised."
    assert result[2].split()[:5] == ["retracted", LEFT[1], RIGHT[1], "0.800", "–"]
    assert everalign("diff", state, 1, 1).stdout == "Version 1 to 1: no differences.\n"
    back = json.loads(everalign("diff", state, 1, 0, "--json").stdout)
    assert [each["kind"] for each in back] == ["retracted", "revised"]
    refused(everalign("diff", state, 0, 9), "has no version 9")


@pytest.mark.slow
def test_changes(everalign: Run, state: Path, tmp_path: Path) -> None:
    lines = everalign("changes", state, "--since", 0).stdout.splitlines()
    assert [json.loads(line)["op"] for line in lines] == ["remove", "add"]
    everalign("changes", state, "--since", 0, "--format", "patch", "--output", "1.rdfp")
    rows = [line.split()[0] for line in (tmp_path / "1.rdfp").read_text().splitlines()]
    assert rows == ["H", "H", "TX", "D", "A", "TC"]
    refused(everalign("changes", state, "--since", 0, "--format", "nt"), "--format patch")
    files = ("--removals", "removed.nt", "--output", "new.nt")
    result = everalign("changes", state, "--since", 0, "--format", "nt", *files)
    assert result.returncode == 0, result.stderr
    assert RIGHT[1] in (tmp_path / "removed.nt").read_text()
    assert RIGHT[2] in (tmp_path / "new.nt").read_text()
    same = ("--format", "nt", "--removals", "new.nt", "--output", "new.nt")
    refused(everalign("changes", state, "--since", 0, *same), "must be different files")


def test_history_since(everalign: Run, state: Path) -> None:
    events = json.loads(everalign("history", state, LEFT[1], "--since", 1, "--json").stdout)
    assert [event["kind"] for event in events] == ["retracted", "revised"]


@pytest.mark.slow
@pytest.mark.parametrize("command", [["links"], ["links", "--json"], ["history"], ["status"]])
def test_a_closed_pipe_ends_a_command_quietly(state: Path, command: list[str]) -> None:
    name, *options = command
    arguments = [sys.executable, "-m", "everalign", name, str(state), *options]
    with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        assert (process.stderr.read(), process.wait()) == (b"", 0)
