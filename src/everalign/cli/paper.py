"""The command that reproduces the tables and figures of the ContEA paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.inputs import DIRECTORY, SnapshotRange, format_examples, seed_option
from everalign.cli.output import format_count, format_value, print_table

if TYPE_CHECKING:
    from everalign.benchmark.paper import BenchmarkCell, CellFailure, CellGrid
    from everalign.benchmark.protocol import SnapshotResult

RUN_FAILED = 1


@click.command(
    epilog=format_examples(
        "everalign paper data/ZH-EN data/JA-EN data/FR-EN",
        "everalign paper data/ZH-EN --jobs 2",
        "everalign paper data/ZH-EN --systems dual-amn,contea --snapshots 0-1",
        "everalign paper --list",
        "everalign paper --no-run --output my-pages",
    )
)
@click.argument("datasets", type=DIRECTORY, nargs=-1)
@click.option(
    "--systems",
    metavar="NAME,...",
    show_default="all",
    help="Systems to run. The pages show all systems.",
)
@click.option("--snapshots", type=SnapshotRange(), show_default="all", help="Snapshots to run.")
@click.option(
    "--results",
    type=DIRECTORY,
    default=Path("benchmarks/results"),
    show_default=True,
    help="Directory of the result files; runs resume from them.",
)
@click.option(
    "--output",
    type=DIRECTORY,
    default=Path("docs/results"),
    show_default=True,
    help="Directory of the pages.",
)
@click.option("--no-run", is_flag=True, help="Write the pages from existing results only.")
@click.option("--list", "only_list", is_flag=True, help="List the runs and exit.")
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Number of parallel runs; they share the cores equally.",
)
@seed_option
def paper(
    datasets: tuple[Path, ...],
    systems: str | None,
    snapshots: tuple[int, int] | None,
    results: Path,
    output: Path,
    no_run: bool,
    only_list: bool,
    jobs: int,
    seed: int,
) -> int:
    """Reproduce the tables and figures of the ContEA paper.

    DATASETS are directories in the ContEA layout. Missing runs are executed first; an interrupted
    run is resumed, and a failed run does not stop the others. The exit code is 1 if a run failed.
    """
    from everalign.benchmark.paper import (
        SYSTEMS,
        CellGrid,
        open_datasets,
        run_cells,
        write_pages,
    )

    grid = CellGrid(SYSTEMS, open_datasets(datasets), results, seed)
    cells = _select_cells(grid, systems, snapshots)
    if only_list:
        _print_cells(cells)
        return 0
    if not (datasets or no_run):
        raise click.UsageError("give the directories of datasets to run, or --no-run")
    # The pages show all datasets of the paper, also those whose directory was not given.
    runnable = [cell for cell in cells if cell.dataset.directory and not no_run]
    failures = run_cells(runnable, _print_snapshot, _print_failure, jobs)
    pages = write_pages(grid, output)
    click.echo(f"Wrote {format_count(len(pages), 'file')} to {output}.")
    return RUN_FAILED if failures else 0


def _select_cells(
    grid: CellGrid, systems: str | None, snapshots: tuple[int, int] | None
) -> list[BenchmarkCell]:
    from everalign.benchmark.paper import select_systems

    selected = select_systems(systems)
    return [
        cell
        for dataset in grid.datasets
        for system in selected
        for cell in grid.list_cells(system, dataset, snapshots)
    ]


def _print_cells(cells: list[BenchmarkCell]) -> None:
    rows = [
        [
            cell.system.name,
            cell.dataset.name,
            f"{cell.snapshots[0]}-{cell.snapshots[-1]}",
            _describe_progress(cell),
            cell.seconds if cell.records else None,
            str(cell.result_file),
        ]
        for cell in cells
    ]
    print_table(["system", "dataset", "snapshots", "progress", "seconds", "file"], rows)


def _describe_progress(cell: BenchmarkCell) -> str:
    if cell.complete:
        return "complete"
    return "partial" if cell.records else "missing"


def _print_snapshot(cell: BenchmarkCell, record: SnapshotResult) -> None:
    scores = ", ".join(
        f"{name} {format_value(record[name])}" for name in ("precision", "recall", "f1")
    )
    click.echo(
        f"{cell.system.name}, {cell.dataset.name}, t={record['t']}: {scores}, "
        f"{record['seconds']:.0f} s"
    )


def _print_failure(failure: CellFailure) -> None:
    click.echo(f"everalign: {failure.cell.name} failed: {failure.problem}", err=True)
