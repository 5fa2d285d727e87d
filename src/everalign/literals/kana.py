"""Japanese syllables → Latin letters, roughly as Hepburn wrote them."""

from __future__ import annotations

_ROWS = {
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
_SYLLABLE = {
    kana: latin
    for row, sounds in _ROWS.items()
    for kana, latin in zip(row, sounds.split(), strict=True)
}
_SMALL_VOWEL = dict(zip("ァィゥェォヮ", "aiueoa", strict=True))
_SMALL_GLIDE = dict(zip("ャュョ", ("ya", "yu", "yo"), strict=True))
_HIRAGANA_TO_KATAKANA = {code: code + 0x60 for code in range(0x3041, 0x3097)}


def romanised(kana: str) -> str:
    """Kana in Latin letters, long vowels as short ones; other characters are left out.

    >>> [romanised(kana) for kana in ("ビッグ", "シェフィールド", "とうきょう", "ウィリアム")]
    ['biggu', 'shefirudo', 'toukyou', 'wiriamu']
    """
    parts: list[str] = []
    doubled = False
    for letter in kana.translate(_HIRAGANA_TO_KATAKANA):
        if letter == "ッ":
            doubled = True
        elif letter in _SMALL_VOWEL or letter in _SMALL_GLIDE:
            parts[-1:] = [_joined(parts[-1] if parts else "", letter)]
        elif (sound := _SYLLABLE.get(letter)) is not None:
            parts.append(sound[0] + sound if doubled and sound[0] not in "aiueon" else sound)
            doubled = False
    return "".join(parts)


def _joined(sound: str, small: str) -> str:
    """A syllable and the small letter that changes its vowel."""
    stem = sound[:-1]
    if small in _SMALL_VOWEL:
        vowel = _SMALL_VOWEL[small]
        if sound == "u":
            return "w" + vowel
        return stem + ("w" if stem in ("k", "g") else "") + vowel
    glide = _SMALL_GLIDE[small]
    return stem + (glide[1:] if stem.endswith(("sh", "ch", "j")) else glide)
