"""Search by label: a disposable index of the labels of all entities (internal).

The index is a file in the folder `cache` of the state directory. It is built when it is first
needed, follows new versions, and is built again if it is missing or damaged: nothing else depends
on it. Several processes may use and extend it at the same time.

The label of an entity is its literal of an attribute that names (`rdfs:label`, `skos:prefLabel`,
`foaf:name`, `schema:name`, `dct:title` and the like), or else of one that was learned to name, or
else the readable part of its IRI, or else the IRI. An entity can be found by each of its literals
that name it, and by its IRI.
"""

from __future__ import annotations

import os
import sqlite3
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from everalign._cache import LimitedCache
from everalign._progress import Progress, no_progress
from everalign.graph import NO_TRIPLES, IntArray
from everalign.graph.iri_names import extract_iri_names
from everalign.label_attributes import (
    LEARNED_RANK,
    is_name,
    rank_known_attributes,
    rank_label_attributes,
)
from everalign.session import AlignmentSession
from everalign.state.files import StateLayout, refuse_link
from everalign.state.link_table import split_chunks
from everalign.state.snapshots import (
    SIDES,
    find_revert_target,
    get_added_array_name,
    get_removed_array_name,
)

INDEX_NAME = "labels.sqlite"
# Changes with the tables, and with the way to find labels.
FORMAT = 3
# Substrings of this length are indexed.
GRAM_LENGTH = 3
# Behind each text, so that every character of it begins such a substring. No text ends so.
_PADDING = " " * (GRAM_LENGTH - 1)
_LAST_CHARACTER = chr(0x10FFFF)
# Entities whose names are read together.
BATCH_SIZE = 20_000
LOCK_TIMEOUT_SECONDS = 60.0
# The name in the IRI is the label of entities without a better one.
IRI_RANK = 100
IRI_NAME = -1

_SCHEMA = (
    f"PRAGMA user_version = {FORMAT}",
    # The versions whose labels are here, with their digests.
    "CREATE TABLE source (version INTEGER PRIMARY KEY, digest TEXT NOT NULL)",
    # The attributes whose literals are labels, as of the first of these versions.
    "CREATE TABLE naming (side INTEGER, attribute INTEGER, rank INTEGER)",
    # Side: 0 for left, 1 for right. Literal: its id, or -1 for the name in the IRI.
    """CREATE TABLE label (
        key INTEGER PRIMARY KEY,
        side INTEGER NOT NULL,
        entity INTEGER NOT NULL,
        rank INTEGER NOT NULL,
        literal INTEGER NOT NULL,
        language TEXT NOT NULL,
        text TEXT NOT NULL,
        folded TEXT NOT NULL
    )""",
    """CREATE VIRTUAL TABLE gram USING fts5(
        folded, content = 'label', content_rowid = 'key', tokenize = 'trigram case_sensitive 1'
    )""",
    # The entries of the index of substrings, with the labels that have them.
    "CREATE VIRTUAL TABLE gram_label USING fts5vocab(gram, 'instance')",
)
_INDEXES = (
    # Entries are sorted in so many bytes of memory before they are written.
    "INSERT INTO gram (gram, rank) VALUES ('hashsize', 134217728)",
    "CREATE INDEX label_of_entity ON label (side, entity, rank, literal)",
    "CREATE INDEX label_by_text ON label (folded, side)",
    # Sorting everything once is faster than inserting row by row.
    "INSERT INTO gram (gram) VALUES ('rebuild')",
)
_INSERT = """
    INSERT INTO label (side, entity, rank, literal, language, text, folded)
    VALUES (?, ?, ?, ?, ?, ?, ?)
"""

LabelRow = tuple[int, int, int, int, str, str, str]


# Side, entity and preferred languages.
_LabelKey = tuple[int, int, tuple[str, ...]]
# Labels of entities that are kept; some of them, of hubs, are shown always again.
MAX_KEPT_LABELS = 20_000


class EntityKey(NamedTuple):
    """An entity of one of the graphs.

    Attributes:
        side: 0 for the left graph, 1 for the right.
        entity: Its id.
    """

    side: int
    entity: int


class FoundLabel(NamedTuple):
    """A label that matches what is searched for.

    Attributes:
        key: The entity.
        text: The label that matches; the entity may be shown with another one.
        is_prefix: Whether it begins with the text.
    """

    key: EntityKey
    text: str
    is_prefix: bool


