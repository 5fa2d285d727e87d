"""Spellings made comparable: normal form, transliteration to Latin letters, phonetic key.

Han characters are read as Japanese or as Chinese. Which of the two is decided by the language
tag, by kana in the same text, or else by how many texts of the same graph have kana.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Sequence
from functools import cache, lru_cache
from typing import Any

# Letters that Unicode does not decompose into a plain letter and an accent.
_PLAIN_LETTERS = {
    "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i",
}  # fmt: skip
_NOT_PLAIN_ASCII = re.compile(r"[^a-z0-9]+")
_QUALIFIER = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")

_KANA = re.compile(r"[\u3041-\u309f\u30a1-\u30ff]")
_KATAKANA_RUN = re.compile(r"([\u30a1-\u30ff]+)")
_HAN = r"\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003134f"
_HAN_RUN = re.compile(f"([{_HAN}]+)")
_JAPANESE_RUN = re.compile(f"([\u3005\u3041-\u309f\u30a1-\u30ff{_HAN}]+)")
_LATIN_ONLY = re.compile(r"[\x00-\u02af\u0300-\u036f\u1e00-\u1eff\u2000-\u206f]*")
_LONG_VOWEL = re.compile(r"(?<=o)[uo]|(?<=u)u")
# Share of the texts with Han characters or kana that have kana. Chinese graphs have a few
# Japanese titles; in Japanese graphs about half of the names have kana.
_MIN_KANA_SHARE = 0.1

_KANA_ROWS = {
    "アイウエオ": "a i u e o",
    "カキクケコ": "ka ki ku ke ko",
    "ガギグゲゴ": "ga gi gu ge go",
    "サシスセソ": "sa shi su se so",
    "ザジズゼゾ": "za ji zu ze zo",
    "タチツテト": "ta chi tsu te to",
    "ダヂヅデド": "da ji zu de do",
    "ナニヌネノ": "na ni nu ne no",
    "ハヒフヘホ": "ha hi fu he ho",
    "バビブベボ": "ba bi bu be bo",
    "パピプペポ": "pa pi pu pe po",
    "マミムメモ": "ma mi mu me mo",
    "ヤユヨ": "ya yu yo",
    "ラリルレロ": "ra ri ru re ro",
    "ワヰヱヲンヴ": "wa i e o n vu",
}
_SYLLABLES = {
    kana: latin
    for row, syllables in _KANA_ROWS.items()
    for kana, latin in zip(row, syllables.split(), strict=True)
}
_SMALL_VOWELS = dict(zip("ァィゥェォヮ", "aiueoa", strict=True))
_SMALL_GLIDES = dict(zip("ャュョ", ("ya", "yu", "yo"), strict=True))
_HIRAGANA_TO_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}

_CLUSTERS = {
    **dict.fromkeys(("sch", "tch", "sh", "ch", "zh", "dg", "ts", "tz"), "s"),
    **dict.fromkeys(("gh", "ck", "kh"), "k"),
    **{"ph": "f", "th": "t", "ng": "n", "x": "ks"},
}
_CLUSTER = re.compile("|".join([*_CLUSTERS, "[cg](?=[eiy])"]))
# Consonants that transliterations mix up: c and q with k, v with b, z and j with s, l with r.
_MIXED_UP = str.maketrans("cqvzjl", "kkbssr")
_VOWELS = "aeiouyhw"
_VOWEL_RUN = re.compile(f"[{_VOWELS}]+")
_DOUBLED = re.compile(r"(.)\1+")
# The letters of Pinyin that sound otherwise than in names of other languages.
_PINYIN_SIBILANT = re.compile("[xqc](?!h)")


class _CharacterTable(dict[int, str]):
    """What each character becomes in the normal form, computed when it is first met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if 0x300 <= code <= 0x36F:  # accents; marks of other scripts are letters of their own
            replacement = ""
        elif letter in _PLAIN_LETTERS:
            replacement = _PLAIN_LETTERS[letter]
        else:
            replacement = letter if unicodedata.category(letter)[0] in "LNM" else " "
        self[code] = replacement
        return replacement


_CHARACTERS = _CharacterTable()


