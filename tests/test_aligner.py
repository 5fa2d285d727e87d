"""The façade from end to end, on graphs small enough to check by hand."""

from __future__ import annotations

import math
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from tests import toy as toys

from everalign import Aligner, Config, Explanation, Link, RelationAlignment
from everalign._progress import Progress
from everalign.errors import ConfigError, InputError, StateError
from everalign.matching import CandidatePairs
from everalign.methods import METHODS, AlignmentTask, MethodEntry, StateArrays, register_method
from everalign.pipeline import resolve_merge_rule
from everalign.types import EntityExplanation, EvidenceItem

LEFT = [("Oslo", "in", "Norway"), ("Bergen", "in", "Norway"), ("Rome", "in", "Italy")]
RIGHT = [("Осло", "в", "Норвегия"), ("Берген", "в", "Норвегия"), ("Рим", "в", "Италия")]
SEEDS = [("Norway", "Норвегия")]


class Fickle:
    """Links the n-th free entities, and other ones at each update, ever more sure of it."""

    def __init__(self) -> None:
        self.calls = 0

    def fit(self, problem: AlignmentTask, progress: Progress) -> None:
        self.calls = 1

    def update(self, problem: AlignmentTask, progress: Progress) -> None:
        self.calls += 1

    def candidates(self, problem: AlignmentTask, progress: Progress) -> CandidatePairs:
        left, right = problem.unlinked_entities()
        count = min(len(left), len(right))
        shift = self.calls - 1  # another version, another opinion
        return CandidatePairs.from_columns(
            left[:count], np.roll(right[:count], shift), np.full(count, 0.5 + 0.1 * shift)
        )

    def save(self) -> StateArrays:
        return {"calls": np.array(self.calls)}

    def load(self, arrays: StateArrays) -> None:
        self.calls = int(arrays["calls"])


@pytest.fixture(autouse=True)
def _fickle_method() -> Iterator[None]:
    register_method(MethodEntry("fickle", "changes its mind", lambda settings, seed: Fickle()))
    yield
    del METHODS["fickle"]


@pytest.fixture
def aligner(tmp_path: Path) -> Aligner:
    return Aligner.create(tmp_path / "state", LEFT, RIGHT, SEEDS, config=Config(method="fickle"))


def pairs(aligner: Aligner, at: int | None = None) -> set[tuple[str, str]]:
    return {(link.left, link.right) for link in aligner.links(at=at) if link.origin == "found"}


def test_trusted_links_are_in_force_and_free_entities_are_linked(aligner: Aligner) -> None:
    trusted = [link for link in aligner.links() if link.origin == "given"]
    assert [(link.left, link.right, link.score) for link in trusted] == [
        ("Norway", "Норвегия", 1.0)
    ]
    assert pairs(aligner) == {
        ("Oslo", "Осло"), ("Bergen", "Берген"), ("Rome", "Рим"), ("Italy", "Италия")
    }  # fmt: skip


def test_a_better_link_replaces_a_worse_one_and_the_history_says_so(aligner: Aligner) -> None:
    aligner.update(left=[("Milan", "in", "Italy")])
    history = [(h.version, h.kind, h.left, h.right, h.reason) for h in aligner.history("Oslo")]
    assert history[0] == (0, "added", "Oslo", "Осло", "mutual best match")
    assert history[1][:4] == (1, "retracted", "Oslo", "Осло")
    assert history[1][4].startswith("replaced by ")
    assert history[2][:2] == (1, "revised")
    assert ("Oslo", "Осло") in pairs(aligner, at=0)
    assert ("Oslo", "Осло") not in pairs(aligner)


def test_reports_add_up(aligner: Aligner) -> None:
    (report,) = aligner.update(
        left=[("Milan", "in", "Italy")], right=[("Милан", "в", "Италия")]
    ).reports
    assert (report.left_added_triples, report.right_added_triples) == (1, 1)
    assert (report.left_added_entities, report.right_added_entities) == (1, 1)
    first = aligner.status().reports[0]
    assert (
        report.found_links
        == first.found_links + report.links_added + report.links_revised - report.links_retracted
    )


