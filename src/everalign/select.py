"""Which links a user wants: those above a score, or as many as stay precise enough (internal)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, fields, replace
from heapq import merge
from itertools import chain, islice
from math import isnan

from everalign.decide import WaitingView, read_waiting_view
from everalign.errors import ConfigError
from everalign.methods import get_method_entry
from everalign.session import AlignmentSession
from everalign.state.decisions import DecisionKind
from everalign.state.intervals import LinkInterval, PairStatus
from everalign.state.ledger import LinkState, PartnerIndex, ScoredPair, merge_links
from everalign.state.link_table import list_entities
from everalign.types import Link

# Mean confidences are sums of floats: 0.9 + 0.8 must reach a target precision of 0.85.
ROUNDING_TOLERANCE = 1e-12
# Where no trusted link could be held out to calibrate it, confidence is too sure. With log-odds
# times this, a target precision is reached with 50 trusted links of ZH-EN (decision 0030).
UNCALIBRATED_SLOPE = 0.55
# Entities whose names are looked up together.
NAMES_AT_ONCE = 1000


@dataclass(frozen=True)
class Selection:
    """A choice among links; at most one limit. Without any, all links in force are chosen.

    Args:
        min_score: Leave out found links that score less.
        min_confidence: The same for calibrated scores; proposals that reach it are included.
        target_precision: The longest list of found links and proposals whose expected precision
            reaches this.
        found_only: Leave out given links.
        slope: What the log-odds of a confidence are multiplied with before its mean is taken for
            the expected precision.

    Raises:
        ConfigError: More than one limit, or one that is out of range.

    Example:
        >>> links = [Link("a", "A", score, 0, "found") for score in (0.9, 0.8, 0.4)]
        >>> [link.score for link in Selection(target_precision=0.75).choose(links)]
        [0.9, 0.8]
        >>> [link.score for link in Selection(target_precision=0.88).choose(links)]
        [0.9]
    """

    min_score: float | None = None
    min_confidence: float | None = None
    target_precision: float | None = None
    found_only: bool = False
    slope: float = 1.0

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

    def choose(self, links: Iterable[Link]) -> Iterator[Link]:
        """Choose among links.

        Args:
            links: Given links, then the others by descending score.

        Yields:
            Those that are chosen, in the same order; the rest is not read.
        """
        total, count = 0.0, 0
        for link in links:
            if link.origin == "given":
                if not self.found_only:
                    yield link
                continue
            total, count = total + temper_confidence(link.score, self.slope), count + 1
            if not self._reaches_limit(link.score, total / count):
                return
            yield link

    def _reaches_limit(self, score: float, mean: float) -> bool:
        if self.target_precision is not None:
            # The mean of the best n probabilities is their expected precision; it falls with n.
            return mean >= self.target_precision - ROUNDING_TOLERANCE
        limit = self.min_score if self.min_confidence is None else self.min_confidence
        return limit is None or score >= limit


def iterate_links(
    session: AlignmentSession, selection: Selection, at: int | None = None
) -> Iterator[Link]:
    """Choose among the links of a version, and its proposals where the selection needs them.

    Args:
        session: An open alignment.
        selection: Which links to choose.
        at: The version; None for the last one with the waiting decisions on top.

    Returns:
        Links, best first: given links by id, then the others by descending score. Of the last
        version, only a page is in memory.

    Raises:
        ConfigError: The selection needs probabilities and the method has none.
        StateError: There is no such version.
    """
    method = session.config.method
    if selection.needs_probabilities and not get_method_entry(method).calibrated:
        raise ConfigError(
            f"the scores of method {method!r} are no probabilities: use --min-score instead"
        )
    view = read_waiting_view(session) if at is None else WaitingView()
    selection = replace(selection, slope=_find_slope(session, at))
    given, found = (
        view.show(session.store.iterate_links(status, at), status)
        for status in (PairStatus.GIVEN, PairStatus.FOUND)
    )
    links, others = _name_links(session, given), _name_links(session, found)
    if selection.needs_probabilities:
        proposed = _iterate_proposals(session, view, at)
        others = merge(others, proposed, key=lambda link: -link.score)
    return selection.choose(chain(links, others))


def temper_confidence(confidence: float, slope: float) -> float:
    """Compute the share of links that can be expected to be right.

    >>> [round(temper_confidence(confidence, 0.75), 3) for confidence in (0.5, 0.9, 0.99, 1.0)]
    [0.5, 0.839, 0.969, 1.0]

    Args:
        confidence: Their confidence.
        slope: What its log-odds are multiplied with.

    Returns:
        A probability.
    """
    right: float = confidence**slope
    wrong: float = (1 - confidence) ** slope
    return right / (right + wrong)


def find_target_problem(
    session: AlignmentSession, target_precision: float, at: int | None = None
) -> str:
    """Find out why a precision cannot be promised.

    Args:
        session: An open alignment.
        target_precision: The precision.
        at: The version; None for the last one with the waiting decisions on top.

    Returns:
        One line; empty if the links that are chosen for it can be expected to be as precise.

    Raises:
        ConfigError: The precision is out of range, or the scores are no probabilities.
        StateError: There is no such version.
    """
    selection = Selection(target_precision=target_precision, found_only=True)
    if next(iterate_links(session, selection, at), None) is None:
        everything = Selection(min_confidence=0.0, found_only=True)
        if next(iterate_links(session, everything, at), None) is not None:
            return f"no link is sure enough to promise a precision of {target_precision:g}"
    if _find_slope(session, at) == UNCALIBRATED_SLOPE:
        return (
            f"a precision of {target_precision:g} cannot be promised: too few trusted links to "
            "calibrate confidence"
        )
    return ""


def _find_slope(session: AlignmentSession, at: int | None) -> float:
    version = session.store.last_version() if at is None else at
    calibrated = version is None or session.store.read_version(version).info.get(
        "calibrated", True
    )
    return 1.0 if calibrated else UNCALIBRATED_SLOPE


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


def _name_links(session: AlignmentSession, rows: Iterable[LinkInterval]) -> Iterator[Link]:
    rows = iter(rows)
    while page := list(islice(rows, NAMES_AT_ONCE)):
        left, right = session.name_entities(row.pair for row in page)
        for row in page:
            origin = "given" if row.status == PairStatus.GIVEN else "found"
            yield Link(left[row.left], right[row.right], row.score, row.born, origin)


def _iterate_proposals(
    session: AlignmentSession, view: WaitingView, at: int | None
) -> Iterator[Link]:
    left, right = session.entity_names()
    version = session.store.next_version() - 1 if at is None else at
    for pair in iterate_free_proposals(session, view, at):
        yield Link(left[pair.left], right[pair.right], pair.score, version, "proposed")


def iterate_free_proposals(
    session: AlignmentSession, view: WaitingView, at: int | None = None
) -> Iterator[ScoredPair]:
    """Iterate over the proposals that no link in force excludes.

    Args:
        session: An open alignment.
        view: What the waiting decisions do to the links.
        at: The version; the last one if None.

    Yields:
        Pairs by descending score, then by left and right id.
    """
    version = session.store.last_version() if at is None else at
    # A version that did not run the method has the proposals of the last one that did.
    method_version = None if version is None else session.method_version(version)
    if version is None or method_version is None:
        return
    proposed = merge_links(
        [],
        session.store.read_proposals(method_version),
        cardinality=session.config.cardinality,
    )
    ranked = iter(sorted(proposed, key=lambda pair: (-pair.score, *pair.pair)))
    while page := list(islice(ranked, NAMES_AT_ONCE)):
        yield from _select_free(session, page, view, version)


def _select_free(
    session: AlignmentSession, page: Sequence[ScoredPair], view: WaitingView, version: int
) -> list[ScoredPair]:
    """Select the pairs that are no links and may be."""
    entities = list_entities([link.pair for link in page])
    links = session.store.read_links_of(*entities, version)
    decisions = session.store.read_decisions_of(*entities, version)
    dangling = [pair for pair, kind in decisions.items() if kind is DecisionKind.NO_COUNTERPART]
    linked = [pair for pair in links.links if pair not in view.hidden]
    linked += [row.pair for row in view.rows if row.status != PairStatus.REJECTED]
    alone_left, alone_right = list_entities(dangling)
    alone_left, alone_right = alone_left | view.dangling[0], alone_right | view.dangling[1]
    decided = links.rejected_pairs - view.hidden
    decided |= {row.pair for row in view.rows if row.status == PairStatus.REJECTED}
    decided |= set(linked)
    partners = PartnerIndex(linked, links.cardinality)
    return [
        link
        for link in page
        if link.left not in alone_left
        and link.right not in alone_right
        and link.pair not in decided
        and not partners.competing_pairs(link.pair)
    ]
