"""Commands that start an alignment and keep it up to date."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.engine_options import EngineChoice, add_engine_options
from everalign.cli.inputs import (
    FILE,
    config_options,
    format_examples,
    json_option,
    languages_option,
    open_aligner,
    open_link_readers,
    open_readers,
    read_config,
    reader_options,
    state_argument,
)
from everalign.cli.memory_options import MemoryChoice, add_memory_options
from everalign.cli.output import (
    ProgressBar,
    format_count,
    print_json,
    print_notes,
    print_report,
    print_result,
    print_summary,
    print_table,
)
from everalign.cli.sources import GRAPH, SourceChoices, source_options
from everalign.cli.table_options import TableOptions, add_table_options

if TYPE_CHECKING:
    from everalign.types import AlignmentStatus, ContradictedLink


@click.command(
    epilog=format_examples(
        "everalign init my.state --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv",
        "everalign init my.state --left 'zh/*.ttl' --right en.nt --config my.toml",
        "everalign init my.state --left https://example.org/zh.ttl.gz --right en.tar.gz",
        "everalign init my.state --left sparql+https://example.org/sparql --query left=people.rq"
        " --right en.nt",
        "everalign init my.state --left abt.csv --right buy.csv --id-column left=sku",
        "everalign init my.state --left zh.nt.gz --right en.nt.gz --engine spark"
        " --master spark://host:7077 --engine-directory /shared/run",
        "everalign init my.state --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv --memory 4GB",
    )
)
@state_argument
@click.option(
    "--left",
    type=GRAPH,
    required=True,
    multiple=True,
    help="Triples of the left graph. Optionally compressed; may be repeated.",
)
@click.option(
    "--right",
    type=GRAPH,
    required=True,
    multiple=True,
    help="Triples of the right graph. Optionally compressed; may be repeated.",
)
@click.option("--seeds", type=FILE, help="Trusted links to learn from.")
@click.option("--validation", type=FILE, help="Validation links (not used for training).")
@config_options
@languages_option
@reader_options
@source_options
@add_table_options
@add_engine_options
@add_memory_options
def init(
    state: Path,
    left: tuple[Path | str, ...],
    right: tuple[Path | str, ...],
    seeds: Path | None,
    validation: Path | None,
    method: str | None,
    seed: int | None,
    merge_rule: str | None,
    cardinality: str | None,
    classes: tuple[str, ...],
    other_classes: tuple[str, ...],
    config: Path | None,
    languages: tuple[str, ...],
    graph_filter: tuple[str, ...],
    skip_errors: bool,
    sources: SourceChoices,
    tables: TableOptions,
    engine: EngineChoice,
    memory: MemoryChoice,
) -> None:
    """Create an alignment of two graphs.

    Reads both graphs, runs the method and stores the result as version 0 in the directory STATE.
    Graphs are RDF in any common format, tables of three columns, or tables with a header (CSV,
    TSV, Parquet) whose rows are entities; a quoted pattern such as 'dump/*.nt.gz' names several
    files, and zip and tar archives are read as well. A URL is fetched into a cache;
    sparql+https://... names a SPARQL endpoint (with --query or --endpoint-class). Links are pairs,
    left TAB right, or a file written by `everalign export`. Seeds can be omitted if names and
    other literals suffice to start.
    """
    from everalign.aligner import Aligner

    settings = read_config(
        config, method, seed, merge_rule, cardinality, classes, other_classes, languages
    )
    sources = tables.check({"left": left, "right": right}, sources, state)
    with (
        memory.use(state),
        engine.use(state),
        ProgressBar("fit") as bar,
        open_readers(graph_filter, skip_errors, bar, sources, tables, state) as open_reader,
        open_link_readers(skip_errors, seeds, validation) as links,
    ):
        aligner = Aligner.create(
            state,
            open_reader("left", left) or [],
            open_reader("right", right) or [],
            links[0],
            links[1],
            settings,
            bar,
        )
    print_report(aligner.status().reports[-1])
    print_summary(aligner, state)


@click.command(
    epilog=format_examples(
        "everalign update my.state --left zh-week-2.nt.gz --right en-week-2.nt.gz",
        "everalign update my.state --left zh-week-3.rdfp   # an RDF Patch adds and removes",
        "everalign update my.state --complete-left abt.csv # the whole table, changed",
        "everalign update my.state --remove-right removed.nt --seeds more-seeds.tsv",
        "everalign update my.state --full",
        "everalign update my.state                         # finish, or follow decisions",
    )
)
@state_argument
@click.option(
    "--left",
    type=GRAPH,
    multiple=True,
    help="Triples added to the left graph. Optionally compressed; may be repeated.",
)
@click.option(
    "--right",
    type=GRAPH,
    multiple=True,
    help="Triples added to the right graph. Optionally compressed; may be repeated.",
)
@click.option(
    "--remove-left",
    type=GRAPH,
    multiple=True,
    help="Triples removed from the left graph. Removals are applied before additions. "
    "May be repeated.",
)
@click.option(
    "--remove-right",
    type=GRAPH,
    multiple=True,
    help="Triples removed from the right graph. May be repeated.",
)
@click.option(
    "--complete-left",
    type=GRAPH,
    multiple=True,
    help="The left graph as it is now, complete: what is new in it is added, what is missing from "
    "it is removed. May be repeated.",
)
@click.option(
    "--complete-right",
    type=GRAPH,
    multiple=True,
    help="The right graph as it is now, complete. May be repeated.",
)
@click.option(
    "--remove-left-entities",
    type=FILE,
    help="Entities removed from the left graph with all their triples, one per line.",
)
@click.option(
    "--remove-right-entities",
    type=FILE,
    help="Entities removed from the right graph with all their triples, one per line.",
)
@click.option("--seeds", type=FILE, help="More trusted links to learn from.")
@click.option("--validation", type=FILE, help="Validation links (not used for training).")
@click.option("--confirm", type=FILE, help="Links to confirm, as by `everalign confirm`.")
@click.option("--reject", type=FILE, help="Links to reject, as by `everalign reject`.")
@click.option("--withdraw", type=FILE, help="Decisions to withdraw, as by `everalign withdraw`.")
@click.option("--full", is_flag=True, help="Re-score everything.")
@reader_options
@source_options
@add_table_options
@add_engine_options
@add_memory_options
@json_option
def update(
    state: Path,
    left: tuple[Path | str, ...],
    right: tuple[Path | str, ...],
    remove_left: tuple[Path | str, ...],
    remove_right: tuple[Path | str, ...],
    complete_left: tuple[Path | str, ...],
    complete_right: tuple[Path | str, ...],
    remove_left_entities: Path | None,
    remove_right_entities: Path | None,
    seeds: Path | None,
    validation: Path | None,
    confirm: Path | None,
    reject: Path | None,
    withdraw: Path | None,
    full: bool,
    graph_filter: tuple[str, ...],
    skip_errors: bool,
    sources: SourceChoices,
    tables: TableOptions,
    engine: EngineChoice,
    memory: MemoryChoice,
    as_json: bool,
) -> None:
    """Apply changes to both graphs and update the links.

    All files together make one new version. Only entities affected by the changes are re-scored,
    unless --full is given. Without files, the command finishes an interrupted update and takes
    up decisions made since the last update. Known triples may be given again.
    """
    from everalign.changeset import ChangeSet

    given = {
        "left": (*left, *remove_left, *complete_left),
        "right": (*right, *remove_right, *complete_right),
    }
    sources = tables.check(given, sources, state)
    with (
        memory.use(state),
        engine.use(state),
        ProgressBar("update") as bar,
        open_readers(graph_filter, skip_errors, bar, sources, tables, state) as open_reader,
        open_link_readers(skip_errors, seeds, validation) as links,
    ):
        change = ChangeSet(
            added_left=open_reader("left", left),
            added_right=open_reader("right", right),
            removed_left=open_reader("left", remove_left),
            removed_right=open_reader("right", remove_right),
            complete_left=open_reader("left", complete_left),
            complete_right=open_reader("right", complete_right),
            removed_left_entities=remove_left_entities,
            removed_right_entities=remove_right_entities,
            seeds=links[0],
            validation=links[1],
            withdrawn=withdraw,
            confirmed=confirm,
            rejected=reject,
        )
        result = open_aligner(state).update(progress=bar, change=change, full=full)
    print_result(result, as_json=as_json)


@click.command(
    epilog=format_examples(
        "everalign status my.state",
        "everalign status my.state --json",
        "everalign status my.state --contradicted-links",
    )
)
@state_argument
@click.option(
    "--contradicted-links",
    "lists_contradicted",
    is_flag=True,
    help="List all given links that contradict their neighbourhood, and their rivals.",
)
@json_option
def status(state: Path, lists_contradicted: bool, as_json: bool) -> None:
    """Show the settings, size and versions of an alignment.

    Lists one line per version, and the update that is pending if one was interrupted. Given links
    that are more likely wrong than right are counted, and the least probable ones are listed.
    """
    aligner = open_aligner(state)
    if lists_contradicted:
        links = aligner.contradicted_links()
        if as_json:
            print_json(links)
        else:
            _print_contradicted(links)
        return
    current = aligner.status()
    if as_json:
        print_json(current)
    else:
        _print_status(current)


def _print_contradicted(links: Sequence[ContradictedLink]) -> None:
    print_table(
        ["probability", "support", "left", "right", "rival support", "rival"],
        [
            [
                link.probability,
                link.support,
                link.left,
                link.right,
                link.rival_support,
                link.rival_right if link.rival_left == link.left else link.rival_left,
            ]
            for link in links
        ],
    )


def _print_status(status: AlignmentStatus) -> None:
    click.echo(
        f"{status.state}: method {status.method}, merge rule {status.merge_rule}, "
        f"{status.cardinality}, seed {status.seed}"
    )
    click.echo(f"left   {status.left_entities} entities, {status.left_triples} triples")
    click.echo(f"right  {status.right_entities} entities, {status.right_triples} triples")
    if literals := sum(report.added_literals for report in status.reports):
        click.echo(f"literals  {literals} read, of both graphs")
    click.echo(f"links  {status.given_links} given, {status.found_links} found")
    if status.waiting_decisions:
        count = format_count(status.waiting_decisions, "decision")
        click.echo(f"waiting: {count} (to take up: everalign update {status.state})")
    if status.pending is not None:
        click.echo(f"pending: {status.pending} (to finish: everalign update {status.state})")
    for report in status.reports[-1:]:
        print_notes(report)
    if status.contradicted_count:
        count = format_count(status.contradicted_count, "given link")
        click.echo(
            f"contradicted: {count} more likely wrong than right "
            f"(all: everalign status {status.state} --contradicted-links)"
        )
        _print_contradicted(status.contradicted_links)
    print_table(
        ["version", "made at", "source", "links", "added", "revised", "retracted", "seconds"],
        [
            [
                report.version,
                report.made_at,
                report.source,
                report.found_links,
                report.links_added,
                report.links_revised,
                report.links_retracted,
                report.seconds,
            ]
            for report in status.reports
        ],
    )
