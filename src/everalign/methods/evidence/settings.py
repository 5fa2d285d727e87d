"""The settings of evidence; the defaults serve every dataset."""

from __future__ import annotations

from dataclasses import dataclass

from everalign.errors import ConfigError
from everalign.literals import LiteralSettings

AT_LEAST_ONE = ("crowd", "considered", "trees", "leaves", "folds")
SHARES = ("local", "prior", "discount", "soft", "hidden", "renewal", "change")


@dataclass(frozen=True)
class EvidenceSettings:
    """What can be set; the method's page in the documentation says what each does."""

    local: float = 0.3
    crowd: int = 500
    prior: float = 0.1
    doubt: float = 2.0
    faint: float = 0.005
    discount: float = 0.2
    considered: int = 6
    soft: float = 0.1

    plain_rounds: int = 80
    judged_rounds: int = 8
    final_rounds: int = 3
    hidden: float = 0.33
    trees: int = 100
    leaves: int = 15
    folds: int = 2

    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""

    renewal: float = 0.1
    renewed_rounds: int = 2
    change: float = 0.1
    spreading_rounds: int = 3

    def __post_init__(self) -> None:
        for name in AT_LEAST_ONE:
            if getattr(self, name) < 1:
                raise ConfigError(f"evidence: {name!r} must be at least 1")
        for name in SHARES:
            if getattr(self, name) > 1:
                raise ConfigError(f"evidence: {name!r} must be between 0 and 1")
        if self.folds < 2:
            raise ConfigError("evidence: 'folds' must be at least 2")
        _ = self.literals  # which checks its own

    @property
    def literals(self) -> LiteralSettings:
        """What goes for the comparison of literals."""
        return LiteralSettings(
            translations=self.translations,
            left_vectors=self.left_vectors,
            right_vectors=self.right_vectors,
        )
