"""Which links a user wants: those above a score, or as many as stay precise enough (internal)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from math import isnan

import numpy as np

from everalign.errors import ConfigError
from everalign.methods import get_method_entry
from everalign.session import AlignmentSession
from everalign.state.ledger import LinkState, merge_links
from everalign.types import Link

# Mean confidences are sums of floats: 0.9 + 0.8 must reach a target precision of 0.85.
ROUNDING_TOLERANCE = 1e-12


@dataclass(frozen=True)
class Selection:
    """A choice among links; at most one limit. Without any, all links in force are chosen.

    Args:
        min_score: Leave out found links that score less.
        min_confidence: The same for calibrated scores; proposals that reach it are included.
        target_precision: The longest list of found links and proposals whose expected precision
            reaches this.
        found_only: Leave out given links.

    Raises:
        ConfigError: More than one limit, or one that is out of range.

    Example:
        >>> links = [Link("a", "A", score, 0, "found") for score in (0.9, 0.8, 0.4)]
        >>> [link.score for link in Selection(target_precision=0.85).choose(links)]
        [0.9, 0.8]
    """

    min_score: float | None = None
    min_confidence: float | None = None
    target_precision: float | None = None
    found_only: bool = False

    def __post_init__(self) -> None:
        # The three limits are the first fields.
        limits = {entry.name: getattr(self, entry.name) for entry in fields(self)[:3]}
        given = {name: value for name, value in limits.items() if value is not None}
        if len(given) > 1:
            raise ConfigError(f"{' and '.join(given)} exclude each other: choose one")
        if self.min_score is not None and isnan(self.min_score):
            raise ConfigError("min_score must be a number")
        # Scores that are not calibrated may have any range.
        for name in given.keys() - {"min_score"}:
            check_fraction(name, given[name])

    @property
    def needs_probabilities(self) -> bool:
        """Whether it only makes sense for calibrated scores; it includes proposals then."""
        return self.min_confidence is not None or self.target_precision is not None

    def choose(self, links: Sequence[Link]) -> list[Link]:
        """Choose among links.

        Args:
            links: Links in force and proposals.

        Returns:
            Given links by name, then the others by descending score.
        """
        given = [link for link in links if link.origin == "given" and not self.found_only]
        others = [link for link in links if link.origin != "given"]
        # Names decide between equal scores, so that the order is the same in every run.
        others.sort(key=lambda link: (-link.score, link.left))
        return sorted(given, key=lambda link: link.left) + others[: self._count_chosen(others)]

    def _count_chosen(self, ranked: Sequence[Link]) -> int:
        scores = np.array([link.score for link in ranked])
        if self.target_precision is not None:
            # The mean of the best n confidences is their expected precision; it falls with n.
            means = np.cumsum(scores) / np.arange(1, len(scores) + 1)
            return int((means >= self.target_precision - ROUNDING_TOLERANCE).sum())
        limit = self.min_score if self.min_confidence is None else self.min_confidence
        return len(ranked) if limit is None else int((scores >= limit).sum())


def select_links(
    session: AlignmentSession, selection: Selection, at: int | None = None
) -> list[Link]:
    """Choose among the links of a version, and its proposals where the selection needs them.

    Args:
        session: An open alignment.
        selection: Which links to choose.
        at: The version; the last one if None.

    Returns:
        Links, best first.

    Raises:
        ConfigError: The selection needs probabilities and the method has none.
        StateError: There is no such version.
    """
    if not selection.needs_probabilities:
        return selection.choose(_list_links(session, at))
    method = session.config.method
    if not get_method_entry(method).calibrated:
        raise ConfigError(
            f"the scores of method {method!r} are no probabilities: use --min-score instead"
        )
    return selection.choose(_list_links(session, at) + _list_proposals(session, at))


def is_calibrated(session: AlignmentSession) -> bool:
    """Tell whether the scores of an alignment are probabilities.

    Args:
        session: An open alignment.

    Returns:
        False also if the method is not installed: its links can still be looked at.
    """
    try:
        return get_method_entry(session.config.method).calibrated
    except ConfigError:
        return False


def check_fraction(name: str, value: float) -> None:
    """Check that a value lies between 0 and 1.

    Args:
        name: What the value is called.
        value: Any number.

    Raises:
        ConfigError: It does not.
    """
    if not 0 <= value <= 1:
        raise ConfigError(f"{name} must lie between 0 and 1, not {value}")


def describe_origin(state: LinkState) -> str:
    """Name where a link in force comes from.

    Args:
        state: A link in force.

    Returns:
        "given" or "found".
    """
    return "given" if state.confirmed else "found"


def _list_links(session: AlignmentSession, at: int | None) -> list[Link]:
    links = session.store.read_links(at).links
    left, right = session.name_entities(links)
    return [
        Link(left[left_id], right[right_id], state.score, state.since, describe_origin(state))
        for (left_id, right_id), state in links.items()
    ]


def _list_proposals(session: AlignmentSession, at: int | None) -> list[Link]:
    """List the proposals between entities without a link."""
    version = session.store.last_version() if at is None else at
    # A version that did not run the method has the proposals of the last one that did.
    method_version = None if version is None else session.method_version(version)
    if version is None or method_version is None:
        return []
    links = session.store.read_links(version)
    # All links in force are passed as confirmed, so that proposals of their entities are left out.
    free = merge_links(
        [],
        session.store.read_proposals(method_version),
        confirmed=links.links,
        rejected=links.rejected_pairs,
    )
    left, right = session.name_entities((link.left, link.right) for link in free)
    return [Link(left[a], right[b], score, version, "proposed") for a, b, score in free]
