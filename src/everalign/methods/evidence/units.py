"""The parts of names that a dictionary knows: words, and characters of scripts without spaces."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign.graph import IntArray
from everalign.literals.together import Rows
from everalign.methods.evidence.side import Floats, Starts
from everalign.methods.evidence.texts import Names

STEM = 4  # letters of a longer word that are a part of their own: endings differ
MOST = 24  # parts of a name
FIRST_WITHOUT_SPACES = 0x2E80  # from here on, scripts of East Asia


class Units(NamedTuple):
    """The parts of the name of entity x: from `start[x]` to `start[x + 1]` in `unit`, each once.

    `weight` is how much it tells that a name has a part (its idf).
    """

    start: Starts
    unit: IntArray
    weight: Floats

    @property
    def units(self) -> int:
        return len(self.weight)

    @property
    def rows(self) -> Rows:
        return Rows(self.start, self.unit, self.units)


def units_of(names: Names) -> Units:
    """The parts of the first name of every entity."""
    numbers: dict[str, int] = {}
    found: list[int] = []
    start = [0]
    for which in names.first.tolist():
        if which >= 0:
            parts = dict.fromkeys(parts_of(names.folded[which]))
            found += [numbers.setdefault(part, len(numbers)) for part in list(parts)[:MOST]]
        start.append(len(found))
    unit = np.array(found, dtype=np.int32)
    having = np.bincount(unit, minlength=len(numbers))
    weight = np.log((1 + len(start)) / (1 + having)).astype(np.float32)
    return Units(np.array(start, dtype=np.int64), unit, weight)


def parts_of(name: str) -> list[str]:
    """The words of a name and their stems; of words in scripts without spaces, the characters,
    alone and in pairs.

    >>> parts_of("guerre de 1870"), parts_of("本笃四世 iv")
    (['guerre', 'guer-', 'de', '1870'], ['本', '笃', '四', '世', '本笃', '笃四', '四世', 'iv'])
    """
    out = []
    for word in name.split():
        if ord(max(word)) < FIRST_WITHOUT_SPACES:
            out.append(word)
            if len(word) > STEM and not word.isdecimal():
                out.append(f"{word[:STEM]}-")
        else:
            out += [*word, *(word[at : at + 2] for at in range(len(word) - 1))]
    return out
