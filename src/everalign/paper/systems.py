"""The systems that are compared: those of the paper, its variants of ContEA, and our own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from everalign.config import Config
from everalign.errors import ConfigError

RETRAINED, INDUCTIVE, CONTINUAL = "retraining", "inductive", "continual"


@dataclass(frozen=True)
class System:
    """A method with its settings, under the name that the paper gives it.

    `name` is for files and options. A retraining system knows nothing of the snapshots before,
    so each of its snapshots is a run of its own; `since` is the first that the paper has.
    The rule is spelled out, so that a run can be recognised without its method.
    """

    label: str
    name: str
    kind: str
    method: str
    rule: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    since: int = 0

    def config(self, seed: int) -> Config:
        return Config(self.method, seed, self.rule, self.settings)


def _retrained(label: str, method: str) -> System:
    return System(label, method, RETRAINED, method, "latest")


def _inductive(label: str, method: str) -> System:
    return System(label, method, INDUCTIVE, method, "latest")


def _contea(label: str, name: str, settings: Mapping[str, Any]) -> System:
    return System(label, name, CONTINUAL, "contea", "strict", settings)


SYSTEMS: tuple[System, ...] = (
    _retrained("MTransE", "mtranse"),
    _retrained("GCN-Align", "gcn-align"),
    _retrained("AlignE", "aligne"),
    _retrained("AliNet", "alinet"),
    _retrained("KEGCN", "ke-gcn"),
    _retrained("Dual-AMN", "dual-amn"),
    _inductive("MEAN+", "mean+"),
    _inductive("LAN+", "lan+"),
    _inductive("DINGAL-O", "dingal-o"),
    _contea("ContEA", "contea", {}),
    _contea("ContEA w/o TA", "contea-without-trusted", {"trusted": 0}),
    _contea(
        "ContEA w/o TA & ASA",
        "contea-without-trusted-and-replay",
        {"trusted": 0, "replay": False},
    ),
    System(
        "ContEA retraining",
        "contea-retraining",
        RETRAINED,
        "contea",
        "latest",
        {"retrain": True},
        since=1,
    ),
    System("evidence", "evidence", CONTINUAL, "evidence", "latest"),
    System("combined", "combined", CONTINUAL, "combined", "latest"),
)


def chosen_systems(names: str | None, systems: Sequence[System] = SYSTEMS) -> list[System]:
    """The systems with these names or labels, separated by commas; all, if none are given.

    >>> [system.label for system in chosen_systems("dual-amn,contea")]
    ['Dual-AMN', 'ContEA']
    """
    if names is None:
        return list(systems)
    wanted = [name.strip().lower() for name in names.split(",")]
    by_name = {key.lower(): system for system in systems for key in (system.label, system.name)}
    unknown = next((name for name in wanted if name not in by_name), None)
    if unknown is not None:
        known = ", ".join(system.name for system in systems)
        raise ConfigError(f"unknown system {unknown!r}; there are: {known}")
    chosen = {by_name[name].name for name in wanted}
    return [system for system in systems if system.name in chosen]
