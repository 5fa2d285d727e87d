"""Translation of names: a file of translations, and a model learned from names of linked entities.

The model is IBM model 1 (Brown et al., The Mathematics of Statistical Machine Translation,
1993): each token of the target text comes from one token of the source text, and expectation
maximisation over all pairs of texts finds how probable each translation is. So 大学 comes to
mean "university", although the two neither look nor sound alike.

Models are cross-fitted: the translation of a pair's names never rests on the pair itself.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_parallel
from everalign.errors import InputError
from everalign.graph import IntArray
from everalign.io.streams import read_text_blocks
from everalign.literals.matches import FloatArray
from everalign.literals.ngram_index import SparseMatrix
from everalign.literals.ngrams import Starts
from everalign.literals.normalisation import normalise_text

Positions: TypeAlias = NDArray[np.signedinteger]

EM_STEPS = 5  # of expectation maximisation: later steps change little

# Smoothing is added to how often a source token was seen, as if so many of its translations
# were unknown: what was seen once is not certain. N-grams are many and most are rare, so the
# search needs more of it than names.
SEARCH_SMOOTHING = 2.0

SEARCH_FOLDS = 3  # each known pair is translated by what the other two thirds teach
MAX_KNOWN_PAIRS = 15_000  # more teach nothing new and take longer
MIN_PROBABILITY = 0.002  # less probable translations only make the search slower
MAX_FEATURES = 60  # of a translated name; about as many as a long name has of its own


def read_translations(path: str | Path) -> dict[str, str]:
    """Read a file with lines of left-text TAB right-text.

    Args:
        path: The file, optionally compressed.

    Returns:
        The translation of each left text, both normalised; the first one if there are several.

    Raises:
        InputError: A line has not two columns with text in them.
    """
    path = Path(path)
    translations: dict[str, str] = {}
    for block in read_text_blocks(path):
        for number, line in block.lines():
            if not line.strip():
                continue
            columns = line.split("\t")
            if len(columns) != 2 or not columns[0].strip() or not columns[1].strip():
                found = "an empty text" if len(columns) == 2 else f"{len(columns)} columns"
                problem = f"expected left-text TAB right-text, found {found}"
                raise InputError(problem, path=path, line=number)
            translations.setdefault(normalise_text(columns[0]), normalise_text(columns[1]))
    return translations


class TokenisedTexts(NamedTuple):
    """Texts as sets of tokens.

    Attributes:
        start: The tokens of text n are at `start[n]` to `start[n + 1]`.
        token: Token ids, each once per text.
        weight: How much each token tells (its inverse document frequency).
    """

    start: Starts
    token: IntArray
    weight: FloatArray

    @property
    def token_count(self) -> int:
        """The number of distinct tokens."""
        return len(self.weight)


class CoOccurrences(NamedTuple):
    """Which source tokens occur with which target tokens in the pairs of texts.

    In a pair of texts, each source token co-occurs with each target token. Co-occurrences of
    the same two tokens share an entry, so that their probability is stored once.

    Attributes:
        entry: The entry of each co-occurrence: those of pair p are at `first[p]` to
            `first[p + 1]`, for each source token those with all target tokens.
        first: See `entry`.
        width: The number of target tokens of each pair.
        source: The source token of each entry; entries are sorted by source, then target.
        target: The target token of each entry.
        token_counts: The number of source and of target tokens.
    """

    entry: IntArray
    first: Starts
    width: Starts
    source: IntArray
    target: IntArray
    token_counts: tuple[int, int]


def find_cooccurrences(
    source: TokenisedTexts,
    target: TokenisedTexts,
    source_rows: NDArray[np.integer],
    target_rows: NDArray[np.integer],
) -> CoOccurrences:
    """Find the tokens that occur together in pairs of texts.

    Args:
        source: The source texts.
        target: The target texts.
        source_rows: The source text of each pair.
        target_rows: The target text of each pair.

    Returns:
        Their co-occurrences.

    Example:
        >>> weight = np.ones(2, dtype=np.float32)
        >>> source = TokenisedTexts(np.array([0, 1, 3]), np.array([0, 0, 1], np.int32), weight)
        >>> target = TokenisedTexts(np.array([0, 1, 2]), np.array([0, 1], np.int32), weight)
        >>> found = find_cooccurrences(source, target, np.array([0, 1]), np.array([0, 1]))
        >>> found.source.tolist(), found.target.tolist(), found.entry.tolist()
        ([0, 0, 1], [0, 1, 1], [0, 1, 2])
    """
    # Columns of a table of pairs come here too; with one memory layout, one version is compiled.
    source_rows, target_rows = map(np.ascontiguousarray, (source_rows, target_rows))
    width = np.diff(target.start)[target_rows]
    first = np.zeros(len(source_rows) + 1, dtype=np.int64)
    np.cumsum(np.diff(source.start)[source_rows] * width, out=first[1:])
    source_token, target_token = (np.empty(first[-1], dtype=np.int32) for _ in range(2))
    _list_cooccurrences(
        *source[:2], *target[:2], source_rows, target_rows, source_token, target_token
    )
    count = len(source_token)
    order: Positions = np.arange(count).astype(np.int32 if count < 1 << 31 else np.int64)
    # By the second key first: the sort is stable, so that the result is by source, then target.
    order = _sort_by_token(target_token, target.token_count, order)
    order = _sort_by_token(source_token, source.token_count, order)
    entry, heads = np.empty(count, dtype=np.int32), np.empty_like(order)
    heads = heads[: _number_entries(source_token, target_token, order, entry, heads)]
    token_counts = source.token_count, target.token_count
    return CoOccurrences(
        entry, first, width, source_token[heads], target_token[heads], token_counts
    )


def estimate_probabilities(
    cooccurrences: CoOccurrences,
    pair_weights: FloatArray,
    smoothing: float,
    *,
    inverse: bool = False,
) -> FloatArray:
    """Estimate translation probabilities by expectation maximisation.

    Args:
        cooccurrences: The tokens of the pairs.
        pair_weights: How much each pair counts; 0 leaves it out.
        smoothing: Added to the count of each source token.
        inverse: Estimate P(source | target) instead of P(target | source).

    Returns:
        A probability per entry of the co-occurrences.

    Example:
        >>> text = TokenisedTexts(np.array([0, 1]), np.array([0], np.int32), np.ones(1, "f4"))
        >>> found = find_cooccurrences(text, text, np.array([0]), np.array([0]))
        >>> estimate_probabilities(found, np.ones(1, "f4"), smoothing=1.0).tolist()
        [0.5]
    """
    given = cooccurrences.target if inverse else cooccurrences.source
    # Uniform at first, and not normalised: the first step only uses ratios.
    probability, count = np.ones(len(given), dtype=np.float32), np.empty(len(given))
    for _ in range(EM_STEPS):
        _collect_counts(*cooccurrences[:3], pair_weights, inverse, probability, count)
        _normalise_counts(
            given, cooccurrences.token_counts[int(inverse)], smoothing, count, probability
        )
    return probability


class TranslationModel(NamedTuple):
    """Translation probabilities of tokens, as a sparse matrix by source tokens.

    Attributes:
        start: The translations of source token s are at `start[s]` to `start[s + 1]`.
        target: The target token of each, sorted for each source token.
        probability: P(target | source).
        inverse: P(source | target); empty if it was not learned.
    """

    start: Starts
    target: IntArray
    probability: FloatArray
    inverse: FloatArray


TranslationModels: TypeAlias = tuple[TranslationModel, ...]


class TrainingPairs(NamedTuple):
    """Pairs of texts that a translation model learns from.

    Attributes:
        source_rows: The source text of each pair.
        target_rows: The target text of each pair.
        weight: How much each pair counts.
        fold: The model that must not learn from the pair; −1 if all may.
    """

    source_rows: NDArray[np.integer]
    target_rows: NDArray[np.integer]
    weight: FloatArray
    fold: NDArray[np.integer]


def learn_models(
    source: TokenisedTexts,
    target: TokenisedTexts,
    pairs: TrainingPairs,
    fold_count: int,
    smoothing: float,
    *,
    inverse: bool = False,
) -> TranslationModels:
    """Learn one model per fold, from all pairs that are not in the fold.

    Args:
        source: The source texts.
        target: The target texts.
        pairs: The pairs to learn from.
        fold_count: The number of models.
        smoothing: See `estimate_probabilities`.
        inverse: Also learn the other direction.

    Returns:
        The models in the order of their folds.
    """
    cooccurrences = find_cooccurrences(source, target, *pairs[:2])
    start = np.searchsorted(cooccurrences.source, np.arange(source.token_count + 1))
    directions = (False, True) if inverse else (False,)

    def learn(task: int) -> FloatArray:
        fold, direction = divmod(task, len(directions))
        # Weight 0 instead of a selection: all models share one table of co-occurrences.
        weights = np.where(pairs.fold != fold, pairs.weight, np.float32(0))
        return estimate_probabilities(
            cooccurrences, weights, smoothing, inverse=directions[direction]
        )

    learned = map_parallel(learn, fold_count * len(directions))
    nothing = np.empty(0, dtype=np.float32)
    backward = learned[1::2] if inverse else [nothing] * fold_count
    return tuple(
        TranslationModel(start, cooccurrences.target, *probabilities)
        for probabilities in zip(learned[:: len(directions)], backward, strict=True)
    )


def translate_known_texts(
    source: TokenisedTexts, target: TokenisedTexts, known_pairs: IntArray
) -> tuple[SparseMatrix, TranslationModel]:
    """Translate each source text into the target tokens that are most probable for it.

    Args:
        source: The texts to translate.
        target: The texts of the other side.
        known_pairs: Rows of (source text, target text) that say the same, each source text
            once. A known text is translated without what its own pair teaches.

    Returns:
        For each source text at most `MAX_FEATURES` target tokens, weighted by probability and
        token weight; and the model for texts that are not known.
    """
    known_pairs = known_pairs[:MAX_KNOWN_PAIRS]
    fold = np.arange(len(known_pairs)) % SEARCH_FOLDS
    weight = np.ones(len(fold), dtype=np.float32)
    pairs = TrainingPairs(known_pairs[:, 0], known_pairs[:, 1], weight, fold)
    # No pair is in the last fold: its model translates the texts that are not known.
    models = learn_models(source, target, pairs, SEARCH_FOLDS + 1, SEARCH_SMOOTHING)
    probable_models = map_parallel(lambda fold: _drop_improbable(models[fold]), len(models))
    fold_of_row = np.full(len(source.start) - 1, SEARCH_FOLDS)
    fold_of_row[pairs.source_rows] = fold
    rows = translate_texts(source, target.weight, probable_models, fold_of_row)
    return rows, probable_models[SEARCH_FOLDS]


def translate_texts(
    source: TokenisedTexts,
    target_weight: FloatArray,
    models: Sequence[TranslationModel],
    model_of_row: NDArray[np.integer],
) -> SparseMatrix:
    """Translate texts by given models.

    Args:
        source: The texts to translate.
        target_weight: The weight of each target token.
        models: The models.
        model_of_row: The number of the model of each text.

    Returns:
        For each text at most `MAX_FEATURES` target tokens, weighted by probability and token
        weight.
    """
    row_count = len(model_of_row)
    column = np.zeros((row_count, MAX_FEATURES), dtype=np.int32)
    value = np.zeros((row_count, MAX_FEATURES), dtype=np.float32)

    def translate(model: int) -> None:
        rows = np.flatnonzero(model_of_row == model)
        # Made here, where the system gives memory only for those tokens that are met.
        total = np.zeros(len(target_weight), dtype=np.float32)
        met = np.empty(len(target_weight) + 1, dtype=np.int32)
        _translate_rows(source, rows, models[model], target_weight, total, met, column, value)

    map_parallel(translate, len(models))
    found = value > 0
    start = np.zeros(row_count + 1, dtype=np.int64)
    np.cumsum(found.sum(axis=1), out=start[1:])
    return SparseMatrix(start, column[found], value[found])


def _drop_improbable(model: TranslationModel) -> TranslationModel:
    keep = model.probability > MIN_PROBABILITY
    # The number of entries kept before each one turns old offsets into new ones.
    kept_before = np.append(0, np.cumsum(keep))
    return TranslationModel(
        kept_before[model.start], model.target[keep], model.probability[keep], model.inverse
    )


@jit_cached()
def _list_cooccurrences(
    source_start: Starts,
    source_tokens: IntArray,
    target_start: Starts,
    target_tokens: IntArray,
    source_rows: NDArray[np.integer],
    target_rows: NDArray[np.integer],
    source_token: IntArray,
    target_token: IntArray,
) -> None:
    k = 0
    for pair in range(len(source_rows)):
        source, target = source_rows[pair], target_rows[pair]
        for i in range(source_start[source], source_start[source + 1]):
            for j in range(target_start[target], target_start[target + 1]):
                source_token[k], target_token[k] = source_tokens[i], target_tokens[j]
                k += 1


@jit_cached()
def _sort_by_token(token: IntArray, token_count: int, order: Positions) -> Positions:
    """Sort positions by their tokens, keeping the order of equal ones: a counting sort, since
    there are far fewer tokens than positions."""
    start = np.zeros(token_count + 1, dtype=np.int64)
    for each in token:
        start[each + 1] += 1
    for each in range(token_count):
        start[each + 1] += start[each]
    out = np.empty_like(order)
    for position in order:
        each = token[position]
        out[start[each]] = position
        start[each] += 1
    return out


@jit_cached()
def _number_entries(
    source_token: IntArray,
    target_token: IntArray,
    order: Positions,
    entry: IntArray,
    heads: Positions,
) -> int:
    """Number the distinct pairs of tokens; `heads` are the first positions of each."""
    count, source, target = 0, -1, -1
    for position in order:
        if source_token[position] != source or target_token[position] != target:
            source, target = source_token[position], target_token[position]
            heads[count] = position
            count += 1
        entry[position] = count - 1
    return count


@jit_cached()
def _collect_counts(
    entry: IntArray,
    first: Starts,
    width: Starts,
    pair_weights: FloatArray,
    inverse: bool,
    probability: FloatArray,
    count: NDArray[np.float64],
) -> None:
    """The expectation step: the expected count of each entry.

    The co-occurrences of a pair form a matrix of source tokens by target tokens. Each target
    token is shared out over the source tokens (a column), or inversely each source token over
    the target tokens (a row).
    """
    count[:] = 0
    sizes = np.diff(first)
    local = np.empty(sizes.max() if sizes.size else 0, dtype=np.float64)
    share = np.empty_like(local)
    for pair in range(len(width)):
        begin, size, columns = first[pair], sizes[pair], width[pair]
        if pair_weights[pair] == 0 or size == 0:
            continue
        for k in range(size):
            local[k] = probability[entry[begin + k]]
        rows = size // columns
        step, groups, members = (1, rows, columns) if inverse else (columns, columns, rows)
        for group in range(groups):
            start = group * columns if inverse else group
            total = 0.0
            for member in range(members):
                total += local[start + member * step]
            scale = pair_weights[pair] / total if total > 0 else 0.0
            for member in range(members):
                share[start + member * step] = local[start + member * step] * scale
        for k in range(size):
            count[entry[begin + k]] += share[k]


@jit_cached()
def _normalise_counts(
    given: IntArray,
    token_count: int,
    smoothing: float,
    count: NDArray[np.float64],
    probability: FloatArray,
) -> None:
    """The maximisation step: the share of each entry in the count of its given token."""
    total = np.full(token_count, smoothing, dtype=np.float64)
    for k in range(len(given)):
        total[given[k]] += count[k]
    for k in range(len(given)):
        probability[k] = count[k] / total[given[k]]


@jit_cached()
def _translate_rows(
    source: TokenisedTexts,
    rows: NDArray[np.int64],
    model: TranslationModel,
    target_weight: FloatArray,
    total: FloatArray,
    met: IntArray,
    out_column: IntArray,
    out_value: FloatArray,
) -> None:
    for row in rows:
        count = 0
        for i in range(source.start[row], source.start[row + 1]):
            token = source.token[i]
            for k in range(model.start[token], model.start[token + 1]):
                target = model.target[k]
                met[count] = target  # overwritten unless it is new
                count += total[target] == 0
                total[target] += model.probability[k]
        for k in range(count):
            value = total[met[k]] * target_weight[met[k]]
            total[met[k]] = 0
            slot = out_value.shape[1] - 1
            if value <= out_value[row, slot]:
                continue
            while slot > 0 and out_value[row, slot - 1] < value:
                out_value[row, slot] = out_value[row, slot - 1]
                out_column[row, slot] = out_column[row, slot - 1]
                slot -= 1
            out_value[row, slot] = value
            out_column[row, slot] = met[k]


@jit_cached()
def find_position(values: IntArray, first: int, end: int, value: int) -> int:
    """Find the first position in a sorted range whose value is not less than a given one.

    Args:
        values: Values, of which the range is sorted.
        first: The first position of the range.
        end: The position behind the range.
        value: The given value.

    Returns:
        The position; `end` if all values are less.
    """
    while first < end:
        middle = (first + end) >> 1
        if values[middle] < value:
            first = middle + 1
        else:
            end = middle
    return first
