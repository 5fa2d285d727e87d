"""Names alone, compared by Levenshtein distance, and name vectors for ContEA.

The ContEA paper compares itself with names translated by Google Translate (its Table 6). Here
names are translated by a file or transliterated, and only those are compared that the n-gram
index finds nearest. A pair is linked when either name is the only best of the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._progress import Progress
from everalign.graph import IntArray
from everalign.literals import (
    NO_KNOWN_PAIRS,
    LiteralMatches,
    NamedEntities,
    ParsedLiterals,
    build_ngram_rows,
    compute_name_vectors,
    find_entity_names,
    missing_package_note,
    read_translations,
    search_similar_texts,
)
from everalign.literals.matches import FloatArray, expand_duplicates
from everalign.literals.vectors import check_same_dimension
from everalign.matching import CandidatePairs, mark_listed_pairs
from everalign.matching.csls import normalise_rows
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.names import NameSettings

MAX_DUPLICATES = 2  # entities of one name: two are enough to know that none of them is chosen
NGRAM_WEIGHT = np.float32(1e-3)  # of the n-gram similarity beside the distance: it breaks ties

# A randomised singular value decomposition: more directions than wanted, and a few power
# iterations, make the wanted ones accurate.
EXTRA_DIRECTIONS = 20
POWER_ITERATIONS = 4


class EntityChoices(NamedTuple):
    """Pairs of entities with the similarity of their names, and who chooses whom.

    Attributes:
        pairs: The pairs; the probability is the similarity.
        by_left: Whether the right entity is the only best of the left one.
        by_right: Whether the left entity is the only best of the right one.
    """

    pairs: LiteralMatches
    by_left: NDArray[np.bool_]
    by_right: NDArray[np.bool_]

    @staticmethod
    def empty() -> EntityChoices:
        """Build choices without a pair.

        Returns:
            Empty arrays.
        """
        none = np.zeros(0, dtype=np.bool_)
        return EntityChoices(LiteralMatches.empty(), none, none)


class NameMatching:
    """Links between entities whose names are the most similar of each other.

    It learns nothing and has no state.
    """

    def __init__(self, settings: NameSettings) -> None:
        self.settings = settings

    def fit(self, task: AlignmentTask, progress: Progress) -> None:
        """Do nothing: there is nothing to learn.

        Args:
            task: Not used.
            progress: Not used.
        """

    def update(self, task: AlignmentTask, progress: Progress) -> None:
        """Do nothing: there is nothing to learn.

        Args:
            task: Not used.
            progress: Not used.
        """

    def candidates(self, task: AlignmentTask, progress: Progress) -> CandidatePairs:
        """Find the pairs of entities that choose each other by their names.

        Args:
            task: The graphs and their attribute triples.
            progress: Called at each step.

        Returns:
            The pairs with the similarity of their names.
        """
        pairs, by_left, by_right = choose_by_names(task, self.settings, progress)
        mutual = by_left & by_right
        return CandidatePairs.from_columns(
            pairs.left[mutual],
            pairs.right[mutual],
            pairs.probability[mutual],
            notes=list_name_notes(task),
        )

    def save(self) -> StateArrays:
        """Give the state, of which there is none.

        Returns:
            An empty array, since a state must have one.
        """
        return {"nothing": np.zeros(0)}

    def load(self, arrays: StateArrays) -> None:
        """Do nothing: there is no state.

        Args:
            arrays: Not used.
        """


def list_name_notes(task: AlignmentTask) -> tuple[str, ...]:
    """List notes for people about packages that would improve the comparison of names.

    Args:
        task: The attribute triples of both graphs.

    Returns:
        At most one note.
    """
    note = missing_package_note([*task.left_attributes.literals, *task.right_attributes.literals])
    return (note,) if note else ()


def select_named_entities(
    task: AlignmentTask, left_entities: IntArray, right_entities: IntArray
) -> tuple[NamedEntities, NamedEntities]:
    """Find the names of some entities.

    Args:
        task: The graphs and their attribute triples.
        left_entities: The left entities, sorted.
        right_entities: The right entities, sorted.

    Returns:
        Those on the left and on the right that have a name.
    """
    left = find_entity_names(ParsedLiterals(task.left_attributes), task.left.entity_count)
    right = find_entity_names(ParsedLiterals(task.right_attributes), task.right.entity_count)
    return left.select(left_entities), right.select(right_entities)


def choose_by_names(
    task: AlignmentTask, settings: NameSettings, progress: Progress
) -> EntityChoices:
    """Find whom each entity without a link chooses by its name.

    Args:
        task: The graphs, trusted links and attribute triples.
        settings: Translations and thresholds.
        progress: Called at each step.

    Returns:
        The compared pairs and the choices. Where several names are equally similar, none of
        them is chosen.
    """
    left, right = select_named_entities(task, *task.unlinked_entities())
    if settings.translations:
        translations = read_translations(settings.translations)
        left = left._replace(texts=left.texts.apply_translations(translations))
    progress("comparing names", 0, 1)
    if not len(left.entity) or not len(right.entity):
        return EntityChoices.empty()
    found = search_similar_texts(left.texts, right.texts, settings.compared_names, NO_KNOWN_PAIRS)
    # Texts are compared once, however many entities bear them; members are expanded afterwards.
    similarity = _compare_names(left.texts.latin, right.texts.latin, found.left, found.right)
    similarity += NGRAM_WEIGHT * found.direct
    text_pairs = LiteralMatches(found.left, found.right, similarity)
    members = expand_duplicates(text_pairs, left.name, right.name, MAX_DUPLICATES)
    pairs = LiteralMatches(
        left.entity[members.left], right.entity[members.right], members.probability
    )
    similar = pairs.probability >= settings.min_similarity
    if len(task.rejected):
        # Not compared at all, so that the runner-up can be the only best.
        keep = ~mark_listed_pairs(pairs.left, pairs.right, task.rejected)
        pairs = LiteralMatches(pairs.left[keep], pairs.right[keep], pairs.probability[keep])
        similar = similar[keep]
    progress("comparing names", 1, 1)
    by_left = _is_only_best(pairs.left, pairs.probability) & similar
    by_right = _is_only_best(pairs.right, pairs.probability) & similar
    return EntityChoices(pairs, by_left, by_right)


def build_entity_vectors(
    task: AlignmentTask, settings: NameSettings, dimension: int
) -> FloatArray:
    """Build a vector for the name of each entity of both graphs.

    Args:
        task: The graphs and their attribute triples.
        settings: Files of word vectors; without them the vectors come from n-grams.
        dimension: The number of dimensions, to which vectors are reduced.

    Returns:
        A row of length 1 per left entity, then per right entity; zeros without a name.

    Raises:
        InputError: A file of word vectors is missing or broken, or the two do not fit.
    """
    left_count, right_count = task.left.entity_count, task.right.entity_count
    left, right = select_named_entities(
        task, *(np.arange(count, dtype=np.int32) for count in (left_count, right_count))
    )
    vectors = np.zeros((left_count + right_count, dimension), dtype=np.float32)
    if not len(left.entity) or not len(right.entity):
        return vectors
    rows = (
        _build_word_rows(left, right, settings)
        if settings.left_vectors
        else _build_ngram_rows(left, right)
    )
    reduced = _reduce_dimensions(rows, dimension)
    vectors[left.entity] = reduced[left.name]
    # Right names follow the left ones in the matrix: both must be reduced along the same axes.
    vectors[left_count + right.entity] = reduced[len(left.texts) + right.name]
    return vectors


def _compare_names(
    left: list[str], right: list[str], left_rows: IntArray, right_rows: IntArray
) -> FloatArray:
    from rapidfuzz.distance import Levenshtein
    from rapidfuzz.process import cpdist

    similarity: FloatArray = cpdist(
        [left[row] for row in left_rows.tolist()],
        [right[row] for row in right_rows.tolist()],
        scorer=Levenshtein.normalized_similarity,
        dtype=np.float32,
    )
    return similarity


def _is_only_best(row: IntArray, score: FloatArray) -> NDArray[np.bool_]:
    """Which entries have the highest score of their row, and no other has it too."""
    # Where several are equally similar none is chosen: taking the first would make links depend
    # on the order of entities.
    best = np.full(int(row.max(initial=-1)) + 1, -np.inf, dtype=np.float32)
    np.maximum.at(best, row, score)
    is_best = score == best[row]
    best_count = np.bincount(row[is_best], minlength=len(best))
    only_best: NDArray[np.bool_] = is_best & (best_count[row] == 1)
    return only_best


def _build_word_rows(
    left: NamedEntities, right: NamedEntities, settings: NameSettings
) -> FloatArray:
    left_rows = compute_name_vectors(left.texts.normalised, settings.left_vectors)
    right_rows = compute_name_vectors(right.texts.normalised, settings.right_vectors)
    check_same_dimension(left_rows, right_rows)
    return np.concatenate([left_rows, right_rows])


def _build_ngram_rows(left: NamedEntities, right: NamedEntities) -> Any:
    from scipy.sparse import csr_array, vstack

    *sides, columns = build_ngram_rows(left.texts, right.texts)
    return vstack(
        [
            csr_array((side.weight, side.column, side.start), shape=(side.row_count, columns))
            for side in sides
        ]
    )


def _reduce_dimensions(matrix: Any, dimension: int) -> FloatArray:
    """The rows along the strongest directions of a matrix, scaled to length 1."""
    wanted = min(dimension + EXTRA_DIRECTIONS, *matrix.shape)
    # A fixed seed: the same names have the same vectors, whatever the seed of the method.
    basis = np.random.default_rng(0).normal(size=(matrix.shape[1], wanted))
    for _ in range(POWER_ITERATIONS):
        # Made orthogonal at each step, or all columns would end in the strongest direction.
        basis, _ = np.linalg.qr(matrix.T @ (matrix @ basis))
    projected = matrix @ basis
    _, _, directions = np.linalg.svd(projected, full_matrices=False)
    reduced = np.zeros((matrix.shape[0], dimension), dtype=np.float32)
    strongest = (projected @ directions.T)[:, :dimension]
    reduced[:, : strongest.shape[1]] = strongest
    return normalise_rows(reduced)