def test_the_same_delta_in_another_order_changes_nothing(aligner: Aligner) -> None:
    delta = [("Milan", "in", "Italy"), ("Turin", "in", "Italy")]
    assert len(aligner.update(left=delta).reports) == 1
    again = aligner.update(left=delta[::-1])
    assert (again.reports, again.message) == (
        (),
        "nothing to do: everything given is known already",
    )


def test_a_state_is_made_once_and_not_over_another(aligner: Aligner) -> None:
    config = Config(method="fickle")
    Aligner.create(aligner.state, LEFT, RIGHT, SEEDS, config=config)
    assert aligner.status().version == 0
    with pytest.raises(StateError, match="already holds an alignment"):
        Aligner.create(aligner.state, LEFT[1:], RIGHT, SEEDS, config=config)


def test_a_broken_off_beginning_is_not_mixed_with_another(tmp_path: Path) -> None:
    class BrokenError(Exception):
        pass

    class Broken(Fickle):
        def fit(self, problem: AlignmentTask, progress: Progress) -> None:
            raise BrokenError

    register_method(MethodEntry("broken", "breaks", lambda settings, seed: Broken()))
    config, state = Config(method="broken"), tmp_path / "state"
    with pytest.raises(BrokenError):
        Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    assert Aligner.open(state).status().pending == "memory"
    with pytest.raises(StateError, match="other input or settings"):
        Aligner.create(state, LEFT[:2], RIGHT, SEEDS, config=config)
    with pytest.raises(BrokenError):
        Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    register_method(MethodEntry("broken", "works", lambda settings, seed: Fickle()))
    Aligner.create(state, LEFT, RIGHT, SEEDS, config=config)
    assert len(pairs(Aligner.open(state))) == 4
    del METHODS["broken"]


def test_evaluation_leaves_out_what_is_trusted(aligner: Aligner) -> None:
    gold = [("Norway", "Норвегия"), ("Oslo", "Осло"), ("Bergen", "Рим")]
    scores = aligner.evaluate(gold, scope="all")
    assert (scores.predicted, scores.gold, scores.correct) == (4, 2, 1)


@pytest.fixture
def towns(tmp_path: Path, toy: Config) -> Aligner:
    """Oslo is linked with 1.0, Trondheim with 0.5; Bergen and Rome are proposals."""
    return Aligner.create(tmp_path / "towns", toys.LEFT, toys.RIGHT, toys.SEEDS, config=toy)


def chosen(links: list[Link]) -> list[str]:
    """The left names of links that nobody gave."""
    return [link.left for link in links if link.origin != "given"]


@pytest.mark.parametrize(("method", "rule"), [("toy", "latest"), ("fickle", "best")])
def test_a_rule_that_is_left_open_is_the_methods_own(
    tmp_path: Path, toy: Config, method: str, rule: str
) -> None:
    config = Config(method=method)
    aligner = Aligner.create(tmp_path / "state", LEFT, RIGHT, SEEDS, config=config)
    assert aligner.status().merge_rule == resolve_merge_rule(config).merge_rule == rule
    assert (
        resolve_merge_rule(Config(method=method, merge_rule="published")).merge_rule == "published"
    )


def test_only_what_reaches_the_threshold_becomes_a_link(towns: Aligner) -> None:
    links = {link.left: (link.right, link.score, link.origin) for link in towns.links()}
    assert links == {
        "Norway": ("Норвегия", 1.0, "given"), "Sea": ("Море", 1.0, "given"),
        "Italy": ("Италия", 1.0, "given"), "Oslo": ("Осло", 1.0, "found"),
        "Trondheim": ("Тронхейм", 0.5, "found"),
    }  # fmt: skip
    (report,) = towns.status().reports
    assert (report.threshold, report.notes) == (0.5, ("3 seeds, 0 full passes",))
    assert towns.evaluate(toys.SEEDS, scope="all").predicted == 2


