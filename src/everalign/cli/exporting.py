"""The commands that write links for others, and check what others have written."""

from __future__ import annotations

from pathlib import Path

import click

from everalign.cli.alignment import FILE, STATE, examples, open_aligner, selecting
from everalign.cli.output import opened_output

FORMATS = ("tsv", "nt", "ttl", "sssom", "alignment", "jsonl", "parquet")
FOUND_PROBLEMS = 1


@click.command(
    epilog=examples(
        "everalign export my.state --format ttl --prefix dbr=http://dbpedia.org/resource/ "
        "--annotate",
        "everalign export my.state --format sssom --prefix zh=http://zh.dbpedia.org/resource/ "
        "--prefix dbr=http://dbpedia.org/resource/ --output links.sssom.tsv",
        "everalign export my.state --format parquet --target-precision 0.95 --output l.parquet",
    )
)
@STATE
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMATS),
    default="tsv",
    show_default=True,
    help="A table; owl:sameAs as N-Triples or Turtle; SSSOM; the RDF/XML of the Alignment API; "
    "JSON lines; Parquet.",
)
@click.option(
    "--prefix",
    "prefixes",
    multiple=True,
    metavar="NAME=IRI",
    help="A short name for the beginning of IRIs, for Turtle and SSSOM; can be repeated.",
)
@click.option("--annotate", is_flag=True, help="Add the confidence to N-Triples or Turtle.")
@click.option("--left-source", metavar="IRI", help="What the left graph is called.")
@click.option("--right-source", metavar="IRI", help="What the right graph is called.")
@click.option("--mapping-set-id", metavar="IRI", help="What SSSOM calls the whole.")
@click.option("--license", metavar="IRI", help="The licence that SSSOM tells.")
@click.option("--output", type=FILE, help="A file to write, whole or not at all.")
@selecting
def export(
    state: Path,
    form: str,
    prefixes: tuple[str, ...],
    annotate: bool,
    left_source: str | None,
    right_source: str | None,
    mapping_set_id: str | None,
    license: str | None,
    output: Path | None,
    min_score: float | None,
    min_confidence: float | None,
    target_precision: float | None,
    found_only: bool,
    at: int | None,
) -> None:
    """Write the links in force for other tools.

    Which links, is said as for `everalign links`. SSSOM also has the pairs that people have
    rejected, and a row for each reason of a link.
    """
    from everalign.rdf import Prefixes, Style

    style = Style(
        Prefixes.parse(prefixes),
        annotate,
        left_source=left_source,
        right_source=right_source,
        mapping_set_id=mapping_set_id,
        license=license,
    )
    aligner = open_aligner(state)
    with opened_output(output) as stream:
        aligner.export(
            stream,
            form,
            style,
            min_score=min_score,
            min_confidence=min_confidence,
            target_precision=target_precision,
            at=at,
            found_only=found_only,
        )


@click.command("check-sssom", epilog=examples("everalign check-sssom links.sssom.tsv"))
@click.argument("file", type=FILE)
def check_sssom(file: Path) -> int:
    """List what is wrong with an SSSOM file, line by line.

    Ends with exit code 1 if anything is.
    """
    from everalign.rdf import check_sssom

    problems = check_sssom(file)
    for line, problem in problems:
        place = f"{file}, line {line}" if line else str(file)
        click.echo(f"{place}: {problem}")
    if not problems:
        click.echo(f"{file}: no problems")
    return FOUND_PROBLEMS if problems else 0
