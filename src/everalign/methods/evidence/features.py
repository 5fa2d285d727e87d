"""Features of the classifier: one declarative list, and the compared candidates they come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import fill_chunks, map_parallel
from everalign.cardinality import Cardinality
from everalign.graph import IntArray
from everalign.literals import (
    compare_word_bags,
    compute_explained_shares,
    compute_name_similarity,
    learn_name_models,
)
from everalign.methods.evidence.adjacency import (
    Adjacency,
    BoolArray,
    FloatArray,
    OffsetArray,
)
from everalign.methods.evidence.candidates import (
    BEST_OTHER,
    COUNT,
    LEFT,
    RANK,
    RIGHT,
    SHARE,
    CandidateTable,
    MatchProbabilities,
    find_best_other,
    rank_competitors,
)
from everalign.methods.evidence.categories import align_categories, compare_categories
from everalign.methods.evidence.neighbourhood import (
    BEST_LITERAL,
    BEST_WEIGHT,
    COMPARABLE,
    CONFLICT,
    JOINT_FREQUENCY,
    LEFT_ELSEWHERE,
    LITERAL_COLUMNS,
    LITERAL_WEIGHT,
    RELATION_OVERLAP,
    RIGHT_ELSEWHERE,
    SHARED,
    SHARED_COUNT,
    SUPPORT,
    compare_literals,
    compare_neighbourhoods,
)
from everalign.methods.evidence.propagation import (
    GraphPair,
    Vectors,
    find_candidates,
    select_matches,
)
from everalign.methods.evidence.relations import MatchIndex, RelationInclusions, align_relations

CHUNK_SIZE = 4096  # rows of one parallel task: their features fit into the second cache

# After LITERAL_COLUMNS, the comparison of literals has what is compared of the texts of two
# entities as a whole: the similarity of the two names, three columns for the words of all
# literals, and the share of the right and of the left name that the other one explains.
TEXT_COLUMNS = (
    "name_similarity",
    "word_cosine",
    "code_overlap",
    "rarest_word",
    "right_explained",
    "left_explained",
)
NAME_SIMILARITY, WORD_COSINE, CODE_OVERLAP, RAREST_WORD, RIGHT_EXPLAINED, LEFT_EXPLAINED = range(
    len(LITERAL_COLUMNS), len(LITERAL_COLUMNS) + len(TEXT_COLUMNS)
)

# Columns of the comparison of literals that an alignment keeps of each candidate: features have
# margins to competitors by them, or they are costly to compute again.
STORED_LITERAL_COLUMNS = {"best_literal": BEST_LITERAL} | {
    name: NAME_SIMILARITY + position for position, name in enumerate(TEXT_COLUMNS)
}

# Rows of a table of candidates.
Rows = NDArray[np.int64]
# Left and right entities whose candidates are wanted; None for all.
WantedEntities = tuple[OffsetArray | None, OffsetArray | None]


@dataclass(frozen=True)
class SideInputs:
    """What the features of some candidates are computed from, seen from one side.

    Attributes:
        comparison: Rows of NEIGHBOUR_COLUMNS.
        degree: Number of edges of the entity, without those to literals.
        competition: Rows of `rank_competitors` by support.
        best_other_probability: Greatest match probability of a competitor in the last round.
        best_other_rarity: Greatest negated joint frequency of a competitor.
    """

    comparison: FloatArray
    degree: OffsetArray
    competition: FloatArray
    best_other_probability: FloatArray
    best_other_rarity: FloatArray

    @cached_property
    def log_degree(self) -> FloatArray:
        """Logarithm of the degree; 0 for an entity without edges."""
        return np.log(np.maximum(1, self.degree)).astype(np.float32)

    @cached_property
    def shared_ratio(self) -> FloatArray:
        """Shared facts per comparable fact."""
        comparable = np.maximum(self.comparison[:, COMPARABLE], np.float32(1e-6))
        return np.asarray(self.comparison[:, SHARED] / comparable, dtype=np.float32)

    @cached_property
    def support_margin(self) -> FloatArray:
        """Support less that of the best competitor."""
        return self.comparison[:, SUPPORT] - self.competition[:, BEST_OTHER]


@dataclass(frozen=True)
class PairInputs:
    """The inputs from both sides."""

    left: SideInputs
    right: SideInputs

    @cached_property
    def support_per_degree(self) -> FloatArray:
        """Support over the geometric mean of the degrees."""
        # In double precision: the exponential would magnify the error of single precision.
        log_degrees = (self.left.log_degree + self.right.log_degree).astype(np.float64)
        ratio = self.left.comparison[:, SUPPORT] / np.exp(log_degrees / 2)
        return np.asarray(ratio, dtype=np.float32)


@dataclass(frozen=True)
class MarginInputs:
    """Values of all candidates, and each score less that of the best competitor.

    Attributes:
        values: Columns of numbers.
        margins: For each score the margins on the left and on the right.
    """

    values: FloatArray
    margins: list[tuple[FloatArray, FloatArray]]

    @staticmethod
    def from_scores(
        values: FloatArray,
        scores: list[FloatArray],
        table: CandidateTable,
        entities: WantedEntities,
    ) -> MarginInputs:
        """Compute the margins of some scores.

        Args:
            values: Columns of numbers, passed on as they are.
            scores: Scores of all candidates; one that is missing (NaN) counts 0 for competitors.
            table: The candidates.
            entities: Entities whose candidates are wanted.

        Returns:
            The values, and the margins of each score.
        """
        margins = []
        for score in scores:
            # The margin of a row without a score stays NaN: only its competitors see the 0.
            known = np.nan_to_num(score, nan=0)
            left, right = (
                score - find_best_other(table, known, side, entities[side])
                for side in (LEFT, RIGHT)
            )
            margins.append((left, right))
        return MarginInputs(values, margins)

    def select_rows(self, rows: Rows) -> MarginInputs:
        """Select some candidates.

        Args:
            rows: Rows of the table.

        Returns:
            Their values and margins.
        """
        return MarginInputs(
            self.values[rows], [(left[rows], right[rows]) for left, right in self.margins]
        )


PAIR, SIDE, VECTORS, LITERALS = "pair", "side", "vectors", "literals"
CATEGORIES = "categories"


@dataclass(frozen=True)
class Feature:
    """A number that the classifier sees of a candidate (x, x').

    Attributes:
        name: Name of the column. Features of the group SIDE make two columns, `name_left` and
            `name_right`, of which the documentation states the meaning for x.
        group: PAIR and SIDE features compare neighbours and are always there; CATEGORIES where
            both graphs have classes or shared values, VECTORS where another method gives vectors,
            LITERALS where both graphs have literals.
        meaning: What the documentation says.
        compute: Computes it from the inputs of its group.
        from_probabilities: Whether it shows match probabilities of competitors. A classifier
            whose training pairs were chosen by match probability must not see it.
    """

    name: str
    group: str
    meaning: str
    compute: Callable[[Any], FloatArray]
    from_probabilities: bool = False


# The order is the order of the columns. Trained models depend on it.
FEATURES: tuple[Feature, ...] = (
    Feature("support", PAIR, "support, as above",
        lambda p: p.left.comparison[:, SUPPORT]),
    Feature("best_weight", PAIR, "greatest weight of a piece of evidence",
        lambda p: p.left.comparison[:, BEST_WEIGHT]),
    Feature("shared_count", PAIR,
        "number of shared facts: edges of x whose neighbour is matched, by 0.3 or more, "
        "to a neighbour of x′",
        lambda p: p.left.comparison[:, SHARED_COUNT]),
    Feature("joint_frequency_sum", PAIR, "sum of `joint_frequency` on both sides",
        lambda p: p.left.comparison[:, JOINT_FREQUENCY] + p.right.comparison[:, JOINT_FREQUENCY]),
    Feature("degree_difference", PAIR, "`log_degree` of x less that of x′",
        lambda p: p.left.log_degree - p.right.log_degree),
    Feature("support_per_degree", PAIR, "support over the geometric mean of the degrees",
        lambda p: p.support_per_degree),
    Feature("min_shared_ratio", PAIR, "`shared_ratio`, the lesser of both sides",
        lambda p: np.minimum(p.left.shared_ratio, p.right.shared_ratio)),
    Feature("min_support_margin", PAIR, "`support_margin`, the lesser of both sides",
        lambda p: np.minimum(p.left.support_margin, p.right.support_margin)),

    Feature("shared", SIDE,
        "edges whose neighbour is matched to a neighbour of x′, each by its probability",
        lambda s: s.comparison[:, SHARED]),
    Feature("shared_ratio", SIDE, "`shared` / `comparable`",
        lambda s: s.shared_ratio),
    Feature("comparable", SIDE,
        "edges whose neighbour is matched at all, each by the probability of its best match",
        lambda s: s.comparison[:, COMPARABLE]),
    Feature("relation_overlap", SIDE,
        "mean inclusion of the relations of x in the best one of x′, weighted by idf",
        lambda s: s.comparison[:, RELATION_OVERLAP]),
    Feature("conflict", SIDE,
        "edges whose neighbour is matched, but to no neighbour of x′: sum of probability × "
        "inclusion of the relation in the best one of x′ × functionality",
        lambda s: s.comparison[:, CONFLICT]),
    Feature("joint_frequency", SIDE,
        "logarithm of the number of entities that have all the shared facts (of the eight with "
        "the greatest inverse functionality)",
        lambda s: s.comparison[:, JOINT_FREQUENCY]),
    Feature("log_degree", SIDE, "logarithm of the number of edges",
        lambda s: s.log_degree),
    Feature("support_margin", SIDE, "support less that of the best competitor",
        lambda s: s.support_margin),
    Feature("support_share", SIDE, "share of the support of all candidates of x",
        lambda s: s.competition[:, SHARE]),
    Feature("support_rank", SIDE, "number of candidates of x with more support",
        lambda s: s.competition[:, RANK]),
    Feature("candidate_count", SIDE, "number of candidates of x",
        lambda s: s.competition[:, COUNT]),
    Feature("competitor_probability", SIDE,
        "greatest match probability of a competitor in the round before",
        lambda s: s.best_other_probability, from_probabilities=True),
    Feature("rarity_margin", SIDE,
        "how much rarer the shared facts are than those of any competitor, by `joint_frequency`",
        lambda s: -s.comparison[:, JOINT_FREQUENCY] - s.best_other_rarity),

    Feature("category_overlap_left", CATEGORIES,
        "mean inclusion of the classes and shared values of x in the best one of x′",
        lambda c: c.values[:, 0]),
    Feature("category_overlap_right", CATEGORIES, "the same the other way round",
        lambda c: c.values[:, 1]),
    Feature("category_conflict_left", CATEGORIES,
        "how much the inclusion of a class or shared value of x in the best one of x′ is less "
        "than in the one that it corresponds to best, at most",
        lambda c: c.values[:, 2]),
    Feature("category_conflict_right", CATEGORIES, "the same the other way round",
        lambda c: c.values[:, 3]),

    Feature("vector_similarity", VECTORS, "cosine of the two vectors",
        lambda v: v.values[:, 0]),
    Feature("vector_margin_left", VECTORS, "the same less that of the best other candidate of x",
        lambda v: v.margins[0][LEFT]),
    Feature("vector_margin_right", VECTORS, "the same among the candidates of x′",
        lambda v: v.margins[0][RIGHT]),

    Feature("literal_weight", LITERALS, "support from literals of corresponding attributes",
        lambda n: n.values[:, LITERAL_WEIGHT]),
    Feature("best_literal", LITERALS, "greatest probability of a match between these literals",
        lambda n: n.values[:, BEST_LITERAL]),
    Feature("literal_elsewhere_left", LITERALS,
        "greatest probability of a match of a literal of x with one that x′ does not have",
        lambda n: n.values[:, LEFT_ELSEWHERE]),
    Feature("literal_elsewhere_right", LITERALS, "the same for literals of x′",
        lambda n: n.values[:, RIGHT_ELSEWHERE]),
    Feature("literal_margin_left", LITERALS,
        "`best_literal` less that of the best other candidate of x",
        lambda n: n.margins[0][LEFT]),
    Feature("literal_margin_right", LITERALS, "the same among the candidates of x′",
        lambda n: n.margins[0][RIGHT]),
    Feature("name_similarity", LITERALS,
        "similarity of the two names in Latin script (rapidfuzz), also where the search for "
        "similar literals has not paired them",
        lambda n: n.values[:, NAME_SIMILARITY]),
    Feature("name_margin_left", LITERALS,
        "`name_similarity` less that of the best other candidate of x",
        lambda n: n.margins[1][LEFT]),
    Feature("name_margin_right", LITERALS, "the same among the candidates of x′",
        lambda n: n.margins[1][RIGHT]),
    Feature("word_cosine", LITERALS,
        "cosine of the words of all literals of x and x′, by inverse document frequency",
        lambda n: n.values[:, WORD_COSINE]),
    Feature("word_margin_left", LITERALS,
        "`word_cosine` less that of the best other candidate of x",
        lambda n: n.margins[3][LEFT]),
    Feature("word_margin_right", LITERALS, "the same among the candidates of x′",
        lambda n: n.margins[3][RIGHT]),
    Feature("code_overlap", LITERALS,
        "share of the words with digits in them, such as model numbers, that both have, of those "
        "of the one that has less of them",
        lambda n: n.values[:, CODE_OVERLAP]),
    Feature("rarest_word", LITERALS,
        "inverse document frequency of the rarest word that both have",
        lambda n: n.values[:, RAREST_WORD]),
    Feature("right_name_explained", LITERALS,
        "share of the parts of the right name that the translation model expects from the left "
        "name; rare parts count more",
        lambda n: n.values[:, RIGHT_EXPLAINED]),
    Feature("left_name_explained", LITERALS, "the same the other way round",
        lambda n: n.values[:, LEFT_EXPLAINED]),
    Feature("explained_margin_left", LITERALS,
        "mean of both less that of the best other candidate of x",
        lambda n: n.margins[2][LEFT]),
    Feature("explained_margin_right", LITERALS, "the same among the candidates of x′",
        lambda n: n.margins[2][RIGHT]),
)  # fmt: skip


@cache
def _select_group(group: str) -> list[Feature]:
    return [feature for feature in FEATURES if feature.group == group]


def _name_columns(features: list[Feature]) -> list[str]:
    """The columns of features of one group: of SIDE, all left ones before the right ones."""
    if features and features[0].group == SIDE:
        return [f"{feature.name}_{side}" for side in ("left", "right") for feature in features]
    return [feature.name for feature in features]


GROUP_COLUMNS = {
    group: tuple(_name_columns(_select_group(group)))
    for group in (PAIR, SIDE, CATEGORIES, VECTORS, LITERALS)
}
LITERAL_FEATURES = frozenset(GROUP_COLUMNS[LITERALS])
PROBABILITY_FEATURES = frozenset(
    column
    for group in GROUP_COLUMNS
    for column in _name_columns([f for f in _select_group(group) if f.from_probabilities])
)
# Features that compare a candidate with others of the same entity, without their side.
COMPETITOR_FEATURES = (
    "support_margin",
    "support_share",
    "support_rank",
    "rarity_margin",
    "vector_margin",
    "literal_margin",
    "name_margin",
    "explained_margin",
    "word_margin",
)

# Columns that tell how a candidate does beside its competitors. `candidate_count` and
# `competitor_probability` are about competitors alone.
COMPETITOR_COLUMNS = frozenset(
    f"{name}_{side}"
    for side in ("left", "right")
    for name in (*COMPETITOR_FEATURES, "candidate_count", "competitor_probability")
) | {"min_support_margin"}


def list_competitor_columns(cardinality: Cardinality) -> frozenset[str]:
    """List the columns that compare candidates which do not exclude each other.

    Args:
        cardinality: Says on which sides an entity may have several links.

    Returns:
        Names of columns; none if links are one-to-one.

    Example:
        >>> "name_margin_right" in list_competitor_columns(Cardinality.MANY_TO_ONE)
        True
    """
    sides = zip(("left", "right"), cardinality.unique_sides, strict=True)
    names = {
        f"{name}_{side}" for side, unique in sides if not unique for name in COMPETITOR_FEATURES
    }
    return frozenset(names | {"min_support_margin"} if names else names)


def list_feature_names(graphs: GraphPair) -> tuple[str, ...]:
    """Return the names of the columns that candidates of these graphs have.

    Args:
        graphs: The graphs, with or without vectors and literals.

    Returns:
        The names in the order of the columns.
    """
    groups = [PAIR, SIDE]
    groups += [CATEGORIES] if graphs.categories is not None else []
    groups += [VECTORS] if graphs.vectors is not None else []
    groups += [LITERALS] if graphs.literals is not None else []
    return tuple(name for group in groups for name in GROUP_COLUMNS[group])


@dataclass(frozen=True)
class FeatureInputs:
    """What the features of candidates are computed from: all candidates of some entities.

    Attributes:
        table: The candidates, all competitors of each among them.
        comparison: Rows of NEIGHBOUR_COLUMNS from the left and from the right. Of competitors
            only SUPPORT and JOINT_FREQUENCY are looked at.
        previous: Match probabilities in the round before; 0 for new candidates.
        degrees: Number of edges of the left and of the right entity of each, without literals.
        literals: Rows of LITERAL_COLUMNS and of the comparison of texts, if there are literals.
        vector_similarity: Cosine of the vectors of each, if there are vectors.
        categories: Rows of CATEGORY_COLUMNS, if there are categories.
    """

    table: CandidateTable
    comparison: tuple[FloatArray, FloatArray]
    previous: FloatArray
    degrees: tuple[OffsetArray, OffsetArray]
    literals: FloatArray | None = None
    vector_similarity: FloatArray | None = None
    categories: FloatArray | None = None

    def compute_features(self, rows: Rows | None = None) -> FloatArray:
        """Compute the features of some candidates, or of all.

        Args:
            rows: Rows of the table.

        Returns:
            A row for each, with the columns of `list_feature_names`.
        """
        chosen = np.arange(len(self.previous)) if rows is None else rows
        prepared = self.prepare_features(chosen)
        out = np.empty((len(chosen), prepared.column_count), dtype=np.float32)

        def compute_chunk(first: int, end: int) -> FloatArray:
            return prepared.compute_rows(chosen[first:end])

        fill_chunks(compute_chunk, out, CHUNK_SIZE)
        return out

    def prepare_features(self, rows: Rows | None = None) -> PreparedFeatures:
        """Compare candidates with their competitors.

        Args:
            rows: Rows of the table; all by default.

        Returns:
            What the features of any of them are computed from, one by one.
        """
        entities = self._list_entities(rows)
        if len(self.previous) <= CHUNK_SIZE:
            # Few candidates, such as those of one entity, are done before threads have begun.
            left, right = self._prepare_side(0, entities), self._prepare_side(1, entities)
        else:
            left, right = map_parallel(lambda side: self._prepare_side(side, entities), 2)
        margins: list[tuple[str, MarginInputs]] = []
        if self.categories is not None:
            margins.append((CATEGORIES, MarginInputs(self.categories, [])))
        if self.vector_similarity is not None:
            cosine = self.vector_similarity
            vectors = MarginInputs.from_scores(cosine[:, None], [cosine], self.table, entities)
            margins.append((VECTORS, vectors))
        if self.literals is not None:
            explained_mean = self.literals[:, RIGHT_EXPLAINED:].mean(axis=1)
            best_literal, name_similarity, word_cosine = self.literals[
                :, [BEST_LITERAL, NAME_SIMILARITY, WORD_COSINE]
            ].T
            scores = [best_literal, name_similarity, explained_mean, word_cosine]
            literals = MarginInputs.from_scores(self.literals, scores, self.table, entities)
            margins.append((LITERALS, literals))
        return PreparedFeatures((left, right), margins)

    def _list_entities(self, rows: Rows | None) -> WantedEntities:
        """The entities of some rows: their other candidates are competitors, no others are."""
        if rows is None or len(rows) == len(self.previous):
            return None, None
        entities = []
        for ids, size in zip((self.table.left, self.table.right), self.table.sizes, strict=True):
            is_wanted = np.zeros(size, dtype=np.bool_)
            is_wanted[ids[rows]] = True
            entities.append(np.flatnonzero(is_wanted))
        return entities[0], entities[1]

    def _prepare_side(self, side: int, entities: WantedEntities) -> tuple[NDArray[Any], ...]:
        """The fields of SideInputs for the rows of some entities."""
        comparison = self.comparison[side]
        rarity = -np.ascontiguousarray(comparison[:, JOINT_FREQUENCY])
        support = np.ascontiguousarray(comparison[:, SUPPORT])
        return (
            comparison,
            self.degrees[side],
            rank_competitors(self.table, support, side, entities[side]),
            find_best_other(self.table, self.previous, side, entities[side]),
            find_best_other(self.table, rarity, side, entities[side]),
        )


@dataclass(frozen=True)
class PreparedFeatures:
    """What the features of candidates are computed from, one candidate by the other.

    Attributes:
        sides: For the left and the right side the fields of SideInputs, for all candidates.
        margins: The groups of other features that there are, with their inputs.
    """

    sides: tuple[tuple[NDArray[Any], ...], tuple[NDArray[Any], ...]]
    margins: list[tuple[str, MarginInputs]]

    @property
    def column_count(self) -> int:
        """Number of features."""
        groups = [PAIR, SIDE, *(group for group, _ in self.margins)]
        return sum(len(GROUP_COLUMNS[group]) for group in groups)

    def compute_rows(self, rows: Rows) -> FloatArray:
        """Compute the features of some candidates.

        Args:
            rows: Rows of the table.

        Returns:
            A row for each, with the columns of `list_feature_names`.
        """
        out = np.empty((len(rows), self.column_count), dtype=np.float32)
        left, right = (SideInputs(*(values[rows] for values in side)) for side in self.sides)
        inputs: list[tuple[str, Any]] = [(PAIR, PairInputs(left, right)), (SIDE, left)]
        inputs.append((SIDE, right))
        inputs += [(group, margins.select_rows(rows)) for group, margins in self.margins]
        column = 0
        for group, values in inputs:
            for feature in _select_group(group):
                out[:, column] = feature.compute(values)
                column += 1
        return out


@dataclass(frozen=True)
class ComparedCandidates:
    """All candidates with their comparisons under the current matches.

    Attributes:
        graphs: The graphs.
        table: The candidates.
        comparison: Rows of NEIGHBOUR_COLUMNS from the left and from the right.
        previous: Match probabilities in the round before; 0 for new candidates.
        refreshed: Rows that were compared in this round.
        literals: Rows of LITERAL_COLUMNS and of the comparison of texts, if there are literals.
    """

    graphs: GraphPair
    table: CandidateTable
    comparison: tuple[FloatArray, FloatArray]
    previous: FloatArray
    refreshed: Rows
    literals: FloatArray | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of `compute_features`."""
        return list_feature_names(self.graphs)

    def compute_features(self, rows: Rows | None = None) -> FloatArray:
        """Compute the features of some candidates, or of all.

        Args:
            rows: Rows of the table.

        Returns:
            A row for each, with the columns `feature_names`.
        """
        return self._list_inputs().compute_features(rows)

    def prepare_features(self, rows: Rows | None = None) -> PreparedFeatures:
        """Compare candidates with their competitors.

        Args:
            rows: Rows of the table; all by default.

        Returns:
            What the features of any of them are computed from, one by one.
        """
        return self._list_inputs().prepare_features(rows)

    def _list_inputs(self) -> FeatureInputs:
        table, vectors = self.table, self.graphs.vectors
        graphs = self.graphs.left, self.graphs.right
        categories = self.graphs.categories
        return FeatureInputs(
            table,
            self.comparison,
            self.previous,
            (
                count_edges(self.graphs.left, table.left),
                count_edges(self.graphs.right, table.right),
            ),
            self.literals,
            None if vectors is None else compare_vectors(vectors, table.left, table.right),
            None
            if categories is None
            else compare_categories(graphs, categories, table.left, table.right),
        )

    def drop_rows(self, dropped: BoolArray) -> ComparedCandidates:
        """Leave out candidates as if they did not exist.

        Args:
            dropped: Which candidates to leave out.

        Returns:
            The other candidates; the features of their competition change.
        """
        keep = ~dropped
        return replace(
            self,
            table=self.table.select_rows(keep),
            comparison=(self.comparison[0][keep], self.comparison[1][keep]),
            previous=self.previous[keep],
            # The competition has changed, so that no earlier score is valid.
            refreshed=np.arange(np.count_nonzero(keep)),
            literals=None if self.literals is None else self.literals[keep],
        )


def list_literal_scores(literals: FloatArray) -> dict[str, FloatArray]:
    """Take the columns that an alignment keeps.

    Args:
        literals: Rows of LITERAL_COLUMNS and of the comparison of texts.

    Returns:
        The scores by the names that the candidates of an alignment keep them under.
    """
    return {name: literals[:, column].copy() for name, column in STORED_LITERAL_COLUMNS.items()}


def count_edges(adjacency: Adjacency, entities: NDArray[np.integer]) -> OffsetArray:
    """Count the edges of entities, without those to literals.

    Args:
        adjacency: The graph.
        entities: The entities.

    Returns:
        A number for each.
    """
    count: OffsetArray = adjacency.literal_start[entities] - adjacency.start[entities]
    return count


def compare_vectors(
    vectors: Vectors, left: NDArray[np.integer], right: NDArray[np.integer]
) -> FloatArray:
    """Compute the cosine of the vectors of pairs.

    Args:
        vectors: Unit vectors of the left and the right entities.
        left: Left entities.
        right: Right entities, as many.

    Returns:
        A number for each pair.
    """
    cosine = np.empty(len(left), dtype=np.float32)

    def multiply_chunk(first: int, end: int) -> FloatArray:
        rows = vectors[0][left[first:end]], vectors[1][right[first:end]]
        products: FloatArray = np.einsum("rd,rd->r", *rows)
        return products

    fill_chunks(multiply_chunk, cosine, CHUNK_SIZE)
    return cosine


def compare_candidates(graphs: GraphPair, probabilities: MatchProbabilities) -> ComparedCandidates:
    """Find the candidates of all unlinked entities and compare them.

    Args:
        graphs: The graphs.
        probabilities: Current match probabilities.

    Returns:
        The compared candidates.
    """
    matches = select_matches(graphs, probabilities)
    relations = align_relations(graphs.left, graphs.right, matches, graphs.config)
    table = find_candidates(graphs, matches, relations, *graphs.unlinked)
    return ComparedCandidates(
        graphs,
        table,
        compare_neighbourhoods(graphs, matches, relations, table.left, table.right),
        probabilities.look_up(table),
        np.arange(len(table.left)),
        compare_all_literals(graphs, matches, relations, table),
    )


def compare_all_literals(
    graphs: GraphPair,
    matches: MatchIndex,
    relations: RelationInclusions,
    table: CandidateTable,
    old: ComparedCandidates | None = None,
) -> FloatArray | None:
    """Compare the literals and the texts of all candidates.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        table: The candidates.
        old: Candidates compared before, from which comparisons of texts are taken.

    Returns:
        Rows of LITERAL_COLUMNS and of the comparison of texts; None if there are no literals.
    """
    if graphs.literals is None:
        return None
    literals = compare_literals(graphs, matches, relations, table.left, table.right)
    return np.concatenate([literals, _compare_texts(graphs, table, old)], axis=1)


def _compare_texts(
    graphs: GraphPair, table: CandidateTable, old: ComparedCandidates | None
) -> FloatArray:
    assert graphs.literals is not None
    out = np.empty((len(table.left), len(TEXT_COLUMNS)), dtype=np.float32)
    old_rows = np.full(len(out), -1)
    # The result depends on nothing but literals and translation models: while they stay the same,
    # it stays the same.
    if (
        old is not None
        and old.literals is not None
        and old.graphs.literals is graphs.literals
        and old.graphs.translations is graphs.translations
    ):
        old_rows = old.table.find_rows(table.left, table.right)
        known = old_rows >= 0
        out[known] = old.literals[old_rows[known], NAME_SIMILARITY:]
    new = np.flatnonzero(old_rows < 0)
    left, right = table.left[new], table.right[new]
    out[new, 0] = compute_name_similarity(*graphs.literals.names, left, right)
    out[new, 1:-2] = compare_word_bags(*graphs.literals.word_bags, left, right)
    out[new, -2:] = _explain_names(graphs, left, right)
    return out


def _explain_names(graphs: GraphPair, left: IntArray, right: IntArray) -> FloatArray:
    assert graphs.literals is not None
    if graphs.translations is None:
        return np.full((len(left), 2), np.nan, dtype=np.float32)
    return compute_explained_shares(graphs.translations, *graphs.literals.name_tokens, left, right)


def learn_correspondences(graphs: GraphPair, probabilities: MatchProbabilities) -> GraphPair:
    """Learn from current matches how names translate and which categories correspond.

    Args:
        graphs: The graphs.
        probabilities: Current match probabilities.

    Returns:
        The graphs with what was learned.
    """
    keys, config = graphs.category_keys, graphs.config
    if len(keys[LEFT]):
        likely = probabilities.select_at_least(config.min_category_probability)
        sides = graphs.left, graphs.right
        categories = align_categories(sides, keys, likely, graphs.likely_anchors, config)
        graphs = replace(graphs, categories=categories)
    return train_translations(graphs, probabilities)


def train_translations(graphs: GraphPair, probabilities: MatchProbabilities) -> GraphPair:
    """Train the translation models of names on anchors and likely matches.

    Args:
        graphs: The graphs.
        probabilities: Current match probabilities.

    Returns:
        The graphs with new translation models; unchanged if there are no literals.
    """
    if graphs.literals is None:
        return graphs
    likely = probabilities.select_at_least(graphs.config.min_name_training_probability)
    left, right = likely.table.left, likely.table.right
    # Anchors are given apart, with weight 1; what was removed or rejected must teach nothing.
    keep = graphs.mark_admissible(left, right)
    pairs = left[keep], right[keep], likely.probability[keep]
    models = learn_name_models(*graphs.literals.name_tokens, graphs.likely_anchors, pairs)
    return replace(graphs, translations=models)


def replace_translations(compared: ComparedCandidates, graphs: GraphPair) -> ComparedCandidates:
    """Compare the names of all candidates with other translation models.

    Args:
        compared: The candidates.
        graphs: The same graphs with other translation models and correspondences.

    Returns:
        The candidates with the new comparison.
    """
    if compared.literals is None:
        return replace(compared, graphs=graphs)
    literals = compared.literals.copy()
    literals[:, RIGHT_EXPLAINED:] = _explain_names(
        graphs, compared.table.left, compared.table.right
    )
    return replace(compared, graphs=graphs, literals=literals)
