"""What can be set for every baseline; each has its own defaults and what else it needs."""

from __future__ import annotations

from dataclasses import dataclass, fields

from everalign.errors import ConfigError
from everalign.methods.neural.training import Schedule


@dataclass(frozen=True)
class BaselineSettings:
    """Numbers per entity, how to learn and how long, and the neighbours that CSLS looks at."""

    dim: int = 100
    learning_rate: float = 0.01
    max_epochs: int = 200
    validate_every: int = 10
    patience: int = 3
    neighbours: int = 10

    def __post_init__(self) -> None:
        for field in fields(self):
            counts = isinstance(field.default, int) and field.name != "max_epochs"
            if counts and getattr(self, field.name) < 1:
                raise ConfigError(f"{field.name!r} must be at least 1")

    @property
    def schedule(self) -> Schedule:
        return Schedule(self.max_epochs, self.validate_every, self.patience)
