"""The numbers that the ContEA paper gives (Tables 2 to 6)."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from functools import cache
from importlib.resources import files

DATASETS = ("ZH-EN", "JA-EN", "FR-EN")
SNAPSHOTS = 6


@dataclass(frozen=True)
class Published:
    """What the paper says of a system at a snapshot of a dataset."""

    precision: float
    recall: float
    f1: float
    new_entity_recall: float | None


def published_with_names(dataset: str, label: str) -> dict[int, float]:
    """The F1 that the paper gives for a system that is given names, by snapshot.

    >>> published_with_names("FR-EN", "ContEA ∪ Google Translate")[0]
    0.892
    """
    return {
        int(row["t"]): float(row["f1"])
        for row in _rows("published_names.tsv")
        if (row["dataset"], row["method"]) == (dataset, label)
    }


def _rows(name: str) -> list[dict[str, str]]:
    text = (files("everalign.paper") / name).read_text(encoding="utf-8")
    return list(csv.DictReader(text.splitlines(), delimiter="\t"))


@cache
def _all() -> dict[tuple[str, str], dict[int, Published]]:
    table: dict[tuple[str, str], dict[int, Published]] = {}
    for row in _rows("published.tsv"):
        new = row["new_entity_recall"]
        precision, recall, f1 = (float(row[name]) for name in ("precision", "recall", "f1"))
        at = table.setdefault((row["dataset"], row["method"]), {})
        at[int(row["t"])] = Published(precision, recall, f1, float(new) if new else None)
    return table


def published(dataset: str, label: str) -> dict[int, Published]:
    """What the paper says of a system, by snapshot; nothing where it is silent.

    >>> published("ZH-EN", "ContEA")[0].f1
    0.703
    """
    return _all().get((dataset, label), {})


def published_systems() -> tuple[str, ...]:
    """The systems of the paper, by the names that it gives them."""
    return tuple(dict.fromkeys(label for _, label in _all()))
