"""What each group of features adds to the confidence of a candidate: exact Shapley values.

The players are groups of features, not features, so that there are few enough to look at every
subset of them. The value of a subset is the probability that the trees predict if only its
features are known: at a test of an unknown feature a row goes both ways, each by its share of the
training rows (as path-dependent TreeSHAP does, Lundberg et al., Nature Machine Intelligence 2020).
Shapley values add up to the prediction, whatever the model.
"""

from __future__ import annotations

from itertools import combinations
from math import factorial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.classifier import PairClassifier
from everalign.methods.evidence.features import COMPETITOR_COLUMNS, LITERAL_FEATURES
from everalign.methods.evidence.trees import BitArray, TreeModel

# Groups of features; the order is that of the bars.
NEIGHBOURS, NAMES, RIVALS = range(3)
GROUP_NAMES = ("neighbours", "names and values", "rivals")
# All parts of a confidence, in the order of a waterfall.
PART_NAMES = ("prior", *GROUP_NAMES, "earlier rounds", "may have no counterpart")
SUBSET_COUNT = 1 << len(GROUP_NAMES)
_ZERO_LIMIT = 1e-35  # as in the prediction

DoubleArray = NDArray[np.float64]


class TreeShape(NamedTuple):
    """The ranges of leaves below each node, which the masks of the trees imply.

    Nodes are stored in order: a node comes between the last leaf of its left subtree and the first
    one of its right subtree. So the leaf left of the n-th node of a tree is its n-th leaf.

    Attributes:
        first_leaf: The first leaf below each node.
        last_leaf: The last leaf below it.
        left_share: Share of the training rows that went left.
    """

    first_leaf: OffsetArray
    last_leaf: OffsetArray
    left_share: DoubleArray

    @staticmethod
    def from_model(model: TreeModel) -> TreeShape:
        """Find the ranges of leaves.

        Args:
            model: The trees.

        Returns:
            The ranges, a row for each node.
        """
        return TreeShape(*_find_ranges(model.tree_start, model.kept, model.leaf_count))


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
    return NAMES if name in LITERAL_FEATURES else NEIGHBOURS


class SubsetTrees(NamedTuple):
    """Trees whose rows can be evaluated if only some groups of features are known.

    Attributes:
        model: The trees.
        groups: Group of each feature of the model.
        left_leaves: The leaves below the left branch of each node, a bit for each.
        right_leaves: The leaves below the right branch.
        leaf_value: For each tree and subset of groups the value of each leaf, times the share of
            the training rows that reach it by tests of the other groups. Of a row whose tests of
            the subset are known, the leaves that it may reach then only have to be summed up.
    """

    model: TreeModel
    groups: OffsetArray
    left_leaves: BitArray
    right_leaves: BitArray
    leaf_value: DoubleArray

    @staticmethod
    def from_model(model: TreeModel, groups: OffsetArray, group_count: int) -> SubsetTrees:
        """Prepare trees.

        Args:
            model: The trees.
            groups: Group of each feature of the model.
            group_count: Number of groups.

        Returns:
            The trees with all that does not depend on a row.
        """
        shape = TreeShape.from_model(model)
        tree_count, leaf_count = model.leaf_value.shape
        value = np.zeros((tree_count, 1 << group_count, leaf_count))
        left, right = np.zeros((2, len(model.feature)), dtype=np.uint32)
        _prepare_subsets(
            model.tree_start, model.feature, model.leaf_value, *shape, groups, left, right, value
        )
        return SubsetTrees(model, groups, left, right, value)


def evaluate_subsets(trees: SubsetTrees, rows: FloatArray) -> DoubleArray:
    """Compute what a model expects if only the features of some groups are known.

    Args:
        trees: The trees.
        rows: Rows of features.

    Returns:
        For each row the log-odds of every subset of groups; bit n of the number of a subset tells
        whether it has group n.
    """
    model = trees.model
    out = np.zeros((len(rows), trees.leaf_value.shape[1]))
    _evaluate_rows(
        rows, model.tree_start, model.feature, model.threshold, model.nan_fails, *trees[1:], out
    )
    return out


