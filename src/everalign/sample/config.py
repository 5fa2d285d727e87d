"""What a generated sample should be like."""

from __future__ import annotations

import math
from dataclasses import dataclass

from everalign.errors import ConfigError

_MOST_HARDNESS = 0.95
_HARDNESS = (
    "missing_share",
    "wrong_share",
    "one_sided_share",
    "new_one_sided_share",
    "late_share",
    "repeated_share",
    "misspelt_share",
)


@dataclass(frozen=True)
class SampleConfig:
    """The size, the seed and the hardness of a sample.

    The defaults make a sample about as hard as the real continual alignment datasets.

    >>> SampleConfig(triples=5_000, seed=7).snapshots
    6
    >>> SampleConfig(triples=3)
    Traceback (most recent call last):
    everalign.errors.ConfigError: triples must be at least 1000, got 3
    """

    triples: int = 20_000
    """About how many triples both graphs have together at the last snapshot."""
    snapshots: int = 6
    seed: int = 0
    seed_share: float = 0.2
    """Share of the gold links of snapshot 0 that are seeds."""
    valid_share: float = 0.1
    """Share of the gold links of snapshot 0 that are validation links."""
    growth: float = 0.25
    """By which share the graphs grow, about, from a snapshot to the next."""
    missing_share: float = 0.2
    """Share of the facts of the world that a side does not know."""
    wrong_share: float = 0.03
    """Share of a side's facts that are wrong."""
    one_sided_share: float = 0.1
    """Share of the entities of snapshot 0 that only one side has."""
    new_one_sided_share: float = 0.85
    """Share of the later entities that only one side has."""
    late_share: float = 0.15
    """Share of a side's facts that it learns some snapshots late."""
    repeated_share: float = 0.03
    """Share of the triples of a later snapshot that repeat an older triple."""
    misspelt_share: float = 0.3
    """Share of a side's labels that are spelt wrong."""

    def __post_init__(self) -> None:
        for name, least in (("triples", 1000), ("snapshots", 1), ("seed", 0)):
            self._check(name, least, math.inf)
        for name in ("seed_share", "valid_share", "growth"):
            self._check(name, 0, 1)
        for name in _HARDNESS:
            self._check(name, 0, _MOST_HARDNESS)
        if self.seed_share + self.valid_share > 1:
            raise ConfigError("seed_share and valid_share together must be at most 1")

    def _check(self, name: str, least: float, most: float) -> None:
        value = getattr(self, name)
        if not value >= least:
            raise ConfigError(f"{name} must be at least {least}, got {value}")
        if not value <= most:
            raise ConfigError(f"{name} must be at most {most}, got {value}")
