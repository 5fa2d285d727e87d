"""What comes in from outside, as ids: triples of either side, and trusted links."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice
from pathlib import Path
from typing import TypeAlias

import numpy as np

from everalign.errors import InputError, SeedError
from everalign.graph.graph import Graph, IntArray, intern
from everalign.graph.names import Vocabulary
from everalign.progress import Progress, silent
from everalign.rdf import LinkLine, Triple, TripleReader, read_links

TripleSource: TypeAlias = str | Path | Iterable[Triple]
LinkSource: TypeAlias = str | Path | Iterable[tuple[str, str]]
NO_LINKS = np.empty((0, 2), dtype=np.int32)


def take_triples(source: TripleSource | None, vocabulary: Vocabulary) -> IntArray:
    """Triples from a file or from memory, as ids; new names are added to the vocabulary."""
    return count_and_take(source, vocabulary)[0]


def count_and_take(
    source: TripleSource | None, vocabulary: Vocabulary, progress: Progress = silent
) -> tuple[IntArray, int]:
    """The same, and how many triples with a literal were left out."""
    if not isinstance(source, str | Path):
        return intern(source or [], vocabulary.entities, vocabulary.relations), 0
    reader = TripleReader(source, lambda triples: progress(f"reading {source}", triples, 0))
    rows = intern(reader, vocabulary.entities, vocabulary.relations)
    return rows, reader.literals_skipped


def take_links(
    source: LinkSource | None, left: Vocabulary, right: Vocabulary, taken: IntArray = NO_LINKS
) -> IntArray:
    """Trusted links as rows of ids; each must name known entities that no other link names.

    `taken` are links that were read before and count as well.
    """
    if source is None:
        return NO_LINKS
    lines, path = _lines(source)
    partner_of_left = dict(taken.tolist())
    partner_of_right = {right: left for left, right in taken.tolist()}
    rows = []
    for line in lines:
        pair = _known_pair(line, left, right, path)
        clash = _clash(pair, partner_of_left, partner_of_right, left, right)
        if clash:
            raise SeedError(clash, path=path, line=line.line)
        partner_of_left[pair[0]], partner_of_right[pair[1]] = pair[1], pair[0]
        rows.append(pair)
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def pairs_of(source: LinkSource) -> list[tuple[str, str]]:
    """Links from a file or from memory, as pairs of names."""
    return [(line.left, line.right) for line in _lines(source)[0]]


def refuse_unreadable(*sources: TripleSource | None) -> None:
    """Look at the beginning of files, so that a wrong name is told before any work begins."""
    for source in sources:
        if isinstance(source, str | Path):
            next(iter(TripleReader(source)), None)


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
            source = sources[here]
            raise InputError(
                f"left and right look swapped: {strangers} entities of this {side} delta are "
                f"known in the {opposite} graph, none in the {side} graph",
                path=source if isinstance(source, str | Path) else None,
            )


def _lines(source: LinkSource) -> tuple[Iterable[LinkLine], str | Path | None]:
    if isinstance(source, str | Path):
        return read_links(source), source
    pairs = dict.fromkeys((left, right) for left, right in source)
    return [LinkLine(left, right, n) for n, (left, right) in enumerate(pairs, 1)], None


def _known_pair(
    line: LinkLine, left: Vocabulary, right: Vocabulary, path: str | Path | None
) -> tuple[int, int]:
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
    pair: tuple[int, int],
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
