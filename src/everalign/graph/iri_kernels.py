"""Compiled part of `iri_names`: IRIs that end in an identifier, not in a name.

Most IRIs of large graphs are of this kind. What is not clear at once is left to `iri_names`, which
defines what a name is.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph.packed_names import Bytes, Offsets

_HASH, _PERCENT, _SLASH, _COLON, _UNDERSCORE = 35, 37, 47, 58, 95
_RESOURCE = np.frombuffer(b"/resource/", np.uint8)
# Separators within identifiers such as tt-0111161.
_HYPHEN, _DOT = 45, 46

_MIN_HASH_DIGITS = 8
_MIN_CODE_DIGITS = 5
_MAX_CODE_LETTERS = 3
_MIN_NUMBER_DIGITS = 2


@jit_cached()
def mark_identifiers(heap: Bytes, offsets: Offsets) -> NDArray[np.bool_]:
    """Mark entities that have no readable name for certain: blank nodes, numbers, identifiers."""
    marks = np.empty(len(offsets) - 1, np.bool_)
    for number in range(len(marks)):
        marks[number] = _ends_in_identifier(heap, offsets[number], offsets[number + 1])
    return marks


@jit_cached()
def _ends_in_identifier(heap: Bytes, start: int, stop: int) -> bool:
    if stop - start >= 2 and heap[start] == _UNDERSCORE and heap[start + 1] == _COLON:
        return True
    last = stop
    while last > start and heap[last - 1] != _SLASH:
        # The local name is not what stands behind the last slash, or is written otherwise.
        if heap[last - 1] in (_HASH, _PERCENT, _UNDERSCORE) or not 0x20 < heap[last - 1] < 0x7F:
            return False
        last -= 1
    if last in (start, stop) or not _is_local_name(heap, start, last):
        return False
    return _is_identifier(heap, last, stop)


@jit_cached()
def _is_local_name(heap: Bytes, start: int, last: int) -> bool:
    """Whether the local name begins here, behind the last slash."""
    for place in range(start, last):
        if heap[place] == _HASH:
            return False
        # Behind this, all that follows is the local name, with its slashes.
        if heap[place] == _SLASH and last - place > len(_RESOURCE):
            shared = 0
            while shared < len(_RESOURCE) and heap[place + shared] == _RESOURCE[shared]:
                shared += 1
            if shared == len(_RESOURCE):
                return False
    return True


@jit_cached()
def _is_identifier(heap: Bytes, start: int, stop: int) -> bool:
    """Whether a text of ASCII without space is one of the common forms of identifiers."""
    letters, digits, hexadecimal = 0, 0, 0
    for place in range(start, stop):
        byte = heap[place]
        if 48 <= byte <= 57:
            digits += 1
        elif 65 <= (byte & 0xDF) <= 90:
            letters += 1
            hexadecimal += (byte & 0xDF) <= 70
    length = stop - start
    if letters == 0:
        return True
    if hexadecimal + digits == length and digits > 0 and length >= _MIN_HASH_DIGITS:
        return True
    # Letters and then digits, with one separator between them at most.
    place = start
    while place < stop and 65 <= (heap[place] & 0xDF) <= 90:
        place += 1
    leading = place - start
    if leading + digits == length and digits >= _MIN_NUMBER_DIGITS:
        return leading > 0
    if leading == 1 and digits + 1 == length and digits > 0:
        return (heap[start] & 0xDF) in (76, 80, 81)  # L, P, Q
    if place < stop and heap[place] in (_HYPHEN, _COLON, _DOT):
        return (
            leading <= _MAX_CODE_LETTERS
            and digits >= _MIN_CODE_DIGITS
            and leading + 1 + digits == length
        )
    return False
