"""The seam between graphs and candidates: one small protocol and a visible registry."""

from everalign.methods.protocol import (
    Arrays,
    Consideration,
    Explaining,
    Method,
    Piece,
    Problem,
    RelationMatch,
)
from everalign.methods.registry import (
    METHODS,
    Entry,
    all_methods,
    entry_of,
    make_method,
    register,
    with_files_found,
)

__all__ = [
    "METHODS",
    "Arrays",
    "Consideration",
    "Entry",
    "Explaining",
    "Method",
    "Piece",
    "Problem",
    "RelationMatch",
    "all_methods",
    "entry_of",
    "make_method",
    "register",
    "with_files_found",
]
