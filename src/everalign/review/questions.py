"""Questions as people see them: labels, candidates, and facts side by side."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

import numpy as np

from everalign.decide import name_decision
from everalign.errors import ConfigError
from everalign.graph import IntArray
from everalign.graph.id_sets import mark_members, unique_ids
from everalign.methods import ExplainableMethod, Method
from everalign.review.facts import (
    EntityFacts,
    FactComparer,
    RelationPairs,
    ValueNames,
    WantedValues,
    group_facts,
)
from everalign.review.judgements import EntityKey
from everalign.review.order import NO_LINK
from everalign.review.queue import QuestionQueue, ScoredCandidate
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.inbox import RecordedDecision
from everalign.state.name_reader import NameReader
from everalign.state.snapshots import SIDES
from everalign.task import StoredTask, UpdateContext
from everalign.types import (
    Decision,
    Disagreement,
    FactComparison,
    LabelledEntity,
    Question,
    QuestionBatch,
    QuestionCandidate,
)

LabelEntities = Callable[[int, Iterable[int]], Mapping[int, LabelledEntity]]


class QuestionReader:
    """Describes the questions of a version; what it has loaded stays loaded.

    Args:
        session: The open alignment.
        names: Its names.
        label_entities: Gives entities of a side their labels.
        queue: The queue of the version.
        relations: Which relations correspond.
    """

    def __init__(
        self,
        session: AlignmentSession,
        names: NameReader,
        label_entities: LabelEntities,
        queue: QuestionQueue,
        relations: RelationPairs,
    ) -> None:
        self._session = session
        self._names = names
        self._label_entities = label_entities
        self.queue = queue
        self.relations = relations

    def ask(
        self,
        limit: int,
        author: str,
        side: Side | None,
        leave_out: Iterable[str],
        max_facts: int,
    ) -> QuestionBatch:
        """Choose and describe questions.

        Args:
            limit: The most questions.
            author: Who is asked.
            side: Only entities of this graph; None for both.
            leave_out: Keys of questions that are not to be asked now.
            max_facts: The most comparisons of facts for each candidate.

        Returns:
            The questions, best first.

        Raises:
            ConfigError: A number is out of range, there is no such side, or a key is no key of a
                question.
        """
        if limit < 1 or max_facts < 0:
            raise ConfigError("limit must be at least 1, and max_facts at least 0")
        if side not in (None, *SIDES):
            raise ConfigError(f"side must be left or right, not {side!r}")
        number = None if side is None else SIDES.index(side)
        excluded = self._find_keys(leave_out)
        chosen = self.queue.choose(limit, author, number, excluded)
        questions = self.describe([row.key for row in chosen], max_facts)
        remaining = self.queue.count(author, number, excluded)
        gain = sum(question.expected_gain for question in questions)
        return QuestionBatch(tuple(questions), remaining, gain, self.queue.version)

    def describe(self, keys: Sequence[EntityKey], max_facts: int) -> list[Question]:
        """Describe questions.

        Args:
            keys: Entities.
            max_facts: As in `ask`.

        Returns:
            A question for each.
        """
        disputed = set(self.queue.judgements.list_disputed())
        candidates = [
            self.queue.list_disputed_candidates(key)
            if key in disputed
            else self.queue.list_candidates(key)
            for key in keys
        ]
        labels = self._read_labels(keys, candidates)
        facts = self._compare_facts(keys, candidates) if max_facts else {}
        return [
            self._describe(key, rows, labels, facts, max_facts, is_disputed=key in disputed)
            for key, rows in zip(keys, candidates, strict=True)
        ]

    def compare(
        self, key: EntityKey, others: Sequence[int], max_facts: int
    ) -> list[tuple[FactComparison, ...]]:
        """Compare the facts of an entity with those of any others.

        Args:
            key: The entity.
            others: Entities of the other graph.
            max_facts: As in `ask`.

        Returns:
            The comparisons with each of them, those of relations that correspond first.
        """
        rows = [ScoredCandidate(other, 0.0) for other in others]
        facts = self._compare_facts([key], [rows])
        return [tuple(facts[key, other][:max_facts]) for other in others]

    def list_disagreements(self) -> list[Disagreement]:
        """List the entities about which people have decided differently.

        Returns:
            The newest disagreement first.
        """
        found = []
        for side, entity in self.queue.judgements.list_disputed():
            name = self._names.read(SIDES[side], "entity", [entity])[entity]
            rows = self.queue.judgements.list_decisions((side, entity))
            found.append(Disagreement(name, SIDES[side], self._name_decisions(rows)))
        return found

    def _describe(
        self,
        key: EntityKey,
        candidates: Sequence[ScoredCandidate],
        labels: tuple[Mapping[int, LabelledEntity], Mapping[int, LabelledEntity]],
        facts: Mapping[tuple[EntityKey, int], Sequence[FactComparison]],
        max_facts: int,
        *,
        is_disputed: bool,
    ) -> Question:
        side, entity = key
        link = int(self.queue.links[side][entity])
        shown = []
        for row in candidates:
            other_link = int(self.queue.links[1 - side][row.entity])
            is_elsewhere = other_link not in (NO_LINK, entity)
            compared = facts.get((key, row.entity), ())
            shown.append(
                QuestionCandidate(
                    labels[1 - side][row.entity],
                    row.confidence,
                    row.entity == link,
                    labels[side][other_link] if is_elsewhere else None,
                    tuple(compared[:max_facts]),
                    len(compared),
                )
            )
        name = labels[side][entity].name
        reason = "unlinked" if link == NO_LINK else "linked"
        return Question(
            f"{SIDES[side]} {name}",
            labels[side][entity],
            None if link == NO_LINK else labels[1 - side][link],
            tuple(shown),
            self.queue.measure_f1_gain(key),
            "disagreement" if is_disputed else reason,
            self._name_decisions(self.queue.judgements.list_decisions(key)),
            self.queue.version,
        )

    def _read_labels(
        self, keys: Sequence[EntityKey], candidates: Sequence[Sequence[ScoredCandidate]]
    ) -> tuple[Mapping[int, LabelledEntity], Mapping[int, LabelledEntity]]:
        """The labels of all entities of questions, those of one graph in one query."""
        wanted: tuple[set[int], set[int]] = (set(), set())
        links = self.queue.links
        for (side, entity), rows in zip(keys, candidates, strict=True):
            others = [row.entity for row in rows]
            wanted[side].add(entity)
            wanted[1 - side].update(others)
            wanted[1 - side].add(int(links[side][entity]))
            wanted[side].update(links[1 - side][others].tolist())
        for ids in wanted:
            ids.discard(NO_LINK)
        return self._label_entities(0, wanted[0]), self._label_entities(1, wanted[1])

    def _compare_facts(
        self, keys: Sequence[EntityKey], candidates: Sequence[Sequence[ScoredCandidate]]
    ) -> dict[tuple[EntityKey, int], list[FactComparison]]:
        wanted = WantedValues()
        entities: tuple[set[int], set[int]] = (set(), set())
        for (side, entity), rows in zip(keys, candidates, strict=True):
            entities[side].add(entity)
            entities[1 - side].update(row.entity for row in rows)
        facts_of = self._read_facts(0, entities[0]), self._read_facts(1, entities[1])
        neighbours_of = [
            {entity: unique_ids(triples[:, [0, 2]]) for entity, (triples, _) in facts.items()}
            for facts in facts_of
        ]
        pairs: list[tuple[EntityKey, int, EntityFacts, EntityFacts]] = []
        for key, rows in zip(keys, candidates, strict=True):
            own = facts_of[key[0]][key[1]]
            own_neighbours = neighbours_of[key[0]][key[1]]
            for row in rows:
                other = facts_of[1 - key[0]][row.entity]
                neighbours = own_neighbours, neighbours_of[1 - key[0]][row.entity]
                grouped = self._group_both(key, own, row.entity, other, neighbours)
                for side, facts in zip((key[0], 1 - key[0]), grouped, strict=True):
                    wanted.add(side, facts)
                pairs.append((key, row.entity, *grouped))
        comparer = FactComparer(self.relations, self.queue.links, self._name_values(wanted))
        return {
            (key, other): comparer.compare(key[0], facts, other_facts)
            for key, other, facts, other_facts in pairs
        }

    def _group_both(
        self,
        key: EntityKey,
        own: tuple[IntArray, IntArray],
        candidate: int,
        other: tuple[IntArray, IntArray],
        neighbours: tuple[IntArray, IntArray],
    ) -> tuple[EntityFacts, EntityFacts]:
        """Group the facts of a pair; neighbours that are linked with each other come first."""
        side, entity = key
        links = self.queue.links
        linked = mark_members(neighbours[1], links[side][neighbours[0]])
        other_linked = mark_members(neighbours[0], links[1 - side][neighbours[1]])
        return (
            group_facts(entity, *own, neighbours[0][linked]),
            group_facts(candidate, *other, neighbours[1][other_linked]),
        )

    def _read_facts(
        self, side: int, entities: Collection[int]
    ) -> dict[int, tuple[IntArray, IntArray]]:
        """The triples and the literals of each entity, all read at once."""
        ids, facts = sorted(entities), self._session.facts
        triples, literals = facts.list_all_facts(side, ids)
        heads = _split_rows(triples, 0, ids)
        # A triple from an entity to itself is listed with its head.
        tails = _split_rows(triples[triples[:, 0] != triples[:, 2]], 2, ids)
        own = _split_rows(literals, 0, ids)
        return {
            entity: (np.concatenate([heads[n], tails[n]]), own[n]) for n, entity in enumerate(ids)
        }

    def _name_values(self, wanted: WantedValues) -> ValueNames:
        entities = [
            {
                number: (row.name, row.label)
                for number, row in self._label_entities(side, wanted.entities[side]).items()
            }
            for side in (0, 1)
        ]
        read = self._names.read
        return ValueNames(
            (entities[0], entities[1]),
            (
                read("left", "relation", wanted.relations[0]),
                read("right", "relation", wanted.relations[1]),
            ),
            (
                read("left", "attribute", wanted.attributes[0]),
                read("right", "attribute", wanted.attributes[1]),
            ),
            (
                read("left", "literal", wanted.literals[0]),
                read("right", "literal", wanted.literals[1]),
            ),
        )

    def _name_decisions(self, rows: Sequence[RecordedDecision]) -> tuple[Decision, ...]:
        if not rows:
            return ()
        names = self._session.entity_names()
        return tuple(name_decision(row, *names) for row in rows)

    def _find_keys(self, keys: Iterable[str]) -> Collection[EntityKey]:
        found = set()
        for key in keys:
            side, _, name = key.partition(" ")
            if side not in SIDES or not name:
                raise ConfigError(f"{key!r} is no key of a question")
            entity = self._names.find_entity(SIDES[SIDES.index(side)], name)
            # An entity that is gone is asked about no more.
            if entity is not None:
                found.add((SIDES.index(side), entity))
        return found


def _split_rows(rows: IntArray, column: int, ids: Sequence[int]) -> list[IntArray]:
    """The rows that have each of some ids, ascending, in a column."""
    order = np.argsort(rows[:, column], kind="stable")
    values = rows[order, column]
    start, stop = (np.searchsorted(values, ids, end) for end in ("left", "right"))
    return [rows[order[first:end]] for first, end in zip(start, stop, strict=True)]


def align_relations(session: AlignmentSession, method: Method) -> RelationPairs:
    """Find out which relations correspond.

    Args:
        session: The open alignment.
        method: The method as its last version left it.

    Returns:
        The relations; none if the method cannot tell.
    """
    if not isinstance(method, ExplainableMethod):
        return RelationPairs([])
    return RelationPairs(method.relations(StoredTask(UpdateContext.from_last_version(session))))
