"""The benchmark protocol: fit at the first snapshot, update with each later one, score the links.

As in the ContEA paper, entities of train and validation links are not candidates, and the links
in force are compared with the gold test links of the snapshot. A run uses `Aligner` and a state
directory, so that an interrupted run can be resumed.
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

from everalign._parallel import thread_count
from everalign._progress import Progress, no_progress
from everalign.aligner import Aligner
from everalign.benchmark.anonymise import AnonymisedDataset
from everalign.benchmark.contea_format import ContEADataset
from everalign.benchmark.metrics import (
    Correction,
    find_corrections,
    score_links,
    write_corrections,
)
from everalign.benchmark.perturbation import NO_PERTURBATION, Perturbation
from everalign.config import Config
from everalign.errors import ConfigError, InputError
from everalign.pipeline import resolve_merge_rule
from everalign.types import VersionReport

SnapshotResult = dict[str, Any]
ResultCallback = Callable[[SnapshotResult], None]
SCORE_FIELDS = ("precision", "recall", "f1", "calibration_error")
COUNT_FIELDS = ("predicted", "gold")
# A result is resumed only if these agree; the versions of the software may differ.
IDENTITY_KEYS = ("dataset", "method", "seed", "config", "content", "first")
# These too; they are left out where they do not apply.
OPTIONAL_KEYS = ("names", "perturbation")
COST_FIELDS = ("seconds", "peak_rss_mb")
LINK_CHANGES = ("added", "revised", "retracted")
# Enough for a case study; the result file has the number of all corrections.
MAX_CORRECTIONS = 200


def _ignore_result(record: SnapshotResult) -> None:
    """Default callback."""


@dataclass(frozen=True)
class BenchmarkRun:
    """A run of a method over the snapshots of a dataset.

    Attributes:
        directory: A dataset in the ContEA layout.
        config: The method and its settings.
        first_snapshot: The snapshot to fit on.
        last_snapshot: The last snapshot to update to; by default the last one of the dataset.
        names: Whether the names in the IRIs of snapshot 0 are given to the method.
        kept_state: Where to put the state directory when the run is complete; it is removed if
            None. A run that was complete before has none.
        perturbation: What differs from the run that a plain benchmark is.
    """

    directory: Path
    config: Config
    first_snapshot: int = 0
    last_snapshot: int | None = None
    names: bool = False
    kept_state: Path | None = None
    perturbation: Perturbation = NO_PERTURBATION

    def run(
        self,
        out: Path,
        *,
        on_result: ResultCallback = _ignore_result,
        progress: Progress = no_progress,
    ) -> SnapshotResult:
        """Run the benchmark, or resume an interrupted run.

        Links that were wrong at the first snapshot and are corrected at the last one are written
        to a file next to the result (see `corrections_path`).

        Args:
            out: The result file. It is rewritten after each snapshot.
            on_result: Called with the result of each snapshot.
            progress: Called with the progress of the method.

        Returns:
            The content of the result file.

        Raises:
            ConfigError: If the file has the result of another run.
            InputError: If the dataset cannot be used.
        """
        dataset = ContEADataset.open(self.directory)
        snapshots = self._snapshots(dataset)
        identity = self._identity(dataset)
        # The earlier run may have gone to a later snapshot than this one.
        records = _read_earlier_results(out, identity)[: len(snapshots)]
        if len(records) == len(snapshots):
            for record in records:
                on_result(record)
            return identity | {"snapshots": records}
        data = self.anonymise(dataset)
        state = out.with_name(f"{out.name}.{_run_key(identity)}.state")
        # Snapshots that the state directory already has are scored again, not computed again.
        records = []
        for t in snapshots:
            with self.perturbation.add_noise(t):
                aligner = self._advance(state, data, t, progress)
            # After an interruption, the state directory may be ahead of t.
            reports = aligner.status().reports[: t - self.first_snapshot + 1]
            corrected = (
                _corrections_since_first(aligner, data, t, reports)
                if t > self.first_snapshot
                else None
            )
            records.append(_measure_snapshot(aligner, data, t, reports[-1], corrected))
            # Before the result: where a result is complete, the corrections are written too.
            if corrected is not None and t == snapshots[-1]:
                write_corrections(corrections_path(out), _select_corrections(corrected, data))
            write_result(out, identity | {"snapshots": records})
            on_result(records[-1])
        # Not before the result is complete: a run is resumed from the state directory.
        if self.kept_state is None:
            shutil.rmtree(state)
        else:
            shutil.move(state, self.kept_state)
        return identity | {"snapshots": records}

    def anonymise(self, dataset: ContEADataset) -> AnonymisedDataset:
        """Anonymise the dataset as the run does.

        Args:
            dataset: The dataset of the run.

        Returns:
            The dataset with the names, the order and the trusted links that the method is given.
        """
        seeds = self.perturbation
        return AnonymisedDataset(
            dataset,
            self.config.seed if seeds.names is None else seeds.names,
            names=self.names,
            cardinality=self.config.cardinality,
            order_seed=seeds.order,
            split_seed=seeds.split,
        )

    def _snapshots(self, dataset: ContEADataset) -> range:
        last = dataset.snapshot_count - 1 if self.last_snapshot is None else self.last_snapshot
        if not 0 <= self.first_snapshot <= last < dataset.snapshot_count:
            raise InputError(
                f"has snapshots 0-{dataset.snapshot_count - 1}, not {self.first_snapshot}-{last}",
                path=self.directory,
            )
        return range(self.first_snapshot, last + 1)

    def _advance(
        self, state: Path, data: AnonymisedDataset, t: int, progress: Progress
    ) -> Aligner:
        """Bring the state directory to snapshot t, unless it has been there before."""
        # Without a version, the fit was interrupted: `create` finishes it.
        if not Aligner.exists(state) or Aligner.open(state).status().version is None:
            left, right = data.read_snapshot(t)
            return Aligner.create(
                state, left, right, data.seeds(), data.validation_links(), self.config, progress
            )
        aligner = Aligner.open(state)
        missing = t - self.first_snapshot + 1 - len(aligner.status().reports)
        if missing > 0 and not aligner.update(*data.read_delta(t), progress=progress).reports:
            raise InputError(f"snapshot {t} adds no triples", path=self.directory)
        return aligner

    def _identity(self, dataset: ContEADataset) -> SnapshotResult:
        """Describe the run: the start of its result file."""
        return {
            "dataset": dataset.name,
            "method": self.config.method,
            "seed": self.config.seed,
            # The rule that "auto" stands for, so that a result tells which rule was applied.
            "config": asdict(resolve_merge_rule(self.config)),
            "content": digest_dataset(dataset),
            "first": self.first_snapshot,
            # Left out if false: results without the entry are those of runs without names.
            **({"names": True} if self.names else {}),
            **self.perturbation.to_json(),
            "software": software_versions(),
        }


def _read_earlier_results(out: Path, identity: SnapshotResult) -> list[SnapshotResult]:
    """Read the snapshot results of an interrupted or finished run of the same benchmark."""
    if not out.exists():
        return []
    try:
        result = json.loads(out.read_text(encoding="utf-8"))
        records: list[SnapshotResult] = result["snapshots"]
        # A result that was written before a setting existed has the default value of it.
        result["config"] = asdict(Config.from_json(result["config"]))
        differing = [key for key in IDENTITY_KEYS if result[key] != identity[key]]
        differing += [key for key in OPTIONAL_KEYS if result.get(key) != identity.get(key)]
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(f"{out}: not a benchmark result; use another file") from error
    if differing:
        raise ConfigError(
            f"{out}: result of another run ({differing[0]} differs); use another file"
        )
    return records


def _run_key(identity: SnapshotResult) -> str:
    """Compute a key for the state directory, so that no run resumes the state of another."""
    values = [identity[key] for key in (*IDENTITY_KEYS, *OPTIONAL_KEYS) if key in identity]
    text = json.dumps(values, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def digest_dataset(dataset: ContEADataset) -> str:
    """Compute a digest of the files of a dataset.

    Args:
        dataset: The dataset.

    Returns:
        The first 16 hexadecimal digits of the SHA-256 of file names and contents.
    """
    digest = hashlib.sha256()
    # `base` and `batchN`, sorted: a README or the order of a directory changes nothing.
    for path in sorted(dataset.directory.glob("ba*/*")):
        digest.update(path.relative_to(dataset.directory).as_posix().encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def corrections_path(out: Path) -> Path:
    """Return the file of corrected links that belongs to a result file.

    Args:
        out: The result file.

    Returns:
        The path with the suffix `.corrected.tsv`.
    """
    return out.with_suffix(".corrected.tsv")


def _measure_snapshot(
    aligner: Aligner,
    data: AnonymisedDataset,
    t: int,
    report: VersionReport,
    corrected: list[Correction] | None,
) -> SnapshotResult:
    gold = data.gold(t)
    scores = aligner.evaluate(gold, at=report.version, scope="all").to_dict()
    links = _list_pairs(aligner, report.version)
    # An update should not lose links that are right.
    lost = _list_pairs(aligner, report.version - 1) - links if report.version else None
    new_gold = data.new_gold(t) if t else []
    return {
        "t": t,
        **{name: scores[name] for name in SCORE_FIELDS},
        "threshold": report.threshold,
        **{name: scores[name] for name in COUNT_FIELDS},
        "new_entity_recall": score_links(links, new_gold).recall if new_gold else None,
        "corrected": None if corrected is None else _count_corrected_links(corrected),
        "correct_lost": None if lost is None else len(lost.intersection(gold)),
        **{name: getattr(report, name) for name in COST_FIELDS},
        **{kind: getattr(report, f"links_{kind}") for kind in LINK_CHANGES},
    }


def _list_pairs(aligner: Aligner, version: int) -> set[tuple[str, str]]:
    return {(link.left, link.right) for link in aligner.links(at=version)}


def _count_corrected_links(corrected: list[Correction]) -> int:
    """Count the correct links; one can correct two wrong links."""
    return len({(row.corrected_left, row.corrected_right) for row in corrected})


def _corrections_since_first(
    aligner: Aligner, data: AnonymisedDataset, t: int, reports: Sequence[VersionReport]
) -> list[Correction]:
    """Find the wrong links of the first version that the last version has corrected."""
    before, now = (
        {(link.left, link.right): link.score for link in links if link.origin == "found"}
        for links in (aligner.links(at=report.version) for report in (reports[0], reports[-1]))
    )
    return find_corrections(before, now, data.gold(t))


def _select_corrections(corrected: list[Correction], data: AnonymisedDataset) -> list[Correction]:
    """Select the corrections with the highest scores, those between entities with IRIs first."""
    iris = data.dataset.read_iris()
    restored = [
        row.rename_entities(data.original_left_name, data.original_right_name) for row in corrected
    ]

    def sort_key(row: Correction) -> tuple[int, float, tuple[str, ...]]:
        without_iri = sum(name not in iris for name in row.entities)
        # Names last: they decide between equal scores.
        return without_iri, -row.corrected_score, row.entities

    def get_iri(name: str) -> str:
        return iris.get(name, name)

    selected = sorted(restored, key=sort_key)[:MAX_CORRECTIONS]
    return [row.rename_entities(get_iri, get_iri) for row in selected]


def write_result(path: Path, result: SnapshotResult) -> None:
    """Write a result file.

    Args:
        path: The file.
        result: Its content.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Written beside and renamed: an interruption leaves the previous result intact.
    temporary = path.with_name(path.name + ".unfinished")
    temporary.write_text(json.dumps(result, indent=1) + "\n", encoding="utf-8")
    temporary.replace(path)


def software_versions() -> dict[str, str | int | None]:
    """List the versions of the software that affects results and times.

    Returns:
        Versions by package (None if not installed), and the number of cores in use.
    """
    versions: dict[str, str | int | None] = {
        "python": platform.python_version(),
        "cores": thread_count(),
    }
    for package in ("everalign", "numpy", "numba", "lightgbm", "torch"):
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = None
    return versions
