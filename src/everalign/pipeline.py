"""One update of an alignment: read, encode, journal, run the method, decide, commit.

The functions that write are `create_alignment`, `update_alignment` and `revert_alignment`. Each
encodes what comes in as a delta, journals it, and has `apply_pending_delta` turn it into the next
version. Once a delta is journalled, `apply_pending_delta` may be killed and run again any number
of times. `apply_waiting_decisions` makes a version of nothing but decisions, in one transaction.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, fields, replace
from functools import partial
from importlib.metadata import version as read_package_version
from pathlib import Path
from time import perf_counter
from typing import Any

from everalign._checkpoints import use_checkpoints
from everalign._memory_limit import check_scratch_room
from everalign._platform import peak_memory_mb
from everalign._progress import Progress, no_progress
from everalign.cardinality import Cardinality
from everalign.causes import RetractionCause
from everalign.changeset import ChangeSet, StateBefore, encode_change_set, encode_revert
from everalign.config import Config
from everalign.errors import ConfigError, StateError
from everalign.graph import NO_TRIPLES, LinkSource, Vocabulary
from everalign.io.links import combine_prefixes
from everalign.matching import CandidatePairs
from everalign.methods import (
    AlignmentTask,
    CandidateChanges,
    CheckingMethod,
    IncrementalMethod,
    Method,
    create_method,
    get_method_entry,
    list_methods,
    resolve_file_settings,
)
from everalign.retractions import RetractionReasons
from everalign.scope import resolve_classes
from everalign.session import AlignmentSession, convert_recorded
from everalign.state import Delta, Json, StateStore
from everalign.state.decisions import Decisions, LazyDecisions, fold_decisions
from everalign.state.folding import RemovalChanges
from everalign.state.inbox import RecordedDecision
from everalign.state.ledger import (
    MERGE_RULES,
    EventExplainer,
    EventKind,
    LedgerEvent,
    LinkSet,
    Pair,
    PartnerIndex,
    ScoredPair,
    diff_links,
    keep_found_only,
    merge_links,
    prepend_reason,
    replay_events,
)
from everalign.state.link_table import list_entities
from everalign.state.method_output import MethodOutput
from everalign.state.snapshots import SIDES, find_revert_target, get_added_array_name
from everalign.task import StoredTask, UpdateContext
from everalign.types import UpdateResult, VersionReport

logger = logging.getLogger(__name__)

EntitySets = tuple[set[int], set[int]]

# What is noted of a version holds for as long as the state of the method is in use.
REMARKS = ("threshold", "notes", "calibrated", "contradicted_count", "contradicted_links")
# Contradicted links that the status shows; all of them can be asked for.
MAX_REMARKED_LINKS = 10
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
    check_cardinality(config)
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


def check_cardinality(config: Config) -> None:
    """Check that the method can find links of the wanted cardinality.

    Args:
        config: Names the method and the cardinality.

    Raises:
        ConfigError: It finds one-to-one links only.

    Example:
        >>> check_cardinality(Config(method="contea", cardinality="many-to-one"))
        Traceback (most recent call last):
        everalign.errors.ConfigError: method 'contea' finds one-to-one links only; for many-to-...
    """
    entry = get_method_entry(config.method)
    if config.cardinality is not Cardinality.ONE_TO_ONE and not entry.any_cardinality:
        others = ", ".join(e.name for e in list_methods().values() if e.any_cardinality)
        raise ConfigError(
            f"method {config.method!r} finds one-to-one links only; "
            f"for {config.cardinality} choose from {others}"
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
        ConfigError: No graph has a class that the configuration names, or it is ambiguous.
        StateError: The directory holds an alignment or other files.
    """
    vocabularies = Vocabulary(), Vocabulary()
    # Before the directory is made, so that a mistake in a file leaves nothing behind.
    delta = encode_change_set(
        change,
        vocabularies,
        StateBefore(cardinality=config.cardinality),
        progress,
        names_from_iris=_uses_iri_names(config),
    )
    graphs = [
        delta.arrays.get(get_added_array_name(side, "triples"), NO_TRIPLES) for side in SIDES
    ]
    check_scratch_room(sum(map(len, delta.arrays.values())))
    prefixes = combine_prefixes([delta.prefixes])
    config = resolve_classes(config, vocabularies, graphs, prefixes.expand_curie)
    if StateStore.exists(path):
        session = AlignmentSession.open(path, write=True)
    else:
        settings = {"config": config.to_toml(), "made_by": read_package_version("everalign")}
        session = AlignmentSession(path, StateStore.create(path, settings))
    with session:
        if _is_done(session, config, delta):
            return
        _check_same_beginning(session, config, delta)
        if session.pending is None:
            # The store knows no names yet: the session goes on with those that have just been
            # encoded.
            progress("storing the input", 0, 0)
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
    waiting = session.waiting_decisions()
    plan = session.store.plan_decisions().plan_given(list(map(convert_recorded, waiting)))
    # If a full pass was interrupted, the one that is asked for now has just been made.
    # What the method remembered may be gone, as after a revert to an old version.
    rescore_all = rescore_all or session.method_version() is None
    must_run = rescore_all and not (pending and pending.rescore_all)
    must_run = must_run or plan.has_effect or _has_unseen_decisions(session)
    message = ""
    if not change.is_empty or must_run:
        # Only now: ids and facts are those after the interrupted update.
        delta = _encode(session, change, waiting, progress, rescore_all=rescore_all)
        if must_run or delta.has_effect:
            progress("storing the input", 0, 0)
            session.journal_delta(delta)
            apply_pending_delta(session, progress)
            return _build_result(session, first)
        message = _explain_no_effect(delta)
    if waiting:
        # They change nothing, so there is nothing for the method to do.
        apply_waiting_decisions(session)
    elif session.store.next_version() == first:
        message = message or "nothing to do: no changes given"
    return _build_result(session, first, message)