class LabelIndex:
    """The labels of the entities of an alignment, as of a version or a later one.

    Args:
        connection: The database of the index.
        session: The open alignment, to build the index again if it turns out to be damaged.
        progress: Called while the index is built.
    """

    def __init__(
        self, connection: sqlite3.Connection, session: AlignmentSession, progress: Progress
    ) -> None:
        self._connection = connection
        self._session = session
        self._progress = progress
        self._labels = LimitedCache[_LabelKey, tuple[str, str]](MAX_KEPT_LABELS)

    @staticmethod
    def open(session: AlignmentSession, progress: Progress = no_progress) -> LabelIndex:
        """Open the index of an alignment; build or extend it first if need be.

        Args:
            session: An open alignment that has a version.
            progress: Called while the index is built.

        Returns:
            An index that has the labels of the version of the session.
        """
        path = _find_path(session)
        with suppress(sqlite3.Error):
            connection = _connect(path, "rw")
            try:
                if _bring_up_to_date(connection, session, progress):
                    return LabelIndex(connection, session, progress)
            except sqlite3.Error:
                connection.close()
                raise
            connection.close()
        return LabelIndex(_build(path, session, progress), session, progress)

    def close(self) -> None:
        """Close the index."""
        self._connection.close()

    def search(self, text: str, side: int | None, limit: int) -> Iterator[FoundLabel]:
        """Search for labels: first those that begin with a text, then those that contain it.

        Args:
            text: The text; case, width and composition of characters do not matter.
            side: 0 for the left graph, 1 for the right, None for both.
            limit: About how many results are wanted; there may be more.

        Yields:
            Labels. An entity may come twice, if several of its labels match.
        """
        folded = fold_text(text)
        if not folded:
            return
        yield from (
            FoundLabel(EntityKey(*row[:2]), row[2], is_prefix=True)
            for row in self._fetch_prefixes(folded, side, limit)
        )
        yield from (
            FoundLabel(EntityKey(*row[:2]), row[2], is_prefix=False)
            for row in self._fetch_substrings(folded, side, limit)
        )

    def read_labels(
        self, side: int, entities: Iterable[int], languages: Sequence[str] = ()
    ) -> dict[int, str]:
        """Read the labels that entities are shown with.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.
            languages: Preferred languages, the best first; then come labels without a language,
                then all others.

        Returns:
            The label of each; of equally good ones the first in alphabetical order, since a graph
            has no order.
        """
        labels = self.read_tagged_labels(side, entities, languages)
        return {entity: text for entity, (text, _) in labels.items()}

    def read_tagged_labels(
        self, side: int, entities: Iterable[int], languages: Sequence[str] = ()
    ) -> dict[int, tuple[str, str]]:
        """Read the labels that entities are shown with, and their languages.

        Args:
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.
            languages: As in `read_labels`.

        Returns:
            The label of each with its language tag, which is empty if there is none.
        """
        wanted = tuple(languages)
        keys = ((side, entity, wanted) for entity in entities)

        def read(missing: list[_LabelKey]) -> dict[_LabelKey, tuple[str, str]]:
            labels = self._read_labels(side, [entity for _, entity, _ in missing], wanted)
            return {(side, entity, wanted): label for entity, label in labels.items()}

        found = self._labels.read_many(keys, read)
        return {entity: label for (_, entity, _), label in found.items()}

    def _read_labels(
        self, side: int, entities: Sequence[int], languages: Sequence[str]
    ) -> dict[int, tuple[str, str]]:
        labels: dict[int, tuple[str, str]] = {}
        for chunk in split_chunks(sorted(entities)):
            marks = ", ".join("?" * len(chunk))
            sql = f"""
                SELECT entity, text, language, rank FROM label
                WHERE side = ? AND entity IN ({marks}) ORDER BY entity, rank, text
            """
            rows = self._fetch(sql, side, *chunk)
            # The sort is stable: in a language, the order is that of the attributes.
            rows.sort(key=lambda row: (row[3] == IRI_RANK, rank_language(row[2], languages)))
            for entity, text, language, _ in rows:
                labels.setdefault(entity, (text, language))
        return labels

    def find_equal(self, text: str) -> list[EntityKey]:
        """Find the entities with a label that equals a text.

        Args:
            text: The text; case, width and composition of characters do not matter.

        Returns:
            The entities, each once.
        """
        sql = "SELECT side, entity FROM label WHERE folded = ? ORDER BY side, entity"
        rows = self._fetch(sql, fold_text(text) + _PADDING)
        return list(dict.fromkeys(EntityKey(*row) for row in rows))

    def find_matching(self, text: str, limit: int) -> list[EntityKey] | None:
        """Find all entities with a label that contains a text, unless they are many.

        Args:
            text: The text.
            limit: How many are many.

        Returns:
            The entities, or None if there are more than `limit`.
        """
        rows = self._fetch_substrings(fold_text(text), None, limit + 1, prefixes=True)
        keys = dict.fromkeys(EntityKey(*row[:2]) for row in rows)
        return None if len(rows) > limit else list(keys)

    def select_matching(self, text: str, side: int, entities: Iterable[int]) -> set[int]:
        """Select the entities with a label that contains a text.

        Args:
            text: The text.
            side: 0 for the left graph, 1 for the right.
            entities: Ids of entities.

        Returns:
            Those that match.
        """
        found: set[int] = set()
        for chunk in split_chunks(sorted(set(entities))):
            marks = ", ".join("?" * len(chunk))
            sql = f"""
                SELECT entity FROM label
                WHERE side = ? AND entity IN ({marks}) AND instr(folded, ?) > 0
            """
            found.update(row[0] for row in self._fetch(sql, side, *chunk, fold_text(text)))
        return found

    def _fetch(self, sql: str, *values: int | str) -> list[Any]:
        try:
            return self._connection.execute(sql, values).fetchall()
        except sqlite3.DatabaseError:
            self._connection.close()
        self._connection = _build(_find_path(self._session), self._session, self._progress)
        return self._connection.execute(sql, values).fetchall()

    def _fetch_prefixes(
        self, folded: str, side: int | None, limit: int
    ) -> list[tuple[int, int, str]]:
        sql = f"""
            SELECT side, entity, text FROM label
            WHERE folded >= ? AND folded < ? {_restrict(side)} ORDER BY folded, side LIMIT ?
        """
        values = folded, folded + _LAST_CHARACTER, limit
        return self._fetch(sql, *values)

    def _fetch_substrings(
        self, folded: str, side: int | None, limit: int, *, prefixes: bool = False
    ) -> list[tuple[int, int, str]]:
        first = 1 if prefixes else 2
        if len(folded) < GRAM_LENGTH:
            # A short text is the beginning of entries of the index.
            sql = f"""
                SELECT DISTINCT side, entity, text FROM gram_label
                JOIN label ON label.key = gram_label.doc WHERE term >= ? AND term < ?
                AND instr(folded, ?) >= {first} {_restrict(side)} LIMIT ?
            """
            values = folded, folded + _LAST_CHARACTER, folded, limit
            return self._fetch(sql, *values)
        sql = f"""
            SELECT side, entity, text FROM gram JOIN label ON label.key = gram.rowid
            WHERE gram MATCH ? AND instr(label.folded, ?) >= {first} {_restrict(side)} LIMIT ?
        """
        phrase = '"' + folded.replace('"', '""') + '"'
        return self._fetch(sql, phrase, folded, limit)


