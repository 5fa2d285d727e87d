"""The names of some entities compared, by what the last training chose and learned."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.entity_names import EntityNames, choose_names
from everalign.literals.index.arrays import ArrayBundle, Rows, SortedTable
from everalign.literals.index.texts import NAME, TextStore
from everalign.literals.matches import FloatArray
from everalign.literals.name_translation import (
    EXPLAINED_SHARES,
    NameTokens,
    WeightedTokens,
    explain_names,
    split_name,
    weight_tokens,
)
from everalign.literals.ngrams import Starts, hash_texts
from everalign.literals.similarity import compute_name_similarity
from everalign.literals.translation import TranslationModel, TranslationModels

NAME_COLUMNS = 1 + EXPLAINED_SHARES  # the similarity of names, and the two explained shares


@dataclass(frozen=True)
class KnownTokens(ArrayBundle):
    """The tokens of the names of one side at the last training.

    Attributes:
        token: The id of each token, by its hash.
        weight: How much each tells.
        new_weight: The weight of a token that no name had then.
    """

    token: SortedTable
    weight: FloatArray
    new_weight: FloatArray

    @staticmethod
    def build(names: NameTokens) -> KnownTokens:
        """Store the tokens of names.

        Args:
            names: The first names of all entities.

        Returns:
            Their tokens.
        """
        ids = np.arange(len(names.tokens), dtype=np.int32)
        table = SortedTable.build(hash_texts(names.tokens), ids)
        # As if one name had it.
        new_weight = weight_tokens(np.array(1), len(names.texts.start) - 1)
        return KnownTokens(table, names.texts.weight, new_weight)

    def tokenise(self, names: Sequence[str]) -> WeightedTokens:
        """Split names into tokens.

        Args:
            names: Normalised names; an empty one has no tokens.

        Returns:
            Their tokens and weights.
        """
        tokens = [split_name(name) for name in names]
        start = np.zeros(len(names) + 1, dtype=np.int64)
        np.cumsum([len(each) for each in tokens], out=start[1:])
        token = self.token.find_first(hash_texts([one for each in tokens for one in each]))
        weight = np.full(len(token), self.new_weight, dtype=np.float32)
        weight[token >= 0] = self.weight[token[token >= 0]]
        return WeightedTokens(start, token, weight)


@dataclass(frozen=True)
class NameModels(ArrayBundle):
    """Translation models of names.

    Attributes:
        start: The translations of source token s are at `start[s]` to `start[s + 1]`.
        target: The target token of each, sorted for each source token.
        probability: P(target | source), a row per model.
        inverse: P(source | target), a row per model.
    """

    start: Starts
    target: IntArray
    probability: FloatArray
    inverse: FloatArray

    @staticmethod
    def build(models: TranslationModels | None) -> NameModels:
        """Store models.

        Args:
            models: The models of `learn_name_models`, if there are any.

        Returns:
            The stored models.
        """
        if not models:
            nothing = np.empty((0, 0), dtype=np.float32)
            return NameModels(np.zeros(1, np.int64), np.empty(0, np.int32), nothing, nothing)
        return NameModels(
            models[0].start,
            models[0].target,
            np.stack([model.probability for model in models]),
            np.stack([model.inverse for model in models]),
        )

    @property
    def models(self) -> TranslationModels:
        """The models, one per fold."""
        directions = zip(self.probability, self.inverse, strict=True)
        return tuple(TranslationModel(self.start, self.target, *each) for each in directions)


@dataclass(frozen=True)
class NamingSide(ArrayBundle):
    """What names the entities of one side.

    Attributes:
        attribute_rank: The rank of each attribute of the last training; that of rank 0 names
            best.
        tokens: The tokens of names.
    """

    attribute_rank: NDArray[np.int64]
    tokens: KnownTokens

    def find_names(
        self, entities: IntArray, triples: IntArray, text_rows: IntArray, store: TextStore
    ) -> FoundNames:
        """Find the names of entities.

        Args:
            entities: The entities, sorted.
            triples: Their attribute triples: rows of (entity, attribute, literal).
            text_rows: The text of each literal; −1 if it is none.
            store: The texts.

        Returns:
            The names.
        """
        rows = text_rows.astype(np.int64)
        is_name = rows >= 0
        is_name[is_name] = store.has_flag(rows[is_name], NAME)
        triples, rows = triples[is_name], rows[is_name]
        chosen = choose_names(triples, self._rank_attributes(triples[:, 1]))
        texts, text = np.unique(rows[chosen], return_inverse=True)
        owner = np.searchsorted(entities, triples[chosen, 0])
        start = np.searchsorted(owner, np.arange(len(entities) + 1))
        names = EntityNames(start, text.astype(np.int32), store.read(texts), self.attribute_rank)
        return FoundNames(entities, names, self.tokens.tokenise(names.first_names))

    def _rank_attributes(self, attributes: IntArray) -> NDArray[np.int64]:
        # New ones rank last, in the order in which they came.
        rank = attributes.astype(np.int64)
        known = rank < len(self.attribute_rank)
        rank[known] = self.attribute_rank[rank[known]]
        return rank


class FoundNames(NamedTuple):
    """The names of some entities.

    Attributes:
        entities: The entities, sorted.
        names: Their names, by position in `entities`.
        tokens: The tokens of the first name of each.
    """

    entities: IntArray
    names: EntityNames
    tokens: WeightedTokens

    def find_rows(self, entities: IntArray) -> Rows:
        """Find entities.

        Args:
            entities: Some of the entities.

        Returns:
            Their positions.
        """
        return np.searchsorted(self.entities, entities)


def compare_found_names(
    models: TranslationModels,
    left: FoundNames,
    right: FoundNames,
    left_entities: IntArray,
    right_entities: IntArray,
) -> FloatArray:
    """Compare the names of pairs of entities.

    Args:
        models: The translation models of names; none if nothing was learned.
        left: The names of the left entities.
        right: The names of the right entities.
        left_entities: The left entity of each pair.
        right_entities: The right entity of each pair.

    Returns:
        A row per pair: the similarity of the names, and the explained shares of the right and of
        the left name; NaN where one of the two has no name.
    """
    left_rows, right_rows = left.find_rows(left_entities), right.find_rows(right_entities)
    columns = np.empty((len(left_rows), NAME_COLUMNS), dtype=np.float32)
    columns[:, 0] = compute_name_similarity(left.names, right.names, left_rows, right_rows)
    columns[:, 1:] = explain_names(
        models, left.tokens, right.tokens, left_rows, right_rows, left_entities
    )
    return columns
