"""The log on standard error: --verbose, for every command."""

from __future__ import annotations

import logging

import click

LOGGER = logging.getLogger("everalign")
LOG_FORMAT = "%(asctime)s %(levelname)s %(name)s: %(message)s"
_COUNT_KEY = "everalign.verbose"  # where the contexts of group and command share the count


class _EchoHandler(logging.Handler):
    """Writes to the current standard error, which a progress bar may have replaced."""

    def emit(self, record: logging.LogRecord) -> None:
        click.echo(self.format(record), err=True)


_HANDLER = _EchoHandler()
_HANDLER.setFormatter(logging.Formatter(LOG_FORMAT))


def show_logs(level: int) -> None:
    """Write the log of the package to standard error.

    Args:
        level: The lowest level to write.
    """
    LOGGER.setLevel(level)
    if _HANDLER not in LOGGER.handlers:
        LOGGER.addHandler(_HANDLER)


def hide_logs() -> None:
    """Undo `show_logs`: programs that import the package configure its log themselves."""
    LOGGER.setLevel(logging.NOTSET)
    LOGGER.removeHandler(_HANDLER)


def is_verbose() -> bool:
    """Tell whether the log is shown.

    Returns:
        True between `show_logs` and `hide_logs`.
    """
    return _HANDLER in LOGGER.handlers


def add_verbose_option(command: click.Command) -> None:
    """Add the option --verbose to a command and, if it is a group, to its commands.

    Args:
        command: The command to change.
    """
    command.params.append(
        click.Option(
            ["-v", "--verbose"],
            count=True,
            expose_value=False,
            callback=_count_verbose,
            help="Log each step to standard error; -vv logs details.",
        )
    )
    if isinstance(command, click.Group):
        for subcommand in command.commands.values():
            add_verbose_option(subcommand)


def _count_verbose(context: click.Context, _: click.Parameter, count: int) -> None:
    # The option may stand before and after the name of the command: both count.
    context.meta[_COUNT_KEY] = total = context.meta.get(_COUNT_KEY, 0) + count
    if total:
        show_logs(logging.INFO if total == 1 else logging.DEBUG)
