"""Tables that are read from memory-mapped arrays: nothing is built when they are loaded.

What the last training saw is in arrays that stay as they are. What came since is in small arrays
whose names begin with `added_`; they are written again with each addition, and the next training
merges both.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, Self, TypeAlias, get_type_hints

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]
Rows: TypeAlias = NDArray[np.signedinteger]

ADDED_PREFIX = "added_"


@dataclass(frozen=True)
class ArrayBundle:
    """A dataclass of arrays and of other bundles, saved under flat names.

    Arrays cannot be written to: those of a file never, and compiled functions are compiled once
    for all.
    """

    def __post_init__(self) -> None:
        for name, bundle_type in _list_fields(type(self)).items():
            if bundle_type is None:
                object.__setattr__(self, name, _protect(getattr(self, name)))

    def to_arrays(self, *, added_only: bool = False) -> dict[str, Array]:
        """List the arrays.

        Args:
            added_only: Leave out those that stay as they are until the next training.

        Returns:
            Arrays by name; those of a bundle within have its name and a dot before theirs.
        """
        arrays: dict[str, Array] = {}
        for name, bundle_type in _list_fields(type(self)).items():
            is_added = name.startswith(ADDED_PREFIX)
            if bundle_type is not None:
                within = getattr(self, name).to_arrays(added_only=added_only and not is_added)
                arrays.update({f"{name}.{inner}": array for inner, array in within.items()})
            elif is_added or not added_only:
                arrays[name] = getattr(self, name)
        return arrays

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> Self:
        """Load a bundle.

        Args:
            arrays: What `to_arrays` returned. Each is looked up when it is first needed, so that
                a mapping may open files then.

        Returns:
            The bundle.
        """
        return cls._load_lazily(arrays, "")

    @classmethod
    def _load_lazily(cls, arrays: Mapping[str, Array], prefix: str) -> Self:
        bundle = cls.__new__(cls)
        object.__setattr__(bundle, "_source", (arrays, prefix))
        return bundle

    # Hidden from type checkers, which would take every misspelt name for a field.
    if not TYPE_CHECKING:

        def __getattr__(self, name: str) -> Any:
            """Load a field, which is missing until then."""
            bundle_types = _list_fields(type(self))
            if name not in bundle_types:
                raise AttributeError(name)
            arrays, prefix = self.__dict__["_source"]
            bundle_type = bundle_types[name]
            if bundle_type is None:
                value: Any = _protect(arrays[prefix + name])
            else:
                value = bundle_type._load_lazily(arrays, f"{prefix}{name}.")
            object.__setattr__(self, name, value)
            return value


def _protect(array: Array) -> Array:
    # A plain array instead of `numpy.memmap`, whose views cost ten times as much.
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view


def _list_fields(bundle_type: type[ArrayBundle]) -> dict[str, type[ArrayBundle] | None]:
    """The fields of a bundle; the type of those that are bundles themselves."""
    if bundle_type not in _FIELDS:
        hints = get_type_hints(bundle_type)
        types = {field.name: hints[field.name] for field in fields(bundle_type)}
        _FIELDS[bundle_type] = {
            name: hint if isinstance(hint, type) and issubclass(hint, ArrayBundle) else None
            for name, hint in types.items()
        }
    return _FIELDS[bundle_type]


# Looking up type hints takes longer than loading arrays.
_FIELDS: dict[type[ArrayBundle], dict[str, type[ArrayBundle] | None]] = {}


def expand_ranges(first: Rows, count: Rows) -> tuple[Rows, Rows]:
    """List the positions of consecutive ranges.

    Args:
        first: The first position of each range.
        count: The length of each range.

    Returns:
        For each position the number of its range, and the position.

    Example:
        >>> number, position = expand_ranges(np.array([5, 9]), np.array([2, 1]))
        >>> number.tolist(), position.tolist()
        ([0, 0, 1], [5, 6, 9])
    """
    number = np.repeat(np.arange(len(first)), count)
    within = np.arange(len(number)) - np.repeat(np.cumsum(count) - count, count)
    return number, first[number] + within


@dataclass(frozen=True)
class SortedTable(ArrayBundle):
    """Values by key, found by binary search; a key may have several values.

    Attributes:
        key: The keys at the last training, sorted.
        value: The value of each; a row of numbers if a value has several.
        added_key: The keys since then, sorted.
        added_value: The value of each.

    Example:
        >>> table = SortedTable.build(np.array([7, 5]), np.array([1, 2]))
        >>> table = table.append(np.array([7]), np.array([3]))
        >>> [found.tolist() for found in table.find_all(np.array([5, 6, 7]), 10)]
        [[0, 2, 2], [2, 1, 3]]
        >>> table.find_first(np.array([7, 8])).tolist()
        [1, -1]
    """

    key: Array
    value: Array
    added_key: Array
    added_value: Array

    @staticmethod
    def build(keys: Array, values: Array) -> SortedTable:
        """Build a table.

        Args:
            keys: The keys, in any order.
            values: The value of each.

        Returns:
            The table; values of one key keep their order.
        """
        order = np.argsort(keys, kind="stable")
        return SortedTable(keys[order], values[order], keys[:0], values[:0])

    @property
    def parts(self) -> tuple[tuple[Array, Array], tuple[Array, Array]]:
        """Keys and values, of the last training and since then."""
        return (self.key, self.value), (self.added_key, self.added_value)

    def append(self, keys: Array, values: Array) -> SortedTable:
        """Add values.

        Args:
            keys: The key of each, in any order.
            values: The values.

        Returns:
            A table with them, behind the values that the same keys have already.
        """
        if not len(keys):
            return self
        order = np.argsort(keys, kind="stable")
        keys, values = _as_type(keys[order], self.key), _as_type(values[order], self.value)
        place = np.searchsorted(self.added_key, keys, side="right")
        return SortedTable(
            self.key,
            self.value,
            np.insert(self.added_key, place, keys),
            np.insert(self.added_value, place, values, axis=0),
        )

    def find_all(self, keys: Array, limit: int) -> tuple[Rows, Array]:
        """Find the values of keys.

        Args:
            keys: The keys wanted.
            limit: So many values of a key at most, of the last training and since then each.

        Returns:
            Positions in `keys`, ascending, and a value for each.
        """
        keys = _as_type(keys, self.key)
        numbers, found = [], []
        for part_keys, part_values in self.parts:
            first = np.searchsorted(part_keys, keys)
            count = np.searchsorted(part_keys, keys, side="right") - first
            number, position = expand_ranges(first, np.minimum(count, limit))
            numbers.append(number)
            found.append(part_values[position])
        number = np.concatenate(numbers)
        order = np.argsort(number, kind="stable")
        return number[order], np.concatenate(found)[order]

    def find_first(self, keys: Array) -> Array:
        """Find the first value of each key.

        Args:
            keys: The keys wanted.

        Returns:
            A value per key; −1 where there is none.
        """
        values = np.full((len(keys), *self.value.shape[1:]), -1, dtype=self.value.dtype)
        number, found = self.find_all(keys, 1)
        # Backwards, so that the first one is written last.
        values[number[::-1]] = found[::-1]
        return values


def _as_type(values: Array, like: Array) -> Array:
    """Values with the dtype of a table: a search among others would convert the whole table."""
    return values.astype(like.dtype, copy=False)


@dataclass(frozen=True)
class StringPool(ArrayBundle):
    """Texts one after the other.

    Attributes:
        start: Text n is at `start[n]` to `start[n + 1]` in `data`.
        data: The texts in UTF-8, each with a line break behind it.
    """

    start: NDArray[np.int64]
    data: NDArray[np.uint8]

    @staticmethod
    def build(texts: Sequence[str]) -> StringPool:
        """Build a pool.

        Args:
            texts: The texts; all have the same number of lines.

        Returns:
            The pool.
        """
        # Lone surrogates, which escapes in a file can make, stay as they are.
        encoded = [f"{text}\n".encode("utf-8", "surrogatepass") for text in texts]
        start = np.zeros(len(texts) + 1, dtype=np.int64)
        np.cumsum([len(text) for text in encoded], out=start[1:])
        return StringPool(start, np.frombuffer(b"".join(encoded), dtype=np.uint8))

    def __len__(self) -> int:
        return len(self.start) - 1

    def append(self, other: StringPool) -> StringPool:
        """Put another pool behind this one.

        Args:
            other: The other pool.

        Returns:
            The texts of both.
        """
        start = np.append(self.start, other.start[1:] + self.start[-1])
        return StringPool(start, np.concatenate([self.data, other.data]))

    def read_lines(self, rows: Rows) -> Iterator[str]:
        """Read texts.

        Args:
            rows: Their numbers.

        Returns:
            The lines of these texts, one after the other.
        """
        first = self.start[rows]
        _, position = expand_ranges(first, self.start[rows + 1] - first)
        lines = self.data[position].tobytes().decode("utf-8", "surrogatepass").split("\n")
        return iter(lines[:-1])
