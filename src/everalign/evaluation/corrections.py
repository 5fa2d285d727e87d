"""Links that were wrong at first and are right now: what growth has taught."""

from __future__ import annotations

import csv
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path

Pair = tuple[str, str]


@dataclass(frozen=True)
class Correction:
    """A wrong link, and the right one that an entity of it has now, each with its score."""

    left: str
    right: str
    score: float
    corrected_left: str
    corrected_right: str
    corrected_score: float

    def renamed(self, left: Callable[[str], str], right: Callable[[str], str]) -> Correction:
        """The same under other names of the entities."""
        return replace(
            self,
            left=left(self.left),
            right=right(self.right),
            corrected_left=left(self.corrected_left),
            corrected_right=right(self.corrected_right),
        )

    def entities(self) -> tuple[str, ...]:
        return self.left, self.right, self.corrected_left, self.corrected_right


def corrections(
    before: Mapping[Pair, float], now: Mapping[Pair, float], gold: Collection[Pair]
) -> list[Correction]:
    """What became of wrong links; both sets of links are one-to-one.

    >>> before, now = {("Oslo", "Bergen"): 0.3}, {("Oslo", "Christiania"): 0.8}
    >>> corrections(before, now, [("Oslo", "Christiania")])[0].corrected_right
    'Christiania'
    """
    true = set(gold)
    wrong = [pair for pair in before if pair not in true]
    of_left = {pair[0]: pair for pair in wrong}
    of_right = {pair[1]: pair for pair in wrong}
    return [
        Correction(*old, before[old], *new, now[new])
        for new in now
        if new in true
        for old in (of_left.get(new[0]), of_right.get(new[1]))
        if old is not None
    ]


def write_corrections(path: Path, rows: Iterable[Correction]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.writer(file, delimiter="\t", lineterminator="\n")
        table.writerow(field.name for field in fields(Correction))
        for row in rows:
            values = asdict(row).values()
            table.writerow(f"{v:.3f}" if isinstance(v, float) else v for v in values)


def read_corrections(path: Path) -> list[Correction]:
    with path.open(encoding="utf-8", newline="") as file:
        return [
            Correction(a, b, float(score), c, d, float(corrected))
            for a, b, score, c, d, corrected in list(csv.reader(file, delimiter="\t"))[1:]
        ]
