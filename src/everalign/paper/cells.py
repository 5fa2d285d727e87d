"""Cells: the runs that the pages are made of, and what is there of each of them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from everalign.config import Config
from everalign.evaluation.protocol import Benchmark, Record, content_of, corrections_beside
from everalign.paper.published import DATASETS, SNAPSHOTS
from everalign.paper.systems import RETRAINED, System
from everalign.rdf import ContEADataset


@dataclass(frozen=True)
class Dataset:
    """A dataset by its name; without a directory, there are only the runs of earlier days."""

    name: str
    snapshots: int
    directory: Path | None = None
    content: str | None = None

    @staticmethod
    def open(directory: Path) -> Dataset:
        dataset = ContEADataset.open(directory)
        return Dataset(dataset.name, dataset.snapshots, directory, content_of(dataset))


def datasets_of(directories: Iterable[Path]) -> list[Dataset]:
    """The datasets that pages are made for: the paper's, or those given if one is not of them."""
    given = {dataset.name: dataset for dataset in map(Dataset.open, directories)}
    if not set(given) <= set(DATASETS):
        return list(given.values())
    return [given.get(name, Dataset(name, SNAPSHOTS)) for name in DATASETS]


@dataclass(frozen=True)
class Cell:
    """A run of a system over some snapshots of a dataset, and the file it is kept in."""

    system: System
    dataset: Dataset
    snapshots: range
    seed: int
    file: Path

    def benchmark(self) -> Benchmark:
        """What is to be run, if the dataset is at hand."""
        assert self.dataset.directory is not None
        config = self.system.config(self.seed)
        return Benchmark(self.dataset.directory, config, self.snapshots[0], self.snapshots[-1])

    @property
    def name(self) -> str:
        first, last = self.snapshots[0], self.snapshots[-1]
        when = f"t={first}" if first == last else f"t={first}-{last}"
        return f"{self.system.name}, {self.dataset.name}, {when}"

    @property
    def corrections(self) -> Path:
        return corrections_beside(self.file)

    @cached_property
    def result(self) -> dict[str, Any] | None:
        """What the file holds, if it is this run."""
        try:
            found: dict[str, Any] = json.loads(self.file.read_text(encoding="utf-8"))
            mine = (
                found["dataset"] == self.dataset.name
                and Config(**found["config"]) == self.system.config(self.seed)
                and found["first"] == self.snapshots[0]
                and self.dataset.content in (None, found["content"])
            )
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return found if mine else None

    @property
    def records(self) -> list[Record]:
        found = self.result["snapshots"] if self.result else []
        return [record for record in found if record["t"] in self.snapshots]

    @property
    def complete(self) -> bool:
        return len(self.records) == len(self.snapshots)

    @property
    def seconds(self) -> float:
        return float(sum(record["seconds"] for record in self.records))

    @property
    def core_hours(self) -> float:
        """The hours that it took, times the cores that it had."""
        software = self.result.get("software", {}) if self.result else {}
        return self.seconds * int(software.get("cores") or 1) / 3600


@dataclass(frozen=True)
class Cells:
    """All cells of a comparison, as they are now: `systems` over `datasets`."""

    systems: Sequence[System]
    datasets: Sequence[Dataset]
    results: Path
    seed: int = 0

    def __iter__(self) -> Iterator[Cell]:
        for dataset in self.datasets:
            for system in self.systems:
                yield from self.of(system, dataset)

    def of(
        self, system: System, dataset: Dataset, snapshots: tuple[int, int] | None = None
    ) -> list[Cell]:
        """The cells of a system, or those that some snapshots need.

        A retraining system has one for each snapshot. Any other has one, which begins at 0.
        """
        first, last = snapshots or (0, dataset.snapshots - 1)
        start = f"{system.name}_{dataset.name}"
        if system.kind != RETRAINED:
            file = self.results / f"{start}.json"
            return [Cell(system, dataset, range(last + 1), self.seed, file)]
        return [
            Cell(system, dataset, range(t, t + 1), self.seed, self.results / f"{start}_t{t}.json")
            for t in range(max(first, system.since), last + 1)
        ]

    def records(self, system: System, dataset: Dataset) -> dict[int, Record]:
        """What was measured of a system, by snapshot."""
        cells = self.of(system, dataset)
        return {record["t"]: record for cell in cells for record in cell.records}
