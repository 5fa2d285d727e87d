"""ContEA's settings; the defaults serve every dataset."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError

AT_LEAST_ONE = (
    "dim",
    "depth",
    "proxies",
    "negatives",
    "batch",
    "validate_every",
    "update_batch",
    "neighbours",
)


@dataclass(frozen=True)
class ContEASettings:
    """What can be set. The paper's variants: `trusted = 0` (without trusted links), with
    `replay = false` as well (without trusted links and replay), or `retrain = true`.

    `bootstrap` is the share of the links found after training that a second, shorter round of
    training takes for seeds; the paper has no such round (`bootstrap = 0`). Where more than the
    share `unlearnable` of the triples is removed, an update trains anew.
    """

    dim: int = 100
    depth: int = 2
    proxies: int = 64
    dropout: float = 0.3
    negatives: int = 4096

    batch: int = 1024
    learning_rate: float = 0.002
    reconstruction: float = 0.01
    max_epochs: int = 200
    validate_every: int = 2
    patience: int = 3
    bootstrap: float = 0.7
    bootstrap_epochs: int = 6

    retrain: bool = False
    unlearnable: float = 0.05
    replay: bool = True
    trusted: int = 500
    trusted_weight: float = 0.1
    update_batch: int = 512
    update_learning_rate: float = 0.01
    update_reconstruction: float = 0.1
    update_max_epochs: int = 3

    neighbours: int = 10

    def __post_init__(self) -> None:
        for name in AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ConfigError(f"contea: {name!r} must be at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError("contea: 'dropout' must be at least 0 and less than 1")
        for name in ("bootstrap", "unlearnable"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"contea: {name!r} must be between 0 and 1")
