"""What an update brings, and how it becomes a delta: names to ids, nothing touched on disk.

So a mistake in a file changes nothing.
"""

from __future__ import annotations

from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from everalign.errors import SeedError
from everalign.graph import (
    Graph,
    IntArray,
    LinkSource,
    NameSource,
    TripleSource,
    Vocabulary,
    among,
    missing,
    refuse_swapped_sides,
    refuse_unreadable,
    take,
    take_entities,
    take_links,
    take_pairs,
)
from everalign.ledger import Pair
from everalign.progress import Progress, silent
from everalign.rdf import TripleReader
from everalign.situation import (
    FACTS,
    REVERT,
    SIDES,
    WITHDRAWN,
    Situation,
    Word,
    line_of,
    rolls,
    vocabulary,
)
from everalign.store import Delta, Store, digest_of

Content = dict[str, IntArray]
Vocabularies = tuple[Vocabulary, Vocabulary]

NO_FACTS = np.empty((0, 3), dtype=np.int32)
NO_LINKS = np.empty((0, 2), dtype=np.int32)


@dataclass(frozen=True)
class Change:
    """All that can come in at once; what is removed goes before what is added comes.

    `left` and `right` are triples and literals that a graph has gained, or patches; `remove_left`
    and `remove_right`, those that it has lost (no patch that adds something);
    `drop_left` and `drop_right`, entities that are gone with all their facts. `withdraw` names
    pairs of which people take back what they said.
    """

    left: TripleSource | None = None
    right: TripleSource | None = None
    remove_left: TripleSource | None = None
    remove_right: TripleSource | None = None
    drop_left: NameSource | None = None
    drop_right: NameSource | None = None
    seeds: LinkSource | None = None
    valid: LinkSource | None = None
    withdraw: LinkSource | None = None
    confirm: LinkSource | None = None
    reject: LinkSource | None = None

    @property
    def is_empty(self) -> bool:
        """Whether nothing at all is given."""
        return all(getattr(self, entry.name) is None for entry in fields(self))

    def refuse_unreadable(self) -> None:
        """Look at the beginning of files, so that a wrong name is told before any work begins."""
        refuse_unreadable(self.left, self.right, self.remove_left, self.remove_right)

    def described(self, *more: str) -> str:
        """Where it comes from, for people."""
        given = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        names = [_named(what, source) for what, source in given.items() if source is not None]
        return ", ".join(dict.fromkeys([*names, *more])).encode(errors="replace").decode()


def read_delta(
    store: Store | None,
    change: Change,
    progress: Progress = silent,
    *,
    full: bool = False,
    again: bool = False,
    asks_method: bool = True,
) -> Delta:
    """What comes in, as ids, with the names and the facts that the store does not have yet.

    The same content makes the same delta, unless it is meant to be applied `again`. A full pass
    and a person's word are others each time.
    """
    names = vocabulary(store, "left"), vocabulary(store, "right")
    known = [{sort: len(roll) for sort, roll in rolls(side)} for side in names]
    line = [] if store is None else [delta for _, delta in line_of(store)]
    now = Situation.of(line)
    content, unknown = _facts(change, names, now, progress)
    content |= _words(change, names, now, _ever_spoken_of(line))
    if store is None:
        content = {Word.SEED.value: NO_LINKS, Word.VALID.value: NO_LINKS} | content
    effect = _effect(content, now)
    once = full or again or not asks_method
    return Delta(
        digest_of(content | (_occasion(store) if once else {})),
        change.described(*["full pass"] * full),
        effect,
        {
            (side, sort): roll.since(sizes[sort])
            for side, sizes, here in zip(SIDES, known, names, strict=True)
            for sort, roll in rolls(here)
        },
        counts={
            "literals": sum(len(content.get(f"{side}_literals", ())) for side in SIDES),
            "absent": unknown + _absent(content, now),
        },
        full=full,
        asks_method=asks_method,
    )


def read_reversion(store: Store, version: int) -> Delta:
    """A delta that takes back all that came after a version."""
    content = {REVERT: np.array([[version]], dtype=np.int32)}
    digest = digest_of(content | _occasion(store))
    arrays = dict.fromkeys(("left_triples", "right_triples"), NO_FACTS) | content
    return Delta(digest, f"revert to version {version}", arrays, asks_method=False)


def changed_since(store: Store, version: int) -> bool:
    """Whether any delta counts now that did not count then, or the other way round."""
    return [number for number, _ in line_of(store)] != [n for n, _ in line_of(store, version)]


def _facts(
    change: Change, names: Vocabularies, now: Situation, progress: Progress
) -> tuple[Content, int]:
    """The facts that come and go, as they were told; how many removals name the unknown."""
    content: Content = {}
    unknown = 0
    gained, lost = (change.left, change.right), (change.remove_left, change.remove_right)
    dropped = change.drop_left, change.drop_right
    for here, side in enumerate(SIDES):
        less = take(lost[here], names[here], progress, removing=True)
        more = take(gained[here], names[here], progress)
        entities = take_entities(dropped[here], side, names[here])
        told = {
            "triples": [more.triples],
            "literals": [more.literals],
            "removed_triples": [more.removed_triples, less.removed_triples],
            "removed_literals": [more.removed_literals, less.removed_literals],
        }
        told["removed_triples"].append(_with(now.triples[here], (0, 2), entities))
        told["removed_literals"].append(_with(now.literals[here], (0,), entities))
        content |= {f"{side}_{name}": np.concatenate(parts) for name, parts in told.items()}
        unknown += more.unknown + less.unknown
    graphs = Graph.assembled([now.triples[0]]), Graph.assembled([now.triples[1]])
    rows = content["left_triples"], content["right_triples"]
    refuse_swapped_sides(gained, rows, names, graphs)
    return {name: rows for name, rows in content.items() if len(rows) or _always(name)}, unknown


