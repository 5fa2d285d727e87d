"""How what was learned goes over to larger graphs, and where new entities start."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from everalign.graph import IntArray, UnionGraph
from everalign.methods.neural.sizes import Sizes
from everalign.methods.protocol import Arrays


def take_over(module: nn.Module, values: Arrays, before: Sizes, now: Sizes) -> NDArray[np.bool_]:
    """Give a module for the larger graphs what one for the smaller graphs has learned.

    Its parameters `entity`, and those of its parts, have a row for each node, `relation` one for
    each directed relation; a new relation starts from the mean of the known ones. Returns which
    nodes are known: the rows of the others are as the module was made.
    """
    known = before.nodes_in(now)
    place = {"entity": known, "relation": before.directed_in(now)}
    with torch.no_grad():
        for name, parameter in module.named_parameters():
            value = torch.from_numpy(values[name])
            kind = name.rpartition(".")[2]
            if kind == "relation" and len(value):
                parameter[:] = value.mean(0)
            parameter[place.get(kind, ...)] = value
    is_known = np.zeros(now.nodes, dtype=np.bool_)
    is_known[known] = True
    return is_known


def rings(
    graph: UnionGraph, known: NDArray[np.bool_]
) -> Iterator[tuple[IntArray, NDArray[np.bool_]]]:
    """The unknown nodes, nearest to the known ones first, and which edges lead them back.

    A node whose neighbours are all new is reached through them, one ring after the other. Nodes
    that are not connected to any known one are in no ring.
    """
    known = known.copy()
    while True:
        border = known[graph.target] & ~known[graph.source]
        if not border.any():
            return
        ring = np.unique(graph.source[border])
        yield ring, border
        known[ring] = True


def inductive_start(
    graph: UnionGraph, entity: NDArray[np.float32], known: NDArray[np.bool_]
) -> None:
    """Fill the rows of unknown entities in place with the mean of the rings before theirs.

    Entities that are not connected to any known one keep the row they have.
    """
    for ring, border in rings(graph, known):
        first = np.searchsorted(graph.source[border], ring)
        total = np.add.reduceat(entity[graph.target[border]], first, axis=0)
        entity[ring] = total / np.diff(np.append(first, border.sum()))[:, None]
