"""Parameters for graphs that have grown: what was learned, and inductive initialisation.

Learned rows are copied to the place that their entity or relation has in the larger graphs. New
entities are initialised from the known ones around them.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.base import AlignmentTask, StateArrays
from everalign.methods.neural.pairs import NodeArray


class GraphShape(NamedTuple):
    """Numbers of entities and relations, which fix the rows of the parameter tables.

    Left rows come before right ones, so every right row moves when the left graph grows.
    """

    left_entities: int
    right_entities: int
    left_relations: int
    right_relations: int

    @staticmethod
    def from_task(task: AlignmentTask) -> GraphShape:
        """Count the entities and relations of a task.

        Args:
            task: The alignment task.

        Returns:
            The shape of its graphs.
        """
        left, right = task.left, task.right
        return GraphShape(
            left.entity_count, right.entity_count, left.relation_count, right.relation_count
        )

    @property
    def node_count(self) -> int:
        """Nodes of the union graph."""
        return self.left_entities + self.right_entities

    @property
    def directed_relation_count(self) -> int:
        """Relations of the union graph, with their inverses."""
        return 2 * (self.left_relations + self.right_relations)

    def find_node_rows(self, grown: GraphShape) -> NodeArray:
        """Find the nodes of this shape among those of a grown one.

        Args:
            grown: The shape of the same graphs with more entities.

        Returns:
            The row of each node.

        Example:
            >>> GraphShape(2, 1, 0, 0).find_node_rows(GraphShape(4, 3, 0, 0)).tolist()
            [0, 1, 4]
        """
        right_rows = grown.left_entities + np.arange(self.right_entities)
        return np.concatenate([np.arange(self.left_entities), right_rows])

    def find_relation_rows(self, grown: GraphShape) -> NodeArray:
        """Find the directed relations of this shape among those of a grown one.

        Args:
            grown: The shape of the same graphs with more relations.

        Returns:
            The row of each directed relation, forward ones first.
        """
        right_rows = grown.left_relations + np.arange(self.right_relations)
        forward = np.concatenate([np.arange(self.left_relations), right_rows])
        # Inverses come after the forward relations of both graphs, so they move by half the table.
        return np.concatenate([forward, forward + grown.directed_relation_count // 2])


def transfer_parameters(
    module: nn.Module, learned: StateArrays, before: GraphShape, now: GraphShape
) -> NDArray[np.bool_]:
    """Copy learned parameters into a module that was made for grown graphs.

    Parameters named `entity` (also those of submodules) have a row for each node, those named
    `relation` a row for each directed relation; others do not depend on the graphs. A new
    relation is initialised with the mean of the known ones.

    Args:
        module: The module for the grown graphs; changed in place.
        learned: Its parameters by name, as learned on the smaller graphs.
        before: Shape of the smaller graphs.
        now: Shape of the grown graphs.

    Returns:
        Which nodes are known; the entity rows of the others are left as they are.
    """
    known_rows = before.find_node_rows(now)
    rows = {"entity": known_rows, "relation": before.find_relation_rows(now)}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            value = torch.from_numpy(learned[name])
            # A parameter of a submodule has a path as name, such as `encoder.entity`.
            table = name.rpartition(".")[2]
            # All rows get the mean, and the known ones are overwritten below. No rows have no
            # mean.
            if table == "relation" and len(value):
                parameter[:] = value.mean(0)
            # `...` stands for the whole of a parameter that does not depend on the graphs.
            parameter[rows.get(table, ...)] = value
    is_known = np.zeros(now.node_count, dtype=np.bool_)
    is_known[known_rows] = True
    return is_known


def iterate_rings(
    graph: UnionGraph, is_known: NDArray[np.bool_]
) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
    """Iterate over the unknown nodes, nearest to the known ones first.

    A node whose neighbours are all unknown is reached through them, one ring after the other.
    Nodes that are not connected to any known one are in no ring.

    Args:
        graph: The union graph.
        is_known: Which nodes are known.

    Yields:
        The nodes of a ring, and which edges lead from them to known nodes or earlier rings.
    """
    is_reached = is_known.copy()
    while True:
        # Every edge is there in both directions: the edges that leave a node lead to all
        # neighbours.
        is_border = is_reached[graph.target] & ~is_reached[graph.source]
        if not is_border.any():
            return
        ring = np.unique(graph.source[is_border])
        yield ring, is_border
        # Only after the yield: the caller has filled this ring when the next one reads it.
        is_reached[ring] = True


def initialise_from_neighbours(
    graph: UnionGraph, entity: NDArray[np.float32], is_known: NDArray[np.bool_]
) -> None:
    """Initialise unknown entities with the mean of their known neighbours, ring by ring.

    Args:
        graph: The union graph.
        entity: Entity embeddings; rows of unknown nodes are filled in place. Those of nodes that
            are not connected to any known one are left as they are.
        is_known: Which nodes are known.
    """
    for ring, is_border in iterate_rings(graph, is_known):
        # Edges are sorted by source: the border edges of a node are one run.
        first_edge = np.searchsorted(graph.source[is_border], ring)
        # No run is empty, which `reduceat` could not sum: a node of a ring has a border edge.
        total = np.add.reduceat(entity[graph.target[is_border]], first_edge, axis=0)
        entity[ring] = total / np.diff(np.append(first_edge, is_border.sum()))[:, None]
