"""Questions for reviewers, from the question queue of the package `review`."""

from __future__ import annotations

from collections.abc import Iterable

from everalign.service.alignment import ServedAlignment
from everalign.service.api_overview import describe_decisions
from everalign.service.common import describe_links
from everalign.service.comparison import build_comparison
from everalign.service.details import EntityDescriber
from everalign.service.models import QuestionModel, SideName
from everalign.service.naming import Namer
from everalign.types import Question, QuestionBatch
from everalign.version_reader import VersionReader


def read_questions(
    alignment: ServedAlignment,
    limit: int,
    author: str,
    side: SideName | None,
    leave_out: Iterable[str],
) -> QuestionBatch:
    """Read the next questions for somebody.

    Args:
        alignment: The alignment.
        limit: The most questions.
        author: Who is asked.
        side: Only entities of this graph; None for both.
        leave_out: Questions that the client has already, or has put off.

    Returns:
        The questions.
    """
    return alignment.view.questions(limit, author=author, side=side, leave_out=leave_out)


def describe_question(
    alignment: ServedAlignment, reader: VersionReader, namer: Namer, question: Question
) -> QuestionModel:
    """Describe a question.

    Args:
        alignment: The alignment.
        reader: The version that the question is about.
        namer: Gives labels.
        question: The question.

    Returns:
        The question with the evidence for each candidate and a table of facts.
    """
    side: SideName = "left" if question.entity.side == "left" else "right"
    describer = EntityDescriber(alignment, reader, question.entity.name, side, namer)
    names = [row.entity.name for row in question.candidates]
    explained = {describer.get_other(row): row for row in describer.list_candidates()}
    known = [explained[name] for name in names if name in explained]
    candidates = {row.entity.name: row for row in describer.describe_candidates(known)}
    shown = [name for name in names if name in candidates]
    facts = {row.entity.name: row.facts for row in question.candidates}
    links = describe_links(namer, reader, describer.details.links)
    return QuestionModel(
        id=question.key,
        entity=namer.get_entity(side, question.entity.name),
        link=links[0] if links else None,
        candidates=[candidates[name] for name in shown],
        comparison=build_comparison(
            namer,
            namer.get_entity(side, question.entity.name),
            [candidates[name].entity for name in shown],
            [facts[name] for name in shown],
        ),
        expected_gain=question.expected_gain,
        reason=question.reason,
        opinions=describe_decisions(namer, reader, question.opinions),
        seen_version=question.version,
    )
