"""What the two graphs say in literals, and which of them say the same.

In a laid out graph, literals are nodes like entities, but nobody looks for their counterparts:
which of them say the same is found from their texts, numbers and dates alone, once and for all.
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray, Values
from everalign.literals import Literals, ValueMatches, match_literals
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.methods.evidence.texts import Names, names_of
from everalign.methods.evidence.units import Units, units_of
from everalign.methods.protocol import Problem
from everalign.progress import Progress


class Kept(NamedTuple):
    """Matches of literals from an earlier version, and which literals they are of."""

    of: int
    matches: ValueMatches

    @staticmethod
    def none() -> Kept:
        return Kept(0, ValueMatches.none())


@dataclass(frozen=True)
class Wording:
    """The literals of either side, and the pairs of them that say the same."""

    left: Literals
    right: Literals
    matches: ValueMatches
    entities: tuple[int, int]

    @staticmethod
    def of(
        problem: Problem,
        anchors: IntArray,
        settings: EvidenceSettings,
        kept: Kept,
        progress: Progress,
    ) -> Wording | None:
        """None where one side has no literals: nothing can be compared then.

        Where no literal has come or gone, the matches of the last version serve again. Names of
        `anchors` teach how names are translated; hidden links must not be among them.
        """
        said = problem.left_values, problem.right_values
        entities = problem.left.entities, problem.right.entities
        if not all(len(values.rows) for values in said):
            return None
        left, right = map(Literals, said)
        matches = kept.matches
        if kept.of != _checksum(left, right):
            matches = match_literals(left, right, settings.literals, progress, anchors)
        return Wording(left, right, matches, entities)

    def kept(self) -> Kept:
        """What the next version can use."""
        return Kept(_checksum(self.left, self.right), self.matches)

    @property
    def values(self) -> tuple[Values, Values]:
        return self.left.values, self.right.values

    @cached_property
    def names(self) -> tuple[Names, Names]:
        """What the entities of either side are called."""
        left, right = map(names_of, (self.left, self.right), self.entities)
        return left, right

    @cached_property
    def units(self) -> tuple[Units, Units]:
        """The parts of these names."""
        left, right = map(units_of, self.names)
        return left, right

    def nodes(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The pairs of literals as pairs of nodes."""
        left = self.matches.left.astype(np.int64) + self.entities[0]
        right = self.matches.right.astype(np.int64) + self.entities[1]
        return left, right, self.matches.probability


def _checksum(left: Literals, right: Literals) -> int:
    """Of the ids of all literals in use; an id stands for the same literal for ever."""
    return zlib.crc32(right.used.tobytes(), zlib.crc32(left.used.tobytes()))
