"""The settings of a generated sample."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError

# What a machine with 8 GB of memory can hold, and far more snapshots than any use needs.
_MAX_TRIPLES = 100_000_000
_MAX_SNAPSHOTS = 1000
_MAX_SEED = 2**64 - 1
# Below 1, so that some correct facts and some shared entities always remain.
_MAX_NOISE_SHARE = 0.95
_NOISE_SHARES = (
    "missing_share",
    "wrong_share",
    "one_sided_share",
    "new_one_sided_share",
    "late_share",
    "repeated_share",
    "misspelt_share",
    "left_duplicate_share",
    "right_duplicate_share",
)


@dataclass(frozen=True)
class SampleConfig:
    """Size, random seed and difficulty of a sample.

    With the defaults, a sample is about as difficult as the continual alignment datasets of the
    ContEA paper.

    Raises:
        ConfigError: If a value is out of range.

    >>> SampleConfig(triples=5_000, seed=7).snapshots
    6
    >>> SampleConfig(triples=3)
    Traceback (most recent call last):
    everalign.errors.ConfigError: triples must be at least 1000, got 3
    """

    triples: int = 20_000
    """Approximate number of triples of both graphs together at the last snapshot."""
    snapshots: int = 6
    """Number of snapshots."""
    seed: int = 0
    """Random seed."""
    seed_share: float = 0.2
    """Share of the gold links of snapshot 0 that are seeds."""
    validation_share: float = 0.1
    """Share of the gold links of snapshot 0 that are validation links."""
    growth: float = 0.25
    """Approximate growth of the graphs from one snapshot to the next."""
    missing_share: float = 0.2
    """Share of all facts that are missing in a graph."""
    wrong_share: float = 0.03
    """Share of the facts of a graph that are wrong."""
    one_sided_share: float = 0.1
    """Share of the entities of snapshot 0 that are in one graph only."""
    new_one_sided_share: float = 0.85
    """Share of the entities of later snapshots that are in one graph only."""
    late_share: float = 0.15
    """Share of the facts of a graph that are added one or more snapshots late."""
    repeated_share: float = 0.03
    """Share of the triples of a later snapshot that repeat a triple of an earlier one."""
    misspelt_share: float = 0.3
    """Share of the labels of a graph that are misspelt."""
    left_duplicate_share: float = 0.0
    """Share of the left entities that are in their graph twice, each with some of the facts."""
    right_duplicate_share: float = 0.0
    """The same for the right graph."""

    def __post_init__(self) -> None:
        self._check_range("triples", 1000, _MAX_TRIPLES)
        self._check_range("snapshots", 1, _MAX_SNAPSHOTS)
        self._check_range("seed", 0, _MAX_SEED)
        for name in ("seed_share", "validation_share", "growth"):
            self._check_range(name, 0, 1)
        for name in _NOISE_SHARES:
            self._check_range(name, 0, _MAX_NOISE_SHARE)
        if self.seed_share + self.validation_share > 1:
            raise ConfigError("seed_share and validation_share together must be at most 1")

    def _check_range(self, name: str, minimum: float, maximum: float) -> None:
        value = getattr(self, name)
        # Negated comparisons, so that NaN is rejected too.
        if not value >= minimum:
            raise ConfigError(f"{name} must be at least {minimum}, got {_shorten(value)}")
        if not value <= maximum:
            raise ConfigError(f"{name} must be at most {maximum}, got {_shorten(value)}")


def _shorten(value: float) -> str:
    # Python refuses to write integers of thousands of digits.
    is_long = isinstance(value, int) and abs(value) >= 10**20
    return "a number of more than 20 digits" if is_long else str(value)
