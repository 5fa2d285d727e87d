"""Slices of a source, each encoded with names of its own by whoever the engine lets do it.

As with blocks of lines (`block_encoding`), names are merged in the order of the source: ids do not
depend on where a source was cut.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from everalign._parallel import map_chunks
from everalign.errors import InputError
from everalign.graph.block_encoding import renumber_rows
from everalign.graph.names import Vocabulary
from everalign.graph.packed_names import PackedNames, pack_names
from everalign.graph.row_collector import EncodedRows, collect_rows
from everalign.graph.triples import NO_TRIPLES, IntArray
from everalign.io import LinePart, Statements, TripleReader
from everalign.io.filters import ReadCounts
from everalign.io.source_slices import SourceSlice


class EncodedSlice(NamedTuple):
    """The statements of a slice, as ids of the names of this slice.

    Attributes:
        names: Entities, relations, attributes and literals in the order of their first occurrence.
        triples: Rows (head, relation, tail).
        literals: Rows (entity, attribute, literal).
        result: What was counted, or why the slice could not be read.
    """

    names: tuple[PackedNames, ...]
    triples: IntArray
    literals: IntArray
    result: ReadCounts | str


def encode_slice(reader: TripleReader, part: SourceSlice) -> EncodedSlice:
    """Encode a slice.

    Args:
        reader: How it is read.
        part: The slice.

    Returns:
        Its statements, or the reason why they cannot be read.
    """
    vocabulary = Vocabulary()
    try:
        parts, counts = reader.read_slice(part)
        triples, literals = collect_rows(parts, vocabulary)
        indexes = vocabulary.list_indexes()
        names = tuple(pack_names(index.list_names_after(0)) for index in indexes)
    except (InputError, UnicodeEncodeError) as error:
        problem = error.problem if isinstance(error, InputError) else "a name is not Unicode"
        reason = f"{problem} (on {os.uname().nodename})"
        return EncodedSlice((), NO_TRIPLES, NO_TRIPLES, reason)
    return EncodedSlice(names, triples.split_rows()[0], literals.split_rows()[0], counts)


def encode_slices(
    reader: TripleReader, slices: Sequence[SourceSlice], vocabulary: Vocabulary
) -> Iterator[Statements | LinePart | EncodedRows]:
    """Let the engine encode all slices of a source; new names are added to the vocabulary.

    Args:
        reader: The reader of the source. It counts as if it had read everything.
        slices: Its slices.
        vocabulary: The names of the graph.

    Yields:
        The rows of each slice in order; in place of slices that could not be read, what their
        file has when it is read here.

    Raises:
        InputError: A file cannot be read here either.
    """
    copy, asked = reader.copy_for_slices(), list(slices)

    def encode(first: int, end: int) -> list[EncodedSlice]:
        return [encode_slice(copy, part) for part in asked[first:end]]

    costs = [part.cost for part in asked]
    encoded = [found for chunk in map_chunks(encode, len(asked), 1, costs) for found in chunk]
    for found in reader.join_slices(asked, [part.result for part in encoded]):
        if isinstance(found, int):
            yield merge_slice(vocabulary, encoded[found])
        else:
            yield found


def merge_slice(vocabulary: Vocabulary, part: EncodedSlice) -> EncodedRows:
    """Add the names of a slice to those of a graph, and number its statements by them.

    Args:
        vocabulary: The names of the graph, which are extended.
        part: The slice.

    Returns:
        Its rows.
    """
    indexes = vocabulary.list_indexes()
    entities, relations, attributes, literals = (
        index.get_or_add_packed(names) for index, names in zip(indexes, part.names, strict=True)
    )
    return EncodedRows(
        renumber_rows(part.triples, (entities, relations, entities)),
        renumber_rows(part.literals, (entities, attributes, literals)),
    )
