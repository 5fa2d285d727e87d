"""What the commands print: reports, tables, JSON, progress bars."""

from __future__ import annotations

import json
import shlex
import sys
import time
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from itertools import islice
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import click

from everalign.cli.terminal import EntityFormatter, measure_width

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

    from everalign.aligner import Aligner
    from everalign.planning.time_left import TimeLeft
    from everalign.types import (
        DecisionResult,
        ExportResult,
        UpdateResult,
        VersionReport,
    )

# Control and format characters, surrogates, and the separators of lines and paragraphs.
_CONTROL_CATEGORIES = frozenset(["Cc", "Cf", "Cs", "Zl", "Zp"])
# Persian, Indian scripts and emoji need these.
_JOINERS = "\u200c\u200d"
# Seconds of work before a bar appears: quick commands should not flicker.
BAR_DELAY = 2.0
# Rows of a long table that are aligned together.
PAGE_ROWS = 10_000
# Decisions that are listed one by one; those of a long file are only counted.
DECISIONS_SHOWN = 10


def print_json(value: Any) -> None:
    """Print a value, a dataclass or a list of dataclasses as JSON.

    Args:
        value: What to print.
    """
    click.echo(json.dumps(value, default=_convert_dataclass, indent=1, ensure_ascii=False))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in aligned columns, numbers to the right.

    Args:
        headers: One for each column.
        rows: Values; None is printed as a dash.

    Example:
        >>> print_table(["left", "score"], [["Oslo", 0.5], ["Rome", None]])
        left  score
        Oslo  0.500
        Rome      –
    """
    lines = [list(headers), *([format_value(value) for value in row] for row in rows)]
    widths = [max(measure_width(line[column]) for line in lines) for column in range(len(headers))]
    numeric = [
        all(isinstance(row[column], int | float | None) for row in rows)
        for column in range(len(headers))
    ]
    for line in lines:
        cells = (
            _pad_cell(cell, width, to_right=is_numeric)
            for cell, width, is_numeric in zip(line, widths, numeric, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


def _pad_cell(cell: str, width: int, *, to_right: bool) -> str:
    padding = " " * (width - measure_width(cell))
    return padding + cell if to_right else cell + padding


def print_json_list(values: Iterable[Any]) -> None:
    """Print values as a JSON list, one after the other, as `print_json` does.

    Args:
        values: What to print; only one of them is in memory.

    Example:
        >>> print_json_list([1, 2])
        [
         1,
         2
        ]
        >>> print_json_list([])
        []
    """
    separator = "["
    for value in values:
        text = json.dumps(value, default=_convert_dataclass, indent=1, ensure_ascii=False)
        click.echo(separator + "\n " + text.replace("\n", "\n "), nl=False)
        separator = ","
    click.echo("[]" if separator == "[" else "\n]")


def print_pages(headers: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table of any length: the columns of each page are as wide as its values.

    Args:
        headers: One for each column.
        rows: Values; one page of them is in memory.
    """
    rows = iter(rows)
    page = list(islice(rows, PAGE_ROWS))
    print_table(headers, page)
    while page := list(islice(rows, PAGE_ROWS)):
        print_table(headers, page)


def print_result(result: UpdateResult, *, as_json: bool) -> None:
    """Print the versions that a command made, or why it made none.

    Args:
        result: The result of a change.
        as_json: Whether to print JSON.
    """
    if as_json:
        print_json(result)
        return
    for report in result.reports:
        print_report(report)
    if result.message:
        click.echo(f"{result.message[0].upper()}{result.message[1:]}.")


def print_decisions(result: DecisionResult, *, as_json: bool) -> None:
    """Print what was decided, and the version that takes it up if there is one.

    Args:
        result: What is recorded.
        as_json: Whether to print JSON.
    """
    if as_json:
        print_json(result)
        return
    for decision in result.decisions[:DECISIONS_SHOWN]:
        names = " – ".join(filter(None, (decision.left, decision.right)))
        click.echo(f"Decision {decision.number}: {decision.kind}: {clean_text(names)}.")
    if len(result.decisions) > DECISIONS_SHOWN:
        click.echo(f"{len(result.decisions)} decisions in all.")
    for report in result.reports:
        print_report(report)
    if result.message:
        click.echo(f"{result.message[0].upper()}{result.message[1:]}.")


