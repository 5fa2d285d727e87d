"""How a version takes decisions up: which decisions and links change, found by local reads.

Only rows about the entities that are decided about are read, however many links there are.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from everalign.cardinality import Cardinality
from everalign.state.decision_table import (
    DecisionChanges,
    DecisionTable,
    EntityOfSide,
    StoredDecision,
)
from everalign.state.decisions import (
    TRUSTED_KINDS,
    DecisionEventBuilder,
    GivenDecision,
    fold_decisions,
)
from everalign.state.intervals import build_link_set
from everalign.state.ledger import LedgerEvent, LinkSet, Pair
from everalign.state.link_table import LinkTable, list_entities

EntitySets = tuple[set[int], set[int]]


@dataclass(frozen=True)
class RemovalChanges:
    """Which entities have lost all facts, or have facts again.

    Attributes:
        removed: Entities that have no facts any more.
        restored: Entities that have facts again.
    """

    removed: Collection[EntityOfSide] = ()
    restored: Collection[EntityOfSide] = ()


@dataclass(frozen=True)
class DecisionPlan:
    """What decisions do to a version.

    Attributes:
        links: The links of the entities that are decided about, before the version.
        events: The link events that the decisions cause.
        changes: How the decisions in force change.
    """

    links: LinkSet
    events: Sequence[LedgerEvent]
    changes: DecisionChanges

    @property
    def has_effect(self) -> bool:
        """Whether any decision in force changes."""
        return bool(self.changes.begun or self.changes.ended)


class DecisionPlanner:
    """Plans the decisions of a version from the rows of the version before it.

    Args:
        links: The intervals of pairs.
        decisions: The decisions in force.
        version: The version that is being made.
        cardinality: Which links exclude each other.
    """

    def __init__(
        self,
        links: LinkTable,
        decisions: DecisionTable,
        version: int,
        cardinality: Cardinality = Cardinality.ONE_TO_ONE,
    ) -> None:
        self._cardinality = cardinality
        self._links = links
        self._decisions = decisions
        self._version = version

    def plan_given(
        self,
        given: Sequence[GivenDecision],
        removals: RemovalChanges | None = None,
        inbox_upto: int | None = None,
    ) -> DecisionPlan:
        """Plan a version that takes up decisions.

        Args:
            given: The decisions, oldest first.
            removals: Entities that have lost or regained their facts.
            inbox_upto: The number of the last decision in the inbox among them.

        Returns:
            The plan.
        """
        removals = removals or RemovalChanges()
        entities = self._extend(
            _add_removals(list_entities([row.pair for row in given]), removals)
        )
        before = self._decisions.read_of_entities(*entities, self._version - 1)
        known = {row.pair: row.kind for row in before}
        after = fold_decisions(known, given, self._cardinality)
        requests = {row.pair: row.request for row in given if row.request is not None}
        builder = DecisionEventBuilder(
            after,
            self._find_removed(removals),
            requests=requests,
            cardinality=self._cardinality,
        )
        return self._build_plan(entities, builder, before, requests, removals, inbox_upto)

    def plan_revert(self, target: int, removals: RemovalChanges) -> DecisionPlan:
        """Plan a version that has the decisions of an earlier one.

        Args:
            target: The version to revert to.
            removals: Entities that have lost or regained their facts.

        Returns:
            The plan.
        """
        last = self._version - 1
        pairs = self._decisions.list_changed_pairs(target, last)
        entities = self._extend(_add_removals(list_entities(pairs), removals), target)
        before = self._decisions.read_of_entities(*entities, last)
        rows = self._decisions.read_of_entities(*entities, target)
        after = {row.pair: row.kind for row in rows}
        builder = DecisionEventBuilder(
            after, self._find_removed(removals), target, cardinality=self._cardinality
        )
        requests = {row.pair: row.request for row in rows}
        return self._build_plan(entities, builder, before, requests, removals, None)

    def _extend(self, entities: EntitySets, target: int | None = None) -> EntitySets:
        """Add the partners of trusted links: where one comes into force, others make way."""
        lefts, rights = entities
        for version in {self._version - 1, self._version - 1 if target is None else target}:
            rows = self._decisions.read_of_entities(lefts, rights, version)
            partners = list_entities([row.pair for row in rows if row.kind in TRUSTED_KINDS])
            lefts, rights = lefts | partners[0], rights | partners[1]
        return lefts, rights

    def _find_removed(self, removals: RemovalChanges) -> EntitySets:
        """Find all entities that have no facts in the new version."""
        removed = self._decisions.read_removed(self._version - 1)
        removed = (removed | set(removals.removed)) - set(removals.restored)
        return (
            {entity for side, entity in removed if side == "left"},
            {entity for side, entity in removed if side == "right"},
        )

    def _build_plan(
        self,
        entities: EntitySets,
        builder: DecisionEventBuilder,
        before: Sequence[StoredDecision],
        requests: Mapping[Pair, int | None],
        removals: RemovalChanges,
        inbox_upto: int | None,
    ) -> DecisionPlan:
        known = {row.pair: row.kind for row in before}
        rows = self._links.read_of_entities(*entities, self._version - 1)
        links = build_link_set(rows, self._cardinality)
        after = builder.decisions
        changes = DecisionChanges(
            ended=[pair for pair, kind in known.items() if after.get(pair) is not kind],
            begun=[
                (pair, kind, requests.get(pair))
                for pair, kind in after.items()
                if known.get(pair) is not kind
            ],
            removed=removals.removed,
            restored=removals.restored,
            inbox_upto=inbox_upto,
        )
        return DecisionPlan(links, builder.build_events(links, self._version), changes)


def _add_removals(entities: EntitySets, removals: RemovalChanges) -> EntitySets:
    changed = [*removals.removed, *removals.restored]
    return (
        entities[0] | {entity for side, entity in changed if side == "left"},
        entities[1] | {entity for side, entity in changed if side == "right"},
    )
