"""Trusted links as ids, and what is told before any work begins: wrong files, wrong sides."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np

from everalign.errors import InputError, SeedError
from everalign.graph.graph import Graph
from everalign.graph.names import Vocabulary
from everalign.graph.taking import TripleSource, opened
from everalign.graph.values import IntArray
from everalign.rdf import LinkLine, TripleReader, read_link_file, read_names

LinkSource: TypeAlias = str | Path | Iterable[tuple[str, str]]
NameSource: TypeAlias = str | Path | Iterable[str]
Pair: TypeAlias = tuple[int, int]
Refusal: TypeAlias = Callable[[Pair], str | None]
NO_LINKS = np.empty((0, 2), dtype=np.int32)


def _no_objection(_: Pair) -> None:
    """Nothing speaks against any pair."""


def take_links(
    source: LinkSource | None,
    left: Vocabulary,
    right: Vocabulary,
    taken: IntArray = NO_LINKS,
    known: IntArray = NO_LINKS,
    refuse: Refusal = _no_objection,
) -> IntArray:
    """Trusted links as rows of ids; each must name known entities that no other link names.

    Links that are `taken` or `known` count as well; the known ones may be given again. `refuse`
    tells what else speaks against a link.
    """
    held = np.concatenate([taken, known]).tolist()
    partner_of_left, partner_of_right = dict(held), {right: left for left, right in held}
    may_come_again = set(map(tuple, known.tolist()))
    rows = []
    for pair, place in _known_pairs(source, left, right, refuse):
        clash = _clash(pair, partner_of_left, partner_of_right, left, right)
        if clash and pair not in may_come_again:
            raise SeedError(clash, path=place.path, line=place.line)
        partner_of_left[pair[0]], partner_of_right[pair[1]] = pair[1], pair[0]
        rows.append(pair)
    return _array(rows)


def take_pairs(
    source: LinkSource | None,
    left: Vocabulary,
    right: Vocabulary,
    refuse: Refusal = _no_objection,
) -> IntArray:
    """Pairs of known entities, in any number for each; `refuse` tells what speaks against one."""
    return _array([pair for pair, _ in _known_pairs(source, left, right, refuse)])


def take_entities(source: NameSource | None, side: str, vocabulary: Vocabulary) -> list[int]:
    """Entities of one side, by name: a line of a file for each, or from memory."""
    if source is None:
        return []
    path = source if isinstance(source, str | Path) else None
    lines = read_names(source) if isinstance(source, str | Path) else enumerate(source, 1)
    found = []
    for line, name in lines:
        entity = vocabulary.entities.find(name)
        if entity is None:
            raise InputError(f"{name!r} is no entity of the {side} graph", path=path, line=line)
        found.append(entity)
    return found


def pairs_of(source: LinkSource) -> list[tuple[str, str]]:
    """Links from a file or from memory, as pairs of names."""
    return [(line.left, line.right) for line in _lines(source)[0]]


def refuse_unreadable(*sources: TripleSource | None) -> None:
    """Look at the beginning of files, so that a wrong name is told before any work begins."""
    for source in sources:
        reader = None if source is None else opened(source)
        if reader is not None:
            next(reader.statements(), None)


def refuse_swapped_sides(
    sources: tuple[TripleSource | None, TripleSource | None],
    deltas: tuple[IntArray, IntArray],
    vocabularies: tuple[Vocabulary, Vocabulary],
    graphs: tuple[Graph, Graph],
) -> None:
    """Left and right are swapped if a side's delta knows the other graph and not its own."""
    for here, (side, opposite) in enumerate([("left", "right"), ("right", "left")]):
        mine = np.unique(deltas[here][:, [0, 2]])
        if len(mine) == 0 or mine[0] < graphs[here].entities:
            continue
        names, others = vocabularies[here].entities, vocabularies[1 - here].entities
        if any(name in others for name in islice(names, min(graphs[here].entities, 1000))):
            continue  # the graphs share names, so a name does not tell its side
        found = (others.find(names[number]) for number in mine.tolist())
        strangers = sum(n is not None and n < graphs[1 - here].entities for n in found)
        if 2 * strangers > len(mine):
            raise InputError(
                f"left and right look swapped: {strangers} entities of this {side} delta are "
                f"known in the {opposite} graph, none in the {side} graph",
                path=_path(sources[here]),
            )


def _path(source: TripleSource | None) -> str | Path | None:
    """Where a source comes from, if that is a file."""
    if isinstance(source, TripleReader):
        return source.name
    return source if isinstance(source, str | Path) else None


def _lines(source: LinkSource) -> tuple[Iterable[LinkLine], str | Path | None]:
    if isinstance(source, str | Path):
        return read_link_file(source), source
    pairs = dict.fromkeys((left, right) for left, right in source)
    return [LinkLine(left, right, n) for n, (left, right) in enumerate(pairs, 1)], None


class _Place(NamedTuple):
    """Where a link was read."""

    path: str | Path | None
    line: int


def _known_pairs(
    source: LinkSource | None, left: Vocabulary, right: Vocabulary, refuse: Refusal
) -> Iterator[tuple[Pair, _Place]]:
    if source is None:
        return
    lines, path = _lines(source)
    for line in lines:
        pair, place = _known_pair(line, left, right, path), _Place(path, line.line)
        if problem := refuse(pair):
            names = f"{left.entities[pair[0]]!r} – {right.entities[pair[1]]!r}"
            raise SeedError(f"{names} {problem}", path=place.path, line=place.line)
        yield pair, place


def _array(pairs: list[Pair]) -> IntArray:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)


def _known_pair(
    line: LinkLine, left: Vocabulary, right: Vocabulary, path: str | Path | None
) -> Pair:
    left_id, right_id = left.entities.find(line.left), right.entities.find(line.right)
    if left_id is not None and right_id is not None:
        return left_id, right_id
    if line.left in right.entities and line.right in left.entities:
        problem = f"left and right look swapped: {line.left!r} is in the right graph"
    else:
        side, name = ("left", line.left) if left_id is None else ("right", line.right)
        problem = f"{name!r} is no entity of the {side} graph"
    raise SeedError(problem, path=path, line=line.line)


def _clash(
    pair: Pair,
    partner_of_left: dict[int, int],
    partner_of_right: dict[int, int],
    left: Vocabulary,
    right: Vocabulary,
) -> str | None:
    """Says which entity would be linked to two others, or to the same one twice."""
    rival_right = partner_of_left.get(pair[0])
    rival_left = partner_of_right.get(pair[1])
    names = left.entities, right.entities
    if rival_right == pair[1]:
        return f"{names[0][pair[0]]!r} – {names[1][pair[1]]!r} is also given as a seed"
    if rival_right is not None:
        return (
            f"{names[0][pair[0]]!r} is linked to both {names[1][rival_right]!r} "
            f"and {names[1][pair[1]]!r}"
        )
    if rival_left is not None:
        return (
            f"{names[1][pair[1]]!r} is linked to both {names[0][rival_left]!r} "
            f"and {names[0][pair[0]]!r}"
        )
    return None
