"""One update of an alignment: read, encode, journal, run the method, decide, commit.

The functions that write are `create_alignment`, `update_alignment`, `apply_decisions` and
`revert_alignment`. Each encodes what comes in as a delta, journals it, and has
`apply_pending_delta` turn it into the next version. Once a delta is journalled,
`apply_pending_delta` may be killed and run again any number of times.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from dataclasses import fields, replace
from importlib.metadata import version as read_package_version
from pathlib import Path
from time import perf_counter
from typing import Any

from everalign._platform import peak_memory_mb
from everalign._progress import Progress, no_progress
from everalign.changeset import ChangeSet, encode_change_set, encode_revert
from everalign.config import Config
from everalign.errors import ConfigError, StateError
from everalign.graph import LinkSource, Vocabulary
from everalign.matching import CandidatePairs
from everalign.methods import Method, create_method, get_method_entry, resolve_file_settings
from everalign.session import AlignmentSession
from everalign.state import Delta, Json, StateStore
from everalign.state.decisions import DecisionEventBuilder, list_decided_pairs
from everalign.state.ledger import (
    MERGE_RULES,
    EventKind,
    EventReason,
    LedgerEvent,
    LinkSet,
    Pair,
    ScoredPair,
    diff_links,
    merge_links,
    replay_events,
)
from everalign.state.snapshots import GraphSnapshot, find_revert_target
from everalign.task import UpdateContext
from everalign.types import UpdateResult, VersionReport

logger = logging.getLogger(__name__)

EntitySets = tuple[set[int], set[int]]

DECISION_FIELDS = ("confirmed", "rejected", "withdrawn")
# Version reports count the events of these kinds; a new score alone is not counted.
COUNTED_EVENTS = tuple(kind for kind in EventKind if kind is not EventKind.RESCORED)


def resolve_config(config: Config) -> Config:
    """Complete a configuration, and check it before any work begins.

    Args:
        config: Settings as a user gives them.

    Returns:
        The configuration with a merge rule, and with absolute paths of the files that it names.

    Raises:
        ConfigError: A method, rule, setting or file does not exist.
    """
    config = resolve_merge_rule(config)
    # Only the method itself can check its settings.
    create_method(config)
    return resolve_file_settings(config)


def resolve_merge_rule(config: Config) -> Config:
    """Choose the merge rule of the method where a configuration leaves it open.

    Args:
        config: Settings as a user gives them.

    Returns:
        The configuration with a merge rule.

    Raises:
        ConfigError: The method or the rule does not exist.

    Example:
        >>> resolve_merge_rule(Config(method="contea")).merge_rule
        'best'
    """
    rule = config.merge_rule
    if rule == "auto":
        rule = get_method_entry(config.method).merge_rule
    elif rule not in MERGE_RULES:
        raise ConfigError(
            f"unknown merge rule {rule!r}; choose from auto, {', '.join(MERGE_RULES)}"
        )
    return replace(config, merge_rule=rule)


def check_seeds_given(config: Config, seeds: LinkSource | None) -> None:
    """Check that a method which needs trusted links has some to start from.

    Args:
        config: Names the method.
        seeds: Trusted links, if there are any.

    Raises:
        ConfigError: They are missing.
    """
    if seeds is None and get_method_entry(config.method).needs_seeds:
        raise ConfigError(
            f"method {config.method!r} needs trusted links to start from: give --seeds"
        )


def create_alignment(
    path: Path, change: ChangeSet, config: Config, progress: Progress = no_progress
) -> None:
    """Create a state directory and make version 0, or finish one that was interrupted.

    Args:
        path: The state directory; must not hold an alignment yet.
        change: Both graphs and trusted links.
        config: Complete settings.
        progress: Called now and then.

    Raises:
        InputError: A file, or a line in it, is not as expected.
        StateError: The directory holds an alignment or other files.
    """
    vocabularies = Vocabulary(), Vocabulary()
    # Before the directory is made, so that a mistake in a file leaves nothing behind.
    delta = encode_change_set(
        change,
        vocabularies,
        GraphSnapshot(),
        progress=progress,
        names_from_iris=_uses_iri_names(config),
    )
    if StateStore.exists(path):
        session = AlignmentSession.open(path, write=True)
    else:
        settings = {"config": config.to_toml(), "made_by": read_package_version("everalign")}
        session = AlignmentSession(path, StateStore.create(path, settings))
    with session:
        _check_same_beginning(session, config, delta)
        if session.pending is None:
            # The store knows no names yet: the session goes on with those that have just been
            # encoded.
            session.journal_delta(delta, vocabularies)
        apply_pending_delta(session, progress)


def update_alignment(
    session: AlignmentSession,
    change: ChangeSet,
    progress: Progress = no_progress,
    *,
    rescore_all: bool = False,
) -> UpdateResult:
    """Finish an interrupted update, then apply changes and decisions that the method has not seen.

    Args:
        session: An alignment that is open for writing.
        change: What comes in; may be empty.
        progress: Called now and then.
        rescore_all: Whether the method is to look at everything again, also without changes.

    Returns:
        A report of each version made, or a message why there is none.

    Raises:
        InputError: A file, or a line in it, is not as expected. Nothing has changed then.
    """
    first, pending = session.store.next_version(), session.pending
    # Before an interrupted update is finished: a wrong path must not fail after minutes of work.
    change.check_readable()
    if pending is None:
        session.check_started()
    else:
        apply_pending_delta(session, progress)
    # If a full pass was interrupted, the one that is asked for now has just been made.
    must_run = rescore_all and not (pending and pending.rescore_all)
    must_run = must_run or _has_unseen_decisions(session)
    if change.is_empty and not must_run:
        finished = session.store.next_version() > first
        return _build_result(session, first, "" if finished else "nothing to do: no changes given")
    # Only now: ids and facts are those after the interrupted update.
    delta = _encode(session, change, progress, rescore_all=rescore_all)
    if not must_run and not delta.has_effect:
        return _build_result(session, first, _explain_no_effect(delta))
    session.journal_delta(delta)
    apply_pending_delta(session, progress)
    return _build_result(session, first)


def apply_decisions(session: AlignmentSession, change: ChangeSet) -> UpdateResult:
    """Apply decisions of people at once, without running the method.

    Args:
        session: An alignment that is open for writing.
        change: Confirmed, rejected or withdrawn pairs.

    Returns:
        A report of the version, or a message that there was nothing to do.

    Raises:
        SeedError: Decisions contradict the graphs or each other.
        StateError: An interrupted update has to be finished first.
    """
    session.check_finished()
    first = session.store.next_version()
    delta = _encode(session, change, runs_method=False)
    if not delta.has_effect:
        kinds = [name for name in DECISION_FIELDS if getattr(change, name) is not None]
        return _build_result(session, first, f"nothing to do: already {' and '.join(kinds)}")
    session.journal_delta(delta)
    apply_pending_delta(session)
    return _build_result(session, first)


def revert_alignment(session: AlignmentSession, version: int) -> UpdateResult:
    """Make a new version that equals an earlier one.

    Args:
        session: An alignment that is open for writing.
        version: The version to revert to.

    Returns:
        A report of the version, or a message that there was nothing to do.

    Raises:
        StateError: There is no such version, or an interrupted update has to be finished first.
    """
    session.check_finished()
    store, first = session.store, session.store.next_version()
    # Equal links are not enough: the facts and decisions behind them may differ.
    same_links = store.read_links(version) == store.read_links()
    then, now = session.deltas_in_effect(version), session.deltas_in_effect()
    if same_links and [number for number, _ in then] == [number for number, _ in now]:
        return _build_result(session, first, f"nothing to do: equal to version {version}")
    session.journal_delta(encode_revert(version))
    apply_pending_delta(session)
    return _build_result(session, first)


def apply_pending_delta(session: AlignmentSession, progress: Progress = no_progress) -> None:
    """Turn the pending delta into the next version.

    Args:
        session: An alignment that is open for writing and has a pending delta.
        progress: Called now and then by the method.
    """
    started = perf_counter()
    store, context = session.store, UpdateContext.from_pending(session)
    delta, version, links = context.pending, store.next_version(), store.read_links()
    assert delta is not None
    target = find_revert_target(delta)
    removed = set(context.removed_entities[0].tolist()), set(context.removed_entities[1].tolist())
    # 1. Decisions come first: a method never overrules them.
    decisions = DecisionEventBuilder(context.snapshot.decisions, removed, target)
    decision_events = decisions.build_events(links, version)
    links = replay_events(decision_events, links)
    # 2. The method finds candidate pairs; merged with the links in force, they are the new links.
    if delta.runs_method:
        method, found = _run_method(context, links, progress)
        reduced = context.entities_with_removed_facts()
        new_links = _merge_found(session.config, found, links, reduced)
        arrays, proposals, remarks = method.save(), _list_pairs(found.proposed()), _remark(found)
        why = _explain_loss(reduced, removed)
        link_events = diff_links(links.found_links, new_links, version, why)
    else:
        # What the method stored when it last ran stays valid, so nothing is stored again.
        arrays, proposals, remarks = {}, None, _repeat_remarks(context)
        past = links if target is None else store.read_links(target)
        new_links = past.found_links
        # `min_score_change=0`: a version that equals an earlier one has exactly its scores.
        why = _explain_revert(target)
        link_events = diff_links(links.found_links, new_links, version, why, min_score_change=0)
    # 3. One transaction makes the version exist.
    events = [*decision_events, *link_events]
    info: dict[str, Json] = {
        "source": delta.source,
        **delta.counts,
        # Still the snapshot before the update: `commit_version` replaces it.
        **context.count_graph_changes(session.snapshot),
        **_count_events(events),
        **remarks,
        "found_links": len(new_links),
        "seconds": round(perf_counter() - started, 3),
        "peak_rss_mb": peak_memory_mb(),
    }
    session.commit_version(arrays, events, info, proposals)
    logger.info(
        "version %d: %d links added, %d revised, %d retracted, %d in force, %.2f s",
        version,
        *(info[f"links_{kind}"] for kind in ("added", "revised", "retracted")),
        len(new_links),
        perf_counter() - started,
    )


def list_version_reports(session: AlignmentSession) -> list[VersionReport]:
    """Report every version, oldest first.

    Args:
        session: An open alignment.

    Returns:
        What each version brought.
    """
    known = {entry.name for entry in fields(VersionReport)}
    return [
        VersionReport(
            version.number,
            version.made_at,
            **{name: _freeze(value) for name, value in version.info.items() if name in known},
        )
        for version in session.store.list_versions()
    ]


def _check_same_beginning(session: AlignmentSession, config: Config, delta: Delta) -> None:
    """Check that a state directory is new, or was begun with the same input and settings."""
    if session.store.last_version() is not None:
        raise StateError(f"{session.path} already holds an alignment: use `update` to change it")
    pending = session.pending
    if session.config != config or (pending and pending.digest != delta.digest):
        raise StateError(
            f"{session.path} was begun with other input or settings and interrupted: "
            "finish it with `update`, or delete it"
        )


def _has_unseen_decisions(session: AlignmentSession) -> bool:
    """Whether people have decided something since the method last ran."""
    # Only a delta that has nothing but decisions does not run the method.
    in_effect = session.deltas_in_effect()
    return bool(in_effect) and not in_effect[-1][1].runs_method


def _encode(
    session: AlignmentSession,
    change: ChangeSet,
    progress: Progress = no_progress,
    *,
    rescore_all: bool = False,
    runs_method: bool = True,
) -> Delta:
    return encode_change_set(
        change,
        session.vocabularies,
        session.snapshot,
        list_decided_pairs(delta.arrays for _, delta in session.deltas_in_effect()),
        progress,
        rescore_all=rescore_all,
        runs_method=runs_method,
        names_from_iris=_uses_iri_names(session.config),
    )


def _uses_iri_names(config: Config) -> bool:
    return config.names_from_iris and get_method_entry(config.method).reads_literals


def _explain_no_effect(delta: Delta) -> str:
    missing = delta.counts["missing_removals"]
    if missing:
        return f"nothing to do: {missing} rows to remove are not there"
    return "nothing to do: everything given is known already"


def _run_method(
    context: UpdateContext, links: LinkSet, progress: Progress
) -> tuple[Method, CandidatePairs]:
    """Let the method learn from the update, and find candidate pairs."""
    session, trained_at = context.session, context.method_version
    name, step = session.config.method, "fit" if trained_at is None else "update"
    task, method = context.build_task(links), create_method(session.config)
    started = perf_counter()
    logger.debug("method %s, %s: started", name, step)
    if trained_at is None:
        method.fit(task, progress)
    else:
        # From the store, also if this process has trained the method: a repeated update must not
        # depend on anything else.
        method.load(session.store.load_arrays(trained_at))
        method.update(task, progress)
    logger.info("method %s, %s: %.2f s", name, step, perf_counter() - started)
    started = perf_counter()
    found = method.candidates(task, progress)
    logger.info(
        "%d candidate pairs, threshold %.3f, %.2f s",
        len(found),
        found.threshold,
        perf_counter() - started,
    )
    return method, found


def _merge_found(
    config: Config, found: CandidatePairs, links: LinkSet, reduced: EntitySets
) -> list[ScoredPair]:
    """Merge found links with those in force; an entity that lost facts must be found again."""
    kept = [link for link in links.found_links if not _has_entity_in(link.pair, reduced)]
    rule = MERGE_RULES[config.merge_rule]
    accepted = _list_pairs(found.accepted())
    return merge_links(kept, accepted, rule, links.confirmed_pairs, links.rejected_pairs)


def _explain_loss(reduced: EntitySets, removed: EntitySets) -> EventReason:
    """Explain events of links whose entities have lost facts."""

    def explain(event: LedgerEvent) -> str:
        # A link that is new was found in spite of the loss.
        if event.kind not in (EventKind.RETRACTED, EventKind.RESCORED):
            return ""
        if _has_entity_in(event.pair, removed):
            return "an entity was removed"
        lost = _has_entity_in(event.pair, reduced)
        return "facts of its entities were removed" if lost else ""

    return explain


def _explain_revert(target: int | None) -> EventReason:
    return lambda _: "" if target is None else f"reverted to version {target}"


def _has_entity_in(pair: Pair, entities: EntitySets) -> bool:
    return pair[0] in entities[0] or pair[1] in entities[1]


def _count_events(events: list[LedgerEvent]) -> dict[str, int]:
    counts = Counter(event.kind for event in events)
    return {f"links_{kind.value}": counts[kind] for kind in COUNTED_EVENTS}


def _remark(found: CandidatePairs) -> dict[str, Json]:
    """Note what holds for all candidate pairs."""
    # JSON has no infinity.
    threshold = float(found.threshold) if math.isfinite(found.threshold) else None
    return {"threshold": threshold, "notes": list(found.notes)}


def _repeat_remarks(context: UpdateContext) -> dict[str, Json]:
    """Repeat the remarks of the version whose method state is still in use."""
    if context.method_version is None:
        return {}
    info = context.session.store.list_versions()[context.method_version].info
    return {name: info[name] for name in ("threshold", "notes") if name in info}


def _list_pairs(candidates: CandidatePairs) -> list[ScoredPair]:
    # `tolist` gives Python numbers; the database refuses events with those of numpy.
    columns = candidates.left.tolist(), candidates.right.tolist(), candidates.score.tolist()
    return [ScoredPair(*row) for row in zip(*columns, strict=True)]


def _build_result(session: AlignmentSession, first: int, message: str = "") -> UpdateResult:
    return UpdateResult(tuple(list_version_reports(session)[first:]), message)


def _freeze(value: Any) -> Any:
    # JSON has lists only; a report is immutable.
    return tuple(value) if isinstance(value, list) else value
