"""Stands in for the question queue until it is merged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from everalign.types import Decision, LabelledEntity, Link


@dataclass(frozen=True)
class FactValue:
    text: str
    name: str
    matched: bool
    lang: str
    is_literal: bool = False


@dataclass(frozen=True)
class FactComparison:
    relation: str
    other_relation: str
    inverse: bool
    other_inverse: bool
    values: tuple[FactValue, ...]
    other_values: tuple[FactValue, ...]
    kind: str


@dataclass(frozen=True)
class QuestionCandidate:
    entity: LabelledEntity
    confidence: float
    is_link: bool
    linked_with: LabelledEntity | None
    facts: tuple[FactComparison, ...]
    fact_count: int


@dataclass(frozen=True)
class Question:
    key: str
    entity: LabelledEntity
    links: tuple[Link, ...]
    candidates: tuple[QuestionCandidate, ...]
    expected_gain: float
    reason: str
    version: int
    opinions: tuple[Decision, ...]


@dataclass(frozen=True)
class QuestionBatch:
    questions: tuple[Question, ...]
    remaining: int
    expected_gain: float
    version: int


def compare_entities(
    reader: object, name: str, side: str, others: Sequence[str]
) -> list[tuple[FactComparison, ...]]:
    return [() for _ in others]
