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
    """A way to make readers of files; at the end it says what they have left out."""
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
        if each.left_out:
            click.echo(f"{each.name}: {each.left_out} statements were left out by the filter")
        for fault in each.skipped:
            click.echo(f"skipped: {fault.path}, line {fault.line}: {fault.reason}", err=True)
        if each.skipped_count:
            click.echo(f"{each.name}: {each.skipped_count} lines were skipped")
