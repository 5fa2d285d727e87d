"""Links by what no index has: relation, class, or the versions since when they are in force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice

import numpy as np

from everalign.graph import IntArray
from everalign.link_pages import LinkFilter, PagedLink, parse_cursor
from everalign.summary import RDF_TYPE
from everalign.version_reader import VersionReader

# Links that are looked at together, and for one page at most: a request ends if nothing fits.
BATCH_SIZE = 500
MAX_SCANNED = 10_000


@dataclass(frozen=True)
class LinkConditions:
    """What a link must fulfil besides a `LinkFilter`.

    Args:
        since: In force since this version or a later one; None for any.
        until: In force since this version or an earlier one; None for any.
        relation: A relation or attribute that one of its entities has; None for any.
        class_name: A class of one of its entities; None for any.
    """

    since: int | None = None
    until: int | None = None
    relation: str | None = None
    class_name: str | None = None

    @property
    def is_empty(self) -> bool:
        """Whether every link fulfils them."""
        return self == LinkConditions()


def scan_links(
    reader: VersionReader,
    wanted: LinkFilter,
    conditions: LinkConditions,
    after: str | None,
    limit: int,
) -> tuple[list[PagedLink], str | None]:
    """Read a page of links that fulfil conditions.

    Args:
        reader: The version.
        wanted: Which links to look at.
        conditions: What they must fulfil.
        after: The cursor of the page before; None for the first page.
        limit: The most links to list.

    Returns:
        The links, best first, and the cursor for the next page. There may be fewer links, even
        none, though there is a next page: only so many are looked at for one page.
    """
    rows = reader.pager.iterate(wanted, parse_cursor(after), BATCH_SIZE)
    found: list[PagedLink] = []
    scanned = 0
    while batch := list(islice(rows, BATCH_SIZE)):
        for row in _select(reader, conditions, batch):
            if len(found) == limit:
                return found, found[-1].cursor
            found.append(row)
        scanned += len(batch)
        if scanned >= MAX_SCANNED:
            return found, batch[-1].cursor
    return found, None


def _select(
    reader: VersionReader, conditions: LinkConditions, rows: list[PagedLink]
) -> list[PagedLink]:
    if conditions.since is not None:
        rows = [row for row in rows if row.since >= conditions.since]
    if conditions.until is not None:
        rows = [row for row in rows if row.since <= conditions.until]
    if conditions.relation is not None:
        sides = [_having_relation(reader, side, conditions.relation, rows) for side in range(2)]
        rows = [row for row in rows if row.left in sides[0] or row.right in sides[1]]
    if conditions.class_name is not None:
        sides = [_having_class(reader, side, conditions.class_name, rows) for side in range(2)]
        rows = [row for row in rows if row.left in sides[0] or row.right in sides[1]]
    return rows


def _having_relation(
    reader: VersionReader, side: int, name: str, rows: list[PagedLink]
) -> set[int]:
    """The entities of links that have a relation or an attribute."""
    vocabulary = reader.session.vocabulary("left" if side == 0 else "right")
    entities = _list_entities(rows, side)
    found: set[int] = set()
    relation, attribute = vocabulary.relations.find(name), vocabulary.attributes.find(name)
    if relation is not None:
        triples = reader.session.facts.list_facts(side, "triples", entities)
        chosen = triples[triples[:, 1] == relation]
        found.update(chosen[:, 0].tolist(), chosen[:, 2].tolist())
    if attribute is not None:
        literals = reader.session.facts.list_facts(side, "literals", entities)
        found.update(literals[literals[:, 1] == attribute, 0].tolist())
    return found


def _having_class(reader: VersionReader, side: int, name: str, rows: list[PagedLink]) -> set[int]:
    vocabulary = reader.session.vocabulary("left" if side == 0 else "right")
    relation, number = vocabulary.relations.find(RDF_TYPE), vocabulary.entities.find(name)
    if relation is None or number is None:
        return set()
    triples: IntArray = reader.session.facts.list_facts(
        side, "triples", _list_entities(rows, side)
    )
    is_instance = (triples[:, 1] == relation) & (triples[:, 2] == number)
    return set(np.unique(triples[is_instance, 0]).tolist())


def _list_entities(rows: list[PagedLink], side: int) -> list[int]:
    return sorted({(row.left, row.right)[side] for row in rows})
