"""The commands around benchmark datasets: building them, and counting what is in them."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.alignment import AS_JSON, FILE, examples
from everalign.cli.output import Bar, print_json, print_table

if TYPE_CHECKING:
    from everalign.datasets import Built, SnapshotStatistics

BUILD_EXAMPLE = (
    "everalign datasets build my-data --left zh.nt.gz --right en.nt.gz --links sameas.nt.gz"
)
STATS_EXAMPLE = "everalign datasets stats data/ZH-EN"


@click.group(epilog=examples(BUILD_EXAMPLE, STATS_EXAMPLE))
def datasets() -> None:
    """Build datasets for `everalign bench`, and count what is in them."""


@datasets.command(
    epilog=examples(
        BUILD_EXAMPLE,
        "everalign datasets build my-data --left zh.nt --right en.nt --links l.tsv \\",
        "    --base-left zh-base.tsv --base-right en-base.tsv",
    )
)
@click.argument("out", type=FILE)
@click.option("--left", type=FILE, required=True, help="Triples of the large left graph.")
@click.option("--right", type=FILE, required=True, help="Triples of the large right graph.")
@click.option("--links", type=FILE, required=True, help="Reference links: left TAB right.")
@click.option("--base-left", type=FILE, help="Triples of the left graph at snapshot 0.")
@click.option("--base-right", type=FILE, help="Triples of the right graph at snapshot 0.")
@click.option("--snapshots", type=int, default=6, show_default=True)
@click.option(
    "--growth",
    type=float,
    default=0.2,
    show_default=True,
    help="Adjacent triples to draw, as a share of those before.",
)
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
@click.option(
    "--base-links",
    type=int,
    help="Links to draw snapshot 0 around (default: half of those that are fit, at most 15000).",
)
@click.option(
    "--min-triples",
    type=int,
    default=4,
    show_default=True,
    help="A link is fit if both of its entities have so many.",
)
def build(
    out: Path,
    left: Path,
    right: Path,
    links: Path,
    base_left: Path | None,
    base_right: Path | None,
    snapshots: int,
    growth: float,
    seed: int,
    base_links: int | None,
    min_triples: int,
) -> None:
    """Make a dataset of growing snapshots from two large graphs and reference links.

    As in the ContEA paper: each snapshot draws triples around what is there and adds all those
    between the entities that it then has. The gold links of snapshot 0 are split 2:1:7 into
    train, validation and test links; later ones are test links. OUT gets the layout that
    `everalign bench` reads.

    Snapshot 0 is drawn around links between entities with enough triples, unless --base-left
    and --base-right give it.
    """
    from everalign.datasets import BuildConfig, Sources, statistics
    from everalign.datasets import build as build_dataset

    sources = Sources(left, right, links, base_left, base_right)
    config = BuildConfig(snapshots, growth, seed, base_links, min_triples)
    with Bar() as bar:
        built = build_dataset(sources, out, config, bar)
        rows = statistics(out, bar)
    _say_left_out(built)
    _print_statistics(rows)
    click.echo(f"{out}: {snapshots} snapshots; try: everalign bench {out}")


@datasets.command(epilog=examples(STATS_EXAMPLE, f"{STATS_EXAMPLE} --json"))
@click.argument("directory", type=FILE)
@AS_JSON
def stats(directory: Path, as_json: bool) -> None:
    """Count triples, links, entities and relations in a dataset, snapshot by snapshot.

    Triples are counted with those that come again, as in Table 1 of the ContEA paper; the last
    two columns say how many do.
    """
    from everalign.datasets import statistics

    with Bar() as bar:
        rows = statistics(directory, bar)
    if as_json:
        print_json(rows)
    else:
        _print_statistics(rows)


def _say_left_out(built: Built) -> None:
    for count, what in (
        (built.literals, "triples with a literal"),
        (built.unknown_links, "links with an entity that no triple has"),
        (built.contradicting_links, "links that contradict others"),
    ):
        if count:
            click.echo(f"note: {count} {what} were left out")


def _print_statistics(rows: list[SnapshotStatistics]) -> None:
    tables = [asdict(row) for row in rows]
    headers = [name.replace("_", " ") for name in tables[0]]
    print_table(headers, [list(table.values()) for table in tables])


@datasets.command(
    "dump", epilog=examples("everalign datasets dump data/dbp15k/fr_en dump --share 0.3")
)
@click.argument("directory", type=FILE)
@click.argument("out", type=FILE)
@click.option("--share", type=float, default=0.2, show_default=True, help="Of links, as seeds.")
@click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True)
def dump_command(directory: Path, out: Path, share: float, seed: int) -> None:
    """Write a static dataset such as DBP15K as RDF: two graphs, seeds and gold links."""
    from everalign.datasets import dump

    dump(directory, out, share=share, seed=seed)
    click.echo(f"{out}: left.nt.gz, right.nt.gz, seeds.nt, gold.nt")
