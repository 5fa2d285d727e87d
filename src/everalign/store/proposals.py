"""The pairs that a version holds to be worth a look, not a link: one array beside its others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from everalign.ledger import Link
from everalign.store.arrays import Array

# A name that a method's own array can hardly have; if it does, it is refused.
NAME = "everalign-proposals"

_ROW = np.dtype([("left", "<i8"), ("right", "<i8"), ("score", "<f8")])


def joined(arrays: Mapping[str, Array], proposals: Sequence[Link] | None) -> dict[str, Array]:
    """A method's arrays, and the proposals where a version has any to keep (be it none)."""
    if NAME in arrays:
        raise ValueError(f"an array cannot be called {NAME!r}")
    kept = {} if proposals is None else {NAME: np.array(list(proposals), dtype=_ROW)}
    return {**arrays, **kept}


def without(files: Mapping[str, str]) -> dict[str, str]:
    """The files of a version that are its method's own."""
    return {name: checksum for name, checksum in files.items() if name != NAME}


def from_array(rows: Array) -> list[Link]:
    """The proposals that this array was made of.

    >>> from_array(joined({}, [Link(1, 10, 0.2)])[NAME])
    [Link(left=1, right=10, score=0.2)]
    """
    return [Link(*row) for row in rows.tolist()]
