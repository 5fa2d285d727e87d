"""The way of a triple, in two steps: a delta is read, then it becomes a version.

`read_delta` touches nothing on disk, so a mistake in a file changes nothing. Once the store has
journalled the delta, `apply_pending` may be killed and run again any number of times.
"""

from __future__ import annotations

import math
import resource
from pathlib import Path
from time import perf_counter

import numpy as np
from numpy.typing import NDArray

from everalign.config import Config
from everalign.graph import (
    Graph,
    IntArray,
    LinkSource,
    Names,
    TripleSource,
    Vocabulary,
    count_and_take,
    refuse_swapped_sides,
    take_links,
)
from everalign.ledger import RULES, Event, Kind, Link, Pair, View, changes, confirm, decide, fold
from everalign.matching import Candidates
from everalign.methods import Problem, make_method
from everalign.progress import Progress, silent
from everalign.store import Delta, Json, Roll, Side, Store, digest_of

SIDES: tuple[Side, Side] = ("left", "right")


def read_delta(
    store: Store | None,
    left: TripleSource | None,
    right: TripleSource | None,
    seeds: LinkSource | None = None,
    valid: LinkSource | None = None,
    progress: Progress = silent,
    *,
    full: bool = False,
) -> Delta:
    """What comes in, as ids, with the names and triples that the store does not have yet."""
    vocabularies = vocabulary(store, "left"), vocabulary(store, "right")
    graphs = _graph(store, "left"), _graph(store, "right")
    known = [(len(names.entities), len(names.relations)) for names in vocabularies]
    (left_rows, left_literals), (right_rows, right_literals) = (
        count_and_take(source, names, progress)
        for source, names in zip((left, right), vocabularies, strict=True)
    )
    rows = left_rows, right_rows
    refuse_swapped_sides((left, right), rows, vocabularies, graphs)
    content = {"left_triples": rows[0], "right_triples": rows[1]}
    if seeds is not None:
        content["seeds"] = take_links(seeds, *vocabularies)
        content["valid"] = take_links(valid, *vocabularies, taken=content["seeds"])
    missing = {
        f"{side}_triples": graph.missing(triples)
        for side, graph, triples in zip(SIDES, graphs, rows, strict=True)
    }
    new_names: dict[Roll, list[str]] = {}
    for side, names, (entities, relations) in zip(SIDES, vocabularies, known, strict=True):
        new_names[side, "entity"] = names.entities.since(entities)
        new_names[side, "relation"] = names.relations.since(relations)
    return Delta(
        digest_of(content | _occasion(store, full)),
        _describe(left, right, full=full),
        content | missing,
        new_names,
        counts={"literals": left_literals + right_literals},
        full=full,
    )


def apply_pending(store: Store, progress: Progress) -> None:
    """Turn the pending delta into the next version."""
    started = perf_counter()
    delta = store.pending()
    assert delta is not None, "a delta is journalled before it is applied"
    config = config_of(store)
    view, last, version = store.links(), store.last_version(), store.next_version()
    problem = _problem(store, delta, view)

    method = make_method(config)
    if last is None:
        method.fit(problem, progress)
    else:
        method.load(store.arrays(last))
        method.update(problem, progress)
    found = method.candidates(problem, progress)

    trusted = _trusted_events(delta, view, version)
    view = fold(trusted, view)
    accepted = _links(found.accepted())
    links = decide(view.found, accepted, RULES[config.rule], view.confirmed, view.rejected)
    moves = changes(view.found, links, version)
    info = _facts(problem, delta, moves) | _remarks(found) | {"links": len(links)}
    info |= {"seconds": round(perf_counter() - started, 3), "peak_rss_mb": _peak_rss_mb()}
    store.commit(method.save(), [*trusted, *moves], info, _links(found.proposed()))


def config_of(store: Store) -> Config:
    """What the alignment was made with."""
    return Config.parse(store.settings()["config"])


