"""From a delta to a version: the method is asked, and its answer becomes links.

Once the store has journalled a delta, `apply_pending` may be killed and run again any number of
times.
"""

from __future__ import annotations

import math
import resource
from collections import Counter
from time import perf_counter

from everalign.config import Config
from everalign.ledger import RULES, Event, Kind, Link, Pair, View, Why, changes, decide, fold
from everalign.matching import Candidates
from everalign.methods import Method, Problem, entry_of, make_method
from everalign.occasion import Occasion
from everalign.progress import Progress
from everalign.situation import Situation, line_of, reverts_to
from everalign.store import Json, Store
from everalign.words import Spoken

BothSides = tuple[set[int], set[int]]


def apply_pending(store: Store, progress: Progress) -> None:
    """Turn the pending delta into the next version."""
    started = perf_counter()
    delta = store.pending()
    assert delta is not None, "a delta is journalled before it is applied"
    version, view, back = store.next_version(), store.links(), reverts_to(delta)
    occasion = Occasion.of(store, delta)
    gone = set(occasion.gone[0].tolist()), set(occasion.gone[1].tolist())
    words = Spoken(occasion.situation.words, gone, back).events(view, version)
    view = fold(words, view)
    if delta.asks_method:
        method, found = _asked(store, occasion, view, progress)
        bereft = occasion.bereft()
        links = _decided(config_of(store), found, view, bereft)
        kept, proposed, remarks = method.save(), _links(found.proposed()), _remarks(found)
        moves = changes(view.found, links, version, _loss(bereft, gone))
    else:
        kept, proposed, remarks = {}, None, _last_remarks(store, occasion)
        links = view.found if back is None else store.links(back).found
        # A version that equals an old one has its very scores.
        moves = changes(view.found, links, version, _return_to(back), least=0)
    info = _facts(store, occasion, [*words, *moves]) | remarks | {"links": len(links)}
    info |= {"seconds": round(perf_counter() - started, 3), "peak_rss_mb": _peak_rss_mb()}
    store.commit(kept, [*words, *moves], info, proposed)


def config_of(store: Store) -> Config:
    """What the alignment was made with."""
    return Config.parse(store.settings()["config"])


def last_problem(store: Store) -> Problem:
    """What the method of the last version would be given if nothing came in."""
    return _problem(store, Occasion.of(store, None), store.links())


def _problem(store: Store, occasion: Occasion, view: View) -> Problem:
    config = config_of(store)
    return occasion.problem(
        view,
        literals=entry_of(config.method).reads_literals,
        names_from_iris=config.names_from_iris,
    )


def _asked(
    store: Store, occasion: Occasion, view: View, progress: Progress
) -> tuple[Method, Candidates]:
    """The method after its turn, and what it has found."""
    problem, method = _problem(store, occasion, view), make_method(config_of(store))
    if occasion.turn is None:
        method.fit(problem, progress)
    else:
        method.load(store.arrays(occasion.turn))
        method.update(problem, progress)
    return method, method.candidates(problem, progress)


def _decided(config: Config, found: Candidates, view: View, bereft: BothSides) -> list[Link]:
    """The links from now on. What has lost a fact must be found again to stay."""
    sound = [link for link in view.found if not _either(link.pair, bereft)]
    rule = RULES[config.rule]
    return decide(sound, _links(found.accepted()), rule, view.confirmed, view.rejected)


def _loss(bereft: BothSides, gone: BothSides) -> Why:
    """Why a link fell or has another score, where its entities have lost something."""

    def why(move: Event) -> str:
        if move.kind not in (Kind.RETRACTED, Kind.RESCORED):
            return ""
        if _either(move.pair, gone):
            return "an entity was removed"
        return "facts of its entities were removed" if _either(move.pair, bereft) else ""

    return why


def _return_to(version: int | None) -> Why:
    return lambda _: "" if version is None else f"reverted to version {version}"


def _either(pair: Pair, sides: BothSides) -> bool:
    return pair[0] in sides[0] or pair[1] in sides[1]


def _facts(store: Store, occasion: Occasion, events: list[Event]) -> dict[str, Json]:
    """What came in and what went, counted against the version before."""
    delta = occasion.pending
    assert delta is not None, "there are facts about a version in the making only"
    before = Situation.of(past for _, past in line_of(store))
    facts: dict[str, Json] = {
        "source": delta.source,
        "literals": delta.counts.get("literals", 0),
        "absent": delta.counts.get("absent", 0),
    }
    for here in range(2):
        facts |= occasion.growth(before, here)
    happened = Counter(event.kind for event in events)
    return facts | {kind.value: happened[kind] for kind in Kind if kind is not Kind.RESCORED}


def _remarks(found: Candidates) -> dict[str, Json]:
    """What the method says about its candidates as a whole."""
    threshold = float(found.threshold) if math.isfinite(found.threshold) else None
    return {"threshold": threshold, "notes": list(found.notes)}


def _last_remarks(store: Store, occasion: Occasion) -> dict[str, Json]:
    """What it said at its last turn."""
    if occasion.turn is None:
        return {}
    info = store.versions()[occasion.turn].info
    return {name: info[name] for name in ("threshold", "notes") if name in info}


def _links(found: Candidates) -> list[Link]:
    columns = found.left.tolist(), found.right.tolist(), found.score.tolist()
    return [Link(*row) for row in zip(*columns, strict=True)]


def _peak_rss_mb() -> float:
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024, 1)
