"""The queue of questions: ranked once per version, then brought up to date by each decision."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from heapq import merge
from typing import NamedTuple

import numpy as np

from everalign.cardinality import Cardinality
from everalign.decide import WaitingView
from everalign.methods import CandidateScores, Method, ScoringMethod
from everalign.review.judgements import EntityKey, Judgements, list_keys
from everalign.review.order import (
    F1_WEIGHTS,
    MAX_CANDIDATES,
    NO_LINK,
    REVIEW_WEIGHTS,
    GainWeights,
    LinkedEntities,
    group_candidates,
    measure_gain,
    rank_questions,
)
from everalign.select import iterate_free_proposals
from everalign.session import AlignmentSession
from everalign.state.decisions import NO_ENTITY, DecisionKind, Decisions
from everalign.state.inbox import RecordedDecision
from everalign.state.intervals import PairStatus
from everalign.state.links import Pair
from everalign.state.snapshots import SIDES

# About one of ten answers corrects something: below this, people check what is right.
MIN_GAIN = 0.1
CHUNK_SIZE = 1000  # questions that are looked at together


class ScoredCandidate(NamedTuple):
    """A candidate of a question."""

    entity: int
    confidence: float


class OpenQuestion(NamedTuple):
    """An entity that can be asked about; sorted by descending gain, then by side and id."""

    rank: float
    key: EntityKey

    @property
    def gain(self) -> float:
        """What an answer is expected to correct."""
        return -self.rank


class QuestionQueue:
    """Open questions of a version, best first.

    Args:
        session: The open alignment.
        method: The method as the version left it.
        upto: Number of the last decision that counts.
    """

    def __init__(self, session: AlignmentSession, method: Method, upto: int) -> None:
        self.version = session.store.next_version() - 1
        self.cardinality = session.config.cardinality
        self.judgements = Judgements(self.cardinality)
        # Of the version, without the decisions that are waiting.
        self._base = _read_situation(session)
        self._now = self._base.copy()
        self._waiting: list[RecordedDecision] = []
        self._folded_upto = session.store.inbox_upto()
        sizes = len(self._base.links.left), len(self._base.links.right)
        scores = _drop_closed(_list_scores(session, method), self._base)
        self._blocks = group_candidates(scores, sizes, exclusive=REVIEW_WEIGHTS.exclusive)
        ranked = rank_questions(self._blocks, self._base.links, REVIEW_WEIGHTS)
        # They are sorted: those that are worth asking come first.
        count = int(np.count_nonzero(ranked.gain >= MIN_GAIN))
        self._ranked = ranked.take_first(count)
        self._is_ranked = tuple(np.zeros(size, dtype=np.bool_) for size in sizes)
        for side in (0, 1):
            self._is_ranked[side][self._ranked.entity[self._ranked.side == side]] = True
        self._open_counts = [int(np.count_nonzero(mask)) for mask in self._is_ranked]
        # Questions that decisions have changed since, with their gain if they are still open;
        # these are ranked among the others.
        self._changed: dict[EntityKey, float | None] = {}
        self._changed_order: list[OpenQuestion] = []
        found = int(np.count_nonzero(self._base.links.left != NO_LINK))
        # Links in force and links that there are: what a gain is divided by to be one of F1.
        self._link_scale = max(1.0, found + self._count_expected(found))
        self.advance(session.store.inbox.read_range(0, upto))

    @property
    def links(self) -> LinkedEntities:
        """The links in force, with the decisions that are waiting."""
        return self._now.links

    def advance(self, decisions: Iterable[RecordedDecision]) -> None:
        """Take decisions into account that were recorded since.

        Args:
            decisions: Decisions of the inbox, oldest first, from `judgements.last_number` on.
        """
        decisions = list(decisions)
        self.judgements.add(decisions)
        # Those that the version has taken up are in its links and decisions already.
        waiting = [row for row in decisions if row.number > self._folded_upto]
        self._waiting += waiting
        affected: set[EntityKey] = set()
        if any(row.kind is DecisionKind.WITHDRAWN for row in waiting):
            # What was before a decision that is taken back is known only to the version.
            self._now = self._base.copy()
            waiting = _drop_withdrawn(self._waiting, self._base.decisions)
            affected.update(self._changed)
        for decision in waiting:
            affected |= self._now.apply(decision, self.cardinality)
        affected.update(key for row in decisions for key in list_keys(row.pair))
        # Those of whom they are candidates have one candidate less, or more.
        rivals = {
            (1 - side, row[0])
            for side, entity in affected
            for row in self._blocks[side].list_of(entity)
        }
        for key in sorted(affected | rivals):
            self._rank_again(key)

    def iterate(
        self, author: str, side: int | None = None, leave_out: Collection[EntityKey] = ()
    ) -> Iterator[OpenQuestion]:
        """Iterate over the questions for an author, best first.

        Args:
            author: Who is asked.
            side: 0 or 1 for one graph; None for both.
            leave_out: Entities that are not to be asked about now.

        Yields:
            Disagreements that the author has not judged, then other open questions.
        """
        disputed = self.judgements.list_disputed()
        for key in disputed:
            is_wanted = side in (None, key[0]) and key not in leave_out
            if is_wanted and not self.judgements.has_judged(author, key):
                yield OpenQuestion(-self.measure_gain(key), key)
        known = {*disputed, *leave_out}
        for question in merge(self._iterate_unchanged(), self._changed_order):
            key = question.key
            if (
                (side is None or key[0] == side)
                and key not in known
                and not self.judgements.is_unsure(author, key)
            ):
                yield question

    def choose(
        self,
        limit: int,
        author: str,
        side: int | None = None,
        leave_out: Collection[EntityKey] = (),
    ) -> list[OpenQuestion]:
        """Choose questions to be asked together: about no pair twice.

        Args:
            limit: The most questions.
            author: As in `iterate`.
            side: As in `iterate`.
            leave_out: As in `iterate`.

        Returns:
            The questions, best first.
        """
        chosen: list[OpenQuestion] = []
        asked: set[EntityKey] = set()
        covered: set[EntityKey] = set()
        for question in self.iterate(author, side, leave_out):
            if len(chosen) == limit:
                break
            candidates = self.list_candidates(question.key)
            best = [(1 - question.key[0], row.entity) for row in candidates[:1]]
            # The answer about one of the two entities may answer the question about the other.
            if question.key in covered or not asked.isdisjoint(best):
                continue
            asked.add(question.key)
            covered.update(best)
            chosen.append(question)
        return chosen

    def count(
        self, author: str, side: int | None = None, leave_out: Collection[EntityKey] = ()
    ) -> int:
        """Count the questions for an author.

        Args:
            author: As in `iterate`.
            side: As in `iterate`.
            leave_out: As in `iterate`.

        Returns:
            How many `iterate` gives.
        """
        # Counted by what is left out, which is little, and not by going through all of them.
        sides = (0, 1) if side is None else (side,)
        total = sum(self._open_counts[index] for index in sides)
        unsure = self.judgements.list_unsure(author)
        disputed = self.judgements.list_disputed()
        skipped = {*leave_out, *unsure, *disputed}
        total -= sum(1 for key in skipped if key[0] in sides and self._is_open(key))
        return total + sum(
            1
            for key in disputed
            if key[0] in sides
            and key not in leave_out
            and not self.judgements.has_judged(author, key)
        )

    def list_candidates(self, key: EntityKey) -> list[ScoredCandidate]:
        """List the best candidates of an entity that can still be chosen.

        Args:
            key: The entity.

        Returns:
            Candidates, best first; neither rejected nor known to be that of another entity.
        """
        return [ScoredCandidate(*row[:2]) for row in self._list_open_candidates(key)]

    def _list_open_candidates(self, key: EntityKey) -> list[tuple[int, float, float]]:
        side, entity = key
        closed, rejected = self._now.closed[1 - side], self._now.rejected
        found = [
            row
            for row in self._blocks[side].list_of(entity)
            if row[0] not in closed
            and ((entity, row[0]) if side == 0 else (row[0], entity)) not in rejected
        ]
        return found[:MAX_CANDIDATES]

    def list_disputed_candidates(self, key: EntityKey) -> list[ScoredCandidate]:
        """List the candidates of an entity that authors disagree about.

        Args:
            key: The entity.

        Returns:
            The entities that they have named, then other candidates.
        """
        side, entity = key
        scores = {row[0]: row[1] for row in self._blocks[side].list_of(entity)}
        named = [row.pair[1 - side] for row in self.judgements.list_decisions(key)]
        others = [other for other in dict.fromkeys(named) if other != NO_ENTITY]
        others += [row.entity for row in self.list_candidates(key) if row.entity not in others]
        return [ScoredCandidate(n, scores.get(n, 0.0)) for n in others[:MAX_CANDIDATES]]

    def measure_gain(self, key: EntityKey) -> float:
        """Measure what an answer about an entity is expected to correct now.

        Args:
            key: The entity.

        Returns:
            The gain; 0 if it has no candidate and no link.
        """
        return self._measure(key, REVIEW_WEIGHTS)

    def measure_f1_gain(self, key: EntityKey) -> float:
        """Measure what an answer about an entity is expected to add to F1 now.

        Args:
            key: The entity.

        Returns:
            The gain.
        """
        return self._measure(key, F1_WEIGHTS) / self._link_scale

    def _measure(self, key: EntityKey, weights: GainWeights) -> float:
        side, entity = key
        rows = self._list_open_candidates(key)
        return measure_gain(
            np.array([row[0] for row in rows], dtype=np.int64),
            np.array([row[2] for row in rows]),
            int(self.links[side][entity]),
            self.links[1 - side],
            weights,
        )

    def _is_open(self, key: EntityKey) -> bool:
        if key in self._changed:
            return self._changed[key] is not None
        return bool(self._is_ranked[key[0]][key[1]])

    def _iterate_unchanged(self) -> Iterator[OpenQuestion]:
        # A batch needs few of them, out of very many.
        for first in range(0, len(self._ranked.gain), CHUNK_SIZE):
            columns = (
                column[first : first + CHUNK_SIZE].tolist()
                for column in (self._ranked.gain, self._ranked.side, self._ranked.entity)
            )
            for gain, side, entity in zip(*columns, strict=True):
                if (side, entity) not in self._changed:
                    yield OpenQuestion(-gain, (side, entity))

    def _rank_again(self, key: EntityKey) -> None:
        was_open, old = self._is_open(key), self._changed.get(key)
        if old is not None:
            del self._changed_order[bisect_left(self._changed_order, OpenQuestion(-old, key))]
        gain = self.measure_gain(key)
        is_open = gain >= MIN_GAIN and key[1] not in self._now.closed[key[0]]
        self._changed[key] = gain if is_open else None
        if is_open:
            insort(self._changed_order, OpenQuestion(-gain, key))
        self._open_counts[key[0]] += is_open - was_open

    def _count_expected(self, found: int) -> float:
        """How many links there are, as far as confidences tell."""
        blocks = self._blocks[0]
        total = np.append(0.0, np.cumsum(blocks.probability))
        sums = total[blocks.start[1:]] - total[blocks.start[:-1]]
        return max(float(np.minimum(1.0, sums).sum()), float(found))


@dataclass(frozen=True)
class Situation:
    """Links and decisions in force.

    Attributes:
        links: The counterpart of each entity.
        decisions: The decisions of the version.
        given: Links that people have given.
        rejected: Pairs that people have rejected.
        closed: Left and right entities that are not asked about: their counterpart is known, or
            that they have none; and those without facts.
    """

    links: LinkedEntities
    decisions: Decisions
    given: set[Pair]
    rejected: set[Pair]
    closed: tuple[set[int], set[int]]

    def copy(self) -> Situation:
        """Copy what decisions change.

        Returns:
            A situation that can be changed.
        """
        return Situation(
            LinkedEntities(self.links.left.copy(), self.links.right.copy()),
            self.decisions,
            set(self.given),
            set(self.rejected),
            (set(self.closed[0]), set(self.closed[1])),
        )

    def apply(self, decision: RecordedDecision, cardinality: Cardinality) -> set[EntityKey]:
        """Let a decision take effect.

        Args:
            decision: The decision.
            cardinality: Which links exclude each other.

        Returns:
            The entities whose links or candidates change.
        """
        pair, kind = decision.pair, decision.kind
        affected = set(list_keys(pair))
        unique = cardinality.unique_sides
        if kind is DecisionKind.CONFIRMED:
            self.rejected.discard(pair)
            affected |= self._end_competing(pair, unique)
            self.links.left[pair[0]], self.links.right[pair[1]] = pair[1], pair[0]
            self.given.add(pair)
            for side, entity in list_keys(pair):
                if unique[side]:
                    self.closed[side].add(entity)
        elif kind is DecisionKind.REJECTED:
            self.end_link(pair)
            self.rejected.add(pair)
        elif kind is DecisionKind.NO_COUNTERPART:
            affected |= self._end_competing(pair, (True, True))
            for side, entity in list_keys(pair):
                self.closed[side].add(entity)
        elif kind is DecisionKind.WITHDRAWN:
            self.rejected.discard(pair)
            if pair in self.given:
                self.end_link(pair)
            for side, entity in list_keys(pair) if NO_ENTITY in pair else ():
                self.closed[side].discard(entity)
        return affected

    def end_link(self, pair: Pair) -> None:
        """End a link, if it is one.

        Args:
            pair: Two entities.
        """
        left, right = pair
        if self.links.left[left] == right:
            self.links.left[left] = NO_LINK
        if self.links.right[right] == left:
            self.links.right[right] = NO_LINK
        if pair in self.given:
            self.given.discard(pair)
            self.closed[0].discard(left)
            self.closed[1].discard(right)

    def _end_competing(self, pair: Pair, unique: tuple[bool, bool]) -> set[EntityKey]:
        """End the links that a pair excludes; gives the entities that lose one."""
        affected: set[EntityKey] = set()
        for side, entity in list_keys(pair):
            other = int(self.links[side][entity])
            if unique[side] and other not in (NO_LINK, pair[1 - side]):
                affected.add((1 - side, other))
                self.end_link((entity, other) if side == 0 else (other, entity))
        return affected


def _read_situation(session: AlignmentSession) -> Situation:
    sizes = [len(names) for names in session.entity_names()]
    links = LinkedEntities(*(np.full(size, NO_LINK, np.int64) for size in sizes))
    decisions = session.store.read_decisions()
    situation = Situation(links, decisions, set(), set(), (set(), set()))
    for status in (PairStatus.FOUND, PairStatus.GIVEN):
        columns = session.store.read_link_columns(status)
        # Of several links of an entity the last one stays.
        links.left[columns.left], links.right[columns.right] = columns.right, columns.left
        if status == PairStatus.GIVEN:
            pairs = zip(columns.left.tolist(), columns.right.tolist(), strict=True)
            situation.given.update(pairs)
    unique = session.config.cardinality.unique_sides
    for pair, kind in decisions.items():
        if kind is DecisionKind.REJECTED:
            situation.rejected.add(pair)
            continue
        for side, entity in list_keys(pair):
            if kind is DecisionKind.NO_COUNTERPART or unique[side]:
                situation.closed[side].add(entity)
    for name, entity in session.store.read_removed_entities():
        situation.closed[SIDES.index(name)].add(entity)
    return situation


def _drop_closed(scores: CandidateScores, situation: Situation) -> CandidateScores:
    """Leave out candidates that are decided about."""
    keep = np.ones(len(scores.left), dtype=np.bool_)
    for side, ids in enumerate(scores[:2]):
        closed = np.zeros(len(situation.links[side]), dtype=np.bool_)
        closed[list(situation.closed[side])] = True
        keep &= ~closed[ids]
    if situation.rejected:
        width = len(situation.links.right)
        rejected = np.array([left * width + right for left, right in situation.rejected])
        keep &= ~np.isin(scores.left * width + scores.right, rejected)
    return CandidateScores(scores.left[keep], scores.right[keep], scores.confidence[keep])


def _drop_withdrawn(
    waiting: Sequence[RecordedDecision], decisions: Decisions
) -> list[RecordedDecision]:
    """Leave out what was decided and taken back while it was waiting."""
    last = {row.pair: row for row in waiting}
    return [
        row
        for row in waiting
        if last[row.pair].kind is not DecisionKind.WITHDRAWN
        or (row is last[row.pair] and row.pair in decisions)
    ]


def _list_scores(session: AlignmentSession, method: Method) -> CandidateScores:
    """All candidates of a method, or links and proposals of one that keeps no others."""
    if isinstance(method, ScoringMethod):
        return method.candidate_scores()
    rows = [(*row.pair, row.score) for row in session.store.iterate_links(PairStatus.FOUND)]
    rows += [
        (row.left, row.right, row.score) for row in iterate_free_proposals(session, WaitingView())
    ]
    rows.sort()
    left, right, score = zip(*rows, strict=True) if rows else ((), (), ())
    # Scores of such a method may be no probabilities.
    confidence = np.clip(np.array(score, dtype=np.float32), 0.0, 1.0)
    return CandidateScores(np.array(left, np.int64), np.array(right, np.int64), confidence)
