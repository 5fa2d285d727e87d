"""What the last training computed of all literals, so that a new one costs little."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import starmap
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.index.arrays import ADDED_PREFIX, Array, ArrayBundle, SortedTable
from everalign.literals.index.names import (
    FoundNames,
    KnownTokens,
    NameModels,
    NamingSide,
    compare_found_names,
)
from everalign.literals.index.similar_texts import ComparedTexts, NewTexts
from everalign.literals.index.values import (
    list_dates,
    list_numbers,
    match_new_dates,
    match_new_numbers,
)
from everalign.literals.index.words import WordIndex
from everalign.literals.matches import (
    MAX_DUPLICATES,
    FloatArray,
    LiteralMatches,
    merge_matches,
)
from everalign.literals.matching import MatchedLiterals
from everalign.literals.ngrams import hash_texts
from everalign.literals.parsing import ParsedLiterals, TypedValue, parse_value
from everalign.literals.translation import TranslationModels


class NewLiterals(NamedTuple):
    """Literals that a graph did not have before.

    Attributes:
        ids: Their ids.
        literals: The literals as N-Triples writes them.
    """

    ids: IntArray
    literals: Sequence[str]

    @staticmethod
    def none() -> NewLiterals:
        """Build an empty list.

        Returns:
            No literals.
        """
        return NewLiterals(np.empty(0, dtype=np.int32), [])


@dataclass(frozen=True)
class LiteralSide(ArrayBundle):
    """The values of the literals of one side.

    Attributes:
        text_of_literal: The text of each known literal, by its id; −1 if it is none.
        literal_of_key: The literals with each key, by its hash.
        numbers: Numbers and their literals.
        dates: Rows of `list_dates`, by position on the axis of time.
        naming: What names the entities.
    """

    text_of_literal: SortedTable
    literal_of_key: SortedTable
    numbers: SortedTable
    dates: SortedTable
    naming: NamingSide

    @staticmethod
    def build(literals: ParsedLiterals, naming: NamingSide) -> LiteralSide:
        """Store the literals of a graph.

        Args:
            literals: The literals.
            naming: What names the entities.

        Returns:
            The stored literals.
        """
        ids = literals.literal_ids.astype(np.int32)
        return LiteralSide(
            SortedTable.build(ids, literals.texts.row_of_value),
            SortedTable.build(*_list_keys(ids, literals.typed_values)),
            SortedTable.build(*list_numbers(ids, literals.typed_values)),
            SortedTable.build(*list_dates(ids, literals.typed_values)),
            naming,
        )

    def parse_unknown(self, new: NewLiterals) -> ParsedSide:
        """Parse literals.

        Args:
            new: Literals, of which some may be known.

        Returns:
            The values of those that are not known.
        """
        ids = np.asarray(new.ids, dtype=np.int32)
        known, _ = self.text_of_literal.find_all(ids, 1)
        unknown = np.setdiff1d(np.unique(ids, return_index=True)[1], known)
        values = [parse_value(new.literals[position]) for position in unknown.tolist()]
        return ParsedSide(ids[unknown], values, [new.literals[i] for i in unknown.tolist()])

    def append(self, new: ParsedSide, text_rows: IntArray) -> LiteralSide:
        """Add literals.

        Args:
            new: The literals.
            text_rows: The text of each; −1 if it is none.

        Returns:
            A side with them.
        """
        return LiteralSide(
            self.text_of_literal.append(new.ids, text_rows),
            self.literal_of_key.append(*_list_keys(new.ids, new.values)),
            self.numbers.append(*list_numbers(new.ids, new.values)),
            self.dates.append(*list_dates(new.ids, new.values)),
            self.naming,
        )


class ParsedSide(NamedTuple):
    """New literals of one side.

    Attributes:
        ids: Their ids.
        values: Their values.
        literals: The literals as N-Triples writes them.
    """

    ids: IntArray
    values: list[TypedValue]
    literals: list[str]


def _list_keys(ids: Array, values: Sequence[TypedValue]) -> tuple[Array, Array]:
    """The hashes of keys, and the literal of each; an empty key equals nothing."""
    has_key = np.array([value.key != "" for value in values], dtype=np.bool_)
    return hash_texts([value.key for value in values if value.key]), ids[has_key]


@dataclass(frozen=True)
class AddedLiterals:
    """What the addition of literals gave.

    Attributes:
        index: The index with the new literals.
        matches: The pairs with at least one new literal.
    """

    index: LiteralIndex
    matches: LiteralMatches


@dataclass(frozen=True)
class LiteralIndex(ArrayBundle):
    """The literals of two graphs, kept so that new ones are matched at a cost that follows them.

    Everything is found by binary search in arrays, which may be memory-mapped. Weights of
    features, translations and the choice of the attribute that names an entity are those of the
    last training.

    A literal that no entity has any more stays in the index until then, and so do its matches:
    since it is in no triple, they are evidence for nothing. When it comes back, it is known, and
    has the matches that it had.

    Attributes:
        left: The values of left literals.
        right: The values of right literals.
        texts: The texts among them.
        name_models: How names translate.
        words: The words of all literals.
        neighbours: How many partners a value keeps besides its equal ones.
        min_probability: Less probable pairs are dropped.
        number_tolerance: The largest relative difference of numbers.
    """

    left: LiteralSide
    right: LiteralSide
    texts: ComparedTexts
    name_models: NameModels
    words: WordIndex
    neighbours: NDArray[np.int64]
    min_probability: NDArray[np.float64]
    number_tolerance: NDArray[np.float64]

    @staticmethod
    def build(matched: MatchedLiterals, translations: TranslationModels | None) -> LiteralIndex:
        """Build the index from what the matching of all literals has computed.

        Args:
            matched: The matched literals of two graphs.
            translations: The translation models of names, if there are any.

        Returns:
            The index.
        """
        matching = matched.matching
        settings = matching.settings
        left, right = (
            LiteralSide.build(
                literals, NamingSide(names.attribute_rank, KnownTokens.build(tokens))
            )
            for literals, names, tokens in zip(
                (matching.left, matching.right),
                matched.names,
                matched.tokenised_names,
                strict=True,
            )
        )
        return LiteralIndex(
            left,
            right,
            ComparedTexts.build(matching),
            NameModels.build(translations),
            WordIndex.build(
                (matching.left.literal_ids, matching.right.literal_ids),
                matched.literal_words,
                matched.word_weights,
            ),
            np.array(settings.neighbours),
            np.array(settings.min_probability),
            np.array(settings.number_tolerance),
        )

    @staticmethod
    def is_added(name: str) -> bool:
        """Tell whether an array changes when literals are added.

        Args:
            name: A name of `to_arrays`.

        Returns:
            False for arrays that stay as they are until the next training.
        """
        return any(part.startswith(ADDED_PREFIX) for part in name.split("."))

    def add_literals(self, left: NewLiterals, right: NewLiterals) -> AddedLiterals:
        """Match new literals with those of the other side, and add them.

        Args:
            left: New literals of the left graph. Those that are known already are skipped.
            right: New literals of the right graph.

        Returns:
            The pairs with at least one new literal, as `match_literals` would find them but for
            frozen weights; and an index with the new literals.
        """
        new_left, new_right = self.left.parse_unknown(left), self.right.parse_unknown(right)
        texts, found = self.texts.add_texts(
            NewTexts(new_left.ids, new_left.values),
            NewTexts(new_right.ids, new_right.values),
            int(self.neighbours),
            float(self.min_probability),
        )
        index = replace(
            self,
            left=self.left.append(new_left, found.left_rows),
            right=self.right.append(new_right, found.right_rows),
            texts=texts,
            words=self.words.add_literals(0, new_left.ids, new_left.literals).add_literals(
                1, new_right.ids, new_right.literals
            ),
        )
        matches = [
            found.matches,
            index._match_values(new_left, index.left, index.right),
            index._match_values(new_right, index.right, index.left).swap_sides(),
        ]
        return AddedLiterals(index, merge_matches(matches, float(self.min_probability)))

    def _match_values(
        self, new: ParsedSide, own: LiteralSide, other: LiteralSide
    ) -> LiteralMatches:
        """Equal literals, numbers and dates, as pairs of a new literal and one of the other."""
        neighbours, tolerance = int(self.neighbours), float(self.number_tolerance)
        keys, literals = _list_keys(new.ids, new.values)
        number, equal = other.literal_of_key.find_all(keys, MAX_DUPLICATES)
        numbers = list_numbers(new.ids, new.values)
        dates = list_dates(new.ids, new.values)
        return merge_matches(
            [
                LiteralMatches.from_columns(literals[number], equal, np.ones(len(equal))),
                match_new_numbers(numbers, own.numbers, other.numbers, neighbours, tolerance),
                match_new_dates(dates, own.dates, other.dates, neighbours),
            ]
        )

    def compare_entities(
        self,
        left_entities: IntArray,
        right_entities: IntArray,
        left_triples: IntArray,
        right_triples: IntArray,
    ) -> FloatArray:
        """Compare the names and the words of pairs of entities.

        Args:
            left_entities: The left entity of each pair.
            right_entities: The right entity of each pair.
            left_triples: All attribute triples of the left entities of these pairs: rows of
                (entity, attribute, literal). Literals must be known to the index.
            right_triples: The same on the right.

        Returns:
            A row per pair: the similarity of the names (`compute_name_similarity`), the
            comparison of the words (`compare_word_bags`), and the explained shares of the right
            and of the left name (`compute_explained_shares`).
        """
        words = self.words.compare_entities(
            left_entities, right_entities, left_triples, right_triples
        )
        left, right = starmap(
            self._find_names,
            (
                (self.left, left_entities, left_triples, 0),
                (self.right, right_entities, right_triples, 1),
            ),
        )
        names = compare_found_names(
            self.name_models.models, left, right, left_entities, right_entities
        )
        return np.concatenate([names[:, :1], words, names[:, 1:]], axis=1)

    def _find_names(
        self, literals: LiteralSide, entities: IntArray, triples: IntArray, side: int
    ) -> FoundNames:
        text_rows = literals.text_of_literal.find_first(triples[:, 2])
        store = (self.texts.left, self.texts.right)[side].store
        return literals.naming.find_names(np.unique(entities), triples, text_rows, store)