def rank_language(language: str, languages: Sequence[str]) -> int:
    """Rank the language of a label among those that a person prefers.

    Args:
        language: A language tag in lower case; empty if there is none.
        languages: Preferred languages, the best first.

    Returns:
        0 for the best. Without a preference, all languages are alike.

    Example:
        >>> [rank_language(tag, ["en", "de"]) for tag in ("en-gb", "de", "", "fr")]
        [0, 1, 2, 3]
    """
    if not languages:
        return 0
    for rank, wanted in enumerate(languages):
        if language == wanted or language.startswith(f"{wanted}-"):
            return rank
    return len(languages) + bool(language)


def fold_text(text: str) -> str:
    """Make texts that differ in case, width or composition of characters the same.

    Args:
        text: Any text.

    Returns:
        The text for comparisons.

    Example:
        >>> fold_text("  ＴＯＫＹＯ Straße"), fold_text("E\u0301tienne") == fold_text("Étienne")
        ('tokyo strasse', True)
    """
    folded = unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())
    # A zero character would end a text for SQLite.
    return " ".join(folded.replace("\0", " ").split())


def _find_path(session: AlignmentSession) -> Path:
    path = StateLayout(session.path).cache / INDEX_NAME
    refuse_link(path.parent)
    refuse_link(path)
    return path