@pytest.mark.parametrize(
    ("least", "wanted"),
    [
        (0, ["Oslo", "Trondheim", "Bergen", "Rome"]),
        (0.3, ["Oslo", "Trondheim", "Bergen"]),
        (0.5, ["Oslo", "Trondheim"]),
        (0.51, ["Oslo"]),
        (1, ["Oslo"]),
    ],
)
def test_a_confidence_brings_in_proposals_or_drops_links(
    towns: Aligner, least: float, wanted: list[str]
) -> None:
    links = towns.links(min_confidence=least)
    assert chosen(links) == wanted
    # Of equal scores in the order of ids, which is that of names.
    assert [link.left for link in links[:3]] == ["Italy", "Norway", "Sea"]
    origins = {link.left: link.origin for link in links}
    assert {origins[name] for name in wanted[2:]} <= {"proposed"}


@pytest.mark.parametrize(
    ("precision", "wanted"),
    [
        (1, ["Oslo"]),
        (0.75, ["Oslo", "Trondheim"]),
        (0.61, ["Oslo", "Trondheim", "Bergen"]),  # 1, 1/2, and 1/3 as 0.37
        (0.52, ["Oslo", "Trondheim", "Bergen", "Rome"]),  # and 1/4 as 0.30
    ],
)
def test_a_target_precision_gives_the_longest_list_that_promises_it(
    towns: Aligner, precision: float, wanted: list[str]
) -> None:
    assert chosen(towns.links(target_precision=precision)) == wanted


def test_a_precision_that_no_link_can_promise_is_told(towns: Aligner) -> None:
    # Without Oslo the best link is Trondheim – Тронхейм, with one neighbour of two.
    towns.reject([("Oslo", "Осло")])
    assert towns.find_target_problem(0.5) == ""
    problem = towns.find_target_problem(0.99)
    assert problem == "no link is sure enough to promise a precision of 0.99"
    assert chosen(towns.links(target_precision=0.99)) == []


def test_a_precision_without_calibration_is_a_guess(tmp_path: Path) -> None:
    left = [("Oslo", "in", "Norway"), ("Bergen", "in", "Norway"), ("Norway", "by", "Sea")]
    right = [("Ansloa", "sita", "Norvegia"), ("Norvegia", "ad", "Mare")]
    aligner = Aligner.create(tmp_path / "a", left, right, [("Norway", "Norvegia")])
    assert not aligner.status().reports[-1].calibrated
    problem = aligner.find_target_problem(0.1)
    assert problem.startswith("a precision of 0.1 cannot be promised: too few trusted links")


def test_a_persons_word_outranks_a_proposal(towns: Aligner) -> None:
    towns.reject([("Bergen", "Берген")])
    towns.confirm([("Forum", "Рим")])
    assert chosen(towns.links(min_confidence=0)) == ["Oslo", "Trondheim"]
    assert chosen(towns.links(min_confidence=0, at=0))[2:] == ["Bergen", "Rome"]


def test_proposals_are_those_of_the_version(towns: Aligner) -> None:
    towns.update(right=[("Рим", "рядом", "Италия")])  # Rome shares two of four now
    assert chosen(towns.links()) == ["Oslo", "Rome", "Trondheim"]
    assert chosen(towns.links(min_confidence=0))[3:] == ["Bergen"]
    assert chosen(towns.links(min_confidence=0, at=0))[2:] == ["Bergen", "Rome"]


@pytest.mark.parametrize("wish", ["min_confidence", "target_precision"])
@pytest.mark.parametrize("value", [-0.1, 1.1, math.nan, math.inf])
def test_a_wish_beyond_all_probability(towns: Aligner, wish: str, value: float) -> None:
    with pytest.raises(ConfigError, match=f"{wish} must lie between 0 and 1"):
        towns.links(**{wish: value})  # type: ignore[arg-type]


