"""The options that limit the memory of a command."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import Any

import click

from everalign.cli.inputs import Command
from everalign.errors import ConfigError


class ByteSize(click.ParamType[int]):
    """A size such as 4GB or 512MiB."""

    name = "SIZE"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Parse a size.

        Args:
            value: The text, or a value that is converted already.
            param: The parameter, for the message.
            ctx: The context, for the message.

        Returns:
            The bytes.

        Raises:
            click.BadParameter: The text is not a size.

        Example:
            >>> ByteSize().convert("4GB", None, None), ByteSize().convert("1KiB", None, None)
            (4000000000, 1024)
        """
        from everalign._memory_limit import parse_byte_size

        try:
            return parse_byte_size(value)
        except ConfigError as error:
            self.fail(str(error), param, ctx)


@dataclass(frozen=True)
class MemoryChoice:
    """The memory that a command may use.

    Args:
        limit: The bytes, or None for as much as there is.
        scratch: Directory for what does not fit; None for that of the state directory.
    """

    limit: int | None
    scratch: Path | None

    @contextmanager
    def use(self, state: Path) -> Iterator[None]:
        """Hold the limit for what is called within.

        Args:
            state: The state directory.

        Raises:
            ConfigError: The limit is too small, or the directory cannot be used.
            MemoryLimitError: There is no room left in the directory.
        """
        if self.limit is None:
            yield
            return
        from everalign._memory_limit import limit_memory

        with limit_memory(self.limit, self.scratch or _find_directory(state)):
            yield


def _find_directory(state: Path) -> Path:
    # Of a state directory that is yet to be made, its parents may be missing as well.
    parents = state.resolve().parents
    return next(parent for parent in parents if parent.is_dir())


def add_memory_options(command: Command) -> Command:
    """Add the options to a command, which gets them as `memory`.

    Args:
        command: The command.

    Returns:
        The command with the options.
    """

    @click.option(
        "--memory",
        "memory_limit",
        type=ByteSize(),
        metavar="SIZE",
        help="Most anonymous memory that the command may use, such as 4GB. Arrays beyond it are "
        "temporary files. Linux only. Default: no limit.",
    )
    @click.option(
        "--scratch",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIRECTORY",
        help="With --memory: directory for these files, on a disk. Default: beside STATE.",
    )
    @wraps(command)
    def run(*args: Any, memory_limit: int | None, scratch: Path | None, **kwargs: Any) -> Any:
        if scratch is not None and memory_limit is None:
            raise click.UsageError("--scratch needs --memory")
        return command(*args, memory=MemoryChoice(memory_limit, scratch), **kwargs)

    return run  # type: ignore[return-value]
