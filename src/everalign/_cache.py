"""A cache of limited size for values that many readers ask for again (internal)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Generic, TypeVar

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class LimitedCache(Generic[Key, Value]):
    """Keeps the values that were used last.

    It is not locked: its owner lets one thread at a time use it.

    Args:
        limit: The most weight to keep.
        weigh: Weighs a value; by default each weighs 1.

    Example:
        >>> cache = LimitedCache[int, str](2)
        >>> cache.read_many([1, 2], lambda missing: {key: str(key) for key in missing})
        {1: '1', 2: '2'}
        >>> cache.put(3, "3")
        >>> cache.get(1), cache.get(2)
        (None, '2')
    """

    def __init__(self, limit: int, weigh: Callable[[Value], int] = lambda _: 1) -> None:
        self._limit = limit
        self._weigh = weigh
        self._weight = 0
        # A dict keeps the order in which keys were put: the first is the one not used longest.
        self._values: dict[Key, Value] = {}

    def __len__(self) -> int:
        return len(self._values)

    def get(self, key: Key) -> Value | None:
        """Find a value.

        Args:
            key: Its key.

        Returns:
            The value, or None if it is not kept.
        """
        if key not in self._values:
            return None
        value = self._values[key] = self._values.pop(key)
        return value

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, and drop those that were not used longest if there are too many.

        Args:
            key: Its key.
            value: The value; one that weighs more than the limit is not kept.
        """
        if key in self._values:
            self._weight -= self._weigh(self._values.pop(key))
        self._values[key] = value
        self._weight += self._weigh(value)
        while self._weight > self._limit:
            self._weight -= self._weigh(self._values.pop(next(iter(self._values))))

    def read_many(
        self, keys: Iterable[Key], read: Callable[[list[Key]], Mapping[Key, Value]]
    ) -> dict[Key, Value]:
        """Find values, and read at once those that are not kept.

        Args:
            keys: Their keys, with or without duplicates.
            read: Reads the values of distinct keys; keys without a value may be missing.

        Returns:
            The value of each key that has one.
        """
        kept = self._values
        distinct = dict.fromkeys(keys)
        found = {key: kept[key] for key in distinct if key in kept}
        missing = [key for key in distinct if key not in found]
        new = read(missing) if missing else {}
        for key in found:
            kept[key] = kept.pop(key)
        for key, value in new.items():
            self.put(key, value)
        return {**found, **new}

    def clear(self) -> None:
        """Drop everything."""
        self._values.clear()
        self._weight = 0
