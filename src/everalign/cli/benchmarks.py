"""Commands for benchmarks: methods, runs, generated graphs, datasets, figures."""

from __future__ import annotations

import os
import shutil
import sys
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import click

from everalign.cli.inputs import (
    DIRECTORY,
    FILE,
    SnapshotRange,
    config_options,
    format_examples,
    json_option,
    method_option,
    read_config,
    seed_option,
)
from everalign.cli.output import ProgressBar, format_count, format_value, print_json, print_table
from everalign.cli.service import check_installed, serve_alignment
from everalign.errors import ConfigError

if TYPE_CHECKING:
    from everalign.benchmark.dataset_builder import BuildResult
    from everalign.benchmark.dataset_statistics import SnapshotStatistics
    from everalign.benchmark.protocol import BenchmarkRun, SnapshotResult
    from everalign.benchmark.synthetic import Sample

# Widths are fixed because a line is printed as soon as its snapshot is done.
RESULT_COLUMNS = (
    ("t", 2),
    ("added", 6),
    ("revised", 7),
    ("retracted", 9),
    ("precision", 9),
    ("recall", 6),
    ("f1", 5),
    ("calibration_error", 17),
    ("new_entity_recall", 17),
    ("seconds", 8),
)
# Metrics of which --perturb prints mean and spread.
SPREAD_COLUMNS = ("f1", "precision", "recall", "calibration_error")
BUILD_EXAMPLE = (
    "everalign datasets build my-data --left zh.nt.gz --right en.nt.gz --links sameas.nt.gz"
)
# In the directory where the demo is run: one result, which the next demo replaces.
DEMO_STATE = Path("everalign-demo.state")
STATS_EXAMPLE = "everalign datasets stats data/ZH-EN"

snapshots_option = click.option(
    "--snapshots",
    type=int,
    default=6,
    show_default=True,
    metavar="N",
    help="Number of snapshots.",
)
sample_size_option = click.option(
    "--triples",
    type=int,
    default=20_000,
    show_default=True,
    metavar="N",
    help="Approximate number of triples of both graphs.",
)
result_file_option = click.option(
    "--json", "result_file", type=FILE, help="Write the results to FILE; resume from it."
)


@click.command(epilog=format_examples("everalign methods", "everalign methods --json"))
@json_option
def methods(as_json: bool) -> None:
    """List the alignment methods.

    Includes those of installed packages that register methods.
    """
    from everalign.methods.registry import list_methods

    entries = list_methods()
    if as_json:
        print_json([{"name": e.name, "summary": e.summary} for e in entries.values()])
        return
    width = max(map(len, entries))
    for entry in entries.values():
        click.echo(f"{entry.name:{width}}  {entry.summary}")


@click.command(
    epilog=format_examples(
        "everalign bench data/ZH-EN --method contea --snapshots 0-5 --seed 0 --json zh-en.json",
        "everalign bench data/ZH-EN --snapshots 3 --json fit-at-3.json",
        "everalign bench data/ZH-EN --snapshots 0 --perturb 5",
    )
)
@click.argument("dataset", type=DIRECTORY)
@click.option(
    "--snapshots",
    type=SnapshotRange(),
    show_default="all",
    help="Fit on the first snapshot, update up to the last.",
)
@config_options
@click.option("--names", is_flag=True, help="Provide the names in IRIs, where they are known.")
@click.option(
    "--perturb",
    type=click.IntRange(min=2),
    metavar="N",
    help="Run N times under harmless perturbations; report mean and spread.",
)
@click.option(
    "--perturbation",
    "kinds",
    type=click.Choice(["names", "order", "split", "noise"]),
    multiple=True,
    show_default="all",
    help="What --perturb changes. May be repeated.",
)
@result_file_option
def bench(
    dataset: Path,
    snapshots: tuple[int, int] | None,
    method: str | None,
    seed: int | None,
    merge_rule: str | None,
    cardinality: str | None,
    classes: tuple[str, ...],
    other_classes: tuple[str, ...],
    config: Path | None,
    names: bool,
    perturb: int | None,
    kinds: tuple[str, ...],
    result_file: Path | None,
) -> None:
    """Run a method on a benchmark dataset and score its links.

    DATASET is a directory in the ContEA layout. Entities are renamed and triples shuffled first,
    since identifiers and their order can reveal the gold links. With --json, an interrupted run
    continues after the last finished snapshot.

    With --perturb, the first run is as without it. The others have other names of entities
    (names), another order of triples (order), other links of the trusted ones for validation
    (split) and scores that differ by a millionth (noise). The spread of their scores tells which
    differences between methods mean nothing.
    """
    from everalign.benchmark.protocol import BenchmarkRun

    settings = read_config(config, method, seed, merge_rule, cardinality, classes, other_classes)
    first, last = snapshots or (0, None)
    benchmark = BenchmarkRun(dataset, settings, first, last, names=names)
    if perturb:
        _measure_robustness(benchmark, perturb, kinds, result_file)
    elif kinds:
        raise click.UsageError("--perturbation says what --perturb changes: it needs that option")
    else:
        _run_benchmark(benchmark, result_file)


