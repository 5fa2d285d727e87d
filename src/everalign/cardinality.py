"""Cardinality: how many links an entity may have on either side."""

from __future__ import annotations

from enum import StrEnum

from everalign.errors import ConfigError


class Cardinality(StrEnum):
    """How many links in force an entity may have.

    The first word is about left entities, the second about right ones: with many-to-one, many
    left entities may be linked to one right entity, and each left entity has one link at most.

    >>> Cardinality("many-to-one").unique_left, Cardinality("many-to-one").unique_right
    (True, False)
    """

    ONE_TO_ONE = "one-to-one"
    MANY_TO_ONE = "many-to-one"
    ONE_TO_MANY = "one-to-many"
    MANY_TO_MANY = "many-to-many"

    @staticmethod
    def parse(value: str) -> Cardinality:
        """Find a cardinality by its name.

        Args:
            value: Such as "many-to-one".

        Returns:
            The cardinality.

        Raises:
            ConfigError: There is no such cardinality.
        """
        try:
            return Cardinality(value)
        except ValueError:
            known = ", ".join(Cardinality)
            raise ConfigError(f"unknown cardinality {value!r}; choose from {known}") from None

    @property
    def unique_left(self) -> bool:
        """Whether a left entity has one link at most."""
        return self.endswith("to-one")

    @property
    def unique_right(self) -> bool:
        """Whether a right entity has one link at most."""
        return self.startswith("one-to")

    @property
    def unique_sides(self) -> tuple[bool, bool]:
        """The same for the left and the right side."""
        return self.unique_left, self.unique_right

    @property
    def labelled_sides(self) -> tuple[bool, bool]:
        """The sides from which links are counted and learned: unique ones, or both if none is.

        An entity that has one link at most has no other; of one that may have several, a known
        link says nothing about the rest.
        """
        return self.unique_sides if any(self.unique_sides) else (True, True)
