"""Commands for decisions of people. They are recorded at once, also while an update runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from everalign.cli.completion import complete_version
from everalign.cli.inputs import (
    FILE,
    combine_options,
    format_examples,
    json_option,
    open_aligner,
    state_argument,
)
from everalign.cli.output import ProgressBar, print_decisions, print_result

if TYPE_CHECKING:
    from everalign.aligner import Aligner
    from everalign.graph import LinkSource
    from everalign.types import DecisionResult

note_options = combine_options(
    click.option("--author", metavar="NAME", help="Who decides."),
    click.option("--comment", metavar="WORDS", help="Why; shown by `everalign history`."),
    click.option(
        "--key",
        metavar="KEY",
        help="Name of this request: if it is repeated, nothing more is recorded.",
    ),
    click.option("--apply", is_flag=True, help="Make a version of all waiting decisions at once."),
    json_option,
)
pair_arguments = combine_options(
    state_argument,
    click.argument("left", required=False),
    click.argument("right", required=False),
    click.option("--pairs", type=FILE, help="Read pairs from FILE: left TAB right."),
)
entity_options = combine_options(
    click.option(
        "--left-entity",
        "left_entities",
        multiple=True,
        metavar="IRI",
        help="An entity of the left graph. May be repeated.",
    ),
    click.option(
        "--right-entity",
        "right_entities",
        multiple=True,
        metavar="IRI",
        help="An entity of the right graph. May be repeated.",
    ),
)


@click.command(
    epilog=format_examples(
        "everalign confirm my.state http://zh.dbpedia.org/resource/杭州市 "
        "http://dbpedia.org/resource/Hangzhou",
        "everalign confirm my.state --pairs reviewed.tsv --author ada --apply",
    )
)
@pair_arguments
@note_options
def confirm(
    state: Path, left: str | None, right: str | None, pairs: Path | None, **options: Any
) -> None:
    """Confirm links.

    A confirmed link is in force from now on, whatever the method finds; links that contradict it
    are not. It is recorded at once; the next `everalign update`, with or without files, takes it
    up and revises other links accordingly. LEFT and RIGHT are
    IRIs, CURIEs, labels or ends of IRIs.
    """
    aligner = open_aligner(state)
    given = _get_pairs(aligner, left, right, pairs)
    _decide(aligner.confirm, options, _count_pairs(given), given)


@click.command(
    epilog=format_examples(
        "everalign reject my.state Q4970 'Hangzhou_(film)' --comment 'the film'",
        "everalign reject my.state --pairs wrong.tsv",
    )
)
@pair_arguments
@note_options
def reject(
    state: Path, left: str | None, right: str | None, pairs: Path | None, **options: Any
) -> None:
    """Reject links.

    A rejected link is no longer in force and never found again. The next `everalign update`, with
    or without files, looks for other links of its entities. LEFT and RIGHT are
    IRIs, CURIEs, labels or ends of IRIs.
    """
    aligner = open_aligner(state)
    given = _get_pairs(aligner, left, right, pairs)
    _decide(aligner.reject, options, _count_pairs(given), given)


@click.command(
    epilog=format_examples(
        "everalign withdraw my.state Q4970 'Hangzhou_(film)'",
        "everalign withdraw my.state --pairs doubtful-seeds.tsv",
        "everalign withdraw my.state --left-entity Q4970",
    )
)
@pair_arguments
@entity_options
@note_options
def withdraw(
    state: Path,
    left: str | None,
    right: str | None,
    pairs: Path | None,
    left_entities: tuple[str, ...],
    right_entities: tuple[str, ...],
    **options: Any,
) -> None:
    """Withdraw decisions.

    The pair LEFT, RIGHT is no longer a seed, confirmed or rejected, and an entity may have a
    counterpart again: the next `everalign update` leaves it to the method.
    """
    aligner = open_aligner(state)
    if left_entities or right_entities:
        if left is not None or pairs is not None:
            raise click.UsageError("give pairs or entities, not both")
        count = len(left_entities) + len(right_entities)
        entities = _find_entities(aligner, left_entities, right_entities)
        _decide(aligner.withdraw, options, count, (), *entities)
    else:
        given = _get_pairs(aligner, left, right, pairs)
        _decide(aligner.withdraw, options, _count_pairs(given), given)


@click.command(
    "no-counterpart",
    epilog=format_examples(
        "everalign no-counterpart my.state --left-entity Q4970",
        "everalign no-counterpart my.state --right-entity 'Hangzhou_(film)' --author ada",
    ),
)
@state_argument
@entity_options
@note_options
def no_counterpart(
    state: Path,
    left_entities: tuple[str, ...],
    right_entities: tuple[str, ...],
    **options: Any,
) -> None:
    """Decide that entities have no counterpart.

    Such an entity has no link, and the method does not look for one. To confirm a link of it later
    takes the decision back.
    """
    count = len(left_entities) + len(right_entities)
    if not count:
        raise click.UsageError("give --left-entity or --right-entity")
    aligner = open_aligner(state)
    entities = _find_entities(aligner, left_entities, right_entities)
    _decide(aligner.no_counterpart, options, count, *entities)


@click.command(
    epilog=format_examples(
        "everalign unsure my.state Q4970 'Hangzhou_(film)' --comment 'ask Bo'",
    )
)
@pair_arguments
@note_options
def unsure(
    state: Path, left: str | None, right: str | None, pairs: Path | None, **options: Any
) -> None:
    """Note that it is not clear whether two entities are the same.

    This changes no link. `everalign history` lists it with its author and comment.
    """
    aligner = open_aligner(state)
    given = _get_pairs(aligner, left, right, pairs)
    _decide(aligner.unsure, options, _count_pairs(given), given)


@click.command(
    epilog=format_examples(
        "everalign diff my.state 3 5      # what would be undone",
        "everalign revert my.state 3",
    )
)
@state_argument
@click.argument("version", type=int, shell_complete=complete_version)
@json_option
def revert(state: Path, version: int, as_json: bool) -> None:
    """Make a new version that equals an earlier one.

    Graphs, decisions and links become those of VERSION. The versions in between stay in the
    history and can be reverted to as well. Decisions that are waiting go on waiting.
    """
    with ProgressBar() as bar:
        result = open_aligner(state).revert(version, bar)
    print_result(result, as_json=as_json)


def _decide(
    decide: Callable[..., DecisionResult], options: dict[str, Any], count: int | None, *given: Any
) -> None:
    """Record decisions with the values of `note_options`."""
    as_json, key = options.pop("as_json"), options.pop("key")
    keys = None if key is None else _number_keys(key, count, given)
    note = {name: options[name] or "" for name in ("author", "comment")}
    result = decide(*given, keys=keys, apply=options["apply"], **note)
    print_decisions(result, as_json=as_json)


def _number_keys(key: str, count: int | None, given: Sequence[Any]) -> list[str]:
    """Give each decision of a request a key of its own."""
    if count is None:
        from everalign.graph import read_pairs

        count = len(dict.fromkeys(read_pairs(given[0])))
    return [key] if count == 1 else [f"{key}/{number}" for number in range(1, count + 1)]


def _get_pairs(
    aligner: Aligner, left: str | None, right: str | None, pairs: Path | None
) -> LinkSource:
    if pairs is not None and left is None:
        return pairs
    if pairs is not None or left is None or right is None:
        raise click.UsageError("give LEFT and RIGHT, or --pairs FILE")
    return [(aligner.find_entity(left, "left"), aligner.find_entity(right, "right"))]


def _find_entities(
    aligner: Aligner, left: Sequence[str], right: Sequence[str]
) -> tuple[list[str], list[str]]:
    return (
        [aligner.find_entity(text, "left") for text in left],
        [aligner.find_entity(text, "right") for text in right],
    )


def _count_pairs(given: LinkSource) -> int | None:
    """Count pairs; None for those of a file, which are counted when their number is needed."""
    return None if isinstance(given, str | Path) else 1
