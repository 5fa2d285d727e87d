"""What is the case at a version: the facts of both graphs, and what people have said of links.

It is what remains when deltas are applied in order. A delta that reverts takes back all that came
after an earlier version, so each version has its own line of deltas that count.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray, Names, Vocabulary, among
from everalign.graph.values import NO_ROWS
from everalign.ledger import Pair
from everalign.store import Delta, Side, Sort, Store

SIDES: tuple[Side, Side] = ("left", "right")
FACTS = ("triples", "literals")
REVERT = "revert"
WITHDRAWN = "withdrawn"

Mask = NDArray[np.bool_]
BothSides = tuple[IntArray, IntArray]


class Word(StrEnum):
    """What a person said of a pair; the names are those of a delta's arrays."""

    SEED = "seeds"
    VALID = "valid"
    CONFIRMED = "confirmed"
    REJECTED = "rejected"


@dataclass(frozen=True)
class Situation:
    """The facts of both graphs as rows of ids, and the last word on each pair spoken of."""

    triples: BothSides = (NO_ROWS, NO_ROWS)
    literals: BothSides = (NO_ROWS, NO_ROWS)
    words: Mapping[Pair, Word] = field(default_factory=dict)

    @staticmethod
    def of(deltas: Iterable[Delta]) -> Situation:
        """What deltas that all count have led to."""
        kept = [delta.arrays for delta in deltas]
        triples, literals = (
            tuple(_folded(kept, f"{side}_{sort}", f"{side}_removed_{sort}") for side in SIDES)
            for sort in FACTS
        )
        words = _words(kept)
        return Situation((triples[0], triples[1]), (literals[0], literals[1]), words)

    def present(self, side: int, entities: int) -> Mask:
        """Which of so many entities of a side have a fact; the others were removed."""
        out = np.zeros(entities, dtype=np.bool_)
        out[self.triples[side][:, [0, 2]].ravel()] = True
        out[self.literals[side][:, 0]] = True
        return out

    def pairs(self, *words: Word) -> IntArray:
        """The pairs of which one of these words was said, in the order in which it was."""
        chosen = [pair for pair, word in self.words.items() if word in words]
        return np.array(chosen, dtype=np.int32).reshape(-1, 2)


def lineage(deltas: Sequence[Delta], last: int) -> list[int]:
    """The versions whose deltas make up the situation of version `last`."""
    line: list[int] = []
    version = last
    while version >= 0:
        back = reverts_to(deltas[version])
        if back is None:
            line.append(version)
        version = version - 1 if back is None else back
    return line[::-1]


def reverts_to(delta: Delta) -> int | None:
    """The version that a delta goes back to, if it does."""
    return int(delta.arrays[REVERT][0, 0]) if REVERT in delta.arrays else None


def line_of(store: Store, version: int | None = None) -> list[tuple[int, Delta]]:
    """The deltas that count at a version, or now, each with the version that applied it."""
    deltas = list(store.deltas())
    last = len(deltas) - 1 if version is None else version
    return [(number, deltas[number]) for number in lineage(deltas, last)]


def turn_of(line: Sequence[tuple[int, Delta]]) -> int | None:
    """The version at which the method last had its turn."""
    return next((number for number, delta in reversed(line) if delta.asks_method), None)


def words_of(deltas: Iterable[Delta]) -> dict[Pair, Word]:
    """The last word on each pair that deltas speak of."""
    return _words([delta.arrays for delta in deltas])


def gained_and_lost(before: IntArray, after: IntArray) -> tuple[int, int]:
    """How many facts are there that were not, and how many are not that were.

    >>> gained_and_lost(np.array([[0, 0, 1], [1, 0, 2]]), np.array([[1, 0, 2], [2, 0, 3]]))
    (1, 1)
    """
    if len(before) <= len(after) and np.array_equal(after[: len(before)], before):
        return len(after) - len(before), 0
    kept = int(np.count_nonzero(among(after, before)))
    return len(after) - kept, len(before) - kept


def vocabulary(store: Store | None, side: Side) -> Vocabulary:
    """The names of one graph; without a store there are none yet."""
    if store is None:
        return Vocabulary()
    sorts: list[Sort] = [sort for sort, _ in rolls(Vocabulary())]
    return Vocabulary(*(Names(store.names(side, sort)) for sort in sorts))


def rolls(names: Vocabulary) -> list[tuple[Sort, Names]]:
    """The names of each sort."""
    return [
        ("entity", names.entities),
        ("relation", names.relations),
        ("attribute", names.attributes),
        ("literal", names.literals),
    ]


def _folded(deltas: Sequence[Mapping[str, IntArray]], added: str, removed: str) -> IntArray:
    """The rows that are left; an array that is not there says nothing."""
    parts = [NO_ROWS]
    for arrays in deltas:
        if removed in arrays:
            rows = np.concatenate(parts)
            parts = [rows[~among(rows, arrays[removed])]]
        if added in arrays:
            parts.append(arrays[added])
    rows = np.concatenate(parts)
    rows.setflags(write=False)
    return rows


def _words(deltas: Sequence[Mapping[str, IntArray]]) -> dict[Pair, Word]:
    words: dict[Pair, Word] = {}
    for arrays in deltas:
        _speak(words, arrays)
    return words


def _speak(words: dict[Pair, Word], arrays: Mapping[str, IntArray]) -> None:
    """Let the words of one delta take effect; a confirmed pair displaces what it contradicts."""
    for pair in _pairs(arrays, WITHDRAWN):
        words.pop(pair, None)
    for word in Word:
        pairs = _pairs(arrays, word.value)
        if word is Word.CONFIRMED and pairs:
            _displace(words, pairs)
        for pair in pairs:
            if word is not Word.CONFIRMED or words.get(pair) not in (Word.SEED, Word.VALID):
                words[pair] = word


def _displace(words: dict[Pair, Word], confirmed: Sequence[Pair]) -> None:
    lefts, rights = dict(confirmed), {right: left for left, right in confirmed}
    beaten = [
        pair
        for pair, word in words.items()
        if word is not Word.REJECTED
        and (lefts.get(pair[0], pair[1]) != pair[1] or rights.get(pair[1], pair[0]) != pair[0])
    ]
    for pair in beaten:
        del words[pair]


def _pairs(arrays: Mapping[str, IntArray], name: str) -> list[Pair]:
    return [(left, right) for left, right in arrays[name].tolist()] if name in arrays else []
