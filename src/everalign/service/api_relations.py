"""Relations that mean the same, with examples, and the classes of both graphs."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Annotated

from fastapi import APIRouter, Query

from everalign.errors import InputError
from everalign.link_pages import LinkFilter, PagedLink
from everalign.methods import ExplainableMethod
from everalign.service.alignment import ServedAlignment
from everalign.service.common import (
    READ_ERRORS,
    Alignment,
    Fraction,
    IriParameter,
    describe_mark,
    describe_rows,
)
from everalign.service.models import (
    ClassCount,
    ClassesAnswer,
    RelationAnswer,
    RelationExample,
    RelationPair,
    RelationsAnswer,
    SideName,
)
from everalign.service.naming import Namer, shorten_iri
from everalign.service.tagged import TaggedRoute
from everalign.session import AlignmentSession
from everalign.summary import summarise_alignment
from everalign.types import RelationAlignment
from everalign.version_reader import VersionReader

router = APIRouter(tags=["relations"], responses=READ_ERRORS, route_class=TaggedRoute)
# Links that are looked at for examples, and how many at a time.
MAX_SCANNED = 5000
BATCH_SIZE = 500
MAX_CLASSES = 500


@router.get("/relations")
def list_relations(
    alignment: Alignment,
    min_inclusion: Fraction = 0.0,
    limit: Annotated[int, Query(ge=1, le=10_000)] = 500,
) -> RelationsAnswer:
    """List pairs of relations that mean the same, best first."""
    with alignment.reading() as reader:
        namer = Namer(alignment, reader)
        pairs = _read_relations(alignment, reader)
        chosen = [
            pair for pair in pairs if max(pair.left_in_right, pair.right_in_left) >= min_inclusion
        ]
        return RelationsAnswer(
            relations=[_describe_pair(namer, pair) for pair in chosen[:limit]],
            count=len(chosen),
            **describe_mark(reader),
        )


@router.get("/relation")
def describe_relation(
    alignment: Alignment,
    left: IriParameter,
    right: IriParameter,
    inverse: bool = False,
    limit: Annotated[int, Query(ge=1, le=50)] = 10,
) -> RelationAnswer:
    """Describe a pair of relations, with links whose entities have both."""
    with alignment.reading() as reader:
        pairs = _read_relations(alignment, reader)
        wanted = (left, right, inverse)
        pair = next((row for row in pairs if (row.left, row.right, row.inverse) == wanted), None)
        if pair is None:
            raise InputError(f"{left!r} and {right!r} are not aligned")
        namer = Namer(alignment, reader)
        examples = islice(_iterate_examples(namer, reader, pair), limit)
        return RelationAnswer(
            relation=_describe_pair(namer, pair), examples=list(examples), **describe_mark(reader)
        )


@router.get("/classes")
def list_classes(alignment: Alignment) -> ClassesAnswer:
    """List the largest classes of both graphs, without the decisions that are waiting."""
    with alignment.reading() as reader:
        version, mark = reader.version, describe_mark(reader)
    # In a session of its own: all facts are read, and others go on meanwhile.
    classes = alignment.remember("classes", version, lambda: count_classes(alignment))
    return ClassesAnswer(classes=classes, **mark)


def _read_relations(alignment: ServedAlignment, reader: VersionReader) -> list[RelationAlignment]:
    if not isinstance(reader.method, ExplainableMethod):
        return []
    return alignment.remember("relations", reader.version, reader.explainer.list_relations)


def _describe_pair(namer: Namer, pair: RelationAlignment) -> RelationPair:
    return RelationPair(
        left=namer.get_relation(pair.left),
        right=namer.get_relation(pair.right, inverse=pair.inverse),
        inverse=pair.inverse,
        left_in_right=pair.left_in_right,
        right_in_left=pair.right_in_left,
        support=pair.support,
        attribute=pair.is_attribute,
    )


def _iterate_examples(
    namer: Namer, reader: VersionReader, pair: RelationAlignment
) -> Iterator[RelationExample]:
    rows = islice(reader.pager.iterate(LinkFilter()), MAX_SCANNED)
    while batch := list(islice(rows, BATCH_SIZE)):
        left = _read_values(reader, 0, pair.left, [row.left for row in batch], pair)
        right = _read_values(reader, 1, pair.right, [row.right for row in batch], pair)
        for row in batch:
            if row.left in left and row.right in right:
                yield _describe_example(namer, reader, row, pair, left[row.left], right[row.right])


def _read_values(
    reader: VersionReader, side: int, name: str, entities: list[int], pair: RelationAlignment
) -> dict[int, list[int]]:
    """The ids of the values that entities have for a relation."""
    vocabulary = reader.session.vocabulary("left" if side == 0 else "right")
    index = vocabulary.attributes if pair.is_attribute else vocabulary.relations
    number = index.find(name)
    kind = "literals" if pair.is_attribute else "triples"
    rows = reader.session.facts.list_facts(side, kind, sorted(set(entities)))
    rows = rows[rows[:, 1] == (-1 if number is None else number)]
    # Only the right relation can be read from tail to head.
    ends = (2, 0) if side == 1 and pair.inverse else (0, 2)
    wanted, values = set(entities), dict[int, list[int]]()
    for row in rows.tolist():
        if row[ends[0]] in wanted:
            values.setdefault(row[ends[0]], []).append(row[ends[1]])
    return values


def _describe_example(
    namer: Namer,
    reader: VersionReader,
    row: PagedLink,
    pair: RelationAlignment,
    left: list[int],
    right: list[int],
) -> RelationExample:
    """Describe a link, with values that are the same if there are such."""
    names = (_name_values(reader, "left", left, pair), _name_values(reader, "right", right, pair))
    if pair.is_attribute:
        same = [(value, value) for value in names[0].values() if value in names[1].values()]
    else:
        links = reader.pager.read_of_entities(left, [])
        linked = [(link.left, link.right) for link in links if link.right in right]
        same = [(names[0][one], names[1][other]) for one, other in linked]
    shown = same[0] if same else (names[0][left[0]], names[1][right[0]])
    is_entity = not pair.is_attribute
    return RelationExample(
        link=describe_rows(namer, reader, [row])[0],
        left=namer.get_value("left", shown[0], is_entity=is_entity),
        right=namer.get_value("right", shown[1], is_entity=is_entity),
        same=bool(same),
    )


def _name_values(
    reader: VersionReader, side: SideName, values: list[int], pair: RelationAlignment
) -> dict[int, str]:
    return reader.names.read(side, "literal" if pair.is_attribute else "entity", values)


def count_classes(alignment: ServedAlignment) -> dict[str, list[ClassCount]]:
    """Count the instances of classes in the last version, without waiting decisions.

    Args:
        alignment: The alignment.

    Returns:
        The largest classes of the left and of the right graph.
    """
    with AlignmentSession.open(alignment.settings.state) as session:
        summary = summarise_alignment(session, MAX_CLASSES, with_waiting=False)
    return {
        side: [
            ClassCount(
                name=row.name,
                label=shorten_iri(row.name),
                entities=row.entities,
                linked=row.linked,
            )
            for row in counts.classes
        ]
        for side, counts in (("left", summary.left), ("right", summary.right))
    }
