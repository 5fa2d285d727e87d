"""Questions for reviewers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated

from fastapi import APIRouter, Query

from everalign.service.alignment import ServedAlignment
from everalign.service.api_overview import read_decisions
from everalign.service.common import (
    READ_ERRORS,
    WRITE_ERRORS,
    Alignment,
    IriParameter,
    Sender,
    describe_mark,
)
from everalign.service.models import (
    MAX_AUTHOR_LENGTH,
    Iri,
    QuestionAnswer,
    QuestionRequest,
    QuestionsAnswer,
    SideName,
)
from everalign.service.naming import Namer
from everalign.service.questions import describe_question, read_questions
from everalign.service.tagged import TaggedRoute

router = APIRouter(tags=["questions"], route_class=TaggedRoute)
AuthorParameter = Annotated[str, Query(max_length=MAX_AUTHOR_LENGTH)]


@router.get("/questions", responses=READ_ERRORS)
def list_questions(
    alignment: Alignment,
    sender: Sender,
    limit: Annotated[int, Query(ge=1, le=100)] = 10,
    side: SideName | None = None,
    exclude: Annotated[list[Iri], Query(max_length=200)] = [],  # noqa: B006
    author: AuthorParameter = "",
) -> QuestionsAnswer:
    """List the next questions, those first whose answers help most."""
    return _answer(alignment, limit, sender.author or author, side, exclude)


@router.post("/questions", responses=WRITE_ERRORS)
def find_questions(alignment: Alignment, sender: Sender, body: QuestionRequest) -> QuestionsAnswer:
    """List the next questions, without many that the client has already. Nothing is written."""
    author = sender.author or body.author
    return _answer(alignment, body.limit, author, body.side, body.exclude)


@router.get("/question", responses=READ_ERRORS)
def describe_one(
    alignment: Alignment, name: IriParameter, side: SideName | None = None
) -> QuestionAnswer:
    """Ask about an entity of one's own choice."""
    with alignment.reading() as reader:
        question = alignment.view.question(name, side)
        model = describe_question(alignment, reader, Namer(alignment, reader), question)
        return QuestionAnswer(question=model, **describe_mark(reader))


def _answer(
    alignment: ServedAlignment,
    limit: int,
    author: str,
    side: SideName | None,
    leave_out: Iterable[str],
) -> QuestionsAnswer:
    with alignment.reading() as reader:
        batch = read_questions(alignment, limit, author, side, leave_out)
        namer = Namer(alignment, reader)
        questions = [
            describe_question(alignment, reader, namer, question) for question in batch.questions
        ]
        answered = sum(row.author == author for row in read_decisions(alignment, reader))
        return QuestionsAnswer(
            questions=questions,
            answered=answered,
            expected_gain=batch.expected_gain,
            remaining=batch.remaining,
            **describe_mark(reader),
        )
