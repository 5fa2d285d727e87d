"""Harmless perturbations of a benchmark: what must not change the result of a method."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from enum import StrEnum

from everalign._score_noise import use_score_noise


class PerturbationKind(StrEnum):
    """What is perturbed: names of entities, order of triples, which of the trusted links are
    validation links, scores by as much as rounding does."""

    NAMES = "names"
    ORDER = "order"
    SPLIT = "split"
    NOISE = "noise"


@dataclass(frozen=True)
class Perturbation:
    """Random seeds of what differs from a plain benchmark run; None for what does not.

    Attributes:
        names: Seed of the random names of entities.
        order: Seed of the order of triples.
        split: Seed to divide the trusted links into train and validation links.
        noise: Seed of the noise in the scores.
    """

    names: int | None = None
    order: int | None = None
    split: int | None = None
    noise: int | None = None

    @staticmethod
    def create(number: int, kinds: Collection[PerturbationKind]) -> Perturbation:
        """Create one of many perturbations.

        Args:
            number: Its number; the one with number 0 changes nothing.
            kinds: What to perturb.

        Returns:
            The seeds.
        """
        if number == 0:
            return NO_PERTURBATION
        # Far from the seeds that people use for a run.
        return Perturbation(**{kind.value: 1_000_000 + number for kind in kinds})

    def to_json(self) -> dict[str, dict[str, int]]:
        """Return the entry of a result file; none if nothing is perturbed."""
        seeds = {kind: seed for kind, seed in asdict(self).items() if seed is not None}
        return {"perturbation": seeds} if seeds else {}

    @contextmanager
    def add_noise(self, t: int) -> Iterator[None]:
        """Add noise to the scores of what is called within.

        Args:
            t: The snapshot, so that a run that is resumed has the same noise.
        """
        if self.noise is None:
            yield
        else:
            with use_score_noise(self.noise + t):
                yield


NO_PERTURBATION = Perturbation()