@click.command(
    epilog=format_examples(
        "everalign sample my-sample",
        "everalign sample large --triples 1000000 --snapshots 3",
        "everalign sample doubled --left-duplicates 0.2",
        "everalign sample huge --triples 100000000 --snapshots 2 --format nt --no-labels",
    )
)
@click.argument("directory", type=DIRECTORY)
@sample_size_option
@snapshots_option
@click.option(
    "--left-duplicates",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the left entities that are in their graph twice.",
)
@click.option(
    "--right-duplicates",
    type=float,
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="Share of the right entities that are in their graph twice.",
)
@click.option(
    "--format",
    "file_format",
    type=click.Choice(["tsv", "nt"]),
    default="tsv",
    show_default=True,
    help="Format of the triples: tab-separated tables or N-Triples.",
)
@click.option("--no-labels", is_flag=True, help="Write no labels of the entities.")
@seed_option
def sample(
    directory: Path,
    triples: int,
    snapshots: int,
    left_duplicates: float,
    right_duplicates: float,
    file_format: str,
    no_labels: bool,
    seed: int,
) -> None:
    """Generate a benchmark dataset of any size.

    Writes two synthetic graphs that grow over several snapshots, with seeds, validation and gold
    links, to DIRECTORY, in the layout that `everalign bench` reads. With duplicates, gold links
    are many-to-one, one-to-many or many-to-many.
    """
    from everalign.benchmark.synthetic import (
        SampleConfig,
        TripleFormat,
        generate_sample,
        write_sample,
    )

    config = SampleConfig(
        triples=triples,
        snapshots=snapshots,
        seed=seed,
        left_duplicate_share=left_duplicates,
        right_duplicate_share=right_duplicates,
    )
    with ProgressBar() as bar:
        write_sample(
            generate_sample(config),
            directory,
            bar,
            file_format=TripleFormat(file_format),
            with_labels=not no_labels,
        )
    _print_dataset_written(directory, snapshots)


@click.command(
    epilog=format_examples(
        "everalign demo", "everalign demo --serve", "everalign demo --triples 50000 --seed 7"
    )
)
@sample_size_option
@method_option
@seed_option
@result_file_option
@click.option("--serve", is_flag=True, help="Open the result in a browser, to review it.")
def demo(
    triples: int, method: str | None, seed: int, result_file: Path | None, serve: bool
) -> None:
    """Align two generated graphs over six snapshots.

    Generates a dataset as `everalign sample` does and prints the scores of each snapshot. These
    are from structure alone; then the entities get labels, in one more update, so that people can
    read them. The result is kept in everalign-demo.state, in place of that of an earlier demo; the
    last line is the command that opens it.
    """
    from everalign.benchmark.protocol import BenchmarkRun
    from everalign.benchmark.synthetic import SampleConfig, generate_sample, write_sample

    if serve:
        check_installed()
    _check_replaceable(DEMO_STATE)
    config = read_config(None, method, seed)
    with TemporaryDirectory() as scratch:
        dataset, state = Path(scratch) / "sample", Path(scratch) / "demo.state"
        sample = generate_sample(SampleConfig(triples=triples, seed=seed))
        write_sample(sample, dataset)
        _run_benchmark(BenchmarkRun(dataset, config, kept_state=state), result_file)
        # A result file that was complete before is printed only.
        if state.exists():
            _add_labels(state, dataset, sample, seed)
            if DEMO_STATE.exists():
                shutil.rmtree(DEMO_STATE)
            shutil.move(state, DEMO_STATE)
    if DEMO_STATE.exists():
        click.echo(f"Open the result: {_name_program()} serve {DEMO_STATE}")
    if serve and DEMO_STATE.exists():
        from everalign.service.settings import ServiceSettings

        # Any free port: another alignment may be served already.
        serve_alignment(ServiceSettings(DEMO_STATE, port=0), open_browser=None)


def _check_replaceable(state: Path) -> None:
    """Check that a demo can put its result there, before it takes the time to compute it."""
    from everalign.aligner import Aligner

    if not os.access(state.parent, os.W_OK):
        raise ConfigError("the demo keeps its result, but this directory cannot be written to")
    if state.exists() and not Aligner.exists(state):
        raise ConfigError(f"{state} is not the result of a demo: move it away")


