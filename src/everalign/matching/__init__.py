"""Candidate pairs. How vectors become candidate pairs is in `csls`, which takes long to load."""

from everalign.matching.candidates import (
    NO_PAIRS,
    CandidatePairs,
    find_positions,
    mark_listed_pairs,
)

__all__ = [
    "NO_PAIRS",
    "CandidatePairs",
    "find_positions",
    "mark_listed_pairs",
]
