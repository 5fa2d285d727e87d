"""Everything that an update needs, in blocks: both graphs, candidates, matches, relation sums.

The parts depend on each other, and the functions here keep them in line: a change of the facts
changes adjacency and relation sums, a change of match probabilities changes matches and relation
sums. Each costs as much as what it touches.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign._numba import jit_cached
from everalign.graph import IntArray
from everalign.graph.growing import Offsets, list_block_rows, repeat_keys
from everalign.graph.id_sets import mark_members, union_ids, unique_ids
from everalign.literals import LiteralMatches
from everalign.literals.index import LiteralIndex
from everalign.methods.evidence.adjacency import Adjacency, BoolArray, FloatArray, OffsetArray
from everalign.methods.evidence.adjacency_updates import GrowingAdjacency
from everalign.methods.evidence.candidate_store import (
    CONTRIBUTION_COLUMNS,
    CandidateStore,
    MatchStore,
    SideIndex,
    derive_matches,
)
from everalign.methods.evidence.categories import CategoryAlignment
from everalign.methods.evidence.config import EvidenceParameters
from everalign.methods.evidence.dangling import MatchState
from everalign.methods.evidence.grounding import NO_LEVEL, compute_levels, refresh_levels
from everalign.methods.evidence.propagation import GraphPair, select_matches
from everalign.methods.evidence.relation_sums import RelationSums, SumsChange
from everalign.methods.evidence.relations import Matches, RelationInclusions

LEFT, RIGHT = range(2)
PAIR_BITS = 32  # of an id, in a pair as one number

EntityIds = tuple[Offsets, Offsets]


@dataclass(frozen=True)
class PriorShares:
    """How probable it is, before any evidence, that an entity has a counterpart.

    Entities that came in the same step share it: groups of ids, since ids are given in the order
    of arrival.

    Attributes:
        first: The first id of each group, of the left and of the right graph.
        share: The share of each group.
    """

    first: tuple[Offsets, Offsets]
    share: tuple[FloatArray, FloatArray]

    @staticmethod
    def from_entity_counts(
        entity_counts: NDArray[np.int64], shares: tuple[FloatArray, FloatArray]
    ) -> PriorShares:
        """Build the shares of a training.

        Args:
            entity_counts: Rows of the numbers of left and right entities at each training so far.
            shares: The share of the entities that came between each of them and the one before.

        Returns:
            The shares.
        """
        first = np.concatenate([np.zeros((1, 2), dtype=np.int64), entity_counts[:-1]])
        return PriorShares((first[:, LEFT].copy(), first[:, RIGHT].copy()), shares)

    def look_up(self, side: int, entities: NDArray[np.integer]) -> tuple[FloatArray, Offsets]:
        """Look up the share of entities.

        Args:
            side: LEFT or RIGHT.
            entities: Entities of this side.

        Returns:
            The share of each, and the number of its group.
        """
        group = np.searchsorted(self.first[side], entities, side="right") - 1
        return self.share[side][group], group

    def append(self, side: int, first: int, share: float) -> PriorShares:
        """Add a group of new entities.

        Args:
            side: LEFT or RIGHT.
            first: The first id of the group.
            share: Its share.

        Returns:
            The shares with one group more.
        """
        firsts, shares = list(self.first), list(self.share)
        firsts[side] = np.append(firsts[side], first)
        shares[side] = np.append(shares[side], np.float32(share))
        return PriorShares((firsts[0], firsts[1]), (shares[0], shares[1]))


@dataclass(frozen=True)
class FactChange:
    """The facts that one graph gains and loses, in numbers of nodes.

    Attributes:
        added: Rows of (head, relation, tail) that are not there.
        removed: Rows that are there.
        entity_count: Number of entities after the change.
    """

    added: IntArray
    removed: IntArray
    entity_count: int

    @property
    def is_empty(self) -> bool:
        """Whether no fact changes."""
        return not len(self.added) and not len(self.removed)

    def list_nodes(self) -> Offsets:
        """List the nodes whose edges change.

        Returns:
            Entities and literals, ascending and distinct.
        """
        rows = np.concatenate([self.added, self.removed])
        return unique_ids(rows[:, [0, 2]]).astype(np.int64)


class IncrementalState:
    """The parts of an alignment that follow changes.

    Args:
        config: Settings and constants.
        adjacency: Left and right graph.
        candidates: The candidates.
        matches: The matches.
        sums: The sums behind relation alignment.
        anchors: Rows of (left, right): links with match probability 1.
        rejected: Rows of (left, right) that are no candidates.
        excluded: Left and right entities that have no counterpart, by decision.
        literals: The literals of both graphs, if both have any.
        categories: Which classes and shared values corresponded at the last training.
    """

    def __init__(
        self,
        config: EvidenceParameters,
        adjacency: tuple[GrowingAdjacency, GrowingAdjacency],
        candidates: CandidateStore,
        matches: MatchStore,
        sums: RelationSums,
        anchors: IntArray,
        rejected: IntArray,
        excluded: tuple[IntArray, IntArray],
        literals: LiteralIndex | None = None,
        categories: CategoryAlignment | None = None,
    ) -> None:
        self.config = config
        self.adjacency = adjacency
        self.candidates = candidates
        self.matches = matches
        self.sums = sums
        self.rejected = rejected
        self.excluded = excluded
        self.literals = literals
        self.categories = categories
        self._set_anchors(anchors)
        # At once: an update compares with how it was before.
        self.searchable = self._find_searchable()
        # Before the update, to tell which entities are new.
        self.known_counts = adjacency[0].entity_count, adjacency[1].entity_count

    @staticmethod
    def from_training(
        graphs: GraphPair,
        state: MatchState,
        literals: LiteralIndex | None,
        excluded: tuple[IntArray, IntArray],
    ) -> IncrementalState:
        """Make the result of a training follow updates.

        Args:
            graphs: The graphs with all trusted links as anchors.
            state: The candidates and what is known of them.
            literals: The literals of both graphs, if both have any.
            excluded: Left and right entities that have no counterpart, by decision.

        Returns:
            The alignment in blocks, without confidence and selection.
        """
        table, probability = state.probabilities.table, state.probabilities.probability
        matches = select_matches(graphs, state.probabilities)
        sums = RelationSums.from_graphs(graphs.left, graphs.right, matches)
        node = np.repeat(np.arange(graphs.left.node_count), matches.left.stop - matches.left.start)
        is_certain = ~graphs.searchable[LEFT][node]
        # Matches of a searchable entity are candidates, or anchors if it may have more links.
        rows = table.find_rows(node[~is_certain], matches.left.counterpart[~is_certain])
        is_certain[~is_certain] = rows < 0
        level = compute_levels(
            graphs.left,
            graphs.right,
            matches.left,
            sums.compute_inclusions(graphs.config).left,
            graphs.config.min_evidence_weight,
            is_certain,
        )
        candidate_level = np.full(len(probability), NO_LEVEL, dtype=np.int32)
        candidate_level[rows[rows >= 0]] = level[~is_certain]
        columns: dict[str, NDArray[Any]] = {
            "probability": probability,
            "support": state.support,
            "joint_frequency_left": state.joint_frequency[LEFT],
            "joint_frequency_right": state.joint_frequency[RIGHT],
            "dangling": state.dangling,
            "confidence": np.zeros_like(probability),
            "earlier_confidence": np.zeros_like(probability),
            "level": candidate_level,
            "selected": np.zeros(len(probability), dtype=np.bool_),
            **dict(zip(CONTRIBUTION_COLUMNS, state.contributions.T, strict=True)),
            **state.literal_scores,
        }
        adjacency = (
            GrowingAdjacency.from_adjacency(graphs.left, graphs.config),
            GrowingAdjacency.from_adjacency(graphs.right, graphs.config),
        )
        return IncrementalState(
            graphs.config,
            adjacency,
            CandidateStore.from_columns(
                table.left,
                table.right,
                columns,
                (graphs.left.literal_offset, graphs.right.literal_offset),
            ),
            MatchStore.from_index(
                matches, level, (adjacency[LEFT].node_capacity, adjacency[RIGHT].node_capacity)
            ),
            sums,
            graphs.anchors,
            graphs.rejected,
            excluded,
            literals,
            graphs.categories,
        )

    def _find_searchable(self) -> tuple[BoolArray, BoolArray]:
        """Which nodes can be candidates: entities that have facts and may have more links."""
        masks = []
        for side in (LEFT, RIGHT):
            view, graph = self.adjacency[side].view, self.adjacency[side]
            mask = view.stop > view.start
            mask[graph.literal_offset :] = False
            if self.config.cardinality.unique_sides[side]:
                mask[self.anchors[:, side]] = False
            mask[self.excluded[side]] = False
            masks.append(mask)
        return masks[LEFT], masks[RIGHT]

    @property
    def graphs(self) -> GraphPair:
        """Both graphs as they are now; not valid after the next change of facts."""
        left, right = self.adjacency
        return GraphPair(left.view, right.view, self.anchors, self.config, rejected=self.rejected)

    @property
    def inclusions(self) -> RelationInclusions:
        """The relation alignment under the present facts and matches."""
        return self.sums.compute_inclusions(self.config)

    def change_facts(self, changes: tuple[FactChange, FactChange]) -> EntityIds:
        """Add and remove facts.

        Args:
            changes: What the left and the right graph gain and lose.

        Returns:
            Left and right nodes whose edges have changed.
        """
        left, right = changes[LEFT].list_nodes(), changes[RIGHT].list_nodes()
        # A right edge counts where its two ends are matched to the ends of a left edge.
        matched = _list_counterparts(self.matches.view.right, right)
        left_nodes = union_ids(left, matched)
        self._sum_edges(left_nodes, right, -1)
        self.replace_facts(changes)
        self._sum_edges(left_nodes, right, 1)
        return left, right

    def replace_facts(self, changes: tuple[FactChange, FactChange]) -> EntityIds:
        """Add and remove facts, without a change of the relation sums.

        Args:
            changes: What the left and the right graph gain and lose.

        Returns:
            Left and right nodes whose edges have changed.
        """
        # Computed when first asked for: `update_searchable` compares with how it was before.
        _ = self.searchable
        left, right = self.adjacency
        self.known_counts = left.entity_count, right.entity_count
        for graph, change in zip(self.adjacency, changes, strict=True):
            graph.entity_count = change.entity_count
            graph.update(change.added, change.removed)
        return changes[LEFT].list_nodes(), changes[RIGHT].list_nodes()

    def change_links(
        self, anchors: IntArray, rejected: IntArray, excluded: tuple[IntArray, IntArray]
    ) -> None:
        """Replace trusted links and rejected pairs; call `update_searchable` afterwards.

        Args:
            anchors: All trusted links.
            rejected: All rejected pairs.
            excluded: All left and right entities that have no counterpart by decision.
        """
        self.rejected, self.excluded = rejected, excluded
        if anchors is not self.anchors:
            self._set_anchors(anchors)

    def update_searchable(self, entities: EntityIds) -> EntityIds:
        """Find out again which entities can be candidates.

        Args:
            entities: Left and right entities whose facts, anchors or decisions have changed.

        Returns:
            Those of them that could be candidates and no longer can.
        """
        lost = []
        for side in (LEFT, RIGHT):
            view, ids = self.adjacency[side].view, entities[side]
            now = view.stop[ids] > view.start[ids]
            if self.config.cardinality.unique_sides[side]:
                now &= ~mark_members(self._sorted_anchors[side][:, side], ids)
            now &= ~np.isin(ids, self.excluded[side])
            lost.append(ids[self.searchable[side][ids] & ~now])
            self.searchable[side][ids] = now
        return lost[LEFT], lost[RIGHT]

    def drop_candidates(
        self, entities: EntityIds, pairs: NDArray[np.integer]
    ) -> tuple[Offsets, Offsets]:
        """Remove candidates that are no longer admissible.

        Args:
            entities: Left and right entities that can no longer be candidates.
            pairs: Rows of (left, right) that were rejected.

        Returns:
            Left and right entities of the removed candidates that were matches.
        """
        rows = self.candidates.find_rows(pairs[:, LEFT], pairs[:, RIGHT])
        rejected = pairs[rows >= 0].astype(np.int64)
        touching = self.candidates.list_touching(*entities)
        left = np.concatenate([touching.left, rejected[:, LEFT]])
        right = np.concatenate([touching.right, rejected[:, RIGHT]])
        if not len(left):
            return left, right
        row = np.concatenate([touching.row, rows[rows >= 0]])
        owners = unique_ids(left)
        old = self.candidates.list_pairs(owners)
        keep = ~mark_members(np.sort(row), old.row)
        self.candidates.replace_blocks(
            old,
            owners,
            old.left[keep],
            old.right[keep],
            self._read_columns(old.row[keep]),
        )
        was_match = self.candidates.column("probability")[row] >= self.config.min_match_probability
        return left[was_match], right[was_match]

    def refresh_matches(self, left: Offsets, right: Offsets) -> None:
        """Derive matches again after match probabilities or anchors have changed.

        Args:
            left: Left entities of changed pairs.
            right: Right entities of changed pairs.
        """
        left, right = unique_ids(left), unique_ids(right)
        # The probabilities of one entity are shared out over its pairs, so that a change of one
        # pair changes those of all pairs of its two entities.
        all_left = union_ids(left, self.candidates.find_lefts(right))
        all_right = union_ids(right, self.candidates.list_pairs(left).right)
        (left_node, left_columns), (right_node, right_columns) = derive_matches(
            self.candidates,
            all_left,
            all_right,
            self.config.min_match_probability,
            self.searchable,
            self.config.cardinality,
        )
        self.matches.replace_left(
            all_left, *self._add_anchors(LEFT, all_left, left_node, left_columns)
        )
        self.matches.replace_right(
            all_right, *self._add_anchors(RIGHT, all_right, right_node, right_columns)
        )

    def add_literal_matches(self, matches: LiteralMatches) -> None:
        """Add matches of literals.

        Args:
            matches: Pairs of literals that were no match before.
        """
        left = matches.left.astype(np.int64) + self.adjacency[LEFT].literal_offset
        right = matches.right.astype(np.int64) + self.adjacency[RIGHT].literal_offset
        for nodes, others, columns, index, replace in (
            (left, right, self.matches.left, self.matches.by_left, self.matches.replace_left),
            (right, left, self.matches.right, self.matches.by_right, self.matches.replace_right),
        ):
            owners = unique_ids(nodes)
            rows = list_block_rows(*index, owners)
            node = np.concatenate([repeat_keys(*index, owners), nodes])
            counterpart = np.concatenate([columns["counterpart"][rows], others])
            values = np.concatenate([columns["probability"][rows], matches.probability])
            order = np.lexsort((counterpart, node))
            new = [counterpart[order], values[order], np.zeros(len(order), np.int32)]
            replace(owners, node[order], new[: len(columns.names())])

    def settle_sums(self) -> None:
        """Bring the relation sums in line with matches that have changed since the last call."""
        left, old_left = self.matches.left_history.collect()
        right, old_right = self.matches.right_history.collect()
        new_left = _swap_blocks(self.matches.by_left, left, old_left)
        new_right = _swap_blocks(self.matches.by_right, right, old_right)
        self._sum_edges(left, right, -1)
        _swap_blocks(self.matches.by_left, left, new_left)
        _swap_blocks(self.matches.by_right, right, new_right)
        self._sum_edges(left, right, 1)

    def restore_sums(self, change: SumsChange) -> None:
        """Take over the relation sums that belong to matches and facts that were restored.

        Args:
            change: By how much they differ from those before.
        """
        self.matches.left_history.collect()
        self.matches.right_history.collect()
        self.sums = self.sums.apply_change(change)

    def drop_ungrounded(
        self, inclusions: RelationInclusions, left: Offsets
    ) -> tuple[Offsets, Offsets]:
        """Set the match probability of matches to 0 that rest on one another alone.

        Args:
            inclusions: Relation alignment.
            left: Left entities whose matches may have lost evidence or are new.

        Returns:
            Left and right entities of the matches that were dropped.
        """
        graphs, matches = self.graphs, self.matches
        level = matches.left["level"]
        rows = list_block_rows(*matches.by_left, left)
        nodes = repeat_keys(*matches.by_left, left)
        uncertain = level[rows] > 0
        checked, owners = refresh_levels(
            graphs.left,
            graphs.right,
            matches.view.left,
            inclusions.left,
            self.config.min_evidence_weight,
            level,
            rows[uncertain],
            nodes[uncertain],
        )
        # Levels are kept with the candidates, from which matches are derived.
        self.candidates.rewrite_blocks(unique_ids(owners))
        counterpart = matches.left["counterpart"][checked].astype(np.int64)
        candidate = self.candidates.find_rows(owners, counterpart)
        self.candidates.column("level")[candidate] = level[checked]
        lost = level[checked] == NO_LEVEL
        self.candidates.set_unsupported(candidate[lost])
        self.refresh_matches(owners[lost], counterpart[lost])
        return owners[lost], counterpart[lost]

    def drop_old_rows(self) -> None:
        """Leave out the rows that nobody refers to any more."""
        left, right = self.adjacency
        self.adjacency = left.pack(), right.pack()
        self.candidates = self.candidates.pack()
        self.matches = self.matches.pack()

    def find_neighbours(self, side: int, entities: Offsets) -> Offsets:
        """Find the entities whose scores depend on the matches of others.

        Args:
            side: LEFT or RIGHT.
            entities: Entities of this side.

        Returns:
            The neighbours that they determine at least by `min_spreading_functionality`.
        """
        graph = self.adjacency[side]
        found = _list_neighbours(
            graph.view, unique_ids(entities), self.config.min_spreading_functionality
        )
        return unique_ids(found[found < graph.literal_offset])

    def _add_anchors(
        self, side: int, nodes: Offsets, node: Offsets, columns: list[NDArray[Any]]
    ) -> tuple[Offsets, list[NDArray[Any]]]:
        """Add the anchors of some nodes to their other matches."""
        anchors = self._list_anchors(side, nodes)
        certain = [anchors[:, 1 - side], np.ones(len(anchors)), np.zeros(len(anchors))]
        all_nodes = np.concatenate([node, anchors[:, side]])
        counterparts = np.concatenate([columns[0], certain[0]])
        order = np.lexsort((counterparts, all_nodes))
        return all_nodes[order], [
            np.concatenate([values, more])[order]
            for values, more in zip(columns, certain[: len(columns)], strict=True)
        ]

    def _set_anchors(self, anchors: IntArray) -> None:
        self.anchors = anchors
        # By left and by right entity: there are many, and an update asks for few.
        self._sorted_anchors = _sort_pairs(anchors, LEFT), _sort_pairs(anchors, RIGHT)

    def _list_anchors(self, side: int, nodes: Offsets) -> IntArray:
        """The anchors of some nodes of a side."""
        anchors = self._sorted_anchors[side]
        start, stop = (np.searchsorted(anchors[:, side], nodes, end) for end in ("left", "right"))
        return anchors[list_block_rows(start, stop, np.arange(len(nodes)))]

    def _read_columns(self, rows: Offsets) -> dict[str, NDArray[np.generic]]:
        store = self.candidates
        return {name: store.rows[name][rows] for name in store.rows.names() if name != "right"}

    def _sum_edges(self, left: Offsets, right: Offsets, sign: int) -> None:
        graphs = self.graphs
        self.sums = self.sums.add_edges(
            graphs.left, graphs.right, self.matches.view, left, right, sign
        )


def _sort_pairs(pairs: IntArray, side: int) -> IntArray:
    """Sort pairs by the entity of one side, then by the other."""
    # As one number each: that takes a tenth of the time of finding their order.
    keys = np.sort(pairs[:, side].astype(np.int64) << PAIR_BITS | pairs[:, 1 - side])
    columns = keys >> PAIR_BITS, keys & ((1 << PAIR_BITS) - 1)
    return np.stack(columns if side == LEFT else columns[::-1], axis=1).astype(np.int32)


def _swap_blocks(index: SideIndex, keys: Offsets, places: SideIndex) -> SideIndex:
    """Put blocks to other places; returns where they were."""
    before = SideIndex(index.start[keys], index.stop[keys])
    index.start[keys], index.stop[keys] = places
    return before


def _list_counterparts(matches: Matches, nodes: Offsets) -> Offsets:
    rows = list_block_rows(matches.start, matches.stop, nodes)
    return unique_ids(matches.counterpart[rows]).astype(np.int64)


@jit_cached()
def _list_neighbours(
    adjacency: Adjacency, entities: Offsets, min_functionality: float
) -> OffsetArray:
    capacity, count = 1024, 0
    out = np.empty(capacity, dtype=np.int64)
    for entity in entities:
        for edge in range(adjacency.start[entity], adjacency.stop[entity]):
            if adjacency.functionality[edge] >= min_functionality:
                if count == capacity:
                    capacity *= 2
                    out = np.concatenate((out, np.empty_like(out)))
                out[count] = adjacency.neighbour[edge]
                count += 1
    return out[:count]
