"""Files of methods go when no version needs them; history, links and facts stay."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Run
from tests.state.small_states import copy_state, list_new_triples, read_everything

from everalign import Aligner, Link
from everalign.errors import StateError
from everalign.state import Delta, StateStore, method_files
from everalign.state.array_format import Array
from everalign.state.links import ScoredPair
from everalign.state.method_output import MethodOutput


def list_folders(state: Path) -> list[str]:
    return sorted(path.name for path in (state / "versions").iterdir())


def add_version(store: StateStore, number: int) -> None:
    """A version that changes one number of the method, and one proposal."""

    def save_all() -> dict[str, Array]:
        return {"numbers": np.arange(number + 1)}

    store.journal_delta(Delta(f"{number}", "", {}))
    if number == 0:
        store.commit_version(MethodOutput.from_all(save_all(), [ScoredPair(0, 0, 0.0)]), [], {})
        return
    method = MethodOutput.from_changes(
        {"numbers": np.array([number])},
        (np.array([number]), np.array([number])),
        [ScoredPair(number, number, 0.01 * number)],
        lambda parts: {"numbers": np.concatenate([part["numbers"] for part in parts])},
        save_all,
    )
    store.commit_version(method, [], {})


def load_numbers(store: StateStore, version: int) -> list[int]:
    arrays, changes = store.load_method(version)
    return [*arrays["numbers"].tolist(), *(n for part in changes for n in part["numbers"])]


@pytest.mark.parametrize("share", [0.0, 0.5, 1e9])
def test_whatever_is_merged_or_stored_anew_the_method_gets_everything(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float
) -> None:
    monkeypatch.setattr(method_files, "MAX_CHANGE_SHARE", share)
    monkeypatch.setattr(method_files, "MIN_BASE_BYTES", 0)
    with StateStore.create(tmp_path / "state", {}) as store:
        for number in range(70):
            add_version(store, number)
            for version in range(max(0, number - 1), number + 1):
                assert load_numbers(store, version) == list(range(version + 1))
                assert len(store.read_proposals(version)) == version + 1
        kept = list_folders(tmp_path / "state")
        # Eight of a level become one: at most seven of each, for each of the two versions.
        assert len(kept) <= 2 + 2 * 7 * 3
        if share == 0.0:
            assert kept == ["000068", "000069"]
        with pytest.raises(StateError, match="no longer has what the method stored at version 5"):
            store.load_method(5)
        with pytest.raises(StateError, match="no longer has"):
            store.read_proposals(5)


def test_a_reader_that_has_mapped_arrays_goes_on(tmp_path: Path) -> None:
    with StateStore.create(tmp_path / "state", {}) as store:
        store.journal_delta(Delta("first", "", {}))
        large = np.arange(100_000)
        store.commit_version(MethodOutput.from_all({"large": large}, []), [], {})
        with StateStore.open(tmp_path / "state", write=False) as reader:
            mapped = reader.load_method()[0]["large"]
            late = reader.load_method()[0]
            for _ in range(3):
                store.journal_delta(Delta("next", "", {}))
                store.commit_version(MethodOutput.from_all({"large": large[::-1]}, []), [], {})
            assert not (tmp_path / "state" / "versions" / "000000").exists()
            np.testing.assert_array_equal(mapped, large)
            # It was opened in time, also if nothing of it was used before.
            np.testing.assert_array_equal(late["large"], large)
            with pytest.raises(StateError, match="no longer has"):
                reader.load_method(0)


def list_scores(links: list[Link]) -> list[tuple[str, str, float, str]]:
    return [(link.left, link.right, link.score, link.origin) for link in links]


def test_a_revert_to_a_version_without_its_method_trains_again(
    whole_state: Path, tmp_path: Path, dataset: Path, everalign: Run
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    history, links = aligner.history(), [aligner.links(at=version) for version in range(4)]
    result = everalign("compact", aligner.state)
    assert result.returncode == 0, result.stderr
    assert [aligner.links(at=version) for version in range(4)] == links
    assert aligner.history() == history
    assert aligner.verify().findings == ()
    assert everalign("compact", aligner.state).stdout.startswith("nothing to do")
    left, right = list_new_triples(dataset)
    # A full pass trains the method, so that nothing of version 0 is needed any more.
    aligner.update(left=left[:2], full=True)
    aligner.update(right=right[:2])
    aligner.compact()
    (report,) = aligner.revert(0).reports
    assert list_scores(aligner.links(at=report.version)) == list_scores(links[0])
    with pytest.raises(StateError, match="run `update`"):
        aligner.explain(links[0][0].left)
    assert aligner.verify().findings == ()
    # Nothing has changed, and yet there is something to do.
    (again,) = aligner.update().reports
    assert again.source == "full pass"
    assert aligner.explain(links[0][0].left)
    assert aligner.update().reports == ()
    assert aligner.verify().findings == ()


def test_everything_stored_anew_leads_to_the_same_links(
    whole_state: Path, tmp_path: Path, dataset: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    left, right = list_new_triples(dataset)
    changed, anew = (copy_state(whole_state, tmp_path / name) for name in ("changed", "anew"))
    for number in range(4):
        rows = slice(2 * number, 2 * number + 2)
        changed.update(left=left[rows], right=right[rows])
        with monkeypatch.context() as patch:
            patch.setattr(method_files, "MAX_CHANGE_SHARE", 0.0)
            patch.setattr(method_files, "MIN_BASE_BYTES", 0)
            anew.update(left=left[rows], right=right[rows])
    for aligner, has_changes in ((changed, True), (anew, False)):
        with StateStore.open(aligner.state, write=False) as store:
            assert bool(store.find_method_state().changes) == has_changes
    assert read_everything(changed) == read_everything(anew)


def test_a_backup_during_updates_is_one_whole_version(
    whole_state: Path, tmp_path: Path, dataset: Path
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    left, right = list_new_triples(dataset)
    rest = iter(range(0, 8, 2))

    def update_meanwhile(step: str, done: int, total: int) -> None:
        if step == "copying files" and done == 3 and (row := next(rest, None)) is not None:
            aligner.update(left=left[row : row + 2], right=right[row : row + 2], full=row < 4)

    assert aligner.backup(tmp_path / "backup", update_meanwhile)
    backup = Aligner.open(tmp_path / "backup")
    assert backup.verify().findings == ()
    version = backup.status().version
    assert backup.links(at=version) == aligner.links(at=version)
    assert backup.explain(backup.links()[0].left)
    backup.update(left=left[20:22])


def test_backup_and_restore_say_when_they_are_done_and_overwrite_nothing(
    whole_state: Path, tmp_path: Path, everalign: Run
) -> None:
    aligner = copy_state(whole_state, tmp_path / "state")
    before = read_everything(aligner)
    assert everalign("backup", "state", "backup").returncode == 0
    again = everalign("backup", "state", "backup")
    assert (again.returncode, again.stdout) == (0, "nothing to do: backup equals state\n")
    # A killed one has left this.
    (tmp_path / "restored.partial").mkdir()
    (tmp_path / "restored.partial" / "everalign.sqlite").write_text("half")
    assert everalign("restore", "backup", "restored").returncode == 0
    assert not (tmp_path / "restored.partial").exists()
    assert read_everything(Aligner(tmp_path / "restored")) == before
    aligner.confirm([(aligner.links()[0].left, aligner.links()[0].right)])
    refused = everalign("backup", "state", "backup")
    assert (refused.returncode, refused.stdout) == (2, "")
    assert "backup exists already and is not overwritten" in refused.stderr
    sizes = [
        sum(p.stat().st_blocks for p in d.rglob("arrays.bundle"))
        for d in (whole_state, tmp_path / "restored")
    ]
    assert sizes[1] <= 1.1 * sizes[0]


def test_a_damaged_state_is_not_backed_up(whole_state: Path, tmp_path: Path) -> None:
    aligner = copy_state(whole_state, tmp_path / "state")
    path = aligner.state / "deltas" / "000000" / "arrays.bundle"
    shutil.copyfile(aligner.state / "deltas" / "000001" / "arrays.bundle", path)
    with pytest.raises(StateError, match=r"deltas/000000/arrays\.bundle has changed"):
        aligner.backup(tmp_path / "backup")
    assert not (tmp_path / "backup").exists()
