"""Found links compared with gold links, which may judge only some of them (internal)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.benchmark.metrics import (
    Scores,
    ThresholdScores,
    calibration_error,
    score_links,
    score_thresholds,
)
from everalign.errors import ConfigError, InputError
from everalign.graph import NameIndex
from everalign.select import Selection, check_fraction, is_calibrated, iterate_links
from everalign.session import AlignmentSession, convert_recorded
from everalign.state.decisions import NO_ENTITY, DecisionKind, fold_decisions
from everalign.state.intervals import PairStatus
from everalign.state.link_table import list_entities
from everalign.state.links import Pair

SCOPES = ("gold", "all")
# Gold links that name a smaller share of the linked entities cannot judge all links.
FULL_COVERAGE = 0.9
DEFAULT_THRESHOLDS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99)
JUDGING_KINDS = (DecisionKind.CONFIRMED, DecisionKind.REJECTED, DecisionKind.NO_COUNTERPART)

# Names in gold files, ids in decisions.
AnyPair = tuple[Any, Any]


@dataclass(frozen=True)
class Evaluation(Scores):
    """Scores of found links, what they were computed over, and what was odd about the gold links.

    Attributes:
        predicted: Number of found links that are judged.
        gold: Number of gold links, without given ones and those that a given link excludes.
        correct: Number of found links that are gold links.
        calibration_error: Expected calibration error; None if scores are not probabilities.
        scope: "gold" if only links that touch an entity of the gold links are judged, "all" if
            every found link is.
        coverage: The share of the entities with a found link that the gold links name.
        unjudged: Number of found links that are left out because of the scope.
        unknown: Number of gold links with an entity that its graph does not have; they count as
            missed.
        swapped: How many gold links were read with left and right exchanged.
        thresholds: The scores at each of the thresholds asked for; proposals count as links
            there, if scores are probabilities.
    """

    scope: str = "all"
    coverage: float = 1.0
    unjudged: int = 0
    unknown: int = 0
    swapped: int = 0
    thresholds: tuple[ThresholdScores, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Convert to a mapping.

        Returns:
            Ratios, counts and the scores at each threshold by name.
        """
        return super().to_dict() | {"thresholds": [row.to_dict() for row in self.thresholds]}


@dataclass(frozen=True)
class GoldStandard:
    """What is known about which links are right.

    Args:
        links: Pairs that are the same.
        rejected: Pairs that are not.
        dangling: Left and right entities without a counterpart.
    """

    links: Collection[AnyPair]
    rejected: Collection[AnyPair] = frozenset()
    dangling: tuple[Collection[Any], Collection[Any]] = (frozenset(), frozenset())
    entities: tuple[set[Any], set[Any]] = field(init=False)

    def __post_init__(self) -> None:
        named = tuple(
            {pair[side] for pair in self.links} | set(self.dangling[side]) for side in (0, 1)
        )
        object.__setattr__(self, "entities", named)

    def judges(self, pair: AnyPair) -> bool:
        """Tell whether it is known if a link is right.

        Args:
            pair: The two entities of the link.

        Returns:
            Whether one of them has a known counterpart, or none, or the pair was rejected.
        """
        left, right = self.entities
        return pair[0] in left or pair[1] in right or pair in self.rejected


def evaluate_links(
    session: AlignmentSession,
    gold: Sequence[tuple[str, str]],
    scope: str | None = None,
    thresholds: Sequence[float] = (),
    at: int | None = None,
) -> Evaluation:
    """Compare found links with gold links. What given links decide is left out in both.

    Args:
        session: An open alignment.
        gold: Pairs of names.
        scope: One of `SCOPES`; None for "all" if the gold links name nearly all linked entities,
            or else "gold".
        thresholds: Confidences to compute scores at.
        at: The version; the last one if None.

    Returns:
        The scores.

    Raises:
        ConfigError: There is no such scope, or a threshold is out of range.
        StateError: There is no such version.
    """
    calibrated = is_calibrated(session)
    _check_request(scope, thresholds, calibrated=calibrated)
    pairs, unknown, swapped = _orient_pairs(gold, session.entity_names())
    links = list(iterate_links(session, Selection(), at))
    # The method did not find given links, and may not link their entities otherwise: counted in,
    # they would raise the scores, and gold links of their entities would lower them.
    given = {(link.left, link.right) for link in links if link.origin == "given"}
    unique_left, unique_right = session.config.cardinality.unique_sides
    lefts = {left for left, _ in given if unique_left}
    rights = {right for _, right in given if unique_right}
    found = {(link.left, link.right): link.score for link in links if link.origin == "found"}
    standard = GoldStandard(
        {
            pair
            for pair in pairs
            if pair not in given and pair[0] not in lefts and pair[1] not in rights
        }
    )
    scored = found
    if thresholds and calibrated:
        chosen = iterate_links(session, Selection(min_confidence=0.0, found_only=True), at)
        scored = {(link.left, link.right): link.score for link in chosen}
    result = _score(found, scored, standard, scope, thresholds, calibrated=calibrated)
    return replace(result, unknown=unknown, swapped=swapped)