def compute_shapley_values(values: DoubleArray) -> DoubleArray:
    """Share the value of all players out among them.

    Args:
        values: For each row the value of every subset of players, as `evaluate_subsets` numbers
            them.

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
                gain = values[:, subset | 1 << player] - values[:, subset]
                out[:, player] += weight * gain
    return out


class PredictionParts(NamedTuple):
    """Predicted probabilities in parts.

    Attributes:
        prior: What is expected of each row before any feature is known.
        groups: What each of `GROUP_NAMES` adds to that.
    """

    prior: DoubleArray
    groups: DoubleArray


def list_parts(
    parts: PredictionParts, probability: FloatArray, confidence: FloatArray
) -> list[tuple[tuple[str, float], ...]]:
    """List what adds up to the confidence of candidates.

    A match probability was predicted when its candidate was last scored, perhaps in a round of
    training by a model that had not seen it, and some neighbours are matched otherwise since. How
    far that is from a prediction of now is a part of its own, and not hidden in the others.

    Args:
        parts: The parts of the predictions of now.
        probability: The match probability of each candidate.
        confidence: The confidence of each, which is less since an entity may be dangling.

    Returns:
        For each candidate `PART_NAMES` with what each part adds.
    """
    now = parts.prior + parts.groups.sum(axis=1)
    earlier = probability.astype(np.float64) - now
    dangling = confidence.astype(np.float64) - now - earlier
    rows = np.column_stack([parts.prior, parts.groups, earlier, dangling]).tolist()
    return [tuple(zip(PART_NAMES, row, strict=True)) for row in rows]


class ContributionModel:
    """Explains the predictions of a classifier.

    Args:
        classifier: The classifier.
    """

    def __init__(self, classifier: PairClassifier) -> None:
        self._classifier = classifier
        self._trees: dict[int, SubsetTrees] = {}

    def split_prediction(self, features: FloatArray) -> PredictionParts:
        """Split predicted probabilities into the prior and what each group of features adds.

        Args:
            features: Rows of features with the columns of the classifier.

        Returns:
            Parts that add up to the predictions.
        """
        values = np.zeros((len(features), SUBSET_COUNT))
        for model, rows in self._classifier.choose_models(features):
            chosen = self._classifier.take_columns(features[rows], model)
            values[rows] = evaluate_subsets(self._prepare(model), chosen)
        probabilities = 1 / (1 + np.exp(-values))
        return PredictionParts(probabilities[:, 0], compute_shapley_values(probabilities))

    def _prepare(self, model: TreeModel) -> SubsetTrees:
        # The models live as long as this object does.
        if id(model) not in self._trees:
            groups = np.array([group_feature(name) for name in model.feature_names])
            self._trees[id(model)] = SubsetTrees.from_model(model, groups, len(GROUP_NAMES))
        return self._trees[id(model)]


@jit_cached()
def _find_ranges(
    tree_start: OffsetArray, kept: BitArray, leaf_count: DoubleArray
) -> tuple[OffsetArray, OffsetArray, DoubleArray]:
    size = tree_start[-1]
    first_leaf, last_leaf = np.empty(size, np.int64), np.empty(size, np.int64)
    left_share = np.empty(size, np.float64)
    for tree in range(len(tree_start) - 1):
        start, end = tree_start[tree], tree_start[tree + 1]
        for node in range(start, end):
            # The lowest bit that is cleared if the test fails.
            leaf = 0
            while kept[node] >> np.uint32(leaf) & np.uint32(1):
                leaf += 1
            first_leaf[node] = leaf
        for node in range(start, end):
            # In the left subtree of the next node whose left subtree reaches back to here.
            above = node + 1
            while above < end and first_leaf[above] > node - start:
                above += 1
            last_leaf[node] = above - start
        for node in range(start, end):
            middle = node - start + 1
            left = leaf_count[tree, first_leaf[node] : middle].sum()
            right = leaf_count[tree, middle : last_leaf[node] + 1].sum()
            left_share[node] = left / (left + right)
    return first_leaf, last_leaf, left_share


@jit_cached()
def _prepare_subsets(
    tree_start: OffsetArray,
    feature: OffsetArray,
    leaf_value: DoubleArray,
    first_leaf: OffsetArray,
    last_leaf: OffsetArray,
    left_share: DoubleArray,
    groups: OffsetArray,
    left_leaves: BitArray,
    right_leaves: BitArray,
    out: DoubleArray,
) -> None:
    for tree in range(len(tree_start) - 1):
        start, end = tree_start[tree], tree_start[tree + 1]
        for subset in range(out.shape[1]):
            out[tree, subset, : end - start + 1] = leaf_value[tree, : end - start + 1]
        for node in range(start, end):
            middle = node - start + 1
            for leaf in range(first_leaf[node], last_leaf[node] + 1):
                is_left = leaf < middle
                bit = np.uint32(1) << np.uint32(leaf)
                if is_left:
                    left_leaves[node] |= bit
                else:
                    right_leaves[node] |= bit
                share = left_share[node] if is_left else 1.0 - left_share[node]
                for subset in range(out.shape[1]):
                    if not subset >> groups[feature[node]] & 1:
                        out[tree, subset, leaf] *= share


@jit_cached()
def _evaluate_rows(
    rows: FloatArray,
    tree_start: OffsetArray,
    feature: OffsetArray,
    threshold: FloatArray,
    nan_fails: BoolArray,
    groups: OffsetArray,
    left_leaves: BitArray,
    right_leaves: BitArray,
    leaf_value: DoubleArray,
    out: DoubleArray,
) -> None:
    subset_count = out.shape[1]
    # By group the leaves that its tests leave to a row, then by subset those that all of it leave.
    reached = np.empty(subset_count, dtype=np.uint32)
    for row in range(len(rows)):
        for tree in range(len(tree_start) - 1):
            start, end = tree_start[tree], tree_start[tree + 1]
            every = np.uint32((np.uint64(1) << np.uint64(end - start + 1)) - np.uint64(1))
            reached[:] = every
            for node in range(start, end):
                value = rows[row, feature[node]]
                if abs(value) <= _ZERO_LIMIT:
                    value = np.float32(0)
                fails = nan_fails[node] if np.isnan(value) else value > threshold[node]
                lost = left_leaves[node] if fails else right_leaves[node]
                reached[1 << groups[feature[node]]] &= ~lost
            for subset in range(subset_count):
                # Without its lowest group, whose leaves are known by then, as those of the rest.
                lowest = subset & -subset
                if subset != lowest:
                    reached[subset] = reached[lowest] & reached[subset ^ lowest]
                leaves = reached[subset]
                total = 0.0
                leaf = 0
                while leaves:
                    if leaves & np.uint32(1):
                        total += leaf_value[tree, subset, leaf]
                    leaves >>= np.uint32(1)
                    leaf += 1
                out[row, subset] += total
