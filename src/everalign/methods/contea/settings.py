"""ContEA's settings; the defaults serve every dataset."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError

# The other counts may be 0: without epochs, trusted links or patience there is less training.
_AT_LEAST_ONE = (
    "dim",
    "depth",
    "proxies",
    "negatives",
    "batch",
    "validate_every",
    "neighbours",
)


@dataclass(frozen=True)
class ContEASettings:
    """Settings of ContEA.

    The variants of the paper are `trusted = 0` (without trusted links), `trusted = 0` with
    `replay = false` (without trusted links and affected seeds) and `retrain = true`.

    Attributes:
        dim: Size of an entity or relation embedding.
        depth: Layers of the encoder.
        proxies: Proxies of the cross-graph layer.
        dropout: Dropout rate.
        negatives: Random negatives per batch.
        batch: Seed pairs per batch in training.
        learning_rate: Learning rate in training.
        max_epochs: Epochs of training at most.
        validate_every: Epochs between validations in training.
        patience: Validations without a gain before training stops.
        bootstrap: Share of the links found after training that a second, shorter round of
            training takes for seeds. The paper has no such round: 0.
        retrain: Train from scratch at every update instead of fine-tuning.
        max_removed_share: An update that removes a larger share of the triples trains from
            scratch.
        replay: Fine-tune on seeds with a member next to a new entity (affected seeds).
        trusted: Number of the best links in force to fine-tune on.
        update_learning_rate: Learning rate in fine-tuning.
        update_max_epochs: Epochs of fine-tuning at most.
        neighbours: Nearest neighbours that CSLS averages over.

    Raises:
        ConfigError: A value is out of range.
    """

    dim: int = 100
    depth: int = 2
    proxies: int = 64
    dropout: float = 0.3
    # The authors compare with all entities, at a cost that grows with the graphs.
    negatives: int = 4096

    batch: int = 1024
    # Chosen on validation links; the authors have 0.0005.
    learning_rate: float = 0.002
    max_epochs: int = 200
    validate_every: int = 2
    patience: int = 3
    # Chosen on validation links.
    bootstrap: float = 0.7

    retrain: bool = False
    # Trades the time of training against what fine-tuning cannot unlearn.
    max_removed_share: float = 0.05
    replay: bool = True
    trusted: int = 500
    # The authors have it at the first update, and 0.001 from the second on.
    update_learning_rate: float = 0.01
    update_max_epochs: int = 3

    neighbours: int = 10

    def __post_init__(self) -> None:
        for name in _AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ConfigError(f"contea: {name!r} must be at least 1")
        if not 0 <= self.dropout < 1:
            raise ConfigError("contea: 'dropout' must be at least 0 and less than 1")
        for name in ("bootstrap", "max_removed_share"):
            if not 0 <= getattr(self, name) <= 1:
                raise ConfigError(f"contea: {name!r} must be between 0 and 1")
