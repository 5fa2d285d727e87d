"""The commands that work on one alignment: thin, the façade does it all."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from everalign.cli.output import Bar, print_json, print_table
from everalign.cli.reading import choosing, reading

if TYPE_CHECKING:
    from everalign.aligner import Aligner
    from everalign.config import Config
    from everalign.reports import Outcome, Report

Command = TypeVar("Command", bound=Callable[..., Any])

STATE = click.argument("state", type=click.Path(path_type=Path))
FILE = click.Path(path_type=Path)
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
RULE = click.option(
    "--rule",
    help="How old and new links become one set: strict, paper, latest, or auto, as suits the "
    "method.",
)
AT = click.option("--at", type=int, metavar="VERSION", help="As of an earlier version.")
SELECTION = (
    click.option("--min-score", type=float, help="Leave out found links that score less."),
    click.option(
        "--min-confidence",
        type=float,
        help="Leave out found links that are less sure, and add the proposals that are not.",
    ),
    click.option(
        "--target-precision",
        type=float,
        help="As many found links and proposals as can be expected to be so precise.",
    ),
    click.option("--found-only", is_flag=True, help="Leave out the links that were given."),
    AT,
)


def selecting(command: Command) -> Command:
    """The options that say which links are wanted."""
    for option in reversed(SELECTION):
        command = option(command)
    return command


def examples(*lines: str) -> str:
    """The end of a command's help."""
    return "\b\nExamples:\n" + "\n".join(f"  {line}" for line in lines)


@click.command(
    epilog=examples(
        "everalign init my.state --left zh.nt.gz --right en.nt.gz --seeds seeds.tsv",
        "everalign init my.state --left a.tsv --right b.tsv --seeds s.tsv --config my.toml",
    )
)
@STATE
@click.option("--left", type=FILE, required=True, multiple=True, help="Triples of the left graph.")
@click.option(
    "--right", type=FILE, required=True, multiple=True, help="Triples of the right graph."
)
@click.option("--seeds", type=FILE, help="Trusted links: left TAB right.")
@click.option("--valid", type=FILE, help="More trusted links, to judge by, not to learn from.")
@click.option("--method", help="A method that `everalign methods` lists.")
@click.option("--seed", type=click.IntRange(min=0), help="Where every random choice comes from.")
@RULE
@click.option("--config", type=FILE, help="Settings as TOML; options given here come first.")
@choosing
def init(
    state: Path,
    left: tuple[Path, ...],
    right: tuple[Path, ...],
    seeds: Path | None,
    valid: Path | None,
    method: str | None,
    seed: int | None,
    rule: str | None,
    config: Path | None,
    graph_filter: tuple[str, ...],
    skip_errors: bool,
) -> None:
    """Start an alignment from two graphs and trusted links.

    Graphs are files in a format of RDF or tables, packed or not; --left and --right may be given
    several times, and take patterns such as 'dump/*.nt.gz'. Seeds can be left out where names and
    other literals suffice.
    """
    from everalign.aligner import Aligner

    settings = configuration(config, method, seed, rule)
    with Bar() as bar, reading(graph_filter, skip_errors, bar) as read:
        aligner = Aligner.create(
            state, read(left) or [], read(right) or [], seeds, valid, settings, bar
        )
    _say(aligner.status().reports[-1])


@click.command(
    epilog=examples(
        "everalign update my.state --left zh-week-2.nt.gz --right en-week-2.nt.gz",
        "everalign update my.state --left zh-week-3.rdfp      # a patch adds and removes",
        "everalign update my.state --remove-right gone.nt --seeds more-seeds.tsv",
        "everalign update my.state --full      # look at everything again",
        "everalign update my.state             # finish an update that was broken off",
    )
)
@STATE
@click.option("--left", type=FILE, multiple=True, help="What the left graph has gained.")
@click.option("--right", type=FILE, multiple=True, help="What the right graph has gained.")
@click.option("--remove-left", type=FILE, multiple=True, help="What the left graph has lost.")
@click.option("--remove-right", type=FILE, multiple=True, help="What the right graph has lost.")
@click.option("--drop-left", type=FILE, help="Left entities that are gone, one a line.")
@click.option("--drop-right", type=FILE, help="Right entities that are gone, one a line.")
@click.option("--seeds", type=FILE, help="More trusted links.")
@click.option("--valid", type=FILE, help="More trusted links, to judge by, not to learn from.")
@click.option("--confirm", type=FILE, help="Links that are right, whatever the method finds.")
@click.option("--reject", type=FILE, help="Links that are wrong and never come back.")
@click.option("--withdraw", type=FILE, help="Pairs of which all that was said is taken back.")
@click.option("--full", is_flag=True, help="Look at everything again, also without new triples.")
@click.option("--again", is_flag=True, help="Apply a delta that was applied before once more.")
@choosing
@AS_JSON
def update(
    state: Path,
    left: tuple[Path, ...],
    right: tuple[Path, ...],
    remove_left: tuple[Path, ...],
    remove_right: tuple[Path, ...],
    full: bool,
    again: bool,
    graph_filter: tuple[str, ...],
    skip_errors: bool,
    as_json: bool,
    **given: Path | None,
) -> None:
    """Feed in what has changed and bring the links up to date.

    What is removed goes before what is added comes; an RDF Patch may stand for both. All files
    together make one version.
    """
    from everalign.change import Change

    with Bar() as bar, reading(graph_filter, skip_errors, bar) as read:
        gained, lost = (read(left), read(right)), (read(remove_left), read(remove_right))
        change = Change(*gained, *lost, **given)
        outcome = open_aligner(state).update(progress=bar, change=change, full=full, again=again)
    say_outcome(outcome, as_json)


