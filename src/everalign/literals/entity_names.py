"""The names of entities: texts of the attribute that names best."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.graph.iri_names import rank_naming_attribute
from everalign.literals.ngrams import Starts
from everalign.literals.parsing import ParsedLiterals, TextTable

MAX_NAMES = 3  # of an entity that are compared
MAX_NAME_LENGTH = 100  # characters; longer texts describe an entity instead of naming it
# How much more an attribute that is called label, name or title counts: it outweighs an
# identifier that twice as many entities have, but not one that hardly tells entities apart.
NAMING_FACTOR = 2.0


class NamedEntities(NamedTuple):
    """Some entities of a graph and their first names.

    Attributes:
        entity: The entities that have a name, sorted.
        name: The row of each name in `texts`.
        texts: The distinct names.
    """

    entity: IntArray
    name: IntArray
    texts: TextTable


class EntityNames(NamedTuple):
    """The names of all entities of a graph.

    Attributes:
        start: The names of entity x are at `start[x]` to `start[x + 1]` in `text`.
        text: The row of each name in `texts`.
        texts: The texts of the graph.
        attribute_rank: The rank of each attribute; that of rank 0 names best.
    """

    start: Starts
    text: IntArray
    texts: TextTable
    attribute_rank: NDArray[np.int64]

    @property
    def first_text(self) -> IntArray:
        """The row of the first name of each entity in `texts`; −1 where it has none."""
        has_name = np.diff(self.start) > 0
        first = np.append(self.text, -1)[self.start[:-1]]
        return np.where(has_name, first, -1).astype(np.int32)

    @property
    def first_names(self) -> list[str]:
        """The normal form of the first name of each entity; empty where it has none."""
        normalised = self.texts.normalised
        return [normalised[text] if text >= 0 else "" for text in self.first_text.tolist()]

    def select(self, entities: IntArray) -> NamedEntities:
        """Select some entities and their first names.

        Args:
            entities: The entities, sorted.

        Returns:
            Those that have a name.
        """
        text = self.first_text[entities]
        rows, name = np.unique(text[text >= 0], return_inverse=True)
        texts = self.texts.select_rows(rows)
        return NamedEntities(entities[text >= 0], name.astype(np.int32), texts)


def find_entity_names(literals: ParsedLiterals, entity_count: int) -> EntityNames:
    """Find the names of all entities of a graph.

    The names of an entity are its texts in the attribute that names best, of those that it has
    texts in. An attribute names the better the more entities have it, the fewer of them share a
    text, and if it is called label, name or title.

    Args:
        literals: The literals of the graph.
        entity_count: The number of entities.

    Returns:
        At most `MAX_NAMES` names per entity, in the order of literal ids.

    Example:
        >>> from everalign.graph import AttributeTriples
        >>> rows = np.array([[1, 0, 0]], dtype=np.int32)
        >>> literals = ParsedLiterals(AttributeTriples(rows, ["label"], ['"Москва"']))
        >>> names = find_entity_names(literals, 2)
        >>> names.first_names, names.texts.latin
        (['', 'москва'], ['moskva'])
    """
    texts, text = literals.texts, literals.text_of_triple
    # The last one stands for literals that are no texts, whose row is −1.
    is_name = np.append(mark_names(texts), False)
    triples, text = literals.attribute_triples.triples[is_name[text]], text[is_name[text]]
    rank = _rank_attributes(triples, literals.attribute_triples.attributes)
    chosen = choose_names(triples, rank[triples[:, 1]])
    start = np.searchsorted(triples[chosen, 0], np.arange(entity_count + 1))
    return EntityNames(start, text[chosen], texts, rank)


def mark_names(texts: TextTable) -> NDArray[np.bool_]:
    """Tell which texts can name an entity.

    Args:
        texts: The texts of a graph.

    Returns:
        True for those that are neither empty nor too long.
    """
    return np.array([0 < len(text) <= MAX_NAME_LENGTH for text in texts.normalised], np.bool_)


def choose_names(triples: IntArray, rank: NDArray[np.int64]) -> NDArray[np.intp]:
    """Choose the triples that name their entities.

    Args:
        triples: Rows of (entity, attribute, literal), whose literals can all be names.
        rank: The rank of the attribute of each.

    Returns:
        For each entity at most `MAX_NAMES` triples of its best attribute, by literal id; sorted
        by entity.
    """
    order = np.lexsort((triples[:, 2], rank, triples[:, 0]))
    ordered = triples[order]
    # The first triple of an entity has its best attribute, since rank is the second sort key.
    first = np.searchsorted(ordered[:, 0], ordered[:, 0])
    is_best = ordered[:, 1] == ordered[first, 1]
    chosen: NDArray[np.intp] = order[is_best & (np.arange(len(ordered)) - first < MAX_NAMES)]
    return chosen


def pair_known_names(left: EntityNames, right: EntityNames, links: IntArray) -> IntArray:
    """List the names of linked entities.

    Args:
        left: The names of left entities.
        right: The names of right entities.
        links: Rows of (left, right) entities known to be the same.

    Returns:
        Rows of (left text, right text), the first names of both, each left text once.
    """
    pairs = np.stack([left.first_text[links[:, 0]], right.first_text[links[:, 1]]], axis=1)
    pairs = pairs[(pairs >= 0).all(axis=1)]
    # Each left text once: the translation model assigns a text to one fold.
    _, first = np.unique(pairs[:, 0], return_index=True)
    return pairs[np.sort(first)]


def _rank_attributes(triples: IntArray, attributes: Sequence[str]) -> NDArray[np.int64]:
    """The rank of each attribute; 0 names best."""
    count = np.bincount(triples[:, 1], minlength=len(attributes))
    entity_count = _count_distinct(triples[:, 1], triples[:, 0], len(attributes))
    text_count = _count_distinct(triples[:, 1], triples[:, 2], len(attributes))
    is_naming = [rank_naming_attribute(attribute) is not None for attribute in attributes]
    # How many entities have it, times the share of texts that are distinct.
    score = entity_count * text_count / np.maximum(count, 1)
    score *= np.where(is_naming, NAMING_FACTOR, 1.0)
    rank = np.empty(len(attributes), dtype=np.int64)
    rank[np.argsort(-score, kind="stable")] = np.arange(len(attributes))
    return rank


def _count_distinct(group: IntArray, value: IntArray, group_count: int) -> NDArray[np.intp]:
    """The number of distinct values in each group."""
    value_count = int(value.max(initial=0)) + 1
    pairs = np.unique(group.astype(np.int64) * value_count + value)
    return np.bincount(pairs // value_count, minlength=group_count)
