"""The commands around measuring: methods, benchmarks, samples and the demo."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.alignment import AS_JSON, FILE, RULE, configuration, examples
from everalign.cli.output import Bar, cell, print_json

if TYPE_CHECKING:
    from everalign.evaluation.protocol import Benchmark, Record

COLUMNS = (
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


@click.command(epilog=examples("everalign methods", "everalign methods --json"))
@AS_JSON
def methods(as_json: bool) -> None:
    """List the methods there are, with those of installed packages."""
    from everalign.methods.registry import all_methods

    known = all_methods()
    if as_json:
        print_json([{"name": e.name, "summary": e.summary} for e in known.values()])
        return
    width = max(map(len, known))
    for entry in known.values():
        click.echo(f"{entry.name:{width}}  {entry.summary}")


class Snapshots(click.ParamType[tuple[int, int]]):
    """A range such as 0-5, or one number."""

    name = "FIRST-LAST"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        first, _, last = value.partition("-")
        if not (first.isdecimal() and (last or first).isdecimal() and len(value) < 20):
            self.fail(f"expected a range such as 0-5, found {value!r}", param, ctx)
        return int(first), int(last or first)


@click.command(
    epilog=examples(
        "everalign bench data/ZH-EN --method contea --snapshots 0-5 --seed 0 --json zh-en.json",
        "everalign bench data/ZH-EN --snapshots 3 --json fit-at-3.json",
    )
)
@click.argument("dataset", type=FILE)
@click.option("--method", help="A method that `everalign methods` lists.")
@click.option(
    "--snapshots",
    type=Snapshots(),
    help="Fit on the first, update up to the last (default: all).",
)
@click.option("--seed", type=click.IntRange(min=0), help="Of every random choice.")
@RULE
@click.option("--config", type=FILE, help="Settings as TOML.")
@click.option("--names", is_flag=True, help="Give it the names in IRIs, where they are known.")
@click.option("--json", "out", type=FILE, help="Where the result goes, and where a run resumes.")
def bench(
    dataset: Path,
    method: str | None,
    snapshots: tuple[int, int] | None,
    seed: int | None,
    rule: str | None,
    config: Path | None,
    names: bool,
    out: Path | None,
) -> None:
    """Run a method over the snapshots of DATASET (in the ContEA layout) and score it.

    Entities are renamed and triples shuffled at random first, since ids and order may tell who
    belongs together. With --json, a run that was broken off goes on where it was.
    """
    from everalign.evaluation.protocol import Benchmark

    settings = configuration(config, method, seed, rule)
    first, last = snapshots or (0, None)
    benchmark = Benchmark(dataset, settings, first, last, names=names)
    with TemporaryDirectory() as scratch:
        _run(benchmark, out or Path(scratch) / "result.json")


@click.command(
    epilog=examples("everalign sample my-sample", "everalign sample big --triples 1000000")
)
@click.argument("directory", type=FILE)
@click.option("--triples", type=int, default=20_000, show_default=True, help="Of both graphs.")
@click.option("--snapshots", type=int, default=6, show_default=True)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def sample(directory: Path, triples: int, snapshots: int, seed: int) -> None:
    """Write two generated graphs of one invented world, growing, with gold links.

    DIRECTORY gets the layout that `everalign bench` reads.
    """
    from everalign.sample import SampleConfig, generate, write_sample

    config = SampleConfig(triples=triples, snapshots=snapshots, seed=seed)
    with Bar() as bar:
        write_sample(generate(config), directory, bar)
    click.echo(f"{directory}: {snapshots} snapshots; try: everalign bench {directory}")


@click.command(epilog=examples("everalign demo", "everalign demo --triples 50000 --seed 7"))
@click.option("--triples", type=int, default=20_000, show_default=True, help="Of both graphs.")
@click.option("--method", help="A method that `everalign methods` lists.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option("--json", "out", type=FILE, help="Keep the result in a file.")
def demo(triples: int, method: str | None, seed: int, out: Path | None) -> None:
    """Align two generated graphs over six snapshots and show how the links develop."""
    from everalign.evaluation.protocol import Benchmark
    from everalign.sample import SampleConfig, generate, write_sample

    with TemporaryDirectory() as scratch:
        dataset = Path(scratch) / "sample"
        write_sample(generate(SampleConfig(triples=triples, seed=seed)), dataset)
        config = configuration(None, method, seed, None)
        _run(Benchmark(dataset, config), out or Path(scratch) / "result.json")


def _run(benchmark: Benchmark, out: Path) -> None:
    """Run a benchmark and print a line as soon as each snapshot is done."""
    heading = [name.replace("_", " ").rjust(width) for name, width in COLUMNS]
    click.echo("  ".join(heading))
    with Bar() as bar:
        benchmark.run(out, watch=_say, progress=bar)


def _say(record: Record) -> None:
    # A result that an earlier release has left may lack a figure.
    cells = (cell(record.get(name)).rjust(width) for name, width in COLUMNS)
    click.echo("  ".join(cells))
