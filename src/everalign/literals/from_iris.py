"""The readable part of an IRI as one more literal of its entity."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray, Values
from everalign.literals.iris import names_of_iris

IN_THE_IRI = "name in the IRI"  # no IRI, so no attribute of a graph is called the same


def with_names_of_iris(
    values: Values, entities: Sequence[str], there: NDArray[np.bool_]
) -> Values:
    """The literals of a graph, and what the IRIs of its entities say, for those that are there.

    >>> more = with_names_of_iris(Values.none(), ["http://x.org/Ada_Lovelace"], np.array([True]))
    >>> more.attributes, more.literals
    (['name in the IRI'], ['"Ada Lovelace"'])
    """
    named = [(n, name) for n, name in enumerate(names_of_iris(entities)) if name and there[n]]
    if not named:
        return values
    ids = {name: number for number, name in enumerate(dict.fromkeys(name for _, name in named))}
    attribute, first = len(values.attributes), len(values.literals)
    rows: IntArray = np.array(
        [(entity, attribute, first + ids[name]) for entity, name in named], dtype=np.int32
    )
    return Values(
        np.concatenate([values.rows, rows]),
        [*values.attributes, IN_THE_IRI],
        [*values.literals, *map(quoted, ids)],
    )


def quoted(text: str) -> str:
    """A text as N-Triples writes a literal of one line.

    >>> quoted('The "Edge"')
    '"The \\\\"Edge\\\\""'
    """
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
