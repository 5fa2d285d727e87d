"""The texts of two graphs, and how new ones are matched with them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign.graph import IntArray
from everalign.literals.index.arrays import Array, ArrayBundle, Rows, SortedTable
from everalign.literals.index.features import FeatureColumns, Translator, extract_queries
from everalign.literals.index.search import (
    NearTexts,
    Postings,
    find_near_texts,
)
from everalign.literals.index.texts import (
    NON_LATIN,
    QUALIFIED,
    NearestLimits,
    TextStore,
    TranslationFile,
)
from everalign.literals.index.word_vectors import TextVectors, match_new_vectors
from everalign.literals.matches import (
    MAX_DUPLICATES,
    LiteralMatches,
    merge_matches,
)
from everalign.literals.matching import (
    EQUAL_WITHOUT_QUALIFIER,
    OTHER_QUALIFIER,
    LiteralMatching,
)
from everalign.literals.ngram_index import SparseMatrix, select_rows
from everalign.literals.ngrams import hash_texts
from everalign.literals.parsing import (
    TextTable,
    TypedValue,
    ValueKind,
    build_text_table,
)
from everalign.literals.similarity import bound_match_probabilities, estimate_match_probabilities
from everalign.literals.text_search import MIN_BEST, SimilarTexts

LEFT, RIGHT = range(2)


@dataclass(frozen=True)
class TextSide(ArrayBundle):
    """The distinct texts of one side.

    Attributes:
        store: The texts in the forms that they are compared in.
        row_of_text: The row of each text, by its hash.
        literal_of_row: The literals with the text of each row.
        row_of_core: The rows of texts without their qualifiers, by hash.
        limits: How similar the nearest texts of the other side are.
        postings: The texts with each feature.
        vectors: Their vectors, if there are any.
        japanese: How Han characters are read if neither tag nor kana decide it.
    """

    store: TextStore
    row_of_text: SortedTable
    literal_of_row: SortedTable
    row_of_core: SortedTable
    limits: NearestLimits
    postings: Postings
    vectors: TextVectors
    japanese: NDArray[np.bool_]

    @staticmethod
    def build(matching: LiteralMatching, side: int) -> TextSide:
        """Store the texts of one side.

        Args:
            matching: How literals were matched.
            side: LEFT or RIGHT.

        Returns:
            The stored texts.
        """
        literals = (matching.left, matching.right)[side]
        compared, search = matching.texts[side], matching.search
        column_count = len(search.features.weight)
        similarity = (search.nearest.left_similarity, search.nearest.right_similarity)[side]
        row_of_value = literals.texts.row_of_value
        is_text = row_of_value >= 0
        rows = np.arange(len(compared), dtype=np.int32)
        return TextSide(
            TextStore.build(literals.texts, compared),
            SortedTable.build(_hash_rows(literals.typed_values, row_of_value, len(rows)), rows),
            SortedTable.build(
                row_of_value[is_text], literals.literal_ids[is_text].astype(np.int32)
            ),
            SortedTable.build(hash_texts(compared.unqualified), rows),
            NearestLimits.build(similarity),
            Postings.build((search.left, search.right)[side], column_count),
            TextVectors.build(matching, side),
            np.array(literals.japanese),
        )

    def prepare(self, new: NewTexts, translations: TranslationFile) -> PreparedTexts:
        """Collect the texts among new literals.

        Args:
            new: The literals.
            translations: The translations of texts of this side.

        Returns:
            Their texts, each once, with the rows that they have or will have.
        """
        table = build_text_table(new.values, japanese=bool(self.japanese))
        hashes = _hash_rows(new.values, table.row_of_value, len(table))
        row = self.row_of_text.find_first(hashes).astype(np.int64)
        is_new = np.flatnonzero(row < 0)
        row[is_new] = np.arange(len(self.store), len(self.store) + len(is_new))
        return PreparedTexts(new.ids, table, translations.apply(table), hashes, row, is_new)

    def append(self, texts: PreparedTexts, rows: SparseMatrix) -> TextSide:
        """Add texts, but for how similar their nearest ones are.

        Args:
            texts: The texts; of those that are there already, only the literals are added.
            rows: The features of each.

        Returns:
            A side with them.
        """
        new = texts.is_new
        new_rows = texts.row[new]
        compared = texts.compared.select_rows(new)
        text_of_literal = texts.text_of_literal
        is_text = text_of_literal >= 0
        return replace(
            self,
            store=self.store.append(texts.table.select_rows(new), compared),
            row_of_text=self.row_of_text.append(texts.hashes[new], new_rows),
            literal_of_row=self.literal_of_row.append(
                text_of_literal[is_text], texts.literals[is_text]
            ),
            row_of_core=self.row_of_core.append(hash_texts(compared.unqualified), new_rows),
            postings=self.postings.append(select_rows(rows, new), len(self.store)),
            vectors=self.vectors.append(compared.normalised),
        )

    def raise_limits(self, texts: PreparedTexts, near: NearTexts) -> TextSide:
        """Store how similar the nearest ones of new texts are.

        Args:
            texts: The texts that were looked for.
            near: What was found.

        Returns:
            A side with their limits.
        """
        new = texts.is_new
        return replace(self, limits=self.limits.append(near.best[new], near.last[new]))


class NewTexts(NamedTuple):
    """New literals, of which some are texts.

    Attributes:
        ids: Their ids.
        values: Their values.
    """

    ids: IntArray
    values: Sequence[TypedValue]


class PreparedTexts(NamedTuple):
    """The texts among new literals of one side, each once.

    Attributes:
        literals: The new literals.
        table: Their texts.
        compared: The same with translations.
        hashes: The hash of each text.
        row: The row of each text among all texts of its side.
        is_new: The texts that were not there before.
    """

    literals: IntArray
    table: TextTable
    compared: TextTable
    hashes: Array
    row: Rows
    is_new: Rows

    @property
    def text_of_literal(self) -> IntArray:
        """The row of each new literal among all texts of its side; −1 if it is no text."""
        return np.append(self.row, -1)[self.table.row_of_value].astype(np.int32)


class FoundTexts(NamedTuple):
    """What new texts gave.

    Attributes:
        matches: Pairs of literals of which at least one is new.
        left_rows: The text of each new left literal; −1 if it is none.
        right_rows: The same on the right.
    """

    matches: LiteralMatches
    left_rows: IntArray
    right_rows: IntArray


@dataclass(frozen=True)
class ComparedTexts(ArrayBundle):
    """The texts of two graphs.

    Attributes:
        left: The left texts.
        right: The right texts.
        columns: The features of both.
        translator: How left texts translate into features of right ones.
        translated: The left texts whose translation has each feature.
        translations: The translations of left texts that a file gives.
    """

    left: TextSide
    right: TextSide
    columns: FeatureColumns
    translator: Translator
    translated: Postings
    translations: TranslationFile

    @staticmethod
    def build(matching: LiteralMatching) -> ComparedTexts:
        """Store the texts of two graphs.

        Args:
            matching: How their literals were matched.

        Returns:
            The stored texts.
        """
        search = matching.search
        translated, column_count = SparseMatrix.zeros(0), 0
        if search.translation is not None:
            translated, column_count = search.translation.rows, len(search.features.weight)
        return ComparedTexts(
            TextSide.build(matching, LEFT),
            TextSide.build(matching, RIGHT),
            FeatureColumns.build(search.features, search.phonetic),
            Translator.build(search.translation),
            Postings.build(translated, column_count),
            TranslationFile.build(matching.translations),
        )

    def add_texts(
        self, new_left: NewTexts, new_right: NewTexts, neighbours: int, min_probability: float
    ) -> tuple[ComparedTexts, FoundTexts]:
        """Match the texts among new literals, and add them.

        Args:
            new_left: New left literals.
            new_right: New right literals.
            neighbours: How many partners a text keeps besides its equal ones.
            min_probability: Less probable pairs are dropped.

        Returns:
            The texts with the new ones, and what was found.
        """
        left = self.left.prepare(new_left, self.translations)
        right = self.right.prepare(new_right, TranslationFile.build({}))
        left_rows, columns = extract_queries(left.compared, self.columns)
        right_rows, columns = extract_queries(right.compared, columns)
        translated = self.translator.translate(left.compared, columns.weight)
        grown = replace(
            self,
            left=self.left.append(left, left_rows),
            right=self.right.append(right, right_rows),
            columns=columns,
            translated=self.translated.append(
                select_rows(translated, left.is_new), len(self.left.store)
            ),
        )
        from_left = grown._search_right((left_rows, translated), neighbours)
        from_right = grown._search_left(right_rows, neighbours)
        grown = replace(
            grown,
            left=grown.left.raise_limits(left, from_left),
            right=grown.right.raise_limits(right, from_right),
        )
        grown, similar = grown._list_similar(
            from_left._replace(query=left.row[from_left.query]),
            from_right._replace(query=right.row[from_right.query]),
        )
        match_sets = [
            grown._estimate(similar, min_probability),
            grown._match_cores(left, LEFT),
            grown._match_cores(right, RIGHT).swap_sides(),
            *grown._match_vectors(left, right, neighbours, min_probability),
        ]
        matches = grown._expand(merge_matches(match_sets), left.literals, right.literals)
        return grown, FoundTexts(matches, left.text_of_literal, right.text_of_literal)

    def _search_right(
        self, queries: tuple[SparseMatrix, SparseMatrix], neighbours: int
    ) -> NearTexts:
        right = self.right
        postings = right.postings, right.postings
        return find_near_texts(queries, postings, right.limits, len(right.store), neighbours)

    def _search_left(self, rows: SparseMatrix, neighbours: int) -> NearTexts:
        left = self.left
        postings = left.postings, self.translated
        return find_near_texts((rows, rows), postings, left.limits, len(left.store), neighbours)

    def _list_similar(
        self, from_left: NearTexts, from_right: NearTexts
    ) -> tuple[ComparedTexts, SimilarTexts]:
        """The pairs found from either side, each once, after their rows took notice of them."""
        left = np.append(from_left.query, from_right.row).astype(np.int64)
        right = np.append(from_left.row, from_right.query).astype(np.int64)
        direct = np.append(from_left.direct, from_right.direct)
        translated = np.append(from_left.translated, from_right.translated)
        _, first = np.unique(left * max(len(self.right.store), 1) + right, return_index=True)
        left, right, direct, translated = (
            left[first],
            right[first],
            direct[first],
            translated[first],
        )
        total = direct + translated
        grown = replace(
            self,
            left=replace(self.left, limits=self.left.limits.raise_best(left, total)),
            right=replace(self.right, limits=self.right.limits.raise_best(right, total)),
        )
        best = np.minimum(
            *(
                total / np.maximum(side.limits.find_best(rows), MIN_BEST)
                for side, rows in ((grown.left, left), (grown.right, right))
            )
        )
        return grown, SimilarTexts(left, right, direct, translated, best)

    def _estimate(self, pairs: SimilarTexts, min_probability: float) -> LiteralMatches:
        """Compare the texts of those pairs that can be probable enough."""
        is_translated = self.translator.has_learned
        other_script = self.left.store.has_flag(pairs.left, NON_LATIN) != (
            self.right.store.has_flag(pairs.right, NON_LATIN)
        )
        bound = bound_match_probabilities(pairs, other_script, translated=is_translated)
        pairs = pairs.select(bound >= min_probability)
        left, left_texts = np.unique(pairs.left, return_inverse=True)
        right, right_texts = np.unique(pairs.right, return_inverse=True)
        probability = estimate_match_probabilities(
            self.translations.apply(self.left.store.read(left)),
            self.right.store.read(right),
            pairs._replace(left=left_texts, right=right_texts),
            translated=is_translated,
        )
        keep = probability >= min_probability
        return LiteralMatches.from_columns(pairs.left[keep], pairs.right[keep], probability[keep])

    def _match_cores(self, texts: PreparedTexts, side: int) -> LiteralMatches:
        """Texts that are equal but for a qualifier: rows of new texts and of the other side."""
        own, other = (self.left, self.right) if side == LEFT else (self.right, self.left)
        core = texts.compared.unqualified
        filled = np.flatnonzero(np.array([text != "" for text in core], dtype=np.bool_))
        hashes = hash_texts([core[position] for position in filled.tolist()])
        number, found = other.row_of_core.find_all(hashes, MAX_DUPLICATES)
        row, found = texts.row[filled[number]], found.astype(np.int64)
        both = own.store.has_flag(row, QUALIFIED) & other.store.has_flag(found, QUALIFIED)
        probability = np.where(both, OTHER_QUALIFIER, np.float32(EQUAL_WITHOUT_QUALIFIER))
        return LiteralMatches.from_columns(row, found, probability)

    def _match_vectors(
        self, left: PreparedTexts, right: PreparedTexts, neighbours: int, min_probability: float
    ) -> tuple[LiteralMatches, LiteralMatches]:
        from_left, from_right = (
            match_new_vectors(
                own.vectors.embed(texts.compared.normalised),
                texts.row,
                other.vectors,
                neighbours,
                min_probability,
            )
            for texts, own, other in (
                (left, self.left, self.right),
                (right, self.right, self.left),
            )
        )
        return from_left, from_right.swap_sides()

    def _expand(
        self, matches: LiteralMatches, new_left: IntArray, new_right: IntArray
    ) -> LiteralMatches:
        """Pairs of texts as pairs of their literals, of which at least one is new."""
        number, left = self.left.literal_of_row.find_all(matches.left, MAX_DUPLICATES)
        pair, right = self.right.literal_of_row.find_all(matches.right[number], MAX_DUPLICATES)
        left, probability = left[pair], matches.probability[number[pair]]
        is_new = np.isin(left, new_left) | np.isin(right, new_right)
        return LiteralMatches.from_columns(left[is_new], right[is_new], probability[is_new])


def _hash_rows(values: Sequence[TypedValue], row_of_value: IntArray, count: int) -> Array:
    """The hash of the text of each row of a table."""
    keys = [""] * count
    for value, row in zip(values, row_of_value.tolist(), strict=True):
        if value.kind == ValueKind.TEXT:
            keys[row] = value.text_key
    return hash_texts(keys)
