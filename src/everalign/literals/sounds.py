"""How a name sounds, roughly: its consonants, with those as one that scripts mix up."""

from __future__ import annotations

import re
from functools import lru_cache

_CLUSTERS = {
    **dict.fromkeys(("sch", "tch", "sh", "ch", "zh", "dg", "ts", "tz"), "s"),
    **dict.fromkeys(("gh", "ck", "kh"), "k"),
    **{"ph": "f", "th": "t", "ng": "n", "x": "ks"},
}
_CLUSTER = re.compile("|".join([*_CLUSTERS, "[cg](?=[eiy])"]))
_MIXED_UP = str.maketrans("cqvzjl", "kkbssr")
_VOWELS = "aeiouyhw"
_WITHOUT = re.compile(f"[{_VOWELS}]+")
_TWICE = re.compile(r"(.)\1+")
# The letters of Pinyin that sound otherwise than in names of other languages.
_PINYIN = re.compile("[xqc](?!h)")


@lru_cache(maxsize=200_000)
def skeleton(word: str, *, pinyin: bool = False) -> str:
    """What is left of a word in small Latin letters; a vowel at its beginning is an ``a``.

    >>> skeleton("scream"), skeleton("sukurimu"), skeleton("attlee"), skeleton("aideli")
    ('skrm', 'skrm', 'atr', 'adr')
    >>> skeleton("qiao", pinyin=True), skeleton("joe")
    ('s', 's')
    """
    if pinyin:
        word = _PINYIN.sub("s", word)
    first = "a" if word[:1] in _VOWELS else ""
    sounds = _CLUSTER.sub(lambda found: _CLUSTERS.get(found[0], "s"), word)
    return first + _TWICE.sub(r"\1", _WITHOUT.sub("", sounds).translate(_MIXED_UP))
