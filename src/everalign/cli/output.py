"""What the commands share: tables, JSON and progress bars."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, Self

import click

if TYPE_CHECKING:
    from rich.progress import Progress as RichProgress
    from rich.progress import TaskID

PATIENCE = 2.0  # seconds of work before a bar appears


def print_json(value: Any) -> None:
    """Print a value, a dataclass or a list of dataclasses as JSON."""
    click.echo(json.dumps(value, default=_plain, indent=1, ensure_ascii=False))


def print_table(headers: Sequence[str], rows: Sequence[Sequence[object]]) -> None:
    """Print rows in aligned columns, numbers to the right."""
    lines = [list(headers), *([cell(value) for value in row] for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(headers))]
    right = [
        all(isinstance(row[column], int | float | None) for row in rows)
        for column in range(len(headers))
    ]
    for line in lines:
        cells = (
            cell.rjust(width) if to_right else cell.ljust(width)
            for cell, width, to_right in zip(line, widths, right, strict=True)
        )
        click.echo("  ".join(cells).rstrip())


class Bar:
    """A progress bar on a terminal, for work that takes longer than two seconds."""

    def __init__(self) -> None:
        self._started = time.monotonic()
        self._shown: tuple[RichProgress, TaskID] | None = None
        self._terminal = sys.stderr.isatty()

    def __call__(self, step: str, done: int, total: int, /) -> None:
        if not self._terminal or time.monotonic() - self._started < PATIENCE:
            return
        if self._shown is None:
            self._shown = self._show()
        bar, task = self._shown
        bar.update(task, description=step, completed=done, total=total or None)

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

    @staticmethod
    def _show() -> tuple[RichProgress, TaskID]:
        from rich.console import Console
        from rich.progress import Progress as RichProgress

        bar = RichProgress(console=Console(stderr=True), transient=True)
        bar.start()
        return bar, bar.add_task("")


@contextmanager
def opened_output(path: Path | None) -> Iterator[IO[bytes]]:
    """A stream into a file, which appears whole or not at all; or else standard output."""
    if path is None:
        yield sys.stdout.buffer
        return
    from everalign.rdf import whole_file

    with whole_file(path) as stream:
        yield stream


def _plain(value: Any) -> Any:
    if is_dataclass(value) and not isinstance(value, type):
        return asdict(value)
    raise TypeError(f"{type(value).__name__} is not for JSON")


def cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
