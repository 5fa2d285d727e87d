"""Entity labels: in Latin script in the left graph, in Greek script in the right graph.

A label consists of words, a word of syllables, a syllable of a consonant and a vowel. The Greek
transliteration is artificial: some Latin sounds share a letter, and the order of words is
reversed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator

from everalign.benchmark.synthetic.world import KINDS, Ids, SyntheticWorld

# The vocabulary grows more slowly than the number of entities (Heaps' law), so that words, and
# some whole labels, are shared by several entities.
_MIN_VOCABULARY = 50
_VOCABULARY_FACTOR, _VOCABULARY_EXPONENT = 2, 0.75
# Exponent on a uniform draw: above 1, words at the start of the vocabulary are more frequent.
_WORD_SKEW = 1.5
_MIN_SYLLABLES, _MAX_SYLLABLES = 2, 3


@dataclass(frozen=True)
class Script:
    """The letters of a script; equal positions in two scripts are the same sound.

    Attributes:
        consonants: The spelling of each consonant.
        vowels: The spelling of each vowel.
        last_word_first: Whether the order of words is reversed.
    """

    consonants: tuple[str, ...]
    vowels: tuple[str, ...]
    last_word_first: bool


def _build_script(consonants: str, vowels: str, *, last_word_first: bool) -> Script:
    return Script(tuple(consonants.split()), tuple(vowels.split()), last_word_first)


LATIN = _build_script(
    "b d f g h j k l m n p r s t v z ch sh br tr",
    "a e i o u ai ou",
    last_word_first=False,
)
GREEK = _build_script(
    "β δ φ γ χ γι κ λ μ ν π ρ σ τ β ζ τσ σ μπρ τρ",
    "α ε ι ο ου αι ου",
    last_word_first=True,
)


@dataclass(frozen=True, eq=False, repr=False)
class EntityLabels:
    """The labels of all entities as sounds, before they are spelt in a script."""

    syllables: list[list[tuple[int, int]]]
    """For each word of the vocabulary its syllables, as indices of a consonant and a vowel."""
    word_ids: Ids
    """For each entity the ids of its words; only the first `word_count` of them are used."""
    word_count: Ids
    """For each entity the number of words of its label."""

    def __len__(self) -> int:
        return len(self.word_ids)


def draw_labels(world: SyntheticWorld, rng: Generator) -> EntityLabels:
    """Draw a label for every entity; some words, and hence some labels, are frequent.

    Args:
        world: The entities to label.
        rng: The random generator.

    Returns:
        The labels by entity id.
    """
    vocabulary_size = round(_VOCABULARY_FACTOR * len(world) ** _VOCABULARY_EXPONENT)
    vocabulary = _draw_words(max(_MIN_VOCABULARY, vocabulary_size), rng)
    max_words = max(kind.label_words for kind in KINDS)
    # As many words for every entity, so that the draws do not depend on the kinds.
    draws = rng.random((len(world), max_words))
    word_ids = (draws**_WORD_SKEW * len(vocabulary)).astype(np.int64)
    sizes = [len(world.ids_by_kind[kind.name]) for kind in KINDS]
    return EntityLabels(
        vocabulary, word_ids, np.repeat([kind.label_words for kind in KINDS], sizes)
    )


def _draw_words(count: int, rng: Generator) -> list[list[tuple[int, int]]]:
    shape = (count, _MAX_SYLLABLES)
    consonants = rng.integers(0, len(LATIN.consonants), shape).tolist()
    vowels = rng.integers(0, len(LATIN.vowels), shape).tolist()
    lengths = rng.integers(_MIN_SYLLABLES, _MAX_SYLLABLES + 1, count).tolist()
    # All words are drawn at full length and then cut: the draws do not depend on the lengths.
    return [
        list(zip(c, v, strict=True))[:length]
        for c, v, length in zip(consonants, vowels, lengths, strict=True)
    ]


def spell_labels(
    labels: EntityLabels, script: Script, entities: Ids, misspelt_share: float, rng: Generator
) -> Iterator[str]:
    """Spell the labels of some entities in a script.

    Args:
        labels: The labels of all entities.
        script: The script to spell them in.
        entities: The ids of the entities.
        misspelt_share: Share of the labels that lack a letter.
        rng: The random generator.

    Yields:
        The label of each entity, in the given order.
    """
    spelt_words = [_spell_word(syllables, script) for syllables in labels.syllables]
    misspelt = (rng.random(len(entities)) < misspelt_share).tolist()
    # The length of a label is not known here: positions are taken modulo it.
    positions = rng.integers(0, 2**31, len(entities)).tolist()
    rows = zip(
        labels.word_ids[entities].tolist(), labels.word_count[entities].tolist(), strict=True
    )
    for (word_ids, count), is_misspelt, position in zip(rows, misspelt, positions, strict=True):
        words = [spelt_words[word] for word in word_ids[:count]]
        label = " ".join(reversed(words) if script.last_word_first else words)
        yield _drop_letter(label, position) if is_misspelt else label


def _spell_word(syllables: list[tuple[int, int]], script: Script) -> str:
    return "".join(script.consonants[c] + script.vowels[v] for c, v in syllables).capitalize()


def _drop_letter(label: str, position: int) -> str:
    """Drop one letter, but neither the first letter of a word nor a space.

    >>> _drop_letter("Kadou", 1)
    'Kaou'
    """
    candidates = [i for i in range(1, len(label)) if label[i].islower()]
    dropped = candidates[position % len(candidates)]
    return label[:dropped] + label[dropped + 1 :]