def _words(change: Change, names: Vocabularies, now: Situation, ever: set[Pair]) -> Content:
    """What people say, as it was told; `ever` are the pairs of which they said something before.

    What is taken back already may be taken back again: the same command can be run twice.
    """
    said = now.words
    trusted = now.pairs(Word.SEED, Word.VALID, Word.CONFIRMED)

    def refuse_rejected(pair: Pair) -> str | None:
        return "was rejected: confirm it instead" if said.get(pair) is Word.REJECTED else None

    def refuse_unspoken(pair: Pair) -> str | None:
        return None if pair in ever else "was neither given nor confirmed nor rejected"

    seeds = take_links(change.seeds, *names, known=trusted, refuse=refuse_rejected)
    valid = take_links(change.valid, *names, taken=seeds, known=trusted, refuse=refuse_rejected)
    confirmed = take_links(change.confirm, *names)
    rejected = take_pairs(change.reject, *names)
    _refuse_contradiction(confirmed, rejected, names)
    content = {
        Word.SEED.value: seeds,
        Word.VALID.value: valid,
        Word.CONFIRMED.value: confirmed,
        Word.REJECTED.value: rejected,
        WITHDRAWN: take_pairs(change.withdraw, *names, refuse=refuse_unspoken),
    }
    return {name: rows for name, rows in content.items() if len(rows)}


def _ever_spoken_of(line: list[Delta]) -> set[Pair]:
    return {
        (left, right)
        for delta in line
        for word in Word
        if word.value in delta.arrays
        for left, right in delta.arrays[word.value].tolist()
    }


def _refuse_contradiction(confirmed: IntArray, rejected: IntArray, names: Vocabularies) -> None:
    both = set(map(tuple, confirmed.tolist())) & set(map(tuple, rejected.tolist()))
    if both:
        left, right = min(both)
        told = f"{names[0].entities[left]!r} – {names[1].entities[right]!r}"
        raise SeedError(f"{told} is both confirmed and rejected")


def _effect(content: Content, now: Situation) -> Content:
    """What of it changes anything: facts that were not there, or that were; words not yet said."""
    effect = dict(content)
    for here, side in enumerate(SIDES):
        for sort, facts in zip(FACTS, (now.triples[here], now.literals[here]), strict=True):
            added, removed = f"{side}_{sort}", f"{side}_removed_{sort}"
            if removed in content:
                # What is removed goes before what is added comes: of a fact in both, nothing goes.
                rows = missing(content.get(added, NO_FACTS), content[removed])
                effect[removed] = rows[among(rows, facts)]
            if added in content:
                effect[added] = missing(facts, content[added])
    for word in Word:
        if word.value in content:
            unsaid = [pair for pair in content[word.value].tolist() if not _said(now, pair, word)]
            effect[word.value] = np.array(unsaid, dtype=np.int32).reshape(-1, 2)
    if WITHDRAWN in content:
        effect[WITHDRAWN] = _taken_back(content, now)
    return {name: rows for name, rows in effect.items() if len(rows) or _always(name)}


def _taken_back(content: Content, now: Situation) -> IntArray:
    """The pairs of which nothing is said any more: what is said again at once still holds."""
    again = {tuple(pair) for word in Word for pair in content.get(word.value, NO_LINKS).tolist()}
    pairs = [tuple(pair) for pair in content[WITHDRAWN].tolist()]
    void = [pair for pair in pairs if pair in now.words and pair not in again]
    return np.array(void, dtype=np.int32).reshape(-1, 2)


def _said(now: Situation, pair: list[int], word: Word) -> bool:
    held = now.words.get((pair[0], pair[1]))
    trusted = held in (Word.SEED, Word.VALID)
    return held is word or (word is Word.CONFIRMED and trusted)


def _always(name: str) -> bool:
    """Arrays that every delta has, be they empty."""
    return name in ("left_triples", "right_triples", Word.SEED.value, Word.VALID.value)


def _with(rows: IntArray, columns: tuple[int, ...], entities: list[int]) -> IntArray:
    """The rows that name one of the entities in one of the columns."""
    return rows[np.isin(rows[:, columns], entities).any(axis=1)]


def _absent(content: Content, now: Situation) -> int:
    """How many removals name facts that are not there."""
    facts = {"triples": now.triples, "literals": now.literals}
    return sum(
        int((~among(content.get(f"{side}_removed_{sort}", NO_FACTS), facts[sort][here])).sum())
        for here, side in enumerate(SIDES)
        for sort in FACTS
    )


def _occasion(store: Store | None) -> Content:
    """What makes a delta another one each time: the version that it leads to."""
    version = 0 if store is None else store.next_version()
    return {"occasion": np.array([[version]], dtype=np.int32)}


def _named(what: str, source: object) -> str:
    if isinstance(source, TripleReader):
        return source.name
    if isinstance(source, str | Path):
        return Path(source).name
    return what if what in ("confirm", "reject", "withdraw") else "memory"
