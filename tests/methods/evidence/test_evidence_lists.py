"""The evidence for a pair, against a plain search over all edges of both entities."""

from __future__ import annotations

import numpy as np
import pytest

from everalign._progress import no_progress
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.config import Config
from everalign.graph import Graph, Vocabulary, encode_links, encode_triples
from everalign.methods import AlignmentTask, EvidencePiece, create_method
from everalign.methods.evidence.evidence_lists import list_evidence
from everalign.methods.evidence.incremental_state import IncrementalState
from everalign.methods.evidence.method import Evidence
from everalign.methods.evidence.relations import find_inclusion
from everalign.methods.evidence.weights import compute_evidence_weight


@pytest.fixture(scope="module")
def fitted() -> tuple[Evidence, AlignmentTask]:
    sample = generate_sample(SampleConfig(triples=1500, snapshots=1))
    vocabularies = Vocabulary(), Vocabulary()
    left, right = (
        Graph.empty().with_triples(encode_triples(triples, names))
        for triples, names in zip((sample.left(0), sample.right(0)), vocabularies, strict=True)
    )
    seeds = encode_links(sample.seeds, *vocabularies)
    task = AlignmentTask(left, right, seeds, np.empty((0, 2), np.int32))
    method = create_method(Config())
    assert isinstance(method, Evidence)
    method.fit(task, no_progress)
    return method, task


def search_all_edges(state: IncrementalState, left: int, right: int) -> list[EvidencePiece]:
    graphs, matches, inclusion = state.graphs, state.matches.view.left, state.inclusions.left

    def edges(side: object, node: int) -> list[tuple[int, int, float]]:
        graph = graphs.left if side == "left" else graphs.right
        rows = range(int(graph.start[node]), int(graph.stop[node]))
        columns = graph.relation, graph.neighbour, graph.inverse_functionality
        return [(int(columns[0][n]), int(columns[1][n]), float(columns[2][n])) for n in rows]

    pieces = []
    for d, y, functionality in edges("left", left):
        for m in range(int(matches.start[y]), int(matches.stop[y])):
            for d2, y2, functionality2 in edges("right", right):
                if y2 == matches.counterpart[m]:
                    p = float(matches.probability[m])
                    both = find_inclusion(inclusion, d, d2)
                    weight = compute_evidence_weight(p, *both, functionality, functionality2)
                    ends = d >> 1, bool(d & 1), y, d2 >> 1, bool(d2 & 1), y2
                    pieces.append(EvidencePiece(*ends, p, weight))
    return pieces


def describe(pieces: object) -> set[tuple[object, ...]]:
    return {
        (p.left_relation, p.left_inverse, p.left_neighbour,
         p.right_relation, p.right_inverse, p.right_neighbour,
         round(p.confidence, 5), round(p.weight, 5))
        for p in pieces  # type: ignore[attr-defined]
    }  # fmt: skip


def test_the_evidence_is_that_of_all_edges(fitted: tuple[Evidence, AlignmentTask]) -> None:
    state = fitted[0]._state.blocks
    pairs = state.candidates.list_all()
    compared = larger_left = larger_right = 0
    for left, right in list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))[:300]:
        found = list_evidence(state.graphs, state.matches.view, state.inclusions, left, right)
        expected = search_all_edges(state, left, right)
        assert len(found) == len(expected)
        assert describe(found) == describe(expected)
        assert found.support == pytest.approx(sum(piece.weight for piece in expected))
        assert [piece.weight for piece in found] == sorted((p.weight for p in found), reverse=True)
        compared += len(found)
        degrees = [
            int(graph.stop[entity] - graph.start[entity])
            for graph, entity in ((state.graphs.left, left), (state.graphs.right, right))
        ]
        larger_left += degrees[0] > degrees[1]
        larger_right += degrees[0] < degrees[1]
    assert min(compared, larger_left, larger_right) > 0


def test_pieces_are_read_one_by_one_or_in_slices(fitted: tuple[Evidence, AlignmentTask]) -> None:
    method, task = fitted
    pieces = max(
        (row.pieces for entity in range(50) for row in method.explain(task, entity, None)), key=len
    )
    assert len(pieces) > 1
    assert [pieces[n] for n in range(len(pieces))] == list(pieces) == pieces[:]
    assert (pieces[-1], pieces[:1]) == (pieces[len(pieces) - 1], [pieces[0]])
    with pytest.raises(IndexError):
        pieces[len(pieces)]


def test_a_right_entity_is_explained_by_the_same_evidence(
    fitted: tuple[Evidence, AlignmentTask],
) -> None:
    method, task = fitted
    seen = 0
    for left in range(30):
        for row in method.explain(task, left, None):
            others = method.explain(task, None, row.right)
            (same,) = (other for other in others if other.left == left)
            assert (same.support, list(same.pieces)) == (row.support, list(row.pieces))
            seen += 1
    assert seen
