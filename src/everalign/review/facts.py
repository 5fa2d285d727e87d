"""The facts of two entities side by side, by relations that correspond."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from rapidfuzz.fuzz import ratio

from everalign.graph import IntArray
from everalign.graph.id_sets import mark_members
from everalign.methods import RelationMatch
from everalign.review.order import LinkedEntities
from everalign.search import fold_text
from everalign.types import FactComparison, FactValue

# Facts of an entity that are looked at; a hub has thousands, and nobody reads them.
MAX_FACTS = 200
# Values of a relation that are shown.
MAX_VALUES = 5
# Relations correspond if one contains the other at least by this.
MIN_INCLUSION = 0.1
# Of 100, from which on texts count as similar: two letters of a name of ten may differ.
MIN_SIMILARITY = 80
# The order in which comparisons are shown: what both have first.
_KINDS = ("same", "similar", "different", "only entity", "only candidate")


class Direction(NamedTuple):
    """A relation in one direction, or an attribute, of one graph."""

    relation: int
    inverse: bool
    is_literal: bool


class RelationPairs:
    """Which relations and attributes of both graphs correspond.

    Args:
        matches: The alignment of relations, best first.
    """

    def __init__(self, matches: Iterable[RelationMatch]) -> None:
        # By the direction of the left graph, then by that of the right one.
        self._inclusion: dict[tuple[Direction, Direction], float] = {}
        for match in matches:
            inclusion = max(match.left_in_right, match.right_in_left)
            if inclusion < MIN_INCLUSION:
                continue
            for inverse in (False,) if match.attributes else (False, True):
                left = Direction(match.left, inverse, match.attributes)
                right = Direction(match.right, inverse ^ match.inverse, match.attributes)
                known = self._inclusion.get((left, right), 0.0)
                self._inclusion[left, right] = max(known, inclusion)

    def pair_up(
        self, left: Iterable[Direction], right: Iterable[Direction]
    ) -> list[tuple[Direction, Direction]]:
        """Pair relations of two entities up, each once, the best first.

        Args:
            left: Relations of the left entity.
            right: Relations of the right entity.

        Returns:
            Pairs of relations that correspond.
        """
        right = list(right)
        found = [
            (-inclusion, x, y)
            for x in left
            for y in right
            if (inclusion := self._inclusion.get((x, y))) is not None
        ]
        pairs: dict[Direction, Direction] = {}
        taken: set[Direction] = set()
        for _, x, y in sorted(found):
            if x not in pairs and y not in taken:
                pairs[x] = y
                taken.add(y)
        return list(pairs.items())


class EntityFacts(NamedTuple):
    """Some facts of an entity: ids of values by relation, and how many there are in all."""

    values: Mapping[Direction, Sequence[int]]
    counts: Mapping[Direction, int]


def group_facts(
    entity: int, triples: IntArray, literals: IntArray, preferred: IntArray
) -> EntityFacts:
    """Group the facts of an entity by relation.

    Args:
        entity: The entity.
        triples: Rows of (head, relation, tail) with it.
        literals: Rows of (entity, attribute, literal).
        preferred: Neighbours that are wanted in any case, ascending.

    Returns:
        Its facts, MAX_FACTS at most.
    """
    inverse = triples[:, 0] != entity
    neighbour = np.where(inverse, triples[:, 0], triples[:, 2])
    counts: defaultdict[Direction, int] = defaultdict(int)
    directions, sizes = np.unique(triples[:, 1] * 2 + inverse, return_counts=True)
    for direction, size in zip(directions.tolist(), sizes.tolist(), strict=True):
        counts[Direction(direction >> 1, bool(direction & 1), False)] = size
    order = np.argsort(~mark_members(preferred, neighbour), kind="stable")[:MAX_FACTS]
    values: defaultdict[Direction, list[int]] = defaultdict(list)
    for relation, is_inverse, other in zip(
        triples[order, 1].tolist(), inverse[order].tolist(), neighbour[order].tolist(), strict=True
    ):
        values[Direction(relation, is_inverse, False)].append(other)
    for _, attribute, literal in literals.tolist():
        direction = Direction(attribute, False, True)
        counts[direction] += 1
        if counts[direction] <= MAX_FACTS:
            values[direction].append(literal)
    return EntityFacts(values, counts)


@dataclass
class WantedValues:
    """Ids of names and labels that a comparison shows, by side.

    Attributes:
        entities: Neighbours.
        relations: Relations.
        attributes: Attributes.
        literals: Literals.
    """

    entities: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    relations: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    attributes: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))
    literals: tuple[set[int], set[int]] = field(default_factory=lambda: (set(), set()))

    def add(self, side: int, facts: EntityFacts) -> None:
        """Add all that some facts need.

        Args:
            side: 0 for the left graph, 1 for the right.
            facts: The facts.
        """
        for direction, ids in facts.values.items():
            if direction.is_literal:
                self.attributes[side].add(direction.relation)
                self.literals[side].update(ids)
            else:
                self.relations[side].add(direction.relation)
                self.entities[side].update(ids)


@dataclass(frozen=True)
class ValueNames:
    """Names and labels, by side and id.

    Attributes:
        entities: Name and label of neighbours.
        relations: Names of relations.
        attributes: Names of attributes.
        literals: Literals as N-Triples writes them.
    """

    entities: tuple[Mapping[int, tuple[str, str]], Mapping[int, tuple[str, str]]]
    relations: tuple[Mapping[int, str], Mapping[int, str]]
    attributes: tuple[Mapping[int, str], Mapping[int, str]]
    literals: tuple[Mapping[int, str], Mapping[int, str]]

    def name_relation(self, side: int, direction: Direction | None) -> tuple[str, bool]:
        """Name a relation.

        Args:
            side: 0 for the left graph, 1 for the right.
            direction: The relation; None for none.

        Returns:
            Its name, and whether it is read backwards.
        """
        if direction is None:
            return "", False
        names = self.attributes if direction.is_literal else self.relations
        return names[side][direction.relation], direction.inverse


class _ValueText(NamedTuple):
    """A value on its way into a comparison; `match_key` is equal for the same values."""

    text: str
    name: str
    language: str
    is_literal: bool
    match_key: str | tuple[int, int]


@dataclass(frozen=True)
class FactComparer:
    """Compares the facts of an entity with those of its candidates.

    Attributes:
        relations: Which relations correspond.
        links: The links in force: counterparts of neighbours count as the same.
        names: The names of all values.
    """

    relations: RelationPairs
    links: LinkedEntities
    names: ValueNames

    def compare(
        self, side: int, facts: EntityFacts, other_facts: EntityFacts
    ) -> list[FactComparison]:
        """Compare the facts of two entities.

        Args:
            side: 0 if the first one is an entity of the left graph, 1 for the right.
            facts: Its facts.
            other_facts: Those of the other one.

        Returns:
            Comparisons, those of relations that both have first.
        """
        left, right = (facts, other_facts) if side == 0 else (other_facts, facts)
        pairs = self.relations.pair_up(sorted(left.values), sorted(right.values))
        if side == 1:
            pairs = [(y, x) for x, y in pairs]
        pairs += self._pair_by_name(side, facts, other_facts, pairs)
        paired = {x for x, _ in pairs}, {y for _, y in pairs}
        rows: list[tuple[Direction | None, Direction | None]] = list(pairs)
        rows += [(x, None) for x in sorted(facts.values) if x not in paired[0]]
        rows += [(None, y) for y in sorted(other_facts.values) if y not in paired[1]]
        compared = [self._compare_values(side, x, y, facts, other_facts) for x, y in rows]
        # Literals before neighbours: names tell more at a glance.
        return sorted(compared, key=_rank_comparison)

    def _pair_by_name(
        self,
        side: int,
        facts: EntityFacts,
        other_facts: EntityFacts,
        known: Sequence[tuple[Direction, Direction]],
    ) -> list[tuple[Direction, Direction]]:
        """Pair relations up that both graphs call the same, unless they correspond to others."""
        taken = {x for x, _ in known}, {y for _, y in known}
        named = {
            (*self.names.name_relation(1 - side, direction), direction.is_literal): direction
            for direction in sorted(other_facts.values)
            if direction not in taken[1]
        }
        own = [direction for direction in sorted(facts.values) if direction not in taken[0]]
        names = [(*self.names.name_relation(side, row), row.is_literal) for row in own]
        return [
            (direction, named[name])
            for direction, name in zip(own, names, strict=True)
            if name in named
        ]

    def _compare_values(
        self,
        side: int,
        direction: Direction | None,
        other_direction: Direction | None,
        facts: EntityFacts,
        other_facts: EntityFacts,
    ) -> FactComparison:
        values = self._read_values(side, direction, facts)
        others = self._read_values(1 - side, other_direction, other_facts)
        shared = {value.match_key for value in values} & {value.match_key for value in others}
        relation, inverse = self.names.name_relation(side, direction)
        other_relation, other_inverse = self.names.name_relation(1 - side, other_direction)
        return FactComparison(
            relation,
            inverse,
            other_relation,
            other_inverse,
            _show_values(values, shared),
            _show_values(others, shared),
            0 if direction is None else facts.counts[direction],
            0 if other_direction is None else other_facts.counts[other_direction],
            _describe_kind(values, others, shared),
        )

    def _read_values(
        self, side: int, direction: Direction | None, facts: EntityFacts
    ) -> list[_ValueText]:
        if direction is None:
            return []
        read = self._read_literal if direction.is_literal else self._read_neighbour
        return [read(side, value) for value in facts.values[direction]]

    def _read_literal(self, side: int, literal: int) -> _ValueText:
        name = self.names.literals[side][literal]
        # Here, since it loads a compiler, which most commands do not need.
        from everalign.literals.parsing import ValueKind, parse_term, parse_value

        term, value = parse_term(name), parse_value(name)
        # Numbers and dates are the same however they are written.
        key = fold_text(term.text) if value.kind is ValueKind.TEXT else value.key
        return _ValueText(term.text, name, term.language, True, key)

    def _read_neighbour(self, side: int, entity: int) -> _ValueText:
        name, label = self.names.entities[side][entity]
        # Linked neighbours have the key of the left one; others one that nothing else has.
        linked = int(self.links[side][entity])
        key = (side, entity) if side == 0 or linked < 0 else (0, linked)
        return _ValueText(label, name, "", False, key)


def _show_values(
    values: Sequence[_ValueText], shared: set[str | tuple[int, int]]
) -> tuple[FactValue, ...]:
    shown = sorted(values, key=lambda value: value.match_key not in shared)[:MAX_VALUES]
    return tuple(
        FactValue(row.text, row.name, row.match_key in shared, row.language, row.is_literal)
        for row in shown
    )


def _describe_kind(
    values: Sequence[_ValueText],
    others: Sequence[_ValueText],
    shared: set[str | tuple[int, int]],
) -> str:
    if not others:
        return "only entity"
    if not values:
        return "only candidate"
    if shared:
        return "same"
    texts, other_texts = (
        [str(row.match_key) for row in rows[:MAX_VALUES] if row.is_literal]
        for rows in (values, others)
    )
    similar = any(ratio(x, y) >= MIN_SIMILARITY for x in texts for y in other_texts)
    return "similar" if similar else "different"


def _rank_comparison(row: FactComparison) -> tuple[bool, bool, int, str, str]:
    one_sided = row.kind.startswith("only")
    shown = row.values or row.other_values
    return (
        one_sided,
        not shown[0].is_literal,
        _KINDS.index(row.kind),
        row.relation,
        row.other_relation,
    )
