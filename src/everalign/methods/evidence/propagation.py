"""Propagation: matched neighbours are evidence for a pair of entities.

The support of a pair is the sum of the weights of its evidence (support.py), and
1 − exp(−support) is the probability that PARIS gives the pair.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._parallel import map_parallel
from everalign._progress import Progress
from everalign._score_noise import add_score_noise
from everalign.cardinality import Cardinality
from everalign.graph import Graph, IntArray
from everalign.literals import MatchedLiterals, TranslationModels
from everalign.matching import NO_PAIRS, mark_listed_pairs
from everalign.methods.base import NO_ENTITIES
from everalign.methods.evidence.adjacency import (
    Adjacency,
    BoolArray,
    FloatArray,
    GraphCapacity,
    OffsetArray,
    build_with_sharing,
)
from everalign.methods.evidence.candidates import (
    CandidateTable,
    MatchProbabilities,
    share_out,
)
from everalign.methods.evidence.categories import CategoryAlignment, find_category_keys
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.link_doubts import NO_DOUBTS, LinkDoubts
from everalign.methods.evidence.relations import (
    MatchIndex,
    RelationInclusions,
    align_relations,
    index_matches,
)
from everalign.methods.evidence.support import (
    Support,
    drop_weak,
    search_both_sides,
    search_candidates,
)

NO_MATCH = -1
# Share of the unlinked entities of either side from which on one pass searches for both sides.
MIN_BOTH_SIDES_SHARE = 0.5

Vectors = tuple[FloatArray, FloatArray]


@dataclass(frozen=True)
class GraphPair:
    """Two graphs and the links between them that are taken for certain.

    Attributes:
        left: Left graph.
        right: Right graph.
        anchors: Rows of (left, right): links with match probability 1, unless they are doubted.
        config: Settings and constants of the method.
        vectors: Unit vectors of the left and the right entities from another method, if any.
        literals: Literals of both graphs and their matches, if both have any.
        removed: Ids of entities that no longer exist, left and right.
        translations: Translation models of names, once there are matches to train them.
        self_trained: Whether training pairs are chosen by match probability. Then the classifier
            must not see match probabilities.
        rejected: Rows of (left, right) that are no candidates.
        schema_entities: Left and right entities that are classes or properties.
        categories: Which classes and shared values correspond, once there are matches to tell.
        sharing: For each left and right edge the first edge of those that lead to the entities
            with the same fact (`build_with_sharing`). Empty where few edges are looked at: they
            are then found by search.
        doubts: Trusted links that count by how probably they are right.
    """

    left: Adjacency
    right: Adjacency
    anchors: IntArray
    config: EvidenceParameters
    vectors: Vectors | None = None
    literals: MatchedLiterals | None = None
    removed: tuple[IntArray, IntArray] = (NO_ENTITIES, NO_ENTITIES)
    translations: TranslationModels | None = None
    self_trained: bool = False
    rejected: IntArray = field(default_factory=lambda: NO_PAIRS)
    schema_entities: tuple[IntArray, IntArray] = (NO_ENTITIES, NO_ENTITIES)
    categories: CategoryAlignment | None = None
    sharing: tuple[IntArray, IntArray] = (NO_ENTITIES, NO_ENTITIES)
    doubts: LinkDoubts = NO_DOUBTS

    @staticmethod
    def from_graphs(
        left: Graph,
        right: Graph,
        anchors: IntArray,
        config: EvidenceParameters,
        literals: MatchedLiterals | None = None,
        capacities: tuple[GraphCapacity | None, GraphCapacity | None] = (None, None),
    ) -> GraphPair:
        """Build the adjacency lists of both graphs and of their literals.

        Args:
            left: Left graph.
            right: Right graph.
            anchors: Rows of (left, right): links with match probability 1.
            config: Settings and constants.
            literals: Literals of both graphs and their matches, if both have any.
            capacities: Left and right entities and relations to make room for.

        Returns:
            The graphs, with nothing removed or rejected.
        """
        graphs = left, right
        attributes = literals.attribute_triples if literals else (None, None)
        (left_adjacency, left_sharing), (right_adjacency, right_sharing) = map_parallel(
            lambda side: build_with_sharing(
                graphs[side], config, attributes[side], capacities[side]
            ),
            2,
        )
        return GraphPair(
            left_adjacency,
            right_adjacency,
            anchors,
            config,
            literals=literals,
            sharing=(left_sharing, right_sharing),
        )

    def with_facts(self, left: Graph, right: Graph) -> GraphPair:
        """Build the adjacency lists of other facts of the same entities.

        Args:
            left: Left graph.
            right: Right graph.

        Returns:
            The graphs with these facts; literals and all else stay.
        """
        capacities = GraphCapacity.from_graph(left), GraphCapacity.from_graph(right)
        built = GraphPair.from_graphs(
            left, right, self.anchors, self.config, self.literals, capacities
        )
        return replace(self, left=built.left, right=built.right, sharing=built.sharing)

    @property
    def sizes(self) -> tuple[int, int]:
        """Number of left and right entities."""
        return self.left.entity_count, self.right.entity_count

    @property
    def attribute_offsets(self) -> tuple[int, int]:
        """The numbers of the first left and right attribute among the relations."""
        return self.left.attribute_offset, self.right.attribute_offset

    @cached_property
    def category_keys(self) -> tuple[OffsetArray, OffsetArray]:
        """The categories of both graphs; none where either has none."""
        left, right = (
            find_category_keys(graph, schema, self.config.min_category_size)
            for graph, schema in zip((self.left, self.right), self.schema_entities, strict=True)
        )
        return (left, right) if len(left) and len(right) else (left[:0], right[:0])

    @cached_property
    def unlinked(self) -> tuple[BoolArray, BoolArray]:
        """Which left and right entities exist and have no anchor, or may have more links."""
        return self._mark_existing(self.config.cardinality)

    @cached_property
    def unanchored(self) -> tuple[BoolArray, BoolArray]:
        """Which left and right entities exist and have no anchor."""
        return self._mark_existing(Cardinality.ONE_TO_ONE)

    def _mark_existing(self, cardinality: Cardinality) -> tuple[BoolArray, BoolArray]:
        """Which entities exist and do not have all the links that they may have."""
        masks = [np.ones(size, dtype=np.bool_) for size in self.sizes]
        for side, is_unique in enumerate(cardinality.unique_sides):
            masks[side][self.anchors[:, side] if is_unique else []] = False
            masks[side][self.removed[side]] = False
        return masks[0], masks[1]

    @property
    def likely_anchors(self) -> IntArray:
        """Rows of (left, right): the anchors that are more likely right than wrong."""
        likely = self.doubts.weigh(self.anchors) > self.config.max_wrong_probability
        return self.anchors[likely]

    @property
    def barred(self) -> IntArray:
        """Rows of (left, right) that are no candidates although their entities may be."""
        if any(self.config.cardinality.unique_sides):
            return self.rejected
        # Their entities may have more links, but these are certain already.
        return np.concatenate([self.rejected, self.anchors])

    @cached_property
    def searchable(self) -> tuple[BoolArray, BoolArray]:
        """Which left and right nodes can be candidates: unlinked entities, but no literals."""
        left, right = (
            np.append(mask, np.zeros(side.node_count - side.entity_count, dtype=np.bool_))
            for mask, side in zip(self.unlinked, (self.left, self.right), strict=True)
        )
        return left, right

    @cached_property
    def rejected_index(self) -> MatchIndex:
        """The barred pairs, indexed by left and by right nodes."""
        left, right = self.barred.T
        node_counts = self.left.node_count, self.right.node_count
        return index_matches(left, right, np.ones(len(left)), node_counts)

    def mark_admissible(self, left: IntArray, right: IntArray) -> BoolArray:
        """Mark the pairs that can be candidates.

        Args:
            left: Left entities.
            right: Right entities, as many.

        Returns:
            A mask of the pairs whose entities are unlinked and that are not barred.
        """
        admissible: BoolArray = self.unlinked[0][left] & self.unlinked[1][right]
        barred = self.barred
        if len(barred):
            admissible &= ~mark_listed_pairs(left, right, barred)
        return admissible

    def build_candidates(self, left: IntArray, right: IntArray) -> CandidateTable:
        """Build the table of the pairs that can be candidates.

        Args:
            left: Left entities, in any order.
            right: Right entities, as many.

        Returns:
            The admissible pairs, each once.
        """
        keep = self.mark_admissible(left, right)
        return CandidateTable.from_pairs(left[keep], right[keep], self.sizes)


def select_matches(graphs: GraphPair, probabilities: MatchProbabilities) -> MatchIndex:
    """Select the matches that are evidence for their neighbours.

    Args:
        graphs: The graphs with their anchors and literals.
        probabilities: Match probabilities of pairs of entities.

    Returns:
        Anchors with probability 1, or less if they are doubted, matches of literals, and pairs of
        unlinked entities with at least `min_match_probability`. The probabilities of one entity
        sum to 1 at most, if it has one counterpart at most.
    """
    likely = probabilities.select_at_least(graphs.config.min_match_probability)
    keep = graphs.mark_admissible(likely.table.left, likely.table.right)
    left, right = likely.table.left[keep], likely.table.right[keep]
    probability = likely.probability[keep]
    totals = [
        np.bincount(entity, probability, minlength=size)[entity]
        for entity, size in zip((left, right), graphs.sizes, strict=True)
    ]
    shared = add_score_noise(share_out(probability, totals, graphs.config.cardinality))
    rows = [(*graphs.anchors.T, graphs.doubts.weigh(graphs.anchors)), (left, right, shared)]
    if graphs.literals:
        rows.append(graphs.literals.list_node_pairs())
    left, right, shared = (np.concatenate(column) for column in zip(*rows, strict=True))
    node_counts = graphs.left.node_count, graphs.right.node_count
    return index_matches(left, right, shared, node_counts)


def find_candidates(
    graphs: GraphPair,
    matches: MatchIndex,
    relations: RelationInclusions,
    left_wanted: BoolArray,
    right_wanted: BoolArray,
) -> CandidateTable:
    """Find the counterparts with most support for each wanted entity.

    Args:
        graphs: The graphs.
        matches: Current matches.
        relations: Their relation alignment.
        left_wanted: Left entities to search candidates for.
        right_wanted: Right entities to search candidates for.

    Returns:
        The pairs found from either side: `max_candidates` for each entity at most, without those
        that have far less support than the best one of the entity.
    """
    # From both sides: a pair can be among the best of one entity and not of the other.
    config = graphs.config
    from_left, from_right = (
        drop_weak(found, config.min_support_share)
        for found in search_both(
            graphs, matches, relations, left_wanted, right_wanted, config.max_candidates
        )
    )
    return graphs.build_candidates(
        np.concatenate([from_left[0], from_right[1]]),
        np.concatenate([from_left[1], from_right[0]]),
    )


def search_both(
    graphs: GraphPair,
    matches: MatchIndex,
    relations: RelationInclusions,
    left_wanted: BoolArray,
    right_wanted: BoolArray,
    max_candidates: int,
) -> tuple[Support, Support]:
    """Search the best supported counterparts of wanted entities of both sides.

    Args:
        graphs: The graphs; only their unlinked entities are found.
        matches: Current matches.
        relations: Their relation alignment.
        left_wanted: Left entities to search for.
        right_wanted: Right entities to search for.
        max_candidates: Number of counterparts for each.

    Returns:
        Entity, counterpart and support of each pair, from the left and from the right.
    """
    left, right, min_weight = graphs.left, graphs.right, graphs.config.min_evidence_weight
    wanted, rejected = (left_wanted, right_wanted), graphs.rejected_index
    if all(
        np.count_nonzero(side) >= MIN_BOTH_SIDES_SHARE * np.count_nonzero(unlinked)
        for side, unlinked in zip(wanted, graphs.unlinked, strict=True)
    ):
        return search_both_sides(
            left, right, matches.left, relations.left, wanted, graphs.searchable, rejected.left,
            max_candidates, min_weight, graphs.sharing[0],
        )  # fmt: skip
    left_ids, right_ids = (np.flatnonzero(side).astype(np.int32) for side in wanted)
    left_mask, right_mask = graphs.searchable
    return (
        search_candidates(
            left, right, matches.left, relations.left, left_ids, right_mask, rejected.left,
            max_candidates, min_weight, graphs.sharing[0],
        ),
        search_candidates(
            right, left, matches.right, relations.right, right_ids, left_mask, rejected.right,
            max_candidates, min_weight, graphs.sharing[1],
        ),
    )  # fmt: skip


def propagate(
    graphs: GraphPair, progress: Progress, cardinality: Cardinality | None = None
) -> MatchProbabilities:
    """Propagate match probabilities without the classifier, for as long as they grow.

    Args:
        graphs: The graphs.
        progress: Called after each round.
        cardinality: Which pairs can be matches together; None for that of the graphs.

    Returns:
        The match probabilities of the last round.
    """
    probabilities = MatchProbabilities.empty(graphs.sizes)
    rounds = graphs.config.max_propagation_rounds
    for number in range(rounds):
        progress("propagating", number, rounds)
        before = probabilities
        probabilities = _propagate_once(
            graphs, probabilities, cardinality or graphs.config.cardinality
        )
        total, growth = before.probability.sum(), graphs.config.min_propagation_growth
        if probabilities.probability.sum() <= growth * total:
            break
    return probabilities


def _propagate_once(
    graphs: GraphPair, probabilities: MatchProbabilities, cardinality: Cardinality
) -> MatchProbabilities:
    """Compute the match probability of the pairs that are each other's best candidate.

    With support s, and a and b for the second best support of the left and of the right entity,
    it is (1 − exp(−s)) · s² / (s² + a² + b²). Other cardinalities: see `_match_from_side`.
    """
    matches = select_matches(graphs, probabilities)
    relations = align_relations(graphs.left, graphs.right, matches, graphs.config)
    # The best one, and the second best as the competitor.
    from_left, from_right = search_both(
        graphs, matches, relations, *graphs.unlinked, max_candidates=2
    )
    left = _split_best_two(*from_left, graphs.sizes[0])
    right = _split_best_two(*from_right, graphs.sizes[1])
    if cardinality is not Cardinality.ONE_TO_ONE:
        parts = []
        if cardinality is not Cardinality.ONE_TO_MANY:
            parts.append(_match_from_side(left, right))
        if cardinality is not Cardinality.MANY_TO_ONE:
            right_ids, left_ids, probability = _match_from_side(right, left)
            parts.append((left_ids, right_ids, probability))
        return _merge_matches(parts, graphs.sizes)
    left_ids = np.flatnonzero(left.best != NO_MATCH)
    # Keep those whose best counterpart has them as its best.
    left_ids = left_ids[right.best[left.best[left_ids]] == left_ids]
    right_ids = left.best[left_ids]
    support = left.support[left_ids]
    competition = left.second_support[left_ids] ** 2 + right.second_support[right_ids] ** 2
    probability = _weigh_competition(support, competition)
    return MatchProbabilities.from_pairs(left_ids, right_ids, probability, graphs.sizes)


def _weigh_competition(
    support: NDArray[np.float64], competition: NDArray[np.float64]
) -> FloatArray:
    # The second factor keeps ties out. Without it wrong pairs grow with each round, and rounds
    # cannot go on until no more is found (docs/decisions/0009-evidence.md).
    probability = -np.expm1(-support) * support**2 / (support**2 + competition)
    return probability.astype(np.float32)


def _match_from_side(
    own: _BestTwo, other: _BestTwo
) -> tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]:
    """Match each entity of one side with its best candidate, which others may share.

    With support s, a for the second best support of the entity and b for the best support of the
    candidate, the probability is (1 − exp(−s)) · s² / (s² + a²) · (s / b)²: a rival of the
    candidate contradicts the pair only as far as it is better.
    """
    ids = np.flatnonzero(own.best != NO_MATCH)
    counterpart, support = own.best[ids], own.support[ids]
    best = np.maximum(support, other.support[counterpart])
    probability = _weigh_competition(support, own.second_support[ids] ** 2)
    return ids, counterpart, probability * ((support / best) ** 2).astype(np.float32)


def _merge_matches(
    parts: list[tuple[NDArray[np.int64], NDArray[np.int64], FloatArray]], sizes: tuple[int, int]
) -> MatchProbabilities:
    """Put matches together; a pair that comes twice has the greater of its probabilities."""
    left, right, probability = map(np.concatenate, zip(*parts, strict=True))
    keys, place = np.unique(left * sizes[1] + right, return_inverse=True)
    greatest = np.zeros(len(keys), dtype=np.float32)
    np.maximum.at(greatest, place, probability)
    return MatchProbabilities.from_pairs(*np.divmod(keys, max(sizes[1], 1)), greatest, sizes)


class _BestTwo(NamedTuple):
    """For each entity its best counterpart, the support of it, and that of the second best."""

    best: NDArray[np.int64]
    support: NDArray[np.float64]
    second_support: NDArray[np.float64]


def _split_best_two(
    entity: IntArray, counterpart: IntArray, support: FloatArray, entity_count: int
) -> _BestTwo:
    """From rows sorted by entity, best first, two for each entity at most."""
    out = _BestTwo(np.full(entity_count, NO_MATCH), np.zeros(entity_count), np.zeros(entity_count))
    is_first = np.append(True, entity[1:] != entity[:-1])[: len(entity)]
    out.best[entity[is_first]] = counterpart[is_first]
    out.support[entity[is_first]] = support[is_first]
    out.second_support[entity[~is_first]] = support[~is_first]
    return out
