"""Tables of facts: an entity beside its candidates, aligned by relation."""

from __future__ import annotations

from collections.abc import Sequence

from everalign.service.models import (
    ComparedRelation,
    Comparison,
    ComparisonRow,
    Entity,
    SideName,
    Value,
)
from everalign.service.naming import Namer, find_direction, find_url
from everalign.types import FactComparison, FactValue

# What fits on a screen; an entity may have thousands of values of one relation.
MAX_VALUES = 12
MAX_ROWS = 40
# A row of relations: that of the entity (column 0), and those of the others beside it.
RelationKey = tuple[str, bool]


def build_comparison(
    namer: Namer,
    entity: Entity,
    others: Sequence[Entity],
    facts: Sequence[Sequence[FactComparison]],
) -> Comparison:
    """Put the facts of an entity and of others into one table.

    Args:
        namer: Gives relations their labels.
        entity: The entity, column 0.
        others: The other entities, a column each.
        facts: For each of the others, how its facts compare with those of the entity.

    Returns:
        The table. Rows come in the order of the first of the others that has them.
    """
    rows: dict[tuple[RelationKey, RelationKey], _Row] = {}
    for column, comparisons in enumerate(facts, 1):
        for fact in comparisons:
            own = fact.relation, fact.inverse
            # Facts of the others alone have a row for each of their relations.
            key = own, ("", False) if fact.relation else (fact.other_relation, fact.other_inverse)
            row = rows.setdefault(key, _Row(len(others) + 1))
            row.add(column, fact)
    return Comparison(
        columns=[entity, *others],
        rows=[row.describe(namer, entity.side) for row in list(rows.values())[:MAX_ROWS]],
    )


class _Row:
    """One row of a table while it is filled."""

    def __init__(self, width: int) -> None:
        self._cells: list[dict[str, FactValue]] = [{} for _ in range(width)]
        self._agreement: list[str | None] = [None] * width
        self._own: dict[RelationKey, None] = {}
        self._others: dict[RelationKey, None] = {}

    def add(self, column: int, fact: FactComparison) -> None:
        if fact.relation:
            self._own[fact.relation, fact.inverse] = None
        if fact.other_relation:
            self._others[fact.other_relation, fact.other_inverse] = None
        for value in fact.values:
            known = self._cells[0].get(value.name)
            # A value is marked if it has a match in one of the columns.
            if known is None or value.matched:
                self._cells[0][value.name] = value
        self._cells[column].update({value.name: value for value in fact.other_values})
        if self._agreement[column] in (None, "only entity"):
            self._agreement[column] = fact.kind

    def describe(self, namer: Namer, side: SideName) -> ComparisonRow:
        other_side: SideName = "right" if side == "left" else "left"
        relations = [_describe_relation(namer, side, *key) for key in self._own]
        relations += [_describe_relation(namer, other_side, *key) for key in self._others]
        cells = [
            [describe_value(value) for value in list(cell.values())[:MAX_VALUES]]
            for cell in self._cells
        ]
        return ComparisonRow(relations=relations, cells=cells, agreement=self._agreement)


def describe_value(value: FactValue) -> Value:
    """Describe a value of a table of facts.

    Args:
        value: A literal or an entity.

    Returns:
        The value with its direction and address.
    """
    is_entity = not value.is_literal
    return Value(
        text=value.text,
        lang=value.language or None,
        dir=find_direction(value.text),
        url=find_url(value.name if is_entity else value.text),
        name=value.name,
        is_entity=is_entity,
        matched=value.matched,
    )


def _describe_relation(namer: Namer, side: SideName, name: str, inverse: bool) -> ComparedRelation:
    relation = namer.get_relation(name, inverse=inverse)
    return ComparedRelation(side=side, **relation.model_dump())