def _restrict(side: int | None) -> str:
    # Written out: the plus keeps SQLite from taking the side as the key to search by.
    return "" if side is None else f"AND +side = {int(side)}"


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    uri = f"{path.resolve().as_uri()}?mode={mode}"
    return sqlite3.connect(
        uri,
        uri=True,
        isolation_level=None,
        timeout=LOCK_TIMEOUT_SECONDS,
        # The view that has the index is asked by several threads, one at a time.
        check_same_thread=False,
    )


def _bring_up_to_date(
    connection: sqlite3.Connection, session: AlignmentSession, progress: Progress
) -> bool:
    """Add the labels of newer versions; False if the index has to be built again."""
    last = session.store.next_version() - 1
    known = _find_known_version(connection, session)
    if known is None or known == last:
        return known == last
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Again: another process may have been faster.
        known = _find_known_version(connection, session)
        if known is not None and known < last:
            known = _extend(connection, known, session, progress)
        connection.execute("COMMIT")
    except BaseException:
        connection.rollback()
        raise
    return known == last


def _find_known_version(connection: sqlite3.Connection, session: AlignmentSession) -> int | None:
    """The last version of the session whose labels are here; None if they are another's."""
    if connection.execute("PRAGMA user_version").fetchone()[0] != FORMAT:
        return None
    sql = "SELECT version, digest FROM source WHERE version <= ? ORDER BY version DESC LIMIT 1"
    row = connection.execute(sql, (session.store.next_version() - 1,)).fetchone()
    # A state directory that was restored may have taken another way since.
    if row is None or session.store.read_version(row[0]).digest != row[1]:
        return None
    version: int = row[0]
    return version


def _extend(
    connection: sqlite3.Connection, known: int, session: AlignmentSession, progress: Progress
) -> int | None:
    """Add the labels of the versions since; None if everything has to be looked at again."""
    last, deltas = session.store.next_version() - 1, session.deltas[known + 1 :]
    if any(find_revert_target(delta) is not None for delta in deltas):
        return None
    # Much has changed then, and other attributes may name better.
    if any(row.info.get("trained") for row in session.store.list_versions(known + 1)):
        return None
    for side, name in enumerate(SIDES):
        ranks = _update_ranks(connection, session, side)
        for delta in deltas:
            removed, added = (
                _select_naming(delta.arrays.get(array, NO_TRIPLES), ranks)
                for array in (
                    get_removed_array_name(name, "literals"),
                    get_added_array_name(name, "literals"),
                )
            )
            _remove_labels(connection, side, removed, ranks)
            _add_labels(connection, _list_literal_labels(session, side, added, ranks))
        first = session.store.count_names(name, "entity", known)
        for labels in _iterate_iri_labels(session, side, first, progress):
            _add_labels(connection, labels)
    _write_source(connection, session, known + 1)
    return last


