"""Literals: names, numbers and dates of two graphs → pairs that say the same."""

from everalign.literals.entity_names import NamedEntities, find_entity_names
from everalign.literals.index import AddedLiterals, LiteralIndex, NewLiterals
from everalign.literals.matches import LiteralMatches, merge_matches
from everalign.literals.matching import (
    CachedMatches,
    LiteralSettings,
    MatchedLiterals,
    match_literals,
)
from everalign.literals.name_translation import (
    EXPLAINED_SHARES,
    compute_explained_shares,
    learn_name_models,
)
from everalign.literals.normalisation import missing_package_note
from everalign.literals.parsing import ParsedLiterals, parse_term
from everalign.literals.similarity import compute_name_similarity
from everalign.literals.text_search import (
    NO_KNOWN_PAIRS,
    build_ngram_rows,
    search_similar_texts,
)
from everalign.literals.translation import TranslationModels, read_translations
from everalign.literals.vectors import compute_name_vectors
from everalign.literals.word_bags import BAG_COLUMNS, compare_word_bags

__all__ = [
    "BAG_COLUMNS",
    "EXPLAINED_SHARES",
    "NO_KNOWN_PAIRS",
    "AddedLiterals",
    "CachedMatches",
    "LiteralIndex",
    "LiteralMatches",
    "LiteralSettings",
    "MatchedLiterals",
    "NamedEntities",
    "NewLiterals",
    "ParsedLiterals",
    "TranslationModels",
    "build_ngram_rows",
    "compare_word_bags",
    "compute_explained_shares",
    "compute_name_similarity",
    "compute_name_vectors",
    "find_entity_names",
    "learn_name_models",
    "match_literals",
    "merge_matches",
    "missing_package_note",
    "parse_term",
    "read_translations",
    "search_similar_texts",
]
