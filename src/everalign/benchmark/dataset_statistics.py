"""Statistics of a dataset by snapshot: those of Table 1 of the ContEA paper, and some more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everalign._progress import Progress, no_progress
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.dataset_builder import find_first_occurrences
from everalign.graph import IntArray, Vocabulary, encode_and_count_literals


@dataclass(frozen=True)
class SnapshotStatistics:
    """Sizes of both graphs and of the three sets of gold links at a snapshot.

    Attributes:
        t: The snapshot number.
        left_triples: Triples of the left graph. As in the paper, repeated ones are counted.
        right_triples: Triples of the right graph. As in the paper, repeated ones are counted.
        train: Train links.
        valid: Validation links.
        test: Test links.
        left_entities: Distinct entities of the left graph.
        right_entities: Distinct entities of the right graph.
        left_relations: Distinct relations of the left graph.
        right_relations: Distinct relations of the right graph.
        left_repeated: Triples of the left graph that repeat an earlier one.
        right_repeated: Triples of the right graph that repeat an earlier one.
    """

    t: int
    left_triples: int
    right_triples: int
    train: int
    valid: int
    test: int
    left_entities: int
    right_entities: int
    left_relations: int
    right_relations: int
    left_repeated: int
    right_repeated: int


def compute_statistics(
    directory: str | Path, progress: Progress = no_progress
) -> list[SnapshotStatistics]:
    """Count the triples, links, entities and relations of a dataset.

    Args:
        directory: A dataset in the ContEA layout.
        progress: Called with the number of snapshots read.

    Returns:
        The statistics of each snapshot.

    Raises:
        InputError: If it is not a dataset, or a file cannot be read.

    >>> from tempfile import TemporaryDirectory
    >>> from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample
    >>> with TemporaryDirectory() as directory:
    ...     write_sample(generate_sample(SampleConfig(triples=1_000, snapshots=2)), directory)
    ...     [row.t for row in compute_statistics(directory)]
    [0, 1]
    """
    dataset = ContEADataset.open(directory)
    train, valid = len(dataset.train_links()), len(dataset.validation_links())
    # Both grow from snapshot to snapshot, so that each file is read once.
    left, right = _GraphCounter(), _GraphCounter()
    rows = []
    for t in range(dataset.snapshot_count):
        progress("counting snapshots", t, dataset.snapshot_count)
        for graph, path in zip((left, right), dataset.delta_files(t), strict=True):
            graph.read_file(path)
        rows.append(_count_snapshot(t, left, right, (train, valid, len(dataset.test_links(t)))))
    return rows


class _GraphCounter:
    """Counts the triples of one graph, delta by delta."""

    def __init__(self) -> None:
        self.triple_count = 0
        self.vocabulary = Vocabulary()
        self._rows: IntArray = np.empty((0, 3), dtype=np.int32)

    def read_file(self, path: Path) -> None:
        # The file is empty if the snapshot adds nothing to the graph.
        rows = encode_and_count_literals(path if path.stat().st_size else None, self.vocabulary)[0]
        self.triple_count += len(rows)
        # Distinct triples are kept: a later snapshot may repeat them.
        all_rows = np.concatenate([self._rows, rows])
        self._rows = all_rows[find_first_occurrences(all_rows)]

    @property
    def repeated_count(self) -> int:
        return self.triple_count - len(self._rows)


def _count_snapshot(
    t: int, left: _GraphCounter, right: _GraphCounter, links: tuple[int, int, int]
) -> SnapshotStatistics:
    train, valid, test = links
    return SnapshotStatistics(
        t=t,
        left_triples=left.triple_count,
        right_triples=right.triple_count,
        train=train,
        valid=valid,
        test=test,
        left_entities=len(left.vocabulary.entities),
        right_entities=len(right.vocabulary.entities),
        left_relations=len(left.vocabulary.relations),
        right_relations=len(right.vocabulary.relations),
        left_repeated=left.repeated_count,
        right_repeated=right.repeated_count,
    )
