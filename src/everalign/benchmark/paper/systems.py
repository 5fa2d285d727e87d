"""The compared systems, and the scores that the ContEA paper has published (Tables 2 to 6)."""

from __future__ import annotations

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any

from everalign.config import Config
from everalign.errors import ConfigError

DATASETS = ("ZH-EN", "JA-EN", "FR-EN")
# The base and five batches.
SNAPSHOTS = 6


@dataclass(frozen=True)
class PublishedScores:
    """Published scores of a system at a snapshot of a dataset."""

    precision: float
    recall: float
    f1: float
    new_entity_recall: float | None


def read_published_with_names(dataset: str, label: str) -> dict[int, float]:
    """Read the published F1 of a system that uses entity names.

    Args:
        dataset: The name of a dataset of the paper.
        label: The name of the system in the paper.

    Returns:
        F1 by snapshot; empty if the paper has no numbers.

    >>> read_published_with_names("FR-EN", "ContEA ∪ Google Translate")[0]
    0.892
    """
    return {
        int(row["t"]): float(row["f1"])
        for row in _read_table("published_names.tsv")
        if (row["dataset"], row["method"]) == (dataset, label)
    }


def _read_table(name: str) -> list[dict[str, str]]:
    # Through importlib.resources, since an installed package need not be a directory.
    text = (files("everalign.benchmark.paper") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@cache
def _read_all_published() -> dict[tuple[str, str], dict[int, PublishedScores]]:
    table: dict[tuple[str, str], dict[int, PublishedScores]] = {}
    for row in _read_table("published.tsv"):
        # Empty at snapshot 0, where no entity is new.
        recall_of_new = row["new_entity_recall"]
        by_snapshot = table.setdefault((row["dataset"], row["method"]), {})
        by_snapshot[int(row["t"])] = PublishedScores(
            float(row["precision"]),
            float(row["recall"]),
            float(row["f1"]),
            float(recall_of_new) if recall_of_new else None,
        )
    return table


def read_published(dataset: str, label: str) -> dict[int, PublishedScores]:
    """Read the published scores of a system.

    Args:
        dataset: The name of a dataset of the paper.
        label: The name of the system in the paper.

    Returns:
        Scores by snapshot; empty if the paper has no numbers.

    >>> read_published("ZH-EN", "ContEA")[0].f1
    0.703
    """
    return _read_all_published().get((dataset, label), {})


def list_published_systems() -> tuple[str, ...]:
    """List the systems with published scores.

    Returns:
        The names of the systems in the paper.
    """
    return tuple(dict.fromkeys(label for _, label in _read_all_published()))


RETRAINED, INDUCTIVE, CONTINUAL = "retraining", "inductive", "continual"


@dataclass(frozen=True)
class ComparedSystem:
    """A method with its settings, as a system of the comparison.

    Attributes:
        label: The name in tables, which is that of the paper.
        name: The name in options and file names.
        kind: `RETRAINED`, `INDUCTIVE` or `CONTINUAL`. A retrained system uses nothing of earlier
            snapshots, so each of its snapshots is a separate run.
        method: The method.
        merge_rule: The merge rule; not "auto", so that a result can be identified without
            loading the method.
        settings: The settings that differ from the defaults of the method.
        first_snapshot: The first snapshot for which the paper has numbers.
    """

    label: str
    name: str
    kind: str
    method: str
    merge_rule: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    first_snapshot: int = 0

    def build_config(self, seed: int) -> Config:
        """Build the configuration of a run.

        Args:
            seed: Random seed.

        Returns:
            The configuration.
        """
        return Config(self.method, seed, self.merge_rule, self.settings)


def _retrained_system(label: str, method: str) -> ComparedSystem:
    # The links of a snapshot replace those before: only ContEA merges links.
    return ComparedSystem(label, method, RETRAINED, method, "latest")


def _inductive_system(label: str, method: str) -> ComparedSystem:
    return ComparedSystem(label, method, INDUCTIVE, method, "latest")


def _contea_variant(label: str, name: str, settings: Mapping[str, Any]) -> ComparedSystem:
    # Unlike the published rule, "best" keeps links one-to-one and loses none.
    return ComparedSystem(label, name, CONTINUAL, "contea", "best", settings)


SYSTEMS: tuple[ComparedSystem, ...] = (
    _retrained_system("MTransE", "mtranse"),
    _retrained_system("GCN-Align", "gcn-align"),
    _retrained_system("AlignE", "aligne"),
    _retrained_system("AliNet", "alinet"),
    _retrained_system("KEGCN", "ke-gcn"),
    _retrained_system("Dual-AMN", "dual-amn"),
    _inductive_system("MEAN+", "mean+"),
    _inductive_system("LAN+", "lan+"),
    _inductive_system("DINGAL-O", "dingal-o"),
    _contea_variant("ContEA", "contea", {}),
    _contea_variant("ContEA w/o TA", "contea-without-trusted", {"trusted": 0}),
    _contea_variant(
        "ContEA w/o TA & ASA",
        "contea-without-trusted-and-replay",
        {"trusted": 0, "replay": False},
    ),
    ComparedSystem(
        "ContEA retraining",
        "contea-retraining",
        RETRAINED,
        "contea",
        "latest",
        {"retrain": True},
        # Snapshot 0 is missing in the paper: there is nothing to retrain yet.
        first_snapshot=1,
    ),
    ComparedSystem("evidence", "evidence", CONTINUAL, "evidence", "latest"),
    ComparedSystem("combined", "combined", CONTINUAL, "combined", "latest"),
)


def select_systems(
    names: str | None, systems: Sequence[ComparedSystem] = SYSTEMS
) -> list[ComparedSystem]:
    """Select systems by name.

    Args:
        names: Names or labels, separated by commas; None selects all systems.
        systems: The systems to select from.

    Returns:
        The selected systems, in the order of `systems`.

    Raises:
        ConfigError: If a name is unknown.

    >>> [system.label for system in select_systems("dual-amn,contea")]
    ['Dual-AMN', 'ContEA']
    """
    if names is None:
        return list(systems)
    requested = [name.strip().lower() for name in names.split(",")]
    by_name = {key.lower(): system for system in systems for key in (system.label, system.name)}
    unknown = next((name for name in requested if name not in by_name), None)
    if unknown is not None:
        known = ", ".join(system.name for system in systems)
        raise ConfigError(f"unknown system {unknown!r}; known systems: {known}")
    # Names and labels may both be given: a system is selected once.
    selected = {by_name[name].name for name in requested}
    return [system for system in systems if system.name in selected]
