"""Texts of one graph in the forms that they are compared in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.folding import folded, without_qualifier
from everalign.literals.forms import Form, Kind
from everalign.literals.scripts import is_chinese, is_japanese, is_latin, latin_of
from everalign.literals.sounds import skeleton


@dataclass(frozen=True)
class Texts:
    """The different texts of a graph: as written, in Latin letters, without a qualifier.

    `foreign` tells which have letters that are not Latin, `chinese` which of these are read by
    Pinyin, `text` which of them each form is (−1 for a form that is no text).
    """

    raw: list[str]
    latin: list[str]
    core: list[str]
    foreign: NDArray[np.bool_]
    chinese: NDArray[np.bool_]
    text: IntArray

    def __len__(self) -> int:
        return len(self.raw)

    @cached_property
    def sounds(self) -> list[str]:
        """How the texts sound, word by word."""
        return [
            " ".join([skeleton(word, pinyin=pinyin) for word in text.split()])
            for text, pinyin in zip(self.latin, self.chinese.tolist(), strict=True)
        ]

    def qualified(self) -> NDArray[np.bool_]:
        """Which texts have a qualifier."""
        pairs = zip(self.latin, self.core, strict=True)
        return np.array([latin != core for latin, core in pairs], dtype=np.bool_)


def texts_of(forms: Sequence[Form]) -> Texts:
    """The texts among some forms, each once."""
    japanese = is_japanese([form.raw for form in forms if form.kind == Kind.TEXT])
    numbers: dict[tuple[str, str], int] = {}
    text = np.full(len(forms), -1, dtype=np.int32)
    made: list[_Made] = []
    for at, form in enumerate(forms):
        if form.kind != Kind.TEXT:
            continue
        key = (form.raw, "" if form.raw.isascii() else form.language)
        if key not in numbers:
            numbers[key] = len(numbers)
            made.append(_made(form, japanese))
        text[at] = numbers[key]
    raw, latin, core, foreign, chinese = zip(*made, strict=True) if made else ((),) * 5
    flags = np.array(foreign, dtype=np.bool_), np.array(chinese, dtype=np.bool_)
    return Texts(list(raw), list(latin), list(core), *flags, text)


def translated_by(texts: Texts, translations: Mapping[str, str]) -> Texts:
    """The texts with their translations, where there are any, in place of their Latin form."""
    said = [translations.get(raw) for raw in texts.raw]
    mine = np.array([each is not None for each in said], dtype=np.bool_)
    return replace(
        texts,
        latin=[each or latin for each, latin in zip(said, texts.latin, strict=True)],
        core=[each or core for each, core in zip(said, texts.core, strict=True)],
        foreign=texts.foreign & ~mine,
        chinese=texts.chinese & ~mine,
    )


class _Made(NamedTuple):
    raw: str
    latin: str
    core: str
    foreign: bool
    chinese: bool


def _made(form: Form, japanese: bool) -> _Made:
    raw, language = form.raw, form.language
    core = without_qualifier(raw)
    if is_latin(raw):
        return _Made(form.key, form.key, form.key if core == raw else folded(core), False, False)
    latin = folded(latin_of(raw, language, japanese=japanese))
    short = latin if core == raw else folded(latin_of(core, language, japanese=japanese))
    return _Made(form.key, latin, short, True, is_chinese(raw, language, japanese=japanese))
