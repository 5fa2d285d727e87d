"""Blocks of N-Triples, each encoded with names of its own, and merged in the order of the file.

`encode_block` depends on its arguments alone and returns arrays, so blocks can be encoded in
threads, in other processes or on a cluster. `merge_block` is called for one block after the other:
the ids are the same whoever has encoded the blocks, and wherever they begin and end.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future
from itertools import islice
from typing import NamedTuple

import numpy as np

from everalign._parallel import ContextThreadPool, thread_count
from everalign.errors import InputError
from everalign.graph.line_kernels import (
    CLASSES,
    DEFERRED,
    LITERAL_LINE,
    STRING_TYPE,
    TRIPLE_LINE,
    Spans,
    intern_rows,
    scan_lines,
)
from everalign.graph.name_kernels import Hashes, gather_names
from everalign.graph.name_table import HASH_KEY
from everalign.graph.names import Vocabulary
from everalign.graph.packed_names import Bytes, PackedNames
from everalign.graph.triples import IntArray
from everalign.io.line_blocks import LineBlock, LineProblem, parse_lines
from everalign.io.terms import Triple

# Terms may look this far behind the end of a line.
_FREE_BYTES = 64
# Blocks that wait to be merged for each thread, so that no thread has to wait.
_BLOCKS_PER_THREAD = 2


class EncodedBlock(NamedTuple):
    """The statements of one block, as ids of the names of this block.

    Attributes:
        names: The names of the block in the order of their first occurrence: entities, relations,
            attributes, literals.
        hashes: The hash of each of these names.
        triples: Rows (head, relation, tail).
        literals: Rows (entity, attribute, literal).
        problems: Lines that cannot be read, in their order.
    """

    names: tuple[PackedNames, PackedNames, PackedNames, PackedNames]
    hashes: tuple[Hashes, Hashes, Hashes, Hashes]
    triples: IntArray
    literals: IntArray
    problems: list[LineProblem]


class _ScannedLines(NamedTuple):
    """The rows of a block as spans of a text."""

    text: Bytes
    kinds: Bytes
    spans: Spans
    problems: list[LineProblem]


def encode_block(block: LineBlock, hash_key: np.uint64 = HASH_KEY) -> EncodedBlock:
    """Encode some lines of N-Triples.

    Args:
        block: The lines.
        hash_key: The key of the hashes. To be merged, all blocks must have the key of the process
            that merges them.

    Returns:
        The statements of all lines that can be read.

    Example:
        >>> lines = b'<urn:Ada> <urn:knows> _:b0 .\\n<urn:Ada> <urn:name> "Ada"@en .\\n'
        >>> encoded = encode_block(LineBlock(lines))
        >>> [list(names) for names in encoded.names]
        [['urn:Ada', '_:b0'], ['urn:knows'], ['urn:name'], ['"Ada"@en']]
        >>> encoded.triples.tolist(), encoded.literals.tolist()
        ([[0, 0, 1]], [[0, 0, 0]])
    """
    scanned = _scan_block(block)
    most = 3 * len(scanned.kinds)
    slot_count = 1 << (max(most, 8) * 5 // 3).bit_length()
    name_kinds = np.empty(most, np.uint8)
    name_spans = np.empty((most, 2), np.int64)
    name_hashes = np.empty(most, np.uint64)
    ids, counts, _ = intern_rows(
        scanned.text,
        scanned.kinds,
        scanned.spans,
        hash_key,
        np.zeros(slot_count, np.uint64),
        name_kinds,
        name_spans,
        name_hashes,
    )
    found = slice(0, int(counts.sum()))
    name_kinds, name_spans, name_hashes = name_kinds[found], name_spans[found], name_hashes[found]
    names, hashes = [], []
    for kind in range(4):
        selected = np.flatnonzero(name_kinds == kind)
        starts, stops = name_spans[selected, 0], name_spans[selected, 1]
        names.append(PackedNames(*gather_names(scanned.text, starts, stops)))
        hashes.append(name_hashes[selected])
    is_literal = scanned.kinds == LITERAL_LINE
    has_literals = is_literal.any()
    return EncodedBlock(
        (names[0], names[1], names[2], names[3]),
        (hashes[0], hashes[1], hashes[2], hashes[3]),
        ids[~is_literal] if has_literals else ids,
        ids[is_literal],
        scanned.problems,
    )


def encode_blocks(blocks: Iterable[LineBlock]) -> Iterator[EncodedBlock]:
    """Encode blocks in threads, a few at a time.

    Args:
        blocks: The blocks of a file.

    Yields:
        What each block says, in the order of the blocks.
    """
    threads = thread_count()
    if threads == 1:
        yield from map(encode_block, blocks)
        return
    source = iter(blocks)
    waiting: deque[Future[EncodedBlock]] = deque()
    failure: InputError | None = None
    with ContextThreadPool(threads) as pool:
        try:
            while True:
                # No more than a few: a file must not fill the memory.
                free = threads * _BLOCKS_PER_THREAD - len(waiting)
                try:
                    for block in islice(source, free):
                        waiting.append(pool.submit(encode_block, block))
                except InputError as error:
                    # Raised when its turn comes: lines before it may have errors as well.
                    failure = error
                if waiting:
                    yield waiting.popleft().result()
                elif failure is not None:
                    raise failure
                else:
                    return
        finally:
            for future in waiting:
                future.cancel()


def merge_block(vocabulary: Vocabulary, block: EncodedBlock) -> tuple[IntArray, IntArray]:
    """Add the names of a block to those of a graph, and number its statements by them.

    Args:
        vocabulary: The names of the graph, which are extended.
        block: A block whose hashes have the key of this process.

    Returns:
        Rows (head, relation, tail) and rows (entity, attribute, literal).
    """
    entities, relations, attributes, literals = (
        index.get_or_add_packed(names, hashes)
        for index, names, hashes in zip(
            vocabulary.list_indexes(), block.names, block.hashes, strict=True
        )
    )
    return (
        renumber_rows(block.triples, (entities, relations, entities)),
        renumber_rows(block.literals, (entities, attributes, literals)),
    )


def renumber_rows(rows: IntArray, new_ids: tuple[IntArray, IntArray, IntArray]) -> IntArray:
    """Give rows the ids of a graph.

    Args:
        rows: Rows of ids of a block.
        new_ids: For each column, the id in the graph of each id in the block.

    Returns:
        The rows with new ids.
    """
    renumbered = np.empty_like(rows)
    for column, ids in enumerate(new_ids):
        renumbered[:, column] = ids[rows[:, column]]
    return renumbered


def _scan_block(block: LineBlock) -> _ScannedLines:
    content = block.content
    size, most = len(content), content.count(b"\n")
    prefix = block.blank_prefix.encode()
    text = np.empty(2 * size + 2 * most * len(prefix) + _FREE_BYTES, np.uint8)
    text[:size] = np.frombuffer(content, np.uint8)
    kinds = np.empty(most, np.uint8)
    lines = np.empty((most, 3), np.int64)
    # One more: a line that turns out to be empty has its spans written as well.
    spans = np.empty((most + 1, 6), np.int64)
    count, end = scan_lines(
        text,
        size,
        np.frombuffer(prefix, np.uint8),
        CLASSES,
        STRING_TYPE,
        kinds,
        lines,
        spans,
    )
    kinds, lines, spans = kinds[:count], lines[:count], spans[:count]
    deferred = np.flatnonzero(kinds == DEFERRED)
    if not len(deferred):
        return _ScannedLines(text[:end], kinds, spans, [])
    numbered = [
        (block.first_line + line, content[start:stop].removesuffix(b"\r"))
        for line, start, stop in lines[deferred].tolist()
    ]
    parsed, problems = parse_lines(numbered, block)
    places = {int(number): row for row, number in enumerate(lines[:, 0] + block.first_line)}
    return _insert_rows(
        _ScannedLines(text[:end], kinds, spans, problems),
        deferred,
        [(places[number], row) for number, row in parsed],
    )


def _insert_rows(
    scanned: _ScannedLines, deferred: Spans, parsed: list[tuple[int, Triple]]
) -> _ScannedLines:
    """Put statements that were parsed elsewhere in the places of their lines."""
    terms = [term.encode() for _, row in parsed for term in row]
    ends = np.cumsum([len(term) for term in terms], dtype=np.int64) + len(scanned.text)
    starts = ends - np.array([len(term) for term in terms], dtype=np.int64)
    added_spans = np.stack([starts, ends], axis=1).reshape(-1, 6)
    added_kinds = [LITERAL_LINE if row[2][0] == '"' else TRIPLE_LINE for _, row in parsed]
    kept = np.delete(np.arange(len(scanned.kinds)), deferred)
    rows = np.concatenate([kept, np.array([place for place, _ in parsed], dtype=np.int64)])
    # Stable: a line may have several statements, which stay in their order.
    order = np.argsort(rows, kind="stable")
    return _ScannedLines(
        np.concatenate([scanned.text, np.frombuffer(b"".join(terms), np.uint8)]),
        np.concatenate([scanned.kinds[kept], np.array(added_kinds, dtype=np.uint8)])[order],
        np.concatenate([scanned.spans[kept], added_spans])[order],
        scanned.problems,
    )
