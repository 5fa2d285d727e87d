"""Sources of statements and links, encoded as rows of ids.

Whatever is wrong with a source is reported here, before anything is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import NamedTuple, TypeAlias, cast

import numpy as np

from everalign._parallel import get_slice_bytes
from everalign._progress import Progress, no_progress
from everalign.cardinality import Cardinality
from everalign.errors import InputError
from everalign.graph.names import NameIndex, Vocabulary
from everalign.graph.row_collector import EncodedRows, collect_rows, encode_rows
from everalign.graph.triples import IntArray
from everalign.io import (
    LinePart,
    LinkLine,
    LinkReader,
    Source,
    Statements,
    Table,
    Triple,
    TripleReader,
    is_readable_object,
    read_entity_list,
    read_rows,
)
from everalign.io.links import REFUSED, SEVERAL, SWAPPED, UNKNOWN
from everalign.io.objects import DataFrame, RdfGraph

TripleSource: TypeAlias = TripleReader | Iterable[Triple] | Source
LinkSource: TypeAlias = (
    str | Path | LinkReader | Iterable[tuple[str, str]] | Mapping[str, str] | DataFrame | RdfGraph
)
EntitySource: TypeAlias = str | Path | Iterable[str]
Pair: TypeAlias = tuple[int, int]
PairCheck: TypeAlias = Callable[[Pair], str | None]

NO_LINKS = np.empty((0, 2), dtype=np.int32)

# Enough names to see whether the two graphs use the same ones, without a pass over all.
SHARED_NAMES_SAMPLE = 1000
# Few, so that faults of a file are still reported nearly in its order.
LINKS_PER_BLOCK = 1000


class EncodedStatements(NamedTuple):
    """What one source adds to a graph and removes from it; no row is in both.

    Attributes:
        triples: Added rows (head, relation, tail).
        literals: Added rows (entity, attribute, literal).
        removed_triples: Removed rows (head, relation, tail).
        removed_literals: Removed rows (entity, attribute, literal).
        unknown_count: Number of removals that name something never seen.
        prefixes: The namespace of each prefix that a file declares.
    """

    triples: IntArray
    literals: IntArray
    removed_triples: IntArray
    removed_literals: IntArray
    unknown_count: int = 0
    prefixes: Mapping[str, str] = {}


def encode_statements(
    source: TripleSource | None,
    vocabulary: Vocabulary,
    progress: Progress = no_progress,
    *,
    removing: bool = False,
) -> EncodedStatements:
    """Encode all statements of a source; new names are added to the vocabulary.

    >>> source = [("a", "knows", "b"), ("a", "label", '"Ada"@en')]
    >>> encoded = encode_statements(source, Vocabulary())
    >>> encoded.triples.tolist(), encoded.literals.tolist()
    ([[0, 0, 1]], [[0, 0, 0]])

    Args:
        source: A file, a reader, or triples in memory; None stands for no statements.
        vocabulary: The names of the graph. It is extended by added names, not by removed ones.
        progress: Called with the number of triples read so far.
        removing: Whether the statements are removed rather than added. In an RDF patch each
            statement says so itself, and the last one about a triple counts.

    Returns:
        The added and the removed rows.

    Raises:
        InputError: A file cannot be read or parsed.
    """
    reader = None if source is None else _open_reader(source, progress)
    parts = _read_blocks(source if reader is None else reader, vocabulary, removing)
    triples, literals = collect_rows(parts, vocabulary, removing=removing)
    added_triples, removed_triples = triples.split_rows()
    added_literals, removed_literals = literals.split_rows()
    return EncodedStatements(
        added_triples,
        added_literals,
        removed_triples,
        removed_literals,
        triples.unknown_count + literals.unknown_count,
        {} if reader is None else reader.prefixes,
    )


def encode_triples(source: TripleSource | None, vocabulary: Vocabulary) -> IntArray:
    """Encode the relation triples of a source; literals are skipped.

    Args:
        source: A file, a reader, or triples in memory; None stands for no triples.
        vocabulary: The names of the graph, extended by new ones.

    Returns:
        Rows (head, relation, tail).

    Raises:
        InputError: A file cannot be read or parsed.
    """
    return encode_and_count_literals(source, vocabulary)[0]


def encode_and_count_literals(
    source: TripleSource | None, vocabulary: Vocabulary, progress: Progress = no_progress
) -> tuple[IntArray, int]:
    """Encode the relation triples of a source and count its literals.

    Args:
        source: A file, a reader, or triples in memory; None stands for no triples.
        vocabulary: The names of the graph, extended by new ones.
        progress: Called with the number of triples read so far.

    Returns:
        Rows (head, relation, tail), and the number of literals that were skipped.

    Raises:
        InputError: A file cannot be read or parsed.
    """
    indexes = vocabulary.entities, vocabulary.relations, vocabulary.entities
    reader = None if source is None else _open_reader(source, progress)
    if reader is None:
        rows = _read_memory(source or [])
        return encode_rows(rows.triples, indexes), len(rows.literals)
    # In this order: the count of literals is complete only when all rows have been read.
    return encode_rows(reader, indexes), reader.literals_read


def encode_links(
    source: LinkSource | None,
    left: Vocabulary,
    right: Vocabulary,
    taken: IntArray = NO_LINKS,
    known: IntArray = NO_LINKS,
    refuse: PairCheck = lambda _: None,
    cardinality: Cardinality = Cardinality.ONE_TO_ONE,
) -> IntArray:
    """Encode trusted links, which must satisfy the cardinality.

    Args:
        source: A file or pairs of names; None stands for no links.
        left: The names of the left graph.
        right: The names of the right graph.
        taken: Links that must not be given again or contradicted.
        known: Links that must not be contradicted; they may be repeated.
        refuse: Returns what is wrong with a pair, or None.
        cardinality: Which links contradict each other.

    Returns:
        Rows (left id, right id).

    Raises:
        SeedError: An entity is unknown, links contradict each other, or `refuse` has an objection.
        InputError: A file cannot be read or parsed.
    """
    linked = _LinkedEntities(cardinality, left, right)
    for row in np.concatenate([taken, known]).tolist():
        linked.add((row[0], row[1]))
    repeatable = set(map(tuple, known.tolist()))
    rows = []
    reader = _open_links(source)
    for pair, link in _read_known_pairs(reader, left, right, refuse):
        conflict = linked.describe_conflict(pair)
        # A link that is known may be given again: a command can be run twice.
        if conflict and pair not in repeatable:
            reader.report(SEVERAL, conflict, link)
            continue
        # Entered one by one, so that two lines of the same source can contradict each other as
        # well.
        linked.add(pair)
        rows.append(pair)
    reader.finish()
    return _pair_array(rows)


def encode_pairs(
    source: LinkSource | None,
    left: Vocabulary,
    right: Vocabulary,
    refuse: PairCheck = lambda _: None,
) -> IntArray:
    """Encode pairs of known entities; an entity may occur in any number of pairs.

    Args:
        source: A file or pairs of names; None stands for no pairs.
        left: The names of the left graph.
        right: The names of the right graph.
        refuse: Returns what is wrong with a pair, or None.

    Returns:
        Rows (left id, right id).

    Raises:
        SeedError: An entity is unknown, or `refuse` has an objection.
        InputError: A file cannot be read or parsed.
    """
    reader = _open_links(source)
    rows = [pair for pair, _ in _read_known_pairs(reader, left, right, refuse)]
    reader.finish()
    return _pair_array(rows)


def encode_entities(source: EntitySource | None, side: str, vocabulary: Vocabulary) -> list[int]:
    """Encode a list of known entities of one graph.

    Args:
        source: A file with one name per line, or names; None stands for no entities.
        side: The side of the graph, for messages.
        vocabulary: The names of the graph.

    Returns:
        The ids, in the order of the source.

    Raises:
        InputError: An entity is unknown, or a file cannot be read.
    """
    if source is None:
        return []
    path = source if isinstance(source, str | Path) else None
    lines = read_entity_list(source) if isinstance(source, str | Path) else enumerate(source, 1)
    entities = []
    for line, name in lines:
        entity = vocabulary.entities.find(name)
        if entity is None:
            raise InputError(_unknown_entity(name, side), path=path, line=line)
        entities.append(entity)
    return entities


def read_pairs(
    source: LinkSource, sides: tuple[NameIndex, NameIndex] | None = None
) -> list[tuple[str, str]]:
    """Read links without encoding them; their entities may be unknown.

    Args:
        source: A file, a reader, or pairs of names.
        sides: The names of the left and right entities, by which a header is recognised.

    Returns:
        Pairs of names.

    Raises:
        InputError: A file cannot be read or parsed.
    """
    reader = _open_links(source)
    links = list(reader)
    reader.finish()
    if (
        sides
        and links
        and reader.may_be_header(links[0])
        and _is_unknown(links[0], sides)
        and not all(_is_unknown(link, sides) for link in links)
    ):
        reader.skip_header(links.pop(0))
    return [(link.left, link.right) for link in links]


def check_readable(*sources: TripleSource | None) -> None:
    """Read the beginning of each file, so that a wrong path fails before any work begins.

    Args:
        sources: Files, readers, or triples in memory (which are not looked at).

    Raises:
        InputError: A file cannot be read or parsed.
    """
    for source in sources:
        reader = None if source is None else _open_reader(source)
        if reader is not None:
            # The first batch is enough to open the file and to recognise its format.
            next(reader.statements(), None)


def check_sides(
    sources: tuple[TripleSource | None, TripleSource | None],
    deltas: tuple[IntArray, IntArray],
    vocabularies: tuple[Vocabulary, Vocabulary],
    entity_counts: tuple[int, int],
) -> None:
    """Check that the left and right triples of an update were not swapped.

    They were, most likely, if no entity of a side's triples is known in its own graph and more
    than half of them are known in the other one. Where both graphs use the same names, nothing
    can be said.

    Args:
        sources: Where the triples of each side come from, for messages.
        deltas: The added triples of each side.
        vocabularies: The names of each side, those of the added triples included.
        entity_counts: The number of entities of each graph before the update.

    Raises:
        InputError: Left and right were swapped.
    """
    for here, (side, opposite) in enumerate([("left", "right"), ("right", "left")]):
        # No graph is known yet when an alignment begins: nothing can be swapped.
        if not entity_counts[1 - here]:
            continue
        entities = np.unique(deltas[here][:, [0, 2]])
        entity_count = entity_counts[here]
        # Ids are sorted and new entities have the highest: the lowest says if any is known.
        if len(entities) == 0 or entities[0] < entity_count:
            continue
        own_names, other_names = vocabularies[here].entities, vocabularies[1 - here].entities
        sample = own_names[: min(entity_count, SHARED_NAMES_SAMPLE)]
        if (other_names.find_ids(sample) >= 0).any():
            continue
        names = list(own_names.map_names(entities.tolist()).values())
        other_ids = other_names.find_ids(names)
        is_swapped = (other_ids >= 0) & (other_ids < entity_counts[1 - here])
        swapped = int(is_swapped.sum())
        # A majority and not all: a delta also brings entities that neither graph has.
        if 2 * swapped > len(entities):
            raise InputError(
                f"left and right look swapped: {swapped} entities of this {side} delta are "
                f"known in the {opposite} graph, none in the {side} graph",
                path=_source_path(sources[here]),
            )


def _read_blocks(
    source: TripleSource | None, vocabulary: Vocabulary, removing: bool
) -> Iterator[Statements | LinePart | EncodedRows]:
    if source is None:
        return iter(())
    if not isinstance(source, TripleReader):
        return iter([_read_memory(source)])
    if removing:
        return source.statements(removing=True)
    slice_bytes = get_slice_bytes()
    if slice_bytes and (slices := source.list_slices(slice_bytes)):
        # Imported here: it takes longer than to encode a small file.
        from everalign.graph.slice_encoding import encode_slices

        return encode_slices(source, slices, vocabulary)
    return source.read_parts()


def _open_reader(source: TripleSource, progress: Progress = no_progress) -> TripleReader | None:
    """Return the reader of a source, or None if its triples are in memory."""
    if isinstance(source, TripleReader):
        return source
    parts = source if isinstance(source, list | tuple) else [source]
    if not parts or not all(_is_read(part) for part in parts):
        return None
    files = cast("Source", source)
    reader = TripleReader(files, lambda read: progress(f"reading {reader.name}", read, 0))
    return reader


def _read_memory(source: TripleSource) -> Statements:
    if not isinstance(source, Iterable):
        raise InputError(f"{type(source).__name__} cannot be read as a graph")
    return read_rows(source)


def _is_read(source: object) -> bool:
    """Tell whether a reader is needed for a source."""
    return isinstance(source, str | Path | Table) or is_readable_object(source)


def _source_path(source: TripleSource | None) -> str | Path | None:
    if isinstance(source, TripleReader):
        return source.name
    return source if isinstance(source, str | Path) else None


def _open_links(source: LinkSource | None) -> LinkReader:
    if isinstance(source, LinkReader):
        return source
    return LinkReader(() if source is None else source)


def _read_known_pairs(
    reader: LinkReader, left: Vocabulary, right: Vocabulary, refuse: PairCheck
) -> Iterator[tuple[Pair, LinkLine]]:
    """Read the pairs that have no fault by themselves, and report the others."""
    header: LinkLine | None = None
    for number, (link, found) in enumerate(_look_up_links(reader, left, right)):
        is_unknown = number == 0 and _is_unknown(link, (left.entities, right.entities))
        # If neither graph knows the names but knows later ones, they are those of columns.
        if is_unknown and reader.may_be_header(link):
            header = link
            continue
        if min(found) < 0:
            _report_unknown(link, found, left, right, reader)
            continue
        if header is not None:
            reader.skip_header(header)
            header = None
        if problem := refuse(found):
            reader.report(REFUSED, f"{link.left!r} – {link.right!r} {problem}", link)
            continue
        yield found, link
    if header is not None:
        _report_unknown(header, (-1, -1), left, right, reader)


def _look_up_links(
    reader: LinkReader, left: Vocabulary, right: Vocabulary
) -> Iterator[tuple[LinkLine, Pair]]:
    """Read links with the ids of their entities; −1 for an entity that its graph does not have."""
    links = iter(reader)
    while block := list(islice(links, LINKS_PER_BLOCK)):
        left_ids = left.entities.find_ids([link.left for link in block]).tolist()
        right_ids = right.entities.find_ids([link.right for link in block]).tolist()
        yield from zip(block, zip(left_ids, right_ids, strict=True), strict=True)


def _is_unknown(link: LinkLine, sides: tuple[NameIndex, NameIndex]) -> bool:
    """Tell whether no graph has any of the two names."""
    return not any(name in side for name in (link.left, link.right) for side in sides)


def _report_unknown(
    link: LinkLine, found: Pair, left: Vocabulary, right: Vocabulary, reader: LinkReader
) -> None:
    # Before the other two messages: with swapped columns, both names are unknown on their side.
    if link.left in right.entities and link.right in left.entities:
        problem = f"left and right look swapped: {link.left!r} is in the right graph"
        reader.report(SWAPPED, problem, link)
    elif found[0] < 0:
        reader.report(UNKNOWN, _unknown_entity(link.left, "left"), link)
    else:
        reader.report(UNKNOWN, _unknown_entity(link.right, "right"), link)


def _unknown_entity(name: str, side: str) -> str:
    return f"{name!r} is not an entity of the {side} graph"


class _LinkedEntities:
    """Links that were given so far, and what contradicts them."""

    def __init__(self, cardinality: Cardinality, left: Vocabulary, right: Vocabulary) -> None:
        self._cardinality = cardinality
        self._names = left.entities, right.entities
        self._pairs: set[Pair] = set()
        self._right_of: dict[int, int] = {}
        self._left_of: dict[int, int] = {}

    def add(self, pair: Pair) -> None:
        self._pairs.add(pair)
        self._right_of[pair[0]], self._left_of[pair[1]] = pair[1], pair[0]

    def describe_conflict(self, pair: Pair) -> str | None:
        """Say which entity of a pair may not be linked again, if one may not."""
        other_right, other_left = self._right_of.get(pair[0]), self._left_of.get(pair[1])
        if other_right is None and other_left is None:
            return None
        left, right = self._names
        left_name, right_name = left[pair[0]], right[pair[1]]
        if pair in self._pairs:
            return f"{left_name!r} – {right_name!r} is also given as a seed"
        if other_right is not None and self._cardinality.unique_left:
            other_name = right[other_right]
            return f"{left_name!r} is linked to both {other_name!r} and {right_name!r}"
        if other_left is not None and self._cardinality.unique_right:
            other_name = left[other_left]
            return f"{right_name!r} is linked to both {other_name!r} and {left_name!r}"
        return None


def _pair_array(pairs: list[Pair]) -> IntArray:
    return np.array(pairs, dtype=np.int32).reshape(-1, 2)
