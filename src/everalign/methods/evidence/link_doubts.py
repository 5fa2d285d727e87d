"""Trusted links that are not taken for certain, and how much each of them counts as evidence."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.matching import NO_PAIRS
from everalign.methods.evidence.adjacency import FloatArray

PAIR_WIDTH = 1 << 31  # more than any id: a pair as one number


class LinkDoubts(NamedTuple):
    """Trusted links that are not taken for certain.

    Attributes:
        pairs: Rows of (left, right), ascending.
        probability: How probably each is right.
    """

    pairs: IntArray = NO_PAIRS
    probability: FloatArray = np.empty(0, dtype=np.float32)

    @staticmethod
    def from_probabilities(links: IntArray, probability: FloatArray) -> LinkDoubts:
        """Keep the links that are not certain.

        Args:
            links: Rows of (left, right).
            probability: How probably each is right.

        Returns:
            Those of a probability below 1.
        """
        rows = np.flatnonzero(probability < 1)
        rows = rows[np.argsort(_number_pairs(links[rows]), kind="stable")]
        return LinkDoubts(links[rows].astype(np.int32), probability[rows].astype(np.float32))

    def weigh(self, links: NDArray[np.integer]) -> FloatArray:
        """Look up how probably links are right.

        Args:
            links: Rows of (left, right).

        Returns:
            A probability for each; 1 for those that nothing speaks against.
        """
        weight = np.ones(len(links), dtype=np.float32)
        if len(self.pairs) and len(links):
            known, keys = _number_pairs(self.pairs), _number_pairs(links)
            place = np.minimum(np.searchsorted(known, keys), len(known) - 1)
            is_known = known[place] == keys
            weight[is_known] = self.probability[place[is_known]]
        return weight

    def select_unlikely(self, max_probability: float) -> LinkDoubts:
        """Select links that are more likely wrong than right.

        Args:
            max_probability: Probability up to which they are.

        Returns:
            These links, the least probable first.
        """
        rows = np.flatnonzero(self.probability <= max_probability)
        rows = rows[np.argsort(self.probability[rows], kind="stable")]
        return self.select_rows(rows)

    def select_rows(self, rows: NDArray[np.integer] | NDArray[np.bool_]) -> LinkDoubts:
        """Select some links.

        Args:
            rows: Their numbers, or a mask.

        Returns:
            These links.
        """
        return LinkDoubts(self.pairs[rows], self.probability[rows])

    def list_changed(self, other: LinkDoubts, min_change: float) -> IntArray:
        """List the links that count more or less than before.

        Args:
            other: The doubts before.
            min_change: Least change of the probability.

        Returns:
            Rows of (left, right).
        """
        pairs = np.unique(np.concatenate([self.pairs, other.pairs]), axis=0)
        change = np.abs(self.weigh(pairs) - other.weigh(pairs))
        rows: IntArray = pairs[change >= min_change]
        return rows


NO_DOUBTS = LinkDoubts()


def _number_pairs(pairs: NDArray[np.integer]) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = pairs[:, 0].astype(np.int64) * PAIR_WIDTH + pairs[:, 1]
    return numbers