def _name_program() -> str:
    """Name this program as a shell finds it, also where it is not on the search path."""
    program, found = Path(sys.argv[0]), shutil.which("everalign")
    is_script = program.stem == "everalign" and program.is_file()
    if not is_script or (found and program.samefile(found)):
        return "everalign"
    return str(program)


def _add_labels(state: Path, dataset: Path, sample: Sample, seed: int) -> None:
    """Let the entities of a demo have labels, in a version of its own."""
    from everalign.aligner import Aligner
    from everalign.benchmark.anonymise import AnonymisedDataset
    from everalign.benchmark.contea_format import ContEADataset

    data = AnonymisedDataset(ContEADataset.open(dataset), seed)
    left = data.label_entities(sample.left_labels(), 0)
    right = data.label_entities(sample.right_labels(), 1)
    with ProgressBar() as bar:
        Aligner.open(state).update(left, right, bar)


@click.command(
    epilog=format_examples(
        "everalign plot evidence.json contea.json --output f1.svg",
        "everalign plot my.state --metric growth --output growth.png",
    )
)
@click.argument("runs", type=FILE, nargs=-1, required=True)
@click.option("--output", type=FILE, required=True, help="Figure to write (.svg or .png).")
@click.option(
    "--metric",
    type=click.Choice(["f1", "growth", "time"]),
    default="f1",
    show_default=True,
    help="growth: number of links and their changes; time: seconds.",
)
def plot(runs: tuple[Path, ...], output: Path, metric: str) -> None:
    """Plot F1, growth or time of runs over their versions.

    RUNS are result files of `everalign bench --json` or state directories; a state has no F1.
    Requires matplotlib: pip install 'everalign[plots]'.
    """
    from everalign.plotting import draw_runs, read_runs

    draw_runs(read_runs(runs), metric, output)
    click.echo(f"Wrote {output} ({metric} of {format_count(len(runs), 'run')}).")


@click.group(epilog=format_examples(BUILD_EXAMPLE, STATS_EXAMPLE))
def datasets() -> None:
    """Build, convert and count benchmark datasets."""


@datasets.command(
    epilog=format_examples(
        BUILD_EXAMPLE,
        "everalign datasets build my-data --left zh.nt --right en.nt --links l.tsv \\",
        "    --base-left zh-base.tsv --base-right en-base.tsv",
    )
)
@click.argument("directory", type=DIRECTORY)
@click.option("--left", type=FILE, required=True, help="Triples of the large left graph.")
@click.option("--right", type=FILE, required=True, help="Triples of the large right graph.")
@click.option("--links", type=FILE, required=True, help="Reference links between the graphs.")
@click.option("--base-left", type=FILE, help="Triples of the left graph at snapshot 0.")
@click.option("--base-right", type=FILE, help="Triples of the right graph at snapshot 0.")
@snapshots_option
@click.option(
    "--growth",
    type=float,
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="Adjacent triples to sample, as a share of the triples of the snapshot before.",
)
@click.option(
    "--base-links",
    type=int,
    metavar="N",
    show_default="half of the eligible links, at most 15000",
    help="Links to sample snapshot 0 around.",
)
@click.option(
    "--min-triples",
    type=int,
    default=4,
    show_default=True,
    metavar="N",
    help="A link is eligible if each of its entities has at least N triples.",
)
@seed_option
def build(
    directory: Path,
    left: Path,
    right: Path,
    links: Path,
    base_left: Path | None,
    base_right: Path | None,
    snapshots: int,
    growth: float,
    base_links: int | None,
    min_triples: int,
    seed: int,
) -> None:
    """Build a dataset of growing snapshots from two large graphs.

    Follows the ContEA paper: each snapshot samples triples adjacent to the one before and adds
    all triples between its entities. The gold links of snapshot 0 are split 2:1:7 into training,
    validation and test links; those of later snapshots are test links. DIRECTORY gets the layout
    that `everalign bench` reads.

    Snapshot 0 is sampled around eligible links, unless --base-left and --base-right are given.
    """
    from everalign.benchmark.dataset_builder import BuildConfig, SourceGraphs, build_dataset
    from everalign.benchmark.dataset_statistics import compute_statistics

    sources = SourceGraphs(left, right, links, base_left, base_right)
    config = BuildConfig(snapshots, growth, seed, base_links, min_triples)
    with ProgressBar() as bar:
        result = build_dataset(sources, directory, config, bar)
        rows = compute_statistics(directory, bar)
    _print_skipped(result)
    _print_statistics(rows)
    _print_dataset_written(directory, snapshots)


