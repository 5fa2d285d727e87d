"""Entities as people write and read them: by label, CURIE or the end of an IRI (internal)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing

from everalign.errors import InputError
from everalign.graph.iri_names import list_endings
from everalign.search import EntityKey, LabelIndex, fold_text
from everalign.session import AlignmentSession
from everalign.state import Side
from everalign.state.snapshots import SIDES
from everalign.types import EntityName

# Names that are compared with an ending at a time.
BATCH_SIZE = 100_000
MAX_LISTED = 10
MAX_SIMILAR = 3


def find_entity_name(session: AlignmentSession, text: str, side: Side | None = None) -> str:
    """Find the entity that a person means.

    Args:
        session: An open alignment.
        text: A name, a CURIE, a label, or the last part of an IRI; the first of these that some
            entity has counts.
        side: The graph; None for either.

    Returns:
        The name of the entity.

    Raises:
        InputError: There is no such entity, or several; the message lists them.
    """
    indexes = [index for index, name in enumerate(SIDES) if side in (None, name)]
    for name in (text, session.prefixes.expand_curie(text), text.strip("<>")):
        if name and any(session.entity_names()[index].find(name) is not None for index in indexes):
            return name
    found = _find_labelled(session, text, indexes) or _find_ending(session, text, indexes)
    names = sorted(set(found))
    if len(names) == 1:
        return names[0]
    if names:
        rest = f" and {len(names) - MAX_LISTED} more" if len(names) > MAX_LISTED else ""
        shown = ", ".join(_add_sides(session, names[:MAX_LISTED], indexes))
        raise InputError(f"{text!r} is ambiguous: it can be {shown}{rest}")
    where = "in neither of the two graphs" if side is None else f"not in the {side} graph"
    problem = f"{text!r} is {where}: neither as an IRI or CURIE nor as a label"
    similar = _list_similar(session, text, indexes)
    raise InputError(f"{problem}; similar: {', '.join(similar)}" if similar else problem)


def name_entities(
    session: AlignmentSession, side: Side, names: Iterable[str], languages: Sequence[str] = ()
) -> dict[str, EntityName]:
    """Give entities their labels and CURIEs.

    Args:
        session: An open alignment.
        side: The graph.
        names: Names of entities.
        languages: Preferred languages of labels, the best first.

    Returns:
        Label and CURIE of each that the graph has.
    """
    wanted = list(dict.fromkeys(names))
    index = SIDES.index(side)
    ids = session.entity_names()[index].find_ids(wanted).tolist()
    with closing(LabelIndex.open(session)) as labels:
        texts = labels.read_labels(index, [number for number in ids if number >= 0], languages)
    return {
        name: EntityName(name, texts[number], session.prefixes.format_curie(name) or "")
        for name, number in zip(wanted, ids, strict=True)
        if number in texts
    }


def _find_labelled(session: AlignmentSession, text: str, indexes: Sequence[int]) -> list[str]:
    with closing(LabelIndex.open(session)) as labels:
        keys = {key for key in labels.find_equal(text) if key.side in indexes}
    return _read_names(session, keys)


def _add_sides(
    session: AlignmentSession, names: Sequence[str], indexes: Sequence[int]
) -> list[str]:
    """Names with their graphs, where it matters."""
    sides = [
        [SIDES[index] for index in indexes if session.entity_names()[index].find(name) is not None]
        for name in names
    ]
    if len({tuple(found) for found in sides}) == 1:
        return list(names)
    return [f"{name} ({' and '.join(found)})" for name, found in zip(names, sides, strict=True)]


def _list_similar(session: AlignmentSession, text: str, indexes: Sequence[int]) -> list[str]:
    """Labels that contain a text, with the names of their entities."""
    side = indexes[0] if len(indexes) == 1 else None
    with closing(LabelIndex.open(session)) as labels:
        found = {label.key: label.text for label in labels.search(text, side, MAX_SIMILAR)}
    keys = list(found)[:MAX_SIMILAR]
    return [
        f"{found[key]} ({name})"
        for key, name in zip(keys, _read_names(session, keys), strict=False)
    ]


def _find_ending(session: AlignmentSession, text: str, indexes: Sequence[int]) -> list[str]:
    """All IRIs are looked at: people ask for an entity now and then."""
    endings = list_endings(text)
    found = []
    for index in indexes if fold_text(text) else ():
        names = session.store.open_names(SIDES[index], "entity")
        for start in range(0, len(names), BATCH_SIZE):
            batch = names.read_range(start, min(start + BATCH_SIZE, len(names)))
            found += [name for name in batch if name.endswith(endings)]
    return found


def _read_names(session: AlignmentSession, keys: Iterable[EntityKey]) -> list[str]:
    names = session.entity_names()
    # An index that another process has brought further may have newer entities.
    return [names[key.side][key.entity] for key in keys if key.entity < len(names[key.side])]