def test_one_wish_at_a_time(towns: Aligner) -> None:
    with pytest.raises(ConfigError, match="min_score and target_precision exclude each other"):
        towns.links(min_score=0.1, target_precision=0.9)


def test_scores_that_are_no_probabilities_are_not_taken_for_them(aligner: Aligner) -> None:
    with pytest.raises(ConfigError, match="scores of method 'fickle' are no probabilities"):
        aligner.links(min_confidence=0.5)
    assert aligner.evaluate([("Oslo", "Осло")]).calibration_error is None


def test_evaluation_holds_confidence_against_the_truth(towns: Aligner) -> None:
    # Oslo is right with 1.0, Trondheim wrong with 0.5.
    scores = towns.evaluate([("Oslo", "Осло"), ("Trondheim", "Берген")])
    assert scores.calibration_error == pytest.approx(0.25)
    assert list(scores.to_dict())[3] == "calibration_error"


def test_a_full_pass_needs_no_delta_and_is_another_one_each_time(towns: Aligner) -> None:
    notes = [towns.update(full=True).reports[0].notes for _ in range(2)]
    assert notes == [("3 seeds, 1 full passes",), ("3 seeds, 2 full passes",)]
    with_delta = towns.update(left=[("Rome", "has", "Fish")], full=True).reports[0]
    assert (with_delta.left_added_triples, with_delta.notes) == (1, ("3 seeds, 3 full passes",))
    assert [report.source for report in towns.status().reports] == [
        "memory", "full pass", "full pass", "memory, full pass"
    ]  # fmt: skip
    assert towns.update(left=[("Rome", "has", "Fish")]).message.startswith("nothing to do")


def test_known_triples_are_no_obstacle_to_a_full_pass(towns: Aligner) -> None:
    (report,) = towns.update(left=toys.LEFT, full=True).reports
    assert (report.left_added_triples, report.notes) == (0, ("3 seeds, 1 full passes",))


def only(explanation: Explanation) -> EntityExplanation:
    (account,) = explanation.sides
    return account


def test_an_explanation_has_the_link_its_rivals_and_the_evidence(towns: Aligner) -> None:
    account = only(towns.explain("Oslo"))
    assert account.link == Link("Oslo", "Осло", 1.0, 0, "found")
    best, second = account.candidates[:2]
    assert (best.right, best.confidence, best.support) == ("Осло", 1.0, 2.0)
    assert best.evidence == (
        EvidenceItem("in", False, "Norway", "в", False, "Норвегия", 1.0, 1.0),
        EvidenceItem("by", False, "Sea", "у", False, "Море", 1.0, 1.0),
    )
    assert (second.right, second.confidence) == ("Тронхейм", 0.5)
    assert account.reason == (
        "Тронхейм lost: confidence 0.5 against 1; it shares 1 matched neighbour (support 1) "
        "where the link shares 2 (support 2)"
    )


@pytest.mark.parametrize(
    ("entity", "side", "reason"),
    [
        ("Bergen", "left", "Осло lost: it is the better match of Oslo"),
        ("Rome", "left", "Рим lost: confidence 0.25 is below the threshold 0.5"),
        ("Рим", "right", "Rome lost: confidence 0.25 is below the threshold 0.5"),
        ("Rain", "left", "no candidate shares a matched neighbour"),
        ("Norway", "left", "Осло lost: the link was given by a person"),
        ("Italy", "left", "no other candidate was considered"),
    ],
)
def test_the_best_of_the_losers_lost_for_a_reason(
    towns: Aligner, entity: str, side: str, reason: str
) -> None:
    account = only(towns.explain(entity))
    assert account.side == side
    assert account.reason.startswith(reason)
    assert (account.link is None) == (entity not in ("Norway", "Italy"))


