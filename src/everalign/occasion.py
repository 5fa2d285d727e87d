"""An occasion to ask a method: what is the case, and what has changed since it was last asked."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everalign.graph import Graph, IntArray, Values
from everalign.ledger import Link, Pair, View
from everalign.literals import with_names_of_iris
from everalign.matching import Candidates
from everalign.methods import Problem
from everalign.situation import (
    FACTS,
    SIDES,
    WITHDRAWN,
    Situation,
    Word,
    gained_and_lost,
    line_of,
    reverts_to,
    turn_of,
    words_of,
)
from everalign.store import Delta, Side, Sort, Store

BothSides = tuple[IntArray, IntArray]
NOBODY = np.empty(0, dtype=np.int32)


@dataclass(frozen=True)
class Occasion:
    """A version in the making, with a pending delta, or the last one.

    `turn` is the version at which the method last had its turn, `since` are the deltas that have
    come after it.
    """

    store: Store
    pending: Delta | None
    situation: Situation
    turn: int | None
    since: Sequence[Delta]

    @staticmethod
    def of(store: Store, pending: Delta | None) -> Occasion:
        """The occasion of a pending delta, or of the last version."""
        line, coming = line_of(store), [] if pending is None else [pending]
        if pending is not None and (back := reverts_to(pending)) is not None:
            line, coming = line_of(store, back), []
        turn = turn_of(line)
        since = [delta for version, delta in line if turn is None or version > turn]
        deltas = [*(delta for _, delta in line), *coming]
        return Occasion(store, pending, Situation.of(deltas), turn, [*since, *coming])

    def problem(self, view: View, *, literals: bool, names_from_iris: bool) -> Problem:
        """What the method is given; `view` are the links in force.

        What only a method that reads literals needs is left out for the others.
        """
        left_values, right_values = (
            self._values(here, names_from_iris) if literals else Values.none() for here in range(2)
        )
        now = self.situation
        left, right = (self._graph(here) for here in range(2))
        gone = self.gone
        return Problem(
            left=left,
            right=right,
            seeds=_existing(now.pairs(Word.SEED, Word.CONFIRMED), gone),
            valid=_existing(now.pairs(Word.VALID), gone),
            old_left=self._known("left"),
            old_right=self._known("right"),
            links=_candidates(view.found),
            full=self.pending is not None and self.pending.full,
            left_values=left_values,
            right_values=right_values,
            changed=None if self.turn is None else self._changed(),
            gone=gone,
            lost_triples=sum(len(rows) for rows in self._removed("triples")),
            lost_links=self._lost_links(),
        )

    @cached_property
    def gone(self) -> BothSides:
        """The entities of either side that have no fact any more."""
        left, right = (
            np.flatnonzero(~self.situation.present(here, self._size(side, "entity")))
            for here, side in enumerate(SIDES)
        )
        return left.astype(np.int32), right.astype(np.int32)

    def growth(self, before: Situation, here: int) -> dict[str, int]:
        """How many triples and entities of a side have come and gone since another situation."""
        side, entities = SIDES[here], self._size(SIDES[here], "entity")
        came, went = gained_and_lost(before.triples[here], self.situation.triples[here])
        there, was_there = (x.present(here, entities) for x in (self.situation, before))
        return {
            f"{side}_triples": came,
            f"{side}_removed_triples": went,
            f"{side}_entities": int(np.count_nonzero(there & ~was_there)),
            f"{side}_removed_entities": int(np.count_nonzero(was_there & ~there)),
        }

    def bereft(self) -> tuple[set[int], set[int]]:
        """The entities of either side that have lost a fact since the method's last turn."""
        left, right = (
            {number for part in self._entities(here, "removed_") for number in part.tolist()}
            for here in range(2)
        )
        return left, right

    def _graph(self, here: int) -> Graph:
        side, rows = SIDES[here], self.situation.triples[here]
        return Graph(rows, self._size(side, "entity"), self._size(side, "relation"))

    def _values(self, here: int, names_from_iris: bool) -> Values:
        side, rows = SIDES[here], self.situation.literals[here]
        said = Values(rows, self._names(side, "attribute"), self._names(side, "literal"))
        if not names_from_iris:
            return said
        entities = self._names(side, "entity")
        return with_names_of_iris(said, entities, self.situation.present(here, len(entities)))

    def _size(self, side: Side, sort: Sort) -> int:
        last = self.store.last_version()
        known = 0 if last is None else self.store.count_names(side, sort, last)
        return known + len(self._coming(side, sort))

    def _names(self, side: Side, sort: Sort) -> list[str]:
        return [*self.store.names(side, sort), *self._coming(side, sort)]

    def _coming(self, side: Side, sort: Sort) -> Sequence[str]:
        return [] if self.pending is None else self.pending.new_names.get((side, sort), [])

    def _known(self, side: Side) -> int:
        """How many entities the method knew at its last turn."""
        return 0 if self.turn is None else self.store.count_names(side, "entity", self.turn)

    def _changed(self) -> BothSides:
        """The entities whose facts or trusted links are others than at the method's last turn."""
        parts: tuple[list[IntArray], list[IntArray]] = ([], [])
        for here in range(2):
            for which in ("", "removed_"):
                parts[here].extend(self._entities(here, which))
        for name in (*Word, WITHDRAWN):
            for delta in self.since:
                if name in delta.arrays:
                    parts[0].append(delta.arrays[name][:, 0])
                    parts[1].append(delta.arrays[name][:, 1])
        left, right = (np.unique(np.concatenate([NOBODY, *side])) for side in parts)
        return self._with_partners(left, right)

    def _with_partners(self, left: IntArray, right: IntArray) -> BothSides:
        """Whoever is trusted to be the same as an entity that came or went has changed too."""
        trusted = self.situation.pairs(Word.SEED, Word.VALID, Word.CONFIRMED)
        gone = self.gone
        lost = trusted[np.isin(trusted[:, 0], gone[0]) | np.isin(trusted[:, 1], gone[1])]
        mine = lost[np.isin(lost[:, 0], left) | np.isin(lost[:, 1], right)]
        return np.union1d(left, mine[:, 0]), np.union1d(right, mine[:, 1])

    def _entities(self, here: int, which: str) -> Iterator[IntArray]:
        for sort, columns in zip(FACTS, ([0, 2], [0]), strict=True):
            name = f"{SIDES[here]}_{which}{sort}"
            for delta in self.since:
                if name in delta.arrays:
                    yield delta.arrays[name][:, columns].ravel()

    def _removed(self, sort: str) -> Iterator[IntArray]:
        for delta in self.since:
            for side in SIDES:
                if (name := f"{side}_removed_{sort}") in delta.arrays:
                    yield delta.arrays[name]

    def _lost_links(self) -> int:
        """How many links that the method has learned from, or found, are taken from it."""
        if self.turn is None:
            return 0
        now, known = self.situation.words, self.store.links(self.turn)
        trusted = {pair for pair, word in self._words_then().items() if word is not Word.REJECTED}
        void = {pair for pair in trusted if now.get(pair, Word.REJECTED) is Word.REJECTED}
        wrong = {pair for pair, word in now.items() if word is Word.REJECTED}
        return len(void | (wrong & known.links.keys()))

    def _words_then(self) -> dict[Pair, Word]:
        """What people had said at the method's last turn."""
        assert self.turn is not None, "it had a turn"
        return words_of(delta for _, delta in line_of(self.store, self.turn))


def _existing(pairs: IntArray, gone: BothSides) -> IntArray:
    """The pairs whose two entities are there."""
    return pairs[~np.isin(pairs[:, 0], gone[0]) & ~np.isin(pairs[:, 1], gone[1])]


def _candidates(links: Sequence[Link]) -> Candidates:
    left, right, score = zip(*links, strict=True) if links else ((), (), ())
    return Candidates.of(left, right, score)
