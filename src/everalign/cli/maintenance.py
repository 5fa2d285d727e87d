"""Commands that look after a state directory: verify, back up, restore, compact."""

from __future__ import annotations

from pathlib import Path

import click

from everalign.cli.inputs import (
    DIRECTORY,
    format_examples,
    json_option,
    open_aligner,
    state_argument,
)
from everalign.cli.output import ProgressBar, format_count, print_json

FOUND_PROBLEMS = 1


@click.command(
    epilog=format_examples(
        "everalign verify my.state",
        "everalign verify my.state --repair",
    )
)
@state_argument
@click.option(
    "--repair", is_flag=True, help="Derive again what follows from other parts, and say what."
)
@json_option
@click.pass_context
def verify(context: click.Context, state: Path, repair: bool, as_json: bool) -> None:
    """Check that nothing in the state directory is damaged.

    Compares all files and rows with their checksums, the digest of each version with its rows, ids
    with the names, and the links with a replay of their history. Exit code 1 if anything is wrong
    in the end. With --repair, indexes and the intervals of links are built again, files that
    nothing refers to are removed, and so are damaged files of the method: the next update trains
    it again.
    """
    from everalign.aligner import Aligner

    # Not opened here: what cannot be opened is a finding as well.
    with ProgressBar() as bar:
        result = Aligner(state).verify(bar, repair=repair)
    if as_json:
        print_json(result)
    else:
        for line in result.findings:
            click.echo(line)
        for line in result.repaired:
            click.echo(f"repaired: {line}")
        if result.repaired:
            for line in result.remaining:
                click.echo(f"cannot be repaired: {line}")
        count = len(result.remaining)
        click.echo(f"{state}: {format_count(count, 'problem') if count else 'no problems'}")
    if result.remaining:
        context.exit(FOUND_PROBLEMS)


@click.command(epilog=format_examples("everalign backup my.state /backups/my.state-2026-01-31"))
@state_argument
@click.argument("target", type=DIRECTORY)
def backup(state: Path, target: Path) -> None:
    """Copy an alignment to the new directory TARGET.

    The copy is consistent, also while an update runs or people decide, and it is verified before
    it appears under its name. Nothing is overwritten. A backup is a state directory: commands that
    only read can use it as it is.
    """
    with ProgressBar() as bar:
        is_new = open_aligner(state).backup(target, bar)
    click.echo(f"{state} is copied to {target}" if is_new else _describe_done(target, state))


@click.command(epilog=format_examples("everalign restore /backups/my.state-2026-01-31 my.state"))
@click.argument("source", metavar="BACKUP", type=DIRECTORY)
@state_argument
def restore(source: Path, state: Path) -> None:
    """Create the alignment STATE from a backup.

    The backup is verified and stays as it is. Nothing is overwritten.
    """
    with ProgressBar() as bar:
        is_new = open_aligner(source).backup(state, bar)
    click.echo(f"{state} is restored from {source}" if is_new else _describe_done(state, source))


@click.command(epilog=format_examples("everalign compact my.state"))
@state_argument
@json_option
def compact(state: Path, as_json: bool) -> None:
    """Remove what the method remembers of older versions.

    Links, facts, decisions and history of all versions stay, and every version can be reverted to.
    After a revert to a version before the last one, the next update trains the method again.
    `update` removes most of it by itself.
    """
    result = open_aligner(state).compact()
    if as_json:
        print_json(result)
        return
    freed = max(0, result.bytes_before - result.bytes_after)
    versions = format_count(len(result.removed_versions), "version")
    click.echo(
        f"{state}: {result.bytes_after / 1e6:.1f} MB, {freed / 1e6:.1f} MB freed"
        f" (files of {versions} removed)"
        if result.removed_versions or freed
        else f"nothing to do: {state} is compact"
    )


def _describe_done(copy: Path, original: Path) -> str:
    return f"nothing to do: {copy} equals {original}"