def test_what_a_person_rejected_or_gave_away_is_told(towns: Aligner) -> None:
    towns.reject([("Rome", "Рим")], apply=True)
    assert only(towns.explain("Rome")).reason == "Рим lost: it was rejected by a person"
    towns.confirm([("Forum", "Рим")], apply=True)
    towns.confirm([("Arch", "Осло")], apply=True)
    account = only(towns.explain("Bergen"))
    assert account.reason == "Осло lost: it was given to Arch by a person"


def test_a_name_in_both_graphs_has_two_accounts(towns: Aligner) -> None:
    assert [account.side for account in towns.explain("Fish").sides] == ["left", "right"]


def test_a_way_against_the_direction_of_a_relation(towns: Aligner) -> None:
    towns.update([("Norway", "owns", "Jan Mayen")], [("Норвегия", "владеет", "Ян-Майен")])
    (piece,) = only(towns.explain("Jan Mayen")).candidates[0].evidence
    assert (piece.left_relation, piece.left_inverse) == ("owns", True)
    assert (piece.right_relation, piece.right_inverse) == ("владеет", True)


def test_an_explanation_goes_with_the_graphs_as_they_are(towns: Aligner) -> None:
    towns.update(right=[("Рим", "рядом", "Италия")])
    account = only(towns.explain("Rome"))
    assert (account.link, account.candidates[0].confidence) == (
        Link("Rome", "Рим", 0.5, 1, "found"), 0.5
    )  # fmt: skip
    assert account.reason == "no other candidate was considered"


def test_relations_that_mean_the_same(towns: Aligner) -> None:
    assert set(towns.relations(min_inclusion=0.5)) == {
        RelationAlignment("by", "у", False, 1 / 2, 1 / 3, 1),
        RelationAlignment("by", "омывает", True, 1 / 2, 1, 1),
        RelationAlignment("touches", "у", False, 1, 1 / 3, 1),
        RelationAlignment("touches", "омывает", True, 1, 1, 1),
    }
    assert {match.left for match in towns.relations(min_inclusion=0.6)} == {"touches", "by"}
    assert len(towns.relations(min_inclusion=0.6)) == 3
    with pytest.raises(ConfigError, match="min_inclusion must lie between 0 and 1"):
        towns.relations(min_inclusion=math.nan)


def test_nobody_can_explain_what_is_not_there(towns: Aligner, aligner: Aligner) -> None:
    with pytest.raises(InputError, match="'Atlantis' is in neither"):
        towns.explain("Atlantis")
    for ask in (lambda: aligner.explain("Oslo"), aligner.relations):
        with pytest.raises(ConfigError, match="method 'fickle' cannot explain its links"):
            ask()


def test_an_aligner_shows_where_it_is_and_what_it_has(aligner: Aligner, tmp_path: Path) -> None:
    with Aligner.open(aligner.state) as opened:
        assert repr(opened) == f"<Aligner {str(aligner.state)!r}: fickle, version 0, 5 links>"
    assert "is not an EverAlign state directory" in repr(Aligner(tmp_path / "nothing"))


def test_given_links_can_be_left_out(towns: Aligner) -> None:
    assert [link.left for link in towns.links(found_only=True)] == ["Oslo", "Trondheim"]


def test_relations_are_written_as_statements(tmp_path: Path, toy: Config) -> None:
    left, right = [("a", "urn:r", "b"), ("b", "urn:r", "c")], [("A", "urn:s", "B")]
    seeds = [("a", "A"), ("b", "B")]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds, config=toy)
    stream = BytesIO()
    assert aligner.write_relations(stream, accept=0.6).written == 1
    sub_property = "http://www.w3.org/2000/01/rdf-schema#subPropertyOf"
    assert stream.getvalue().decode() == f"<urn:s> <{sub_property}> <urn:r> .\n"
    with pytest.raises(ConfigError, match="accept must lie between 0 and 1"):
        aligner.write_relations(stream, accept=2)
