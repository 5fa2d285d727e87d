"""Labels for the entities: one name, spelt in Latin letters on the left and in Greek on the right.

A name is made of words, a word of syllables, a syllable of a consonant and a vowel. The Greek
spelling is an invented one: it writes some Latin sounds alike, and puts the words in reverse.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from everalign.sample.arrays import Ids
from everalign.sample.schema import KINDS
from everalign.sample.world import World

_FEWEST_WORDS = 50
_WORD_SKEW = 1.5


@dataclass(frozen=True)
class Script:
    """How a side writes the sounds: equal positions in two scripts are the same sound."""

    consonants: tuple[str, ...]
    vowels: tuple[str, ...]
    last_word_first: bool


def _script(consonants: str, vowels: str, *, last_word_first: bool) -> Script:
    return Script(tuple(consonants.split()), tuple(vowels.split()), last_word_first)


LATIN = _script(
    "b d f g h j k l m n p r s t v z ch sh br tr",
    "a e i o u ai ou",
    last_word_first=False,
)
GREEK = _script(
    "β δ φ γ χ γι κ λ μ ν π ρ σ τ β ζ τσ σ μπρ τρ",
    "α ε ι ο ου αι ου",
    last_word_first=True,
)


@dataclass(frozen=True, eq=False, repr=False)
class Names:
    """What the entities of a world are called, before it is written in a script."""

    lexicon: list[list[tuple[int, int]]]
    """For each word its syllables, each the number of a consonant and of a vowel."""
    words: Ids
    """For each entity the numbers of its words."""
    word_count: Ids

    def __len__(self) -> int:
        return len(self.words)


def invent_names(world: World, rng: Generator) -> Names:
    """Name every entity of the world; some words, and so some names, are popular."""
    lexicon = _invent_words(max(_FEWEST_WORDS, round(2 * len(world) ** 0.75)), rng)
    most = max(kind.words for kind in KINDS)
    words = (rng.random((len(world), most)) ** _WORD_SKEW * len(lexicon)).astype(np.int64)
    sizes = [len(world.kinds[kind.name]) for kind in KINDS]
    return Names(lexicon, words, np.repeat([kind.words for kind in KINDS], sizes))


def _invent_words(count: int, rng: Generator) -> list[list[tuple[int, int]]]:
    consonants = rng.integers(0, len(LATIN.consonants), (count, 3)).tolist()
    vowels = rng.integers(0, len(LATIN.vowels), (count, 3)).tolist()
    lengths = rng.integers(2, 4, count).tolist()
    return [
        list(zip(c, v, strict=True))[:length]
        for c, v, length in zip(consonants, vowels, lengths, strict=True)
    ]


def labels(
    names: Names, script: Script, entities: Ids, misspelt_share: float, rng: Generator
) -> Iterator[str]:
    """Yield how each of the entities is written in the script; misspelt ones lack a letter."""
    spelt = [_spell(word, script) for word in names.lexicon]
    misspelt = (rng.random(len(entities)) < misspelt_share).tolist()
    slips = rng.integers(0, 2**31, len(entities)).tolist()
    rows = zip(names.words[entities].tolist(), names.word_count[entities].tolist(), strict=True)
    for (words, count), wrong, slip in zip(rows, misspelt, slips, strict=True):
        chosen = [spelt[word] for word in words[:count]]
        label = " ".join(reversed(chosen) if script.last_word_first else chosen)
        yield _without_a_letter(label, slip) if wrong else label


def _spell(syllables: list[tuple[int, int]], script: Script) -> str:
    return "".join(script.consonants[c] + script.vowels[v] for c, v in syllables).capitalize()


def _without_a_letter(label: str, slip: int) -> str:
    """Drop one letter, but no first letter of a word and no space.

    >>> _without_a_letter("Kadou", 1)
    'Kaou'
    """
    places = [i for i in range(1, len(label)) if label[i].islower()]
    place = places[slip % len(places)]
    return label[:place] + label[place + 1 :]
