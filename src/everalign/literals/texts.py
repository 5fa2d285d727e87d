"""Texts of one graph in the forms that they are compared in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.folding import folded, without_qualifier
from everalign.literals.forms import Form, Kind
from everalign.literals.scripts import is_japanese, is_latin, latin_of


@dataclass(frozen=True)
class Texts:
    """The different texts of a graph: as written, in Latin letters, without a qualifier.

    `foreign` tells which have letters that are not Latin, `text` which of them each form is
    (−1 for a form that is no text).
    """

    raw: list[str]
    latin: list[str]
    core: list[str]
    foreign: NDArray[np.bool_]
    text: IntArray

    def __len__(self) -> int:
        return len(self.raw)

    def qualified(self) -> NDArray[np.bool_]:
        """Which texts have a qualifier."""
        pairs = zip(self.latin, self.core, strict=True)
        return np.array([latin != core for latin, core in pairs], dtype=np.bool_)


def texts_of(forms: Sequence[Form]) -> Texts:
    """The texts among some forms, each once."""
    japanese = is_japanese([form.raw for form in forms if form.kind == Kind.TEXT])
    numbers: dict[tuple[str, str], int] = {}
    texts = Texts([], [], [], np.zeros(0, dtype=np.bool_), np.full(len(forms), -1, dtype=np.int32))
    foreign: list[bool] = []
    for at, form in enumerate(forms):
        if form.kind != Kind.TEXT:
            continue
        key = (form.raw, "" if form.raw.isascii() else form.language)
        if key not in numbers:
            numbers[key] = len(numbers)
            foreign.append(_add(texts, form, japanese))
        texts.text[at] = numbers[key]
    return replace(texts, foreign=np.array(foreign, dtype=np.bool_))


def _add(texts: Texts, form: Form, japanese: bool) -> bool:
    """Add a text; says whether it is foreign."""
    core = without_qualifier(form.raw)
    foreign = not is_latin(form.raw)
    texts.raw.append(form.key)
    if not foreign:
        texts.latin.append(form.key)
        texts.core.append(form.key if core == form.raw else folded(core))
        return False
    texts.latin.append(folded(latin_of(form.raw, form.language, japanese=japanese)))
    texts.core.append(folded(latin_of(core, form.language, japanese=japanese)))
    return True
