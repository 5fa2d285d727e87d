"""Repair: what is derived from other parts of a state directory is derived again."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from everalign.state.catalogue import Catalogue
from everalign.state.checksums import add_checksum
from everalign.state.database import Database, open_database
from everalign.state.files import StateLayout, hold_lock, refuse_link
from everalign.state.interval_replay import IntervalReplay, group_by_version
from everalign.state.method_files import MethodFiles
from everalign.state.verify import Finding, Remedy


def repair_state(directory: str | Path, findings: Sequence[Finding]) -> list[str]:
    """Repair what can be derived again.

    Args:
        directory: The state directory.
        findings: What `verify_state` has found.

    Returns:
        What was done, in words.

    Raises:
        StateLockedError: Another process writes to it.
        StateDamagedError: It is damaged in other ways as well, so that nothing can be derived.
    """
    layout = StateLayout(Path(directory))
    wanted = {remedy: [f for f in findings if f.remedy is remedy] for remedy in Remedy}
    done = []
    with hold_lock(layout.lock), open_database(layout, write=True) as database:
        catalogue = Catalogue(database, write=True)
        if wanted[Remedy.REINDEX]:
            database.execute_outside("REINDEX")
            done.append("indexes of everalign.sqlite are built again")
        if wanted[Remedy.REBUILD_LINKS]:
            count = _rebuild_links(database, catalogue)
            done.append(f"{count} intervals of links are derived from the events")
        damaged = {f.version for f in wanted[Remedy.DROP_METHOD] if f.version is not None}
        if damaged:
            MethodFiles(layout, catalogue).drop(sorted(damaged), "damaged")
            versions = ", ".join(map(str, sorted(damaged)))
            done.append(
                f"the method's files of version {versions} are removed:"
                " the next update trains it again"
            )
        for finding in wanted[Remedy.REMOVE_FILE]:
            _remove(layout.root / finding.place)
            done.append(f"{finding.place} is removed")
    return done


def _rebuild_links(database: Database, catalogue: Catalogue) -> int:
    events = catalogue.read_events(0, catalogue.last_version)
    replay = IntervalReplay(catalogue.cardinality)
    for version, group in group_by_version(event for _, event in events):
        replay.add_version(version, group)
    rows = [add_checksum(tuple(interval)) for interval in replay.list_intervals()]
    with database.transaction() as connection:
        _replace_links(connection, rows)
    return len(rows)


def _replace_links(connection: sqlite3.Connection, rows: Sequence[tuple[object, ...]]) -> None:
    # The triggers keep everybody else from it, and are there again when the transaction ends.
    sql = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'link'"
    triggers = connection.execute(sql).fetchall()
    for name, _ in triggers:
        connection.execute(f"DROP TRIGGER {name}")
    connection.execute("DELETE FROM link")
    connection.executemany("INSERT INTO link VALUES (?, ?, ?, ?, ?, ?, ?, ?)", rows)
    for _, statement in triggers:
        connection.execute(statement)


def _remove(path: Path) -> None:
    refuse_link(path)
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
