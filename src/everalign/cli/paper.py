"""The command that makes the tables and figures of the ContEA paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.alignment import FILE, examples
from everalign.cli.benchmarks import Snapshots
from everalign.cli.output import cell as shown
from everalign.cli.output import print_table

if TYPE_CHECKING:
    from everalign.evaluation.protocol import Record
    from everalign.paper import Cell, Failure

FAILED = 1


@click.command(
    epilog=examples(
        "everalign paper data/ZH-EN data/JA-EN data/FR-EN",
        "everalign paper data/ZH-EN --jobs 2",
        "everalign paper data/ZH-EN --systems dual-amn,contea --snapshots 0-1",
        "everalign paper --list",
        "everalign paper --no-run --out my-pages",
    )
)
@click.argument("datasets", type=FILE, nargs=-1)
@click.option("--systems", metavar="A,B", help="Run only these; the pages show all.")
@click.option("--snapshots", type=Snapshots(), help="Run only these (default: all).")
@click.option(
    "--results",
    type=FILE,
    default=Path("benchmarks/results"),
    show_default=True,
    help="Where runs are kept, and where they resume.",
)
@click.option(
    "--out",
    type=FILE,
    default=Path("docs/results"),
    show_default=True,
    help="Where the pages go.",
)
@click.option("--no-run", is_flag=True, help="Make the pages from the runs that are there.")
@click.option("--list", "only_list", is_flag=True, help="Say which runs are there, and stop.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    help="Runs at the same time, each on its share of the cores.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def paper(
    datasets: tuple[Path, ...],
    systems: str | None,
    snapshots: tuple[int, int] | None,
    results: Path,
    out: Path,
    no_run: bool,
    only_list: bool,
    jobs: int,
    seed: int,
) -> int:
    """Make the tables and figures of the ContEA paper, from runs over DATASETS.

    Each of DATASETS is a directory in the ContEA layout. Runs that are missing are made first;
    one that was broken off goes on where it was, and one that fails does not stop the others.
    Ends with exit code 1 if any has failed.
    """
    from everalign.paper import SYSTEMS as ALL
    from everalign.paper import Cells, chosen_systems, datasets_of, run_cells, write_pages

    chosen = chosen_systems(systems)
    cells = Cells(ALL, datasets_of(datasets), results, seed)
    wanted = [
        cell
        for dataset in cells.datasets
        for system in chosen
        for cell in cells.of(system, dataset, snapshots)
    ]
    if only_list:
        _print_cells(wanted)
        return 0
    if not (datasets or no_run):
        raise click.UsageError("give the directories of datasets to run, or --no-run")
    failures = []
    if not no_run:
        at_hand = [cell for cell in wanted if cell.dataset.directory]
        failures = run_cells(at_hand, _say, _say_failed, jobs)
    written = write_pages(cells, out)
    click.echo(f"{out}: {len(written)} files")
    return FAILED if failures else 0


def _print_cells(cells: list[Cell]) -> None:
    rows = [
        [
            each.system.name,
            each.dataset.name,
            f"{each.snapshots[0]}-{each.snapshots[-1]}",
            "there" if each.complete else "begun" if each.records else "missing",
            each.seconds if each.records else None,
            str(each.file),
        ]
        for each in cells
    ]
    print_table(["system", "dataset", "snapshots", "state", "seconds", "file"], rows)


def _say(cell: Cell, record: Record) -> None:
    figures = ", ".join(f"{name} {shown(record[name])}" for name in ("precision", "recall", "f1"))
    click.echo(
        f"{cell.system.name}, {cell.dataset.name}, t={record['t']}: {figures}, "
        f"{record['seconds']:.0f} s"
    )


def _say_failed(failure: Failure) -> None:
    click.echo(f"everalign: {failure.cell.name} failed: {failure.problem}", err=True)
