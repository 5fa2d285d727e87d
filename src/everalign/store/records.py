"""The values that go into the store and come out of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias, TypeVar

import numpy as np

from everalign.store.arrays import Array

Side: TypeAlias = Literal["left", "right"]
Sort: TypeAlias = Literal["entity", "relation", "attribute", "literal"]
Roll: TypeAlias = tuple[Side, Sort]
Json: TypeAlias = bool | int | float | str | Sequence["Json"] | Mapping[str, "Json"] | None

Key = TypeVar("Key")
Value = TypeVar("Value")


@dataclass(frozen=True)
class Delta:
    """What one update brings: arrays of ids, and the names that no earlier delta had.

    `source` and `counts` are for people; `full` asks to look at everything again. Where
    `asks_method` is false, people have spoken and no method has to work. A delta read from the
    store reads its arrays and names from the disk when they are asked for.
    """

    digest: str
    source: str
    arrays: Mapping[str, Array]
    new_names: Mapping[Roll, Sequence[str]] = field(default_factory=dict)
    counts: Mapping[str, int] = field(default_factory=dict)
    full: bool = False
    asks_method: bool = True


@dataclass(frozen=True)
class Version:
    """One version of the alignment: when it was made, from which delta, and facts about it."""

    number: int
    made_at: str
    delta: str | None
    info: Mapping[str, Json]


class Lazy(Mapping[Key, Value]):
    """A mapping whose values are read each time they are asked for."""

    def __init__(self, keys: Iterable[Key], read: Callable[[Key], Value]) -> None:
        self._keys = dict.fromkeys(keys)
        self._read = read

    def __getitem__(self, key: Key) -> Value:
        if key not in self._keys:
            raise KeyError(key)
        return self._read(key)

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


def digest_of(arrays: Mapping[str, Array]) -> str:
    """The identity of a delta's content: its rows of ids, in whatever order and however often.

    Ids mean the same thing for the whole life of a state directory, so the same input gives
    the same digest there, also after its names have become known. Take the rows as they came
    in, before those that are known already are left out.

    >>> once = digest_of({"left_triples": np.array([[0, 0, 1], [1, 0, 2]])})
    >>> once == digest_of({"left_triples": np.array([[1, 0, 2], [0, 0, 1], [1, 0, 2]])})
    True
    """
    digest = hashlib.sha256()
    for name in sorted(arrays):
        rows = _distinct_rows(arrays[name])
        digest.update(f"{name} {rows.shape}\n".encode())
        digest.update(rows.tobytes())
    return digest.hexdigest()


def _distinct_rows(array: Array) -> Array:
    rows = np.asarray(array).astype("<i8", casting="safe", copy=False)
    rows = rows[np.lexsort(rows.T[::-1])]
    repeats = (rows[1:] == rows[:-1]).all(axis=1)
    return np.ascontiguousarray(rows[np.append(True, ~repeats)[: len(rows)]])
