"""Prediction by gradient-boosted trees as bit vectors (QuickScorer, Lucchese et al., SIGIR 2015).

A tree has a bit for each leaf, in order from left to right. All bits are set at first. Each inner
node whose test fails clears the bits of its left subtree; the order of the nodes does not matter.
The lowest bit that is left is the leaf that the row falls into. There is nothing to guess for the
processor, and a block of rows goes through one node at a time.

The probabilities are those of LightGBM, bit for bit: the same comparisons, the same order of the
sum over trees.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.errors import StateDamagedError
from everalign.methods.evidence.adjacency import BoolArray, FloatArray, OffsetArray

BLOCK_SIZE = 256  # rows that go through a node together: their bits fit into the first cache
MAX_LEAVES = 31  # one bit of 32 is the sign, which the search for the lowest bit cannot use
ALL_BITS = 0xFFFFFFFF
ZERO_LIMIT = 1e-35  # up to this LightGBM takes a value for 0, in single precision

# `decision_type` in LightGBM's text: bits of a node.
_CATEGORICAL, _DEFAULT_LEFT = 1, 2
_MISSING_SHIFT = 2  # the bits above tell what counts as missing:
_MISSING_NONE, _MISSING_NAN = 0, 2

BitArray = NDArray[np.uint32]


class TreeModel(NamedTuple):
    """Trees of a binary classifier.

    Attributes:
        feature_names: Names of the columns of the rows that it scores.
        tree_start: The nodes of the n-th tree are those from `tree_start[n]` to
            `tree_start[n + 1]`.
        feature: Column that the node tests.
        threshold: The test fails for values greater than this.
        nan_fails: Whether the test fails for a missing value.
        kept: The bits that stay set if the test fails.
        leaf_value: For each tree the values of its leaves, from left to right.
        leaf_count: How many training rows fell into each leaf: what to expect of a row whose
            features are not known. Only contributions need it.
    """

    feature_names: tuple[str, ...]
    tree_start: OffsetArray
    feature: OffsetArray
    threshold: FloatArray
    nan_fails: BoolArray
    kept: BitArray
    leaf_value: NDArray[np.float64]
    leaf_count: NDArray[np.float64]

    def predict(self, rows: FloatArray) -> FloatArray:
        """Predict the probability of each row.

        Args:
            rows: Rows of features, with the columns `feature_names`.

        Returns:
            A probability for each row.
        """
        out = np.empty(len(rows), dtype=np.float32)
        _predict_rows(rows, *self[1:-1], out)
        return out

    def to_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the model as arrays.

        Returns:
            Arrays by name. They are read much faster than LightGBM's text.
        """
        names = np.frombuffer("\n".join(self.feature_names).encode(), np.uint8)
        return {**self._asdict(), "feature_names": names}

    @staticmethod
    def from_arrays(arrays: Mapping[str, NDArray[Any]]) -> TreeModel:
        """Restore a model.

        Args:
            arrays: What `to_arrays` has returned.

        Returns:
            The model.

        Raises:
            StateDamagedError: A tree refers to what is not there.
        """
        names = tuple(arrays["feature_names"].tobytes().decode().split("\n"))
        model = TreeModel(names, *(arrays[name] for name in TreeModel._fields[1:]))
        if not model._is_sound():
            raise StateDamagedError("a model cannot be read: a tree refers to what is not there")
        return model

    def _is_sound(self) -> bool:
        """Whether a prediction reads only what is there."""
        sizes = np.diff(self.tree_start)
        if not (
            self.leaf_value.shape == (len(sizes), MAX_LEAVES + 1)
            and self.leaf_count.shape == self.leaf_value.shape
            and self.tree_start[0] == 0
            and np.all((sizes >= 0) & (sizes < MAX_LEAVES))
            and all(len(column) == self.tree_start[-1] for column in self[2:-2])
            and np.all((self.feature >= 0) & (self.feature < len(self.feature_names)))
        ):
            return False
        # The bit of a leaf is left whatever tests fail.
        first_nodes = self.tree_start[:-1][sizes > 0]
        left_over = np.bitwise_and.reduceat(self.kept, first_nodes) if len(first_nodes) else 1
        return bool(np.all(left_over & np.uint32(ALL_BITS >> 1)))


