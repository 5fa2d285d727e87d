"""Where each thing lies in a state directory."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Layout:
    """The paths of a state directory.

    >>> Layout(Path("state")).delta(7).as_posix()
    'state/deltas/000007'
    """

    root: Path

    @property
    def catalogue(self) -> Path:
        """The SQLite database. A directory is a state directory once this file is there."""
        return self.root / "everalign.sqlite"

    @property
    def draft(self) -> Path:
        """The database while it is being made."""
        return self.root / "everalign.sqlite.new"

    @property
    def draft_journal(self) -> Path:
        """What SQLite keeps beside the draft while it writes to it."""
        return self.root / "everalign.sqlite.new-journal"

    @property
    def lock(self) -> Path:
        """The file that the one writer holds."""
        return self.root / "lock"

    @property
    def folders(self) -> tuple[Path, Path, Path]:
        """The folders that hold a folder of arrays for each delta, version and view."""
        return self.root / "deltas", self.root / "versions", self.root / "views"

    def delta(self, number: int) -> Path:
        """The arrays of a delta."""
        return self.root / "deltas" / f"{number:06d}"

    def version(self, number: int) -> Path:
        """The arrays of a version: what its method remembers."""
        return self.root / "versions" / f"{number:06d}"

    def view(self, number: int) -> Path:
        """The links in force at a version."""
        return self.root / "views" / f"{number:06d}"

    def foreign(self) -> list[Path]:
        """What lies in the way of making a new state here."""
        unfinished = {self.draft, self.draft_journal, self.lock, *self.folders}
        found = {path for folder in (self.root, *self.folders) for path in folder.glob("*")}
        return sorted(found - unfinished)
