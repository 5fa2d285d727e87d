"""Links of a file, with all that is wrong with them reported together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from everalign.errors import SeedError
from everalign.io.filters import MAX_LISTED_ERRORS, ReadContext, SkippedLine
from everalign.io.links.formats import choose_reader
from everalign.io.links.pair_objects import list_pairs
from everalign.io.links.records import LinkLine
from everalign.io.objects import DataFrame, RdfGraph
from everalign.io.terms import shorten_text

_WORDS = re.compile(r"[^\W\d_][\w .-]*")


class LinkFault(NamedTuple):
    """A kind of fault that a link can have, in the singular and in the plural."""

    one: str
    many: str


UNREADABLE = LinkFault("unreadable line", "unreadable lines")
UNKNOWN = LinkFault("unknown entity", "unknown entities")
SWAPPED = LinkFault("pair with swapped sides", "pairs with swapped sides")
SEVERAL = LinkFault("entity linked to several", "entities linked to several")
REFUSED = LinkFault("pair that was decided otherwise", "pairs that were decided otherwise")
REPEATED = LinkFault("repetition", "repetitions")


class LinkReader:
    """Reads the links of a file or of memory, and collects what is wrong with them.

    Whoever knows the graphs iterates, calls `report` for links with a fault, and `finish` at the
    end.

    Args:
        source: A file in any format of links, or pairs of names; also a mapping, a data frame, or
            a graph with owl:sameAs.
        skip_errors: Whether to leave out faulty links, instead of raising an error.

    >>> reader = LinkReader([("a", "A"), ("x", "A")], skip_errors=True)
    >>> for link in reader:
    ...     if link.left == "x":
    ...         reader.report(UNKNOWN, "'x' is unknown", link)
    >>> reader.finish()
    >>> reader.notes
    ['1 faulty link left out: 1 unknown entity']
    """

    def __init__(
        self,
        source: str | Path | Iterable[tuple[str, str]] | Mapping[str, str] | DataFrame | RdfGraph,
        *,
        skip_errors: bool = False,
    ) -> None:
        self._pairs = None if isinstance(source, str | Path) else list_pairs(source)
        self.path = Path(source) if isinstance(source, str | Path) else None
        self._skip_errors = skip_errors
        self._start()

    def __iter__(self) -> Iterator[LinkLine]:
        """Read the links, each once, with the number of its first line.

        Raises:
            InputError: The file cannot be read, or has no links.
        """
        self._start()
        found: dict[tuple[str, str], int] = {}
        for link in self._read():
            first = found.setdefault((link.left, link.right), link.line)
            if first == link.line:
                yield link
            elif self.path is not None:
                self.report(REPEATED, f"the link is also in line {first}", link)
        self._counts[UNREADABLE] = self._context.counts.skipped_count
        if self.path is not None and not found and not self._counts[UNREADABLE]:
            raise SeedError("has no links", path=self.path)

    def report(self, fault: LinkFault, problem: str, link: LinkLine) -> None:
        """Say that a link has a fault.

        Args:
            fault: What kind of fault.
            problem: What is wrong, in words.
            link: The link.
        """
        self._counts[fault] += 1
        if len(self._faults) < MAX_LISTED_ERRORS:
            self._faults.append(SkippedLine(str(self.path or ""), link.line, problem))

    def may_be_header(self, link: LinkLine) -> bool:
        """Tell whether a link may be the names of two columns.

        Args:
            link: The first link.

        Returns:
            Whether it comes from a file and both names are plain words.
        """
        words = _WORDS.fullmatch(link.left) and _WORDS.fullmatch(link.right)
        return self.path is not None and bool(words) and link.left != link.right

    def skip_header(self, link: LinkLine) -> None:
        """Say that a link was the names of two columns.

        Args:
            link: The first link.
        """
        header = shorten_text(f"{link.left}, {link.right}")
        self._context.add_note(f"skipped the header {header}")

    def finish(self) -> None:
        """End the reading.

        Raises:
            SeedError: Links have faults and these are not skipped. Repetitions alone are none.
        """
        wrong = self._counts.total() - self._counts[REPEATED]
        if not wrong or self._skip_errors:
            return
        faults = self.list_faults()
        first = next(fault for fault in faults if fault.reason)
        if self._counts.total() == 1:
            raise SeedError(first.reason, path=self.path, line=first.line)
        problem = f"{self._counts.total()} faulty links ({self._describe_counts()})"
        raise SeedError(
            f"{problem}, the first in line {first.line}: {first.reason}",
            path=self.path,
            details=[_format_fault(fault) for fault in faults],
        )

    def list_faults(self) -> list[SkippedLine]:
        """List the first hundred faults.

        Returns:
            Place and reason of each, by line.
        """
        faults = [*self._faults, *self._context.counts.skipped]
        return sorted(faults, key=lambda fault: fault.line or 0)[:MAX_LISTED_ERRORS]

    @property
    def notes(self) -> list[str]:
        """What a person should know of the reading: a skipped header, what was left out."""
        place = f"{self.path}: " if self.path else ""
        total = self._counts.total()
        notes = list(self._context.counts.notes)
        if total and total == self._counts[REPEATED]:
            lines = ", ".join(str(fault.line) for fault in self._faults[:10])
            more = ", …" if total > 10 else ""
            notes.append(f"{place}{self._describe_counts()} of links ignored (line {lines}{more})")
        elif total:
            links = "link" if total == 1 else "links"
            notes.append(f"{place}{total} faulty {links} left out: {self._describe_counts()}")
        return notes

    def _start(self) -> None:
        # Errors are collected; `finish` raises them together.
        self._context = ReadContext(self.path or Path(), skip_errors=True)
        self._counts: Counter[LinkFault] = Counter()
        self._faults: list[SkippedLine] = []

    def _read(self) -> Iterator[LinkLine]:
        if self.path is not None:
            yield from choose_reader(self.path, self._context)(self.path)
        for number, (left, right) in enumerate(self._pairs or (), 1):
            yield LinkLine(left, right, number)

    def _describe_counts(self) -> str:
        kinds = (UNREADABLE, UNKNOWN, SWAPPED, SEVERAL, REFUSED, REPEATED)
        counted = [(self._counts[kind], kind) for kind in kinds if self._counts[kind]]
        return ", ".join(f"{n} {kind.one if n == 1 else kind.many}" for n, kind in counted)


def read_links(path: str | Path) -> list[LinkLine]:
    """Read the links of a file in any supported format.

    The file name tells the format. A table that begins like SSSOM is read as SSSOM, and RDF/XML
    in the namespace of the Alignment API as an alignment.

    Args:
        path: A table, SSSOM, JSON lines, Parquet, an alignment of the Alignment API, or
            ``owl:sameAs`` statements in any RDF format; optionally compressed.

    Returns:
        Each link once, with the number of its first line.

    Raises:
        InputError: The file cannot be read, has no links, or a line is not a link.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as directory:
    ...     file = Path(directory, "links.jsonl")
    ...     _ = file.write_text('{"left": "Ada", "right": "Q7259", "score": 0.93}')
    ...     read_links(file)
    [LinkLine(left='Ada', right='Q7259', line=1)]
    """
    reader = LinkReader(path)
    links = list(reader)
    reader.finish()
    return links


def _format_fault(fault: SkippedLine) -> str:
    place = f"{fault.path}:{fault.line}" if fault.path else f"pair {fault.line}"
    return f"{place}: {fault.reason}"