def average_models(models: Sequence[TreeModel]) -> TreeModel:
    """Average the log-odds of several models.

    Args:
        models: Models of the same features.

    Returns:
        One model with the trees of all of them, whose leaves count less accordingly.
    """
    if len(models) == 1:
        return models[0]
    offsets = np.cumsum([0, *(model.tree_start[-1] for model in models)])
    starts = [
        model.tree_start[:-1] + offset for model, offset in zip(models, offsets[:-1], strict=True)
    ]
    columns = zip(*(model[2:] for model in models), strict=True)
    feature, threshold, nan_fails, kept, leaf_value, leaf_count = map(np.concatenate, columns)
    return TreeModel(
        models[0].feature_names,
        np.append(np.concatenate(starts), offsets[-1]),
        feature,
        threshold,
        nan_fails,
        kept,
        leaf_value / len(models),
        leaf_count,
    )


class _Leaf(NamedTuple):
    """Value of a leaf, and the number of training rows that fell into it."""

    value: float
    row_count: float


class _Node(NamedTuple):
    """A row of the arrays of TreeModel."""

    feature: int
    threshold: float
    nan_fails: bool
    kept: int


def parse_trees(text: str) -> TreeModel:
    """Read a model from LightGBM's text format.

    Args:
        text: A binary classifier that was trained on numbers, with NaN for missing values.

    Returns:
        The model.

    Raises:
        StateDamagedError: The text is not such a model, or a tree has more than MAX_LEAVES leaves.
    """
    try:
        header, *trees = text.partition("\nend of trees")[0].split("\nTree=")
        fields = _parse_fields(header)
        if fields["objective"] != "binary sigmoid:1" or "average_output" in header.split("\n"):
            raise ValueError("not a boosted binary classifier")
        names = tuple(fields["feature_names"].split(" "))
        parsed = [_parse_tree(_parse_fields(tree), len(names)) for tree in trees]
    except (KeyError, IndexError, ValueError, RecursionError) as error:
        raise StateDamagedError(f"a model cannot be read: {error}") from None
    nodes = [node for tree, _ in parsed for node in tree]
    leaf_value, leaf_count = (np.zeros((len(parsed), MAX_LEAVES + 1)) for _ in range(2))
    for tree, (_, leaves) in enumerate(parsed):
        leaf_value[tree, : len(leaves)] = [leaf.value for leaf in leaves]
        leaf_count[tree, : len(leaves)] = [leaf.row_count for leaf in leaves]
    return TreeModel(
        names,
        np.cumsum([0, *(len(tree) for tree, _ in parsed)], dtype=np.int64),
        np.array([node.feature for node in nodes], dtype=np.int64),
        _round_down(np.array([node.threshold for node in nodes], dtype=np.float64)),
        np.array([node.nan_fails for node in nodes], dtype=np.bool_),
        np.array([node.kept for node in nodes], dtype=np.uint32),
        leaf_value,
        leaf_count,
    )


def _parse_fields(text: str) -> dict[str, str]:
    """The lines `name=value`; others are left out."""
    return dict(line.split("=", 1) for line in text.split("\n") if "=" in line)


