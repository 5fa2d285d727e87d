"""Translation models: the probabilities against a plain implementation, and their two uses."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.methods.evidence.naming import values

from everalign.graph import IntArray
from everalign.literals import (
    ParsedLiterals,
    compute_explained_shares,
    compute_name_similarity,
    find_entity_names,
    learn_name_models,
)
from everalign.literals.name_translation import LEFT_SHARE, RIGHT_SHARE, tokenise_names
from everalign.literals.translation import (
    EM_STEPS,
    TokenisedTexts,
    estimate_probabilities,
    find_cooccurrences,
)

Tokens = list[list[int]]
TOKEN_COUNT = 5
texts = st.lists(st.lists(st.integers(0, TOKEN_COUNT - 1), unique=True, max_size=4), max_size=5)
weights = st.lists(st.sampled_from([0.0, 0.5, 1.0]), min_size=5, max_size=5)

LEFT = ["mana rosso", "mana blu", "lago rosso", "lago blu", "lago", "solo"]
RIGHT = ["red hand", "blue hand", "red lake", "blue lake", "lake", "only"]


def tokenised(tokens: Tokens) -> TokenisedTexts:
    start = np.cumsum([0, *map(len, tokens)], dtype=np.int64)
    flat = np.array([token for text in tokens for token in text], dtype=np.int32)
    return TokenisedTexts(start, flat, np.ones(TOKEN_COUNT, dtype=np.float32))


def estimate_plainly(
    source: Tokens, target: Tokens, pair_weights: list[float], smoothing: float
) -> dict[tuple[int, int], float]:
    """P(target | source) of all tokens that co-occur."""
    texts = list(zip(source, target, pair_weights, strict=True))
    probability = {(s, t): 1.0 for left, right, _ in texts for s in left for t in right}
    for _ in range(EM_STEPS):
        count = dict.fromkeys(probability, 0.0)
        for left, right, weight in texts:
            for t in right if weight else []:
                total = sum(probability[s, t] for s in left)
                for s in left:
                    count[s, t] += weight * probability[s, t] / total if total else 0
        total_of_source = dict.fromkeys(range(TOKEN_COUNT), smoothing)
        for (s, _), value in count.items():
            total_of_source[s] += value
        probability = {(s, t): value / total_of_source[s] for (s, t), value in count.items()}
    return probability


@pytest.mark.slow
@given(texts, texts, weights, st.booleans())
def test_probabilities_are_those_of_ibm_model_1(
    left: Tokens, right: Tokens, pair_weights: list[float], inverse: bool
) -> None:
    count = min(len(left), len(right))
    left, right, pair_weights = left[:count], right[:count], pair_weights[:count]
    rows = np.arange(count)
    found = find_cooccurrences(tokenised(left), tokenised(right), rows, rows)
    probability = estimate_probabilities(
        found, np.array(pair_weights, dtype=np.float32), 0.5, inverse=inverse
    )
    sides = (right, left) if inverse else (left, right)
    entries = (found.target, found.source) if inverse else (found.source, found.target)
    keys = zip(*(tokens.tolist() for tokens in entries), strict=True)
    assert dict(zip(keys, probability.tolist(), strict=True)) == pytest.approx(
        estimate_plainly(*sides, pair_weights, 0.5), abs=1e-5
    )


def link_rows(*rows: tuple[int, int]) -> IntArray:
    return np.array(rows, dtype=np.int32).reshape(-1, 2)


def explained(anchors: IntArray, matches: IntArray, asked: tuple[int, int]) -> tuple[float, float]:
    left, right = tokenise_names(LEFT).texts, tokenise_names(RIGHT).texts
    certain = np.ones(len(matches), dtype=np.float32)
    models = learn_name_models(left, right, anchors, (matches[:, 0], matches[:, 1], certain))
    (row,) = compute_explained_shares(models, left, right, *link_rows(asked).T)
    return float(row[RIGHT_SHARE]), float(row[LEFT_SHARE])


def test_words_that_occur_together_explain_a_new_pair() -> None:
    anchors = link_rows((0, 0), (1, 1), (2, 2))
    right, wrong = (explained(anchors, link_rows(), (3, other)) for other in (3, 0))
    assert min(right) > 2 * max(wrong)


def test_a_word_seen_once_by_hand() -> None:
    """5 and 5: one word each, seen once; the smoothing is half an occurrence."""
    assert explained(link_rows((5, 5)), link_rows(), (5, 5)) == pytest.approx((1 / 1.5, 1 / 1.5))


@pytest.mark.parametrize("entity", [4, 5])
def test_no_pair_is_scored_by_a_model_that_learned_from_it(entity: int) -> None:
    pair = (entity, entity)
    assert explained(link_rows(), link_rows(pair), pair) == (0, 0)


def test_an_entity_without_a_name_is_not_compared() -> None:
    left, right = (find_entity_names(ParsedLiterals(values({0: "Ada"})), 2) for _ in range(2))
    left_entities, right_entities = link_rows((0, 0), (0, 1), (1, 1)).T
    similarity = compute_name_similarity(left, right, left_entities, right_entities)
    assert similarity.tolist() == pytest.approx([1, np.nan, np.nan], nan_ok=True)
    tokens = tokenise_names(left.first_names).texts, tokenise_names(right.first_names).texts
    no_matches = left_entities[:0], right_entities[:0], np.empty(0, np.float32)
    models = learn_name_models(*tokens, link_rows((0, 0)), no_matches)
    shares = compute_explained_shares(models, *tokens, left_entities, right_entities)
    assert np.isnan(shares).tolist() == [[False] * 2, [True] * 2, [True] * 2]
