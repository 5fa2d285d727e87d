"""Commands that print and export links, and how they changed between versions."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.completion import complete_version
from everalign.cli.inputs import (
    FILE,
    blank_node_options,
    choose_languages,
    format_examples,
    json_option,
    label_options,
    languages_option,
    open_aligner,
    output_option,
    selection_options,
    state_argument,
)
from everalign.cli.output import (
    PAGE_ROWS,
    open_output,
    print_json,
    print_json_list,
    print_pages,
    print_skipped,
    print_table,
)
from everalign.cli.terminal import EntityFormatter

if TYPE_CHECKING:
    from everalign import Aligner
    from everalign.types import Link, LinkEvent

EXPORT_FORMATS = ("tsv", "nt", "ttl", "sssom", "alignment", "jsonl", "parquet")
PROBLEMS_FOUND = 1
# What tables take besides the two entities: score and origin; version, event, score and reason.
LINK_COLUMNS = 21
EVENT_COLUMNS = 51
DIFFERENCE_COLUMNS = 61


@click.command(
    epilog=format_examples(
        "everalign links my.state > links.tsv",
        "everalign links my.state --format nt --min-score 0.2 > links.nt",
        "everalign links my.state --target-precision 0.95",
        "everalign links my.state --at 2 --json",
    )
)
@state_argument
@selection_options
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["tsv", "nt"]),
    default="tsv",
    show_default=True,
    help="Tab-separated left, right, score; or owl:sameAs as N-Triples.",
)
@label_options
@blank_node_options
@json_option
def links(
    state: Path,
    format_name: str,
    labels: bool,
    languages: tuple[str, ...],
    spreadsheet_safe: bool,
    blank_nodes: bool,
    skolem_base: str,
    as_json: bool,
    **selection: Any,
) -> None:
    """Print the links in force, best first.

    Given links come first, then found links by descending score. Decisions that are waiting count
    already, unless --at is given. At most one of --min-score,
    --min-confidence and --target-precision can be given; the last two need a method whose scores
    are probabilities. `everalign export` writes other formats.

    On a terminal, entities are shown by label and CURIE, with the origin of each link; proposals
    are not in force. Elsewhere, the columns are left IRI, right IRI and score.
    """
    from everalign.io import ExportStyle

    aligner = open_aligner(state)
    if as_json:
        print_json_list(aligner.iterate_links(**selection))
        _print_target_problem(aligner, selection["target_precision"], selection["at"])
        return
    preferred = choose_languages(state, languages)
    formatter = EntityFormatter(aligner, preferred)
    if formatter.is_terminal and format_name == "tsv" and not labels and not spreadsheet_safe:
        print_pages(
            ["score", "left", "right", "origin"],
            _iterate_shown(aligner.iterate_links(**selection), formatter),
        )
    else:
        style = ExportStyle(
            labels=labels,
            languages=preferred,
            spreadsheet_safe=spreadsheet_safe,
            blank_nodes=blank_nodes,
            skolem_base=skolem_base,
        )
        print_skipped(aligner.export(sys.stdout.buffer, format_name, style, **selection))
    _print_target_problem(aligner, selection["target_precision"], selection["at"])


@click.command(
    epilog=format_examples(
        "everalign export my.state --format ttl --prefix dbr=http://dbpedia.org/resource/ "
        "--annotate",
        "everalign export my.state --format sssom --prefix zh=http://zh.dbpedia.org/resource/ "
        "--prefix dbr=http://dbpedia.org/resource/ --output links.sssom.tsv",
        "everalign export my.state --format parquet --target-precision 0.95 --output l.parquet",
    )
)
@state_argument
@click.option(
    "--format",
    "format_name",
    type=click.Choice(EXPORT_FORMATS),
    default="tsv",
    show_default=True,
    help="nt and ttl: N-Triples or Turtle; alignment: RDF/XML of the Alignment API; jsonl: "
    "JSON lines.",
)
@click.option(
    "--predicate",
    type=click.Choice(["owl:sameAs", "skos:exactMatch", "schema:sameAs"]),
    default="owl:sameAs",
    show_default=True,
    help="Property of links in RDF and SSSOM.",
)
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="NAME=IRI",
    help="Namespace prefix for Turtle and SSSOM, besides those of the input files. May be "
    "repeated.",
)
@click.option(
    "--annotate", is_flag=True, help="Add the confidence to N-Triples or Turtle, as RDF 1.2."
)
@click.option(
    "--reify",
    is_flag=True,
    help="Add the confidence as rdf:Statement resources, which RDF 1.1 tools can read.",
)
@click.option("--left-source", metavar="IRI", help="Name of the left graph.")
@click.option("--right-source", metavar="IRI", help="Name of the right graph.")
@click.option("--mapping-set-id", metavar="IRI", help="SSSOM: identifier of the mapping set.")
@click.option("--license", metavar="IRI", help="SSSOM: license of the mapping set.")
@label_options
@blank_node_options
@output_option
@selection_options
def export(
    state: Path,
    format_name: str,
    prefixes: tuple[str, ...],
    output: Path | None,
    at: int | None,
    min_score: float | None,
    min_confidence: float | None,
    target_precision: float | None,
    found_only: bool,
    **style: Any,
) -> None:
    """Write the links in force for other tools.

    Links are selected as by `everalign links`. SSSOM also contains rejected pairs, and one row
    per justification of a link. Every format can be read back as seeds or gold links. Links that
    a format cannot hold are left out, and counted on standard error.
    """
    from everalign.io import ExportStyle, Prefixes

    # The other options are the fields of the style.
    aligner = open_aligner(state)
    style["languages"] = choose_languages(state, style["languages"])
    wanted = ExportStyle(Prefixes.parse(prefixes), **style)
    with open_output(output) as stream:
        result = aligner.export(
            stream,
            format_name,
            wanted,
            min_score=min_score,
            min_confidence=min_confidence,
            target_precision=target_precision,
            at=at,
            found_only=found_only,
        )
    print_skipped(result)
    _print_target_problem(aligner, target_precision, at)


def _print_target_problem(
    aligner: Aligner, target_precision: float | None, at: int | None
) -> None:
    """Say on standard error if the links may be less precise than they were to be."""
    if target_precision is None:
        return
    if problem := aligner.find_target_problem(target_precision, at=at):
        click.echo(problem, err=True)


def _iterate_shown(links: Iterable[Link], formatter: EntityFormatter) -> Iterator[list[object]]:
    links = iter(links)
    while page := list(islice(links, PAGE_ROWS)):
        pairs = [(link.left, link.right) for link in page]
        names = formatter.name_pairs(pairs, LINK_COLUMNS)
        for link, pair in zip(page, names, strict=True):
            yield [link.score, *pair, link.origin]


@click.command("check-sssom", epilog=format_examples("everalign check-sssom links.sssom.tsv"))
@click.argument("file", type=FILE)
def check_sssom(file: Path) -> int:
    """Validate an SSSOM/TSV file.

    Prints one line per problem. The exit code is 1 if there are any.
    """
    from everalign.io import check_sssom

    problems = check_sssom(file)
    for line, problem in problems:
        place = f"{file}:{line}" if line else str(file)
        click.echo(f"{place}: {problem}")
    if not problems:
        click.echo(f"{file}: no problems")
    return PROBLEMS_FOUND if problems else 0


@click.command(
    epilog=format_examples(
        "everalign history my.state http://zh.dbpedia.org/resource/杭州市",
        "everalign history my.state --since 3",
        "everalign history my.state --json",
    )
)
@state_argument
@click.argument("entity", required=False)
@click.option(
    "--since",
    type=int,
    shell_complete=complete_version,
    default=0,
    metavar="VERSION",
    show_default=True,
    help="First version to list.",
)
@languages_option
@json_option
def history(
    state: Path, entity: str | None, since: int, languages: tuple[str, ...], as_json: bool
) -> None:
    """List what happened to links, oldest first.

    Prints each event (added, revised, retracted, rescored, confirmed, rejected, withdrawn) with
    its version, score and reason; for decisions of people also author, time and comment. Decisions
    that no version has taken up yet come last, without a version. With ENTITY, only events of its
    links are listed; it is an IRI, a CURIE, a label, or the end of an IRI.
    """
    aligner = open_aligner(state)
    name = None if entity is None else aligner.find_entity(entity)
    events = aligner.iterate_history(name, since=since)
    if as_json:
        print_json_list(events)
        return
    print_pages(
        ["version", "event", "left", "right", "score", "reason"],
        _iterate_events(events, EntityFormatter(aligner, choose_languages(state, languages))),
    )


@click.command(
    epilog=format_examples("everalign diff my.state 1 3", "everalign diff my.state 3 1 --json")
)
@state_argument
@click.argument("before", type=int, metavar="V1", shell_complete=complete_version)
@click.argument("after", type=int, metavar="V2", shell_complete=complete_version)
@languages_option
@json_option
def diff(state: Path, before: int, after: int, languages: tuple[str, ...], as_json: bool) -> None:
    """Show how the links differ between versions V1 and V2.

    Prints the net differences: a link that was added and retracted in between is not listed. The
    reason is that of the last event of a pair.
    """
    aligner = open_aligner(state)
    differences = aligner.diff(before, after)
    if as_json:
        print_json(differences)
        return
    counts = Counter(row.kind for row in differences)
    summary = ", ".join(f"{count} {kind}" for kind, count in counts.items())
    click.echo(f"Version {before} to {after}: {summary or 'no differences'}.")
    if differences:
        pairs = [(row.left, row.right) for row in differences]
        formatter = EntityFormatter(aligner, choose_languages(state, languages))
        names = formatter.name_pairs(pairs, DIFFERENCE_COLUMNS)
        print_table(
            ["event", "left", "right", "before", "after", "version", "reason"],
            [
                [row.kind, *pair, row.before, row.after, row.version, row.reason]
                for row, pair in zip(differences, names, strict=True)
            ],
        )


def _iterate_events(
    events: Iterable[LinkEvent], formatter: EntityFormatter
) -> Iterator[list[object]]:
    events = iter(events)
    while page := list(islice(events, PAGE_ROWS)):
        pairs = [(event.left, event.right) for event in page]
        names = formatter.name_pairs(pairs, EVENT_COLUMNS)
        for event, pair in zip(page, names, strict=True):
            # A decision that is waiting has no score yet.
            score = None if event.version is None else event.score
            yield [event.version, event.kind, *pair, score, _explain(event)]


@click.command(
    epilog=format_examples(
        "everalign changes my.state --since 3 > changes.jsonl",
        "everalign changes my.state --since 3 --format patch --output week-4.rdfp",
        "everalign changes my.state --since 3 --format nt --removals removed.nt > added.nt",
    )
)
@state_argument
@click.option(
    "--since",
    type=int,
    shell_complete=complete_version,
    metavar="VERSION",
    show_default="no links",
    help="Version that the other system has.",
)
@click.option(
    "--until",
    type=int,
    metavar="VERSION",
    show_default="last",
    help="Version to reach.",
    shell_complete=complete_version,
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["jsonl", "nt", "patch"]),
    default="jsonl",
    show_default=True,
    help="JSON lines; or owl:sameAs as N-Triples or RDF Patch.",
)
@click.option("--removals", type=FILE, help="Write removed links to FILE (--format nt only).")
@output_option
def changes(
    state: Path,
    since: int | None,
    until: int | None,
    format_name: str,
    removals: Path | None,
    output: Path | None,
) -> None:
    """Write the changes of links between two versions.

    They are meant for another system: if it has the links of version --since and applies the
    changes in order, it has the links of version --until. Changes that a format cannot hold are
    left out, and counted on standard error.
    """
    if removals is not None and removals == output:
        raise click.UsageError("--removals and --output must be different files")
    aligner = open_aligner(state)
    with ExitStack() as files:
        removal_stream = files.enter_context(open_output(removals)) if removals else None
        stream = files.enter_context(open_output(output))
        result = aligner.write_changes(
            stream, format_name, since=since, until=until, removals=removal_stream
        )
    print_skipped(result, "change")


def _explain(event: LinkEvent) -> str:
    """Give the reason of an event, and who decided when if somebody did."""
    if not event.decided_at:
        return event.reason
    author = f"{event.author}, " if event.author else ""
    comment = f": {event.comment}" if event.comment else ""
    return f"{event.reason} ({author}{event.decided_at}{comment})"
