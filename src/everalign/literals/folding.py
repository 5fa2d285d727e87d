"""Texts made comparable: case, accents, width and punctuation make no difference."""

from __future__ import annotations

import re
import unicodedata

# Letters that Unicode does not take apart into a plain letter and an accent.
_PLAIN = {"ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "æ": "ae", "œ": "oe", "ı": "i"}
_NOT_PLAIN_ASCII = re.compile(r"[^a-z0-9]+")
_QUALIFIER = re.compile(r"\s*[(（]([^()（）]*)[)）]\s*$")


class _Table(dict[int, str]):
    """What becomes of each character, worked out when it is first met."""

    def __missing__(self, code: int) -> str:
        letter = chr(code)
        if 0x300 <= code <= 0x36F:  # accents; marks of other scripts are letters of their own
            made = ""
        elif letter in _PLAIN:
            made = _PLAIN[letter]
        else:
            made = letter if unicodedata.category(letter)[0] in "LNM" else " "
        self[code] = made
        return made


_TABLE = _Table()


def folded(text: str) -> str:
    """The text without what spellings differ in; of a text without letters, its signs.

    >>> folded("Saint-Étienne_(Loire)"), folded("ＡＢＣ"), folded("ガンダム"), folded("!!!")
    ('saint etienne loire', 'abc', 'ガンダム', '!!!')
    """
    if text.isascii():
        made = _NOT_PLAIN_ASCII.sub(" ", text.lower()).strip()
    else:
        plain = unicodedata.normalize("NFD", unicodedata.normalize("NFKC", text).casefold())
        made = unicodedata.normalize("NFC", " ".join(plain.translate(_TABLE).split()))
    return made or " ".join(text.split())


def without_qualifier(text: str) -> str:
    """The text without what stands in parentheses at its end, if something stands before it.

    >>> without_qualifier("Paris (Texas)"), without_qualifier("(untitled)")
    ('Paris', '(untitled)')
    """
    if text[-1:] not in (")", "）"):
        return text
    match = _QUALIFIER.search(text)
    return text[: match.start()] if match and match.start() else text
