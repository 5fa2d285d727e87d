"""Names of entities, relations, attributes and literals, and their ids."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field


class NameIndex:
    """Names in the order in which they first appeared; the position of a name is its id.

    Names are only ever appended, so an id stays the same for the life of an alignment.

    >>> names = NameIndex(["Rome"])
    >>> names.get_or_add_id("Oslo"), names.get_or_add_id("Rome"), names[1], len(names)
    (1, 0, 'Oslo', 2)

    Args:
        known: The names to start with, without duplicates, in the order of their ids.
    """

    def __init__(self, known: Iterable[str] = ()) -> None:
        self._ids: dict[str, int] = {name: number for number, name in enumerate(known)}
        self._cached_list = list(self._ids)

    def get_or_add_id(self, name: str) -> int:
        """Return the id of a name; a name never seen before is appended.

        Args:
            name: The name to look up or append.

        Returns:
            Its id.
        """
        # One lookup, whether the name is known or new; the next free id is the number of names.
        return self._ids.setdefault(name, len(self._ids))

    def find(self, name: str) -> int | None:
        """Look up a name without adding it.

        Args:
            name: The name to look up.

        Returns:
            Its id, or None if it was never seen.
        """
        return self._ids.get(name)

    def list_names_after(self, count: int) -> list[str]:
        """Return the names that were appended after the first `count`.

        Args:
            count: The number of names to skip.

        Returns:
            The names with the ids `count`, `count + 1`, …
        """
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
        # A dict keeps the order of insertion but has no access by position. Names are added in
        # bulk and looked up afterwards, so the list is rebuilt only when it is out of date.
        if len(self._cached_list) != len(self._ids):
            self._cached_list = list(self._ids)
        return self._cached_list


@dataclass
class Vocabulary:
    """The names of one graph, with separate ids for each of four kinds.

    Attributes:
        entities: IRIs and blank nodes that occur as subject or object.
        relations: Predicates whose object is an entity.
        attributes: Predicates whose object is a literal.
        literals: Literals as N-Triples writes them, with language tag or datatype.
    """

    entities: NameIndex = field(default_factory=NameIndex)
    relations: NameIndex = field(default_factory=NameIndex)
    attributes: NameIndex = field(default_factory=NameIndex)
    literals: NameIndex = field(default_factory=NameIndex)
