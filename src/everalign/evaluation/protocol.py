"""The one progressive protocol: update, links, score, record, snapshot after snapshot.

As in the paper: the entities of train and validation links are no candidates, and the links in
force are compared with the gold test links of the snapshot. All work goes through the façade and
its state directory, so a run that was broken off goes on where it was.
"""

from __future__ import annotations

import hashlib
import json
import platform
import shutil
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from everalign.aligner import Aligner, settled
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.evaluation.corrections import Correction, corrections, write_corrections
from everalign.evaluation.disguise import DisguisedDataset
from everalign.evaluation.metrics import score
from everalign.parallel import threads
from everalign.progress import Progress, silent
from everalign.rdf import ContEADataset
from everalign.reports import Report

Record = dict[str, Any]
Watcher = Callable[[Record], None]
FIGURES = ("precision", "recall", "f1", "calibration_error")
COUNTS = ("predicted", "gold")
IDENTITY = ("dataset", "method", "seed", "config", "content", "first")
COSTS = ("seconds", "peak_rss_mb", "added", "revised", "retracted")
MOST_CORRECTIONS = 200  # that are kept: enough to look at, little enough to keep


def _unwatched(record: Record) -> None:
    """Nobody looks at the records one by one."""


@dataclass(frozen=True)
class Benchmark:
    """Fit on snapshot `first` of a dataset, then update up to snapshot `last` (or the end).

    With `names`, the method also gets the names in the IRIs of snapshot 0, where they are known.
    """

    directory: Path
    config: Config
    first: int = 0
    last: int | None = None
    names: bool = False

    def run(
        self, out: Path, *, watch: Watcher = _unwatched, progress: Progress = silent
    ) -> Record:
        """Run, or go on with a run that was broken off; the result is also written to `out`.

        Beside it, links that were wrong at first and right in the end (`corrections_beside`).
        `watch` is called with the record of each snapshot.
        """
        dataset = ContEADataset.open(self.directory)
        snapshots = self._snapshots(dataset)
        identity = self._identity(dataset)
        records = _earlier(out, identity)[: len(snapshots)]
        if len(records) == len(snapshots):
            for record in records:
                watch(record)
            return identity | {"snapshots": records}
        data = DisguisedDataset(dataset, self.config.seed, names=self.names)
        state = out.with_name(f"{out.name}.{_key(identity)}.state")
        records = []
        for t in snapshots:
            aligner = self._advance(state, data, t, progress)
            reports = aligner.status().reports[: t - self.first + 1]
            corrected = _corrected(aligner, data, t, reports) if t > self.first else None
            records.append(_record(aligner, data, t, reports[-1], corrected))
            if corrected is not None and t == snapshots[-1]:
                best = _best(corrected, data)
                write_corrections(corrections_beside(out), best)
            _write(out, identity | {"snapshots": records})
            watch(records[-1])
        shutil.rmtree(state)
        return identity | {"snapshots": records}

    def _snapshots(self, dataset: ContEADataset) -> range:
        last = dataset.snapshots - 1 if self.last is None else self.last
        if not 0 <= self.first <= last < dataset.snapshots:
            there = f"has snapshots 0-{dataset.snapshots - 1}, not {self.first}-{last}"
            raise InputError(there, path=self.directory)
        return range(self.first, last + 1)

    def _advance(self, state: Path, data: DisguisedDataset, t: int, progress: Progress) -> Aligner:
        """Bring the state to snapshot t, if it is not there already."""
        if not Aligner.exists(state) or Aligner.open(state).status().version is None:
            left, right = data.upto(t)
            return Aligner.create(
                state, left, right, data.seeds(), data.valid(), self.config, progress
            )
        aligner = Aligner.open(state)
        missing = t - self.first + 1 - len(aligner.status().reports)
        if missing > 0 and not aligner.update(*data.delta(t), progress=progress).reports:
            raise InputError(f"snapshot {t} adds nothing to the one before", path=self.directory)
        return aligner

    def _identity(self, dataset: ContEADataset) -> Record:
        """All that makes this run what it is, and what it was run with."""
        return {
            "dataset": dataset.name,
            "method": self.config.method,
            "seed": self.config.seed,
            "config": asdict(settled(self.config)),
            "content": content_of(dataset),
            "first": self.first,
            **({"names": True} if self.names else {}),
            "software": software(),
        }


