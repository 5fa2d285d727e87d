"""The name experiments of the ContEA paper (its Table 6): names alone, in ContEA, and both."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from everalign.config import build_settings
from everalign.errors import ConfigError
from everalign.methods.base import Method
from everalign.methods.contea import ContEASettings

__all__ = ["NameSettings", "make_contea_names", "make_names", "make_union"]


@dataclass(frozen=True)
class NameSettings:
    """The settings of the methods that compare names. An empty path means no such file.

    Attributes:
        translations: A file with lines of left-text TAB right-text; names that it does not
            have are transliterated.
        left_vectors: Word vectors of the left language in the text format of fastText.
        right_vectors: Word vectors of the right language, in the same space.
        min_similarity: The similarity that two names need to be linked. The paper sets none.
        compared_names: With how many names each is compared: those that the n-gram index
            finds nearest. The paper compares all pairs, which takes too long for large graphs.
        vector_scale: The length of the name vectors that ContEA starts from.
    """

    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""
    min_similarity: float = 0.0
    compared_names: int = 10
    vector_scale: float = 1.0

    def __post_init__(self) -> None:
        if self.compared_names < 1:
            raise ConfigError("names: 'compared_names' must be at least 1")
        if bool(self.left_vectors) != bool(self.right_vectors):
            raise ConfigError("names: give both 'left_vectors' and 'right_vectors', or neither")


def make_names(settings: Mapping[str, Any], seed: int) -> Method:
    """Create the method that compares names alone.

    Args:
        settings: The fields of `NameSettings`.
        seed: Not used: nothing is random.

    Returns:
        The method.

    Raises:
        ConfigError: A setting is unknown or wrong.
    """
    # Imported when it is created, as the methods below are: those need PyTorch.
    from everalign.methods.names.names import NameMatching

    del seed
    return NameMatching(build_settings(NameSettings, settings, "names"))


def make_contea_names(settings: Mapping[str, Any], seed: int) -> Method:
    """Create ContEA that starts from name vectors.

    Args:
        settings: The fields of `NameSettings` and of `ContEASettings`.
        seed: The random seed.

    Returns:
        The method.

    Raises:
        ConfigError: A setting is unknown or wrong.
    """
    from everalign.methods.names.contea import ContEAWithNameVectors

    return ContEAWithNameVectors(*_split_settings(settings, "contea-names"), seed)


def make_union(settings: Mapping[str, Any], seed: int) -> Method:
    """Create the union of ContEA and name matching.

    Args:
        settings: The fields of `NameSettings` and of `ContEASettings`.
        seed: The random seed.

    Returns:
        The method.

    Raises:
        ConfigError: A setting is unknown or wrong.
    """
    from everalign.methods.names.contea import ContEANameUnion

    return ContEANameUnion(*_split_settings(settings, "contea-names-union"), seed)


def _split_settings(
    settings: Mapping[str, Any], origin: str
) -> tuple[NameSettings, ContEASettings]:
    name_fields = {field.name for field in fields(NameSettings)}
    of_names = {name: value for name, value in settings.items() if name in name_fields}
    # A name that neither has goes to ContEA, which reports it as unknown.
    of_contea = {name: value for name, value in settings.items() if name not in name_fields}
    return (
        build_settings(NameSettings, of_names, origin),
        build_settings(ContEASettings, of_contea, origin),
    )
