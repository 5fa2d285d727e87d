"""What a state contains, wherever its blocks lie: for comparisons."""

from __future__ import annotations

from typing import Any

import numpy as np

from everalign.graph.growing import list_block_rows, repeat_keys
from everalign.methods.evidence.adjacency_updates import EDGE_COLUMNS, GrowingAdjacency
from everalign.methods.evidence.alignment_state import AlignmentState
from everalign.methods.evidence.relations import Matches

Contents = dict[str, list[Any]]


def list_contents(state: AlignmentState) -> Contents:
    """Everything that a later update can depend on, in an order of its own."""
    blocks = state.blocks
    store = blocks.candidates
    pairs = store.list_all()
    contents: Contents = {"left": pairs.left.tolist(), "right": pairs.right.tolist()}
    for name in store.rows.names():
        contents[name] = np.nan_to_num(store.column(name)[pairs.row], nan=-1).tolist()
    by_right = store.by_right
    rights = np.flatnonzero(by_right.stop > by_right.start)
    contents["by_right"] = [
        repeat_keys(*by_right, rights).tolist(),
        store.lefts["left"][list_block_rows(*by_right, rights)].tolist(),
    ]
    contents |= {f"sum_{name}": values.tolist() for name, values in blocks.sums._asdict().items()}
    view = blocks.matches.view
    contents["left_matches"], contents["right_matches"] = map(
        list_matches, (view.left, view.right)
    )
    for side, graph in zip(("left", "right"), blocks.adjacency, strict=True):
        contents |= {f"{side}_{name}": rows for name, rows in _list_edges(graph).items()}
    contents["lists"] = [
        sorted(map(tuple, blocks.anchors.tolist())),
        sorted(map(tuple, blocks.rejected.tolist())),
        *(sorted(ids.tolist()) for ids in blocks.excluded),
        *(np.flatnonzero(mask).tolist() for mask in blocks.searchable),
    ]
    shares = state.shares
    contents["shares"] = [part.tolist() for part in (*shares.first, *shares.share)]
    contents["scalars"] = [state.threshold, state.changed_fact_count, state.notes]
    return contents


def list_matches(matches: Matches) -> list[tuple[int, int, float]]:
    nodes = np.flatnonzero(matches.stop > matches.start)
    rows = list_block_rows(matches.start, matches.stop, nodes)
    return list(
        zip(
            repeat_keys(matches.start, matches.stop, nodes).tolist(),
            matches.counterpart[rows].tolist(),
            matches.probability[rows].tolist(),
            strict=True,
        )
    )


def _list_edges(graph: GrowingAdjacency) -> Contents:
    view = graph.view
    nodes = np.arange(view.node_count)
    rows = list_block_rows(view.start, view.stop, nodes)
    contents: Contents = {
        name: getattr(view, name)[rows].tolist() for name in EDGE_COLUMNS if name != "group_end"
    }
    start = np.repeat(view.start, view.stop - view.start)
    contents["group_end"] = (view.group_end[rows] - start).tolist()
    contents["sizes"] = (view.stop - view.start).tolist()
    has_edges = np.flatnonzero(view.stop > view.start)
    entities = has_edges[has_edges < view.literal_offset]
    contents["literal_start"] = (view.literal_start[entities] - view.start[entities]).tolist()
    contents["degree_discount"] = view.degree_discount[entities].tolist()
    contents["entity_count"] = [graph.entity_count]
    return contents
