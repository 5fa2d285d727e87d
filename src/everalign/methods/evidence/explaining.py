"""The reasons: which pairs of neighbours speak for a pair, and which relations correspond."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from everalign.methods.evidence.matches import Both
from everalign.methods.evidence.propagation import piece_weight
from everalign.methods.evidence.relations import Relations, align_relations, included
from everalign.methods.evidence.side import Floats, Side
from everalign.methods.evidence.world import Beliefs, World, matches_in
from everalign.methods.protocol import Consideration, Piece, RelationMatch


def considerations(
    world: World, beliefs: Beliefs, confidence: Floats, left: int | None, right: int | None
) -> list[Consideration]:
    """The candidates of a left or a right entity, best first, each with its pieces of evidence.

    An entity of a trusted link is shown with that link.
    """
    matches = matches_in(world, beliefs)
    relations = align_relations(world.left, world.right, matches, world.settings)
    pairs = [
        (int(beliefs.table.left[row]), int(beliefs.table.right[row]), float(confidence[row]))
        for row in _rows(beliefs, left, right)
    ]
    for one, two in world.anchors.tolist():
        if left == one or right == two:
            pairs.append((one, two, 1.0))
    found = [_consider(world, matches, relations, *pair) for pair in pairs]
    return sorted(found, key=lambda c: (-c.confidence, -c.support, c.left, c.right))


def _rows(beliefs: Beliefs, left: int | None, right: int | None) -> list[int]:
    table = beliefs.table
    if left is not None:
        return list(range(*table.left_start[left : left + 2].tolist()))
    assert right is not None, "one of the two is asked for"
    first, end = table.right_start[right : right + 2]
    rows: list[int] = table.by_right[first:end].tolist()
    return rows


def _consider(
    world: World, matches: Both, relations: Relations, left: int, right: int, confidence: float
) -> Consideration:
    pieces = sorted(
        _pieces(world, matches, relations, left, right), key=lambda piece: -piece.weight
    )
    support = sum(piece.weight for piece in pieces)
    return Consideration(left, right, confidence, support, tuple(pieces))


def _pieces(
    world: World, matches: Both, relations: Relations, left: int, right: int
) -> Iterator[Piece]:
    entities, relations_of = world.sizes, world.relations
    edges_of_right: dict[int, list[tuple[int, float]]] = {}
    for d2, y2, pinned2 in _edges(world.right, right):
        edges_of_right.setdefault(y2, []).append((d2, pinned2))
    for d, y, pinned in _edges(world.left, left):
        for m in range(*matches.left.start[y : y + 2].tolist()):
            y2, p = int(matches.left.other[m]), float(matches.left.probability[m])
            for d2, pinned2 in edges_of_right.get(y2, []):
                there, back = included(relations.left, d, d2)
                weight = piece_weight(p, there, back, pinned, pinned2)
                if y >= entities[0]:
                    one = (d >> 1) - relations_of[0], False, y - entities[0]
                    two = (d2 >> 1) - relations_of[1], False, y2 - entities[1]
                    yield Piece(*one, *two, p, weight, literal=True)
                else:
                    one, two = (d >> 1, bool(d & 1), y), (d2 >> 1, bool(d2 & 1), y2)
                    yield Piece(*one, *two, p, weight)


def _edges(side: Side, x: int) -> Iterator[tuple[int, int, float]]:
    edges = slice(*side.start[x : x + 2].tolist())
    return zip(
        side.relation[edges].tolist(),
        side.other[edges].tolist(),
        side.pinned[edges].tolist(),
        strict=True,
    )


def relation_matches(world: World, beliefs: Beliefs) -> list[RelationMatch]:
    """The pairs of relations that were seen together, the best supported correspondence first."""
    matches = matches_in(world, beliefs)
    inclusion = align_relations(world.left, world.right, matches, world.settings).left
    one = np.repeat(np.arange(len(inclusion.start) - 1), np.diff(inclusion.start))
    rows = zip(
        one.tolist(),
        inclusion.other.tolist(),
        inclusion.there.tolist(),
        inclusion.back.tolist(),
        inclusion.seen.tolist(),
        strict=True,
    )
    found = [_match(world, d, d2, *rest) for d, d2, *rest in rows if not d & 1]
    return sorted(
        found, key=lambda r: (-r.left_in_right * r.right_in_left, -r.support, r.left, r.right)
    )


def _match(world: World, d: int, d2: int, there: float, back: float, seen: float) -> RelationMatch:
    one, two = d >> 1, d2 >> 1
    relations = world.relations
    if one < relations[0]:
        return RelationMatch(one, two, bool(d2 & 1), there, back, seen)
    attributes = one - relations[0], two - relations[1]
    return RelationMatch(*attributes, False, there, back, seen, attributes=True)