def _build(path: Path, session: AlignmentSession, progress: Progress) -> sqlite3.Connection:
    """Build the index under another name, and put it in its place when it is whole."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{id(session)}")
    try:
        path.parent.mkdir(exist_ok=True)
        with closing(_connect(new, "rwc")) as connection:
            # Nobody else reads the file yet, and half of it is of no use.
            connection.execute("PRAGMA journal_mode = OFF")
            connection.execute("PRAGMA synchronous = OFF")
            _fill(connection, session, progress)
        with new.open("rb+") as file:
            os.fsync(file.fileno())
        new.replace(path)
        return _connect(path, "rw")
    except (OSError, sqlite3.OperationalError):
        # A medium that is full or cannot be written to: the index is for this process only.
        connection = sqlite3.connect(":memory:", isolation_level=None, check_same_thread=False)
        _fill(connection, session, progress)
        return connection
    finally:
        with suppress(OSError):
            new.unlink(missing_ok=True)


def _fill(connection: sqlite3.Connection, session: AlignmentSession, progress: Progress) -> None:
    connection.execute("BEGIN")
    for statement in _SCHEMA:
        connection.execute(statement)
    for side in range(2):
        ranks = rank_label_attributes(session, side)
        _write_ranks(connection, side, ranks)
        # Facts of both graphs are read only if there are labels among them.
        literals = session.read_snapshot().literals[side] if ranks else NO_TRIPLES
        rows = _list_literal_labels(session, side, _select_naming(literals, ranks), ranks)
        connection.executemany(_INSERT, rows)
        for labels in _iterate_iri_labels(session, side, 0, progress):
            connection.executemany(_INSERT, labels)
    for statement in _INDEXES:
        connection.execute(statement)
    _write_source(connection, session, 0)
    connection.execute("COMMIT")


def _write_source(connection: sqlite3.Connection, session: AlignmentSession, first: int) -> None:
    versions = [(row.number, row.digest) for row in session.store.list_versions(first)]
    connection.executemany("INSERT INTO source VALUES (?, ?)", versions)


def _update_ranks(
    connection: sqlite3.Connection, session: AlignmentSession, side: int
) -> dict[int, int]:
    """The attributes that were ranked before, and new ones that are called label or the like."""
    sql = "SELECT attribute, rank FROM naming WHERE side = ?"
    before: dict[int, int] = dict(connection.execute(sql, (side,)).fetchall())
    known = rank_known_attributes(session.vocabulary(SIDES[side]).attributes)
    new = {number: rank for number, rank in known.items() if number not in before}
    _write_ranks(connection, side, new)
    return before | new


def _write_ranks(connection: sqlite3.Connection, side: int, ranks: dict[int, int]) -> None:
    rows = [(side, *item) for item in ranks.items()]
    connection.executemany("INSERT INTO naming VALUES (?, ?, ?)", rows)


def _select_naming(literals: IntArray, ranks: dict[int, int]) -> IntArray:
    """Select the rows of (entity, attribute, literal) whose attribute names."""
    return literals[np.isin(literals[:, 1], list(ranks))]


def _list_literal_labels(
    session: AlignmentSession, side: int, rows: IntArray, ranks: dict[int, int]
) -> Iterator[LabelRow]:
    # Here and not at the top: what only lists links need not wait for compilers.
    from everalign.literals import parse_term

    names = session.store.open_names(SIDES[side], "literal")
    for start in range(0, len(rows), BATCH_SIZE):
        batch = rows[start : start + BATCH_SIZE].tolist()
        texts = names.read_names(list({literal for _, _, literal in batch}))
        for entity, attribute, literal in batch:
            term = parse_term(texts[literal])
            text = term.text.strip()
            # What is called a label is one, however long.
            if is_name(text) if ranks[attribute] >= LEARNED_RANK else text:
                key = side, entity, ranks[attribute], literal
                yield *key, term.language, text, fold_text(text) + _PADDING


def _iterate_iri_labels(
    session: AlignmentSession, side: int, first: int, progress: Progress
) -> Iterator[list[LabelRow]]:
    """Iterate over the labels from the IRIs of all entities from one on."""
    names = session.store.open_names(SIDES[side], "entity")
    for start in range(first, len(names), BATCH_SIZE):
        progress(f"indexing {SIDES[side]} labels", start, len(names))
        iris = names.read_range(start, min(start + BATCH_SIZE, len(names)))
        labels = zip(iris, extract_iri_names(iris), strict=True)
        yield [
            (side, entity, IRI_RANK, IRI_NAME, "", name, fold_text(name) + _PADDING)
            for entity, name in enumerate((label or iri for iri, label in labels), start)
        ]


def _add_labels(connection: sqlite3.Connection, labels: Iterable[LabelRow]) -> None:
    for row in labels:
        key = connection.execute(_INSERT, row).lastrowid
        connection.execute("INSERT INTO gram (rowid, folded) VALUES (?, ?)", (key, row[6]))


def _remove_labels(
    connection: sqlite3.Connection, side: int, rows: IntArray, ranks: dict[int, int]
) -> None:
    # One row of several with the same text: each stands for a statement of its own.
    find = """
        SELECT key, folded FROM label
        WHERE side = ? AND entity = ? AND rank = ? AND literal = ? LIMIT 1
    """
    for entity, attribute, literal in rows.tolist():
        values = side, entity, ranks[attribute], literal
        for key, folded in connection.execute(find, values).fetchall():
            # The index of substrings is told what it has to forget.
            sql = "INSERT INTO gram (gram, rowid, folded) VALUES ('delete', ?, ?)"
            connection.execute(sql, (key, folded))
            connection.execute("DELETE FROM label WHERE key = ?", (key,))
