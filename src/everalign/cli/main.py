"""The entry point: the group of commands, and how mistakes are said."""

from __future__ import annotations

import sys
from collections.abc import Sequence

import click

from everalign.cli.alignment import evaluate, init, links, status, update
from everalign.cli.benchmarks import bench, demo, methods, sample
from everalign.cli.datasets import datasets
from everalign.cli.explaining import explain, relations
from everalign.cli.exporting import check_sssom, export
from everalign.cli.figures import plot
from everalign.cli.history import changes, diff, history
from everalign.cli.paper import paper
from everalign.cli.words import confirm, reject, revert, withdraw
from everalign.errors import EverAlignError

EPILOG = """\b
Examples:
  everalign demo
  everalign init my.state --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv
  everalign update my.state --left zh-week-2.nt.gz
  everalign links my.state > links.tsv
"""


@click.group(epilog=EPILOG, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="everalign")
def everalign() -> None:
    """Keep the identity links between two growing knowledge graphs right.

    Start with a few trusted links, feed in each change, get back links with their history.
    """


ON_ONE_ALIGNMENT = (init, update, links, export, explain, relations, status, evaluate)
BY_PEOPLE = (confirm, reject, withdraw, revert)
ON_ITS_PAST = (history, diff, changes)
OTHERS = (methods, bench, paper, plot, sample, datasets, check_sssom, demo)
for command in (*ON_ONE_ALIGNMENT, *BY_PEOPLE, *ON_ITS_PAST, *OTHERS):
    everalign.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command; a user's mistake is one line on standard error and exit code 2."""
    try:
        code = everalign.main(args=arguments, standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.format_message())
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message())
    except EverAlignError as error:
        _fail(str(error))
    except OSError as error:
        _fail(f"{error.filename}: {error.strerror}" if error.filename else str(error))
    except (KeyboardInterrupt, click.Abort):
        _interrupted()
    except SystemError as error:
        # An interrupt while a loop is compiled comes out of the compiler as this.
        if not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        _interrupted()


def _interrupted() -> None:
    click.echo("everalign: interrupted; what was journalled stays pending", err=True)
    sys.exit(130)


def _fail(message: str) -> None:
    click.echo("everalign: " + " ".join(message.split()), err=True)
    sys.exit(2)
