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
    clean_text,
    format_count,
    print_json,
    print_skipped,
    print_table,
)
from everalign.cli.terminal import EntityFormatter

if TYPE_CHECKING:
    from everalign.state import Side
    from everalign.types import (
        CandidateExplanation,
        ContradictedLink,
        EntityExplanation,
        EvidenceItem,
        Link,
        RelationAlignment,
    )

# What a line has besides two entities, about.
CANDIDATE_COLUMNS = 35
EVIDENCE_COLUMNS = 70


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
        printer = _ExplanationPrinter(entity_explanation, formatter)
        printer.print_all(explanation.entity, candidates, evidence)


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
        stream = sys.stdout.buffer
        result = aligner.write_relations(stream, min_inclusion=min_inclusion, accept=accept)
        print_skipped(result, "statement")
    else:
        _print_relations(
            aligner.relations(min_inclusion=min_inclusion), EntityFormatter(aligner, ())
        )


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
        stream = sys.stdout.buffer
        result = aligner.write_classes(stream, min_inclusion=min_inclusion, accept=accept)
        print_skipped(result, "statement")
    else:
        name = EntityFormatter(aligner, ()).name_property
        print_table(
            ["left in right", "right in left", "support", "left", "right"],
            [
                [
                    pair.left_in_right,
                    pair.right_in_left,
                    pair.support,
                    name(pair.left),
                    name(pair.right),
                ]
                for pair in aligner.classes(min_inclusion=min_inclusion)
            ],
        )


def _print_relations(alignments: list[RelationAlignment], formatter: EntityFormatter) -> None:
    name = formatter.name_property
    print_table(
        ["left in right", "right in left", "support", "left", "right"],
        [
            [
                pair.left_in_right,
                pair.right_in_left,
                pair.support,
                name(pair.left),
                f"{name(pair.right)} (inverse)" if pair.inverse else name(pair.right),
            ]
            for pair in alignments
        ],
    )


class _ExplanationPrinter:
    """Prints the explanation of an entity of one graph."""

    def __init__(self, explanation: EntityExplanation, formatter: EntityFormatter) -> None:
        self._explanation = explanation
        self._formatter = formatter
        rows: list[Link | CandidateExplanation] = [*explanation.links, *explanation.candidates]
        evidence = [item for row in explanation.candidates for item in row.evidence]
        # There is more room in the lines of candidates than in those of evidence.
        neighbours = (item.left_neighbour for item in evidence)
        left = formatter.name_side("left", neighbours, EVIDENCE_COLUMNS)
        left |= formatter.name_side("left", (row.left for row in rows), CANDIDATE_COLUMNS)
        neighbours = (item.right_neighbour for item in evidence)
        right = formatter.name_side("right", neighbours, EVIDENCE_COLUMNS)
        right |= formatter.name_side("right", (row.right for row in rows), CANDIDATE_COLUMNS)
        self._names = left, right

    def print_all(self, entity: str, candidate_limit: int, evidence_limit: int) -> None:
        explanation = self._explanation
        side: Side = "left" if explanation.side == "left" else "right"
        own = self._formatter.name_entity(side, entity)
        click.echo(clean_text(f"{own} ({side})"))
        for line in [self._format_link(link) for link in explanation.links] or ["no link"]:
            click.echo(clean_text(f"  {line}"))
        for link in explanation.contradicted_links:
            click.echo(clean_text(f"  {self._format_contradiction(link)}"))
        for candidate in explanation.candidates[:candidate_limit]:
            text = f"{self._name_other(candidate)}, support {candidate.support:.3f}"
            click.echo(clean_text(f"  {candidate.confidence:.3f}  {text}"))
            _print_contributions(candidate)
            self._print_evidence(candidate, evidence_limit)
        _print_remainder(len(explanation.candidates) - candidate_limit, "candidate", indent=2)
        click.echo(clean_text(f"  {self._format_reason()}"))

    def _name_other(self, row: Link | CandidateExplanation) -> str:
        """The entity of the other graph."""
        is_left = self._explanation.side == "left"
        return self._names[1][row.right] if is_left else self._names[0][row.left]

    def _format_link(self, link: Link) -> str:
        pair = f"{self._names[0][link.left]} – {self._names[1][link.right]}"
        return f"link {pair}, {link.origin}, {link.score:.3f}, since version {link.since}"

    def _format_contradiction(self, link: ContradictedLink) -> str:
        text = (
            f"contradicted: right with a probability of {link.probability:.3f}; "
            f"support {link.support:.3f}"
        )
        if link.rival_left is None:
            return text
        return f"{text} against {link.rival_support:.3f} of {link.rival_left} – {link.rival_right}"

    def _format_reason(self) -> str:
        """The reason, which begins with the name of the candidate that lost."""
        reason = self._explanation.reason
        for candidate in self._explanation.candidates:
            name = candidate.right if self._explanation.side == "left" else candidate.left
            if reason.startswith(f"{name} lost: "):
                return self._name_other(candidate) + reason.removeprefix(name)
        return reason

    def _print_evidence(self, candidate: CandidateExplanation, limit: int) -> None:
        for item in candidate.evidence[:limit]:
            left, right = self._format_paths(item)
            text = f"    {item.weight:.3f}  {left} | {right} ({item.confidence:.3f})"
            click.echo(clean_text(text))
        _print_remainder(candidate.evidence_count - limit, "evidence item", indent=4)

    def _format_paths(self, item: EvidenceItem) -> tuple[str, str]:
        """Format the way from the left and from the right entity to its neighbour."""
        left, right = self._names[0][item.left_neighbour], self._names[1][item.right_neighbour]
        name = self._formatter.name_property
        return (
            _format_path(name(item.left_relation), left, inverse=item.left_inverse),
            _format_path(name(item.right_relation), right, inverse=item.right_inverse),
        )


def _print_contributions(candidate: CandidateExplanation) -> None:
    """What adds up to the confidence, without what is too little to be seen."""
    parts = [part for part in candidate.contributions if abs(part.value) >= 0.0005]
    if parts:
        click.echo("    " + ", ".join(f"{part.group} {part.value:+.3f}" for part in parts))


def _format_path(relation: str, neighbour: str, *, inverse: bool) -> str:
    return f"←{relation}– {neighbour}" if inverse else f"–{relation}→ {neighbour}"


def _print_remainder(count: int, noun: str, *, indent: int) -> None:
    if count > 0:
        more = format_count(count, noun).replace(" ", " more ", 1)
        click.echo(f"{' ' * indent}and {more}")
