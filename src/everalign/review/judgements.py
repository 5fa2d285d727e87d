"""What people have said about entities: who has judged what, and where they disagree.

The last decision about a pair is in force, whoever takes it. Here each author's last word is kept
apart, so that nobody is asked again and disagreements are seen. A withdrawal takes back what its
author has said about the pair, or what all have said if its author has said nothing.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import NamedTuple

from everalign.cardinality import Cardinality
from everalign.state.decisions import NO_ENTITY, DecisionKind
from everalign.state.inbox import RecordedDecision
from everalign.state.links import Pair

EntityKey = tuple[int, int]  # 0 or 1 for the graph, and the id


class Opinion(NamedTuple):
    """What one author says about an entity.

    Attributes:
        counterparts: Its counterparts; NO_ENTITY among them if it has none.
        rejected: Entities that are not its counterpart.
    """

    counterparts: frozenset[int]
    rejected: frozenset[int]

    def contradicts(self, other: Opinion, *, unique: bool) -> bool:
        """Tell whether two opinions cannot both be right.

        Args:
            other: What somebody else says about the same entity.
            unique: Whether the entity has one counterpart at most.

        Returns:
            Whether one has a counterpart that the other excludes.
        """
        if self.counterparts & other.rejected or other.counterparts & self.rejected:
            return True
        if not self.counterparts or not other.counterparts:
            return False
        is_absent = NO_ENTITY in self.counterparts | other.counterparts
        return self.counterparts != other.counterparts and (unique or is_absent)


class Judgements:
    """The last word of each author about each pair, in the order in which they were given.

    Args:
        cardinality: Says which links exclude each other.
    """

    def __init__(self, cardinality: Cardinality = Cardinality.ONE_TO_ONE) -> None:
        self._cardinality = cardinality
        self.last_number = 0
        # The standing decisions of each entity, by pair and author; the newest last.
        self._standing: defaultdict[EntityKey, dict[tuple[Pair, str], RecordedDecision]] = (
            defaultdict(dict)
        )
        self._disputed: dict[EntityKey, None] = {}
        # Entities that each author was unsure about at some time.
        self._unsure: defaultdict[str, dict[EntityKey, None]] = defaultdict(dict)

    def add(self, decisions: Iterable[RecordedDecision]) -> set[EntityKey]:
        """Take decisions into account.

        Args:
            decisions: Decisions of the inbox, oldest first.

        Returns:
            The entities that they are about.
        """
        changed: set[EntityKey] = set()
        for decision in decisions:
            self.last_number = decision.number
            for key in list_keys(decision.pair):
                self._add_to(key, decision)
                changed.add(key)
        for key in sorted(changed):
            self._disputed.pop(key, None)
            if self._is_disputed(key):
                self._disputed[key] = None
        return changed

    def list_disputed(self) -> list[EntityKey]:
        """List the entities that authors disagree about, the newest disagreement first.

        Returns:
            Entities of both graphs. A disagreement is settled once more authors agree with the
            decision in force than contradict it.
        """
        return list(reversed(self._disputed))

    def list_decisions(self, key: EntityKey) -> list[RecordedDecision]:
        """List what stands of the decisions about an entity.

        Args:
            key: The entity.

        Returns:
            The last decision of each author about each pair, oldest first.
        """
        return sorted(self._standing.get(key, {}).values())

    def has_judged(self, author: str, key: EntityKey) -> bool:
        """Tell whether an author has said anything about an entity that stands.

        Args:
            author: The author.
            key: The entity.

        Returns:
            Whether there is a decision of any kind.
        """
        return any(who == author for _, who in self._standing.get(key, {}))

    def list_unsure(self, author: str) -> list[EntityKey]:
        """List the entities that an author was unsure about, and has not decided since.

        Args:
            author: The author.

        Returns:
            The entities.
        """
        return [key for key in self._unsure.get(author, ()) if self.is_unsure(author, key)]

    def is_unsure(self, author: str, key: EntityKey) -> bool:
        """Tell whether an author was unsure about an entity, and has not decided since.

        Args:
            author: The author.
            key: The entity.

        Returns:
            Whether the last word of the author about it was that.
        """
        words = [row for (_, who), row in self._standing.get(key, {}).items() if who == author]
        return bool(words) and max(words).kind is DecisionKind.UNSURE

    def _add_to(self, key: EntityKey, decision: RecordedDecision) -> None:
        standing, pair, author = self._standing[key], decision.pair, decision.author
        if decision.kind is DecisionKind.WITHDRAWN:
            own = [place for place in standing if place == (pair, author)]
            for place in own or [place for place in standing if place[0] == pair]:
                del standing[place]
            return
        is_link = decision.kind is DecisionKind.CONFIRMED and self._is_unique(key)
        if is_link or decision.kind is DecisionKind.NO_COUNTERPART:
            self._forget_counterparts(standing, author)
        standing[pair, author] = decision
        if decision.kind is DecisionKind.UNSURE:
            self._unsure[author][key] = None

    @staticmethod
    def _forget_counterparts(
        standing: dict[tuple[Pair, str], RecordedDecision], author: str
    ) -> None:
        """Forget which counterpart an author saw before: another one takes its place."""
        kinds = (DecisionKind.CONFIRMED, DecisionKind.NO_COUNTERPART)
        outdated = [p for p, row in standing.items() if p[1] == author and row.kind in kinds]
        for place in outdated:
            del standing[place]

    def _is_disputed(self, key: EntityKey) -> bool:
        rows = self.list_decisions(key)
        authors = {row.author for row in rows}
        if len(authors) < 2:
            return False
        unique = self._is_unique(key)
        opinions = {
            author: _form_opinion(key, (row for row in rows if row.author == author))
            for author in authors
        }
        in_force = _find_in_force(key, rows, unique=unique)
        opposed = {
            author
            for author, opinion in opinions.items()
            if opinion.contradicts(in_force, unique=unique)
        }
        agreeing = {
            author
            for author, opinion in opinions.items()
            if author not in opposed and (opinion.counterparts or opinion.rejected)
        }
        return bool(opposed) and len(opposed) >= len(agreeing)

    def _is_unique(self, key: EntityKey) -> bool:
        return self._cardinality.unique_sides[key[0]]


def list_keys(pair: Pair) -> Iterator[EntityKey]:
    """List the entities of a pair.

    Args:
        pair: Two ids; one of them may be NO_ENTITY.

    Yields:
        Side and id of each.
    """
    return ((side, entity) for side, entity in enumerate(pair) if entity != NO_ENTITY)


def _form_opinion(key: EntityKey, rows: Iterable[RecordedDecision]) -> Opinion:
    counterparts, rejected = set(), set()
    for row in rows:
        other = row.pair[1 - key[0]]
        if row.kind in (DecisionKind.CONFIRMED, DecisionKind.NO_COUNTERPART):
            counterparts.add(other)
        elif row.kind is DecisionKind.REJECTED:
            rejected.add(other)
    return Opinion(frozenset(counterparts), frozenset(rejected))


def _find_in_force(key: EntityKey, rows: Iterable[RecordedDecision], *, unique: bool) -> Opinion:
    """What holds if each decision replaces those before it that it contradicts."""
    counterparts: set[int] = set()
    rejected: set[int] = set()
    for row in rows:
        other = row.pair[1 - key[0]]
        if row.kind is DecisionKind.REJECTED:
            counterparts.discard(other)
            rejected.add(other)
        elif row.kind in (DecisionKind.CONFIRMED, DecisionKind.NO_COUNTERPART):
            if unique or other == NO_ENTITY:
                counterparts.clear()
            counterparts.discard(NO_ENTITY)
            counterparts.add(other)
            rejected.discard(other)
    return Opinion(frozenset(counterparts), frozenset(rejected))
