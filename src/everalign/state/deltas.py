"""Deltas and versions: what goes into the state directory and comes out of it."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal, TypeAlias, get_args

import numpy as np

from everalign.state.array_format import Array

Side: TypeAlias = Literal["left", "right"]
NameKind: TypeAlias = Literal["entity", "relation", "attribute", "literal"]
NameList: TypeAlias = tuple[Side, NameKind]
Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

NAME_KINDS: tuple[NameKind, ...] = get_args(NameKind)
# In the order of their numbers in the database.
NAME_LISTS: tuple[NameList, ...] = tuple(product(get_args(Side), NAME_KINDS))
# Rows (entity, attribute, literal) of the left and the right entities that are new.
IRI_NAME_ARRAYS = ("left_iri_names", "right_iri_names")


@dataclass(frozen=True)
class Delta:
    """What one update changes: arrays of ids, and the names that no earlier delta had.

    A delta that comes from the store reads its arrays and names when they are accessed.

    Attributes:
        digest: The digest of the whole input, see `compute_digest`.
        source: Where the input came from, for people.
        arrays: Rows of ids by name, such as `left_added_triples`. The arrays `IRI_NAME_ARRAYS`
            belong to the new names: they say what is readable in the IRIs of new entities.
        new_names: New names by side and kind, in the order of their ids.
        counts: Numbers about the input, for people.
        rescore_all: Whether the method scores all entities again, not only the affected ones.
        runs_method: Whether the method runs. It does not where only people have decided.
        inbox_upto: The number of the last decision in the inbox that its version takes up.
        prefixes: The namespace of each prefix that the files of a side declare.
    """

    digest: str
    source: str
    arrays: Mapping[str, Array]
    new_names: Mapping[NameList, Sequence[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    rescore_all: bool = False
    runs_method: bool = True
    inbox_upto: int = 0
    prefixes: Mapping[Side, Mapping[str, str]] = field(default_factory=dict)

    @property
    def has_effect(self) -> bool:
        """Whether it changes any fact or decision."""
        return any(len(rows) for name, rows in self.arrays.items() if name not in IRI_NAME_ARRAYS)


@dataclass(frozen=True)
class MethodState:
    """Which versions make up what the method remembers at a version.

    Attributes:
        version: The version at which the method last ran; None before the first.
        base: The version that has stored everything.
        changes: The later versions that have stored what changed, oldest first, and how often
            changes were merged to those of each.
    """

    version: int | None = None
    base: int | None = None
    changes: tuple[tuple[int, int], ...] = ()

    def list_versions(self) -> list[int]:
        """List the versions whose files are read.

        Returns:
            The one that has stored everything, and those with changes.
        """
        return [] if self.base is None else [self.base, *(number for number, _ in self.changes)]

    def to_json(self) -> str:
        """Convert to JSON.

        Returns:
            A text that `parse` reads.
        """
        return json.dumps([self.version, self.base, self.changes])

    @staticmethod
    def parse(text: str) -> MethodState:
        """Convert from JSON.

        Args:
            text: What `to_json` has returned.

        Returns:
            The same.
        """
        version, base, changes = json.loads(text)
        return MethodState(version, base, tuple((number, level) for number, level in changes))


@dataclass(frozen=True)
class Version:
    """One version of the alignment.

    Attributes:
        number: The number of the version; the first has 0.
        made_at: When it was committed, as ISO 8601 in UTC.
        delta: The digest of the delta that it applied, or None.
        info: Facts about it, for people.
        method_state: Which versions make up what the method remembers.
        given_links: How many links in force people have given.
        found_links: How many links in force the method has found.
        rejected_pairs: How many pairs are rejected.
        inbox_upto: The number of the last decision in the inbox that it has taken up.
        digest: The digest of its rows and of the digest before it.
    """

    number: int
    made_at: str
    delta: str | None
    info: Mapping[str, Json]
    method_state: MethodState
    given_links: int
    found_links: int
    rejected_pairs: int
    inbox_upto: int
    digest: str

    @property
    def counts(self) -> tuple[int, int, int]:
        """The numbers of given links, found links and rejected pairs."""
        return self.given_links, self.found_links, self.rejected_pairs


def compute_digest(arrays: Mapping[str, Array]) -> str:
    """Compute a digest of rows of ids that ignores their order and duplicates.

    By it, an `init` that is run again after a crash recognises its own input.

    >>> first = compute_digest({"left_triples": np.array([[0, 0, 1], [1, 0, 2]])})
    >>> again = compute_digest({"left_triples": np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]])})
    >>> first == again
    True

    Args:
        arrays: Rows of ids by name.

    Returns:
        A SHA-256 checksum in hexadecimal.
    """
    digest = hashlib.sha256()
    # Sorted: the digest must not depend on the order in which the arrays were collected.
    for name in sorted(arrays):
        keys, sizes = _sort_row_keys(np.asarray(arrays[name]))
        # The shape marks where one array ends and the next begins.
        digest.update(f"{name} {len(keys)} {sizes}\n".encode())
        digest.update(keys.data)
    return digest.hexdigest()


def _sort_row_keys(rows: Array) -> tuple[Array, list[int]]:
    """Return distinct rows in sorted order, and one more than the largest id of each column."""
    columns = rows.shape[1]
    sizes = [int(size) + 1 for size in rows.max(axis=0)] if len(rows) else [0] * columns
    # Always little-endian 64-bit, so that the digest does not depend on the machine or dtype.
    if math.prod(sizes) < 2**63 and (not len(rows) or rows.min() >= 0):
        # One number for a row: it is sorted faster, and takes less memory.
        keys = rows[:, 0].astype("<i8")
        for column in range(1, columns):
            keys *= sizes[column]
            keys += rows[:, column]
        keys.sort()
        return keys[np.append(True, keys[1:] != keys[:-1])[: len(keys)]], sizes
    wide = rows.astype("<i8", casting="safe", copy=False)
    # `lexsort` takes its primary key last.
    wide = wide[np.lexsort(wide.T[::-1])]
    is_repeated = (wide[1:] == wide[:-1]).all(axis=1)
    # The first row is never a repetition; the slice is for an array without rows.
    return np.ascontiguousarray(wide[np.append(True, ~is_repeated)[: len(wide)]]), sizes
