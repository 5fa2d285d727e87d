"""Strings to ids that never change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


class Names:
    """The names seen so far; an id is the position of a name and never changes.

    >>> names = Names(["Rome"])
    >>> names.id("Oslo"), names.id("Rome"), names[1], len(names)
    (1, 0, 'Oslo', 2)
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._ids: dict[str, int] = {name: number for number, name in enumerate(known)}
        self._list = list(self._ids)

    def id(self, name: str) -> int:
        """The id of a name; a name never seen before gets the next one."""
        return self._ids.setdefault(name, len(self._ids))

    def find(self, name: str) -> int | None:
        """The id of a name, or nothing if it was never seen."""
        return self._ids.get(name)

    def since(self, count: int) -> list[str]:
        """The names from id `count` on."""
        return self._names()[count:]

    def __contains__(self, name: object) -> bool:
        return name in self._ids

    def __getitem__(self, number: int) -> str:
        return self._names()[number]

    def __iter__(self) -> Iterator[str]:
        return iter(self._ids)

    def __len__(self) -> int:
        return len(self._ids)

    def _names(self) -> list[str]:
        if len(self._list) != len(self._ids):
            self._list = list(self._ids)
        return self._list


@dataclass
class Vocabulary:
    """The names of one graph; a literal's name is how N-Triples writes it."""

    entities: Names = field(default_factory=Names)
    relations: Names = field(default_factory=Names)
    attributes: Names = field(default_factory=Names)
    literals: Names = field(default_factory=Names)
