"""The commands by which people have their say: they take effect at once."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.alignment import AS_JSON, FILE, STATE, examples, open_aligner, say_outcome

if TYPE_CHECKING:
    from everalign.graph import LinkSource

LEFT = click.argument("left", required=False)
RIGHT = click.argument("right", required=False)
PAIRS = click.option("--pairs", type=FILE, help="A file of pairs instead: left TAB right.")


@click.command(
    epilog=examples(
        "everalign confirm my.state http://zh.dbpedia.org/resource/杭州市 "
        "http://dbpedia.org/resource/Hangzhou",
        "everalign confirm my.state --pairs reviewed.tsv",
    )
)
@STATE
@LEFT
@RIGHT
@PAIRS
@AS_JSON
def confirm(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Say that LEFT and RIGHT are the same: no method overrules it.

    What follows for other links comes with the next update.
    """
    say_outcome(open_aligner(state).confirm(_pairs(left, right, pairs)), as_json)


@click.command(epilog=examples("everalign reject my.state Q4970 Hangzhou_(film)"))
@STATE
@LEFT
@RIGHT
@PAIRS
@AS_JSON
def reject(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Say that LEFT and RIGHT are not the same: the link never comes back."""
    say_outcome(open_aligner(state).reject(_pairs(left, right, pairs)), as_json)


@click.command(epilog=examples("everalign withdraw my.state --pairs doubtful-seeds.tsv"))
@STATE
@LEFT
@RIGHT
@PAIRS
@AS_JSON
def withdraw(
    state: Path, left: str | None, right: str | None, pairs: Path | None, as_json: bool
) -> None:
    """Take back what was said of LEFT and RIGHT: as a seed, by confirm or by reject."""
    say_outcome(open_aligner(state).withdraw(_pairs(left, right, pairs)), as_json)


@click.command(
    epilog=examples("everalign revert my.state 3", "everalign diff my.state 3 5   # look first")
)
@STATE
@click.argument("version", type=int)
@AS_JSON
def revert(state: Path, version: int, as_json: bool) -> None:
    """Make a new version that equals VERSION: graphs, links and all that was said.

    Nothing is lost: what came between stays in the history, and can be reverted to as well.
    """
    say_outcome(open_aligner(state).revert(version), as_json)


def _pairs(left: str | None, right: str | None, pairs: Path | None) -> LinkSource:
    if pairs is not None and left is None:
        return pairs
    if pairs is not None or left is None or right is None:
        raise click.UsageError("give LEFT and RIGHT, or --pairs FILE")
    return [(left, right)]
