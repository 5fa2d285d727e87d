"""The commands that look back: what happened, what differs, what another system has to apply."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from pathlib import Path

import click

from everalign.cli.alignment import AS_JSON, FILE, STATE, examples, open_aligner
from everalign.cli.output import opened_output, print_json, print_table


@click.command(
    epilog=examples(
        "everalign history my.state http://zh.dbpedia.org/resource/杭州市",
        "everalign history my.state --since 3",
        "everalign history my.state --json",
    )
)
@STATE
@click.argument("entity", required=False)
@click.option("--since", type=int, default=0, metavar="VERSION", help="From this version on.")
@AS_JSON
def history(state: Path, entity: str | None, since: int, as_json: bool) -> None:
    """Show what happened to the links of ENTITY, or to all links."""
    happenings = open_aligner(state).history(entity, since=since)
    if as_json:
        print_json(happenings)
        return
    print_table(
        ["version", "what", "left", "right", "score", "reason"],
        [[h.version, h.what, h.left, h.right, h.score, h.reason] for h in happenings],
    )


@click.command(
    epilog=examples("everalign diff my.state 1 3", "everalign diff my.state 3 1 --json")
)
@STATE
@click.argument("before", type=int, metavar="V1")
@click.argument("after", type=int, metavar="V2")
@AS_JSON
def diff(state: Path, before: int, after: int, as_json: bool) -> None:
    """Show how the links of version V2 differ from those of version V1.

    It is the net difference: a link that came and went in between is not in it. The reason is
    that of the last thing that happened to a pair.
    """
    found = open_aligner(state).diff(before, after)
    if as_json:
        print_json(found)
        return
    count = Counter(each.what for each in found)
    counts = ", ".join(f"{number} {what}" for what, number in count.items()) or "no difference"
    click.echo(f"version {before} to {after}: {counts}")
    if found:
        print_table(
            ["what", "left", "right", "before", "after", "version", "reason"],
            [[d.what, d.left, d.right, d.before, d.after, d.version, d.reason] for d in found],
        )


@click.command(
    epilog=examples(
        "everalign changes my.state --since 3 > changes.jsonl",
        "everalign changes my.state --since 3 --format patch --output week-4.rdfp",
        "everalign changes my.state --since 3 --format nt --removals gone.nt > new.nt",
    )
)
@STATE
@click.option(
    "--since", type=int, metavar="VERSION", help="What the other system has; nothing if left out."
)
@click.option("--until", type=int, metavar="VERSION", help="Where to lead it; the last version.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["jsonl", "nt", "patch"]),
    default="jsonl",
    show_default=True,
    help="JSON lines; owl:sameAs as N-Triples or as RDF Patch.",
)
@click.option("--removals", type=FILE, help="Where N-Triples of the links to remove go.")
@click.option("--output", type=FILE, help="A file to write, whole or not at all.")
def changes(
    state: Path,
    since: int | None,
    until: int | None,
    form: str,
    removals: Path | None,
    output: Path | None,
) -> None:
    """Print what to remove from the links of a version, and to add, to get the later ones.

    Another system that has the links of version --since has those of --until when it has applied
    this, in the order of the lines.
    """
    if removals is not None and removals == output:
        raise click.UsageError("--removals and --output must be different files")
    aligner = open_aligner(state)
    with ExitStack() as files:
        gone = files.enter_context(opened_output(removals)) if removals else None
        stream = files.enter_context(opened_output(output))
        aligner.write_changes(stream, form, since=since, until=until, removals=gone)
