"""What people have said of links, as events: whatever a method finds comes after that."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from everalign.ledger import Event, Pair, View, confirm, fold, reject, withdraw
from everalign.situation import Word

REASONS = {
    Word.SEED: "given as a seed",
    Word.VALID: "given to judge by",
    Word.CONFIRMED: "confirmed by a person",
}


@dataclass(frozen=True)
class Spoken:
    """The last word on each pair, and the entities that are gone, with whom no link can be.

    `reverted` is the version that all words have gone back to, if they have.
    """

    words: Mapping[Pair, Word]
    gone: tuple[set[int], set[int]]
    reverted: int | None = None

    def events(self, view: View, version: int) -> list[Event]:
        """What leads from the words that are in force to those that are spoken.

        A trusted link whose entity was removed waits: it is withdrawn, and in force again when
        the entity comes back.
        """
        void = [pair for pair in view.confirmed | view.rejected if not self._holds(pair)]
        events = withdraw(view, {pair: self._reason(pair) for pair in sorted(void)}, version)
        for word in (Word.SEED, Word.VALID, Word.CONFIRMED):
            pairs = [pair for pair in self._said(word) if not self._lacks(pair)]
            events += confirm(fold(events, view), pairs, version, REASONS[word])
        return events + reject(fold(events, view), self._said(Word.REJECTED), version)

    def _holds(self, pair: Pair) -> bool:
        """Whether what was once said of a pair, or something else, is in force."""
        word = self.words.get(pair)
        return word is Word.REJECTED or (word is not None and not self._lacks(pair))

    def _said(self, word: Word) -> list[Pair]:
        return [pair for pair, last in self.words.items() if last is word]

    def _lacks(self, pair: Pair) -> bool:
        return pair[0] in self.gone[0] or pair[1] in self.gone[1]

    def _reason(self, pair: Pair) -> str:
        if self.reverted is not None:
            return f"reverted to version {self.reverted}"
        if self._lacks(pair):
            return f"the {'left' if pair[0] in self.gone[0] else 'right'} entity was removed"
        lefts, rights = self._trusted
        if pair[0] in lefts or pair[1] in rights:
            return "another link of its entities was confirmed"
        return "withdrawn by a person"

    @cached_property
    def _trusted(self) -> tuple[set[int], set[int]]:
        pairs = [pair for pair, word in self.words.items() if word is not Word.REJECTED]
        return {left for left, _ in pairs}, {right for _, right in pairs}
