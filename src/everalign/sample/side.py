"""One graph of a sample: a view of the world, with strings for its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.random import Generator, SeedSequence, default_rng

from everalign.sample.names import GREEK, LATIN, Names, Script, labels
from everalign.sample.render import View
from everalign.sample.views import LEFT, RIGHT, Rule

Triple = tuple[str, str, str]

_CODE_DIGITS = 8


@dataclass(frozen=True)
class Language:
    """What is peculiar to a side: the IRIs, the rules by which it tells facts, the script."""

    base: str
    rules: tuple[Rule, ...]
    script: Script


LEFT_LANGUAGE = Language("http://left.example/", LEFT, LATIN)
RIGHT_LANGUAGE = Language("http://right.example/", RIGHT, GREEK)


@dataclass(frozen=True, eq=False, repr=False)
class Side:
    """One graph of a sample. The strings of triples and labels are made when asked for."""

    language: Language
    view: View
    entities: list[str]
    relations: list[str]
    label_seed: SeedSequence

    def triples(self, snapshot: int) -> list[Triple]:
        """Return the triples that come with the snapshot."""
        entities, relations = self.entities, self.relations
        rows = self.view.snapshots[snapshot].tolist()
        return [(entities[h], relations[r], entities[t]) for h, r, t in rows]

    def labels(self, names: Names, misspelt_share: float) -> Iterator[tuple[str, str]]:
        """Yield entity and label in random order; entities of this side's own have no label."""
        rng = default_rng(self.label_seed)
        seen = self.view.first_seen()[: len(names)] < len(self.view.snapshots)
        named = rng.permutation(np.flatnonzero(seen))
        spelt = labels(names, self.language.script, named, misspelt_share, rng)
        yield from zip((self.entities[i] for i in named.tolist()), spelt, strict=True)


def name_view(view: View, language: Language, seed: SeedSequence) -> Side:
    """Give the view's entities random IRIs, and its relations those of the language."""
    code_seed, label_seed = seed.spawn(2)
    codes = _codes(view.entities, default_rng(code_seed))
    entities = [f"{language.base}entity/{code}" for code in codes]
    relations = [f"{language.base}property/{name}" for name in view.relations]
    return Side(language, view, entities, relations, label_seed)


def _codes(count: int, rng: Generator) -> list[str]:
    """Return distinct random codes, so that a name says nothing about what it names."""
    numbers = rng.choice(16**_CODE_DIGITS, count, replace=False)
    return [f"{number:0{_CODE_DIGITS}x}" for number in numbers.tolist()]
