"""One file being read: what is asked of the reading, and what became of it so far."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from everalign.errors import InputError
from everalign.rdf.choice import Choice, Sieve
from everalign.rdf.opening import OnFault

MOST_LISTED = 100


class Skipped(NamedTuple):
    """A place in a file that could not be read, and why."""

    path: str
    line: int | None
    reason: str


@dataclass
class Tally:
    """What was read, and what was not."""

    triples: int = 0
    literals: int = 0
    left_out: int = 0
    """Statements that the choice did not want."""

    skipped: list[Skipped] = field(default_factory=list)
    """The first places that could not be read."""

    skipped_count: int = 0

    def anything(self) -> bool:
        """Whether there was any statement, wanted or not."""
        return bool(self.triples or self.literals or self.left_out or self.skipped_count)


@dataclass(frozen=True)
class Reading:
    """How a file is read."""

    path: Path
    sieve: Sieve = field(default_factory=lambda: Sieve(Choice()))
    skip_errors: bool = False
    tally: Tally = field(default_factory=Tally)

    @property
    def on_fault(self) -> OnFault | None:
        """Whom to tell of a line in fault, if that does not end the reading."""
        return self.fault if self.skip_errors else None

    def fault(self, error: InputError) -> None:
        """Note that something was skipped; it is raised where nothing may be skipped."""
        if not self.skip_errors:
            raise error
        self.tally.skipped_count += 1
        if len(self.tally.skipped) < MOST_LISTED:
            place = str(self.path if error.path is None else error.path)
            self.tally.skipped.append(Skipped(place, error.line, error.problem))

    def in_graph(self, graph: str) -> bool:
        """Whether a statement of this graph is wanted; if not, it is counted."""
        if self.sieve.keeps_graph(graph):
            return True
        self.tally.left_out += 1
        return False
