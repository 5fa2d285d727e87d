"""The index of literals: what a training computed of all of them, so that new ones cost little."""

from everalign.literals.index.literal_index import AddedLiterals, LiteralIndex, NewLiterals

__all__ = ["AddedLiterals", "LiteralIndex", "NewLiterals"]
