"""How much of a name is explained as a translation of another one.

Names are split into tokens, and models of how these translate are learned from the names of
linked entities and of probable pairs (`everalign.literals.translation`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import map_chunks
from everalign.graph import IntArray
from everalign.literals.matches import FloatArray
from everalign.literals.ngrams import Starts
from everalign.literals.translation import (
    TokenisedTexts,
    TrainingPairs,
    TranslationModel,
    TranslationModels,
    find_position,
    learn_models,
)

STEM_LENGTH = 4  # letters of a longer word that are a token of their own: endings differ
MAX_TOKENS = 24  # of a name: the loops over pairs of tokens grow with its square
FIRST_SCRIPT_WITHOUT_SPACES = 0x2E80  # from this code point on, scripts of East Asia

NAME_SMOOTHING = 0.5  # less than for the search, whose tokens are more and rarer
NAME_FOLDS = 2  # by parity of the left entity's id, so that an update keeps the fold of a pair
CHUNK_SIZE = 8192  # pairs that one thread compares at a time
EXPLAINED_SHARES = 2
RIGHT_SHARE, LEFT_SHARE = range(EXPLAINED_SHARES)


def tokenise_name(name: str) -> list[str]:
    """Split a name into words and their stems; scripts without spaces into characters.

    Args:
        name: A normalised name.

    Returns:
        Words, stems of longer words, and for scripts without spaces the characters alone and
        in pairs; tokens may repeat.

    Example:
        >>> tokenise_name("guerre de 1870")
        ['guerre', 'guer-', 'de', '1870']
        >>> tokenise_name("本笃四世 iv")
        ['本', '笃', '四', '世', '本笃', '笃四', '四世', 'iv']
    """
    tokens = []
    for word in name.split():
        # The highest code point decides: a word with one Han character is split into characters.
        if ord(max(word)) < FIRST_SCRIPT_WITHOUT_SPACES:
            tokens.append(word)
            if len(word) > STEM_LENGTH and not word.isdecimal():
                tokens.append(f"{word[:STEM_LENGTH]}-")
        else:
            tokens += [*word, *(word[i : i + 2] for i in range(len(word) - 1))]
    return tokens


def split_name(name: str) -> list[str]:
    """List the tokens of a name that are compared.

    Args:
        name: A normalised name.

    Returns:
        The first `MAX_TOKENS` tokens, each once.
    """
    return list(dict.fromkeys(tokenise_name(name)))[:MAX_TOKENS]


class NameTokens(NamedTuple):
    """The tokens of names.

    Attributes:
        texts: The names as sets of tokens.
        tokens: The token of each id.
    """

    texts: TokenisedTexts
    tokens: list[str]


def tokenise_names(names: Sequence[str]) -> NameTokens:
    """Split normalised names into tokens and number these.

    Args:
        names: The names; an empty one has no tokens.

    Returns:
        The tokens of each name, at most `MAX_TOKENS`.
    """
    token_ids: dict[str, int] = {}
    tokens: list[int] = []
    start = [0]
    for name in names:
        distinct = split_name(name)
        tokens += [token_ids.setdefault(token, len(token_ids)) for token in distinct]
        start.append(len(tokens))
    token_array = np.array(tokens, dtype=np.int32)
    frequency = np.bincount(token_array, minlength=len(token_ids))
    weight = weight_tokens(frequency, len(names))
    texts = TokenisedTexts(np.array(start, dtype=np.int64), token_array, weight)
    return NameTokens(texts, list(token_ids))


def weight_tokens(frequency: NDArray[np.integer], name_count: int) -> FloatArray:
    """Compute how much tokens tell: their inverse document frequency.

    Args:
        frequency: The number of names with each token.
        name_count: The number of all names.

    Returns:
        A weight per token.
    """
    weight: FloatArray = np.log((2 + name_count) / (1 + frequency)).astype(np.float32)
    return weight


def learn_name_models(
    left: TokenisedTexts,
    right: TokenisedTexts,
    anchors: IntArray,
    matches: tuple[IntArray, IntArray, FloatArray],
) -> TranslationModels:
    """Learn how names translate from trusted links and probable pairs of entities.

    Args:
        left: The name of each left entity.
        right: The name of each right entity.
        anchors: Rows of (left, right) trusted links. They are not scored, so all models
            learn from them.
        matches: Left ids, right ids and probabilities of other pairs.

    Returns:
        A model per fold; the pairs of left entity x are scored by model x modulo their number.
    """
    no_fold = np.full(len(anchors), -1)
    pairs = TrainingPairs(
        np.concatenate([anchors[:, 0], matches[0]]),
        np.concatenate([anchors[:, 1], matches[1]]),
        np.append(np.ones(len(anchors), np.float32), matches[2]),
        np.concatenate([no_fold, matches[0] % NAME_FOLDS]),
    )
    return learn_models(left, right, pairs, NAME_FOLDS, NAME_SMOOTHING, inverse=True)


class WeightedTokens(NamedTuple):
    """Names as tokens of a translation model.

    Attributes:
        start: The tokens of name n are at `start[n]` to `start[n + 1]`.
        token: Token ids; −1 is a token that the model does not know.
        weight: How much each of these tokens tells.
    """

    start: Starts
    token: IntArray
    weight: FloatArray

    @staticmethod
    def from_texts(texts: TokenisedTexts) -> WeightedTokens:
        """Look up the weights of all tokens.

        Args:
            texts: Names as sets of tokens.

        Returns:
            The same names.
        """
        return WeightedTokens(texts.start, texts.token, texts.weight[texts.token])


def compute_explained_shares(
    models: TranslationModels,
    left: TokenisedTexts,
    right: TokenisedTexts,
    left_entities: IntArray,
    right_entities: IntArray,
) -> FloatArray:
    """Compute how much of each name of a pair is explained as a translation of the other one.

    Args:
        models: The models of `learn_name_models`.
        left: The name of each left entity.
        right: The name of each right entity.
        left_entities: The left entity of each pair.
        right_entities: The right entity of each pair.

    Returns:
        A row per pair: the explained share of the right name (column `RIGHT_SHARE`) and of the
        left name (`LEFT_SHARE`); NaN where one of the two has no name.
    """
    names = WeightedTokens.from_texts(left), WeightedTokens.from_texts(right)
    return explain_names(models, *names, left_entities, right_entities, left_entities)


def explain_names(
    models: TranslationModels,
    left: WeightedTokens,
    right: WeightedTokens,
    left_rows: NDArray[np.integer],
    right_rows: NDArray[np.integer],
    left_entities: IntArray,
) -> FloatArray:
    """Compute explained shares of given names.

    Args:
        models: The models of `learn_name_models`.
        left: Left names.
        right: Right names.
        left_rows: The left name of each pair.
        right_rows: The right name of each pair.
        left_entities: The left entity of each pair, which decides its model.

    Returns:
        The same as `compute_explained_shares`.
    """
    shares = np.full((len(left_rows), EXPLAINED_SHARES), np.nan, dtype=np.float32)
    for fold, model in enumerate(models):
        pairs = np.flatnonzero(left_entities % len(models) == fold)
        explain = partial(_explain_pairs, model, left, right, left_rows[pairs], right_rows[pairs])
        parts = map_chunks(explain, len(pairs), CHUNK_SIZE)
        if parts:
            shares[pairs] = np.concatenate(parts)
    return shares


@jit_cached()
def _explain_pairs(
    model: TranslationModel,
    left: WeightedTokens,
    right: WeightedTokens,
    left_rows: NDArray[np.integer],
    right_rows: NDArray[np.integer],
    first_pair: int,
    end_pair: int,
) -> FloatArray:
    shares = np.full((end_pair - first_pair, EXPLAINED_SHARES), np.nan, dtype=np.float32)
    for pair in range(first_pair, end_pair):
        left_first, left_end = left.start[left_rows[pair]], left.start[left_rows[pair] + 1]
        right_first, right_end = right.start[right_rows[pair]], right.start[right_rows[pair] + 1]
        if left_first == left_end or right_first == right_end:
            continue
        of_right = np.zeros(right_end - right_first, dtype=np.float32)
        of_left = np.zeros(left_end - left_first, dtype=np.float32)
        for i in range(left_first, left_end):
            source = left.token[i]
            if source < 0:
                continue
            end = model.start[source + 1]
            for j in range(right_first, right_end):
                target = right.token[j]
                k = find_position(model.target, model.start[source], end, target)
                if k < end and model.target[k] == target:
                    of_right[j - right_first] += model.probability[k]
                    of_left[i - left_first] += model.inverse[k]
        shares[pair - first_pair, RIGHT_SHARE] = _sum_share(
            right.weight[right_first:right_end], of_right
        )
        shares[pair - first_pair, LEFT_SHARE] = _sum_share(
            left.weight[left_first:left_end], of_left
        )
    return shares


@jit_cached()
def _sum_share(weight: FloatArray, explained: FloatArray) -> float:
    """The explained share of a text's tokens, weighted by how much each tells."""
    total, full = 0.0, 0.0
    for k in range(explained.size):
        # Several source tokens may explain the same one; it is explained once at most.
        total += weight[k] * min(np.float32(1), explained[k])
        full += weight[k]
    return total / full if full > 0 else 0.0
