"""What can be set about the comparison of literals; the defaults serve most graphs."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError


@dataclass(frozen=True)
class LiteralSettings:
    """What can be set.

    `similar` is the number of partners that a value keeps besides its equal ones, `least` the
    probability below which a pair is not listed. `translations` is a file of ``left-text TAB
    right-text``; `left_vectors` and `right_vectors` are word vectors in fastText's text form, both
    in one space. An empty path means that there is none.

    >>> LiteralSettings(similar=3).similar
    3
    """

    similar: int = 10
    least: float = 0.05
    tolerance: float = 0.01
    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.least <= 1:
            raise ConfigError("literals: 'least' must be more than 0 and at most 1")
        if not 0 < self.tolerance < 1:
            raise ConfigError("literals: 'tolerance' must be more than 0 and less than 1")
        if bool(self.left_vectors) != bool(self.right_vectors):
            raise ConfigError("literals: give both 'left_vectors' and 'right_vectors', or neither")