def last_problem(store: Store) -> Problem:
    """What the method of the last version would be given if nothing came in."""
    return _problem(store, None, store.links())


def vocabulary(store: Store | None, side: Side) -> Vocabulary:
    """The names of one graph; without a store there are none yet."""
    if store is None:
        return Vocabulary()
    return Vocabulary(Names(store.names(side, "entity")), Names(store.names(side, "relation")))


def _graph(store: Store | None, side: Side) -> Graph:
    if store is None:
        return Graph.empty()
    return Graph.assembled(delta.arrays[f"{side}_triples"] for delta in store.deltas())


def _problem(store: Store, pending: Delta | None, view: View) -> Problem:
    old = [_graph(store, side) for side in SIDES]
    now = old
    if pending is not None:
        now = [
            Graph.assembled([graph.triples, pending.arrays[f"{side}_triples"]])
            for side, graph in zip(SIDES, old, strict=True)
        ]
    return Problem(
        left=now[0],
        right=now[1],
        seeds=_given(store, pending, "seeds"),
        valid=_given(store, pending, "valid"),
        old_left=old[0].entities,
        old_right=old[1].entities,
        links=_candidates(view.found),
        full=pending is not None and pending.full,
    )


def _given(store: Store, pending: Delta | None, name: str) -> IntArray:
    """The trusted links of one sort, from all deltas."""
    deltas = [*store.deltas(), *([] if pending is None else [pending])]
    return np.concatenate([delta.arrays[name] for delta in deltas if name in delta.arrays])


def _trusted_events(delta: Delta, view: View, version: int) -> list[Event]:
    """A person's word comes first: seeds and validation links, as events."""
    events: list[Event] = []
    for name, reason in {"seeds": "given as a seed", "valid": "given to judge by"}.items():
        pairs = _pairs(delta.arrays[name]) if name in delta.arrays else []
        events += confirm(fold(events, view), pairs, version, reason)
    return events


def _facts(problem: Problem, delta: Delta, moves: list[Event]) -> dict[str, Json]:
    return {
        "source": delta.source,
        "literals": delta.counts.get("literals", 0),
        "left_triples": len(delta.arrays["left_triples"]),
        "right_triples": len(delta.arrays["right_triples"]),
        "left_entities": problem.left.entities - problem.old_left,
        "right_entities": problem.right.entities - problem.old_right,
        **{
            kind.value: sum(move.kind is kind for move in moves)
            for kind in (Kind.ADDED, Kind.REVISED, Kind.RETRACTED)
        },
    }


def _remarks(found: Candidates) -> dict[str, Json]:
    """What the method says about its candidates as a whole."""
    threshold = float(found.threshold) if math.isfinite(found.threshold) else None
    return {"threshold": threshold, "notes": list(found.notes)}


def _candidates(links: list[Link]) -> Candidates:
    left, right, score = zip(*links, strict=True) if links else ((), (), ())
    return Candidates.of(left, right, score)


def _links(found: Candidates) -> list[Link]:
    columns = found.left.tolist(), found.right.tolist(), found.score.tolist()
    return [Link(*row) for row in zip(*columns, strict=True)]


def _pairs(rows: NDArray[np.int32]) -> list[Pair]:
    return [(left, right) for left, right in rows.tolist()]


def _occasion(store: Store | None, full: bool) -> dict[str, IntArray]:
    """A full pass is another one each time, so the version that it makes is part of it."""
    if store is None or not full:
        return {}
    return {"full_pass": np.array([[store.next_version()]], dtype=np.int32)}


def _describe(*sources: TripleSource | None, full: bool) -> str:
    """The delta's files, for people."""
    names = [Path(s).name if isinstance(s, str | Path) else "memory" for s in sources if s]
    names += ["full pass"] if full else []
    return ", ".join(dict.fromkeys(names)).encode(errors="replace").decode()


def _peak_rss_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
