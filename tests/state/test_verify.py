"""Damage of every kind is found, what is derived is repaired, and nothing wrong is read."""

from __future__ import annotations

import json
import os
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from tests.conftest import Run
from tests.state.small_states import copy_state, list_new_triples, read_everything

from everalign.errors import EverAlignError, StateDamagedError, StateError
from everalign.session import AlignmentSession
from everalign.state import StateStore
from everalign.state.array_format import Array
from everalign.state.checksums import add_checksum


def list_files(state: Path) -> list[Path]:
    return sorted(path for path in state.rglob("*") if path.is_file() and path.name != "lock")


def flip_bit(path: Path, position: int, bit: int = 0) -> None:
    content = bytearray(path.read_bytes())
    content[position] ^= 1 << bit
    path.write_bytes(content)


def change_row(state: Path, table: str, change: str) -> None:
    """Change rows as no command can: triggers are there again afterwards."""
    with closing(sqlite3.connect(state / "everalign.sqlite", isolation_level=None)) as database:
        sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = ?"
        triggers = database.execute(sql, (table,)).fetchall()
        for name, _ in triggers:
            database.execute(f"DROP TRIGGER {name}")
        assert database.execute(change).rowcount > 0
        for _, statement in triggers:
            database.execute(statement)


def test_an_intact_state_has_no_findings(whole_state: Path, tmp_path: Path) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    steps: list[str] = []
    assert aligner.verify(lambda step, done, total: steps.append(step)).findings == ()
    assert "checking events" in steps
    assert aligner.verify(repair=True).repaired == ()


@pytest.mark.parametrize("share", [0.5, 1])
def test_every_file_that_a_row_names_is_compared(
    whole_state: Path, tmp_path: Path, share: float
) -> None:
    """Also behind the last array, where no command reads."""
    aligner = copy_state(whole_state, tmp_path / "copy")
    files = [path for path in list_files(aligner.state) if path.suffix == ".bundle"]
    assert {path.parent.parent.name for path in files} == {"deltas", "versions"}
    for path in files:
        flip_bit(path, round(share * (path.stat().st_size - 1)))
    places = {line.split(":")[0] for line in aligner.verify().findings}
    assert places >= {path.relative_to(aligner.state).as_posix() for path in files}


