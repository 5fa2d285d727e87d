"""The commands that say why: what the method has considered, and what it has learned."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.alignment import AS_JSON, STATE, examples, open_aligner
from everalign.cli.output import print_json, print_table

if TYPE_CHECKING:
    from everalign.reports import Account, Considered, Evidence, RelationLink


@click.command(
    epilog=examples(
        "everalign explain my.state http://zh.dbpedia.org/resource/杭州市",
        "everalign explain my.state Q4970 --candidates 1 --pieces 20",
        "everalign explain my.state Q4970 --json",
    )
)
@STATE
@click.argument("entity")
@click.option("--pieces", type=click.IntRange(min=0), default=5, show_default=True, metavar="N")
@click.option(
    "--candidates", type=click.IntRange(min=0), default=3, show_default=True, metavar="N"
)
@AS_JSON
def explain(state: Path, entity: str, pieces: int, candidates: int, as_json: bool) -> None:
    """Say why ENTITY has the link that it has, or none.

    The candidates come best first, each with the heaviest pieces of its evidence: two matched
    neighbours, and the relations that lead to them. JSON has all candidates and all pieces.
    """
    explanation = open_aligner(state).explain(entity)
    if as_json:
        print_json(explanation)
        return
    for account in explanation.accounts:
        click.echo(f"{explanation.entity} ({account.side})")
        _say_account(account, candidates, pieces)


@click.command(
    epilog=examples(
        "everalign relations my.state",
        "everalign relations my.state --format nt --accept 0.8 > relations.nt",
    )
)
@STATE
@click.option(
    "--min-inclusion",
    type=float,
    default=0.1,
    show_default=True,
    help="Leave out relations of which a smaller share is in the other, in both directions.",
)
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "nt"]),
    default="table",
    show_default=True,
    help="A table; or rdfs:subPropertyOf, owl:equivalentProperty, owl:inverseOf as N-Triples.",
)
@click.option(
    "--accept",
    type=float,
    default=0.5,
    show_default=True,
    help="The share from which on N-Triples say that a relation is in the other.",
)
@AS_JSON
def relations(state: Path, min_inclusion: float, form: str, accept: float, as_json: bool) -> None:
    """Show which relations of the two graphs mean the same, and how far."""
    from everalign.literals import IN_THE_IRI
    from everalign.rdf import write_relations
    from everalign.selection import check_share

    check_share("accept", accept)
    found = open_aligner(state).relations(min_inclusion=min_inclusion)
    if as_json:
        print_json(found)
    elif form == "nt":
        # What an IRI says is no statement of a graph, so it has no predicate to write about.
        stated = [r for r in found if IN_THE_IRI not in (r.left, r.right)]
        rows = ((r.left, r.right, r.backwards, r.left_in_right, r.right_in_left) for r in stated)
        write_relations(rows, sys.stdout.buffer, accept)
    else:
        print_table(
            ["left in right", "right in left", "support", "left", "right"],
            [[r.left_in_right, r.right_in_left, r.support, r.left, _read(r)] for r in found],
        )


def _read(relation: RelationLink) -> str:
    return f"{relation.right} (backwards)" if relation.backwards else relation.right


def _say_account(account: Account, candidates: int, pieces: int) -> None:
    link = account.link
    if link is None:
        click.echo("  no link")
    else:
        pair = f"{link.left} – {link.right}"
        click.echo(f"  link {pair}, {link.origin}, {link.score:.3f}, since version {link.since}")
    for candidate in account.candidates[:candidates]:
        other = candidate.right if account.side == "left" else candidate.left
        click.echo(f"  {candidate.confidence:.3f}  {other}, support {candidate.support:.3f}")
        _say_pieces(candidate, pieces)
    _say_rest(len(account.candidates) - candidates, "candidate", indent=2)
    click.echo(f"  {account.reason}")


def _say_pieces(candidate: Considered, pieces: int) -> None:
    for piece in candidate.pieces[:pieces]:
        left, right = _arrows(piece)
        click.echo(f"    {piece.weight:.3f}  {left} | {right} ({piece.confidence:.3f})")
    _say_rest(len(candidate.pieces) - pieces, "piece", indent=4)


def _arrows(piece: Evidence) -> tuple[str, str]:
    """The way from either entity to its neighbour."""
    return (
        _arrow(piece.left_relation, piece.left_neighbour, piece.left_backwards),
        _arrow(piece.right_relation, piece.right_neighbour, piece.right_backwards),
    )


def _arrow(relation: str, neighbour: str, backwards: bool) -> str:
    return f"←{relation}– {neighbour}" if backwards else f"–{relation}→ {neighbour}"


def _say_rest(count: int, word: str, *, indent: int) -> None:
    if count > 0:
        click.echo(f"{' ' * indent}and {count} more {word}{'s' if count > 1 else ''}")