def print_report(report: VersionReport) -> None:
    """Print what changed in a version.

    Args:
        report: The report of the version.
    """
    changes = [
        f"{format_count(report.links_added, 'link')} added",
        f"{report.links_revised} revised",
        f"{report.links_retracted} retracted",
    ]
    # Version 0 confirms every seed: not worth a message.
    if report.version:
        decisions = {
            "confirmed": report.links_confirmed,
            "rejected": report.links_rejected,
            "withdrawn": report.links_withdrawn,
        }
        changes += [f"{count} {kind}" for kind, count in decisions.items() if count]
    click.echo(
        f"Version {report.version}: {', '.join(changes)}; "
        f"{format_count(report.found_links, 'found link')} in force ({report.seconds:.1f} s)."
    )
    if report.added_literals:
        click.echo(f"{format_count(report.added_literals, 'literal')} read.")
    if report.missing_removals:
        removals = format_count(report.missing_removals, "removal")
        click.echo(f"{removals} without effect: no such statement.")
    if report.trained and report.version:
        click.echo("The method was trained again, since much has changed.")
    print_notes(report)


def print_summary(aligner: Aligner, state: Path) -> None:
    """Print how much of an alignment is linked and how surely, and what to do next.

    Args:
        aligner: The alignment.
        state: Its directory, as it was given.
    """
    summary = aligner.summary()
    formatter = EntityFormatter(aligner, ())
    for side, part in (("left", summary.left), ("right", summary.right)):
        share = part.linked / part.entities if part.entities else 0.0
        click.echo(f"{side}: {part.linked} of {part.entities} entities linked ({share:.0%})")
        for row in part.classes:
            name = clean_text(formatter.name_property(row.name))
            click.echo(f"  {row.linked} of {row.entities} with class {name}")
    if summary.confidence:
        tenths = (f"{low / 10:.1f}: {n}" for low, n in enumerate(summary.confidence) if n)
        click.echo(f"confidence of found links, from: {', '.join(tenths) or 'no links'}")
    if summary.doubtful is not None:
        click.echo(f"doubtful (confidence below 0.8): {summary.doubtful:.0%} of found links")
    if summary.proposals:
        click.echo(f"{format_count(summary.proposals, 'proposal')}, not in force")
    if summary.blank_links:
        links = format_count(summary.blank_links, "link")
        click.echo(f"{links} of blank nodes, written only on request (--blank-nodes)")
    place = shlex.quote(str(state))
    if summary.plain_links:
        links = format_count(summary.plain_links, "link")
        click.echo(f"{links} of names that are no IRIs, which RDF cannot hold (init --base IRI)")
    # An alignment without links may still get some that RDF can hold.
    is_plain = 0 < summary.plain_links == summary.given_links + summary.found_links
    export = f"everalign export {place} --format {'jsonl' if is_plain else 'nt'}"
    click.echo(f"Next: everalign links {place}; everalign explain {place} ENTITY;")
    click.echo(f"      everalign confirm {place} LEFT RIGHT; {export}")


def print_notes(report: VersionReport) -> None:
    """Print the remarks of the method.

    Args:
        report: The report of a version.
    """
    for note in report.notes:
        click.echo(f"note: {clean_text(note)}")


def clean_text(text: str) -> str:
    """Make characters visible that would control a terminal or break a line.

    Args:
        text: A name from a file, or any text.

    Returns:
        The text with escapes for them.

    Example:
        >>> print(clean_text("a" + chr(27) + "[2J" + chr(10) + "b"))
        a\\x1b[2J\\nb
    """
    return "".join(
        character.encode("unicode_escape").decode()
        if unicodedata.category(character) in _CONTROL_CATEGORIES and character not in _JOINERS
        else character
        for character in text
    )


def print_skipped(result: ExportResult, noun: str = "link") -> None:
    """Say on standard error what was left out, and why.

    Args:
        result: What was written.
        noun: What it is, in the singular.
    """
    for reason, count in result.skipped.items():
        click.echo(f"{format_count(count, noun)} left out: {reason}", err=True)


