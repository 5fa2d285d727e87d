"""What is in a dataset, snapshot by snapshot: Table 1 of the ContEA paper, and some more."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from everalign.datasets.sources import distinct
from everalign.graph import IntArray, Vocabulary, count_and_take
from everalign.progress import Progress, silent
from everalign.rdf import ContEADataset


@dataclass(frozen=True)
class SnapshotStatistics:
    """The size of both graphs at a snapshot, and of the three sets of gold links.

    Triples are counted as the paper does: one that comes again counts again. `left_repeated` and
    `right_repeated` say how many do.
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


def statistics(directory: str | Path, progress: Progress = silent) -> list[SnapshotStatistics]:
    """Count what is in a dataset with the ContEA layout.

    >>> from tempfile import TemporaryDirectory
    >>> from everalign.sample import SampleConfig, generate, write_sample
    >>> with TemporaryDirectory() as directory:
    ...     write_sample(generate(SampleConfig(triples=1_000, snapshots=2)), directory)
    ...     [row.t for row in statistics(directory)]
    [0, 1]
    """
    dataset = ContEADataset.open(directory)
    train, valid = len(dataset.train()), len(dataset.valid())
    left, right = _Side(), _Side()
    rows = []
    for t in range(dataset.snapshots):
        progress("counting snapshots", t, dataset.snapshots)
        for side, path in zip((left, right), dataset.delta(t), strict=True):
            side.read(path)
        rows.append(_row(t, left, right, (train, valid, len(dataset.test(t)))))
    return rows


class _Side:
    """One graph of a dataset, as far as it was read."""

    def __init__(self) -> None:
        self.triples = 0
        self.names = Vocabulary()
        self._rows: IntArray = np.empty((0, 3), dtype=np.int32)

    def read(self, path: Path) -> None:
        # A side may stay as it is at a snapshot; its file is empty then.
        rows = count_and_take(path if path.stat().st_size else None, self.names)[0]
        self.triples += len(rows)
        both = np.concatenate([self._rows, rows])
        self._rows = both[distinct(both)]

    @property
    def repeated(self) -> int:
        return self.triples - len(self._rows)


def _row(t: int, left: _Side, right: _Side, links: tuple[int, int, int]) -> SnapshotStatistics:
    train, valid, test = links
    return SnapshotStatistics(
        t=t,
        left_triples=left.triples,
        right_triples=right.triples,
        train=train,
        valid=valid,
        test=test,
        left_entities=len(left.names.entities),
        right_entities=len(right.names.entities),
        left_relations=len(left.names.relations),
        right_relations=len(right.names.relations),
        left_repeated=left.repeated,
        right_repeated=right.repeated,
    )
