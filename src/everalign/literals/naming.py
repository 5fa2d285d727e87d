"""The name of each entity: the text of the attribute that most entities have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.forms import Kind, form_of
from everalign.literals.texts import Texts, texts_of


class NamedEntities(NamedTuple):
    """Entities that have a name, in order, and their names as texts to compare."""

    entity: IntArray
    name: IntArray
    texts: Texts


def named_entities(
    values: Values, among: IntArray, translations: Mapping[str, str] | None = None
) -> NamedEntities:
    """The names of those entities that are among the given ones.

    `translations` are folded texts; a name that has one is replaced by it.

    >>> values = Values(np.array([[5, 0, 0]], dtype=np.int32), ["label"], ['"Москва"'])
    >>> named = named_entities(values, np.array([5, 6], dtype=np.int32))
    >>> named.entity.tolist(), named.texts.latin
    ([5], ['moskva'])
    """
    rows = values.rows[np.isin(values.rows[:, 0], among)]
    used = np.unique(rows[:, 2])
    forms = [form_of(values.literals[at]) for at in used.tolist()]
    if translations:
        forms = [
            form._replace(raw=said, key=said)
            if (said := translations.get(form.key)) and form.kind == Kind.TEXT
            else form
            for form in forms
        ]
    texts = texts_of(forms)
    text = texts.text[np.searchsorted(used, rows[:, 2])]
    rows, text = rows[text >= 0], text[text >= 0]
    mine = rows[:, 1] == np.bincount(rows[:, 1]).argmax() if len(rows) else text >= 0
    entity, first = np.unique(rows[mine, 0], return_index=True)
    return NamedEntities(entity.astype(np.int32), text[mine][first], texts)