@pytest.mark.parametrize(
    ("table", "change"),
    [
        ("setting", "UPDATE setting SET value = 'method = \"names\"' WHERE name = 'config'"),
        ("version", "UPDATE version SET found_links = found_links + 1 WHERE number = 1"),
        ("version", "DELETE FROM version WHERE number = 3"),
        ("delta", "UPDATE delta SET source = 'another' WHERE number = 1"),
        ("delta", "UPDATE delta SET version = 9 WHERE number = 3"),
        ("name", "UPDATE name SET text = text || 'x' WHERE key = 3"),
        ("name", "UPDATE name SET hash = hash + 1 WHERE key = 3"),
        ("name_count", "UPDATE name_count SET count = count - 1 WHERE delta = 0 AND list = 0"),
        ("event", "UPDATE event SET score = 0.123 WHERE number = 1"),
        ("event", "DELETE FROM event WHERE number = 2"),
        ("link", "UPDATE link SET score = 0.123"),
        ("link", "DELETE FROM link WHERE until < 2147483647"),
        ("decision", "UPDATE decision SET kind = 'rejected' WHERE number = 0"),
        ("decision", "DELETE FROM decision WHERE number = 0"),
    ],
)
def test_every_changed_row_is_found(
    whole_state: Path, tmp_path: Path, table: str, change: str
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    change_row(aligner.state, table, change)
    assert aligner.verify().findings


def test_a_row_with_a_right_checksum_is_still_not_in_the_digest(
    whole_state: Path, tmp_path: Path
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    with closing(sqlite3.connect(aligner.state / "everalign.sqlite")) as database:
        (*row, _) = database.execute("SELECT * FROM event WHERE number = 1").fetchone()
    row[6] = "because I say so"
    checksum = add_checksum(tuple(row))[-1]
    sql = f"UPDATE event SET reason = '{row[6]}', checksum = {checksum} WHERE number = 1"
    change_row(aligner.state, "event", sql)
    assert any("another digest" in line for line in aligner.verify().findings)


def test_links_are_derived_again_from_the_events(whole_state: Path, tmp_path: Path) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    before = read_everything(aligner)
    change_row(aligner.state, "link", "UPDATE link SET score = 0.123, right_id = right_id + 1")
    change_row(aligner.state, "link", "DELETE FROM link WHERE left_id % 2 = 0")
    with pytest.raises(StateDamagedError):
        aligner.links()
    result = aligner.verify(repair=True)
    assert any("derived from the events" in line for line in result.repaired)
    assert result.remaining == ()
    assert read_everything(aligner) == before


def test_a_damaged_method_is_dropped_and_trained_again(
    whole_state: Path, tmp_path: Path, dataset: Path
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    links = aligner.links()
    for path in (aligner.state / "versions").rglob("arrays.bundle"):
        flip_bit(path, path.stat().st_size // 2)
    with pytest.raises(StateDamagedError):
        aligner.explain(links[0].left)
    result = aligner.verify(repair=True)
    assert any("trains it again" in line for line in result.repaired)
    assert result.remaining == ()
    assert aligner.links() == links
    with pytest.raises(StateError, match="update"):
        aligner.explain(links[0].left)
    left, _ = list_new_triples(dataset)
    assert len(aligner.update(left=left[:2]).reports) == 1
    assert aligner.explain(links[0].left)
    assert aligner.verify().findings == ()


def test_what_no_row_names_is_found_and_removed(whole_state: Path, tmp_path: Path) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    (aligner.state / "versions" / "000077").mkdir()
    (aligner.state / "versions" / "000077" / "arrays.bundle").touch()
    (aligner.state / "notes.txt").touch()
    findings = aligner.verify().findings
    assert findings == ("notes.txt: no row names it", "versions/000077: no row names it")
    assert aligner.verify(repair=True).remaining == ()
    assert not (aligner.state / "notes.txt").exists()


def test_facts_that_are_damaged_cannot_be_repaired(
    whole_state: Path, tmp_path: Path, everalign: Run
) -> None:
    aligner = copy_state(whole_state, tmp_path / "copy")
    (aligner.state / "deltas" / "000000" / "arrays.bundle").unlink()
    result = everalign("verify", aligner.state, "--repair")
    assert result.returncode == 1
    assert "deltas/000000/arrays.bundle: is missing" in result.stdout
    assert "cannot be repaired" in result.stdout or "1 problem" in result.stdout


def test_the_command_says_that_all_is_well(whole_state: Path, everalign: Run) -> None:
    result = everalign("verify", whole_state)
    assert (result.returncode, result.stdout) == (0, f"{whole_state}: no problems\n")
    assert json.loads(everalign("verify", whole_state, "--json").stdout)["findings"] == []
    assert everalign("verify", whole_state.parent).returncode == 2


def test_a_crafted_state_with_right_checksums_is_refused(
    whole_state: Path, tmp_path: Path
) -> None:
    """Ids that compiled code would follow out of its arrays."""
    aligner = copy_state(whole_state, tmp_path / "copy")
    with AlignmentSession.open(aligner.state) as session:
        base = session.store.find_method_state().base
        stored, changes = session.store.load_method()
        arrays = {name: np.array(array) for name, array in stored.items()}
    assert base is not None
    assert changes
    crafted: dict[str, Callable[[Array], Array]] = {
        "left_edge_neighbour": lambda a: np.full_like(a, 2**30),
        "right_edge_relation": lambda a: np.full_like(a, -1),
        "left_node_stop": lambda a: a + 2**40,
        "candidate_right": lambda a: a[:1],
        "left_counts": lambda a: a.astype(np.float64),
        "anchors": lambda a: a[:, :1],
    }
    for name, craft in crafted.items():
        with AlignmentSession.open(aligner.state) as session:
            wrong = {**arrays, name: craft(arrays[name])}
            session.store.load_method = lambda _, wrong=wrong: (wrong, changes)  # type: ignore[method-assign,assignment,misc]
            with pytest.raises(StateDamagedError, match=name):
                session.load_method()


def outcome(read: Callable[[], object]) -> object:
    try:
        return read()
    except EverAlignError as error:
        return type(error)


def check_flip(whole_state: Path, copy: Path, before: list[object], rng: random.Random) -> bool:
    """Flip a bit in a copy; returns whether `verify` has found it."""
    shutil.rmtree(copy, ignore_errors=True)
    aligner = copy_state(whole_state, copy)
    files = list_files(copy)
    # Classes of files alike, and not bytes: arrays have most of them.
    suffix = rng.choice(["sqlite", "bundle"])
    path = rng.choice([file for file in files if file.name.endswith(suffix)])
    flip_bit(path, rng.randrange(path.stat().st_size), rng.randrange(8))
    found = bool(outcome(lambda: aligner.verify().findings))
    after = outcome(lambda: read_everything(aligner))
    if isinstance(after, type):
        assert issubclass(after, StateError), after
        # What a command notices is found by verification as well.
        assert found, path
    else:
        assert after == before, path
    # What is not found is in a part of SQLite's pages that holds nothing.
    assert found or (path.suffix == ".sqlite" and dump(path) == dump(whole_state / path.name)), (
        path
    )
    return found


def dump(database: Path) -> list[str]:
    """Everything that can be read from a database."""
    with closing(sqlite3.connect(f"file:{database}?immutable=1", uri=True)) as connection:
        return list(connection.iterdump())


LONG_RUN = pytest.mark.skipif(
    "EVERALIGN_LONG_TESTS" not in os.environ, reason="takes minutes: set EVERALIGN_LONG_TESTS"
)


@pytest.mark.parametrize("flips", [12, pytest.param(500, marks=[pytest.mark.slow, LONG_RUN])])
def test_flipped_bits_are_found_and_never_read(
    whole_state: Path, tmp_path: Path, flips: int
) -> None:
    rng = random.Random(flips)
    before = read_everything(copy_state(whole_state, tmp_path / "before"))
    found = sum(check_flip(whole_state, tmp_path / "copy", before, rng) for _ in range(flips))
    assert found


def test_a_flipped_bit_in_an_update_is_no_wrong_link(
    whole_state: Path, tmp_path: Path, dataset: Path
) -> None:
    left, right = list_new_triples(dataset)
    wanted = copy_state(whole_state, tmp_path / "wanted")
    wanted.update(left=left[:2], right=right[:2])
    rng = random.Random(3)
    for number in range(6):
        aligner = copy_state(whole_state, tmp_path / str(number))
        path = rng.choice([file for file in list_files(aligner.state) if "versions" in str(file)])
        flip_bit(path, rng.randrange(path.stat().st_size), rng.randrange(8))
        try:
            aligner.update(left=left[:2], right=right[:2])
        except StateDamagedError:
            # The delta is not lost.
            with StateStore.open(aligner.state, write=False) as store:
                assert store.last_version() == 3
        else:
            assert aligner.links() == wanted.links()
