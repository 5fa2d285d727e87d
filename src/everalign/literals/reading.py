"""The literals of one graph, read: what kind each is, and what it is compared by."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.forms import Form, form_of
from everalign.literals.settings import DEFAULTS
from everalign.literals.texts import Texts, texts_of


class Literals(NamedTuple):
    """The literals of `values` that are in use: their ids in order, the form of each, and those
    that are texts."""

    values: Values
    used: IntArray
    forms: list[Form]
    texts: Texts

    @staticmethod
    def of(values: Values, longest: int = DEFAULTS.longest) -> Literals:
        """Literals without a row are left out. Texts longer than `longest` are none.

        >>> values = Values(np.array([[5, 0, 1]], dtype=np.int32), ["name"], ['"ADA"', '"Bob"'])
        >>> read = Literals.of(values)
        >>> read.used.tolist(), read.texts.latin
        ([1], ['bob'])
        """
        used = np.unique(values.rows[:, 2])
        forms = [form_of(values.literals[at], longest) for at in used.tolist()]
        return Literals(values, used, forms, texts_of(forms))

    def text_of_row(self) -> IntArray:
        """For each row of the values the number of its text, -1 where it has none."""
        text: IntArray = self.texts.text[np.searchsorted(self.used, self.values.rows[:, 2])]
        return text
