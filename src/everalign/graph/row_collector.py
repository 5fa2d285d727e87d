"""The rows of a source while it is read: names become ids, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import NamedTuple, TypeAlias

import numpy as np

from everalign.graph.names import NameIndex, Vocabulary
from everalign.graph.triples import NO_TRIPLES, IntArray, find_last_occurrences
from everalign.io import LinePart, Statements, Triple

Indexes: TypeAlias = tuple[NameIndex, NameIndex, NameIndex]

# Names of so many rows are looked up together.
ROWS_PER_BLOCK = 10_000


class EncodedRows(NamedTuple):
    """Rows whose names have ids of the graph already.

    Attributes:
        triples: Rows (head, relation, tail).
        literals: Rows (entity, attribute, literal).
    """

    triples: IntArray
    literals: IntArray


def collect_rows(
    parts: Iterable[Statements | LinePart | EncodedRows],
    vocabulary: Vocabulary,
    *,
    removing: bool = False,
) -> tuple[RowCollector, RowCollector]:
    """Collect the rows of all parts of a source; new names are added to the vocabulary.

    Args:
        parts: The parts in order.
        vocabulary: The names of the graph.
        removing: Whether all statements are removed. A plain file never marks a part as removed,
            so the caller's word counts; a patch marks its own.

    Returns:
        The triples and the literals.
    """
    entities = vocabulary.entities
    triples = RowCollector((entities, vocabulary.relations, entities))
    literals = RowCollector((entities, vocabulary.attributes, vocabulary.literals))
    for part in parts:
        if isinstance(part, Statements):
            triples.add_block(part.triples, removed=removing or part.removed)
            literals.add_block(part.literals, removed=removing or part.removed)
            continue
        encoded = _encode_lines(part, vocabulary) if isinstance(part, LinePart) else [part]
        for rows in encoded:
            triples.add_rows(rows.triples)
            literals.add_rows(rows.literals)
    return triples, literals


class RowCollector:
    """Rows of one kind while a source is read, in blocks that are added or removed.

    Args:
        indexes: The names of each column.
    """

    def __init__(self, indexes: Indexes) -> None:
        self._indexes = indexes
        # One array that grows, and not a list of blocks: their copy would take as much again.
        self._rows = np.empty((0, 3), dtype=np.int32)
        self._count = 0
        self._block_sizes: list[int] = []
        self._is_added: list[bool] = []
        self.unknown_count = 0

    def add_block(self, rows: Sequence[Triple], *, removed: bool) -> None:
        """Add or remove rows of names.

        Args:
            rows: The rows.
            removed: Whether they are removed.
        """
        if rows:
            ids = self._find_rows(rows) if removed else encode_rows(rows, self._indexes)
            self.add_rows(ids, removed=removed)

    def add_rows(self, rows: IntArray, *, removed: bool = False) -> None:
        """Add or remove rows that are encoded already.

        Args:
            rows: Rows of ids.
            removed: Whether they are removed.
        """
        stop = self._count + len(rows)
        if stop > len(self._rows):
            # Where the system can, the array grows in its place. Nobody else refers to it.
            self._rows.resize((max(stop, self._count * 5 // 4), 3), refcheck=False)
        self._rows[self._count : stop] = rows
        self._count = stop
        self._block_sizes.append(len(rows))
        self._is_added.append(not removed)

    def split_rows(self) -> tuple[IntArray, IntArray]:
        """Split the rows; no others can be added then.

        Returns:
            The added rows and the removed rows.
        """
        self._rows.resize((self._count, 3), refcheck=False)
        rows = self._rows
        # Nothing is removed: the order does not matter, and duplicates are dropped when the rows
        # are compared with the graph. The sort is spared.
        if all(self._is_added):
            return rows, NO_TRIPLES
        is_added = np.repeat(self._is_added, self._block_sizes)
        # The last statement about a row decides whether it is added or removed.
        last = find_last_occurrences(rows)
        rows, is_added = rows[last], is_added[last]
        return rows[is_added], rows[~is_added]

    def _find_rows(self, rows: Sequence[Triple]) -> IntArray:
        # A removal gives no new ids: what was never seen cannot be there to be removed.
        ids = _map_columns(rows, self._indexes, NameIndex.find_ids)
        found = ids[(ids >= 0).all(axis=1)]
        self.unknown_count += len(rows) - len(found)
        return found


def encode_rows(triples: Iterable[Triple], indexes: Indexes) -> IntArray:
    """Encode triples of names, column by column in its own index; new names are added.

    Args:
        triples: The triples.
        indexes: The index of each column.

    Returns:
        Rows of ids.
    """
    blocks, source = [NO_TRIPLES], iter(triples)
    # In blocks, so that no Python list of all rows is ever held.
    while rows := list(islice(source, ROWS_PER_BLOCK)):
        blocks.append(_map_columns(rows, indexes, NameIndex.get_or_add_ids))
    return np.concatenate(blocks)


def _map_columns(
    rows: Sequence[Triple],
    indexes: Indexes,
    map_names: Callable[[NameIndex, Sequence[str]], IntArray],
) -> IntArray:
    """Map the names in each column to ids; those of one index together, row by row."""
    ids = np.empty((len(rows), 3), dtype=np.int32)
    first, second, third = indexes
    if first is third:
        entities = [name for head, _, tail in rows for name in (head, tail)]
        ids[:, ::2] = map_names(first, entities).reshape(-1, 2)
    else:
        ids[:, 0] = map_names(first, [row[0] for row in rows])
        ids[:, 2] = map_names(third, [row[2] for row in rows])
    ids[:, 1] = map_names(second, [row[1] for row in rows])
    return ids


def _encode_lines(part: LinePart, vocabulary: Vocabulary) -> Iterator[EncodedRows]:
    """Encode a large file of N-Triples; new names are added."""
    # Imported here: it takes longer than to encode a small file.
    from everalign.graph.block_encoding import encode_blocks, merge_block

    for encoded in encode_blocks(part.blocks):
        part.report_block(len(encoded.triples), len(encoded.literals), encoded.problems)
        yield EncodedRows(*merge_block(vocabulary, encoded))
