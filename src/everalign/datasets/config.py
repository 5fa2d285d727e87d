"""How a dataset should be built."""

from __future__ import annotations

import math
from dataclasses import dataclass

from everalign.errors import ConfigError


@dataclass(frozen=True)
class BuildConfig:
    """The settings of a build; the defaults are the paper's.

    >>> BuildConfig(growth=0)
    Traceback (most recent call last):
    everalign.errors.ConfigError: growth must be a number above 0, got 0
    """

    snapshots: int = 6
    growth: float = 0.2
    """How many adjacent triples a snapshot draws, as a share of the triples before it."""
    seed: int = 0
    base_links: int | None = None
    """How many links the first snapshot is drawn around; None: as many as are fit, up to 15,000
    and to half of them. Of no use where the first snapshot is given."""
    min_triples: int = 4
    """How many triples each entity of such a link must have."""

    def __post_init__(self) -> None:
        if self.growth <= 0 or not math.isfinite(self.growth):
            raise ConfigError(f"growth must be a number above 0, got {self.growth}")
        least = {"snapshots": 1, "seed": 0, "base_links": 1, "min_triples": 1}
        for name, smallest in least.items():
            value = getattr(self, name)
            if value is not None and value < smallest:
                raise ConfigError(f"{name} must be at least {smallest}, got {value}")
