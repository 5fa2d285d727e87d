"""Commands that explain links, and show which relations correspond."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from everalign.cli.inputs import (
    choose_languages,
    format_examples,
    json_option,
    languages_option,
    open_aligner,
    state_argument,
)
from everalign.cli.output import (
    EntityFormatter,
    clean_text,
    format_count,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from everalign.state import Side
    from everalign.types import (
        CandidateExplanation,
        EntityExplanation,
        EvidenceItem,
        Link,
        RelationAlignment,
    )

# What to print for left and for right entities.
Names = tuple[dict[str, str], dict[str, str]]


@click.command(
    epilog=format_examples(
        "everalign explain my.state http://zh.dbpedia.org/resource/杭州市",
        "everalign explain my.state Q4970 --candidates 1 --evidence 20",
        "everalign explain my.state Q4970 --json",
    )
)
@state_argument
@click.argument("entity")
@click.option(
    "--candidates",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    metavar="N",
    help="Number of candidates to print.",
)
@click.option(
    "--evidence",
    type=click.IntRange(min=0),
    default=5,
    show_default=True,
    metavar="N",
    help="Number of evidence items to print for each candidate.",
)
@languages_option
@json_option
def explain(
    state: Path,
    entity: str,
    candidates: int,
    evidence: int,
    languages: tuple[str, ...],
    as_json: bool,
) -> None:
    """Explain the link of an entity, or why it has none.

    Prints the candidates of ENTITY, best first, each with its confidence, its support and
    the evidence with the greatest weight: two matched neighbours and the relations that lead to
    them. JSON contains all candidates and all evidence. ENTITY is an IRI, a CURIE, a label, or
    the end of an IRI; on a terminal, entities are shown by label and CURIE.
    """
    aligner = open_aligner(state)
    with aligner.session() as view:
        explanation = view.explain(
            aligner.find_entity(entity), max_evidence=None if as_json else evidence
        )
    if as_json:
        print_json(explanation)
        return
    formatter = EntityFormatter(aligner, choose_languages(state, languages))
    for entity_explanation in explanation.sides:
        side: Side = "left" if entity_explanation.side == "left" else "right"
        names = _name_entities(entity_explanation, formatter)
        own = formatter.name_side(side, [explanation.entity])[explanation.entity]
        click.echo(clean_text(f"{own} ({side})"))
        _print_explanation(entity_explanation, candidates, evidence, names)


@click.command(
    epilog=format_examples(
        "everalign relations my.state",
        "everalign relations my.state --format nt --accept 0.8 > relations.nt",
    )
)
@state_argument
@click.option(
    "--min-inclusion",
    type=float,
    default=0.1,
    show_default=True,
    metavar="P",
    help="Leave out pairs whose inclusion is lower in both directions.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "nt"]),
    default="table",
    show_default=True,
    help="nt: rdfs:subPropertyOf, owl:equivalentProperty and owl:inverseOf as N-Triples.",
)
@click.option(
    "--accept",
    type=float,
    default=0.5,
    show_default=True,
    metavar="P",
    help="Inclusion from which N-Triples state that a relation is contained in the other.",
)
@json_option
def relations(
    state: Path, min_inclusion: float, format_name: str, accept: float, as_json: bool
) -> None:
    """Show which relations of the two graphs correspond.

    Prints, for each pair of relations, the estimated share of the left relation's triples that
    the right relation has too (inclusion), and the other way round.
    """
    aligner = open_aligner(state)
    if as_json:
        print_json(aligner.relations(min_inclusion=min_inclusion))
    elif format_name == "nt":
        aligner.write_relations(sys.stdout.buffer, min_inclusion=min_inclusion, accept=accept)
    else:
        _print_relations(aligner.relations(min_inclusion=min_inclusion))


@click.command(
    epilog=format_examples(
        "everalign classes my.state",
        "everalign classes my.state --format nt --accept 0.8 > classes.nt",
    )
)
@state_argument
@click.option(
    "--min-inclusion",
    type=float,
    default=0.1,
    show_default=True,
    metavar="P",
    help="Leave out pairs whose inclusion is lower in both directions.",
)
@click.option(
    "--format",
    "format_name",
    type=click.Choice(["table", "nt"]),
    default="table",
    show_default=True,
    help="nt: rdfs:subClassOf and owl:equivalentClass as N-Triples.",
)
@click.option(
    "--accept",
    type=float,
    default=0.5,
    show_default=True,
    metavar="P",
    help="Inclusion from which N-Triples state that a class is contained in the other.",
)
@json_option
def classes(
    state: Path, min_inclusion: float, format_name: str, accept: float, as_json: bool
) -> None:
    """Show which classes of the two graphs correspond.

    Prints, for each pair of classes, the share of the left class's linked instances whose
    counterparts have the right class (inclusion), and the other way round.
    """
    aligner = open_aligner(state)
    if as_json:
        print_json(aligner.classes(min_inclusion=min_inclusion))
    elif format_name == "nt":
        aligner.write_classes(sys.stdout.buffer, min_inclusion=min_inclusion, accept=accept)
    else:
        print_table(
            ["left in right", "right in left", "support", "left", "right"],
            [
                [pair.left_in_right, pair.right_in_left, pair.support, pair.left, pair.right]
                for pair in aligner.classes(min_inclusion=min_inclusion)
            ],
        )


def _print_relations(alignments: list[RelationAlignment]) -> None:
    print_table(
        ["left in right", "right in left", "support", "left", "right"],
        [
            [
                pair.left_in_right,
                pair.right_in_left,
                pair.support,
                pair.left,
                f"{pair.right} (inverse)" if pair.inverse else pair.right,
            ]
            for pair in alignments
        ],
    )


def _name_entities(
    explanation: EntityExplanation, formatter: EntityFormatter
) -> tuple[dict[str, str], dict[str, str]]:
    """What to print for the left and right entities of an explanation, and their neighbours."""
    rows: list[Link | CandidateExplanation] = [*explanation.links, *explanation.candidates]
    evidence = [item for row in explanation.candidates for item in row.evidence]
    left, right = [row.left for row in rows], [row.right for row in rows]
    return (
        formatter.name_side("left", [*left, *(item.left_neighbour for item in evidence)]),
        formatter.name_side("right", [*right, *(item.right_neighbour for item in evidence)]),
    )


def _print_explanation(
    explanation: EntityExplanation, candidate_limit: int, evidence_limit: int, names: Names
) -> None:
    for line in [_format_link(link, names) for link in explanation.links] or ["no link"]:
        click.echo(clean_text(f"  {line}"))
    for candidate in explanation.candidates[:candidate_limit]:
        shown = names[0][candidate.left], names[1][candidate.right]
        other = shown[1] if explanation.side == "left" else shown[0]
        text = f"  {candidate.confidence:.3f}  {other}, support {candidate.support:.3f}"
        click.echo(clean_text(text))
        _print_evidence(candidate, evidence_limit, names)
    _print_remainder(len(explanation.candidates) - candidate_limit, "candidate", indent=2)
    click.echo(clean_text(f"  {explanation.reason}"))


def _format_link(link: Link, names: Names) -> str:
    pair = f"{names[0][link.left]} – {names[1][link.right]}"
    return f"link {pair}, {link.origin}, {link.score:.3f}, since version {link.since}"


def _print_evidence(candidate: CandidateExplanation, limit: int, names: Names) -> None:
    for item in candidate.evidence[:limit]:
        left, right = _format_paths(item, names)
        text = f"    {item.weight:.3f}  {left} | {right} ({item.confidence:.3f})"
        click.echo(clean_text(text))
    _print_remainder(candidate.evidence_count - limit, "evidence item", indent=4)


def _format_paths(item: EvidenceItem, names: Names) -> tuple[str, str]:
    """Format the way from the left and from the right entity to its neighbour."""
    left, right = names[0][item.left_neighbour], names[1][item.right_neighbour]
    return (
        _format_path(item.left_relation, left, inverse=item.left_inverse),
        _format_path(item.right_relation, right, inverse=item.right_inverse),
    )


def _format_path(relation: str, neighbour: str, *, inverse: bool) -> str:
    return f"←{relation}– {neighbour}" if inverse else f"–{relation}→ {neighbour}"


def _print_remainder(count: int, noun: str, *, indent: int) -> None:
    if count > 0:
        more = format_count(count, noun).replace(" ", " more ", 1)
        click.echo(f"{' ' * indent}and {more}")
