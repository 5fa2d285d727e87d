"""The name of each entity: the text of the attribute that names most entities."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from everalign.graph import IntArray, Values
from everalign.literals.forms import Form, Kind
from everalign.literals.reading import Literals
from everalign.literals.texts import Texts, texts_of

# The last part of rdfs:label, skos:prefLabel, foaf:name, schema:name, dct:title and the like.
_NAMING = re.compile(r"(?:.*[#/:])?(?:label|pref_?label|name|title)", re.IGNORECASE)


class NamedEntities(NamedTuple):
    """Entities that have a name, in order, and their names as texts to compare."""

    entity: IntArray
    name: IntArray
    texts: Texts


def named_entities(
    values: Values, among: IntArray, translations: Mapping[str, str] | None = None
) -> NamedEntities:
    """The names of those entities that are among the given ones.

    A name stands in the attribute that most entities have a text in, of those that are called
    label, name or title if there are any. `translations` are folded texts; a name that has one is
    replaced by it.

    >>> values = Values(np.array([[5, 0, 0]], dtype=np.int32), ["label"], ['"Москва"'])
    >>> named = named_entities(values, np.array([5, 6], dtype=np.int32))
    >>> named.entity.tolist(), named.texts.latin
    ([5], ['moskva'])
    """
    rows = values.rows[np.isin(values.rows[:, 0], among)]
    read = Literals(replace(values, rows=rows))
    texts = texts_of(_translated(read.forms, translations)) if translations else read.texts
    text = read.of_rows(texts.text)
    rows, text = rows[text >= 0], text[text >= 0]
    mine = rows[:, 1] == _naming(rows, values.attributes) if len(rows) else text >= 0
    entity, first = np.unique(rows[mine, 0], return_index=True)
    return NamedEntities(entity.astype(np.int32), text[mine][first], texts)


def _translated(forms: Sequence[Form], translations: Mapping[str, str]) -> list[Form]:
    return [
        form._replace(raw=said, key=said)
        if (said := translations.get(form.key)) and form.kind == Kind.TEXT
        else form
        for form in forms
    ]


def _naming(rows: IntArray, attributes: Sequence[str]) -> int:
    """The attribute whose texts are names."""
    count = np.bincount(rows[:, 1], minlength=len(attributes))
    named = np.array([_NAMING.fullmatch(attribute) is not None for attribute in attributes])
    return int((count * named if count[named].any() else count).argmax())
