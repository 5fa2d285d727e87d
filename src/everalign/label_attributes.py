"""Attributes that tell what entities are called: by their names, or as their texts show.

An attribute that is called `label`, `name`, `title` or the like names entities. Where entities
have none of these, their texts show what names them: a text that most of them have, that tells
them apart, and that is short. The readable part of their IRIs is judged by the same measure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

import numpy as np

from everalign.graph import IntArray, NameIndex
from everalign.graph.iri_names import extract_iri_names, rank_naming_attribute
from everalign.session import AlignmentSession
from everalign.state.snapshots import SIDES

# Ranks of learned attributes begin here, behind those of attributes that are called label.
LEARNED_RANK = 10
MAX_LEARNED = 5
# An attribute that gives half of its entities the text of another one does not name them.
MIN_DISTINCT = 0.5
# Entities whose texts are looked at: shares of so many are as good as those of all.
SAMPLE_SIZE = 20_000
# Characters; longer texts describe an entity.
MAX_LENGTH = 100

_WORDS = re.compile(r"[A-Z]*[a-z]+|[A-Z]+")
_NAMING_WORDS = frozenset(["label", "name", "title"])
_DIGITS = re.compile(r"\d+")
_IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:\S+")


def rank_label_attributes(session: AlignmentSession, side: int) -> dict[int, int]:
    """Rank the attributes whose literals are labels.

    Args:
        session: An open alignment that has a version.
        side: 0 for the left graph, 1 for the right.

    Returns:
        The rank of each such attribute, 0 for the best: first those that are called label, name
        or title, then those that name entities without any of these better than their IRIs do.
    """
    ranks = rank_known_attributes(session.vocabulary(SIDES[side]).attributes)
    if not session.count_names(SIDES[side], "literal"):
        return ranks
    literals = session.read_snapshot().literals[side]
    named = np.unique(literals[np.isin(literals[:, 1], list(ranks)), 0])
    learned = _learn_attributes(session, side, literals[~np.isin(literals[:, 0], named)])
    return ranks | {number: LEARNED_RANK + rank for rank, number in enumerate(learned)}


def rank_known_attributes(attributes: Iterable[str]) -> dict[int, int]:
    """Rank the attributes that name entities by what they are called.

    Args:
        attributes: Names of attributes by id.

    Returns:
        The rank of each that names.
    """
    ranks = ((number, rank_naming_attribute(name)) for number, name in enumerate(attributes))
    return {number: rank for number, rank in ranks if rank is not None}


def is_name(text: str) -> bool:
    """Tell whether a text can name an entity.

    Args:
        text: A text without spaces around it.

    Returns:
        Whether it is short, has letters, and is no IRI.

    Example:
        >>> is_name("Suite no 2"), is_name("1991"), is_name("http://x.org/2")
        (True, False, False)
    """
    is_short = len(text) <= MAX_LENGTH
    return is_short and any(map(str.isalpha, text)) and not _IRI.fullmatch(text)


def _learn_attributes(session: AlignmentSession, side: int, literals: IntArray) -> list[int]:
    """The attributes that name the entities of these literals, best first."""
    vocabulary = session.vocabulary(SIDES[side])
    rows = _select_sample(literals)
    texts = _read_texts(vocabulary.literals, rows[:, 2])
    by_attribute: dict[int, list[tuple[int, str]]] = {}
    for entity, attribute, literal in rows.tolist():
        if text := texts[literal]:
            by_attribute.setdefault(attribute, []).append((entity, text))
    entities = np.unique(rows[:, 0]).tolist()
    iri_names = zip(
        entities,
        extract_iri_names(list(vocabulary.entities.map_names(entities).values())),
        strict=True,
    )
    least = _score_names([(entity, _DIGITS.sub("", name)) for entity, name in iri_names if name])
    scores = {number: _score_names(names) for number, names in by_attribute.items()}
    found = [number for number, score in scores.items() if score > least]
    found.sort(
        key=lambda number: (not _is_called_name(vocabulary.attributes[number]), -scores[number])
    )
    return found[:MAX_LEARNED]


def _select_sample(literals: IntArray) -> IntArray:
    entities = np.unique(literals[:, 0])
    step = -(-len(entities) // SAMPLE_SIZE) or 1
    sample: IntArray = literals[np.isin(literals[:, 0], entities[::step])]
    return sample


def _read_texts(literals: NameIndex, ids: IntArray) -> dict[int, str]:
    """The texts that may name, without digits: numbers that tell entities apart are keys."""
    # Here and not at the top: what only lists links need not wait for compilers.
    from everalign.literals import parse_term

    texts = {}
    for number, literal in literals.map_names(np.unique(ids).tolist()).items():
        text = parse_term(literal).text.strip()
        texts[number] = _DIGITS.sub("", text) if is_name(text) else ""
    return texts


def _score_names(names: Sequence[tuple[int, str]]) -> float:
    """How many entities have a name, times the share of distinct ones; 0 if that is low."""
    if not names:
        return 0.0
    distinct = len({text for _, text in names}) / len(names)
    return len({entity for entity, _ in names}) * distinct if distinct >= MIN_DISTINCT else 0.0


def _is_called_name(attribute: str) -> bool:
    """Whether the last word of an attribute is name or the like: hasTitle, product_name."""
    words = _WORDS.findall(attribute)
    return bool(words) and words[-1].lower() in _NAMING_WORDS