def normalise_text(text: str) -> str:
    """Remove what spellings of one text differ in: case, accents, width, punctuation.

    Args:
        text: Any text.

    Returns:
        Words separated by single spaces; for a text without letters and digits, its signs.

    Example:
        >>> normalise_text("Saint-Étienne_(Loire)"), normalise_text("ＡＢＣ")
        ('saint etienne loire', 'abc')
        >>> normalise_text("ガンダム"), normalise_text("!!!")
        ('ガンダム', '!!!')
    """
    if text.isascii():
        normalised = _NOT_PLAIN_ASCII.sub(" ", text.lower()).strip()
    else:
        # NFKC unites widths and ligatures; NFD splits off the accents, which the table then drops.
        folded = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
        words = folded.translate(_CHARACTERS).split()
        # Composed again: marks of other scripts, as in ガ, have been kept.
        normalised = unicodedata.normalize("NFC", " ".join(words))
    return normalised or " ".join(text.split())


def strip_qualifier(text: str) -> str:
    """Remove a qualifier in parentheses from the end of a text.

    Args:
        text: Any text.

    Returns:
        What stands before the qualifier, or the whole text if nothing does.

    Example:
        >>> strip_qualifier("Paris (Texas)"), strip_qualifier("(untitled)")
        ('Paris', '(untitled)')
    """
    if text[-1:] not in (")", "）"):
        return text
    match = _QUALIFIER.search(text)
    return text[: match.start()] if match and match.start() else text


def is_latin(text: str) -> bool:
    """Tell whether all letters of a text are Latin.

    Args:
        text: Any text.

    Returns:
        False if at least one letter belongs to another script.

    Example:
        >>> is_latin("Đà Nẵng"), is_latin("Москва")
        (True, False)
    """
    return text.isascii() or _LATIN_ONLY.fullmatch(text) is not None


def is_japanese(texts: Sequence[str]) -> bool:
    """Tell whether Han characters without a language tag in these texts are Japanese.

    Args:
        texts: The texts of one graph.

    Returns:
        True if more than a tenth of the texts with Han characters or kana have kana.

    Example:
        >>> is_japanese(["東京都", "ひらがな"]), is_japanese(["北京", "上海"])
        (True, False)
    """
    asian = [text for text in texts if not text.isascii() and _JAPANESE_RUN.search(text)]
    return sum(_KANA.search(text) is not None for text in asian) > _MIN_KANA_SHARE * len(asian)


def is_chinese(text: str, language: str = "", *, japanese: bool = False) -> bool:
    """Tell whether a text has Han characters that are read as Chinese.

    Args:
        text: Any text.
        language: Its language tag, if there is one.
        japanese: How Han characters are read if neither tag nor kana decide it.

    Returns:
        False for Japanese texts and those without Han characters.

    Example:
        >>> is_chinese("東京", "zh"), is_chinese("東京", "ja"), is_chinese("東京タワー")
        (True, False, False)
    """
    if _KANA.search(text) or not _HAN_RUN.search(text):
        return False
    return language.partition("-")[0] != "ja" if language else not japanese


def transliterate(text: str, language: str = "", *, japanese: bool = False) -> str:
    """Write a text in Latin letters.

    Japanese is read by a dictionary, Chinese character by character as Pinyin, other scripts
    letter by letter.

    Args:
        text: Any text.
        language: Its language tag, if there is one.
        japanese: How Han characters are read if neither tag nor kana decide it.

    Returns:
        The Latin transliteration; a text in Latin letters as it is.

    Example:
        >>> transliterate("Москва"), transliterate("北京", "zh"), transliterate("東京", "ja")
        ('Moskva', 'beijing', 'tokyo')
    """
    if _JAPANESE_RUN.search(text):
        if is_chinese(text, language, japanese=japanese):
            text = _HAN_RUN.sub(lambda run: f" {_transliterate_chinese(run[0])} ", text)
        else:
            text = _JAPANESE_RUN.sub(lambda run: f" {_transliterate_japanese(run[0])} ", text)
        text = " ".join(text.split())
    return text if is_latin(text) else _transliterate_letters(text)


def romanise_kana(kana: str) -> str:
    """Write Japanese syllables in Latin letters, roughly in the Hepburn system.

    Args:
        kana: Hiragana or katakana; other characters are left out.

    Returns:
        Latin letters, with long vowels as short ones.

    Example:
        >>> [romanise_kana(kana) for kana in ("ビッグ", "シェフィールド", "とうきょう")]
        ['biggu', 'shefirudo', 'toukyou']
    """
    syllables: list[str] = []
    doubled = False
    for letter in kana.translate(_HIRAGANA_TO_KATAKANA):
        if letter == "ッ":
            doubled = True
        elif letter in _SMALL_VOWELS or letter in _SMALL_GLIDES:
            syllables[-1:] = [_add_small_kana(syllables[-1] if syllables else "", letter)]
        elif (latin := _SYLLABLES.get(letter)) is not None:
            syllables.append(latin[0] + latin if doubled and latin[0] not in "aiueon" else latin)
            doubled = False
    return "".join(syllables)


