"""The command that compares found links with gold links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.inputs import (
    FILE,
    format_examples,
    json_option,
    open_aligner,
    open_link_readers,
    skip_errors_option,
    state_argument,
    version_option,
)
from everalign.cli.output import format_count, print_json, print_table

if TYPE_CHECKING:
    from everalign.evaluation import Evaluation

DECISIONS = "decisions"
SCORE_COLUMNS = (
    "precision",
    "recall",
    "f1",
    "calibration_error",
    "predicted",
    "gold",
    "correct",
)
THRESHOLD_COLUMNS = (
    "threshold",
    "predicted",
    "correct",
    "precision",
    "recall",
    "f1",
    "calibration_error",
    "band_links",
    "band_confidence",
    "band_precision",
)


@click.command(
    epilog=format_examples(
        "everalign evaluate my.state gold.tsv",
        "everalign evaluate my.state gold.tsv --scope all --at 0 --json",
        "everalign evaluate my.state gold.tsv --thresholds --plot curve.svg",
        "everalign evaluate my.state --gold decisions",
    )
)
@state_argument
@click.argument("gold", type=FILE, required=False)
@click.option(
    "--gold",
    "gold_option",
    metavar="FILE|decisions",
    help="Gold links, instead of the argument; `decisions` for what people confirmed or rejected.",
)
@click.option(
    "--scope",
    type=click.Choice(["gold", "all"]),
    show_default="gold if GOLD names less than 9/10 of the linked entities",
    help="gold: evaluate only links that touch an entity of the gold links; all: a link that is "
    "not a gold link is wrong.",
)
@click.option("--thresholds", is_flag=True, help="Print scores and calibration by confidence.")
@click.option(
    "--plot", "figure", type=FILE, help="Draw the scores by confidence (.svg or .png) to FILE."
)
@version_option
@skip_errors_option
@json_option
def evaluate(
    state: Path,
    gold: Path | None,
    gold_option: str | None,
    scope: str | None,
    thresholds: bool,
    figure: Path | None,
    at: int | None,
    skip_errors: bool,
    as_json: bool,
) -> None:
    """Compare the found links with gold links.

    Prints precision, recall and F1 of the found links against the file GOLD and, for methods
    whose scores are probabilities, the calibration error. Entities of given links are left out.
    With `--gold decisions`, each decision is compared with the links before it took effect.
    """
    from everalign.evaluation import DEFAULT_THRESHOLDS

    if (gold is None) == (gold_option is None):
        raise click.UsageError("give the gold links once: a file, or --gold decisions")
    path = Path(gold_option) if gold_option is not None and gold_option != DECISIONS else gold
    steps = DEFAULT_THRESHOLDS if thresholds or figure else ()
    with open_link_readers(skip_errors, path) as links:
        result = open_aligner(state).evaluate(links[0], at=at, scope=scope, thresholds=steps)
    if figure is not None:
        from everalign.plotting import draw_evaluation

        draw_evaluation(result, figure)
    if as_json:
        print_json(result.to_dict())
        return
    _print_evaluation(result, with_thresholds=thresholds)


def _print_evaluation(result: Evaluation, *, with_thresholds: bool) -> None:
    scores = result.to_dict()
    print_table(SCORE_COLUMNS, [[scores[name] for name in SCORE_COLUMNS]])
    for note in _describe_gold(result):
        click.echo(f"note: {note}")
    if with_thresholds:
        rows = [row.to_dict() for row in result.thresholds]
        headings = [name.replace("_", " ") for name in THRESHOLD_COLUMNS]
        print_table(headings, [[row[name] for name in THRESHOLD_COLUMNS] for row in rows])


def _describe_gold(result: Evaluation) -> Iterator[str]:
    if result.swapped:
        links = format_count(result.swapped, "gold link")
        yield f"left and right are swapped in {links}; they were exchanged"
    if result.unknown:
        count = format_count(result.unknown, "gold link")
        yield f"{count} with an entity that its graph does not have, counted as missed"
    # Rounded, nearly all would be all.
    share = "more than 99%" if 0.995 <= result.coverage < 1 else f"{result.coverage:.0%}"
    if result.scope == "gold":
        yield (
            f"the gold links name {share} of the linked entities: only links that "
            f"touch one of these are judged, {format_count(result.unjudged, 'link')} left out"
        )
    elif result.coverage < 1:
        yield (
            f"the gold links name {share} of the linked entities: links of the "
            "others count as wrong (to leave them out: --scope gold)"
        )
