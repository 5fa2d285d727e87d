"""Other scripts → Latin letters: Japanese by its readings, Chinese by Pinyin, others by sign.

Han characters are read as Japanese or as Chinese: which of the two is said by the language tag,
by kana in the same text, or else by how many texts of the same graph have kana.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

from everalign.literals.folding import folded
from everalign.literals.kana import romanised

_KANA = re.compile(r"[\u3041-\u309f\u30a1-\u30ff]")
_KATAKANA_RUN = re.compile(r"([\u30a1-\u30ff]+)")
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_RUN = re.compile(f"([{_HAN}]+)")
_JAPANESE_RUN = re.compile(f"([\u3005\u3041-\u309f\u30a1-\u30ff{_HAN}]+)")
_LATIN_ONLY = re.compile(r"[\x00-\u02af\u0300-\u036f\u1e00-\u1eff\u2000-\u206f]*")
_LONG_VOWEL = re.compile(r"(?<=o)[uo]|(?<=u)u")
_KANA_SHARE = 0.1  # of the texts with Han characters or kana, from which on a graph is Japanese


def is_latin(text: str) -> bool:
    """Whether all letters of a text are Latin ones.

    >>> is_latin("Đà Nẵng"), is_latin("Москва")
    (True, False)
    """
    return text.isascii() or _LATIN_ONLY.fullmatch(text) is not None


def is_japanese(texts: Sequence[str]) -> bool:
    """Whether Han characters among these texts are Japanese ones.

    >>> is_japanese(["東京都", "ひらがな"]), is_japanese(["北京", "上海"])
    (True, False)
    """
    asian = [text for text in texts if not text.isascii() and _JAPANESE_RUN.search(text)]
    return sum(_KANA.search(text) is not None for text in asian) > _KANA_SHARE * len(asian)


def latin_of(text: str, language: str = "", *, japanese: bool = False) -> str:
    """The text in Latin letters. `japanese` says how to read it if nothing else does.

    >>> latin_of("Москва"), latin_of("北京", "zh"), latin_of("東京", "ja")
    ('Moskva', 'beijing', 'tokyo')
    """
    if _JAPANESE_RUN.search(text):
        if is_chinese(text, language, japanese=japanese):
            text = _HAN_RUN.sub(lambda run: f" {_of_chinese(run[0])} ", text)
        else:
            text = _JAPANESE_RUN.sub(lambda run: f" {_of_japanese(run[0])} ", text)
        text = " ".join(text.split())
    return text if is_latin(text) else _of_any(text)


def is_chinese(text: str, language: str = "", *, japanese: bool = False) -> bool:
    """Whether a text has Han characters that are read as Chinese.

    >>> is_chinese("東京", "zh"), is_chinese("東京", "ja"), is_chinese("東京タワー")
    (True, False, False)
    """
    if _KANA.search(text) or not _HAN_RUN.search(text):
        return False
    return language.partition("-")[0] != "ja" if language else not japanese


def note_on(texts: Iterable[str]) -> str | None:
    """What to install so that these texts are read well, if something is missing.

    >>> note_on(["Paris", "Москва"])
    """
    asian = [text for text in texts if not text.isascii() and _JAPANESE_RUN.search(text)]
    kana = any(map(_KANA.search, asian))
    absent = ["fugashi"] if kana and _tagger() is None else []
    absent += ["pypinyin"] if asian and not _readings() else []
    if not absent:
        return None
    names = " and ".join(absent)
    return f"without {names}, names are compared less well: pip install 'everalign[names]'"


def _of_japanese(run: str) -> str:
    """Katakana as it sounds, the rest word by word as a dictionary reads it."""
    parts = _KATAKANA_RUN.split(run.replace("・", " "))
    return " ".join(
        romanised(part) if at % 2 else _by_dictionary(part) for at, part in enumerate(parts)
    )


@lru_cache(maxsize=100_000)
def _by_dictionary(text: str) -> str:
    tagger = _tagger() if text else None
    if tagger is None:
        return _of_any(text)
    words = (
        romanised(word.feature.kana or word.surface) or _of_any(word.surface)
        for word in tagger(text)
    )
    return _LONG_VOWEL.sub("", " ".join(words))


def _of_chinese(run: str) -> str:
    readings = _readings()
    return "".join([readings.get(ord(sign)) or _of_any(sign) for sign in run])


def _of_any(text: str) -> str:
    from anyascii import anyascii

    return anyascii(text)


@cache
def _tagger() -> Any:
    try:
        from fugashi import Tagger

        return Tagger()
    except (ImportError, RuntimeError):  # the package, or its dictionary, is not there
        return None


@cache
def _readings() -> dict[int, str]:
    """The usual reading of each Han character, without tones."""
    try:
        from pypinyin.pinyin_dict import pinyin_dict
    except ImportError:
        return {}
    return {code: folded(sounds.partition(",")[0]) for code, sounds in pinyin_dict.items()}