@lru_cache(maxsize=200_000)
def compute_phonetic_key(word: str, *, pinyin: bool = False) -> str:
    """Reduce a word to its consonants, with those merged that transliterations mix up.

    Args:
        word: A word in lower-case Latin letters.
        pinyin: Whether it is Pinyin, in which x, q and c are sibilants.

    Returns:
        The consonant classes in order; a vowel at the beginning is an ``a``.

    Example:
        >>> compute_phonetic_key("scream"), compute_phonetic_key("sukurimu")
        ('skrm', 'skrm')
        >>> compute_phonetic_key("attlee"), compute_phonetic_key("aideli")
        ('atr', 'adr')
        >>> compute_phonetic_key("qiao", pinyin=True), compute_phonetic_key("joe")
        ('s', 's')
    """
    if pinyin:
        word = _PINYIN_SIBILANT.sub("s", word)
    first = "a" if word[:1] in _VOWELS else ""
    letters = _CLUSTER.sub(lambda found: _CLUSTERS.get(found[0], "s"), word)
    return first + _DOUBLED.sub(r"\1", _VOWEL_RUN.sub("", letters).translate(_MIXED_UP))


def missing_package_note(texts: Iterable[str]) -> str | None:
    """Name the optional packages that would improve the transliteration of these texts.

    Args:
        texts: The texts of both graphs.

    Returns:
        A sentence with the packages to install, or None if nothing is missing.

    Example:
        >>> missing_package_note(["Paris", "Москва"])
    """
    asian = [text for text in texts if not text.isascii() and _JAPANESE_RUN.search(text)]
    has_kana = any(map(_KANA.search, asian))
    missing = ["fugashi"] if has_kana and _load_tagger() is None else []
    missing += ["pypinyin"] if asian and not _load_pinyin() else []
    if not missing:
        return None
    names = " and ".join(missing)
    return f"without {names}, names are compared less well: pip install 'everalign[names]'"


def _add_small_kana(syllable: str, small: str) -> str:
    """A syllable and the small letter that changes its vowel."""
    stem = syllable[:-1]
    if small in _SMALL_VOWELS:
        vowel = _SMALL_VOWELS[small]
        # ウィ is "wi", クォ is "kwo", but フォ is "fo".
        if syllable == "u":
            return "w" + vowel
        return stem + ("w" if stem in ("k", "g") else "") + vowel
    glide = _SMALL_GLIDES[small]
    # シャ is "sha", not "shya".
    return stem + (glide[1:] if stem.endswith(("sh", "ch", "j")) else glide)


def _transliterate_japanese(run: str) -> str:
    """Katakana by syllable, the rest word by word as the dictionary reads it."""
    # Split by a group: parts with odd numbers are katakana.
    parts = _KATAKANA_RUN.split(run.replace("・", " "))
    return " ".join(
        romanise_kana(part) if position % 2 else _read_by_dictionary(part)
        for position, part in enumerate(parts)
    )


@lru_cache(maxsize=100_000)
def _read_by_dictionary(text: str) -> str:
    tagger = _load_tagger() if text else None
    if tagger is None:
        return _transliterate_letters(text)
    words = (
        romanise_kana(word.feature.kana or word.surface) or _transliterate_letters(word.surface)
        for word in tagger(text)
    )
    # Names in Latin letters are mostly written without long vowels: Tokyo, not Toukyou.
    return _LONG_VOWEL.sub("", " ".join(words))


def _transliterate_chinese(run: str) -> str:
    pinyin = _load_pinyin()
    return "".join([pinyin.get(ord(sign)) or _transliterate_letters(sign) for sign in run])


def _transliterate_letters(text: str) -> str:
    from anyascii import anyascii

    return anyascii(text)


@cache
def _load_tagger() -> Any:
    try:
        from fugashi import Tagger

        return Tagger()
    except (ImportError, RuntimeError):  # the package, or its dictionary, is not installed
        return None


@cache
def _load_pinyin() -> dict[int, str]:
    """The usual reading of each Han character, without tones."""
    try:
        from pypinyin.pinyin_dict import pinyin_dict
    except ImportError:
        return {}
    return {code: normalise_text(sounds.partition(",")[0]) for code, sounds in pinyin_dict.items()}
