"""Categories: classes, and values that many entities share, such as a genre or a year.

Two entities of classes that do not correspond are hardly the same. Which classes correspond is
learned as relations are aligned: P(c ⊆ c′) is the share of the matched instances of c whose
counterparts have c′. The same goes for any value that many entities have: where "VLDB J." mostly
meets "The VLDB Journal", a pair of "VLDB J." and "Very Large Data Bases" is in conflict.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign._parallel import fill_chunks
from everalign.graph import IntArray
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.candidates import MatchProbabilities
from everalign.methods.evidence.config import EvidenceParameters

CHUNK_SIZE = 16_384  # pairs of one parallel task
RELATION_SHIFT = 32  # a category is one number: its directed relation, and the node behind it

# Columns of `compare_categories`.
CATEGORY_COLUMNS = ("overlap_left", "overlap_right", "conflict_left", "conflict_right")


class CategoryInclusions(NamedTuple):
    """How far the categories of one graph are contained in those of the other.

    Attributes:
        key: The categories, ascending: directed relation and node as one number.
        start: The inclusions of category n are those from `start[n]` to `start[n + 1]`.
        counterpart: A category of the other graph that it was met with, ascending.
        inclusion: P(category ⊆ counterpart).
        unseen: Of each category, the inclusion in one that it was never met with.
        best: Of each category, the greatest inclusion.
    """

    key: OffsetArray
    start: OffsetArray
    counterpart: OffsetArray
    inclusion: FloatArray
    unseen: FloatArray
    best: FloatArray


class CategoryAlignment(NamedTuple):
    """Inclusions of left categories in right ones, and of right categories in left ones."""

    left: CategoryInclusions
    right: CategoryInclusions


class EntityCategories(NamedTuple):
    """The categories of some entities.

    Attributes:
        start: The categories of the n-th entity are those from `start[n]` to `start[n + 1]`.
        category: Their numbers.
    """

    start: OffsetArray
    category: OffsetArray


def find_category_keys(
    adjacency: Adjacency, schema_entities: IntArray, min_size: int
) -> OffsetArray:
    """Find the categories of a graph: classes and literals that enough entities have.

    Args:
        adjacency: The graph.
        schema_entities: Entities that are classes or properties.
        min_size: Number of entities that a category has at least.

    Returns:
        The categories, ascending.
    """
    is_shared = np.zeros(adjacency.node_count, dtype=np.bool_)
    is_shared[schema_entities[schema_entities < adjacency.entity_count]] = True
    is_shared[adjacency.literal_offset :] = True
    keys = _list_keys(adjacency, is_shared)
    key, count = np.unique(keys, return_counts=True)
    return key[count >= min_size]


def list_categories(
    adjacency: Adjacency, entities: NDArray[np.integer], key: OffsetArray
) -> EntityCategories:
    """List the categories of entities.

    Args:
        adjacency: The graph.
        entities: The entities.
        key: The known categories of the graph, ascending.

    Returns:
        The categories of each, those that are known.
    """
    ids = entities.astype(np.int64)
    start = np.zeros(len(ids) + 1, dtype=np.int64)
    np.cumsum(_count_categories(adjacency, ids, key), out=start[1:])
    category = np.empty(start[-1], dtype=np.int64)
    _fill_categories(adjacency, ids, key, start, category)
    return EntityCategories(start, category)


def align_categories(
    graphs: tuple[Adjacency, Adjacency],
    keys: tuple[OffsetArray, OffsetArray],
    matches: MatchProbabilities,
    anchors: IntArray,
    config: EvidenceParameters,
) -> CategoryAlignment:
    """Estimate how far categories are contained in each other, from current matches.

    Args:
        graphs: The left and the right graph.
        keys: Their categories.
        matches: Likely pairs of entities.
        anchors: Rows of (left, right): links with match probability 1.
        config: Gives prior and limits.

    Returns:
        The inclusions in both directions.
    """
    left = np.concatenate([matches.table.left, anchors[:, 0]])
    right = np.concatenate([matches.table.right, anchors[:, 1]])
    weight = np.concatenate([matches.probability, np.ones(len(anchors))]).astype(np.float64)
    # Every n-th pair: a sample is enough, and the choice must not depend on chance.
    step = max(1, -(-len(left) // config.max_category_pairs))
    pairs = left[::step], right[::step]
    weight = weight[::step]
    of_left, of_right = (
        list_categories(graph, entities, key)
        for graph, entities, key in zip(graphs, pairs, keys, strict=True)
    )
    left_count, right_count = np.diff(of_left.start), np.diff(of_right.start)
    # All combinations of the categories of a pair; pairs that cannot be compared have none.
    first = np.repeat(np.arange(len(of_left.category)), np.repeat(right_count, left_count))
    pair_of_left = np.repeat(np.arange(len(weight)), left_count)
    within = np.arange(len(first)) - np.repeat(
        np.cumsum(right_count[pair_of_left]) - right_count[pair_of_left],
        right_count[pair_of_left],
    )
    pair = pair_of_left[first]
    left_category = of_left.category[first]
    right_category = of_right.category[of_right.start[pair] + within]
    combined = left_category * max(len(keys[1]), 1) + right_category
    both, place = np.unique(combined, return_inverse=True)
    together = np.bincount(place, weight[pair], minlength=len(both)).astype(np.float64)
    left_ids, right_ids = np.divmod(both, max(len(keys[1]), 1))
    sides = []
    for key, own, other, mine, count, opposite in (
        (keys[0], left_ids, right_ids, of_left, left_count, right_count),
        (keys[1], right_ids, left_ids, of_right, right_count, left_count),
    ):
        comparable = np.bincount(
            mine.category,
            np.repeat(np.where(opposite > 0, weight, 0), count),
            minlength=len(key),
        ).astype(np.float64)
        sides.append(_build_inclusions(key, own, other, together, comparable, config))
    return CategoryAlignment(sides[0], sides[1])


def _build_inclusions(
    key: OffsetArray,
    own: OffsetArray,
    other: OffsetArray,
    together: NDArray[np.float64],
    comparable: NDArray[np.float64],
    config: EvidenceParameters,
) -> CategoryInclusions:
    prior = config.inclusion_prior * config.inclusion_prior_strength
    total = comparable + config.inclusion_prior_strength
    order = np.lexsort((other, own))
    own, other = own[order], other[order]
    inclusion = ((together[order] + prior) / total[own]).astype(np.float32)
    unseen = (prior / total).astype(np.float32)
    best = unseen.copy()
    np.maximum.at(best, own, inclusion)
    start = np.searchsorted(own, np.arange(len(key) + 1))
    return CategoryInclusions(key, start, other, inclusion, unseen, best)


def compare_categories(
    graphs: tuple[Adjacency, Adjacency],
    alignment: CategoryAlignment,
    left: NDArray[np.integer],
    right: NDArray[np.integer],
) -> FloatArray:
    """Compare the categories of pairs of entities.

    Args:
        graphs: The left and the right graph.
        alignment: The inclusions.
        left: Left entities.
        right: Right entities, as many.

    Returns:
        Rows of CATEGORY_COLUMNS: the mean inclusion of the categories of the left entity in the
        best one of the right entity, and the other way round; and how much a category falls short
        of its best inclusion, at most. NaN where an entity has no category.
    """
    out = np.empty((len(left), len(CATEGORY_COLUMNS)), dtype=np.float32)
    sides = []
    for graph, entities, inclusions in zip(graphs, (left, right), alignment, strict=True):
        distinct, row = np.unique(entities, return_inverse=True)
        sides.append((list_categories(graph, distinct, inclusions.key), row))
    (of_left, left_rows), (of_right, right_rows) = sides

    def compare_chunk(first: int, end: int) -> FloatArray:
        rows = slice(first, end)
        chunk = np.empty((end - first, len(CATEGORY_COLUMNS)), dtype=np.float32)
        _compare_pairs(alignment, of_left, of_right, left_rows[rows], right_rows[rows], chunk)
        return chunk

    fill_chunks(compare_chunk, out, CHUNK_SIZE)
    return out


def _list_keys(adjacency: Adjacency, is_shared: BoolArray) -> OffsetArray:
    """The keys of all edges from an entity to a shared node."""
    keys = np.empty(len(adjacency.neighbour), dtype=np.int64)
    return keys[: _fill_keys(adjacency, is_shared, keys)]


@jit_cached()
def _fill_keys(adjacency: Adjacency, is_shared: BoolArray, keys: OffsetArray) -> int:
    count = 0
    for entity in range(adjacency.entity_count):
        for edge in range(adjacency.start[entity], adjacency.stop[entity]):
            node = adjacency.neighbour[edge]
            if is_shared[node]:
                keys[count] = (np.int64(adjacency.relation[edge]) << RELATION_SHIFT) | node
                count += 1
    return count


@jit_cached()
def _find_category(adjacency: Adjacency, edge: int, key: OffsetArray) -> int:
    """The number of the category of an edge; -1 if it leads to none."""
    wanted = (np.int64(adjacency.relation[edge]) << RELATION_SHIFT) | adjacency.neighbour[edge]
    first, end = 0, key.size
    while first < end:
        middle = (first + end) >> 1
        if key[middle] < wanted:
            first = middle + 1
        else:
            end = middle
    return first if first < key.size and key[first] == wanted else -1


@jit_cached()
def _count_categories(
    adjacency: Adjacency, entities: OffsetArray, key: OffsetArray
) -> OffsetArray:
    count = np.zeros(entities.size, dtype=np.int64)
    for number in range(entities.size):
        for edge in range(adjacency.start[entities[number]], adjacency.stop[entities[number]]):
            count[number] += _find_category(adjacency, edge, key) >= 0
    return count


@jit_cached()
def _fill_categories(
    adjacency: Adjacency,
    entities: OffsetArray,
    key: OffsetArray,
    start: OffsetArray,
    out: OffsetArray,
) -> None:
    for number in range(entities.size):
        place = start[number]
        for edge in range(adjacency.start[entities[number]], adjacency.stop[entities[number]]):
            category = _find_category(adjacency, edge, key)
            if category >= 0:
                out[place] = category
                place += 1


@jit_cached()
def _compare_pairs(
    alignment: CategoryAlignment,
    of_left: EntityCategories,
    of_right: EntityCategories,
    left_rows: OffsetArray,
    right_rows: OffsetArray,
    out: FloatArray,
) -> None:
    for row in range(left_rows.size):
        x, y = left_rows[row], right_rows[row]
        mine = of_left.category[of_left.start[x] : of_left.start[x + 1]]
        theirs = of_right.category[of_right.start[y] : of_right.start[y + 1]]
        if mine.size == 0 or theirs.size == 0:
            out[row] = np.nan
            continue
        out[row, 0], out[row, 2] = _compare_side(alignment.left, mine, theirs)
        out[row, 1], out[row, 3] = _compare_side(alignment.right, theirs, mine)


@jit_cached()
def _compare_side(
    inclusions: CategoryInclusions, mine: OffsetArray, theirs: OffsetArray
) -> tuple[float, float]:
    """The mean of the best inclusions, and the greatest shortfall of one."""
    total, conflict = 0.0, 0.0
    for category in mine:
        best = inclusions.unseen[category]
        for k in range(inclusions.start[category], inclusions.start[category + 1]):
            for other in theirs:
                if inclusions.counterpart[k] == other and inclusions.inclusion[k] > best:
                    best = inclusions.inclusion[k]
        total += best
        conflict = max(conflict, inclusions.best[category] - best)
    return total / mine.size, conflict
