"""What the commands that read graphs share: which files, what of them, and what was left out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from everalign.progress import Progress
    from everalign.rdf import TripleReader

Command = TypeVar("Command", bound=Callable[..., Any])

CHOICE = (
    click.option(
        "--graph-filter",
        multiple=True,
        metavar="RULE",
        help="Keep only what a rule wants: predicate=IRI, not-predicate=IRI, namespace=IRI, "
        "graph=IRI or language=en. May be given several times.",
    ),
    click.option(
        "--skip-errors", is_flag=True, help="Leave out lines that cannot be read, and list them."
    ),
)


def choosing(command: Command) -> Command:
    """The options that say what to read of the files."""
    for option in reversed(CHOICE):
        command = option(command)
    return command


@contextmanager
def reading(
    rules: Sequence[str], skip_errors: bool, progress: Progress
) -> Iterator[Callable[[Sequence[Path]], TripleReader | None]]:
    """A way to make readers of files; at the end it says what they have left out.

    That goes to standard error: standard output is for the answer.
    """
    from everalign.rdf import Choice, TripleReader

    choice, readers = Choice.parsed(rules), []

    def reader(paths: Sequence[Path]) -> TripleReader | None:
        if not paths:
            return None
        readers.append(
            TripleReader(
                paths,
                lambda read: progress(f"reading {paths[0]}", read, 0),
                choice=choice,
                skip_errors=skip_errors,
            )
        )
        return readers[-1]

    yield reader
    for each in readers:
        for line in _left_out(each):
            click.echo(line, err=True)


def _left_out(reader: TripleReader) -> Iterator[str]:
    if reader.left_out:
        yield f"{reader.name}: {_counted(reader.left_out, 'statement')} left out by the filter"
    for fault in reader.skipped:
        place = fault.path if fault.line is None else f"{fault.path}, line {fault.line}"
        yield f"skipped: {place}: {fault.reason}"
    if reader.skipped_count > len(reader.skipped):
        yield f"skipped: {reader.skipped_count - len(reader.skipped)} more, which are not listed"
    if reader.skipped_count:
        yield f"{reader.name}: {_counted(reader.skipped_count, 'place')} skipped"


def _counted(count: int, what: str) -> str:
    return f"1 {what} was" if count == 1 else f"{count} {what}s were"
