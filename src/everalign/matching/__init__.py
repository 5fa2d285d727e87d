"""Candidate pairs, and how pairs of vectors become candidate pairs: mutual best by CSLS."""

from everalign.matching.candidates import (
    NO_PAIRS,
    CandidatePairs,
    find_positions,
    mark_listed_pairs,
)
from everalign.matching.csls import (
    BestMatches,
    find_best_of_both_sides,
    find_mutual_best,
    normalise_rows,
)

__all__ = [
    "NO_PAIRS",
    "BestMatches",
    "CandidatePairs",
    "find_best_of_both_sides",
    "find_mutual_best",
    "find_positions",
    "mark_listed_pairs",
    "normalise_rows",
]