def evaluate_decisions(
    session: AlignmentSession,
    scope: str | None = None,
    thresholds: Sequence[float] = (),
    at: int | None = None,
) -> Evaluation:
    """Compare found links with what people decided later.

    Each decision in force, also a waiting one, is compared with the links of the version before
    it took effect: from then on, the method knows it.

    Args:
        session: An open alignment.
        scope: "gold" or None: decisions do not judge all links.
        thresholds: Confidences to compute scores at; of found links only.
        at: Compare with the links of this version, and only decisions that took effect later;
            each decision with the version before it if None.

    Returns:
        The scores.

    Raises:
        ConfigError: The scope is another one, or a threshold is out of range.
        InputError: There is no such decision.
        StateError: There is no such version.
    """
    calibrated = is_calibrated(session)
    _check_request(scope, thresholds, calibrated=calibrated)
    if scope == "all":
        raise ConfigError("decisions judge some links only: the scope must be 'gold'")
    found: dict[AnyPair, float] = {}
    by_version = _group_decisions(session)
    if at is not None:
        later = [group for version, group in by_version.items() if version >= at]
        by_version = {at: {pair: kind for group in later for pair, kind in group.items()}}
    decisions = {pair: kind for group in by_version.values() for pair, kind in group.items()}
    if not decisions:
        raise InputError("no decision can serve as gold: nothing was confirmed or rejected")
    for version, group in by_version.items():
        standard = _build_standard(group)
        lefts, rights = list_entities(group)
        for row in session.store.links.read_of_entities(lefts, rights, version):
            if row.status == PairStatus.FOUND and standard.judges(row.pair):
                found[row.pair] = row.score
    standard = _build_standard(decisions)
    return _score(found, found, standard, "gold", thresholds, calibrated=calibrated)


def _check_request(scope: str | None, thresholds: Sequence[float], *, calibrated: bool) -> None:
    if scope is not None and scope not in SCOPES:
        raise ConfigError(f"scope must be one of {', '.join(SCOPES)}, not {scope!r}")
    for threshold in thresholds if calibrated else ():
        check_fraction("threshold", threshold)


def _orient_pairs(
    gold: Sequence[tuple[str, str]], names: tuple[NameIndex, NameIndex]
) -> tuple[Sequence[tuple[str, str]], int, int]:
    """Exchange left and right where a pair fits only so; count what does not fit, and these."""
    fits, fits_exchanged = (_mark_known(pairs, names) for pairs in (gold, _exchange(gold)))
    # Names may be those of both graphs: what most pairs say holds for all that fit both ways.
    if 2 * (int(fits_exchanged.sum()) - int(fits.sum())) > len(gold):
        exchanged = fits_exchanged | ~fits
    else:
        exchanged = fits_exchanged & ~fits
    pairs = [
        (right, left) if is_exchanged else (left, right)
        for (left, right), is_exchanged in zip(gold, exchanged.tolist(), strict=True)
    ]
    return pairs, int((~fits & ~fits_exchanged).sum()), int((exchanged & fits_exchanged).sum())


def _exchange(pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
    return [(right, left) for left, right in pairs]


def _mark_known(
    pairs: Sequence[tuple[str, str]], names: tuple[NameIndex, NameIndex]
) -> NDArray[np.bool_]:
    left, right = (
        index.find_ids([pair[side] for pair in pairs]) for side, index in enumerate(names)
    )
    return np.asarray((left >= 0) & (right >= 0))


def _score(
    found: Mapping[AnyPair, float],
    scored: Mapping[AnyPair, float],
    standard: GoldStandard,
    scope: str | None,
    thresholds: Sequence[float],
    *,
    calibrated: bool,
) -> Evaluation:
    coverage = _measure_coverage(found, standard)
    scope = scope or ("all" if coverage >= FULL_COVERAGE else "gold")
    if scope == "gold":
        scored = {pair: score for pair, score in scored.items() if standard.judges(pair)}
    judged = {pair: score for pair, score in found.items() if pair in scored}
    scores = score_links(judged, standard.links)
    error = None
    # Other scores are no probabilities, so there is no calibration to measure.
    if calibrated:
        correct = [pair in standard.links for pair in judged]
        error = calibration_error(list(judged.values()), correct)
    return Evaluation(
        *(scores.predicted, scores.gold, scores.correct, error),
        scope=scope,
        coverage=coverage,
        unjudged=len(found) - len(judged),
        thresholds=tuple(
            score_thresholds(scored, standard.links, thresholds, calibrated=calibrated)
        ),
    )


def _measure_coverage(found: Iterable[AnyPair], standard: GoldStandard) -> float:
    linked = [{pair[side] for pair in found} for side in (0, 1)]
    named = sum(
        len(entities & known) for entities, known in zip(linked, standard.entities, strict=True)
    )
    total = sum(map(len, linked))
    return named / total if total else 1.0


def _group_decisions(session: AlignmentSession) -> dict[int, dict[Pair, DecisionKind]]:
    """The decisions that judge links, by the last version that did not know them."""
    last = session.store.next_version() - 1
    stored, starts = session.store.read_decisions(), session.store.read_decision_starts()
    waiting = map(convert_recorded, session.waiting_decisions())
    groups: dict[int, dict[Pair, DecisionKind]] = defaultdict(dict)
    folded = fold_decisions(stored, waiting, session.config.cardinality)
    for pair, kind in folded.items():
        if kind in JUDGING_KINDS:
            version = starts[pair] - 1 if stored.get(pair) is kind else last
            groups[version][pair] = kind
    return groups


def _build_standard(decisions: Mapping[Pair, DecisionKind]) -> GoldStandard:
    alone = [pair for pair, kind in decisions.items() if kind is DecisionKind.NO_COUNTERPART]
    lefts, rights = ({pair[side] for pair in alone if pair[side] != NO_ENTITY} for side in (0, 1))
    return GoldStandard(
        {pair for pair, kind in decisions.items() if kind is DecisionKind.CONFIRMED},
        {pair for pair, kind in decisions.items() if kind is DecisionKind.REJECTED},
        (lefts, rights),
    )
