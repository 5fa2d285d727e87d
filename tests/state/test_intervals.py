"""Intervals of links tell what a replay of all events tells, at every version."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everalign.errors import StateDamagedError
from everalign.pipeline import diff_local_links
from everalign.state import StateStore
from everalign.state import link_table as link_tables
from everalign.state.intervals import LinkInterval, PairStatus, build_link_set
from everalign.state.ledger import (
    EventKind,
    LedgerEvent,
    LinkSet,
    PartnerIndex,
    ScoredPair,
    merge_best_first,
    merge_links,
    replay_events,
)
from everalign.state.method_output import MethodOutput

IDS = st.integers(0, 4)
SCORES = st.sampled_from([0.25, 0.5, 0.75])
STEPS = st.tuples(st.sampled_from(EventKind), IDS, IDS, SCORES)
HISTORIES = st.lists(st.lists(STEPS, max_size=6), min_size=1, max_size=6)

History = list[list[tuple[EventKind, int, int, float]]]


def make_store(directory: Path, history: History) -> StateStore:
    store = StateStore.create(directory, {})
    for version, steps in enumerate(history):
        store.commit_version(
            MethodOutput(), [LedgerEvent(version, *step, "why") for step in steps], {}
        )
    return store


def replay_until(store: StateStore, version: int) -> LinkSet:
    """The links by the events alone."""
    return replay_events(event for event in store.read_events() if event.version <= version)


@settings(max_examples=60, deadline=None)
@given(HISTORIES)
def test_links_at_every_version_are_those_of_a_replay(history: History) -> None:
    with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
        for version in range(len(history)):
            wanted = replay_until(store, version)
            assert store.read_links(version) == wanted
            given, found, rejected = store.count_links(version)
            assert given == len(wanted.confirmed_pairs)
            assert found == len(wanted.found_links)
            assert rejected == len(wanted.rejected_pairs)


@settings(max_examples=40, deadline=None)
@given(HISTORIES, IDS, IDS)
def test_links_of_entities_are_those_among_all(history: History, left: int, right: int) -> None:
    with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
        for version in range(len(history)):
            everything = replay_until(store, version)
            local = store.read_links_of({left}, {right}, version)
            assert dict(local.links) == {
                pair: state
                for pair, state in everything.links.items()
                if pair[0] == left or pair[1] == right
            }
            assert local.rejected_pairs == {
                pair for pair in everything.rejected_pairs if pair[0] == left or pair[1] == right
            }


@settings(max_examples=40, deadline=None)
@given(HISTORIES, st.integers(1, 4))
def test_pages_and_best_first_have_every_link_once(history: History, page_size: int) -> None:
    usual = link_tables.PAGE_SIZE
    link_tables.PAGE_SIZE = page_size
    try:
        with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
            for version in range(len(history)):
                wanted = replay_until(store, version)
                assert build_link_set(list_pages(store, version, page_size)) == wanted
                for status in (PairStatus.GIVEN, PairStatus.FOUND):
                    rows = list(store.iterate_links(status, version))
                    assert rows == sorted(rows, key=lambda row: (-row.score, row.left))
                    assert [row.pair for row in rows if wanted.links[row.pair].confirmed] == (
                        [row.pair for row in rows] if status is PairStatus.GIVEN else []
                    )
                    assert len(rows) == store.count_links(version)[status]
    finally:
        link_tables.PAGE_SIZE = usual


def list_pages(store: StateStore, version: int, limit: int) -> list[LinkInterval]:
    rows: list[LinkInterval] = []
    while page := store.read_link_page(version, rows[-1] if rows else None, limit):
        assert len(page) <= limit
        rows += page
    return rows


@settings(max_examples=40, deadline=None)
@given(HISTORIES)
def test_what_changed_between_versions_leads_from_one_to_the_other(history: History) -> None:
    with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
        for start in range(len(history)):
            for end in range(start, len(history)):
                ended, begun = store.read_link_changes(start, end)
                states = {row.pair: row[4:] for row in list_pages(store, start, 100)}
                for row in ended:
                    assert states.pop(row.pair) == row[4:]
                states |= {row.pair: row[4:] for row in begun}
                assert states == {row.pair: row[4:] for row in list_pages(store, end, 100)}


@settings(max_examples=20, deadline=None)
@given(HISTORIES)
def test_the_digest_of_every_version_can_be_computed_again(history: History) -> None:
    with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
        for version in store.list_versions():
            assert store.compute_digest_of(version.number) == version.digest


def test_a_reader_gets_the_pages_of_its_version_while_another_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_tables, "PAGE_SIZE", 7)
    links = [(EventKind.ADDED, number, number, 0.5 + number / 100) for number in range(40)]
    gone = [LedgerEvent(1, EventKind.RETRACTED, n, n, 0.5, "") for n in range(40)]
    new = [LedgerEvent(1, EventKind.ADDED, n, n + 50, 0.6, "") for n in range(40)]
    with (
        make_store(tmp_path / "state", [links]) as store,
        StateStore.open(tmp_path / "state", write=False) as reader,
    ):
        rows = reader.iterate_links(PairStatus.FOUND)
        first = [next(rows) for _ in range(10)]
        store.commit_version(MethodOutput(), [*gone, *new], {})
        pairs = [row.pair for row in [*first, *rows]]
    assert pairs == [(number, number) for number in reversed(range(40))]


def test_a_new_score_goes_on_with_the_birth_of_the_link(tmp_path: Path) -> None:
    history: History = [
        [(EventKind.ADDED, 1, 2, 0.5)], [], [(EventKind.RESCORED, 1, 2, 0.75)],
        [(EventKind.RETRACTED, 1, 2, 0.75)],
    ]  # fmt: skip
    with make_store(tmp_path / "state", history) as store:
        found = PairStatus.FOUND
        assert store.read_link_page(1) == [LinkInterval(1, 0, 2, 2, 0.5, 0, found)]
        assert store.read_link_page(2) == [LinkInterval(1, 2, 2, 3, 0.75, 0, found)]
        assert store.read_link_page(3) == []


def read_all(store: StateStore) -> None:
    store.read_links(0)
    store.read_links()
    store.read_events()
    store.read_decisions()
    store.list_versions()
    store.inbox.read_range(0)


@pytest.mark.parametrize(
    ("table", "column", "value"),
    [
        ("link", "score", 0.25),
        ("link", "right_id", 3),
        ("link", "until", 1),
        ("link", "status", 0),
        ("event", "kind", "'confirmed'"),
        ("event", "reason", "'because'"),
        ("version", "found_links", 7),
        ("version", "inbox_upto", 3),
    ],
)
def test_a_changed_value_is_an_error_and_never_a_link(
    tmp_path: Path, table: str, column: str, value: object
) -> None:
    history: History = [[(EventKind.ADDED, 1, 2, 0.5)], [(EventKind.ADDED, 2, 1, 0.5)]]
    make_store(tmp_path / "state", history).close()
    change_row(tmp_path / "state", f"UPDATE {table} SET {column} = {value}")
    with (
        StateStore.open(tmp_path / "state", write=False) as store,
        pytest.raises(StateDamagedError, match=f"a row of table {table} has changed"),
    ):
        read_all(store)


def test_a_lost_row_is_an_error(tmp_path: Path) -> None:
    make_store(tmp_path / "state", [[(EventKind.ADDED, 1, 2, 0.5)]]).close()
    change_row(tmp_path / "state", "DELETE FROM link")
    with StateStore.open(tmp_path / "state", write=False) as store:
        with pytest.raises(StateDamagedError, match="lacks links of version 0"):
            store.read_links()
        assert store.compute_digest_of(0) != store.list_versions()[0].digest


def change_row(state: Path, sql: str) -> None:
    """Change the database as no command of ours does."""
    with closing(sqlite3.connect(state / "everalign.sqlite")) as connection:
        triggers = connection.execute("SELECT name FROM sqlite_master WHERE type = 'trigger'")
        for (name,) in triggers.fetchall():
            connection.execute(f"DROP TRIGGER {name}")
        connection.execute(sql)
        connection.commit()


@pytest.mark.parametrize(
    "name", ["lock", "everalign.sqlite", "inbox.sqlite", "inbox.sqlite-wal", "deltas", "versions"]
)
@pytest.mark.parametrize("write", [True, False])
def test_a_symbolic_link_in_a_state_directory_is_refused(
    tmp_path: Path, name: str, write: bool
) -> None:
    make_store(tmp_path / "state", [[(EventKind.ADDED, 1, 2, 0.5)]]).close()
    inside, outside = tmp_path / "state" / name, tmp_path / "outside"
    if inside.exists():
        inside.rename(outside)
    else:
        outside.write_text("precious")
    inside.symlink_to(outside)
    before = list_content(outside)
    with pytest.raises(Exception, match=rf"{name} is a symbolic link"):
        StateStore.open(tmp_path / "state", write=write)
    assert list_content(outside) == before


def list_content(path: Path) -> list[bytes]:
    files = [path] if path.is_file() else sorted(path.rglob("*"))
    return [file.read_bytes() for file in files if file.is_file()]


@pytest.mark.parametrize("use", [Path.mkdir, Path.touch])
def test_a_link_where_the_next_version_goes_is_not_followed(
    tmp_path: Path, use: Callable[[Path], None]
) -> None:
    make_store(tmp_path / "state", [[]]).close()
    use(tmp_path / "outside")
    (tmp_path / "state" / "versions" / "000001").symlink_to(tmp_path / "outside")
    with pytest.raises(Exception, match="000001 is a symbolic link"):
        StateStore.open(tmp_path / "state", write=True)
    assert (tmp_path / "outside").exists()


FOUND = st.lists(st.builds(ScoredPair, IDS, IDS, SCORES), max_size=5).map(
    lambda links: merge_best_first([], links)
)


@settings(max_examples=60, deadline=None)
@given(HISTORIES, st.frozensets(IDS), st.frozensets(IDS), FOUND)
def test_a_local_change_of_found_links_equals_a_change_of_all(
    history: History, lefts: frozenset[int], rights: frozenset[int], found: list[ScoredPair]
) -> None:
    with TemporaryDirectory() as directory, make_store(Path(directory, "s"), history) as store:
        version, before = len(history), store.read_links()
        events = diff_local_links(store, (set(lefts), set(rights)), found, version)
        store.commit_version(MethodOutput(), events, {})
        # The same with all links at hand: what is found takes the place of what was.
        decided = before.confirmed_pairs, before.rejected_pairs
        wanted = {link.pair for link in merge_links([], found, merge_best_first, *decided)}
        partners = PartnerIndex(wanted)
        for left, right, _ in before.found_links:
            untouched = left not in lefts and right not in rights
            if untouched and not partners.competing_pairs((left, right)):
                wanted.add((left, right))
        after = store.read_links()
        assert {link.pair for link in after.found_links} == wanted
        assert after.confirmed_pairs == before.confirmed_pairs
        assert after.rejected_pairs == before.rejected_pairs
