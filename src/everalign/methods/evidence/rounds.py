"""The rounds of a training: only entities that see other matches than before are compared."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.graph.id_sets import unique_ids
from everalign.matching import NO_PAIRS
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.candidates import CandidateTable, MatchProbabilities
from everalign.methods.evidence.features import ComparedCandidates, compare_all_literals
from everalign.methods.evidence.neighbourhood import compare_neighbourhoods
from everalign.methods.evidence.propagation import GraphPair, find_candidates, select_matches
from everalign.methods.evidence.relations import align_relations


class AffectedEntities(NamedTuple):
    """Which left and right entities have to be compared again."""

    left: BoolArray
    right: BoolArray

    @staticmethod
    def from_ids(sizes: tuple[int, int], left: IntArray, right: IntArray) -> AffectedEntities:
        """Mark the given entities.

        Args:
            sizes: Number of left and right entities.
            left: Ids of left entities.
            right: Ids of right entities.

        Returns:
            The marked entities.
        """
        masks = []
        for size, ids in zip(sizes, (left, right), strict=True):
            mask = np.zeros(size, dtype=np.bool_)
            mask[ids] = True
            masks.append(mask)
        return AffectedEntities(*masks)

    @staticmethod
    def from_neighbours(graphs: GraphPair, left: IntArray, right: IntArray) -> AffectedEntities:
        """Mark the neighbours of the given entities.

        Args:
            graphs: The graphs.
            left: Ids of left entities.
            right: Ids of right entities.

        Returns:
            The neighbours that these entities determine at least by `min_neighbour_functionality`.
        """
        return AffectedEntities(
            _mark_neighbours(graphs.left, left, graphs.config.min_neighbour_functionality),
            _mark_neighbours(graphs.right, right, graphs.config.min_neighbour_functionality),
        )

    def mark_rows(self, table: CandidateTable) -> BoolArray:
        """Mark the candidates with an affected entity.

        Args:
            table: The candidates.

        Returns:
            A mask over the rows.
        """
        return self.left[table.left] | self.right[table.right]


def _mark_neighbours(
    adjacency: Adjacency, entities: IntArray, min_functionality: float
) -> BoolArray:
    # Literals can be neighbours too; they are cut off below, since nobody compares them again.
    mask = np.zeros(adjacency.node_count, dtype=np.bool_)
    _fill_neighbours(adjacency, unique_ids(entities), min_functionality, mask)
    return mask[: adjacency.entity_count]


@jit_cached()
def _fill_neighbours(
    adjacency: Adjacency, entities: IntArray, min_functionality: float, mask: BoolArray
) -> None:
    for entity in entities:
        for edge in range(adjacency.start[entity], adjacency.stop[entity]):
            if adjacency.functionality[edge] >= min_functionality:
                mask[adjacency.neighbour[edge]] = True


def find_affected_neighbours(
    graphs: GraphPair,
    before: MatchProbabilities,
    after: MatchProbabilities,
    moved_links: IntArray = NO_PAIRS,
) -> AffectedEntities:
    """Find the neighbours of entities whose match probabilities have changed.

    Args:
        graphs: The graphs.
        before: Match probabilities before.
        after: Match probabilities now.

    Returns:
        The neighbours of pairs that have changed by `min_probability_change` or more.
    """
    table, change = after.table, after.probability - before.look_up(after.table)
    changed = np.abs(change) >= graphs.config.min_probability_change
    left, right = (
        np.concatenate([entities[changed], moved_links[:, side]])
        for side, entities in enumerate((table.left, table.right))
    )
    return AffectedEntities.from_neighbours(graphs, left, right)


def refresh_comparisons(
    old: ComparedCandidates,
    graphs: GraphPair,
    probabilities: MatchProbabilities,
    affected: AffectedEntities,
) -> ComparedCandidates:
    """Search and compare the candidates of affected entities again.

    Args:
        old: The compared candidates so far.
        graphs: The graphs, perhaps with other anchors.
        probabilities: Current match probabilities.
        affected: Entities to be compared again.

    Returns:
        The compared candidates of all entities. Of the affected ones, old candidates that are
        not found again stay if they are at all probable.
    """
    matches = select_matches(graphs, probabilities)
    relations = align_relations(graphs.left, graphs.right, matches, graphs.config)
    wanted = affected.left & graphs.unlinked[0], affected.right & graphs.unlinked[1]
    found = find_candidates(graphs, matches, relations, *wanted)
    # The search keeps few candidates for each entity. One that is probable must not be lost
    # because others have gained support: the classifier decides between them.
    probable = probabilities.look_up(old.table) >= graphs.config.forget_probability
    keep = ~affected.mark_rows(old.table) | probable
    table = graphs.build_candidates(
        np.concatenate([old.table.left[keep], found.left]),
        np.concatenate([old.table.right[keep], found.right]),
    )
    del found, probable, keep  # memory that the comparison needs
    old_rows = old.table.find_rows(table.left, table.right)
    rows = np.flatnonzero(affected.mark_rows(table) | (old_rows < 0))
    left, right = (_take_old_rows(side, old_rows) for side in old.comparison)
    compare_neighbourhoods(
        graphs, matches, relations, table.left[rows], table.right[rows], (left, right), rows
    )
    literals = compare_all_literals(graphs, matches, relations, table, old)
    previous = probabilities.look_up(table)
    return ComparedCandidates(graphs, table, (left, right), previous, rows, literals)


@jit_cached()
def _take_old_rows(comparison: FloatArray, old_rows: OffsetArray) -> FloatArray:
    """The old comparison of each candidate; those of new ones, with row -1, are left open."""
    out = np.empty((old_rows.size, comparison.shape[1]), dtype=np.float32)
    for row in range(old_rows.size):
        if old_rows[row] >= 0:
            for column in range(comparison.shape[1]):
                out[row, column] = comparison[old_rows[row], column]
    return out
