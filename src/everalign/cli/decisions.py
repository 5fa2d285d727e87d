"""Commands for decisions of people about links. They take effect at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.inputs import (
    FILE,
    combine_options,
    format_examples,
    json_option,
    open_aligner,
    state_argument,
)
from everalign.cli.output import print_result

if TYPE_CHECKING:
    from everalign.graph import LinkSource

pair_options = combine_options(
    state_argument,
    click.argument("left", required=False),
    click.argument("right", required=False),
    click.option("--pairs", type=FILE, help="Read pairs from FILE: left TAB right."),
    json_option,
)


@click.command(
    epilog=format_examples(
        "everalign confirm my.state http://zh.dbpedia.org/resource/杭州市 "
        "http://dbpedia.org/resource/Hangzhou",
        "everalign confirm my.state --pairs reviewed.tsv",
    )
)
@pair_options
def confirm(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Confirm links.

    A confirmed link is in force from now on, whatever the method finds; links that contradict it
    are retracted. The next `everalign update`, with or without files, revises other links
    accordingly. LEFT and RIGHT are the IRIs of the two entities.
    """
    print_result(open_aligner(state).confirm(_get_pairs(left, right, pairs)), as_json=as_json)


@click.command(
    epilog=format_examples(
        "everalign reject my.state Q4970 'Hangzhou_(film)'",
        "everalign reject my.state --pairs wrong.tsv",
    )
)
@pair_options
def reject(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Reject links.

    A rejected link is retracted and never found again. The next `everalign update`, with or
    without files, looks for other links of its entities. LEFT and RIGHT are the IRIs of the two
    entities.
    """
    print_result(open_aligner(state).reject(_get_pairs(left, right, pairs)), as_json=as_json)


@click.command(
    epilog=format_examples(
        "everalign withdraw my.state Q4970 'Hangzhou_(film)'",
        "everalign withdraw my.state --pairs doubtful-seeds.tsv",
    )
)
@pair_options
def withdraw(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Withdraw decisions about links.

    The pair LEFT, RIGHT is no longer a seed, confirmed or rejected: the next `everalign update`
    leaves it to the method again.
    """
    print_result(open_aligner(state).withdraw(_get_pairs(left, right, pairs)), as_json=as_json)


@click.command(
    epilog=format_examples(
        "everalign diff my.state 3 5      # what would be undone",
        "everalign revert my.state 3",
    )
)
@state_argument
@click.argument("version", type=int)
@json_option
def revert(state: Path, version: int, as_json: bool) -> None:
    """Make a new version that equals an earlier one.

    Graphs, decisions and links become those of VERSION. The versions in between stay in the
    history and can be reverted to as well.
    """
    print_result(open_aligner(state).revert(version), as_json=as_json)


def _get_pairs(left: str | None, right: str | None, pairs: Path | None) -> LinkSource:
    if pairs is not None and left is None:
        return pairs
    if pairs is not None or left is None or right is None:
        raise click.UsageError("give LEFT and RIGHT, or --pairs FILE")
    return [(left, right)]
