"""The first snapshot: given, or drawn around links of well-connected entities.

The paper begins with DBP15K. What follows is made after it: links are drawn whose entities have
some triples, and their entities are present with the triples that lead from them to an entity
that has a link, too.
"""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from everalign.datasets.config import BuildConfig
from everalign.datasets.growth import GrowingSide, Mask
from everalign.datasets.sources import LargeGraph
from everalign.errors import ConfigError, InputError
from everalign.graph import IntArray

Graphs = tuple[LargeGraph, LargeGraph]
Sides = tuple[GrowingSide, GrowingSide]

MOST_BASE_LINKS = 15_000


def begin(graphs: Graphs, links: IntArray, config: BuildConfig, rng: Generator) -> Sides:
    """Both sides at the first snapshot."""
    left, right = graphs
    if left.base is not None:
        bases = _given(left), _given(right)
    else:
        drawn = _drawn(graphs, links, config, rng)
        bases = _around(left, drawn[:, 0], links[:, 0]), _around(right, drawn[:, 1], links[:, 1])
    for side, base in zip(("left", "right"), bases, strict=True):
        if not base.any():
            raise InputError(f"the first snapshot has no triples of the {side} graph")
    return GrowingSide(left.triples, bases[0]), GrowingSide(right.triples, bases[1])


def _given(graph: LargeGraph) -> Mask:
    return np.arange(len(graph.triples)) < (graph.base or 0)


def _drawn(graphs: Graphs, links: IntArray, config: BuildConfig, rng: Generator) -> IntArray:
    """Some of the links whose entities have enough triples on either side."""
    left, right = (_degrees(graph) >= config.min_triples for graph in graphs)
    fit = links[left[links[:, 0]] & right[links[:, 1]]]
    wanted = config.base_links or min(MOST_BASE_LINKS, (len(fit) + 1) // 2)
    if wanted > len(fit):
        raise ConfigError(
            f"base_links is {wanted}, but only {len(fit)} links join entities with at least "
            f"{config.min_triples} triples each"
        )
    return fit[rng.choice(len(fit), wanted, replace=False)]


def _degrees(graph: LargeGraph) -> IntArray:
    degrees = np.zeros(graph.entities, dtype=np.int32)
    for column in (0, 2):
        degrees += np.bincount(graph.triples[:, column], minlength=graph.entities).astype(np.int32)
    return degrees


def _around(graph: LargeGraph, drawn: IntArray, linked: IntArray) -> Mask:
    """Which triples are in the first snapshot: those between the entities that are present."""
    head, tail = graph.triples[:, 0], graph.triples[:, 2]
    leads = _mask(drawn, graph.entities)[head] & _mask(linked, graph.entities)[tail]
    present = _mask(graph.triples[leads][:, [0, 2]], graph.entities)
    return present[head] & present[tail]


def _mask(entities: IntArray, size: int) -> Mask:
    mask = np.zeros(size, dtype=bool)
    mask[entities] = True
    return mask