@datasets.command(epilog=format_examples(STATS_EXAMPLE, f"{STATS_EXAMPLE} --json"))
@click.argument("directory", type=DIRECTORY)
@json_option
def stats(directory: Path, as_json: bool) -> None:
    """Count triples, links, entities and relations of each snapshot.

    Duplicate triples are counted, as in Table 1 of the ContEA paper; the last two columns show
    how many there are.
    """
    from everalign.benchmark.dataset_statistics import compute_statistics

    with ProgressBar() as bar:
        rows = compute_statistics(directory, bar)
    if as_json:
        print_json(rows)
    else:
        _print_statistics(rows)


@datasets.command(
    epilog=format_examples("everalign datasets dump data/dbp15k/fr_en dump --share 0.3")
)
@click.argument("dataset", type=DIRECTORY)
@click.argument("directory", type=DIRECTORY)
@click.option(
    "--share",
    type=float,
    default=0.2,
    show_default=True,
    metavar="SHARE",
    help="Share of the gold links to write as seeds.",
)
@seed_option
def dump(dataset: Path, directory: Path, share: float, seed: int) -> None:
    """Convert a static dataset such as DBP15K to RDF.

    Writes the two graphs of DATASET, seeds and the remaining gold links to DIRECTORY.
    """
    from everalign.benchmark.dbp15k import write_dump

    write_dump(dataset, directory, share=share, seed=seed)
    click.echo(f"Wrote left.nt.gz, right.nt.gz, seeds.nt and gold.nt to {directory}.")


def _run_benchmark(benchmark: BenchmarkRun, result_file: Path | None) -> None:
    """Run a benchmark and print a line as soon as each snapshot is done."""
    headings = [name.replace("_", " ").rjust(width) for name, width in RESULT_COLUMNS]
    click.echo("  ".join(headings))
    with TemporaryDirectory() as scratch, ProgressBar() as bar:
        file = result_file or Path(scratch) / "result.json"
        benchmark.run(file, on_result=_print_snapshot, progress=bar)


def _measure_robustness(
    benchmark: BenchmarkRun, run_count: int, kinds: tuple[str, ...], result_file: Path | None
) -> None:
    """Run a benchmark under perturbations; print each run, then mean and spread."""
    from everalign.benchmark.perturbation import PerturbationKind
    from everalign.benchmark.protocol import write_result
    from everalign.benchmark.robustness import RobustnessRun

    series = RobustnessRun(
        benchmark, run_count, tuple(map(PerturbationKind, kinds)) or tuple(PerturbationKind)
    )
    headings = [name.replace("_", " ").rjust(width) for name, width in RESULT_COLUMNS]
    click.echo("  ".join(["run", *headings]))

    def print_run(number: int, records: list[SnapshotResult]) -> None:
        for record in records:
            _print_snapshot(record, f"{number:3}  ")

    with TemporaryDirectory() as scratch, ProgressBar() as bar:
        runs = Path(scratch) / "runs"
        if result_file:
            runs = result_file.with_name(f"{result_file.name}.runs")
        result = series.run(runs, on_run=print_run, progress=bar)
        if result_file:
            write_result(result_file, result)
            shutil.rmtree(runs)
    click.echo()
    print_table(
        ["t", *(f"{name} {of}" for name in SPREAD_COLUMNS for of in ("mean", "range")),
         "links in common"],
        [
            [row["t"], *_list_spreads(row), row["agreement"]] for row in result["snapshots"]
        ],
    )  # fmt: skip


def _list_spreads(row: SnapshotResult) -> list[float | None]:
    return [row.get(name, {}).get(of) for name in SPREAD_COLUMNS for of in ("mean", "range")]


def _print_snapshot(record: SnapshotResult, label: str = "") -> None:
    # A result file to resume from may be of an older version that lacks a figure.
    cells = (format_value(record.get(name)).rjust(width) for name, width in RESULT_COLUMNS)
    click.echo(label + "  ".join(cells))


def _print_dataset_written(directory: Path, snapshots: int) -> None:
    click.echo(
        f"Wrote {format_count(snapshots, 'snapshot')} to {directory}. "
        f"Next: everalign bench {directory}"
    )


def _print_skipped(result: BuildResult) -> None:
    for count, noun, reason in (
        (result.literals, "triple", "object is a literal"),
        (result.unknown_links, "link", "entity without triples"),
        (result.contradicting_links, "link", "entity with more than one link"),
    ):
        if count:
            click.echo(f"note: {format_count(count, noun)} skipped: {reason}")


def _print_statistics(rows: list[SnapshotStatistics]) -> None:
    records = [asdict(row) for row in rows]
    headers = [name.replace("_", " ") for name in records[0]]
    print_table(headers, [list(record.values()) for record in records])
