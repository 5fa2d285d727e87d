"""Similarities to candidates: blockwise CSLS, mutual best."""

from everalign.matching.candidates import Candidates
from everalign.matching.csls import Best, best_either_way, mutual_best, unit

__all__ = ["Best", "Candidates", "best_either_way", "mutual_best", "unit"]
