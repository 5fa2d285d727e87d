"""Literals: names, numbers and dates of two graphs → pairs that say the same."""

from everalign.literals.iris import names_of_iris
from everalign.literals.matches import ValueMatches
from everalign.literals.matching import match_values
from everalign.literals.settings import LiteralSettings

__all__ = ["LiteralSettings", "ValueMatches", "match_values", "names_of_iris"]
