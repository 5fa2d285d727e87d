"""The one progressive protocol: update, links, score, record, snapshot after snapshot.

As in the paper: the entities of train and validation links are no candidates, and the links in
force are compared with the gold test links of the snapshot. All work goes through the façade and
its state directory, so a run that was broken off goes on where it was.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from everalign.aligner import Aligner
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.evaluation.disguise import DisguisedDataset
from everalign.evaluation.metrics import score
from everalign.progress import Progress, silent
from everalign.rdf import ContEADataset
from everalign.reports import Report

Record = dict[str, Any]
Watcher = Callable[[Record], None]
FIGURES = ("precision", "recall", "f1", "predicted", "gold")
COSTS = ("seconds", "peak_rss_mb", "added", "revised", "retracted")


def _unwatched(record: Record) -> None:
    """Nobody looks at the records one by one."""


@dataclass(frozen=True)
class Benchmark:
    """Fit on snapshot `first` of a dataset, then update up to snapshot `last`."""

    directory: Path
    config: Config
    first: int
    last: int

    def run(
        self, out: Path, *, watch: Watcher = _unwatched, progress: Progress = silent
    ) -> Record:
        """Run, or go on with a run that was broken off; the result is also written to `out`.

        `watch` is called with the record of each snapshot.
        """
        dataset = ContEADataset.open(self.directory)
        if not 0 <= self.first <= self.last < dataset.snapshots:
            raise InputError(
                f"has snapshots 0-{dataset.snapshots - 1}, not {self.first}-{self.last}",
                path=self.directory,
            )
        done = self._earlier(out)
        if len(done) > self.last - self.first:
            for record in done:
                watch(record)
            return self._result(done)
        disguised = DisguisedDataset(dataset, self.config.seed)
        state = out.with_name(out.name + ".state")
        records: list[Record] = []
        for t in range(self.first, self.last + 1):
            aligner = self._advance(state, disguised, t, progress)
            report = aligner.status().reports[t - self.first]
            records.append(_record(aligner, disguised, t, report, first=t == self.first))
            _write(out, self._result(records))
            watch(records[-1])
        shutil.rmtree(state)
        return self._result(records)

    def _advance(self, state: Path, data: DisguisedDataset, t: int, progress: Progress) -> Aligner:
        """Bring the state to snapshot t, if it is not there already."""
        if t == self.first and not _has_version(state):
            left, right = data.upto(t)
            return Aligner.create(
                state, left, right, data.seeds(), data.valid(), self.config, progress
            )
        aligner = Aligner.open(state)
        if aligner.config() != self.config:
            raise ConfigError(f"{state} holds another run: delete it or choose another file")
        if len(aligner.status().reports) <= t - self.first:
            aligner.update(*data.delta(t), progress=progress)
        return aligner

    def _earlier(self, out: Path) -> list[Record]:
        """The records of an earlier run of the same benchmark."""
        if not out.exists():
            return []
        try:
            result = json.loads(out.read_text(encoding="utf-8"))
        except ValueError as error:
            raise ConfigError(f"{out} is no result of a benchmark: choose another file") from error
        mine = json.loads(json.dumps(self._result([])))
        for key in ("dataset", "method", "seed", "config"):
            if result.get(key) != mine[key]:
                raise ConfigError(f"{out} holds another run ({key} differs): choose another file")
        records: list[Record] = result["snapshots"]
        return records if records and records[0]["t"] == self.first else []

    def _result(self, records: list[Record]) -> Record:
        return {
            "dataset": self.directory.resolve().name,
            "method": self.config.method,
            "seed": self.config.seed,
            "snapshots": records,
            "config": asdict(self.config),
            "software": _software(),
        }


def _record(
    aligner: Aligner, data: DisguisedDataset, t: int, report: Report, *, first: bool
) -> Record:
    scores = aligner.evaluate(data.gold(t), at=report.version).to_dict()
    links = {(link.left, link.right) for link in aligner.links(at=report.version)}
    new_gold = [] if first else data.new_gold(t)
    return {
        "t": t,
        **{name: scores[name] for name in FIGURES},
        "new_entity_recall": score(links, new_gold).recall if new_gold else None,
        **{name: getattr(report, name) for name in COSTS},
    }


def _has_version(state: Path) -> bool:
    return state.exists() and Aligner.open(state).status().version is not None


def _write(path: Path, result: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def _software() -> dict[str, str | int | None]:
    found: dict[str, str | int | None] = {
        "python": platform.python_version(),
        "cores": os.cpu_count(),
    }
    for package in ("everalign", "numpy", "numba", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