def format_count(count: int, noun: str) -> str:
    """Format a number with its noun.

    Args:
        count: The number.
        noun: The noun in the singular, with a regular plural.

    Returns:
        Such as "1 link" or "2 links".

    Example:
        >>> format_count(1, "link"), format_count(2, "link")
        ('1 link', '2 links')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def format_duration(seconds: float) -> str:
    """Format a duration for a person, with two digits at most.

    Args:
        seconds: How long.

    Returns:
        Such as "0.4 s", "12 s", "3 min" or "2.5 h".

    Example:
        >>> [format_duration(seconds) for seconds in (0.04, 12, 200, 9000, 400_000)]
        ['0.0 s', '12 s', '3 min', '2.5 h', '4.6 days']
    """
    if seconds < 9.95:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 90 * 60:
        return f"{seconds / 60:.0f} min"
    if seconds < 48 * 3600:
        return f"{seconds / 3600:.1f} h"
    return f"{seconds / 86400:.1f} days"


def format_bytes(size: float) -> str:
    """Format a number of bytes for a person.

    Args:
        size: The bytes.

    Returns:
        Such as "12 MB" or "1.2 GB".

    Example:
        >>> format_bytes(123_000), format_bytes(12_300_000), format_bytes(1_230_000_000)
        ('0.1 MB', '12 MB', '1.2 GB')
    """
    if size < 1e9:
        return f"{size / 1e6:.0f} MB" if size >= 9.95e6 else f"{size / 1e6:.1f} MB"
    if size < 1e12:
        return f"{size / 1e9:.0f} GB" if size >= 9.95e9 else f"{size / 1e9:.1f} GB"
    return f"{size / 1e12:.1f} TB"


def format_value(value: object) -> str:
    """Format a value for a table.

    Args:
        value: Anything.

    Returns:
        A dash for None; three decimals for a float; text without control characters.

    Example:
        >>> format_value(0.12345), format_value(None)
        ('0.123', '–')
    """
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else clean_text(str(value))


@contextmanager
def open_output(path: Path | None) -> Iterator[IO[bytes]]:
    """Open a file that appears whole or not at all, or standard output.

    Args:
        path: The file; standard output if None.

    Yields:
        The stream.
    """
    if path is None:
        yield sys.stdout.buffer
        return
    from everalign.io import write_atomically

    with write_atomically(path) as stream:
        yield stream


class ProgressBar:
    """A progress bar on standard error, for work that takes longer than two seconds.

    Nothing is shown if standard error is not a terminal, so logs and pipes stay clean.

    Args:
        operation: "fit" or "update", whose steps are counted and whose time left is estimated;
            None for other work.
    """

    def __init__(self, operation: str | None = None) -> None:
        self._started = time.monotonic()
        self._shown: tuple[RichProgress, TaskID] | None = None
        self._is_terminal = sys.stderr.isatty()
        self._time_left: TimeLeft | None = None
        if operation is not None and self._is_terminal:
            from everalign.planning.time_left import TimeLeft

            self._time_left = TimeLeft(operation)

    def __call__(self, step: str, done: int, total: int, /) -> None:
        if not self._is_terminal:
            return
        # Also in the first seconds: how long they took tells how fast this machine is.
        if self._time_left is not None:
            self._time_left(step, done, total)
        if time.monotonic() - self._started < BAR_DELAY:
            return
        if self._shown is None:
            self._shown = self._show_bar()
        bar, task = self._shown
        text = step if self._time_left is None else self._time_left.describe_step()
        # A total of 0 is an unknown one: the bar then moves without an end.
        bar.update(task, description=text, completed=done, total=total or None)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._shown is not None:
            self._shown[0].stop()

    def _show_bar(self) -> tuple[RichProgress, TaskID]:
        from rich.console import Console
        from rich.progress import BarColumn, ProgressColumn, Task, TaskProgressColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.text import Text

        time_left = self._time_left

        class TimeLeftColumn(ProgressColumn):
            """Asked whenever the bar is drawn, also where a step reports nothing for long."""

            def render(self, task: Task) -> Text:  # noqa: ARG002
                seconds = None if time_left is None else time_left.estimate_seconds()
                return Text("" if seconds is None else format_time_left(seconds))

        columns = TextColumn("{task.description}"), BarColumn(), TaskProgressColumn()
        bar = RichProgress(
            *columns, TimeLeftColumn(), console=Console(stderr=True), transient=True
        )
        bar.start()
        return bar, bar.add_task("")


def format_time_left(seconds: float) -> str:
    """Format the time that is left, rounded as far as it is known.

    Args:
        seconds: The estimate.

    Returns:
        A few words.

    Example:
        >>> [format_time_left(seconds) for seconds in (3, 42, 170, 8000)]
        ['a few seconds left', 'about 40 s left', 'about 3 min left', 'about 2 h 10 min left']
    """
    if seconds < 10:
        return "a few seconds left"
    if seconds < 55:
        return f"about {round(seconds / 10) * 10} s left"
    minutes = max(1, round(seconds / 60))
    if minutes < 60:
        return f"about {minutes} min left"
    hours, rest = divmod(round(minutes / 10) * 10, 60)
    return f"about {hours} h left" if not rest else f"about {hours} h {rest} min left"


def _convert_dataclass(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} cannot be written as JSON")
