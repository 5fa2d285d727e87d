"""Which of the links a person wants: those that score enough, or as many as stay right."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isnan

import numpy as np

from everalign.errors import ConfigError
from everalign.ledger import decide
from everalign.methods import entry_of
from everalign.reports import Link
from everalign.situation import line_of, turn_of
from everalign.store import Store

# Adding up confidences may lose a little of what they promise.
_SLACK = 1e-12


@dataclass(frozen=True)
class Selection:
    """A person's wish, at most one of the three; without any, it is all links in force.

    >>> links = [Link("a", "A", score, 0, "found") for score in (0.9, 0.8, 0.4)]
    >>> [link.score for link in Selection(target_precision=0.85).of(links)]
    [0.9, 0.8]
    """

    min_score: float | None = None
    min_confidence: float | None = None
    target_precision: float | None = None

    def __post_init__(self) -> None:
        wishes = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        given = {name: value for name, value in wishes.items() if value is not None}
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} exclude each other: choose one")
        if self.min_score is not None and isnan(self.min_score):
            raise ConfigError("min_score must be a number")
        for name in given.keys() - {"min_score"}:
            check_share(name, given[name])

    @property
    def needs_probabilities(self) -> bool:
        """Whether it makes sense only for scores that are probabilities; proposals count then."""
        return self.min_confidence is not None or self.target_precision is not None

    def of(self, links: Sequence[Link]) -> list[Link]:
        """The given links, and those of the others that are wanted, best first."""
        given = [link for link in links if link.origin == "given"]
        others = [link for link in links if link.origin != "given"]
        others.sort(key=lambda link: (-link.score, link.left))
        return sorted(given, key=lambda link: link.left) + others[: self._wanted(others)]

    def _wanted(self, ranked: Sequence[Link]) -> int:
        scores = np.array([link.score for link in ranked])
        if self.target_precision is not None:
            means = np.cumsum(scores) / np.arange(1, len(scores) + 1)
            return int((means >= self.target_precision - _SLACK).sum())
        least = self.min_score if self.min_confidence is None else self.min_confidence
        return len(ranked) if least is None else int((scores >= least).sum())


def all_links(store: Store, at: int | None, *, proposals: bool) -> list[Link]:
    """The links in force at a version, and the proposals between entities that they leave free."""
    left, right = store.names("left", "entity"), store.names("right", "entity")
    view, version = store.links(at), store.last_version() if at is None else at
    links = [
        Link(left[a], right[b], s.score, s.since, "given" if s.confirmed else "found")
        for (a, b), s in view.links.items()
    ]
    if not proposals or version is None:
        return links
    turn = turn_of(line_of(store, version))
    proposed = [] if turn is None else store.proposals(turn)
    free = decide([], proposed, confirmed=view.links, rejected=view.rejected)
    return links + [Link(left[a], right[b], score, version, "proposed") for a, b, score in free]


def refuse_uncalibrated(method: str) -> None:
    """Scores that are no probabilities cannot be asked for as such."""
    if not entry_of(method).calibrated:
        raise ConfigError(
            f"the scores of method {method!r} are no probabilities: use --min-score instead"
        )


def check_share(name: str, value: float) -> None:
    """Refuse what is no number from 0 to 1."""
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must lie between 0 and 1, not {value}")
