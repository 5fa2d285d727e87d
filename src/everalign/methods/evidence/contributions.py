"""What each group of features adds to the match probability of a candidate: exact Shapley values.

The players are groups of features, not features, so that there are few enough to look at every
subset of them. The value of a subset is the probability that the trees predict if only its
features are known: at a test of an unknown feature a row goes both ways, each by its share of the
training rows (as path-dependent TreeSHAP does, Lundberg et al., Nature Machine Intelligence 2020;
LightGBM's `pred_contrib`). Shapley values add up to the prediction, whatever the model.

Every candidate gets them when it is scored, so they cost little more than the prediction: the
tests of one group leave a set of leaves, as bits; those of several groups leave what is in all of
their sets. What a set of leaves is worth, with the shares of unknown tests, is in tables.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.features import (
    CATEGORIES,
    COMPETITOR_COLUMNS,
    GROUP_COLUMNS,
    LITERAL_FEATURES,
)
from everalign.methods.evidence.trees import (
    ALL_BITS,
    BLOCK_SIZE,
    MAX_LEAVES,
    ZERO_LIMIT,
    BitArray,
    TreeModel,
)

# Groups of features; the order is that of the bars.
NEIGHBOURS, NAMES, RIVALS = range(3)
GROUP_NAMES = ("neighbours", "names and values", "rivals")
# All parts of a confidence, in the order of a waterfall.
PART_NAMES = ("prior", *GROUP_NAMES, "may have no counterpart", "earlier confidence")
# Classes and values that many entities share are compared as they are, like literals; no match of
# a neighbour says anything about them.
VALUE_FEATURES = LITERAL_FEATURES | frozenset(GROUP_COLUMNS[CATEGORIES])

# Leaves are looked up in tables so many at a time: a table of them stays in the first cache.
LEAF_BITS = 8
LEAF_SETS = 1 << LEAF_BITS

DoubleArray = NDArray[np.float64]


def group_feature(name: str) -> int:
    """Tell which group a feature belongs to.

    Args:
        name: A column of the features.

    Returns:
        NEIGHBOURS, NAMES or RIVALS. What compares a candidate with others of the same entity
        belongs to the rivals, whatever is compared.

    Example:
        >>> GROUP_NAMES[group_feature("name_similarity")], GROUP_NAMES[group_feature("support")]
        ('names and values', 'neighbours')
    """
    if name in COMPETITOR_COLUMNS:
        return RIVALS
    return NAMES if name in VALUE_FEATURES else NEIGHBOURS


class SubsetModel(NamedTuple):
    """Trees that can be asked with some groups of features unknown.

    Attributes:
        model: The trees.
        groups: Group of each feature of the model.
        passed: The bits of leaves that stay set if the test of a node succeeds. If it fails, they
            are `model.kept`.
        table: For each tree, subset of groups and `LEAF_BITS` leaves: what each set of these
            leaves adds to the log-odds if the features of the subset are known.
    """

    model: TreeModel
    groups: OffsetArray
    passed: BitArray
    table: DoubleArray

    @staticmethod
    def from_model(model: TreeModel, groups: OffsetArray, group_count: int) -> SubsetModel:
        """Build the tables of a model.

        Args:
            model: The trees.
            groups: Group of each feature of the model.
            group_count: Number of groups.

        Returns:
            The model with its tables.
        """
        # Each tree has a leaf more than nodes.
        most = int(np.diff(model.tree_start).max(initial=0)) + 1
        shape = len(model.leaf_value), 1 << group_count, -(-most // LEAF_BITS), LEAF_SETS
        passed, table = np.empty_like(model.kept), np.empty(shape)
        of_node = groups[model.feature]
        _fill_tables(
            model.tree_start,
            of_node,
            model.kept,
            model.leaf_value,
            model.leaf_count,
            passed,
            table,
        )
        return SubsetModel(model, groups, passed, table)

    def evaluate_subsets(self, rows: FloatArray) -> DoubleArray:
        """Compute what the model expects if only the features of some groups are known.

        Args:
            rows: Rows of features.

        Returns:
            For each row the log-odds of every subset of groups; bit n of the number of a subset
            tells whether it has group n.
        """
        out = np.empty((len(rows), self.table.shape[1]))
        model = self.model
        of_node = self.groups[model.feature]
        _evaluate_rows(rows, *model[1:-2], of_node, self.passed, self.table, out)
        return out


def compute_shapley_values(values: DoubleArray) -> DoubleArray:
    """Share the value of all players out among them.

    Args:
        values: For each row the value of every subset of players, as
            `SubsetModel.evaluate_subsets` numbers them.

    Returns:
        For each row the Shapley value of every player. Their sum is the value of all players less
        that of none.

    Example:
        >>> compute_shapley_values(np.array([[0.0, 1.0, 3.0, 6.0]])).tolist()
        [[2.0, 4.0]]
    """
    count = values.shape[1].bit_length() - 1
    out = np.zeros((len(values), count))
    for player in range(count):
        others = [other for other in range(count) if other != player]
        for size in range(count):
            # The share of the orders of players in which just these come before the player.
            weight = factorial(size) * factorial(count - size - 1) / factorial(count)
            for before in combinations(others, size):
                subset = sum(1 << other for other in before)
                out[:, player] += weight * (values[:, subset | 1 << player] - values[:, subset])
    return out


class GroupContributions:
    """Computes what the groups of features add to the predictions of a model.

    Args:
        model: The trees.
    """

    def __init__(self, model: TreeModel) -> None:
        groups = np.array([group_feature(name) for name in model.feature_names], dtype=np.int64)
        # A group that no tree tests adds nothing, and would double the number of subsets.
        self._tested = np.unique(groups[model.feature])
        place = np.searchsorted(self._tested, groups)
        self._model = SubsetModel.from_model(model, place, len(self._tested))

    def compute(self, rows: FloatArray) -> DoubleArray:
        """Compute contributions to probabilities.

        Args:
            rows: Rows of features, with the columns of the model.

        Returns:
            For each row what each of `GROUP_NAMES` adds to its probability; the rest of it is the
            prior, what the model expects before it knows anything.
        """
        # A sum that is very negative has the probability 0.
        with np.errstate(over="ignore"):
            probabilities = 1 / (1 + np.exp(-self._model.evaluate_subsets(rows)))
        out = np.zeros((len(rows), len(GROUP_NAMES)))
        out[:, self._tested] = compute_shapley_values(probabilities)
        return out


def list_parts(
    groups: FloatArray, probability: FloatArray, alone: FloatArray, confidence: FloatArray
) -> list[tuple[tuple[str, float], ...]]:
    """List what adds up to the confidence of candidates.

    Args:
        groups: For each candidate what each of `GROUP_NAMES` adds to its match probability.
        probability: The match probability of each.
        alone: The confidence of each by the last training alone, which is less since an entity
            may be dangling.
        confidence: The confidence of each.

    Returns:
        For each candidate `PART_NAMES` with what each part adds.

    Example:
        >>> groups, values = np.array([[0.5, 0.25, -0.125]]), np.array([[0.75], [0.5], [0.625]])
        >>> [value for _, value in list_parts(groups, *values)[0]]
        [0.125, 0.5, 0.25, -0.125, -0.25, 0.125]
    """
    # In double precision, so that nothing is lost when the parts are added up again.
    columns = (groups, probability, alone, confidence)
    added, scored, present, shown = (values.astype(np.float64) for values in columns)
    prior = scored - added.sum(axis=1)
    rows = np.column_stack([prior, added, present - scored, shown - present]).tolist()
    return [tuple(zip(PART_NAMES, row, strict=True)) for row in rows]


@jit_cached()
def _fill_tables(
    tree_start: OffsetArray,
    of_node: OffsetArray,
    kept: BitArray,
    leaf_value: DoubleArray,
    leaf_count: DoubleArray,
    passed: BitArray,
    table: DoubleArray,
) -> None:
    one = np.uint32(1)
    first_leaf = np.empty(MAX_LEAVES, np.int64)
    last_leaf = np.empty(MAX_LEAVES, np.int64)
    left_share = np.empty(MAX_LEAVES, np.float64)
    worth = np.zeros(MAX_LEAVES + LEAF_BITS, np.float64)
    for tree in range(len(tree_start) - 1):
        start, size = tree_start[tree], tree_start[tree + 1] - tree_start[tree]
        # Nodes are stored in order: the n-th one comes between the n-th leaf, the last one of its
        # left subtree, and the next leaf, the first one of its right subtree.
        for node in range(size):
            # The lowest bit that is cleared if the test fails.
            first_leaf[node] = 0
            while kept[start + node] >> np.uint32(first_leaf[node]) & one:
                first_leaf[node] += 1
        for node in range(size):
            # In the left subtree of the next node whose left subtree reaches back to here.
            above = node + 1
            while above < size and first_leaf[above] > node:
                above += 1
            last_leaf[node] = above
            left = leaf_count[tree, first_leaf[node] : node + 1].sum()
            right = leaf_count[tree, node + 1 : above + 1].sum()
            left_share[node] = left / (left + right)
            mask = np.uint32(ALL_BITS)
            for leaf in range(node + 1, above + 1):
                mask &= ~(one << np.uint32(leaf))
            passed[start + node] = mask
        for subset in range(table.shape[1]):
            worth[:] = 0
            worth[: size + 1] = leaf_value[tree, : size + 1]
            for node in range(size):
                if not subset >> of_node[start + node] & 1:
                    worth[first_leaf[node] : node + 1] *= left_share[node]
                    worth[node + 1 : last_leaf[node] + 1] *= 1 - left_share[node]
            for part in range(table.shape[2]):
                sums = table[tree, subset, part]
                sums[0] = 0
                for leaf in range(LEAF_BITS):
                    # All sets with this leaf and lower ones.
                    for rest in range(1 << leaf):
                        sums[1 << leaf | rest] = sums[rest] + worth[part * LEAF_BITS + leaf]


@jit_cached(error_model="numpy")
def _evaluate_rows(
    rows: FloatArray,
    tree_start: OffsetArray,
    feature: OffsetArray,
    threshold: FloatArray,
    nan_fails: BoolArray,
    kept: BitArray,
    of_node: OffsetArray,
    passed: BitArray,
    table: DoubleArray,
    out: DoubleArray,
) -> None:
    zero_limit = np.float32(ZERO_LIMIT)
    # As in the prediction: a block of rows goes through one node at a time.
    columns = np.zeros((rows.shape[1], BLOCK_SIZE), dtype=np.float32)
    # The leaves that are left when the features of each subset are known.
    left_over = np.empty((table.shape[1], BLOCK_SIZE), dtype=np.uint32)
    total = np.empty((table.shape[1], BLOCK_SIZE), dtype=np.float64)
    for first in range(0, rows.shape[0], BLOCK_SIZE):
        size = min(BLOCK_SIZE, rows.shape[0] - first)
        for row in range(size):
            for column in range(rows.shape[1]):
                value = rows[first + row, column]
                columns[column, row] = 0 if abs(value) <= zero_limit else value
        total[:] = 0
        for tree in range(len(tree_start) - 1):
            left_over[:] = np.uint32(ALL_BITS)
            for node in range(tree_start[tree], tree_start[tree + 1]):
                _test_rows(
                    columns[feature[node]],
                    threshold[node],
                    nan_fails[node],
                    kept[node],
                    passed[node],
                    left_over[1 << of_node[node]],
                )
            _add_leaves(left_over, table[tree], total)
        for row in range(size):
            for subset in range(table.shape[1]):
                out[first + row, subset] = total[subset, row]


@jit_cached(error_model="numpy")
def _test_rows(
    tested: FloatArray,
    limit: np.float32,
    nan_fails: np.bool_,
    failing: np.uint32,
    passing: np.uint32,
    bits: BitArray,
) -> None:
    """Clear the bits of leaves that rows do not reach after the test of a node."""
    if nan_fails:
        for row in range(BLOCK_SIZE):
            bits[row] &= passing if tested[row] <= limit else failing
    else:
        for row in range(BLOCK_SIZE):
            bits[row] &= failing if tested[row] > limit else passing


@jit_cached(error_model="numpy")
def _add_leaves(left_over: BitArray, table: DoubleArray, total: DoubleArray) -> None:
    """Add what the leaves of a tree are worth, for each subset of groups."""
    last_set = np.uint32(LEAF_SETS - 1)
    for subset in range(table.shape[0]):
        bits, sums = left_over[subset], total[subset]
        lowest = subset & -subset
        if lowest != subset:
            # The group with the lowest number, and the others together.
            one, others = left_over[lowest], left_over[subset ^ lowest]
            for row in range(BLOCK_SIZE):
                bits[row] = one[row] & others[row]
        for part in range(table.shape[1]):
            worth, shift = table[subset, part], np.uint32(part * LEAF_BITS)
            for row in range(BLOCK_SIZE):
                sums[row] += worth[bits[row] >> shift & last_set]
