"""The commands as a user runs them: what they print, and how they end."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("torch")

pytestmark = pytest.mark.slow

Run = Callable[..., subprocess.CompletedProcess[str]]


@pytest.fixture(scope="session")
def aligned(tmp_path_factory: pytest.TempPathFactory, dataset: Path, quick_toml: Path) -> Path:
    """A state with two versions, made by the command line's façade."""
    from everalign import Aligner, Config

    state = tmp_path_factory.mktemp("states") / "my.state"
    base, batch = dataset / "base", dataset / "batch1"
    aligner = Aligner.create(
        state,
        base / "triples_1",
        base / "triples_2",
        base / "train_links",
        base / "valid_links",
        Config.read(quick_toml),
    )
    aligner.update(batch / "new_triples_1", batch / "new_triples_2")
    return state


def test_from_two_files_to_links(
    everalign: Run, dataset: Path, quick_toml: Path, tmp_path: Path
) -> None:
    base, batch = dataset / "base", dataset / "batch1"
    made = everalign(
        "init",
        "s",
        "--left",
        base / "triples_1",
        "--right",
        base / "triples_2",
        "--seeds",
        base / "train_links",
        "--config",
        quick_toml,
    )
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith("Version 0: ")
    assert made.stderr == ""  # no bar where there is no terminal
    updated = everalign("update", "s", "--left", batch / "new_triples_1")
    assert updated.stdout.startswith("Version 1: ")
    again = everalign("update", "s", "--left", batch / "new_triples_1")
    assert again.returncode == 0
    assert again.stdout == "Nothing to do: everything given is known already.\n"
    assert everalign("update", "s").stdout == "Nothing to do: no changes given.\n"
    links = everalign("links", "s").stdout.splitlines()
    seeds = (base / "train_links").read_text().splitlines()
    assert {line.rsplit("\t", 1)[0] for line in links} >= set(seeds)
    as_rdf = everalign("links", "s", "--format", "nt").stdout
    assert as_rdf.count("<http://www.w3.org/2002/07/owl#sameAs>") == len(links)


def test_a_known_triple_changes_nothing(everalign: Run, aligned: Path, tmp_path: Path) -> None:
    from everalign.graph import NameIndex
    from everalign.state import StateStore

    with StateStore.open(aligned, write=False) as store:
        names, relations = (
            NameIndex(stored=store.open_names("left", kind)).list_names_after(0)
            for kind in ("entity", "relation")
        )
        row = next(iter(store.read_deltas())).arrays["left_added_triples"][0].tolist()
    known = tmp_path / "known.tsv"
    known.write_text(f"{names[row[0]]}\t{relations[row[1]]}\t{names[row[2]]}\n")
    before = everalign("status", aligned, "--json").stdout
    again = everalign("update", aligned, "--left", known)
    assert again.stdout == "Nothing to do: everything given is known already.\n"
    assert everalign("status", aligned, "--json").stdout == before


def test_status(everalign: Run, aligned: Path) -> None:
    status = json.loads(everalign("status", aligned, "--json").stdout)
    assert status["version"] == 1
    assert [report["version"] for report in status["reports"]] == [0, 1]
    assert status["found_links"] == status["reports"][-1]["found_links"]
    text = everalign("status", aligned).stdout
    assert "method contea, merge rule best, one-to-one, seed 0" in text
    assert f"{status['found_links']} found" in text


def test_links_as_json_and_at_an_earlier_version(everalign: Run, aligned: Path) -> None:
    now = json.loads(everalign("links", aligned, "--json").stdout)
    then = json.loads(everalign("links", aligned, "--json", "--at", 0).stdout)
    found = [link for link in then if link["origin"] == "found"]
    status = json.loads(everalign("status", aligned, "--json").stdout)
    assert len(found) == status["reports"][0]["found_links"]
    assert {link["since"] for link in then} == {0}
    assert {link["since"] for link in now} == {0, 1}
    best = everalign("links", aligned, "--found-only", "--min-score", found[0]["score"])
    assert len(best.stdout.splitlines()) >= 1


def test_history_of_one_entity(everalign: Run, aligned: Path) -> None:
    events = json.loads(everalign("history", aligned, "--json").stdout)
    revised = next(event for event in events if event["kind"] == "revised")
    own = json.loads(everalign("history", aligned, revised["left"], "--json").stdout)
    assert revised in own
    assert all(revised["left"] in (e["left"], *e["reason"].split()) for e in own)
    assert revised["reason"].startswith("replaces ")
    assert everalign("history", aligned, revised["left"]).stdout.startswith("version")


def test_evaluate(everalign: Run, aligned: Path, dataset: Path) -> None:
    gold = dataset / "batch1" / "all_test_links"
    scores = json.loads(everalign("evaluate", aligned, gold, "--json").stdout)
    assert scores["gold"] == len(gold.read_text().splitlines())
    assert scores["precision"] == pytest.approx(scores["correct"] / scores["predicted"])
    trusted = everalign("evaluate", aligned, dataset / "base" / "train_links", "--json").stdout
    assert json.loads(trusted)["gold"] == 0


def test_methods_lists_a_line_each(everalign: Run) -> None:
    from everalign.methods import list_methods

    lines = everalign("methods").stdout.splitlines()
    assert [line.split()[0] for line in lines] == list(list_methods())
    assert [m["name"] for m in json.loads(everalign("methods", "--json").stdout)] == list(
        list_methods()
    )


def test_sample_then_bench(everalign: Run, quick_toml: Path, tmp_path: Path) -> None:
    assert everalign("sample", "small", "--triples", 1500, "--snapshots", 2).returncode == 0
    run = everalign(
        "bench", "small", "--snapshots", "0-1", "--config", quick_toml, "--json", "out.json"
    )
    assert run.returncode == 0, run.stderr
    assert len(run.stdout.splitlines()) == 3
    result = json.loads((tmp_path / "out.json").read_text())
    assert [record["t"] for record in result["snapshots"]] == [0, 1]
    assert list(tmp_path.glob("out.json.*")) == []