def apply_waiting_decisions(
    session: AlignmentSession, progress: Progress = no_progress
) -> UpdateResult:
    """Take up all waiting decisions in one version, without running the method.

    An interrupted update is finished first.

    Args:
        session: An alignment that is open for writing.
        progress: Called while an interrupted update is finished.

    Returns:
        A report of each version made, or a message that no decision was waiting.
    """
    started, store, first = perf_counter(), session.store, session.store.next_version()
    _finish_interrupted(session, progress)
    waiting = session.waiting_decisions()
    if not waiting:
        return _build_result(session, first, "nothing to do: no decision is waiting")
    given = list(map(convert_recorded, waiting))
    plan = store.plan_decisions().plan_given(given, inbox_upto=waiting[-1].number)
    info: dict[str, Json] = {
        "source": "decisions",
        **_count_events(plan.events),
        **_repeat_remarks(store, store.next_version() - 1),
        "seconds": round(perf_counter() - started, 3),
        "peak_rss_mb": peak_memory_mb(),
    }
    store.commit_decisions(plan, info)
    return _build_result(session, first)


def revert_alignment(
    session: AlignmentSession, version: int, progress: Progress = no_progress
) -> UpdateResult:
    """Make a new version that equals an earlier one.

    An interrupted update is finished first. Decisions that are waiting go on waiting.

    Args:
        session: An alignment that is open for writing.
        version: The version to revert to.
        progress: Called while an interrupted update is finished.

    Returns:
        A report of each version made, and a message if there was nothing to revert.

    Raises:
        StateError: There is no such version.
    """
    store, first = session.store, session.store.next_version()
    _finish_interrupted(session, progress)
    if _equals_last_version(session, version):
        return _build_result(session, first, f"nothing to do: equal to version {version}")
    session.journal_delta(encode_revert(version, store.inbox_upto()))
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
    delta, version = context.pending, store.next_version()
    assert delta is not None
    target = find_revert_target(delta)
    # 1. Decisions come first: a method never overrules them.
    removals, planner = context.find_removal_changes(), store.plan_decisions()
    if target is None:
        plan = planner.plan_given(session.coming_decisions(), removals, delta.inbox_upto)
    else:
        plan = planner.plan_revert(target, removals)
    # 2. The method finds candidate pairs; merged with the links in force, they are the new links.
    if target is None:
        outcome = _run_method(context, plan.events, progress)
    else:
        # What the method stored when it last ran stays valid, so nothing is stored again.
        outcome = _Outcome(
            MethodOutput(same_as=target),
            _diff_reverted(store, target, plan.events),
            _repeat_remarks(store, target),
        )
    # 3. One transaction makes the version exist.
    events = [*plan.events, *outcome.events]
    info: dict[str, Json] = {
        "source": delta.source,
        **delta.counts,
        **context.count_graph_changes(),
        **_count_events(events),
        **outcome.remarks,
        "seconds": round(perf_counter() - started, 3),
        "peak_rss_mb": peak_memory_mb(),
    }
    session.commit_version(outcome.method, events, info, plan.changes)
    context.open_checkpoints().remove_all()
    logger.info(
        "version %d: %d links added, %d revised, %d retracted, %d in force, %.2f s",
        version,
        *(info[f"links_{kind}"] for kind in ("added", "revised", "retracted")),
        store.count_links()[1],
        perf_counter() - started,
    )


