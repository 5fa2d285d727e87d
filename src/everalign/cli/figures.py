"""The command that draws one's own runs."""

from __future__ import annotations

from pathlib import Path

import click

from everalign.cli.alignment import FILE, examples


@click.command(
    epilog=examples(
        "everalign plot evidence.json contea.json --out f1.svg",
        "everalign plot my.state --what growth --out growth.png",
    )
)
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option("--out", type=FILE, required=True, help="The figure: FILE.svg or FILE.png.")
@click.option(
    "--what",
    type=click.Choice(["f1", "growth", "time"]),
    default="f1",
    show_default=True,
    help="F1; links and how they change; or seconds.",
)
def plot(runs: tuple[Path, ...], out: Path, what: str) -> None:
    """Draw F1, growth or time of RUNS over their versions.

    Each of RUNS is a result of `everalign bench --json` or a state directory; a state has no F1.
    Needs matplotlib: pip install 'everalign[plots]'.
    """
    from everalign.figures import draw, read_runs

    draw(read_runs(runs), what, out)
    click.echo(f"{out}: {what} of {len(runs)} {'runs' if len(runs) > 1 else 'run'}")
