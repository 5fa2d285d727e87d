"""The entry point: the group of commands, error messages and exit codes."""

from __future__ import annotations

import os
import sys
import traceback
from collections.abc import Sequence
from typing import Any, NoReturn

import click

from everalign.cli.alignment import init, status, update
from everalign.cli.benchmarks import bench, datasets, demo, methods, plot, sample
from everalign.cli.completion import add_completion_option
from everalign.cli.decisions import confirm, no_counterpart, reject, revert, unsure, withdraw
from everalign.cli.evaluation import evaluate
from everalign.cli.explanations import classes, explain, relations
from everalign.cli.links import changes, check_sssom, diff, export, history, links
from everalign.cli.logs import add_verbose_option, hide_logs, is_verbose
from everalign.cli.maintenance import backup, compact, restore, verify
from everalign.cli.output import clean_text
from everalign.cli.paper import paper
from everalign.cli.planning import plan
from everalign.cli.review import decisions, report, review
from everalign.cli.service import serve
from everalign.errors import EverAlignError, SeedError

ISSUES = "https://github.com/everalign/everalign/issues"
USER_ERROR = 2  # as click's own errors
UNEXPECTED_ERROR = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells report it

SECTIONS: dict[str, tuple[click.Command, ...]] = {
    "Start": (plan, init, demo, methods),
    "Keep up to date": (update, revert),
    "Look": (status, links, explain, relations, classes, history, diff, evaluate, plot),
    "Decide": (serve, review, confirm, reject, no_counterpart, unsure, withdraw, decisions),
    "Hand on": (export, changes, report, check_sssom),
    "Maintain": (verify, backup, restore, compact),
    "Benchmark": (bench, paper, sample, datasets),
}

EPILOG = """\b
Exit codes:
  0    success, also if there was nothing to do
  1    `verify` or `check-sssom` found problems, or a run of `paper` failed
  2    error in a file, an option or a setting; nothing was changed
  70   unexpected error; please report it
  130  interrupted; `everalign update STATE` finishes the update

\b
Examples:
  everalign demo
  everalign init my.state --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv
  everalign update my.state --left zh-week-2.nt.gz
  everalign links my.state > links.tsv
"""


class SectionedGroup(click.Group):
    """A group whose help lists the commands in the sections of `SECTIONS`."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run a command.

        Args:
            ctx: The context of the command line.

        Returns:
            What the command returns.
        """
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            # Here already: click itself would end with exit code 1.
            _exit_closed_pipe()

    def format_commands(self, _: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, section by section.

        Args:
            formatter: Where to write.
        """
        # One width for all sections, so that the descriptions stand in one column.
        width = max(map(len, self.commands))
        for title, commands in SECTIONS.items():
            with formatter.section(title):
                formatter.write_dl(
                    [
                        (f"{command.name:{width}}", command.get_short_help_str(limit=70))
                        for command in commands
                    ]
                )


@click.group(
    cls=SectionedGroup,
    epilog=EPILOG,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="everalign", prog_name="everalign")
def everalign() -> None:
    """Keep the owl:sameAs links between two changing knowledge graphs up to date.

    `everalign init` aligns two graphs, starting from a few trusted links; `everalign update`
    applies changes of the graphs. An alignment is a state directory with the graphs, the links
    and their history.
    """


for section_commands in SECTIONS.values():
    for section_command in section_commands:
        everalign.add_command(section_command)
add_verbose_option(everalign)
add_completion_option(everalign)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command and exit.

    An error is one line on standard error. The traceback of an unexpected error is printed with
    --verbose only.

    Args:
        arguments: The command line without the program; that of the process if None.

    Raises:
        SystemExit: Always, with the exit code.
    """
    try:
        code = everalign.main(args=arguments, standalone_mode=False)
        # Here, where a closed pipe is noticed, and not when Python ends.
        sys.stdout.flush()
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(USER_ERROR)
    except click.ClickException as error:
        _exit_with_error(error.format_message())
    except SeedError as error:
        for line in error.details:
            click.echo(" ".join(line.split()), err=True)
        _exit_with_error(str(error))
    except EverAlignError as error:
        _exit_with_error(str(error))
    except BrokenPipeError:
        _exit_closed_pipe()
    except OSError as error:
        _exit_with_error(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, click.Abort):
        _exit_interrupted()
    except SystemError as error:
        # numba raises this if the interrupt comes while it compiles.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            _exit_unexpected(error)
        _exit_interrupted()
    except Exception as error:
        _exit_unexpected(error)
    finally:
        hide_logs()


def _exit_with_error(message: str) -> None:
    click.echo("everalign: " + clean_text(" ".join(message.split())), err=True)
    sys.exit(USER_ERROR)


def _exit_closed_pipe() -> NoReturn:
    """End as if all were written: who reads the output has read enough, such as `head`."""
    # Python would try to write the rest of its buffer when it ends, and complain.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    sys.exit(0)


def _exit_interrupted() -> None:
    click.echo("everalign: interrupted; a journalled update stays pending", err=True)
    sys.exit(INTERRUPTED)


def _exit_unexpected(error: Exception) -> None:
    name = f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
    hint = f"please report it at {ISSUES}"
    if is_verbose():
        traceback.print_exception(error)
    else:
        hint += " with the output of the same command with --verbose"
    click.echo(f"everalign: unexpected error: {' '.join(name.split())}; {hint}", err=True)
    sys.exit(UNEXPECTED_ERROR)
