"""What can be set about names in the methods that compare them."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError


@dataclass(frozen=True)
class NameSettings:
    """What can be set. An empty path means that there is no such file.

    `translations` has lines of ``left-text TAB right-text``; names that it does not have are
    put into Latin letters. `left_vectors` and `right_vectors` are word vectors in one space.
    `least` is the similarity that two names need, `compared` how many names each is compared
    with. `strength` is the length of the name vectors that ContEA starts from.
    """

    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""
    least: float = 0.0
    compared: int = 10
    strength: float = 1.0

    def __post_init__(self) -> None:
        if self.compared < 1:
            raise ConfigError("names: 'compared' must be at least 1")
        if bool(self.left_vectors) != bool(self.right_vectors):
            raise ConfigError("names: give both 'left_vectors' and 'right_vectors', or neither")
