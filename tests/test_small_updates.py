"""Many small updates of one alignment: what is stored, merged and read again adds up."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pytest
from tests.methods.evidence.contents import Contents, list_contents
from tests.methods.evidence.samples import open_state

from everalign import Aligner, ChangeSet
from everalign._progress import no_progress
from everalign.benchmark.synthetic import Sample, SampleConfig, generate_sample
from everalign.session import AlignmentSession
from everalign.state.ledger import MIN_SCORE_CHANGE
from everalign.task import StoredTask, UpdateContext

pytestmark = pytest.mark.slow

LABEL = "http://example.org/label"
Lines = list[str]
ScoredLinks = dict[tuple[str, str], float]


@dataclass(frozen=True)
class Begun:
    """An alignment of most facts of a sample, and the facts that are still to come."""

    state: Path
    sample: Sample
    left: Lines
    right: Lines

    def copy_to(self, state: Path) -> Aligner:
        shutil.copytree(self.state, state)
        return Aligner.open(state)


def write_facts(sample: Sample, *, labels: bool) -> tuple[Lines, Lines]:
    """All facts of both graphs as N-Triples, in random order."""
    rng = np.random.default_rng(0)
    sides = []
    for triples, names in (
        (sample.left(0), sample.left_labels()),
        (sample.right(0), sample.right_labels()),
    ):
        lines = [f"<{head}> <{relation}> <{tail}> ." for head, relation, tail in triples]
        if labels:
            known = {entity for head, _, tail in triples for entity in (head, tail)}
            lines += [f'<{entity}> <{LABEL}> "{n}" .' for entity, n in names if entity in known]
        sides.append([lines[number] for number in rng.permutation(len(lines))])
    return sides[0], sides[1]


def begin(directory: Path, *, labels: bool, waiting: int) -> Begun:
    sample = generate_sample(SampleConfig(triples=5000, snapshots=1, seed=1))
    facts = write_facts(sample, labels=labels)
    files = directory / "left.nt", directory / "right.nt"
    known = ["\n".join(lines[waiting:]) for lines in facts]
    for file, text in zip(files, known, strict=True):
        file.write_text(text, encoding="utf-8")
    seeds = [(a, b) for a, b in sample.seeds if f"<{a}>" in known[0] and f"<{b}>" in known[1]]
    Aligner.create(directory / "state", files[0], files[1], seeds)
    return Begun(directory / "state", sample, facts[0][:waiting], facts[1][:waiting])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    return begin(tmp_path_factory.mktemp("plain"), labels=False, waiting=60)


@pytest.fixture(scope="module")
def named(tmp_path_factory: pytest.TempPathFactory) -> Begun:
    return begin(tmp_path_factory.mktemp("named"), labels=True, waiting=60)


def write_changes(begun: Begun, directory: Path, count: int) -> Iterator[ChangeSet]:
    """The facts to come in small parts; each part also takes back a fact of an earlier one."""
    for number in range(count):
        added: list[Path] = []
        removed: list[Path] = []
        for side, lines in (("left", begun.left), ("right", begun.right)):
            part = slice(number * len(lines) // count, (number + 1) * len(lines) // count)
            gone = [lines[number]] if number % 3 == 2 else []
            for name, rows, files in (("added", lines[part], added), ("removed", gone, removed)):
                files.append(directory / f"{name}-{side}-{number}.nt")
                files[-1].write_text("\n".join(rows), encoding="utf-8")
        yield ChangeSet(*added, *(removed if number % 3 == 2 else ()))


def found_links(aligner: Aligner) -> ScoredLinks:
    return {
        (link.left, link.right): link.score for link in aligner.links() if link.origin == "found"
    }


def method_contents(state: Path) -> Contents:
    with AlignmentSession.open(state) as session:
        return list_contents(open_state(session.load_method().save()))


def method_links(state: Path) -> ScoredLinks:
    """The links of the method as it is loaded from a state directory."""
    with AlignmentSession.open(state) as session:
        task = StoredTask(UpdateContext.from_last_version(session))
        found = session.load_method().candidates(task, no_progress).accepted()
        left, right = (vocabulary.entities for vocabulary in session.vocabularies)
        return {
            (left[one], right[two]): score
            for (one, two), score in zip(found.pairs(), found.score.tolist(), strict=True)
        }


def change_levels(state: Path) -> Sequence[int]:
    with AlignmentSession.open(state) as session:
        return [level for _, level in session.store.find_method_state().changes]


@pytest.mark.parametrize("kind", ["plain", pytest.param("named", marks=pytest.mark.long)])
def test_merged_changes_are_as_good_as_all_of_them(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    begun: Begun = request.getfixturevalue(kind)
    merging, keeping = begun.copy_to(tmp_path / "merging"), begun.copy_to(tmp_path / "keeping")
    for change in write_changes(begun, tmp_path, 20):
        merging.update(change=change)
        with patch("everalign.state.method_files.MERGED_CHANGES", 1000):
            keeping.update(change=change)
        assert found_links(merging) == found_links(keeping)
    assert change_levels(tmp_path / "merging") == [1, 1, 0, 0, 0, 0]
    assert change_levels(tmp_path / "keeping") == [0] * 20
    assert method_contents(tmp_path / "merging") == method_contents(tmp_path / "keeping")


@pytest.mark.parametrize("kind", ["plain", "named"])
def test_links_in_force_are_those_of_the_method(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    begun: Begun = request.getfixturevalue(kind)
    aligner = begun.copy_to(tmp_path / "state")
    check_links(aligner)
    for change in write_changes(begun, tmp_path, 5):
        # Somebody decides about some of the links before each update.
        wrong, right, lonely = sorted(found_links(aligner))[:3]
        aligner.reject([wrong])
        aligner.confirm([right])
        aligner.no_counterpart(left=[lonely[0]])
        aligner.update(change=change)
        check_links(aligner)
        found = found_links(aligner)
        assert wrong not in found
        assert right not in found
        assert lonely[0] not in {left for left, _ in found}


def check_links(aligner: Aligner) -> None:
    """The ledger leaves out changes of a score that are very small."""
    found = found_links(aligner)
    assert len(found) > 100
    assert found == pytest.approx(method_links(aligner.state), abs=MIN_SCORE_CHANGE)


@pytest.mark.parametrize("kind", ["plain", "named"])
def test_small_updates_are_about_as_good_as_a_full_pass(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    begun: Begun = request.getfixturevalue(kind)
    for change in write_changes(begun, tmp_path, 6):
        state = tmp_path / "state"
        aligner = Aligner.open(state) if state.exists() else begun.copy_to(state)
        aligner.update(change=change)
        assert change_levels(state), "so small that nothing is trained again"
    gold = begun.sample.gold(0)
    small = aligner.evaluate(gold).f1
    aligner.update(full=True)
    assert change_levels(state) == []
    assert small > 0.5
    assert small == pytest.approx(aligner.evaluate(gold).f1, abs=0.05)