def _earlier(out: Path, identity: Record) -> list[Record]:
    """The records that an earlier run of the same benchmark has left."""
    if not out.exists():
        return []
    try:
        result = json.loads(out.read_text(encoding="utf-8"))
        records: list[Record] = result["snapshots"]
        result["config"] = asdict(Config(**result["config"]))  # of an earlier release, perhaps
        other = [key for key in IDENTITY if result[key] != identity[key]]
        if result.get("names") != identity.get("names"):
            other.append("names")
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{out} is no result of a benchmark: choose another file") from error
    if other:
        raise ConfigError(f"{out} holds another run ({other[0]} differs): choose another file")
    return records


def _key(identity: Record) -> str:
    """A short name for a run, so that no run goes on with the state of another."""
    known = [identity[key] for key in (*IDENTITY, "names") if key in identity]
    told = json.dumps(known, sort_keys=True)
    return hashlib.sha256(told.encode()).hexdigest()[:12]


def content_of(dataset: ContEADataset) -> str:
    """The content of a dataset's files."""
    digest = hashlib.sha256()
    for path in sorted(dataset.directory.glob("ba*/*")):
        digest.update(path.relative_to(dataset.directory).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def corrections_beside(out: Path) -> Path:
    """Where a run keeps the links that it has corrected."""
    return out.with_suffix(".corrected.tsv")


def _record(
    aligner: Aligner,
    data: DisguisedDataset,
    t: int,
    report: Report,
    corrected: list[Correction] | None,
) -> Record:
    scores = aligner.evaluate(data.gold(t), at=report.version).to_dict()
    links = {(link.left, link.right) for link in aligner.links(at=report.version)}
    new_gold = data.new_gold(t) if t else []
    return {
        "t": t,
        **{name: scores[name] for name in FIGURES},
        "threshold": report.threshold,
        **{name: scores[name] for name in COUNTS},
        "new_entity_recall": score(links, new_gold).recall if new_gold else None,
        "corrected": None if corrected is None else _links(corrected),
        **{name: getattr(report, name) for name in COSTS},
    }


def _links(corrected: list[Correction]) -> int:
    """How many links are right where one or two were wrong."""
    return len({(row.corrected_left, row.corrected_right) for row in corrected})


def _corrected(
    aligner: Aligner, data: DisguisedDataset, t: int, reports: Sequence[Report]
) -> list[Correction]:
    """The wrong links of the first version that have become right ones by the last."""
    before, now = (
        {(link.left, link.right): link.score for link in links if link.origin == "found"}
        for links in (aligner.links(at=report.version) for report in (reports[0], reports[-1]))
    )
    return corrections(before, now, data.gold(t))


def _best(corrected: list[Correction], data: DisguisedDataset) -> list[Correction]:
    """The surest corrections by the names of the dataset; first those with IRIs, if it has any."""
    iris = data.dataset.iris()
    own = [row.renamed(data.left_name, data.right_name) for row in corrected]

    def place(row: Correction) -> tuple[int, float, tuple[str, ...]]:
        return (
            sum(name not in iris for name in row.entities()),
            -row.corrected_score,
            (row.entities()),
        )

    def iri(name: str) -> str:
        return iris.get(name, name)

    return [row.renamed(iri, iri) for row in sorted(own, key=place)[:MOST_CORRECTIONS]]


def _write(path: Path, result: Record) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    unfinished.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    unfinished.replace(path)


def software() -> dict[str, str | int | None]:
    """What a measurement was run with."""
    found: dict[str, str | int | None] = {
        "python": platform.python_version(),
        "cores": threads(),
    }
    for package in ("everalign", "numpy", "numba", "lightgbm", "torch"):
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = None
    return found
