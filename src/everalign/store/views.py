"""The links in force as arrays, so that no one has to read all events of a long life.

A view kept in this way is a shortcut: the events say the same.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from everalign.ledger import Standing, View
from everalign.store.arrays import Array

_COLUMNS = {"left": "<i8", "right": "<i8", "score": "<f8", "since": "<i8", "confirmed": "?"}
_ROW = np.dtype(list(_COLUMNS.items()))


def to_arrays(view: View) -> dict[str, Array]:
    """A view as two arrays, its links and the rejected pairs."""
    links = [(*pair, *standing) for pair, standing in view.links.items()]
    rejected = np.array(sorted(view.rejected), dtype="<i8").reshape(-1, 2)
    return {"links": np.array(links, dtype=_ROW), "rejected": rejected}


def from_arrays(arrays: Mapping[str, Array]) -> View:
    """The view that these arrays were made of."""
    rows = arrays["links"]
    left, right, score, since, confirmed = (rows[column].tolist() for column in _COLUMNS)
    pairs = zip(left, right, strict=True)
    standings = map(Standing, score, since, confirmed)
    rejected = frozenset(map(tuple, arrays["rejected"].tolist()))
    return View(dict(zip(pairs, standings, strict=True)), rejected)
