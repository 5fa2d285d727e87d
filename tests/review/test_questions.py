"""What is asked, of whom, and what is never asked again."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from everalign import Aligner, AlignmentView, Config, ConfigError, InputError
from everalign.benchmark.synthetic import SampleConfig, generate_sample
from everalign.state import Side
from everalign.types import Question


def ask(aligner: Aligner, author: str = "ada", **options: object) -> list[Question]:
    return list(aligner.questions(author=author, **options).questions)  # type: ignore[arg-type]


def list_keys(questions: list[Question]) -> list[str]:
    return [question.key for question in questions]


def test_the_most_useful_questions_come_first(towns: Aligner) -> None:
    batch = towns.questions(side=None)
    assert list_keys(list(batch.questions)) == ["left Bergen", "left Rome", "left Trondheim"]
    reasons = [question.reason for question in batch.questions]
    assert reasons == ["unlinked", "unlinked", "linked"]
    # The same three pairs asked from the other side are not asked together with them.
    assert batch.remaining == 6
    assert batch.expected_gain == pytest.approx(
        sum(question.expected_gain for question in batch.questions)
    )
    bergen = batch.questions[0]
    assert bergen.counterpart is None
    assert [(row.entity.name, row.is_link) for row in bergen.candidates] == [("Берген", False)]
    assert batch.questions[2].candidates[0].is_link
    assert batch.version == 0


def test_one_side_and_a_limit(towns: Aligner) -> None:
    assert list_keys(ask(towns, side="right")) == ["right Берген", "right Рим", "right Тронхейм"]
    assert len(ask(towns, limit=2)) == 2
    for wrong in ({"limit": 0}, {"max_facts": -1}, {"side": "top"}, {"leave_out": ["Bergen"]}):
        with pytest.raises(ConfigError):
            ask(towns, **wrong)
    with towns.session() as view:
        assert view.question("Oslo").candidates[0].entity.name == "Осло"
        with pytest.raises(InputError):
            view.question("Atlantis")


@pytest.mark.parametrize("kind", ["same", "none of these", "no counterpart"])
def test_what_is_decided_is_asked_of_nobody(towns: Aligner, kind: str) -> None:
    shown = [] if kind == "no counterpart" else ["Берген"]
    towns.answer("Bergen", "left", kind, shown, author="ada")
    for author in ("ada", "bo"):
        asked = list_keys(ask(towns, author))
        assert "left Bergen" not in asked
    # The other entity of the pair has no candidate left.
    assert towns.questions(author="bo", side=None).remaining == 4
    towns.update()
    assert "left Bergen" not in list_keys(ask(towns, "bo"))


def test_what_an_author_is_unsure_about_is_asked_of_others(towns: Aligner) -> None:
    towns.answer("Bergen", "left", "unsure", author="ada")
    assert "left Bergen" not in list_keys(ask(towns, "ada"))
    assert ask(towns, "bo")[0].key == "left Bergen"
    assert [row.kind for row in ask(towns, "bo")[0].opinions] == ["unsure"]
    counts = [towns.questions(author=author).remaining for author in ("ada", "bo")]
    assert counts == [2, 3]


def test_questions_that_are_put_off_are_left_out(towns: Aligner) -> None:
    batch = towns.questions(side=None, leave_out=["left Bergen", "left Atlantis"])
    assert list_keys(list(batch.questions))[0] == "right Берген"
    assert batch.remaining == 5


def test_undo_asks_again(towns: Aligner) -> None:
    before = towns.questions(author="ada")
    for kind, shown in (("same", ["Берген"]), ("different", ["Берген"]), ("no counterpart", [])):
        towns.answer("Bergen", "left", kind, shown, author="ada", key=kind)
        assert "left Bergen" not in list_keys(ask(towns))
        towns.undo(kind, author="ada")
        after = towns.questions(author="ada")
        assert list_keys(list(after.questions)) == list_keys(list(before.questions))
        assert after.remaining == before.remaining


def test_a_disagreement_comes_first_for_those_who_have_not_judged(towns: Aligner) -> None:
    towns.answer("Oslo", "left", "same", ["Осло"], author="ada")
    towns.answer("Oslo", "left", "different", ["Осло"], author="bo")
    question = ask(towns, "cy")[0]
    assert (question.key, question.reason) in [
        ("left Oslo", "disagreement"),
        ("right Осло", "disagreement"),
    ]
    assert [(row.author, row.kind) for row in question.opinions] == [
        ("ada", "confirmed"),
        ("bo", "rejected"),
    ]
    assert len(question.candidates) == 1
    for author in ("ada", "bo"):
        assert all(row.reason != "disagreement" for row in ask(towns, author))
    assert {row.entity for row in towns.disagreements()} == {"Oslo", "Осло"}
    towns.answer("Oslo", "left", "different", ["Осло"], author="cy")
    assert towns.disagreements() == []


def test_a_session_goes_on_with_decisions(towns: Aligner) -> None:
    with towns.session() as view:
        first = view.questions(1).questions[0]
        towns.answer("Bergen", "left", "same", ["Берген"])
        assert view.questions(1).questions[0].key == first.key
        assert view.refresh()
        assert view.questions(1).questions[0].key != first.key
        assert [link.left for link in view.links(origin="given").links].count("Bergen") == 1
        assert not view.refresh()


def test_facts_are_side_by_side(tmp_path: Path, toy: Config) -> None:
    label = "http://www.w3.org/2000/01/rdf-schema#label"
    left = [("a", "in", "s"), ("a", label, '"Oslo"@en'), ("a", "area", '"454"'), ("s", "in", "t")]
    right = [("A", "w", "S"), ("A", label, '"OSLO"'), ("A", "big", '"7"'), ("S", "w", "T")]
    seeds = [("s", "S"), ("t", "T")]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=toy)
    with aligner.session() as view:
        question = view.question("a")
        assert question.entity.label == "Oslo"
        rows = question.candidates[0].facts
        facts = {fact.relation or fact.other_relation: fact for fact in rows}
        # The same attribute in both graphs, and the same text but for case.
        assert (facts[label].other_relation, facts[label].kind) == (label, "same")
        related = facts["in"]
        assert (related.other_relation, related.kind) == ("w", "same")
        assert [(value.name, value.matched) for value in related.values] == [("s", True)]
        assert [(value.name, value.matched) for value in related.other_values] == [("S", True)]
        assert facts["area"].kind == "only entity"
        assert facts["big"].kind == "only candidate"
        value = facts["area"].values[0]
        assert (value.text, value.language, value.is_literal) == ("454", "", True)
        other = view.question("A", "right").candidates[0].facts
        swapped = next(fact for fact in other if fact.relation == "w")
        assert (swapped.other_relation, swapped.kind) == ("in", "same")
        assert len(view.question("a", max_facts=1).candidates[0].facts) == 1
        assert view.question("a", max_facts=1).candidates[0].fact_count == len(facts)


@pytest.fixture(scope="module")
def sample_state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    sample = generate_sample(SampleConfig(triples=4000, snapshots=1, seed=5))
    path = tmp_path_factory.mktemp("sample") / "state"
    seeds = [*sample.seeds, *sample.validation_links]
    Aligner.create(path, sample.left(0), sample.right(0), seeds, config=Config())
    return path


def describe(view: AlignmentView) -> list[tuple[object, ...]]:
    batch = view.questions(10_000, author="ada", side=None, max_facts=0)
    return [
        (
            row.key,
            row.counterpart,
            round(row.expected_gain, 9),
            [(c.entity.name, c.is_link, c.linked_with) for c in row.candidates],
        )
        for row in batch.questions
    ] + [("remaining", batch.remaining)]


ANSWERS = st.lists(
    st.tuples(
        st.integers(0, 30),
        st.sampled_from(
            ["same", "different", "none of these", "no counterpart", "unsure", "undo"]
        ),
        st.sampled_from(["ada", "bo"]),
    ),
    min_size=1,
    max_size=12,
)


@pytest.mark.slow
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(ANSWERS)
def test_a_queue_that_goes_on_is_the_same_as_a_new_one(
    sample_state: Path,
    tmp_path_factory: pytest.TempPathFactory,
    answers: list[tuple[int, str, str]],
) -> None:
    state = tmp_path_factory.mktemp("copy") / "state"
    aligner = Aligner.restore(sample_state, state)
    keys: list[str] = []
    with aligner.session() as view:
        for number, kind, author in answers:
            if kind == "undo":
                if keys:
                    aligner.undo(keys.pop(), author=author)
            else:
                questions = view.questions(40, author=author, side=None, max_facts=0).questions
                question = questions[number % len(questions)]
                shown = [row.entity.name for row in question.candidates]
                if kind in ("no counterpart", "unsure"):
                    shown = []
                elif kind != "none of these":
                    shown = shown[:1]
                side: Side = "left" if question.entity.side == "left" else "right"
                result = aligner.answer(question.entity.name, side, kind, shown, author=author)
                keys.append(result.decisions[0].key)
            view.refresh()
        with aligner.session() as new:
            assert describe(view) == describe(new)
            in_force = {(link.left, link.right) for link in new.links(limit=100_000).links}
            for row in new.questions(10_000, author="ada", side=None, max_facts=0).questions:
                assert row.candidates or row.counterpart is not None
                if row.counterpart is not None:
                    pair = row.entity.name, row.counterpart.name
                    assert (pair if row.entity.side == "left" else pair[::-1]) in in_force
