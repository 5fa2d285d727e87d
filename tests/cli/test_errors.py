"""A user's mistake: exit code 2, one clear line, no traceback, nothing changed."""

from __future__ import annotations

import fcntl
import gzip
import json
import os
import sqlite3
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]

LEFT = "".join(f"l{i}\tr\tl{(i * 7 + 1) % 30}\n" for i in range(30))
RIGHT = "".join(f"e{i}\ts\te{(i * 7 + 1) % 30}\n" for i in range(30))
SEEDS = "".join(f"l{i}\te{i}\n" for i in range(8))


@pytest.fixture
def files(tmp_path: Path) -> Path:
    for name, text in [("left", LEFT), ("right", RIGHT), ("seeds", SEEDS)]:
        (tmp_path / f"{name}.tsv").write_text(text)
    return tmp_path


@pytest.fixture
def init(everalign: Run, files: Path, quick_toml: Path) -> Run:
    def run(*options: object) -> subprocess.CompletedProcess[str]:
        given = {"--left": "left.tsv", "--right": "right.tsv", "--seeds": "seeds.tsv"}
        given |= dict(zip(options[::2], options[1::2], strict=True))  # type: ignore[arg-type]
        flat = [part for pair in given.items() for part in pair]
        return everalign("init", "state", *flat, "--config", quick_toml)

    return run


def refused(result: subprocess.CompletedProcess[str], *words: str) -> None:
    assert result.returncode == 2, result.stderr
    assert result.stdout == ""
    assert len(result.stderr.splitlines()) == 1, result.stderr
    assert result.stderr.startswith("everalign: ")
    for word in words:
        assert word in result.stderr


@pytest.mark.parametrize(
    ("file", "content", "words"),
    [
        ("left", b"a\tr\tb\na\tr\n", ["left.tsv:2", "3", "columns"]),
        ("left", b"a\tr\tb\nc\t\td\n", ["left.tsv:2"]),
        ("right", b"a\tr\tb\n\xff\xfe\tr\tb\n", ["right.tsv:2", "UTF-8"]),
        ("left", b"", ["left.tsv", "no triples"]),
        ("seeds", b"l0\te0\nl1\n", ["seeds.tsv:2"]),
        ("seeds", b"l0\te0\nnobody\te1\n", ["seeds.tsv:2", "'nobody'", "left graph"]),
        ("seeds", b"l0\te0\nl0\te1\n", ["seeds.tsv:2", "'l0'", "both 'e0' and 'e1'"]),
        ("seeds", b"e0\tl0\n", ["seeds.tsv:1", "swapped"]),
        ("seeds", b"", ["seeds.tsv", "no links"]),
    ],
)
def test_a_mistake_in_a_file(
    init: Run, files: Path, file: str, content: bytes, words: list[str]
) -> None:
    (files / f"{file}.tsv").write_bytes(content)
    refused(init(), *words)
    assert not (files / "state").exists()


def test_a_syntax_error_in_gzipped_n_triples(init: Run, files: Path) -> None:
    text = "<http://a> <http://r> <http://b> .\n<http://a> <http://r> .\n"
    (files / "left.nt.gz").write_bytes(gzip.compress(text.encode()))
    refused(init("--left", "left.nt.gz"), "left.nt.gz:2")


def test_an_escape_that_is_no_character(init: Run, files: Path) -> None:
    text = "<urn:\\u676D> <urn:r> <urn:b> .\n<urn:\\uD83D> <urn:r> <urn:b> .\n"
    (files / "left.nt").write_text(text)
    refused(init("--left", "left.nt"), "left.nt:2", "D83D")


def test_a_missing_file(init: Run) -> None:
    refused(init("--left", "nowhere.nt"), "nowhere.nt")


def test_a_missing_option_and_an_unknown_command(everalign: Run) -> None:
    refused(everalign("init", "state", "--left", "x"), "--right")
    refused(everalign("unlink", "state"), "unlink")
    refused(everalign("bench", "x", "--snapshots", "zero"), "0-5")


def test_an_unknown_method_rule_or_setting(init: Run, everalign: Run, files: Path) -> None:
    refused(init("--method", "magic"), "unknown method 'magic'", "contea")
    refused(
        init("--merge-rule", "fair"), "unknown merge rule 'fair'", "auto, best, published, latest"
    )
    (files / "bad.toml").write_text('method = "contea"\n[settings]\ndimension = 3\n')
    refused(
        everalign(
            "init",
            "state",
            "--left",
            "left.tsv",
            "--right",
            "right.tsv",
            "--seeds",
            "seeds.tsv",
            "--config",
            "bad.toml",
        ),
        "unknown setting 'dimension'",
    )
    assert not (files / "state").exists()


def test_no_state_an_existing_state_and_one_of_another_version(
    everalign: Run, init: Run, files: Path
) -> None:
    refused(everalign("links", "state"), "not an EverAlign state directory")
    assert init().returncode == 0
    # Run again after it was done, as after a kill at the very end.
    assert init().returncode == 0
    (files / "seeds.tsv").write_text("l0\te0\n")
    refused(init(), "already holds an alignment")
    with sqlite3.connect(files / "state" / "everalign.sqlite") as database:
        database.execute("PRAGMA user_version = 999")
    refused(everalign("links", "state"), "another version of EverAlign")
    refused(everalign("update", "state", "--left", "left.tsv"), "another version")


def test_swapped_deltas(everalign: Run, init: Run, files: Path) -> None:
    assert init().returncode == 0
    (files / "new.tsv").write_text("e0\ts\te1\ne1\ts\te99\n")
    refused(everalign("update", "state", "--left", "new.tsv"), "new.tsv", "swapped")
    assert len(json.loads(everalign("status", "state", "--json").stdout)["reports"]) == 1


def test_a_state_in_use_says_by_whom(everalign: Run, init: Run, files: Path) -> None:
    assert init().returncode == 0
    lock = files / "state" / "lock"
    with lock.open("r+") as held:
        fcntl.flock(held, fcntl.LOCK_EX)
        held.truncate(0)
        held.write(
            json.dumps({"pid": os.getpid(), "command": "everalign update x", "since": "now"})
        )
        held.flush()
        refused(everalign("update", "state", "--left", "left.tsv"), str(os.getpid()), "in use")
        assert everalign("links", "state").returncode == 0  # readers need no lock


def test_an_entity_that_is_nowhere(everalign: Run, init: Run) -> None:
    assert init().returncode == 0
    refused(everalign("history", "state", "Atlantis"), "'Atlantis'", "neither")
    refused(everalign("links", "state", "--at", 7), "version 7")
