"""What the two graphs say in literals, and which of them say the same.

In a laid out graph, literals are nodes like entities, but nobody looks for their counterparts:
which of them say the same is found from their texts, numbers and dates alone, once and for all.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import Values
from everalign.literals import LiteralSettings, ValueMatches, match_values
from everalign.methods.evidence.settings import EvidenceSettings
from everalign.progress import Progress


class Wording(NamedTuple):
    """The literals of either side, and the pairs of them that say the same."""

    left: Values
    right: Values
    matches: ValueMatches

    @staticmethod
    def of(
        left: Values, right: Values, settings: EvidenceSettings, progress: Progress
    ) -> Wording | None:
        """None where one side has no literals: nothing can be compared then."""
        if not (len(left.rows) and len(right.rows)):
            return None
        files = settings.translations, settings.left_vectors, settings.right_vectors
        chosen = LiteralSettings(
            translations=files[0], left_vectors=files[1], right_vectors=files[2]
        )
        return Wording(left, right, match_values(left, right, chosen, progress))

    def nodes(
        self, entities: tuple[int, int]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]]:
        """The pairs of literals as pairs of nodes."""
        left = self.matches.left.astype(np.int64) + entities[0]
        right = self.matches.right.astype(np.int64) + entities[1]
        return left, right, self.matches.probability