def _parse_tree(fields: dict[str, str], feature_count: int) -> tuple[list[_Node], list[_Leaf]]:
    """The inner nodes of a tree in order, and its leaves from left to right."""
    values = [float(value) for value in fields["leaf_value"].split()]
    if not 1 <= len(values) <= MAX_LEAVES or fields.get("is_linear", "0") != "0":
        raise ValueError(f"a tree has not 1 to {MAX_LEAVES} leaves of one value each")
    if len(values) == 1:
        return [], [_Leaf(values[0], 1.0)]
    counts = [float(count) for count in fields["leaf_count"].split()]
    left_child, right_child, feature, decision_type = (
        [int(value) for value in fields[name].split()]
        for name in ("left_child", "right_child", "split_feature", "decision_type")
    )
    threshold = [float(value) for value in fields["threshold"].split()]
    nodes: list[_Node] = []
    leaves: list[_Leaf] = []

    def add_subtree(child: int) -> int:
        """Add the nodes and leaves of a subtree; returns the bits of its leaves."""
        # Numbers of leaves are stored as their complements.
        if child < 0:
            leaves.append(_Leaf(values[~child], counts[~child]))
            return 1 << (len(leaves) - 1)
        if not 0 <= feature[child] < feature_count or len(nodes) >= len(values):
            raise ValueError("a tree refers to what is not there")
        nan_fails = _fails_for_nan(decision_type[child], threshold[child])
        left = add_subtree(left_child[child])
        nodes.append(_Node(feature[child], threshold[child], nan_fails, ALL_BITS & ~left))
        return left | add_subtree(right_child[child])

    add_subtree(0)
    if len(leaves) != len(values):
        raise ValueError("a tree has lost leaves")
    return nodes, leaves


def _fails_for_nan(decision_type: int, threshold: float) -> bool:
    missing = decision_type >> _MISSING_SHIFT
    if decision_type & _CATEGORICAL or missing not in (_MISSING_NONE, _MISSING_NAN):
        raise ValueError("a tree tests categories, or takes 0 for missing")
    if missing == _MISSING_NAN:
        return not decision_type & _DEFAULT_LEFT
    # No value was missing in training: LightGBM takes NaN for 0.
    return threshold < 0


def _round_down(threshold: NDArray[np.float64]) -> FloatArray:
    """To single precision, so that the same values in single precision are greater as before."""
    with np.errstate(over="ignore"):
        rounded = threshold.astype(np.float32)
    below = np.nextafter(rounded, np.float32(-np.inf))
    return np.where(rounded > threshold, below, rounded).astype(np.float32)


@jit_cached(error_model="numpy")
def _predict_rows(
    rows: FloatArray,
    tree_start: OffsetArray,
    feature: OffsetArray,
    threshold: FloatArray,
    nan_fails: BoolArray,
    kept: BitArray,
    leaf_value: NDArray[np.float64],
    out: FloatArray,
) -> None:
    every, zero_limit = np.uint32(ALL_BITS), np.float32(ZERO_LIMIT)
    # Column by column, so that the loops over a block read what follows in memory. Rows that the
    # last block has too many are computed for nothing.
    columns = np.zeros((rows.shape[1], BLOCK_SIZE), dtype=np.float32)
    bits = np.empty(BLOCK_SIZE, dtype=np.uint32)
    lowest = np.empty(BLOCK_SIZE, dtype=np.float32)
    lowest_bits = lowest.view(np.uint32)
    total = np.empty(BLOCK_SIZE, dtype=np.float64)
    for first in range(0, rows.shape[0], BLOCK_SIZE):
        size = min(BLOCK_SIZE, rows.shape[0] - first)
        for row in range(size):
            for column in range(rows.shape[1]):
                value = rows[first + row, column]
                columns[column, row] = 0 if abs(value) <= zero_limit else value
        total[:] = 0
        for tree in range(leaf_value.shape[0]):
            bits[:] = every
            for node in range(tree_start[tree], tree_start[tree + 1]):
                tested, limit, mask = columns[feature[node]], threshold[node], kept[node]
                if nan_fails[node]:
                    for row in range(BLOCK_SIZE):
                        bits[row] &= every if tested[row] <= limit else mask
                else:
                    for row in range(BLOCK_SIZE):
                        bits[row] &= mask if tested[row] > limit else every
            # The exponent of a power of two is the number of its bit.
            for row in range(BLOCK_SIZE):
                lowest[row] = np.float32(np.int32(bits[row] & (~bits[row] + np.uint32(1))))
            values = leaf_value[tree]
            for row in range(BLOCK_SIZE):
                total[row] += values[(lowest_bits[row] >> np.uint32(23)) - np.uint32(127)]
        for row in range(size):
            out[first + row] = 1.0 / (1.0 + np.exp(-total[row]))
