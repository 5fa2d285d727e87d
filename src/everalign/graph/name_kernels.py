"""Compiled parts of `NameTable`: hashing, looking up and sorting names that are spans of bytes.

A name is a span of an array of bytes. The slots of a hash table are 64-bit numbers: the upper
half of the hash and, below it, one more than the id; 0 is a free slot. A table is never more
than 3/5 full.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph.packed_names import Bytes, Offsets

Hashes: TypeAlias = NDArray[np.uint64]
Ids: TypeAlias = NDArray[np.int32]

_WORD = np.uint64
_FIRST_FACTOR = np.uint64(0x9E3779B97F4A7C15)
_SECOND_FACTOR = np.uint64(0xFF51AFD7ED558CCD)
_LOW_HALF = np.uint64(0xFFFFFFFF)
_HIGH_HALF = np.uint64(0xFFFFFFFF00000000)
# So many names are looked up together: their memory is asked for in loops that do nothing else,
# so that it comes from the main memory for several names at a time.
BATCH_SIZE = 256
# Fewer names are sorted one by one.
_INSERTION_SIZE = 12


@jit_cached()
def read_word(text: Bytes, place: int) -> np.uint64:
    """Read eight bytes as a number."""
    # The compiler makes one load of this. Not with signed places, which might count from the end.
    first = _WORD(place)
    return (
        _WORD(text[first])
        | _WORD(text[first + _WORD(1)]) << _WORD(8)
        | _WORD(text[first + _WORD(2)]) << _WORD(16)
        | _WORD(text[first + _WORD(3)]) << _WORD(24)
        | _WORD(text[first + _WORD(4)]) << _WORD(32)
        | _WORD(text[first + _WORD(5)]) << _WORD(40)
        | _WORD(text[first + _WORD(6)]) << _WORD(48)
        | _WORD(text[first + _WORD(7)]) << _WORD(56)
    )


@jit_cached()
def copy_span(source: Bytes, start: int, stop: int, target: Bytes, place: int) -> None:
    """Copy a span of bytes to another place."""
    # Unsigned, as in `read_word`: many bytes are copied at a time.
    first, other = _WORD(start), _WORD(place)
    for byte in range(_WORD(stop - start)):
        target[other + byte] = source[first + byte]


@jit_cached()
def hash_span(text: Bytes, start: int, stop: int, key: np.uint64) -> np.uint64:
    """Hash a span of bytes to 64 bits."""
    value = key ^ (_WORD(stop - start) * _FIRST_FACTOR)
    word = _WORD(0)
    if stop - start >= 8:
        place = start
        while place + 8 < stop:
            value = (value ^ read_word(text, place)) * _FIRST_FACTOR
            value ^= value >> _WORD(29)
            place += 8
        # The last eight bytes, some of them for the second time: no loop over single bytes.
        word = read_word(text, stop - 8)
    else:
        for place in range(start, stop):
            word = (word << _WORD(8)) | _WORD(text[place])
    value = (value ^ word) * _FIRST_FACTOR
    value ^= value >> _WORD(32)
    value *= _SECOND_FACTOR
    return value ^ (value >> _WORD(29))


@jit_cached()
def spans_equal(first: Bytes, start: int, second: Bytes, other_start: int, length: int) -> bool:
    """Tell whether two spans of one length have the same bytes."""
    place = 0
    while place + 8 <= length:
        if read_word(first, start + place) != read_word(second, other_start + place):
            return False
        place += 8
    if length >= 8:
        # The last eight bytes, some of them for the second time.
        last = length - 8
        return bool(read_word(first, start + last) == read_word(second, other_start + last))
    while place < length:
        if first[start + place] != second[other_start + place]:
            return False
        place += 1
    return True


@jit_cached()
def hash_names(heap: Bytes, offsets: Offsets, key: np.uint64) -> Hashes:
    """Hash all names of a heap."""
    hashes = np.empty(len(offsets) - 1, np.uint64)
    for number in range(len(hashes)):
        hashes[number] = hash_span(heap, offsets[number], offsets[number + 1], key)
    return hashes


@jit_cached()
def fill_slots(slots: Hashes, hashes: Hashes, first: int, count: int) -> None:
    """Enter names that are known to be distinct, by their hashes."""
    mask = _WORD(len(slots) - 1)
    for number in range(first, count):
        place = hashes[number] & mask
        while slots[place] != 0:
            place = (place + _WORD(1)) & mask
        slots[place] = (hashes[number] & _HIGH_HALF) | _WORD(number + 1)


@jit_cached()
def _touch_names(
    slots: Hashes, heap: Bytes, offsets: Offsets, hashes: Hashes, first: int, stop: int
) -> np.uint64:
    """Read what a lookup of some names will read, in an order that does not wait for it."""
    mask = _WORD(len(slots) - 1)
    touched = _WORD(0)
    for number in range(first, stop):
        touched += slots[hashes[number] & mask]
    for number in range(first, stop):
        slot = slots[hashes[number] & mask]
        if slot != 0:
            touched += _WORD(offsets[np.int64(slot & _LOW_HALF) - 1])
    for number in range(first, stop):
        slot = slots[hashes[number] & mask]
        if slot != 0:
            touched += _WORD(heap[offsets[np.int64(slot & _LOW_HALF) - 1]])
    return touched


@jit_cached()
def _find_name(
    slots: Hashes,
    table_heap: Bytes,
    table_offsets: Offsets,
    heap: Bytes,
    start: int,
    length: int,
    value: np.uint64,
) -> tuple[np.int64, np.uint64]:
    """Look a name up; return its id or −1, and the slot where it is or would be."""
    mask = _WORD(len(slots) - 1)
    place = value & mask
    while slots[place] != 0:
        if slots[place] & _HIGH_HALF == value & _HIGH_HALF:
            known = np.int64(slots[place] & _LOW_HALF) - 1
            known_start = table_offsets[known]
            if table_offsets[known + 1] - known_start == length and spans_equal(
                table_heap, known_start, heap, start, length
            ):
                return known, place
        place = (place + _WORD(1)) & mask
    return np.int64(-1), place


@jit_cached()
def find_names(
    slots: Hashes,
    table_heap: Bytes,
    table_offsets: Offsets,
    heap: Bytes,
    offsets: Offsets,
    hashes: Hashes,
) -> Ids:
    """Look names up in a table; −1 for those that it does not have."""
    ids = np.empty(len(hashes), np.int32)
    for number in range(len(hashes)):
        start = offsets[number]
        length = offsets[number + 1] - start
        ids[number], _ = _find_name(
            slots, table_heap, table_offsets, heap, start, length, hashes[number]
        )
    return ids


@jit_cached()
def add_names(
    slots: Hashes,
    table_heap: Bytes,
    table_offsets: Offsets,
    table_hashes: Hashes,
    count: int,
    heap: Bytes,
    offsets: Offsets,
    hashes: Hashes,
) -> tuple[Ids, int, np.uint64]:
    """Look names up in a table and append those that it does not have.

    The arrays of the table have room for all of them.

    Returns:
        The ids, the number of names in the table, and a number without meaning.
    """
    ids = np.empty(len(hashes), np.int32)
    touched = _WORD(0)
    for number in range(len(hashes)):
        if number % BATCH_SIZE == 0:
            stop = min(number + BATCH_SIZE, len(hashes))
            touched += _touch_names(slots, table_heap, table_offsets, hashes, number, stop)
        start = offsets[number]
        length = offsets[number + 1] - start
        value = hashes[number]
        found, place = _find_name(slots, table_heap, table_offsets, heap, start, length, value)
        if found < 0:
            found = np.int64(count)
            end = table_offsets[count]
            copy_span(heap, start, start + length, table_heap, end)
            table_offsets[count + 1] = end + length
            table_hashes[count] = value
            slots[place] = (value & _HIGH_HALF) | _WORD(count + 1)
            count += 1
        ids[number] = found
    # Returned, since the compiler leaves out what nobody uses.
    return ids, count, touched


@jit_cached()
def gather_names(heap: Bytes, starts: Offsets, stops: Offsets) -> tuple[Bytes, Offsets]:
    """Copy spans, in any order, to a heap of their own."""
    offsets = np.empty(len(starts) + 1, np.int64)
    offsets[0] = 0
    for number in range(len(starts)):
        offsets[number + 1] = offsets[number] + stops[number] - starts[number]
    gathered = np.empty(offsets[-1], np.uint8)
    for number in range(len(starts)):
        copy_span(heap, starts[number], stops[number], gathered, offsets[number])
    return gathered, offsets


@jit_cached()
def _read_word(heap: Bytes, start: int, stop: int) -> np.uint64:
    """The next eight bytes as a number that sorts as they do; zeros stand behind the end."""
    if start + 8 <= stop:
        first = _WORD(start)
        return (
            _WORD(heap[first]) << _WORD(56)
            | _WORD(heap[first + _WORD(1)]) << _WORD(48)
            | _WORD(heap[first + _WORD(2)]) << _WORD(40)
            | _WORD(heap[first + _WORD(3)]) << _WORD(32)
            | _WORD(heap[first + _WORD(4)]) << _WORD(24)
            | _WORD(heap[first + _WORD(5)]) << _WORD(16)
            | _WORD(heap[first + _WORD(6)]) << _WORD(8)
            | _WORD(heap[first + _WORD(7)])
        )
    word = _WORD(0)
    for byte in range(8):
        word = word << _WORD(8)
        if start + byte < stop:
            word |= _WORD(heap[start + byte])
    return word


@jit_cached()
def _is_less(heap: Bytes, offsets: Offsets, first: int, second: int, depth: int) -> bool:
    """Compare the rests of two names, as `bytes` are compared."""
    start, stop = offsets[first] + depth, offsets[first + 1]
    other, other_stop = offsets[second] + depth, offsets[second + 1]
    limit = min(stop - start, other_stop - other)
    shared = _measure_shared(heap, start, other, 0, limit)
    if shared < limit:
        return bool(heap[start + shared] < heap[other + shared])
    return bool(stop - start < other_stop - other)


@jit_cached()
def _push(stack: Offsets, height: int, start: int, stop: int, depth: int, has_words: int) -> int:
    stack[height, 0] = start
    stack[height, 1] = stop
    stack[height, 2] = depth
    stack[height, 3] = has_words
    return height + 1


@jit_cached()
def _sort_few(
    heap: Bytes, offsets: Offsets, order: Offsets, start: int, stop: int, depth: int
) -> None:
    """Sort names by insertion."""
    for place in range(start + 1, stop):
        moved = order[place]
        target = place
        while target > start and _is_less(heap, offsets, moved, order[target - 1], depth):
            order[target] = order[target - 1]
            target -= 1
        order[target] = moved


@jit_cached()
def _measure_shared(heap: Bytes, first: int, second: int, depth: int, limit: int) -> int:
    """Count the bytes that two names have in common, some of which are known and skipped."""
    shared = depth
    while shared + 8 <= limit and read_word(heap, first + shared) == read_word(
        heap, second + shared
    ):
        shared += 8
    while shared < limit and heap[first + shared] == heap[second + shared]:
        shared += 1
    return shared


@jit_cached()
def _read_words(
    heap: Bytes,
    offsets: Offsets,
    order: Offsets,
    start: int,
    stop: int,
    depth: int,
    words: Hashes,
) -> int:
    """Read the eight bytes behind those that a group has in common; return how many these are."""
    first_start = offsets[order[start]]
    shared = offsets[order[start] + 1] - first_start
    for place in range(start + 1, stop):
        other_start = offsets[order[place]]
        shared = min(shared, offsets[order[place] + 1] - other_start)
        shared = _measure_shared(heap, first_start, other_start, depth, shared)
    for place in range(start, stop):
        number = order[place]
        words[place] = _read_word(heap, offsets[number] + shared, offsets[number + 1])
    return int(shared)


@jit_cached()
def sort_names(heap: Bytes, offsets: Offsets) -> Offsets:
    """Sort distinct names by their bytes, which is the order of their characters as well.

    A quicksort that compares eight bytes at a time: names with the same eight bytes are a group
    that is sorted by the bytes behind them. Names of one graph have a long beginning in common,
    which is skipped once for each group.

    Returns:
        The positions of the names in sorted order.
    """
    count = len(offsets) - 1
    order = np.arange(count)
    words = np.empty(count, np.uint64)
    # Groups that are not sorted yet: start, stop, bytes in common, and whether the words of the
    # group are those behind these bytes already. A group of n leaves at most n / 2 behind.
    stack = np.empty((64 + count // 2, 4), np.int64)
    height = 1
    _push(stack, 0, 0, count, 0, 0)
    while height > 0:
        height -= 1
        start, stop = stack[height, 0], stack[height, 1]
        depth, has_words = stack[height, 2], stack[height, 3]
        if stop - start <= _INSERTION_SIZE:
            _sort_few(heap, offsets, order, start, stop, depth)
            continue
        if has_words == 0:
            depth = _read_words(heap, offsets, order, start, stop, depth, words)
        # Three parts: less than the pivot, equal to it, greater.
        low, middle, high = words[start], words[(start + stop) // 2], words[stop - 1]
        pivot = max(min(low, middle), min(max(low, middle), high))
        less, greater, place = start, stop, start
        while place < greater:
            if words[place] < pivot:
                words[place], words[less] = words[less], words[place]
                order[place], order[less] = order[less], order[place]
                less += 1
                place += 1
            elif words[place] > pivot:
                greater -= 1
                words[place], words[greater] = words[greater], words[place]
                order[place], order[greater] = order[greater], order[place]
            else:
                place += 1
        if less - start > 1:
            height = _push(stack, height, start, less, depth, 1)
        if stop - greater > 1:
            height = _push(stack, height, greater, stop, depth, 1)
        if greater - less > 1:
            height = _push_equal(offsets, order, less, greater, depth, stack, height)
    return order


@jit_cached()
def _push_equal(
    offsets: Offsets,
    order: Offsets,
    start: int,
    stop: int,
    depth: int,
    stack: Offsets,
    height: int,
) -> int:
    """Put a group with the same next eight bytes on the stack, behind the names that end there.

    Names that end within these bytes differ only in zeros at their ends: the shorter comes first.
    There are eight of them at most, since they are distinct.
    """
    ended = start
    for place in range(start, stop):
        number = order[place]
        if offsets[number + 1] - offsets[number] <= depth + 8:
            order[place], order[ended] = order[ended], order[place]
            moved = order[ended]
            target = ended
            while target > start and (
                offsets[order[target - 1] + 1] - offsets[order[target - 1]]
                > offsets[moved + 1] - offsets[moved]
            ):
                order[target] = order[target - 1]
                target -= 1
            order[target] = moved
            ended += 1
    if stop - ended > 1:
        height = _push(stack, height, ended, stop, depth + 8, 0)
    return height


@jit_cached()
def find_descents(heap: Bytes, offsets: Offsets) -> Offsets:
    """Find the names that do not come after the name before them in sorted order."""
    found = np.empty(len(offsets), np.int64)
    count = 0
    for number in range(1, len(offsets) - 1):
        if not _is_less(heap, offsets, number - 1, number, 0):
            found[count] = number
            count += 1
    return found[:count].copy()


@jit_cached()
def measure_separators(heap: Bytes, offsets: Offsets, numbers: Offsets) -> Offsets:
    """Count how many bytes tell each of some names from the name before it, which is less."""
    lengths = np.empty(len(numbers), np.int64)
    for place in range(len(numbers)):
        start = offsets[numbers[place]]
        length = offsets[numbers[place] + 1] - start
        before = offsets[numbers[place] - 1]
        limit = min(length, start - before)
        shared = _measure_shared(heap, start, before, 0, limit)
        lengths[place] = min(shared + 1, length)
    return lengths
