"""Reviewing links in a terminal, reports, and decisions in files."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING
from uuid import uuid4

import click

from everalign.cli.inputs import (
    FILE,
    format_examples,
    json_option,
    open_aligner,
    state_argument,
)
from everalign.cli.keys import KeyReader
from everalign.cli.output import (
    clean_text,
    format_count,
    open_output,
    print_decisions,
    print_json_list,
    print_table,
)

if TYPE_CHECKING:
    from everalign.aligner import Aligner
    from everalign.state import Side
    from everalign.types import (
        CandidateExplanation,
        FactComparison,
        Question,
        QuestionCandidate,
    )
    from everalign.view import AlignmentView

KEYS = """\
1-5  the counterpart is this candidate      0  none of these
a    accept the first                       x  reject the first
n    it has no counterpart                  s  not sure
space  later                                u  undo the last answer
e    evidence for the first candidate       c  comment on the next answer
?    this help                              q  quit
"""
PREFETCH = 5  # questions that are read together
SHOWN_FACTS = 8
SHOWN_EVIDENCE = 5
_MARKS = {"same": "=", "similar": "~", "different": "≠"}


@click.command(
    epilog=format_examples(
        "everalign review my.state --author ada",
        "everalign review my.state --author ada --side left --batch 20",
    )
)
@state_argument
@click.option("--author", default="", show_default="no name", metavar="NAME", help="Who answers.")
@click.option(
    "--side",
    type=click.Choice(["left", "right", "both"]),
    default="left",
    show_default=True,
    help="The graph whose entities are asked about.",
)
@click.option(
    "--batch",
    type=click.IntRange(min=1),
    default=100,
    show_default=True,
    metavar="N",
    help="Number of questions.",
)
@click.option("--hide-scores", is_flag=True, help="Do not show confidences.")
def review(state: Path, author: str, side: str, batch: int, hide_scores: bool) -> None:
    """Answer questions about links in a terminal.

    Shows an entity with its best candidates, the most useful question first, and takes an answer
    by one key; `?` lists the keys. Each answer is recorded at once. The next `everalign update`
    revises other links accordingly.
    """
    if not sys.stdin.isatty():
        raise click.UsageError("review needs a terminal; decide with confirm, reject and the like")
    aligner = open_aligner(state)
    asked: Side | None = None if side == "both" else "right" if side == "right" else "left"
    with aligner.session() as view, KeyReader() as keys:
        scores = not hide_scores
        _Reviewer(aligner, view, keys, author, asked, batch, show_scores=scores).run()


class _Reviewer:
    """Asks questions one by one until the batch is done or the person quits."""

    def __init__(
        self,
        aligner: Aligner,
        view: AlignmentView,
        keys: KeyReader,
        author: str,
        side: Side | None,
        batch: int,
        *,
        show_scores: bool,
    ) -> None:
        self._aligner = aligner
        self._view = view
        self._keys = keys
        self._author = author
        self._side = side
        self._batch = batch
        self._show_scores = show_scores
        self._comment = ""
        # Keys of questions that were answered or put off: not to be asked again in this run.
        self._passed: dict[str, None] = {}
        self._answered: list[tuple[str, Question]] = []
        self._again: list[Question] = []
        self._waiting: list[Question] = []

    def run(self) -> None:
        click.echo("? lists the keys, q quits.")
        while len(self._answered) < self._batch:
            question = self._find_next()
            if question is None:
                click.echo("There is nothing more to ask.")
                break
            self._show(question)
            if not self._take_answer(question):
                break
        done = format_count(len(self._answered), "answer")
        click.echo(f"{done} recorded. `everalign update {self._aligner.state}` takes them up.")

    def _find_next(self) -> Question | None:
        if self._again:
            return self._again.pop()
        if not self._waiting:
            self._view.refresh()
            batch = self._view.questions(
                PREFETCH, author=self._author, side=self._side, leave_out=self._passed
            )
            self._waiting = list(reversed(batch.questions))
        return self._waiting.pop() if self._waiting else None

    def _take_answer(self, question: Question) -> bool:
        """Read keys until the question is answered or put off; False to quit."""
        while True:
            key = self._keys.read_key()
            if key in ("q", "\x04", "\x1b"):
                return False
            if key == "?":
                click.echo(KEYS, nl=False)
            elif key == "e":
                self._show_evidence(question)
            elif key == "c":
                self._comment = self._keys.read_line("Comment: ")
            elif key in ("u", "\x7f", "\b"):
                if self._undo(question):
                    return True
            elif key == " ":
                click.echo("later")
                self._passed[question.key] = None
                return True
            elif self._answer(question, key):
                return True

    def _answer(self, question: Question, key: str) -> bool:
        """Record the answer that a key stands for; False if it stands for none."""
        names = [candidate.entity.name for candidate in question.candidates]
        chosen = _interpret_key(key, names)
        if chosen is None:
            return False
        kind, candidates = chosen
        answer_key = uuid4().hex
        entity = question.entity
        self._aligner.answer(
            entity.name,
            "left" if entity.side == "left" else "right",
            kind,
            candidates,
            author=self._author,
            comment=self._comment,
            key=answer_key,
            seen_version=question.version,
        )
        self._comment = ""
        self._passed[question.key] = None
        self._answered.append((answer_key, question))
        click.echo(kind)
        # An answer may have decided another question that was read together with this one.
        decided = {entity.name, *candidates} if kind == "same" else {entity.name}
        self._waiting = [row for row in self._waiting if row.entity.name not in decided]
        return True

    def _undo(self, question: Question) -> bool:
        """Take the last answer back, and ask that question again before this one."""
        if not self._answered:
            click.echo("There is nothing to undo.")
            return False
        key, last = self._answered.pop()
        self._aligner.undo(key, author=self._author)
        self._passed.pop(last.key, None)
        click.echo(clean_text(f"undone: {last.entity.label}"))
        self._again += [question, last]
        return True

    def _show(self, question: Question) -> None:
        entity = question.entity
        click.echo()
        done = f"{len(self._answered) + 1} of {self._batch}"
        click.echo(clean_text(f"[{done}] {entity.label}  ({entity.side}, {question.reason})"))
        click.echo(clean_text(f"    {entity.name}"))
        for number, candidate in enumerate(question.candidates, 1):
            click.echo(clean_text(f"  {number}  {self._format_candidate(candidate)}"))
            click.echo(clean_text(f"     {candidate.entity.name}"))
        for fact in question.candidates[0].facts[:SHOWN_FACTS] if question.candidates else ():
            click.echo(clean_text(f"     {_format_fact(fact)}"))
        for opinion in question.opinions:
            who = opinion.author or "somebody"
            pair = " – ".join(filter(None, [opinion.left, opinion.right]))
            click.echo(clean_text(f"     {who}: {opinion.kind} {pair} {opinion.comment}".rstrip()))

    def _format_candidate(self, candidate: QuestionCandidate) -> str:
        parts = [candidate.entity.label]
        if self._show_scores:
            parts.append(f"{candidate.confidence:.3f}")
        if candidate.is_link:
            parts.append("linked now")
        if candidate.linked_with is not None:
            parts.append(f"linked with {candidate.linked_with.label}")
        return ", ".join(parts)

    def _show_evidence(self, question: Question) -> None:
        if not question.candidates:
            click.echo("There is no candidate.")
            return
        wanted = question.candidates[0].entity.name
        explanation = self._view.explain(question.entity.name, max_evidence=SHOWN_EVIDENCE)
        for side in explanation.sides:
            if side.side != question.entity.side:
                continue
            for row in side.candidates:
                if wanted == (row.right if side.side == "left" else row.left):
                    _print_candidate_evidence(row)


def _interpret_key(key: str, names: list[str]) -> tuple[str, list[str]] | None:
    """The kind of answer that a key stands for, and the candidates that it is about."""
    answers = {"n": ("no counterpart", []), "s": ("unsure", list[str]())}
    if names:
        answers |= {
            "0": ("none of these", names),
            "a": ("same", names[:1]),
            "x": ("different", names[:1]),
        }
    answers |= {str(number): ("same", [name]) for number, name in enumerate(names, 1)}
    return answers.get(key)


def _format_fact(fact: FactComparison) -> str:
    left = _format_values(fact.relation, [value.text for value in fact.values])
    right = _format_values(fact.other_relation, [value.text for value in fact.other_values])
    return f"{_MARKS.get(fact.kind, ' ')} {left} | {right}"


def _format_values(relation: str, texts: list[str]) -> str:
    if not texts:
        return "–"
    short = relation.rstrip("/#").replace("#", "/").rpartition("/")[2] or relation
    return f"{short}: {', '.join(texts)}"


def _print_candidate_evidence(row: CandidateExplanation) -> None:
    for part in row.contributions:
        click.echo(f"     {part.value:+.3f}  {part.group}")
    click.echo(f"     {row.confidence:6.3f}  confidence")
    for item in row.evidence:
        text = f"{item.left_neighbour} | {item.right_neighbour} ({item.confidence:.3f})"
        click.echo(clean_text(f"     {item.weight:.3f}  {text}"))


@click.command(
    epilog=format_examples(
        "everalign report my.state -o report.html",
        "everalign report my.state --title 'Places, week 46' --doubtful 200 -o report.html",
    )
)
@state_argument
@click.option("-o", "--output", type=FILE, help="The file to write; standard output by default.")
@click.option(
    "--title",
    default="",
    show_default="the name of STATE",
    metavar="WORDS",
    help="Title of the report.",
)
@click.option(
    "--doubtful",
    type=click.IntRange(min=0),
    default=50,
    show_default=True,
    metavar="N",
    help="Number of doubtful links to list.",
)
def report(state: Path, output: Path | None, title: str, doubtful: int) -> None:
    """Write a report of the alignment as one HTML file.

    It has an overview, charts, what the last version has corrected and the most doubtful links,
    and needs nothing from elsewhere: it can be mailed and archived.
    """
    aligner = open_aligner(state)
    with open_output(output) as stream:
        aligner.write_report(stream, title=title, doubtful=doubtful)


@click.group(
    epilog=format_examples(
        "everalign decisions list my.state --author ada",
        "everalign decisions import my.state reviewed.sssom.tsv",
    )
)
def decisions() -> None:
    """List the decisions of people, or read them from a file."""


@decisions.command(
    "list",
    epilog=format_examples(
        "everalign decisions list my.state --author ada",
        "everalign decisions list my.state --disagreements",
    ),
)
@state_argument
@click.option("--author", metavar="NAME", help="Only decisions of this author.")
@click.option("--disagreements", is_flag=True, help="Only what people disagree about.")
@json_option
def list_command(state: Path, author: str | None, disagreements: bool, as_json: bool) -> None:
    """List what people have decided, oldest first.

    Decisions that no version has taken up yet are listed as well.
    """
    aligner = open_aligner(state)
    if disagreements:
        rows = [row for found in aligner.disagreements() for row in found.decisions]
        rows = [row for row in rows if author is None or row.author == author]
    else:
        rows = list(aligner.decisions(author=author))
    if as_json:
        print_json_list(rows)
        return
    print_table(
        ["number", "decision", "left", "right", "author", "decided at", "comment"],
        [
            [
                row.number,
                row.kind,
                *(clean_text(name) for name in (row.left, row.right, row.author)),
                row.decided_at,
                clean_text(row.comment),
            ]
            for row in rows
        ],
    )


@decisions.command(
    "import",
    epilog=format_examples(
        "everalign decisions import my.state reviewed.sssom.tsv",
        "everalign decisions import my.state reviewed.sssom.tsv --author ada --apply",
    ),
)
@state_argument
@click.argument("file", type=FILE)
@click.option(
    "--author",
    default="",
    show_default="no name",
    metavar="NAME",
    help="Who decided, if the file lacks it.",
)
@click.option(
    "--comment",
    default="",
    show_default="none",
    metavar="WORDS",
    help="Why, if the file lacks it.",
)
@click.option("--apply", is_flag=True, help="Make a version of all waiting decisions at once.")
@json_option
def import_command(
    state: Path, file: Path, author: str, comment: str, apply: bool, as_json: bool
) -> None:
    """Record the decisions of an SSSOM file.

    Mappings that people have curated or reviewed are confirmed, negated ones rejected, and
    entities without a counterpart (sssom:NoTermFound) recorded as such, with their reviewers and
    dates. Other mappings are left out, and so is what is decided like that already.
    """
    aligner = open_aligner(state)
    result = aligner.import_decisions(file, author=author, comment=comment, apply=apply)
    print_decisions(result, as_json=as_json)
