"""A method that can be checked by hand: two entities are the same if they share seeds.

Run as a program, this file is the command line with that method.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from everalign._progress import Progress
from everalign.graph import Graph
from everalign.matching import CandidatePairs
from everalign.methods import (
    AlignmentTask,
    CandidateEvidence,
    EvidencePiece,
    MethodEntry,
    RelationMatch,
    StateArrays,
    register_method,
)

# Oslo has two matched neighbours of two, Trondheim one of two, Bergen one of three, Rome one
# of four; Fish is in both graphs and has none.
LEFT = [
    ("Oslo", "in", "Norway"), ("Oslo", "by", "Sea"),
    ("Trondheim", "in", "Norway"), ("Trondheim", "on", "Fjord"),
    ("Bergen", "in", "Norway"), ("Bergen", "has", "Fish"), ("Bergen", "has", "Rain"),
    ("Rome", "in", "Italy"), ("Rome", "has", "Forum"), ("Rome", "has", "Arch"),
    ("Rome", "has", "Opera"), ("Norway", "by", "Sea"), ("Norway", "touches", "Sea"),
]  # fmt: skip
RIGHT = [
    ("Осло", "в", "Норвегия"), ("Осло", "у", "Море"),
    ("Тронхейм", "в", "Норвегия"),
    ("Берген", "в", "Норвегия"), ("Берген", "имеет", "Fish"), ("Берген", "у", "Океан"),
    ("Рим", "в", "Италия"),
    ("Норвегия", "у", "Море"), ("Море", "омывает", "Норвегия"),
]  # fmt: skip
SEEDS = [("Norway", "Норвегия"), ("Sea", "Море"), ("Italy", "Италия")]
THRESHOLD = 0.5
Step = tuple[int, bool, int]  # relation, read backwards, neighbour


class Toy:
    """The confidence of a pair is the share of neighbours that are one seed on both sides.

    It links best first, and says how many full passes it has made.
    """

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.full_passes = 0

    def fit(self, problem: AlignmentTask, progress: Progress) -> None:
        time.sleep(self.seconds)

    def update(self, problem: AlignmentTask, progress: Progress) -> None:
        time.sleep(self.seconds)
        self.full_passes += problem.rescore_all

    def candidates(self, problem: AlignmentTask, progress: Progress) -> CandidatePairs:
        left, right = (set(side.tolist()) for side in problem.unlinked_entities())
        unique_left, unique_right = problem.cardinality.unique_sides
        decided = np.concatenate([problem.rejected, problem.seeds, problem.validation])
        rejected = set(map(tuple, decided.tolist()))
        rows = []
        for pair in sorted(considered(problem), key=lambda pair: -pair.confidence):
            is_free = pair.left in left and pair.right in right
            if is_free and (pair.left, pair.right) not in rejected:
                left -= {pair.left} if unique_left else set()
                right -= {pair.right} if unique_right else set()
                rows.append((pair.left, pair.right, pair.confidence))
        columns = zip(*rows, strict=True) if rows else ((), (), ())
        notes = (f"{len(problem.seeds)} seeds, {self.full_passes} full passes",)
        return CandidatePairs.from_columns(*columns, threshold=THRESHOLD, notes=notes)

    def save(self) -> StateArrays:
        return {"full_passes": np.array(self.full_passes)}

    def load(self, arrays: StateArrays) -> None:
        assert list(arrays) == ["full_passes"], "a method gets back what it saved, no more"
        self.full_passes = int(arrays["full_passes"])

    def explain(
        self, problem: AlignmentTask, left: int | None, right: int | None
    ) -> list[CandidateEvidence]:
        asked = [pair for pair in considered(problem) if left == pair.left or right == pair.right]
        return sorted(asked, key=lambda pair: -pair.confidence)

    def relations(self, problem: AlignmentTask) -> list[RelationMatch]:
        """Relations that join the same seeds, in the same or in the opposite direction."""
        right_of = dict(problem.seeds.tolist())
        ends = problem.left.triples.tolist()
        left = {(right_of.get(h), r, right_of.get(t)) for h, r, t in ends}
        right = set(map(tuple, problem.right.triples.tolist()))
        shared = Counter(
            (r, s, backwards)
            for h, r, t in left
            for s in range(problem.right.relation_count)
            for backwards, triple in ((False, (h, s, t)), (True, (t, s, h)))
            if triple in right
        )
        lefts, rights = (Counter(r for _, r, _ in side) for side in (ends, right))
        return [
            RelationMatch(r, s, backwards, count / lefts[r], count / rights[s], count)
            for (r, s, backwards), count in shared.most_common()
        ]


def considered(problem: AlignmentTask) -> list[CandidateEvidence]:
    """Every pair that shares a seed, also those of entities that people have spoken for."""
    seeds = {pair: number for number, pair in enumerate(map(tuple, problem.seeds.tolist()))}
    left_steps, right_steps = steps(problem.left), steps(problem.right)
    pieces: dict[tuple[int, int], list[EvidencePiece]] = defaultdict(list)
    for seed_left, seed_right in seeds:
        for left, right in around(left_steps, seed_left, right_steps, seed_right):
            pieces[left[0], right[0]].append(
                EvidencePiece(
                    *left[1], seed_left, *right[1], seed_right, confidence=1.0, weight=1.0
                )
            )
    return [
        CandidateEvidence(
            left, right, len(found) / max(len(left_steps[left]), len(right_steps[right])),
            float(len(found)), tuple(found),
        )
        for (left, right), found in pieces.items()
    ]  # fmt: skip


def steps(graph: Graph) -> dict[int, list[Step]]:
    """The ways from each entity to a neighbour."""
    found: dict[int, list[Step]] = defaultdict(list)
    for head, relation, tail in graph.triples.tolist():
        found[head].append((relation, False, tail))
        found[tail].append((relation, True, head))
    return found


def around(
    left: dict[int, list[Step]], seed_left: int, right: dict[int, list[Step]], seed_right: int
) -> Iterator[tuple[tuple[int, tuple[int, bool]], tuple[int, tuple[int, bool]]]]:
    """A left and a right neighbour of a seed, joined to it in the same direction."""
    for relation, backwards, entity in left[seed_left]:
        for other_relation, other_backwards, other in right[seed_right]:
            if backwards == other_backwards:
                way, other_way = (relation, not backwards), (other_relation, not backwards)
                yield (entity, way), (other, other_way)


def write_files(directory: Path) -> None:
    """The graphs and the seeds as left.tsv, right.tsv and seeds.tsv."""
    for name, rows in (("left", LEFT), ("right", RIGHT), ("seeds", SEEDS)):
        text = "".join("\t".join(row) + "\n" for row in rows)
        (directory / f"{name}.tsv").write_text(text, encoding="utf-8")


def register_toy() -> None:
    register_method(
        MethodEntry(
            "toy", "counts shared seeds", lambda settings, seed: Toy(**settings),
            merge_rule="latest", calibrated=True, any_cardinality=True,
        )
    )  # fmt: skip


if __name__ == "__main__":
    from everalign.cli.main import main

    register_toy()
    main()
