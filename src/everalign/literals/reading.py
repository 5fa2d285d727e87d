"""The literals of one graph, read: what kind each is, and what it is compared by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.forms import Form, form_of
from everalign.literals.texts import Texts, texts_of


@dataclass(frozen=True)
class Literals:
    """The literals in the rows of some values, each read once, and only when it is asked for.

    >>> values = Values(np.array([[5, 0, 1]], dtype=np.int32), ["name"], ['"ADA"', '"Bob"'])
    >>> read = Literals(values)
    >>> read.used.tolist(), read.texts.latin
    ([1], ['bob'])
    """

    values: Values

    @cached_property
    def used(self) -> IntArray:
        """Their ids, in order; literals without a row are left out."""
        return np.unique(self.values.rows[:, 2])

    @cached_property
    def forms(self) -> list[Form]:
        return [form_of(self.values.literals[at]) for at in self.used.tolist()]

    @cached_property
    def texts(self) -> Texts:
        """Those that are texts."""
        return texts_of(self.forms)

    def of_rows(self, found: IntArray) -> IntArray:
        """What was found for each literal in use, for each row of the values."""
        rows: IntArray = found[np.searchsorted(self.used, self.values.rows[:, 2])]
        return rows