def diff_local_links(
    store: StateStore,
    entities: EntitySets,
    found: Sequence[ScoredPair],
    version: int,
    explain: EventExplainer | None = None,
    decision_events: Sequence[LedgerEvent] = (),
) -> list[LedgerEvent]:
    """Compute the events by which the found links of some entities are replaced.

    Only the links of these entities, and of those that the new links have, are read.

    Args:
        store: The links in force are those of its last version.
        entities: Left and right entities, all of whose found links are replaced.
        found: Their links from now on. Pairs that people have decided otherwise are left out.
        version: The version of the events.
        explain: Adds causes and reasons to the events.
        decision_events: The events of decisions of the same version, which come before.

    Returns:
        The events, for `StateStore.commit_version`.
    """
    lefts, rights = list_entities(
        [*(link.pair for link in found), *(e.pair for e in decision_events)]
    )
    links = store.read_links_of(lefts | entities[0], rights | entities[1])
    links = replay_events(decision_events, links)
    kept = [link for link in links.found_links if not _has_entity_in(link.pair, entities)]
    cardinality = links.cardinality
    new = merge_links(
        [], found, keep_found_only, links.confirmed_pairs, links.rejected_pairs, cardinality
    )
    partners = PartnerIndex([link.pair for link in new], cardinality)
    kept = [link for link in kept if not partners.competing_pairs(link.pair)]
    known = {link.pair for link in new}
    after = [*new, *(link for link in kept if link.pair not in known)]
    return diff_links(links.found_links, after, version, explain, cardinality=cardinality)


def list_version_reports(session: AlignmentSession, first: int = 0) -> list[VersionReport]:
    """Report versions, oldest first.

    Args:
        session: An open alignment.
        first: The first version to report.

    Returns:
        What each version brought.
    """
    known = {entry.name for entry in fields(VersionReport)}
    return [
        VersionReport(
            version.number,
            version.made_at,
            found_links=version.found_links,
            **{name: _freeze(value) for name, value in version.info.items() if name in known},
        )
        for version in session.store.list_versions(first)
    ]


def _is_done(session: AlignmentSession, config: Config, delta: Delta) -> bool:
    """Whether the same call has made version 0 before."""
    if session.store.last_version() is None:
        return False
    return session.config == config and session.deltas[0].digest == delta.digest


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
    method_version = session.method_version()
    if method_version is None or method_version == session.store.last_version():
        return False
    # Decisions that have been undone since, or change nothing, are none.
    return session.store.plan_decisions().plan_revert(method_version, RemovalChanges()).has_effect


def _finish_interrupted(session: AlignmentSession, progress: Progress) -> None:
    """Turn a delta that was left pending into a version."""
    if session.pending is not None:
        apply_pending_delta(session, progress)
    session.check_started()


def _equals_last_version(session: AlignmentSession, version: int) -> bool:
    """Whether facts, decisions and links of a version are those of the last one."""
    store = session.store
    last = store.last_version()
    assert last is not None, "callers check that there is a version"
    ended, begun = store.read_link_changes(version, last)
    # Only score and status count: since when a link is in force is another matter.
    before = {(row.pair, row.score, row.status) for row in ended}
    if before != {(row.pair, row.score, row.status) for row in begun}:
        return False
    if store.plan_decisions().plan_revert(version, RemovalChanges()).has_effect:
        return False
    # Equal links are not enough: the facts behind them may differ.
    then, now = (
        [number for number, delta in session.deltas_in_effect(at) if delta.runs_method]
        for at in (version, last)
    )
    return then == now


