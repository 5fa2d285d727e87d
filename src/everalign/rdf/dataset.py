"""The directory layout of the ContEA datasets: two graphs that grow over snapshots.

base/      triples_1, triples_2, train_links, valid_links, test_links
batchN/    new_triples_1, new_triples_2, all_test_links       (N = 1, 2, …)

base/uris.tsv may tell the IRIs of entities.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from everalign.errors import InputError
from everalign.rdf.links import read_links

Link = tuple[str, str]

_BASE_FILES = ("triples_1", "triples_2", "train_links", "valid_links", "test_links")
_BATCH_FILES = ("new_triples_1", "new_triples_2", "all_test_links")
_BATCH_NAME = re.compile(r"batch([1-9]\d*)")


@dataclass(frozen=True)
class ContEADataset:
    """A dataset on disk; nothing is read before it is asked for."""

    directory: Path
    snapshots: int
    """How many snapshots there are: the base and one for each batch."""

    @classmethod
    def open(cls, directory: str | Path) -> ContEADataset:
        """Find the snapshots in a directory, and check that no file is missing."""
        directory = Path(directory)
        if not directory.is_dir():
            raise InputError("is not a directory", path=directory)
        dataset = cls(directory, 1 + _last_batch(directory))
        dataset._check_files()
        return dataset

    @property
    def name(self) -> str:
        """What the directory is called, such as ``ZH-EN``."""
        return self.directory.resolve().name

    def delta(self, snapshot: int) -> tuple[Path, Path]:
        """The files with the triples that came with a snapshot, left and right."""
        folder = self._folder(snapshot)
        prefix = "new_triples" if snapshot else "triples"
        return folder / f"{prefix}_1", folder / f"{prefix}_2"

    def train(self) -> list[Link]:
        """The gold links to learn from, known at snapshot 0."""
        return _pairs(self._folder(0) / "train_links")

    def valid(self) -> list[Link]:
        """The gold links to choose settings with."""
        return _pairs(self._folder(0) / "valid_links")

    def test(self, snapshot: int) -> list[Link]:
        """All gold links to be found at a snapshot, old and new."""
        file = "all_test_links" if snapshot else "test_links"
        return _pairs(self._folder(snapshot) / file)

    def iris(self) -> dict[str, str]:
        """The IRIs of entities, where the dataset tells them beside its own names."""
        path = self._folder(0) / "uris.tsv"
        return dict(_pairs(path)) if path.is_file() else {}

    def _folder(self, snapshot: int) -> Path:
        if not 0 <= snapshot < self.snapshots:
            last = self.snapshots - 1
            raise InputError(f"has no snapshot {snapshot}, only 0 to {last}", path=self.directory)
        return self.directory / (f"batch{snapshot}" if snapshot else "base")

    def _check_files(self) -> None:
        for snapshot in range(self.snapshots):
            for file in _BATCH_FILES if snapshot else _BASE_FILES:
                path = self._folder(snapshot) / file
                if not path.is_file():
                    missing = path.relative_to(self.directory).as_posix()
                    problem = f"does not have the ContEA layout: {missing} is missing"
                    raise InputError(problem, path=self.directory)


def _last_batch(directory: Path) -> int:
    matches = (_BATCH_NAME.fullmatch(path.name) for path in directory.iterdir())
    return max((int(match[1]) for match in matches if match), default=0)


def _pairs(path: Path) -> list[Link]:
    return [(link.left, link.right) for link in read_links(path)]
