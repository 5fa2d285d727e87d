"""Similarities to candidates: blockwise CSLS, mutual best."""

from everalign.matching.candidates import Candidates
from everalign.matching.csls import mutual_best, unit

__all__ = ["Candidates", "mutual_best", "unit"]
