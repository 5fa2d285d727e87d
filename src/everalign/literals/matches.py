"""Pairs of literals that say the same, as parallel arrays, and how sets of them are combined."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from everalign.graph import IntArray

FloatArray: TypeAlias = NDArray[np.float32]

# Equal values of one key on a side. A value that more literals have tells nothing, and all
# pairs of them would be too many.
MAX_DUPLICATES = 100


class LiteralMatches(NamedTuple):
    """Pairs of a left and a right literal with the probability that they say the same.

    Pairs are sorted by left id, then right id, and each is listed once.

    Attributes:
        left: Ids of left literals.
        right: Ids of right literals.
        probability: 1 for equal values, less for similar ones.
    """

    left: IntArray
    right: IntArray
    probability: FloatArray

    @staticmethod
    def from_columns(left: ArrayLike, right: ArrayLike, probability: ArrayLike) -> LiteralMatches:
        """Build matches from three columns of equal length.

        Args:
            left: Ids of left literals.
            right: Ids of right literals.
            probability: The probability of each pair.

        Returns:
            The matches in the given order, with the usual dtypes.
        """
        return LiteralMatches(
            np.asarray(left, dtype=np.int32),
            np.asarray(right, dtype=np.int32),
            np.asarray(probability, dtype=np.float32),
        )

    @staticmethod
    def empty() -> LiteralMatches:
        """Build matches without a pair.

        Returns:
            Three empty arrays.
        """
        return LiteralMatches.from_columns([], [], [])

    def to_rows(self) -> list[tuple[int, int, float]]:
        """List the pairs, with probabilities rounded to four digits.

        Returns:
            Tuples of left id, right id and probability.

        Example:
            >>> LiteralMatches.from_columns([0], [4], [0.5]).to_rows()
            [(0, 4, 0.5)]
        """
        probability = self.probability.astype(np.float64).round(4)
        columns = self.left.tolist(), self.right.tolist(), probability.tolist()
        return list(zip(*columns, strict=True))

    def swap_sides(self) -> LiteralMatches:
        """Exchange left and right.

        Returns:
            The same pairs in the same order, no longer sorted by their left ids.
        """
        return LiteralMatches(self.right, self.left, self.probability)


def merge_matches(
    match_sets: Iterable[LiteralMatches], min_probability: float = 0.0
) -> LiteralMatches:
    """Merge several sets of matches; a pair keeps its highest probability.

    Args:
        match_sets: The sets, in any order.
        min_probability: Pairs below it are dropped.

    Returns:
        The merged pairs, sorted, each once.

    Example:
        >>> first = LiteralMatches.from_columns([1], [2], [0.5])
        >>> second = LiteralMatches.from_columns([1, 0], [2, 0], [0.7, 1])
        >>> merge_matches([first, second]).to_rows()
        [(0, 0, 1.0), (1, 2, 0.7)]
    """
    columns = list(zip(*match_sets, strict=True))
    if not columns:
        return LiteralMatches.empty()
    left, right, probability = (np.concatenate(column) for column in columns)
    # The most probable copy of a pair comes first and is the one that is kept.
    order = np.lexsort((-probability, right, left))
    left, right, probability = left[order], right[order], probability[order]
    is_first = np.ones(len(left), dtype=np.bool_)
    is_first[1:] = (left[1:] != left[:-1]) | (right[1:] != right[:-1])
    keep = is_first & (probability >= min_probability)
    return LiteralMatches(left[keep], right[keep], probability[keep])


def match_equal_keys(
    left_keys: Sequence[str], right_keys: Sequence[str], probability: float
) -> LiteralMatches:
    """Pair all positions that hold the same key; an empty key equals nothing.

    Args:
        left_keys: A key per left position.
        right_keys: A key per right position.
        probability: What each pair gets.

    Returns:
        Pairs of positions, for each left one at most `MAX_DUPLICATES`.

    Example:
        >>> match_equal_keys(["a", "b", ""], ["b", "", "b"], 1.0).to_rows()
        [(1, 0, 1.0), (1, 2, 1.0)]
    """
    # Keys that one side alone has would fill the table for nothing.
    wanted_keys = set(left_keys)
    right_positions: defaultdict[str, list[int]] = defaultdict(list)
    for position, key in enumerate(right_keys):
        if key and key in wanted_keys:
            right_positions[key].append(position)
    left: list[int] = []
    right: list[int] = []
    for position, key in enumerate(left_keys):
        equal_positions = right_positions.get(key, ())[:MAX_DUPLICATES]
        left += [position] * len(equal_positions)
        right += equal_positions
    return LiteralMatches.from_columns(left, right, [probability] * len(left))


def expand_duplicates(
    group_matches: LiteralMatches,
    left_groups: IntArray,
    right_groups: IntArray,
    max_members: int,
) -> LiteralMatches:
    """Turn pairs of groups into pairs of their members.

    Args:
        group_matches: Pairs of a left and a right group.
        left_groups: The group of each left member; −1 is none.
        right_groups: The same on the right.
        max_members: A member of a larger group is paired with so many of the other group only:
            so many equal ones tell nothing, and all pairs of them would be too many.

    Returns:
        Pairs of members with the probability of their groups.

    Example:
        >>> groups = LiteralMatches.from_columns([0], [1], [0.5])
        >>> expand_duplicates(groups, np.array([0, -1, 0]), np.array([1, 0]), 9).to_rows()
        [(0, 0, 0.5), (2, 0, 0.5)]
    """
    no_limit = max(len(left_groups), len(right_groups))
    sizes = (np.bincount(groups[groups >= 0], minlength=1).max()
             for groups in (left_groups, right_groups))  # fmt: skip
    if max(sizes) <= max_members:
        return _pair_members(group_matches, left_groups, right_groups, (no_limit, no_limit))
    # From either side, so that each member of a large group is in some pairs.
    limits = (no_limit, max_members), (max_members, no_limit)
    return merge_matches(
        [_pair_members(group_matches, left_groups, right_groups, limit) for limit in limits]
    )


def _pair_members(
    group_matches: LiteralMatches,
    left_groups: IntArray,
    right_groups: IntArray,
    limits: tuple[int, int],
) -> LiteralMatches:
    match, left = _list_members(group_matches.left, left_groups, limits[0])
    row, right = _list_members(group_matches.right[match], right_groups, limits[1])
    return LiteralMatches.from_columns(left[row], right, group_matches.probability[match[row]])


def _list_members(
    groups: IntArray, group_of_member: IntArray, limit: int
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """The first members of each entry of `groups`, as positions of entries and member ids."""
    order = np.argsort(group_of_member, kind="stable")
    sorted_groups = group_of_member[order]
    first = np.searchsorted(sorted_groups, groups)
    count = np.minimum(np.searchsorted(sorted_groups, groups, side="right") - first, limit)
    row = np.repeat(np.arange(len(groups)), count)
    # The position of each row within its own group: 0, 1, … from the group's first row on.
    within = np.arange(len(row)) - np.repeat(np.cumsum(count) - count, count)
    return row, order[first[row] + within]