def _encode(
    session: AlignmentSession,
    change: ChangeSet,
    waiting: Sequence[RecordedDecision],
    progress: Progress,
    *,
    rescore_all: bool,
) -> Delta:
    cardinality = session.config.cardinality

    def fold_waiting() -> Decisions:
        given = map(convert_recorded, waiting)
        return fold_decisions(session.store.read_decisions(), given, cardinality)

    return encode_change_set(
        change,
        session.vocabularies,
        StateBefore(
            session.facts, LazyDecisions(fold_waiting), session.store.was_decided, cardinality
        ),
        progress,
        rescore_all=rescore_all,
        inbox_upto=waiting[-1].number if waiting else session.store.inbox_upto(),
        names_from_iris=_uses_iri_names(session.config),
    )


def _uses_iri_names(config: Config) -> bool:
    return config.names_from_iris and get_method_entry(config.method).reads_literals


def _explain_no_effect(delta: Delta) -> str:
    missing = delta.counts["missing_removals"]
    if missing:
        return f"nothing to do: {missing} rows to remove are not there"
    return "nothing to do: everything given is known already"


@dataclass(frozen=True)
class _Outcome:
    """What a version stores of its method, the events of found links, and remarks."""

    method: MethodOutput
    events: list[LedgerEvent]
    remarks: dict[str, Json]


def _run_method(
    context: UpdateContext, decision_events: Sequence[LedgerEvent], progress: Progress
) -> _Outcome:
    """Let the method learn from the update, and find candidate pairs."""
    session, started = context.session, perf_counter()
    store, config = session.store, session.config
    progress("loading", 0, 0)
    # As the last version left it, also if this process has trained it: an update that is repeated
    # must not depend on anything else.
    method = session.last_method
    is_local = isinstance(method, IncrementalMethod) and config.merge_rule == "latest"
    if is_local:
        task: AlignmentTask = StoredTask(context)
    else:
        links = replay_events(decision_events, store.read_links())
        task = context.build_task(links)
    step = "fit" if method is None else "update"
    logger.debug("method %s, %s: started", config.method, step)
    with use_checkpoints(context.open_checkpoints()):
        if method is None:
            method = create_method(config)
            method.fit(task, progress)
        else:
            method.update(task, progress)
    logger.info("method %s, %s: %.2f s", config.method, step, perf_counter() - started)
    progress("storing the links", 0, 0)
    if is_local and isinstance(method, IncrementalMethod):
        changes = method.candidate_changes()
        if changes is not None:
            return _store_changes(context, method, changes, decision_events)
    found = method.candidates(task, progress)
    logger.info("%d candidate pairs, threshold %.3f", len(found), found.threshold)
    links = replay_events(decision_events, store.read_links())
    return _Outcome(
        MethodOutput.from_all(method.save(), _list_pairs(found.proposed())),
        _diff_found(context, method, found, links),
        {
            **_remark(found),
            **_remark_contradicted(method),
            "trained": isinstance(method, IncrementalMethod),
        },
    )


def _store_changes(
    context: UpdateContext,
    method: IncrementalMethod,
    changes: CandidateChanges,
    decision_events: Sequence[LedgerEvent],
) -> _Outcome:
    """Store what a small update has changed, and replace the links that it concerns."""
    arrays, pairs = method.save_changes(), changes.pairs
    assert arrays is not None, "changes of candidates and of the state come together"
    store, version = context.session.store, context.session.store.next_version()
    events = diff_local_links(
        store,
        (set(changes.left.tolist()), set(changes.right.tolist())),
        _list_pairs(pairs.accepted()),
        version,
        RetractionReasons(context, method, pairs).explain,
        decision_events,
    )
    return _Outcome(
        MethodOutput.from_changes(
            arrays,
            (changes.left, changes.right),
            _list_pairs(pairs.proposed()),
            method.merge_changes,
            method.save,
        ),
        events,
        {**_remark(pairs), **_remark_contradicted(method)},
    )


