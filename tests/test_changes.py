"""Every kind of change through the façade, on the toy graphs: additions, removals, decisions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, ChangeSet, Config
from everalign.errors import ConfigError, InputError, SeedError, StateError
from everalign.methods import METHODS

ALL_KNOWN = "nothing to do: everything given is known already"


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    del METHODS["toy"]


@pytest.fixture
def towns(tmp_path: Path) -> Aligner:
    config = Config(method="toy")
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=config)


def links(aligner: Aligner, at: int | None = None) -> dict[str, str]:
    return {link.left: link.right for link in aligner.links(at=at)}


def list_events(aligner: Aligner, entity: str) -> list[tuple[int | None, str, str]]:
    return [(h.version, h.kind, h.reason) for h in aligner.history(entity)]


def test_a_removed_triple_takes_its_link_along_and_the_history_says_why(towns: Aligner) -> None:
    assert links(towns)["Oslo"] == "Осло"
    outcome = towns.update(change=ChangeSet(removed_left=[("Oslo", "in", "Norway")]))
    (report,) = outcome.reports
    assert (report.left_added_triples, report.left_removed_triples) == (0, 1)
    assert towns.status().left_triples == len(toys.LEFT) - 1
    towns.update(change=ChangeSet(removed_left=[("Oslo", "by", "Sea")]))
    assert list_events(towns, "Oslo")[-1][1] == "retracted"


def test_a_patch_that_adds_is_no_removal(towns: Aligner, tmp_path: Path) -> None:
    patch = tmp_path / "week.rdfp"
    patch.write_text("A <urn:a> <urn:in> <urn:b> .\nD <urn:c> <urn:in> <urn:d> .\n")
    with pytest.raises(InputError, match=r"week\.rdfp.*is a patch that adds facts"):
        towns.update(change=ChangeSet(removed_left=patch))
    assert towns.status().version == 0
    patch.write_text("D <urn:c> <urn:in> <urn:d> .\n")
    towns.update(change=ChangeSet(removed_left=patch))  # says the same twice


def test_a_removed_entity_has_no_link_and_comes_back_with_its_facts(towns: Aligner) -> None:
    facts = [triple for triple in toys.LEFT if "Oslo" in triple]
    (report,) = towns.update(change=ChangeSet(removed_left_entities=["Oslo"])).reports
    assert report.left_removed_entities == 1
    assert "Oslo" not in links(towns)
    _, what, reason = list_events(towns, "Oslo")[-1]
    assert (what, reason) == (
        "retracted",
        "an entity was removed: replaced by Trondheim – Осло",
    )
    towns.update(left=facts)
    assert links(towns)["Oslo"] == "Осло"


def test_a_trusted_link_waits_while_its_entity_is_gone(towns: Aligner) -> None:
    facts = [triple for triple in toys.LEFT if "Italy" in triple]
    towns.update(change=ChangeSet(removed_left_entities=["Italy"]))
    assert "Italy" not in links(towns)
    assert list_events(towns, "Italy")[-1][1:] == ("withdrawn", "the left entity was removed")
    towns.update(left=facts)
    assert links(towns)["Italy"] == "Италия"
    assert list_events(towns, "Italy")[-1][1:] == ("confirmed", "given as a seed")


def test_a_rejected_link_never_comes_back(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")])
    assert "Oslo" not in links(towns)
    towns.update(full=True)
    towns.update(left=[("Oslo", "near", "Trondheim")])
    assert links(towns).get("Oslo") != "Осло"


@pytest.mark.parametrize("by_update", [True, False])
def test_where_a_link_is_rejected_the_runner_up_wins(tmp_path: Path, by_update: bool) -> None:
    left = [("Oslo", "in", f"l{n}") for n in range(8)]
    right = [("Осло", "в", f"r{n}") for n in range(8)] + [
        ("Христиания", "в", f"r{n}") for n in range(7)
    ]
    seeds = [(f"l{n}", f"r{n}") for n in range(8)]
    aligner = Aligner.create(tmp_path / "state", left, right, seeds)
    assert links(aligner)["Oslo"] == "Осло"
    if by_update:
        aligner.update(change=ChangeSet(rejected=[("Oslo", "Осло")]))
    else:
        aligner.reject([("Oslo", "Осло")])
        assert "Oslo" not in links(aligner)
        aligner.update()
    assert links(aligner)["Oslo"] == "Христиания"
    aligner.update(full=True)
    assert links(aligner)["Oslo"] == "Христиания"
    aligner.withdraw([("Oslo", "Осло")])
    aligner.update()
    assert links(aligner)["Oslo"] == "Осло"


def test_a_confirmed_link_is_never_overruled(towns: Aligner) -> None:
    (report,) = towns.confirm([("Oslo", "Рим")], apply=True).reports
    assert report.links_retracted == 1, "that of Oslo, which was in force"
    towns.update(full=True)
    assert links(towns)["Oslo"] == "Рим"
    link = next(link for link in towns.links() if link.left == "Oslo")
    assert (link.score, link.origin) == (1.0, "given")


def test_a_decision_takes_effect_without_the_method(towns: Aligner) -> None:
    before = towns.status().reports[-1].notes
    (report,) = towns.confirm([("Rome", "Рим")], apply=True).reports
    assert report.version == 1
    assert report.notes == before


def test_the_same_decision_twice_changes_no_link(towns: Aligner) -> None:
    towns.confirm([("Rome", "Рим")], apply=True)
    before = towns.links()
    (report,) = towns.confirm([("Rome", "Рим"), *toys.SEEDS], apply=True).reports
    assert (report.links_confirmed, report.links_retracted) == (0, 0)
    assert towns.links() == before


def test_decisions_can_change_and_be_withdrawn(towns: Aligner) -> None:
    pair = [("Rome", "Рим")]
    for decide in (towns.confirm, towns.reject, towns.confirm, towns.withdraw):
        assert len(decide(pair, apply=True).reports) == 1
    assert "Rome" not in links(towns)
    assert [what for _, what, _ in list_events(towns, "Rome")][-4:] == [
        "confirmed", "rejected", "confirmed", "withdrawn",
    ]  # fmt: skip


def test_a_rejected_seed_is_a_seed_no_more(towns: Aligner) -> None:
    towns.reject([("Sea", "Море")])
    towns.update(full=True)
    assert links(towns).get("Sea") != "Море"
    with pytest.raises(SeedError, match="'Sea' – 'Море' was rejected: confirm it instead"):
        towns.update(change=ChangeSet(seeds=[("Sea", "Море")]))


def test_a_withdrawn_seed_is_left_to_the_method(towns: Aligner) -> None:
    towns.update(change=ChangeSet(withdrawn=[("Italy", "Италия")]))
    assert list_events(towns, "Italy")[1] == (1, "withdrawn", "withdrawn by a person")
    # Rome stood on Italy alone.
    assert "Rome" not in links(towns)


def test_new_seeds_count_and_old_ones_may_be_given_again(towns: Aligner) -> None:
    towns.update(change=ChangeSet(seeds=[*toys.SEEDS, ("Rome", "Рим")]))
    assert links(towns)["Rome"] == "Рим"
    assert towns.status().given_links == len(toys.SEEDS) + 1


def test_a_seed_that_contradicts_an_earlier_one_changes_nothing(towns: Aligner) -> None:
    with pytest.raises(SeedError, match="'Norway' is linked to both 'Норвегия' and 'Рим'"):
        towns.update(left=[("x", "y", "z")], change=ChangeSet(seeds=[("Norway", "Рим")]))
    assert towns.status().version == 0


def test_a_confirmation_takes_the_place_of_a_seed(towns: Aligner) -> None:
    towns.confirm([("Norway", "Рим")])
    assert links(towns)["Norway"] == "Рим"
    towns.apply_decisions()
    assert links(towns)["Norway"] == "Рим"
    reasons = [reason for _, what, reason in list_events(towns, "Norway") if what == "withdrawn"]
    assert reasons == ["another link of its entities was confirmed"]


def test_nobody_confirms_and_rejects_at_once(towns: Aligner) -> None:
    pair = [("Rome", "Рим")]
    with pytest.raises(SeedError, match="both confirmed and rejected"):
        towns.update(change=ChangeSet(confirmed=pair, rejected=pair))


def test_only_a_decision_can_be_withdrawn(towns: Aligner) -> None:
    with pytest.raises(SeedError, match="'Rome' – 'Рим' was neither given nor confirmed"):
        towns.withdraw([("Rome", "Рим")])


def test_removals_of_what_is_not_there_are_counted(towns: Aligner) -> None:
    rows = [("Oslo", "in", "Norway"), ("Oslo", "in", "Italy"), ("Atlantis", "in", "Sea")]
    (report,) = towns.update(change=ChangeSet(removed_left=rows)).reports
    assert (report.left_removed_triples, report.missing_removals) == (1, 2)
    outcome = towns.update(change=ChangeSet(removed_left=rows[1:]))
    assert outcome.message == "nothing to do: 2 rows to remove are not there"


def test_an_escaped_iri_names_the_entity_that_is_known(towns: Aligner, tmp_path: Path) -> None:
    escaped = tmp_path / "left.nt"
    escaped.write_text("<urn:\\u676D\\u5dde> <urn:in> <urn:\\U00004e2d> .\n")
    (report,) = towns.update(escaped).reports
    assert (report.left_added_triples, report.left_added_entities) == (1, 2)
    raw = tmp_path / "again.nt"
    raw.write_text("<urn:杭州> <urn:in> <urn:中> .\n", encoding="utf-8")
    assert towns.update(raw).message == ALL_KNOWN


def test_an_unknown_entity_cannot_be_dropped(towns: Aligner) -> None:
    with pytest.raises(InputError, match="'Atlantis' is not an entity of the left graph"):
        towns.update(change=ChangeSet(removed_left_entities=["Atlantis"]))


def test_removals_are_applied_before_additions(towns: Aligner) -> None:
    row = [("Oslo", "in", "Norway")]
    outcome = towns.update(left=row, change=ChangeSet(removed_left=row))
    assert outcome.message == ALL_KNOWN
    new = [*row, ("Oslo", "near", "Drammen")]
    (report,) = towns.update(left=new, change=ChangeSet(removed_left=row)).reports
    assert report.missing_removals == 0


def test_what_was_removed_can_be_added_again(towns: Aligner) -> None:
    week = [("Turin", "in", "Italy"), ("Milan", "in", "Italy")]
    towns.update(left=week)
    towns.update(change=ChangeSet(removed_left=week[:1]))
    (report,) = towns.update(left=week).reports
    assert (report.left_added_triples, report.left_added_entities) == (1, 1)
    assert towns.update(left=week).message == ALL_KNOWN
    (report,) = towns.update(change=ChangeSet(removed_left=week[:1])).reports
    assert report.left_removed_triples == 1


def test_the_last_of_several_decisions_counts(towns: Aligner) -> None:
    pair = [("Rome", "Рим")]
    for decision, linked in [("reject", False), ("confirm", True)] * 2:
        change = ChangeSet(rejected=pair) if decision == "reject" else ChangeSet(confirmed=pair)
        assert len(towns.update(change=change).reports) == 1
        assert (links(towns).get("Rome") == "Рим") is linked
        assert towns.update(change=change).message == ALL_KNOWN
    towns.reject(pair)
    towns.update(change=ChangeSet(confirmed=pair))
    assert links(towns)["Rome"] == "Рим"


@pytest.mark.parametrize("decision", ["confirm", "reject", "withdraw"])
@pytest.mark.parametrize("applied", [False, True], ids=["waiting", "applied"])
def test_an_update_without_anything_new_takes_up_decisions_once(
    towns: Aligner, decision: str, applied: bool
) -> None:
    pairs = [("Italy", "Италия")] if decision != "confirm" else [("Rome", "Рим")]
    getattr(towns, decision)(pairs, apply=applied)
    (report,) = towns.update().reports
    assert (report.version, report.source) == (1 + applied, "earlier decisions")
    seeds = len(toys.SEEDS) + (1 if decision == "confirm" else -1)
    assert report.notes == (f"{seeds} seeds, 0 full passes",)
    assert towns.update().message == "nothing to do: no changes given"


def test_decisions_that_were_reverted_are_not_taken_up(towns: Aligner) -> None:
    towns.confirm([("Rome", "Рим")], apply=True)
    towns.revert(0)
    assert towns.update().message == "nothing to do: no changes given"
    towns.revert(1)
    (report,) = towns.update().reports
    assert report.notes == (f"{len(toys.SEEDS) + 1} seeds, 0 full passes",)


def test_known_facts_do_not_keep_decisions_waiting(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")])
    assert len(towns.update(left=toys.LEFT).reports) == 1
    assert towns.update(left=toys.LEFT).message == ALL_KNOWN


def test_a_withdrawal_can_be_given_again(towns: Aligner) -> None:
    seed = toys.SEEDS[2:]
    for _ in range(2):
        assert len(towns.update(change=ChangeSet(withdrawn=seed)).reports) == 1
        assert "Italy" not in links(towns)
        assert len(towns.update(change=ChangeSet(seeds=seed)).reports) == 1
        assert links(towns)["Italy"] == "Италия"


def test_reverting_makes_a_version_like_the_old_one(towns: Aligner) -> None:
    towns.update(left=[("Turin", "in", "Italy")])
    towns.confirm([("Rome", "Рим")], apply=True)
    towns.reject([("Oslo", "Осло")], apply=True)
    towns.update(change=ChangeSet(removed_left_entities=["Norway"]))
    assert towns.revert(0).reports[0].version == 5
    now, then = towns.status(), towns.status().reports[0]
    assert links(towns) == links(towns, at=0)
    assert (now.left_triples, now.left_entities) == (
        then.left_added_triples,
        then.left_added_entities,
    )
    reasons = [reason for version, _, reason in list_events(towns, "Oslo") if version == 5]
    assert all(reason.startswith("reverted to version 0") for reason in reasons)
    # What people said after version 0 is open again, and the old delta can come again.
    towns.update(full=True)
    assert links(towns)["Oslo"] == "Осло"
    assert towns.revert(6).message == "nothing to do: equal to version 6"


def test_a_reversion_can_be_reverted(towns: Aligner) -> None:
    towns.confirm([("Rome", "Рим")], apply=True)
    towns.revert(0)
    towns.revert(1)
    assert links(towns) == links(towns, at=1)
    towns.update(full=True)
    assert links(towns)["Rome"] == "Рим"


def test_there_is_no_way_back_to_what_never_was(towns: Aligner) -> None:
    with pytest.raises(StateError, match="has no version 7"):
        towns.revert(7)


def test_literals_are_kept_and_make_an_entity(towns: Aligner) -> None:
    (report,) = towns.update(left=[("Atlantis", "label", '"Atlantis"@en')]).reports
    assert (report.added_literals, report.left_added_entities, report.left_added_triples) == (
        1,
        1,
        0,
    )
    (gone,) = towns.update(
        change=ChangeSet(removed_left=[("Atlantis", "label", '"Atlantis"@en')])
    ).reports
    assert gone.left_removed_entities == 1


def test_a_method_that_needs_seeds_says_so(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="method 'toy' needs trusted links"):
        Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, config=Config(method="toy"))


def test_a_link_that_comes_is_not_put_down_to_what_its_entity_has_lost(towns: Aligner) -> None:
    towns.update(change=ChangeSet(withdrawn=[("Italy", "Италия")], seeds=[("Rome", "Рим")]))
    towns.update(change=ChangeSet(removed_left=[("Rome", "has", "Forum")]))
    towns.update(
        change=ChangeSet(removed_left=[("Bergen", "has", "Fish"), ("Bergen", "has", "Rain")])
    )
    came = [h for h in towns.history(since=1) if h.kind in ("added", "revised")]
    assert came
    assert not any("removed" in h.reason for h in came)


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (
            ChangeSet(confirmed=[("Sea", "Рим")]),
            "retrained from scratch: trusted links removed: 1",
        ),
        (
            ChangeSet(rejected=[("Sea", "Море")]),
            "retrained from scratch: trusted links removed: 1",
        ),
        (ChangeSet(rejected=[("Fjord", "Океан")]), None),
    ],
)
@pytest.mark.slow
def test_contea_trains_anew_where_it_has_learned_what_no_longer_holds(
    tmp_path: Path, quick: Config, change: ChangeSet, told: str | None
) -> None:
    pytest.importorskip("torch")
    aligner = Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=quick)
    assert not any(link.left == "Fjord" and link.right == "Океан" for link in aligner.links())
    (report,) = aligner.update(change=change).reports
    assert report.notes == (() if told is None else (told,))


@pytest.mark.slow
def test_a_full_pass_of_contea_trains_anew(tmp_path: Path, quick: Config) -> None:
    pytest.importorskip("torch")
    aligner = Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=quick)
    (report,) = aligner.update(full=True).reports
    assert report.notes == ("retrained from scratch: full pass requested",)


def test_the_history_says_what_a_confirmed_link_replaces(towns: Aligner) -> None:
    towns.confirm([("Oslo", "Рим")], apply=True)
    assert list_events(towns, "Oslo")[-1] == (
        1, "confirmed", "confirmed by a person: replaces Oslo – Осло",
    )  # fmt: skip


def test_the_same_update_with_a_withdrawal_may_be_run_twice(towns: Aligner) -> None:
    change = ChangeSet(withdrawn=[("Italy", "Италия")], added_left=[("Rome", "near", "Oslo")])
    towns.update(change=change)
    assert towns.update(change=change).message == ALL_KNOWN
    assert towns.withdraw([("Italy", "Италия")]).decisions[0].kind == "withdrawn"
    with pytest.raises(SeedError, match="was neither given nor confirmed nor rejected"):
        towns.withdraw([("Oslo", "Рим")])


def test_what_is_taken_back_and_said_again_at_once_holds(towns: Aligner) -> None:
    towns.update(change=ChangeSet(withdrawn=toys.SEEDS[:1], seeds=toys.SEEDS[:1]), full=True)
    assert links(towns)["Norway"] == "Норвегия"
    assert [what for _, what, _ in list_events(towns, "Norway")] == ["confirmed"]


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"translations": "no-such.tsv"}, "file of 'translations' does not exist"),
        ({"left_vectors": "zh.vec"}, "give both 'left_vectors' and 'right_vectors', or neither"),
    ],
)
def test_wrong_files_in_settings_are_told_before_a_state_is_made(
    tmp_path: Path, settings: dict[str, str], told: str
) -> None:
    state = tmp_path / "state"
    with pytest.raises(ConfigError, match=told):
        Aligner.create(state, toys.LEFT, toys.RIGHT, toys.SEEDS, config=Config(settings=settings))
    assert not state.exists()


@pytest.mark.slow
def test_files_in_settings_are_found_from_any_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "words.tsv").write_text("Oslo\tChristiania\n")
    monkeypatch.chdir(tmp_path)
    facts = [("o", "label", '"Oslo"')], [("c", "label", '"Christiania"')]
    config = Config(settings={"translations": "words.tsv"}, names_from_iris=False)
    Aligner.create(tmp_path / "state", *facts, config=config)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    aligner = Aligner.open(tmp_path / "state")
    aligner.update([("r", "label", '"Rome"')], [("roma", "label", '"Rome"')])
    assert links(aligner) == {"o": "c", "r": "roma"}
