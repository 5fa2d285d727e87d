"""Adjacency lists and matches as updates leave them: blocks in any order, with unused space."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from everalign.methods.evidence.adjacency import Adjacency
from everalign.methods.evidence.relations import Matches, MatchIndex

SPARE_NODES, SPARE_EDGES = 3, 7
WRONG = 1_000_000  # an id that no kernel may follow


def move_blocks(adjacency: Adjacency, seed: int) -> Adjacency:
    """The same graph; the blocks of nodes have gaps between them and are in random order."""
    place, start, stop = _place_blocks(adjacency.start, adjacency.stop, seed)
    shift = start[: adjacency.node_count] - adjacency.start
    node = np.repeat(np.arange(adjacency.node_count), adjacency.stop - adjacency.start)

    def move(values: NDArray[Any]) -> NDArray[Any]:
        out = np.full(len(place) + SPARE_EDGES, WRONG, dtype=values.dtype)
        out[np.flatnonzero(place >= 0)] = values[place[place >= 0]]
        return out

    spare = np.zeros(SPARE_NODES)
    return adjacency._replace(
        start=start,
        stop=stop,
        relation=move(adjacency.relation),
        neighbour=move(adjacency.neighbour),
        group_end=move((adjacency.group_end + shift[node]).astype(np.int32)),
        functionality=move(adjacency.functionality),
        inverse_functionality=move(adjacency.inverse_functionality),
        sorted_relation=move(adjacency.sorted_relation),
        sorted_neighbour=move(adjacency.sorted_neighbour),
        literal_start=np.append(
            adjacency.literal_start + shift[: adjacency.entity_count], spare.astype(np.int64)
        ),
        degree_discount=np.append(adjacency.degree_discount, spare.astype(np.float32)),
    )


def move_matches(index: MatchIndex, seed: int) -> MatchIndex:
    """The same matches, moved in the same way."""
    return MatchIndex(*(_move_side(side, seed + n) for n, side in enumerate(index)))


def _move_side(matches: Matches, seed: int) -> Matches:
    place, start, stop = _place_blocks(matches.start, matches.stop, seed)
    counterpart = np.full(len(place) + SPARE_EDGES, WRONG, dtype=np.int32)
    probability = np.full(len(place) + SPARE_EDGES, np.nan, dtype=np.float32)
    counterpart[: len(place)][place >= 0] = matches.counterpart[place[place >= 0]]
    probability[: len(place)][place >= 0] = matches.probability[place[place >= 0]]
    return Matches(start, stop, counterpart, probability)


def _place_blocks(
    old_start: NDArray[np.int64], old_stop: NDArray[np.int64], seed: int
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Where each place comes from, -1 in gaps; and the new bounds, with spare nodes."""
    rng = np.random.default_rng(seed)
    start, stop = (np.zeros(len(old_start) + SPARE_NODES, dtype=np.int64) for _ in range(2))
    parts: list[NDArray[np.int64]] = []
    end = 0
    for node in rng.permutation(len(old_start)):
        gap = int(rng.integers(3))
        block = np.arange(old_start[node], old_stop[node])
        parts += [np.full(gap, -1), block]
        start[node], stop[node] = end + gap, end + gap + len(block)
        end += gap + len(block)
    return np.concatenate(parts), start, stop
