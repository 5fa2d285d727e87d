"""A benchmark dataset → files in the layout that ``dataset`` reads.

base/      triples_1, triples_2, train_links, valid_links, test_links
batchN/    new_triples_1, new_triples_2, all_test_links, new_test_links     (N = 1, 2, …)

The columns are separated by tabs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from everalign.errors import InputError
from everalign.rdf.names import Triple

Links = Iterable[tuple[str, str]]
Triples = Iterable[Triple]


@dataclass(frozen=True)
class NewDataset:
    """A dataset that is being written, snapshot after snapshot.

    >>> with TemporaryDirectory() as scratch:
    ...     with NewDataset.begun(f"{scratch}/twins") as dataset:
    ...         dataset.write_base([("a", "r", "b")], [("x", "s", "y")], [("a", "x")], [], [])
    ...     Path(scratch, "twins/base/triples_2").read_text()
    'x\\ts\\ty\\n'
    """

    directory: Path

    @classmethod
    @contextmanager
    def begun(cls, directory: str | Path) -> Iterator[NewDataset]:
        """A dataset whose files appear in the directory when all are written, or not at all."""
        directory = Path(directory)
        refuse_taken(directory)
        directory.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=directory, prefix=".unfinished-") as scratch:
            yield cls(Path(scratch))
            # The base comes after the batches: without it, nothing is taken for a dataset.
            for part in sorted(Path(scratch).iterdir(), reverse=True):
                part.rename(directory / part.name)

    def write_base(
        self, left: Triples, right: Triples, train: Links, valid: Links, test: Links
    ) -> None:
        """Write snapshot 0: its triples, and its gold links in three parts."""
        base = self._folder("base")
        write_rows(base / "triples_1", left)
        write_rows(base / "triples_2", right)
        write_rows(base / "train_links", train)
        write_rows(base / "valid_links", valid)
        write_rows(base / "test_links", test)

    def write_batch(
        self, snapshot: int, left: Triples, right: Triples, all_test: Links, new_test: Links
    ) -> None:
        """Write a later snapshot: what it adds, and the test links there are by then."""
        batch = self._folder(f"batch{snapshot}")
        write_rows(batch / "new_triples_1", left)
        write_rows(batch / "new_triples_2", right)
        write_rows(batch / "all_test_links", all_test)
        write_rows(batch / "new_test_links", new_test)

    def write_readme(self, text: str) -> None:
        """Say where the dataset comes from."""
        (self.directory / "README").write_text(text, encoding="utf-8", newline="\n")

    def _folder(self, name: str) -> Path:
        folder = self.directory / name
        folder.mkdir()
        return folder


def refuse_taken(directory: Path) -> None:
    """A dataset never mixes with what is there."""
    if directory.exists() and not directory.is_dir():
        raise InputError("is a file: a dataset needs a directory of its own", path=directory)
    if directory.exists() and any(directory.iterdir()):
        raise InputError("is not empty: a dataset needs a directory of its own", path=directory)


def write_rows(path: Path, rows: Iterable[tuple[str, ...]]) -> None:
    """Write a table, row by row."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines("\t".join(row) + "\n" for row in rows)