@click.command(
    epilog=examples(
        "everalign links my.state > links.tsv",
        "everalign links my.state --format nt --min-score 0.2 > links.nt",
        "everalign links my.state --target-precision 0.95 > good-links.tsv",
        "everalign links my.state --at 2 --json",
    )
)
@STATE
@selecting
@click.option(
    "--format",
    "form",
    type=click.Choice(["tsv", "nt"]),
    default="tsv",
    show_default=True,
    help="left, right, score; or owl:sameAs as N-Triples. `everalign export` has more.",
)
@AS_JSON
def links(
    state: Path,
    min_score: float | None,
    min_confidence: float | None,
    target_precision: float | None,
    found_only: bool,
    form: str,
    at: int | None,
    as_json: bool,
) -> None:
    """Print the links in force.

    Of --min-score, --min-confidence and --target-precision one can be given. The last two are
    for methods whose scores are probabilities; they take proposals into account as well.
    """
    from everalign.rdf import write_links

    rows = open_aligner(state).links(
        min_score=min_score,
        min_confidence=min_confidence,
        target_precision=target_precision,
        at=at,
    )
    rows = [row for row in rows if row.origin != "given" or not found_only]
    if as_json:
        print_json(rows)
    else:
        triples = ((row.left, row.right, row.score) for row in rows)
        write_links(triples, sys.stdout.buffer, form)


@click.command(epilog=examples("everalign status my.state", "everalign status my.state --json"))
@STATE
@AS_JSON
def status(state: Path, as_json: bool) -> None:
    """Show an alignment at a glance, version by version."""
    now = open_aligner(state).status()
    if as_json:
        print_json(now)
        return
    click.echo(f"{now.state}: method {now.method}, rule {now.rule}, seed {now.seed}")
    for side in ("left", "right"):
        entities, triples = getattr(now, f"{side}_entities"), getattr(now, f"{side}_triples")
        click.echo(f"{side:5}  {entities} entities, {triples} triples")
    click.echo(f"links  {now.given_links} given, {now.found_links} found")
    if now.pending is not None:
        click.echo(f"pending: {now.pending} (apply it with: everalign update {now.state})")
    _say_notes(*now.reports[-1:])
    print_table(
        ["version", "made at", "source", "links", "added", "revised", "retracted", "seconds"],
        [
            [r.version, r.made_at, r.source, r.links, r.added, r.revised, r.retracted, r.seconds]
            for r in now.reports
        ],
    )


@click.command(epilog=examples("everalign evaluate my.state gold.tsv --json"))
@STATE
@click.argument("gold", type=FILE)
@AT
@AS_JSON
def evaluate(state: Path, gold: Path, at: int | None, as_json: bool) -> None:
    """Compare the found links with the gold links in GOLD.

    Links of entities with a given link are left out on both sides.
    """
    scores = open_aligner(state).evaluate(gold, at=at).to_dict()
    if as_json:
        print_json(scores)
    else:
        print_table(list(scores), [list(scores.values())])


def configuration(
    path: Path | None, method: str | None, seed: int | None, rule: str | None
) -> Config:
    """The configuration in a file, with what the options say in its place."""
    from everalign.config import Config

    config = Config.read(path) if path else Config()
    return replace(
        config,
        method=method or config.method,
        seed=config.seed if seed is None else seed,
        rule=rule or config.rule,
    )


def open_aligner(state: Path) -> Aligner:
    """An alignment that exists already; its code is imported only now."""
    from everalign.aligner import Aligner

    return Aligner.open(state)


def say_outcome(outcome: Outcome, as_json: bool) -> None:
    """Print what came of a change."""
    if as_json:
        print_json(outcome)
        return
    for report in outcome.reports:
        _say(report)
    if outcome.message:
        click.echo(outcome.message)


def _say(report: Report) -> None:
    spoken = {name: getattr(report, name) for name in ("confirmed", "rejected", "withdrawn")}
    told = [f"{count} {name}" for name, count in spoken.items() if count and report.version]
    click.echo(
        f"version {report.version}: {_counted(report.added, 'link')} added, "
        + ", ".join([f"{report.revised} revised", f"{report.retracted} retracted", *told])
        + f"; {_counted(report.links, 'found link')} in force ({report.seconds:.1f} s)"
    )
    if report.literals:
        click.echo(f"{_counted(report.literals, 'literal')} read")
    if report.absent:
        verb = "names" if report.absent == 1 else "name"
        click.echo(f"{_counted(report.absent, 'removal')} {verb} what is not there")
    _say_notes(report)


def _counted(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


def _say_notes(*reports: Report) -> None:
    for report in reports:
        for note in report.notes:
            click.echo(f"note: {note}")