def _diff_found(
    context: UpdateContext, method: Method, found: CandidatePairs, links: LinkSet
) -> list[LedgerEvent]:
    """Merge found links with those in force; an entity that lost facts must be found again."""
    reduced = context.entities_with_removed_facts()
    dangling = (
        set(context.unaligned_entities[0].tolist()),
        set(context.unaligned_entities[1].tolist()),
    )
    kept = [link for link in links.found_links if not _has_entity_in(link.pair, reduced)]
    accepted = [
        link for link in _list_pairs(found.accepted()) if not _has_entity_in(link.pair, dangling)
    ]
    rule = MERGE_RULES[context.session.config.merge_rule]
    cardinality = links.cardinality
    new = merge_links(
        kept, accepted, rule, links.confirmed_pairs, links.rejected_pairs, cardinality
    )
    version, explain = (
        context.session.store.next_version(),
        RetractionReasons(context, method, found).explain,
    )
    return diff_links(links.found_links, new, version, explain, cardinality=cardinality)


def _diff_reverted(
    store: StateStore, target: int, decision_events: Sequence[LedgerEvent]
) -> list[LedgerEvent]:
    """Compute the events that bring back the found links of an earlier version."""
    version = store.next_version()
    changed = [row.pair for rows in store.read_link_changes(target, version - 1) for row in rows]
    entities = list_entities([*changed, *(event.pair for event in decision_events)])
    links = replay_events(decision_events, store.read_links_of(*entities))
    past = store.read_links_of(*entities, target)
    # `min_score_change=0`: a version that equals an earlier one has exactly its scores.
    return diff_links(
        links.found_links,
        past.found_links,
        version,
        partial(_explain_revert, target),
        min_score_change=0,
        cardinality=links.cardinality,
    )


def _explain_revert(target: int, events: Sequence[LedgerEvent]) -> list[LedgerEvent]:
    explained = [prepend_reason(event, f"reverted to version {target}") for event in events]
    return [
        event._replace(cause=RetractionCause.REVERT)
        if event.kind is EventKind.RETRACTED
        else event
        for event in explained
    ]


def _has_entity_in(pair: Pair, entities: EntitySets) -> bool:
    return pair[0] in entities[0] or pair[1] in entities[1]


def _count_events(events: Sequence[LedgerEvent]) -> dict[str, int]:
    counts = Counter(event.kind for event in events)
    return {f"links_{kind.value}": counts[kind] for kind in COUNTED_EVENTS}


def _remark(found: CandidatePairs) -> dict[str, Json]:
    """Note what holds for all candidate pairs."""
    # JSON has no infinity.
    threshold = float(found.threshold) if math.isfinite(found.threshold) else None
    return {
        "threshold": threshold,
        "notes": list(found.notes),
        "calibrated": found.calibrated,
    }


def _remark_contradicted(method: object) -> dict[str, Json]:
    """Note which given links contradict their neighbourhood, by their ids."""
    if not isinstance(method, CheckingMethod) or not (count := method.count_contradicted()):
        return {}
    rows = [asdict(pair) for pair in method.list_contradicted(MAX_REMARKED_LINKS)]
    return {"contradicted_count": count, "contradicted_links": rows}


def _repeat_remarks(store: StateStore, version: int) -> dict[str, Json]:
    """Repeat the remarks of a version whose method state is still in use."""
    info = store.read_version(version).info
    return {name: info[name] for name in REMARKS if name in info}


def _list_pairs(candidates: CandidatePairs) -> list[ScoredPair]:
    # `tolist` gives Python numbers; the database refuses events with those of numpy.
    columns = candidates.left.tolist(), candidates.right.tolist(), candidates.score.tolist()
    return [ScoredPair(*row) for row in zip(*columns, strict=True)]


def _build_result(session: AlignmentSession, first: int, message: str = "") -> UpdateResult:
    return UpdateResult(tuple(list_version_reports(session, first)), message)


def _freeze(value: Any) -> Any:
    # JSON has lists only; a report is immutable.
    return tuple(value) if isinstance(value, list) else value
