"""Reader and writer of the directory layout of the ContEA datasets.

    base/      triples_1, triples_2, train_links, valid_links, test_links
    batchN/    new_triples_1, new_triples_2, all_test_links, new_test_links     (N = 1, 2, …)

Columns are separated by tabs; triples may also be N-Triples, in files with `.nt` at the end of
their names. `new_test_links` is written but not read, because it follows from
the other files. An optional file `base/uris.tsv` has the IRIs of entities: entity, IRI.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign.errors import InputError
from everalign.io import Triple, read_links

NamePair = tuple[str, str]

_BASE_FILES = ("triples_1", "triples_2", "train_links", "valid_links", "test_links")
# `new_test_links` is not among them: datasets without it can be used.
_BATCH_FILES = ("new_triples_1", "new_triples_2", "all_test_links")
# No leading zeros: there is one folder name for each number.
_BATCH_NAME = re.compile(r"batch([1-9]\d*)")


@dataclass(frozen=True)
class ContEADataset:
    """A dataset on disk. Files are read on demand."""

    directory: Path
    snapshot_count: int
    """Number of snapshots: the base and one for each batch."""

    @classmethod
    def open(cls, directory: str | Path) -> ContEADataset:
        """Open a dataset.

        Args:
            directory: The directory with `base` and `batchN`.

        Returns:
            The dataset.

        Raises:
            InputError: If it is not a directory, or a file is missing.
        """
        directory = Path(directory)
        if not directory.is_dir():
            raise InputError("is not a directory", path=directory)
        dataset = cls(directory, 1 + _last_batch(directory))
        dataset._check_files()
        return dataset

    @property
    def name(self) -> str:
        """The name of the directory, such as ``ZH-EN``."""
        return self.directory.resolve().name

    def delta_files(self, snapshot: int) -> tuple[Path, Path]:
        """Return the files with the triples that a snapshot adds.

        Args:
            snapshot: The snapshot number.

        Returns:
            The file of the left graph and the file of the right graph.

        Raises:
            InputError: If there is no such snapshot.
        """
        folder = self._folder(snapshot)
        prefix = "new_triples" if snapshot else "triples"
        return _find_file(folder / f"{prefix}_1"), _find_file(folder / f"{prefix}_2")

    def train_links(self) -> list[NamePair]:
        """Read the links to train with.

        Returns:
            Pairs of left and right entity.
        """
        return _read_name_pairs(self._folder(0) / "train_links")

    def validation_links(self) -> list[NamePair]:
        """Read the validation links (not used for training).

        Returns:
            Pairs of left and right entity.
        """
        return _read_name_pairs(self._folder(0) / "valid_links")

    def test_links(self, snapshot: int) -> list[NamePair]:
        """Read all test links of a snapshot.

        Args:
            snapshot: The snapshot number.

        Returns:
            Pairs of left and right entity, those of earlier snapshots included.

        Raises:
            InputError: If there is no such snapshot.
        """
        file = "all_test_links" if snapshot else "test_links"
        return _read_name_pairs(self._folder(snapshot) / file)

    def read_iris(self) -> dict[str, str]:
        """Read the IRIs of entities.

        Returns:
            IRIs by entity; empty if the dataset has no `base/uris.tsv`.
        """
        path = self._folder(0) / "uris.tsv"
        return dict(_read_name_pairs(path)) if path.is_file() else {}

    def _folder(self, snapshot: int) -> Path:
        if not 0 <= snapshot < self.snapshot_count:
            last = self.snapshot_count - 1
            raise InputError(
                f"has no snapshot {snapshot}; the last one is {last}", path=self.directory
            )
        return self.directory / (f"batch{snapshot}" if snapshot else "base")

    def _check_files(self) -> None:
        for snapshot in range(self.snapshot_count):
            for file in _BATCH_FILES if snapshot else _BASE_FILES:
                path = self._folder(snapshot) / file
                if not _find_file(path).is_file():
                    missing = path.relative_to(self.directory).as_posix()
                    problem = f"not a dataset in the ContEA layout: {missing} is missing"
                    raise InputError(problem, path=self.directory)


def _find_file(path: Path) -> Path:
    """Return the path of a file, which may be written as N-Triples."""
    ntriples = path.with_name(f"{path.name}.nt")
    return ntriples if ntriples.is_file() else path


def _last_batch(directory: Path) -> int:
    # The highest number counts, so that a missing batch is an error and not the end.
    matches = (_BATCH_NAME.fullmatch(path.name) for path in directory.iterdir())
    return max((int(match[1]) for match in matches if match), default=0)


def _read_name_pairs(path: Path) -> list[NamePair]:
    return [(link.left, link.right) for link in read_links(path)]


@dataclass(frozen=True)
class EncodedRows:
    """The rows of a file that somebody has formatted already."""

    blocks: Iterable[bytes]
    """Blocks of whole lines."""


NamePairs = Iterable[tuple[str, str]] | EncodedRows
Triples = Iterable[Triple] | EncodedRows


@dataclass(frozen=True)
class DatasetWriter:
    """Writes a dataset, snapshot by snapshot.

    >>> with TemporaryDirectory() as scratch:
    ...     with DatasetWriter.create(f"{scratch}/twins") as dataset:
    ...         dataset.write_base([("a", "r", "b")], [("x", "s", "y")], [("a", "x")], [], [])
    ...     Path(scratch, "twins/base/triples_2").read_text()
    'x\\ts\\ty\\n'
    """

    directory: Path
    triple_suffix: str = ""
    """The ending of the names of files with triples."""

    @classmethod
    @contextmanager
    def create(cls, directory: str | Path, triple_suffix: str = "") -> Iterator[DatasetWriter]:
        """Create a dataset. Its files appear in the directory when all of them are written.

        Args:
            directory: The directory to write to; created if it does not exist.
            triple_suffix: The ending of the names of files with triples, such as ``.nt``.

        Yields:
            The writer.

        Raises:
            InputError: If the directory is not empty.
        """
        directory = Path(directory)
        check_directory_free(directory)
        directory.mkdir(parents=True, exist_ok=True)
        # Inside the directory, so that moving the files is a rename on the same file system.
        with TemporaryDirectory(dir=directory, prefix=".unfinished-") as scratch:
            yield cls(Path(scratch), triple_suffix)
            # In reverse order the base follows the batches; without it, there is no dataset.
            for part in sorted(Path(scratch).iterdir(), reverse=True):
                part.rename(directory / part.name)

    def write_base(
        self,
        left: Triples,
        right: Triples,
        train_links: NamePairs,
        validation_links: NamePairs,
        test_links: NamePairs,
    ) -> None:
        """Write snapshot 0.

        Args:
            left: The triples of the left graph.
            right: The triples of the right graph.
            train_links: The links to train with.
            validation_links: The links to validate with.
            test_links: The links to be found.
        """
        base = self._create_folder("base")
        write_rows(base / f"triples_1{self.triple_suffix}", left)
        write_rows(base / f"triples_2{self.triple_suffix}", right)
        write_rows(base / "train_links", train_links)
        write_rows(base / "valid_links", validation_links)
        write_rows(base / "test_links", test_links)

    def write_batch(
        self,
        snapshot: int,
        left: Triples,
        right: Triples,
        all_test_links: NamePairs,
        new_test_links: NamePairs,
    ) -> None:
        """Write a later snapshot.

        Args:
            snapshot: The snapshot number, at least 1.
            left: The triples that it adds to the left graph.
            right: The triples that it adds to the right graph.
            all_test_links: All test links of the snapshot.
            new_test_links: The test links that are not in the snapshot before.
        """
        batch = self._create_folder(f"batch{snapshot}")
        write_rows(batch / f"new_triples_1{self.triple_suffix}", left)
        write_rows(batch / f"new_triples_2{self.triple_suffix}", right)
        write_rows(batch / "all_test_links", all_test_links)
        write_rows(batch / "new_test_links", new_test_links)

    def write_readme(self, text: str) -> None:
        """Write the README.

        Args:
            text: The origin of the dataset.
        """
        (self.directory / "README").write_text(text, encoding="utf-8", newline="\n")

    def _create_folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir()
        return folder


def check_directory_free(directory: Path) -> None:
    """Check that a dataset can be written without overwriting or mixing with other files.

    Args:
        directory: The directory.

    Raises:
        InputError: If it is a file or a directory that is not empty.
    """
    if directory.exists() and not directory.is_dir():
        raise InputError("is not a directory: a dataset needs an empty directory", path=directory)
    if directory.exists() and any(directory.iterdir()):
        raise InputError("is not empty: a dataset needs an empty directory", path=directory)


def write_rows(path: Path, rows: Iterable[tuple[str, ...]] | EncodedRows) -> None:
    """Write a tab-separated table, or rows that are formatted already.

    Args:
        path: The file to write.
        rows: The rows.
    """
    if isinstance(rows, EncodedRows):
        with path.open("wb") as binary_file:
            binary_file.writelines(rows.blocks)
        return
    # The same line ends on every platform: equal datasets are equal files.
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)
