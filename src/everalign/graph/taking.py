"""What a source says of one graph, as ids: facts that it adds and facts that it removes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from everalign.graph.graph import intern
from everalign.graph.names import Names, Vocabulary
from everalign.graph.rows import last_words
from everalign.graph.values import NO_ROWS, IntArray
from everalign.progress import Progress, silent
from everalign.rdf import Statements, Triple, TripleReader, with_literals

TripleSource: TypeAlias = str | Path | TripleReader | Iterable[Triple]


class Taken(NamedTuple):
    """Rows of ids; what is added later is not removed, and the other way round.

    `unknown` counts the removals that name what was never seen.
    """

    triples: IntArray
    literals: IntArray
    removed_triples: IntArray
    removed_literals: IntArray
    unknown: int = 0


def take(
    source: TripleSource | None,
    vocabulary: Vocabulary,
    progress: Progress = silent,
    *,
    removing: bool = False,
) -> Taken:
    """All that a source says; new names are added to the vocabulary.

    Where it is `removing`, it names what goes away. A patch says of each row which of both it
    means, and its last word on a row counts.

    >>> taken = take([("a", "knows", "b"), ("a", "label", '"Ada"@en')], Vocabulary())
    >>> taken.triples.tolist(), taken.literals.tolist()
    ([[0, 0, 1]], [[0, 0, 0]])
    """
    names = vocabulary.entities, vocabulary.relations, vocabulary.entities
    values = vocabulary.entities, vocabulary.attributes, vocabulary.literals
    triples, literals = _Rows(names), _Rows(values)
    for block in _blocks(source, progress, removing):
        triples.take(block.triples, removed=removing or block.removed)
        literals.take(block.literals, removed=removing or block.removed)
    (more, less), (more_literals, less_literals) = triples.result(), literals.result()
    unknown = triples.unknown + literals.unknown
    return Taken(more, more_literals, less, less_literals, unknown)


def take_triples(source: TripleSource | None, vocabulary: Vocabulary) -> IntArray:
    """Only the triples that a source adds."""
    return count_and_take(source, vocabulary)[0]


def count_and_take(
    source: TripleSource | None, vocabulary: Vocabulary, progress: Progress = silent
) -> tuple[IntArray, int]:
    """The same, and how many literals were left out."""
    names = vocabulary.entities, vocabulary.relations, vocabulary.entities
    reader = None if source is None else opened(source, progress)
    if reader is None:
        assert not isinstance(source, str | Path | TripleReader)
        return intern(source or [], *names), 0
    return intern(reader, *names), reader.literals_read


def opened(source: TripleSource, progress: Progress = silent) -> TripleReader | None:
    """The reader of a source, unless it lies in memory."""
    if isinstance(source, TripleReader):
        return source
    if not isinstance(source, str | Path):
        return None
    return TripleReader(source, lambda read: progress(f"reading {source}", read, 0))


class _Rows:
    """Rows of one sort, while they come in: each part with whether it is added or removed."""

    def __init__(self, names: tuple[Names, Names, Names]) -> None:
        self._names = names
        self._parts: list[IntArray] = []
        self._added: list[bool] = []
        self.unknown = 0

    def take(self, rows: Sequence[Triple], *, removed: bool) -> None:
        if not rows:
            return
        if removed:
            known = [ids for ids in map(self._find, rows) if ids is not None]
            self.unknown += len(rows) - len(known)
            part = np.array(known, dtype=np.int32).reshape(-1, 3)
        else:
            part = intern(rows, *self._names)
        self._parts.append(part)
        self._added.append(not removed)

    def result(self) -> tuple[IntArray, IntArray]:
        """What is added, and what is removed."""
        rows = np.concatenate([NO_ROWS, *self._parts])
        if all(self._added):
            return rows, NO_ROWS
        added = np.repeat(self._added, [len(part) for part in self._parts])
        rows, added = last_words(rows, added)
        return rows[added], rows[~added]

    def _find(self, row: Triple) -> tuple[int, int, int] | None:
        one, two, three = (names.find(name) for names, name in zip(self._names, row, strict=True))
        return None if one is None or two is None or three is None else (one, two, three)


def _blocks(
    source: TripleSource | None, progress: Progress, removing: bool
) -> Iterator[Statements]:
    if source is None:
        return iter(())
    reader = opened(source, progress)
    if reader is not None:
        return reader.statements(removing=removing)
    assert not isinstance(source, str | Path | TripleReader)
    return iter([with_literals(list(source))])
