"""Compiled parts of `block_encoding`: lines of N-Triples to spans, spans to ids.

The scanner knows the common spellings of terms. A line with anything else in it is left to the
parsers of `everalign.io`, which define what is accepted: `DEFERRED` is never an error.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph.name_kernels import (
    BATCH_SIZE,
    Hashes,
    Ids,
    hash_span,
    read_word,
    spans_equal,
)
from everalign.graph.packed_names import Bytes, Offsets
from everalign.io.terms import IRI_FORBIDDEN_BYTES, XSD_STRING

Spans: TypeAlias = NDArray[np.int64]

# Kinds of names, in this order: entities, relations, attributes, literals.
ENTITY, RELATION, ATTRIBUTE, LITERAL = range(4)
# What a line is.
TRIPLE_LINE, LITERAL_LINE, DEFERRED = range(3)

_TAB, _NEWLINE, _RETURN, _SPACE, _QUOTE, _HASH = 9, 10, 13, 32, 34, 35
_LESS, _GREATER, _AT, _BACKSLASH, _CARET, _UNDERSCORE = 60, 62, 64, 92, 94, 95
_DOT, _COLON, _HYPHEN, _APOSTROPHE = 46, 58, 45, 39
# A blank line or a comment; a term that is not of a common form.
_NOTHING = _FAILED = -1

_IRI_PLAIN = 1  # may stand in an IRI, and is ASCII
_TEXT_PLAIN = 2  # stands in a literal as it is, and is ASCII
_LABEL = 4  # in the label of a blank node
_LETTER = 8
_DIGIT = 16


def _classify_bytes() -> Bytes:
    classes = np.zeros(256, np.uint8)
    for byte in range(128):
        character = chr(byte)
        if byte not in IRI_FORBIDDEN_BYTES:
            classes[byte] |= _IRI_PLAIN
        if 0x20 <= byte < 0x7F and character not in '"\\':
            classes[byte] |= _TEXT_PLAIN
        if character.isalnum() or character in "_-":
            classes[byte] |= _LABEL
        if character.isalpha():
            classes[byte] |= _LETTER
        if character.isdigit():
            classes[byte] |= _DIGIT
    return classes


CLASSES = _classify_bytes()
STRING_TYPE = np.frombuffer(XSD_STRING.encode(), dtype=np.uint8)


@jit_cached()
def scan_lines(
    text: Bytes,
    size: int,
    blank_prefix: Bytes,
    classes: Bytes,
    string_type: Bytes,
    kinds: Bytes,
    lines: Spans,
    spans: Spans,
) -> tuple[int, int]:
    """Find the terms of all lines.

    Args:
        text: Whole lines, then free space for terms that are written otherwise in canonical form.
        size: How many bytes the lines have.
        blank_prefix: What stands before the label of every blank node; `_:` if empty.
        classes: `CLASSES`.
        string_type: `STRING_TYPE`.
        kinds: Filled with what each line is; blank lines and comments are left out.
        lines: Filled with the number of each line in the block, its start and its end.
        spans: Filled with start and stop of head, predicate and tail.

    Returns:
        How many rows there are, and the end of the text that is used.
    """
    row, end, line, start = 0, size, 0, 0
    # The last IRI of each column, and the last datatype: most IRIs begin as the one before.
    known = np.zeros((4, 2), np.int64)
    while start < size:
        kind, stop, end = _scan_line(
            text, start, end, blank_prefix, classes, string_type, known, spans, row
        )
        if kind >= 0:
            kinds[row] = kind
            lines[row, 0] = line
            lines[row, 1] = start
            lines[row, 2] = stop
            row += 1
        line += 1
        start = stop + 1
    return row, end


@jit_cached()
def _scan_line(
    text: Bytes,
    start: int,
    end: int,
    blank_prefix: Bytes,
    classes: Bytes,
    string_type: Bytes,
    known: Spans,
    spans: Spans,
    row: int,
) -> tuple[int, int, int]:
    """Find the terms of a line; return what it is, where it ends, and the end of the text.

    The end of the line belongs to no term, so no search goes beyond it.
    """
    place, last, kind = _skip_space(text, start), end, _NOTHING
    if text[place] in (_LESS, _UNDERSCORE):
        kind = TRIPLE_LINE
        place, last = _scan_node(text, place, last, blank_prefix, classes, known, spans, row, 0)
        place = _skip_space(text, place)
        # A predicate is never a blank node.
        if place >= 0 and text[place] == _LESS:
            place, last = _scan_iri(text, place + 1, last, classes, known, 1, spans, row, 2)
        else:
            place = _FAILED
        place = _skip_space(text, place)
        if place >= 0 and text[place] == _QUOTE:
            kind = LITERAL_LINE
            place, last = _scan_literal(text, place, last, classes, string_type, known, spans, row)
        else:
            place, last = _scan_node(
                text, place, last, blank_prefix, classes, known, spans, row, 4
            )
        place = _skip_space(text, place)
        place = place + 1 if place >= 0 and text[place] == _DOT else _FAILED
    place = _scan_line_end(text, place)
    if place >= 0:
        return kind, place, last
    stop = start
    while text[stop] != _NEWLINE:
        stop += 1
    return DEFERRED, stop, end


@jit_cached()
def _skip_space(text: Bytes, place: int) -> int:
    while place >= 0 and (text[place] == _SPACE or text[place] == _TAB):
        place += 1
    return place


@jit_cached()
def _scan_line_end(text: Bytes, place: int) -> int:
    """Find the line end behind space and a comment; negative if there is anything else."""
    place = _skip_space(text, place)
    if place < 0:
        return _FAILED
    if text[place] == _HASH:
        # Control characters may end a comment, and other bytes may not be UTF-8.
        while text[place] == _TAB or 0x20 <= text[place] < 0x7F:
            place += 1
    if text[place] == _RETURN:
        place += 1
    return place if text[place] == _NEWLINE else _FAILED


@jit_cached()
def _skip_characters(text: Bytes, place: int, classes: Bytes, allowed: int) -> int:
    """Skip characters of a class and those that are not ASCII, up to the first that is neither.

    Bytes that are not UTF-8 are neither, and in a literal those that are escaped in canonical
    form.
    """
    while True:
        # Unsigned, as in `read_word`: a negative place would count from the end.
        unsigned = np.uint64(place)
        while classes[text[unsigned]] & allowed:
            unsigned += np.uint64(1)
        place = int(np.int64(unsigned))
        if text[place] < 0x80:
            return place
        length = _measure_character(text, place)
        if length == 0 or (allowed == _TEXT_PLAIN and _is_noncharacter(text, place)):
            return place
        place += length


@jit_cached()
def _copy_bytes(text: Bytes, start: int, stop: int, end: int) -> int:
    """Copy a span to the end of the text; return the new end."""
    for place in range(start, stop):
        text[end + place - start] = text[place]
    return end + stop - start


@jit_cached()
def _scan_node(
    text: Bytes,
    place: int,
    end: int,
    blank_prefix: Bytes,
    classes: Bytes,
    known: Spans,
    spans: Spans,
    row: int,
    column: int,
) -> tuple[int, int]:
    """Scan an IRI or a blank node; return the place behind it, and the end of the text.

    The place is negative if the term is not of a common form, here and in the other scanners.
    """
    if place < 0:
        return place, end
    if text[place] == _LESS:
        return _scan_iri(text, place + 1, end, classes, known, column // 2, spans, row, column)
    return _scan_blank_node(text, place, end, blank_prefix, classes, spans, row, column)


@jit_cached()
def _skip_known(text: Bytes, start: int, other: int, other_stop: int) -> int:
    """Skip what begins as a text that was scanned before, eight bytes at a time."""
    place = start
    while other + 8 <= other_stop and read_word(text, place) == read_word(text, other):
        place += 8
        other += 8
    # Back to the first byte of a character.
    while place > start and text[place] & 0xC0 == 0x80:
        place -= 1
    return place


@jit_cached()
def _scan_iri(
    text: Bytes,
    start: int,
    end: int,
    classes: Bytes,
    known: Spans,
    known_row: int,
    spans: Spans,
    row: int,
    column: int,
) -> tuple[int, int]:
    """Scan an IRI behind its first bracket; a row of `known` is an IRI, and becomes this one."""
    place = _skip_known(text, start, known[known_row, 0], known[known_row, 1])
    place = _skip_characters(text, place, classes, _IRI_PLAIN)
    first, last = start, place
    if text[place] == _BACKSLASH:
        # The whole IRI is written again behind the lines.
        first, end = end, _copy_bytes(text, start, place, end)
        while text[place] == _BACKSLASH:
            code, place = _read_code(text, place)
            if code < 0 or (code < 0x80 and classes[code] & _IRI_PLAIN == 0):
                return _FAILED, end
            end = _write_character(text, end, code)
            stop = _skip_characters(text, place, classes, _IRI_PLAIN)
            end = _copy_bytes(text, place, stop, end)
            place = stop
        last = end
    if text[place] != _GREATER or first == last:
        return _FAILED, end
    # Such a name could not be told from a blank node.
    if last - first >= 2 and text[first] == _UNDERSCORE and text[first + 1] == _COLON:
        return _FAILED, end
    spans[row, column] = first
    spans[row, column + 1] = last
    # What is written behind the lines may be overwritten, if the rest of the line is left out.
    if first == start:
        known[known_row, 0] = first
        known[known_row, 1] = last
    return place + 1, end


@jit_cached()
def _scan_blank_node(
    text: Bytes,
    start: int,
    end: int,
    blank_prefix: Bytes,
    classes: Bytes,
    spans: Spans,
    row: int,
    column: int,
) -> tuple[int, int]:
    if text[start] != _UNDERSCORE or text[start + 1] != _COLON or text[start + 2] == _HYPHEN:
        return _FAILED, end
    place = start + 2
    while classes[text[place]] & _LABEL:
        place += 1
    # Anything else could belong to the label as well.
    if place == start + 2 or (text[place] != _SPACE and text[place] != _TAB):
        return _FAILED, end
    spans[row, column] = start
    spans[row, column + 1] = place
    if len(blank_prefix) > 0:
        spans[row, column] = end
        for number in range(len(blank_prefix)):
            text[end + number] = blank_prefix[number]
        end = _copy_bytes(text, start + 2, place, end + len(blank_prefix))
        spans[row, column + 1] = end
    return place, end


@jit_cached()
def _scan_literal(
    text: Bytes,
    start: int,
    end: int,
    classes: Bytes,
    string_type: Bytes,
    known: Spans,
    spans: Spans,
    row: int,
) -> tuple[int, int]:
    place = _skip_characters(text, start + 1, classes, _TEXT_PLAIN)
    first, is_copied = start, False
    if text[place] == _BACKSLASH:
        first, is_copied = end, True
        end = _copy_bytes(text, start, place, end)
        place, end = _copy_escaped(text, place, end, classes)
    if place < 0 or text[place] != _QUOTE:
        return _FAILED, end
    suffix = place + 1
    place, suffix_stop, has_capitals = _scan_suffix(
        text, suffix, end, classes, string_type, known, spans, row
    )
    last = suffix_stop
    if has_capitals and not is_copied:
        first, is_copied = end, True
        end = _copy_bytes(text, start, suffix, end)
    if is_copied:
        last = _copy_bytes(text, suffix, suffix_stop, end)
        for capital in range(end, last if has_capitals else end):
            if 65 <= text[capital] <= 90:
                text[capital] += 32
        end = last
    spans[row, 4] = first
    spans[row, 5] = last
    return place, end


@jit_cached()
def _scan_suffix(
    text: Bytes,
    suffix: int,
    end: int,
    classes: Bytes,
    string_type: Bytes,
    known: Spans,
    spans: Spans,
    row: int,
) -> tuple[int, int, bool]:
    """Scan what follows the quotation marks of a literal.

    Returns:
        The place behind it, the end of what stands in canonical form, and whether this has
        capital letters that become small ones.
    """
    if text[suffix] == _AT:
        place, has_capitals = _scan_language(text, suffix + 1, classes)
        return place, place, has_capitals
    if text[suffix] != _CARET:
        return suffix, suffix, False
    if text[suffix + 1] != _CARET or text[suffix + 2] != _LESS:
        return _FAILED, suffix, False
    start = suffix + 3
    place, new_end = _scan_iri(text, start, end, classes, known, 3, spans, row, 4)
    # With an escape it was written elsewhere.
    if place < 0 or new_end != end:
        return _FAILED, suffix, False
    # A string is written without its datatype.
    is_string = place - 1 - start == len(string_type) and spans_equal(
        text, start, string_type, 0, len(string_type)
    )
    return place, suffix if is_string else place, False


@jit_cached()
def _is_kept_escape(byte: int) -> bool:
    """Whether a backslash and this byte stand in canonical form."""
    return byte in (116, 98, 110, 114, 102, _QUOTE, _BACKSLASH)  # t b n r f " \


@jit_cached()
def _copy_escaped(text: Bytes, place: int, end: int, classes: Bytes) -> tuple[int, int]:
    """Copy the rest of a literal in canonical form, up to and including its last mark."""
    while text[place] == _BACKSLASH:
        escaped = text[place + 1]
        if _is_kept_escape(escaped):
            end = _copy_bytes(text, place, place + 2, end)
            place += 2
        elif escaped == _APOSTROPHE:
            end = _copy_bytes(text, place + 1, place + 2, end)
            place += 2
        else:
            code, place = _read_code(text, place)
            # What is an escape in canonical form is left to the parser.
            if code < 0x80 and (code < 0 or classes[code] & _TEXT_PLAIN == 0):
                return _FAILED, end
            if code in (0xFFFE, 0xFFFF):
                return _FAILED, end
            end = _write_character(text, end, code)
        stop = _skip_characters(text, place, classes, _TEXT_PLAIN)
        end = _copy_bytes(text, place, stop, end)
        place = stop
    return place, _copy_bytes(text, place, place + 1, end)


@jit_cached()
def _scan_language(text: Bytes, place: int, classes: Bytes) -> tuple[int, bool]:
    """Scan a language tag; return the place behind it and whether it has capital letters."""
    has_capitals = False
    allowed = _LETTER
    start = place
    while True:
        while classes[text[place]] & allowed:
            has_capitals = has_capitals or 65 <= text[place] <= 90
            place += 1
        if place == start:
            return _FAILED, False
        if text[place] != _HYPHEN:
            break
        place += 1
        start, allowed = place, _LETTER | _DIGIT
    if text[place] != _SPACE and text[place] != _TAB:
        return _FAILED, False
    return place, has_capitals


@jit_cached()
def _measure_character(text: Bytes, place: int) -> int:
    """The number of bytes of a character that is not ASCII; 0 if it is not valid UTF-8."""
    first, second = text[place], text[place + 1]
    if first < 0xC2 or first > 0xF4:
        return 0
    length = 2 if first < 0xE0 else 3 if first < 0xF0 else 4
    for byte in range(1, length):
        if text[place + byte] & 0xC0 != 0x80:
            return 0
    # Neither an overlong form, nor a surrogate, nor beyond the last character.
    is_overlong = (first == 0xE0 and second < 0xA0) or (first == 0xF0 and second < 0x90)
    is_beyond = (first == 0xED and second > 0x9F) or (first == 0xF4 and second > 0x8F)
    return 0 if is_overlong or is_beyond else length


@jit_cached()
def _is_noncharacter(text: Bytes, place: int) -> bool:
    """Whether a character is U+FFFE or U+FFFF, which are escapes in canonical form."""
    return bool(text[place] == 0xEF and text[place + 1] == 0xBF and text[place + 2] >= 0xBE)


@jit_cached()
def _read_code(text: Bytes, place: int) -> tuple[int, int]:
    r"""Read an escape such as \u00E9; return its character and the place behind it.

    The character is negative if there is none.
    """
    length = 0
    if text[place + 1] == 117:
        length = 4
    elif text[place + 1] == 85:
        length = 8
    code = 0
    place += 2
    for _ in range(length):
        digit = int(text[place])
        if 48 <= digit <= 57:
            code = 16 * code + digit - 48
        elif 65 <= digit <= 70:
            code = 16 * code + digit - 55
        elif 97 <= digit <= 102:
            code = 16 * code + digit - 87
        else:
            return _FAILED, place
        place += 1
    if length == 0 or code > 0x10FFFF or 0xD800 <= code <= 0xDFFF:
        return _FAILED, place
    return code, place


@jit_cached()
def _write_character(text: Bytes, end: int, code: int) -> int:
    if code < 0x80:
        text[end] = code
        return end + 1
    if code < 0x800:
        text[end] = 0xC0 | code >> 6
        text[end + 1] = 0x80 | code & 0x3F
        return end + 2
    if code < 0x10000:
        text[end] = 0xE0 | code >> 12
        text[end + 1] = 0x80 | code >> 6 & 0x3F
        text[end + 2] = 0x80 | code & 0x3F
        return end + 3
    text[end] = 0xF0 | code >> 18
    text[end + 1] = 0x80 | code >> 12 & 0x3F
    text[end + 2] = 0x80 | code >> 6 & 0x3F
    text[end + 3] = 0x80 | code & 0x3F
    return end + 4


@jit_cached()
def intern_rows(
    text: Bytes,
    kinds: Bytes,
    spans: Spans,
    key: np.uint64,
    slots: Hashes,
    name_kinds: Bytes,
    name_spans: Spans,
    name_hashes: Hashes,
) -> tuple[Ids, Offsets, np.uint64]:
    """Replace the spans of rows by ids that begin at 0 for each kind of names.

    Args:
        text: What the spans refer to.
        kinds: `TRIPLE_LINE` or `LITERAL_LINE` for each row.
        spans: Start and stop of head, predicate and tail of each row.
        key: The key of the hash.
        slots: An empty hash table that has room for all names.
        name_kinds: Filled with the kind of each distinct name, in the order of their occurrence.
        name_spans: Filled with its start and stop.
        name_hashes: Filled with its hash.

    Returns:
        Rows of ids, the number of names of each kind, and a number without meaning.
    """
    ids = np.empty((len(kinds), 3), np.int32)
    counts = np.zeros(4, np.int64)
    name_ids = np.empty(len(name_kinds), np.int32)
    hashes = np.empty((BATCH_SIZE, 3), np.uint64)
    total, touched = 0, np.uint64(0)
    mask = np.uint64(len(slots) - 1)
    for row in range(len(kinds)):
        batch_row = row % BATCH_SIZE
        if batch_row == 0:
            touched += _hash_rows(
                text, spans, row, min(row + BATCH_SIZE, len(kinds)), key, slots, name_spans, hashes
            )
        for column in range(3):
            kind = ENTITY
            if column == 1:
                kind = RELATION if kinds[row] == TRIPLE_LINE else ATTRIBUTE
            elif column == 2 and kinds[row] == LITERAL_LINE:
                kind = LITERAL
            start, stop = spans[row, 2 * column], spans[row, 2 * column + 1]
            value = hashes[batch_row, column]
            # All kinds share one table: a name is there once for each kind that it has.
            place = value & mask
            found = np.int64(-1)
            while slots[place] != 0:
                if slots[place] >> np.uint64(32) == value >> np.uint64(32):
                    known = np.int64(slots[place] & np.uint64(0xFFFFFFFF)) - 1
                    known_start = name_spans[known, 0]
                    if (
                        name_kinds[known] == kind
                        and name_spans[known, 1] - known_start == stop - start
                        and spans_equal(text, known_start, text, start, stop - start)
                    ):
                        found = known
                        break
                place = (place + np.uint64(1)) & mask
            if found < 0:
                found = np.int64(total)
                name_kinds[total] = kind
                name_spans[total, 0] = start
                name_spans[total, 1] = stop
                name_hashes[total] = value
                name_ids[total] = counts[kind]
                counts[kind] += 1
                slots[place] = (value >> np.uint64(32)) << np.uint64(32) | np.uint64(total + 1)
                total += 1
            ids[row, column] = name_ids[found]
    return ids, counts, touched


@jit_cached()
def _hash_rows(
    text: Bytes,
    spans: Spans,
    first: int,
    stop: int,
    key: np.uint64,
    slots: Hashes,
    name_spans: Spans,
    hashes: Hashes,
) -> np.uint64:
    """Hash the names of some rows, and read what looking them up will read."""
    mask = np.uint64(len(slots) - 1)
    touched = np.uint64(0)
    for row in range(first, stop):
        for column in range(3):
            value = hash_span(text, spans[row, 2 * column], spans[row, 2 * column + 1], key)
            hashes[row - first, column] = value
            touched += slots[value & mask]
    for row in range(stop - first):
        # Predicates are few, and in the cache.
        for column in range(0, 3, 2):
            slot = slots[hashes[row, column] & mask]
            if slot != 0:
                known = np.int64(slot & np.uint64(0xFFFFFFFF)) - 1
                touched += np.uint64(text[name_spans[known, 0]])
    return touched
