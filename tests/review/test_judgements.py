"""Who has said what about an entity, and when people disagree."""

from __future__ import annotations

from everalign.cardinality import Cardinality
from everalign.review.judgements import Judgements
from everalign.state.decisions import NO_ENTITY, DecisionKind
from everalign.state.inbox import RecordedDecision

SAME, DIFFERENT = DecisionKind.CONFIRMED, DecisionKind.REJECTED
WITHDRAWN, UNSURE = DecisionKind.WITHDRAWN, DecisionKind.UNSURE
ABSENT = DecisionKind.NO_COUNTERPART


def judge(
    *rows: tuple[str, DecisionKind, int, int], cardinality: Cardinality = Cardinality.ONE_TO_ONE
) -> Judgements:
    judgements = Judgements(cardinality)
    judgements.add(
        RecordedDecision(number, str(number), left, right, kind, author, "", "", 0)
        for number, (author, kind, left, right) in enumerate(rows, 1)
    )
    return judgements


def test_two_authors_disagree_until_a_third_agrees_with_the_last() -> None:
    rows = [("ada", SAME, 0, 0), ("bo", DIFFERENT, 0, 0)]
    assert set(judge(*rows).list_disputed()) == {(0, 0), (1, 0)}
    assert judge(*rows, ("cy", DIFFERENT, 0, 0)).list_disputed() == []
    assert judge(*rows, ("cy", SAME, 0, 0)).list_disputed() == []


def test_the_majority_against_the_decision_in_force_is_a_disagreement() -> None:
    rows = [("ada", SAME, 0, 0), ("bo", SAME, 0, 0), ("cy", DIFFERENT, 0, 0)]
    assert (0, 0) in judge(*rows).list_disputed()


def test_one_author_may_change_their_mind() -> None:
    assert judge(("ada", SAME, 0, 0), ("ada", DIFFERENT, 0, 0)).list_disputed() == []
    assert judge(("ada", SAME, 0, 0), ("ada", SAME, 0, 1)).list_disputed() == []
    rows = [("ada", SAME, 0, 0), ("bo", SAME, 0, 1), ("ada", SAME, 0, 1)]
    assert (0, 0) not in judge(*rows).list_disputed()


def test_two_counterparts_disagree_only_if_one_is_allowed() -> None:
    rows = [("ada", SAME, 0, 0), ("bo", SAME, 0, 1)]
    assert judge(*rows).list_disputed() == [(0, 0)]
    assert judge(*rows, cardinality=Cardinality.MANY_TO_MANY).list_disputed() == []
    absent = [("ada", SAME, 0, 0), ("bo", ABSENT, 0, NO_ENTITY)]
    for cardinality in Cardinality:
        assert (0, 0) in judge(*absent, cardinality=cardinality).list_disputed()


def test_rejections_of_different_candidates_agree() -> None:
    assert judge(("ada", DIFFERENT, 0, 0), ("bo", DIFFERENT, 0, 1)).list_disputed() == []
    assert judge(("ada", SAME, 0, 0), ("bo", DIFFERENT, 0, 1)).list_disputed() == []


def test_a_withdrawal_ends_a_disagreement() -> None:
    rows = [("ada", SAME, 0, 0), ("bo", DIFFERENT, 0, 0)]
    for author in ("ada", "bo"):
        judgements = judge(*rows, (author, WITHDRAWN, 0, 0))
        assert judgements.list_disputed() == []
        assert not judgements.has_judged(author, (0, 0))
    nobody = judge(*rows, ("cy", WITHDRAWN, 0, 0))
    assert nobody.list_decisions((0, 0)) == []


def test_unsure_until_decided() -> None:
    judgements = judge(("ada", UNSURE, 0, NO_ENTITY), ("bo", SAME, 0, 0))
    assert judgements.is_unsure("ada", (0, 0))
    assert not judgements.is_unsure("bo", (0, 0))
    assert judgements.list_unsure("ada") == [(0, 0)]
    assert judgements.list_disputed() == []
    later = judge(("ada", UNSURE, 0, NO_ENTITY), ("ada", SAME, 0, 0))
    assert later.list_unsure("ada") == []
