"""Match the literals of two graphs: pairs that say the same, with probabilities."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress, no_progress
from everalign.errors import ConfigError
from everalign.graph import AttributeTriples, IntArray
from everalign.graph.growing import list_block_rows
from everalign.literals.dates_numbers import match_dates, match_numbers
from everalign.literals.entity_names import EntityNames, find_entity_names, pair_known_names
from everalign.literals.matches import (
    MAX_DUPLICATES,
    FloatArray,
    LiteralMatches,
    expand_duplicates,
    match_equal_keys,
    merge_matches,
)
from everalign.literals.name_translation import NameTokens, tokenise_names
from everalign.literals.ngrams import Hashes, Starts
from everalign.literals.parsing import ParsedLiterals, TextTable, TypedValue, ValueKind
from everalign.literals.similarity import estimate_match_probabilities
from everalign.literals.text_search import TextSearch
from everalign.literals.translation import TokenisedTexts, read_translations
from everalign.literals.vectors import WeightedWords, match_vectors
from everalign.literals.word_bags import (
    LiteralWords,
    WordBags,
    WordWeights,
    group_words,
    list_literal_words,
)

NO_SEEDS: IntArray = np.empty((0, 2), dtype=np.int32)
STEP_COUNT = 2
# Two texts that are equal but for a qualifier: one of them has it ("Paris", "Paris (Texas)"),
# or both have different ones. Estimates by judgement.
EQUAL_WITHOUT_QUALIFIER = 0.6
OTHER_QUALIFIER = np.float32(0.3)


@dataclass(frozen=True)
class LiteralSettings:
    """The settings of `match_literals`. An empty path means that there is no such file.

    Attributes:
        neighbours: How many partners a value keeps besides its equal ones. With ten instead
            of five the right partner is listed more often (docs/decisions/0014-literals.md).
        min_probability: Less probable pairs are dropped. At 0.05 they still help where
            neighbours in the graph speak for a pair.
        number_tolerance: The largest relative difference of numbers: 1% covers rounding and
            figures of neighbouring years.
        translations: A file with lines of left-text TAB right-text.
        left_vectors: Word vectors of the left language in the text format of fastText.
        right_vectors: Word vectors of the right language, in the same space.

    Example:
        >>> LiteralSettings(neighbours=3).neighbours
        3
    """

    neighbours: int = 10
    min_probability: float = 0.05
    number_tolerance: float = 0.01
    translations: str = ""
    left_vectors: str = ""
    right_vectors: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.min_probability <= 1:
            raise ConfigError("literals: 'min_probability' must be more than 0 and at most 1")
        if not 0 < self.number_tolerance < 1:
            raise ConfigError("literals: 'number_tolerance' must be more than 0 and less than 1")
        if bool(self.left_vectors) != bool(self.right_vectors):
            raise ConfigError("literals: give both 'left_vectors' and 'right_vectors', or neither")


DEFAULT_SETTINGS = LiteralSettings()


def match_literals(
    left: ParsedLiterals,
    right: ParsedLiterals,
    settings: LiteralSettings = DEFAULT_SETTINGS,
    progress: Progress = no_progress,
    seeds: IntArray = NO_SEEDS,
) -> LiteralMatches:
    """Find the pairs of a left and a right literal that say the same, more or less.

    Args:
        left: The literals of the left graph.
        right: The literals of the right graph.
        settings: Thresholds and files.
        progress: Called at each step.
        seeds: Rows of (left, right) entities known to be the same: their names teach how names
            translate.

    Returns:
        Pairs of literal ids with probabilities.

    Raises:
        InputError: A file that the settings name is missing or broken.

    Example:
        >>> rows = np.array([[0, 0, 0], [1, 0, 1]], dtype=np.int32)
        >>> left = AttributeTriples(rows, ["nom"], ['"Ada Lovelace"@fr', '"1815"'])
        >>> right = AttributeTriples(rows, ["name"], ['"1815-12-10"', '"ada_lovelace"'])
        >>> match_literals(ParsedLiterals(left), ParsedLiterals(right)).to_rows()
        [(0, 1, 1.0), (1, 0, 0.5)]
    """
    return LiteralMatching(left, right, settings, seeds).match(progress)


@dataclass(frozen=True)
class LiteralMatching:
    """How the literals of two graphs are matched; what is computed on the way can be used again.

    Attributes:
        left: The literals of the left graph.
        right: The literals of the right graph.
        settings: Thresholds and files.
        seeds: Rows of (left, right) entities known to be the same.
    """

    left: ParsedLiterals
    right: ParsedLiterals
    settings: LiteralSettings
    seeds: IntArray

    @cached_property
    def translations(self) -> Mapping[str, str]:
        """The translations of the file that the settings name."""
        path = self.settings.translations
        return read_translations(path) if path else {}

    @cached_property
    def texts(self) -> tuple[TextTable, TextTable]:
        """The left texts, translated as far as there are translations, and the right ones."""
        left, right = self.left.texts, self.right.texts
        return left.apply_translations(self.translations) if self.translations else left, right

    @cached_property
    def search(self) -> TextSearch:
        """The search for similar texts."""
        known_texts = _find_known_texts(self.left, self.right, self.seeds)
        return TextSearch.run(*self.texts, self.settings.neighbours, known_texts)

    @cached_property
    def words(self) -> tuple[WeightedWords, WeightedWords] | None:
        """The words of left and of right texts, if the settings name files of their vectors."""
        if not self.settings.left_vectors:
            return None
        left, right = self.texts
        return (
            WeightedWords.read(left.normalised, self.settings.left_vectors),
            WeightedWords.read(right.normalised, self.settings.right_vectors),
        )

    @cached_property
    def vectors(self) -> tuple[FloatArray, FloatArray]:
        """The vectors of left and of right texts; without columns if there are no files."""
        if self.words is None:
            left, right = (np.empty((len(side), 0), dtype=np.float32) for side in self.texts)
        else:
            left, right = (
                words.embed(side.normalised)
                for words, side in zip(self.words, self.texts, strict=True)
            )
        return left, right

    def match(self, progress: Progress) -> LiteralMatches:
        """Find the pairs of literals that say the same, more or less.

        Args:
            progress: Called at each step.

        Returns:
            Pairs of literal ids with probabilities.

        Raises:
            InputError: A file that the settings name is missing or broken.
        """
        progress("equal literals", 0, STEP_COUNT)
        left_values, right_values = self.left.typed_values, self.right.typed_values
        match_sets = [
            match_equal_keys(
                [value.key for value in left_values], [value.key for value in right_values], 1.0
            ),
            _match_numbers(left_values, right_values, self.settings),
            _match_dates(left_values, right_values, self.settings),
        ]
        progress("similar names", 1, STEP_COUNT)
        match_sets.append(self._match_texts())
        # Equal values are in several sets; the highest probability of a pair is kept, which is 1.
        matches = merge_matches(match_sets, self.settings.min_probability)
        progress("similar names", STEP_COUNT, STEP_COUNT)
        # Positions among the literals in use become ids; both ascend: pairs stay sorted.
        left_ids, right_ids = self.left.literal_ids, self.right.literal_ids
        return LiteralMatches(
            left_ids[matches.left], right_ids[matches.right], matches.probability
        )

    def _match_texts(self) -> LiteralMatches:
        """Similar texts, as positions of typed values."""
        left, right = self.texts
        if not len(left) or not len(right):
            return LiteralMatches.empty()
        pairs = self.search.list_pairs()
        probability = estimate_match_probabilities(
            left, right, pairs, translated=self.search.translation is not None
        )
        settings = self.settings
        keep = probability >= settings.min_probability
        match_sets = [
            LiteralMatches(pairs.left[keep], pairs.right[keep], probability[keep]),
            _match_unqualified(left, right),
        ]
        if self.words is not None:
            match_sets.append(
                match_vectors(*self.vectors, settings.neighbours, settings.min_probability)
            )
        return expand_duplicates(
            merge_matches(match_sets), left.row_of_value, right.row_of_value, MAX_DUPLICATES
        )


def _find_known_texts(left: ParsedLiterals, right: ParsedLiterals, seeds: IntArray) -> IntArray:
    """The texts that linked entities are called by."""
    if not len(seeds):
        return seeds
    # Seeds may have higher ids than any entity with literals.
    left_names, right_names = (
        find_entity_names(
            side, int(side.attribute_triples.triples[:, 0].max(initial=last_seed)) + 1
        )
        for side, last_seed in zip((left, right), seeds.max(axis=0).tolist(), strict=True)
    )
    return pair_known_names(left_names, right_names, seeds)


def _match_numbers(
    left: list[TypedValue], right: list[TypedValue], settings: LiteralSettings
) -> LiteralMatches:
    (left_positions, left_numbers), (right_positions, right_numbers) = map(
        _collect_numbers, (left, right)
    )
    found = match_numbers(
        left_numbers, right_numbers, settings.neighbours, settings.number_tolerance
    )
    return LiteralMatches.from_columns(
        left_positions[found.left], right_positions[found.right], found.probability
    )


def _collect_numbers(
    values: list[TypedValue],
) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
    positions = [i for i, value in enumerate(values) if value.kind == ValueKind.NUMBER]
    numbers = np.array([values[i].number for i in positions], dtype=np.float64)
    return np.array(positions, dtype=np.intp), numbers


def _match_dates(
    left: list[TypedValue], right: list[TypedValue], settings: LiteralSettings
) -> LiteralMatches:
    left_dated, right_dated = (
        [(i, value.date) for i, value in enumerate(values) if value.date is not None]
        for values in (left, right)
    )
    found = match_dates(
        [date for _, date in left_dated], [date for _, date in right_dated], settings.neighbours
    )
    # Two numbers of four digits need not be years: they are compared as numbers only.
    rows = [
        (i, j, probability)
        for i, j, probability in zip(
            [left_dated[k][0] for k in found.left.tolist()],
            [right_dated[k][0] for k in found.right.tolist()],
            found.probability.tolist(),
            strict=True,
        )
        if not left[i].kind == right[j].kind == ValueKind.NUMBER
    ]
    return (
        LiteralMatches.from_columns(*zip(*rows, strict=True)) if rows else LiteralMatches.empty()
    )


def _match_unqualified(left: TextTable, right: TextTable) -> LiteralMatches:
    """Texts that are equal but for a qualifier."""
    equal = match_equal_keys(left.unqualified, right.unqualified, EQUAL_WITHOUT_QUALIFIER)
    return weight_qualifiers(equal, left.has_qualifier, right.has_qualifier)


def weight_qualifiers(
    equal: LiteralMatches, left_qualified: NDArray[np.bool_], right_qualified: NDArray[np.bool_]
) -> LiteralMatches:
    """Tell pairs of which both have a qualifier from those of which one has.

    Args:
        equal: Pairs of texts that are equal without qualifiers.
        left_qualified: Which left texts have one.
        right_qualified: Which right texts have one.

    Returns:
        The pairs, less probable where both have a qualifier.
    """
    both_qualified = left_qualified[equal.left] & right_qualified[equal.right]
    return equal._replace(probability=np.where(both_qualified, OTHER_QUALIFIER, equal.probability))


class CachedMatches(NamedTuple):
    """Literal matches of an earlier version.

    Attributes:
        checksum: Tells whether the literals are still the same.
        matches: Their matches.
    """

    checksum: int
    matches: LiteralMatches

    @staticmethod
    def empty() -> CachedMatches:
        """Build the cache of a graph without literals.

        Returns:
            A cache without matches.
        """
        return CachedMatches(0, LiteralMatches.empty())


@dataclass(frozen=True)
class MatchedLiterals:
    """The literals of two graphs and the pairs of them that say the same.

    In the graphs of a method, literals are nodes behind the entities. Nobody looks for their
    counterparts: their matches come from the values alone and stay as they are.

    Attributes:
        matching: The literals of both graphs and how they were matched.
        matches: Pairs of literal ids.
        entity_counts: The number of left and of right entities.
    """

    matching: LiteralMatching
    matches: LiteralMatches
    entity_counts: tuple[int, int]

    @staticmethod
    def find(
        attribute_triples: tuple[AttributeTriples, AttributeTriples],
        entity_counts: tuple[int, int],
        settings: LiteralSettings,
        progress: Progress,
        seeds: IntArray,
        cache: CachedMatches,
    ) -> MatchedLiterals | None:
        """Match the literals of two graphs, or take the matches of the last version.

        Args:
            attribute_triples: The attribute triples of the left and the right graph.
            entity_counts: The number of left and of right entities.
            settings: The settings of `match_literals`.
            progress: Called at each step.
            seeds: Trusted links, which teach how names translate; held-out links must not be
                among them.
            cache: The matches of the last version; they serve if no literal was added or
                removed since.

        Returns:
            The matched literals; None where one side has no literals.

        Raises:
            InputError: A file that the settings name is missing or broken.
        """
        if not all(len(side.triples) for side in attribute_triples):
            return None
        left, right = map(ParsedLiterals, attribute_triples)
        matching = LiteralMatching(left, right, settings, seeds)
        matches = cache.matches
        # Seeds are not part of it: matches stay when only links have changed.
        if cache.checksum != _compute_checksum(left, right):
            matches = matching.match(progress)
        return MatchedLiterals(matching, matches, entity_counts)

    def to_cache(self) -> CachedMatches:
        """Keep the matches for the next version.

        Returns:
            The matches and the checksum of the literals.
        """
        return CachedMatches(_compute_checksum(self.left, self.right), self.matches)

    @property
    def left(self) -> ParsedLiterals:
        """The literals of the left graph."""
        return self.matching.left

    @property
    def right(self) -> ParsedLiterals:
        """The literals of the right graph."""
        return self.matching.right

    @property
    def attribute_triples(self) -> tuple[AttributeTriples, AttributeTriples]:
        """The attribute triples of the left and the right graph."""
        return self.left.attribute_triples, self.right.attribute_triples

    @cached_property
    def names(self) -> tuple[EntityNames, EntityNames]:
        """The names of the left and the right entities."""
        left, right = map(find_entity_names, (self.left, self.right), self.entity_counts)
        return left, right

    @cached_property
    def tokenised_names(self) -> tuple[NameTokens, NameTokens]:
        """The first name of each left and each right entity, and what their tokens are."""
        left, right = (tokenise_names(names.first_names) for names in self.names)
        return left, right

    @property
    def name_tokens(self) -> tuple[TokenisedTexts, TokenisedTexts]:
        """The tokens of the first name of each left and each right entity."""
        left, right = self.tokenised_names
        return left.texts, right.texts

    @cached_property
    def literal_words(self) -> tuple[LiteralWords, LiteralWords]:
        """The words of the left and the right literals in use."""
        left, right = (
            list_literal_words([side.attribute_triples.literals[i] for i in side.literal_ids])
            for side in (self.left, self.right)
        )
        return left, right

    @cached_property
    def _grouped_words(self) -> list[tuple[Starts, Hashes]]:
        """The words of the entities of either side."""
        grouped = []
        for side, (literal, word), entity_count in zip(
            (self.left, self.right), self.literal_words, self.entity_counts, strict=True
        ):
            triples = side.attribute_triples.triples
            literal_of_triple = np.searchsorted(side.literal_ids, triples[:, 2])
            start = np.searchsorted(literal, np.arange(len(side.literal_ids) + 1))
            rows = list_block_rows(start[:-1], start[1:], literal_of_triple)
            entity = np.repeat(triples[:, 0], np.diff(start)[literal_of_triple])
            grouped.append(group_words(entity, word[rows], entity_count))
        return grouped

    @cached_property
    def word_weights(self) -> WordWeights:
        """The weights of all words."""
        return WordWeights.from_bags(self._grouped_words)

    @cached_property
    def word_bags(self) -> tuple[WordBags, WordBags]:
        """The words of the left and the right entities."""
        left, right = (
            WordBags.from_words(start, word, self.word_weights.look_up(word))
            for start, word in self._grouped_words
        )
        return left, right

    def list_node_pairs(self) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """List the matches as pairs of nodes, which are numbered behind the entities.

        Returns:
            Left nodes, right nodes and probabilities.
        """
        left = self.matches.left.astype(np.int64) + self.entity_counts[0]
        right = self.matches.right.astype(np.int64) + self.entity_counts[1]
        return left, right, self.matches.probability


def _compute_checksum(left: ParsedLiterals, right: ParsedLiterals) -> int:
    """Of the ids of all literals in use; an id stands for the same literal for ever."""
    return zlib.crc32(right.literal_ids.tobytes(), zlib.crc32(left.literal_ids.tobytes()))
