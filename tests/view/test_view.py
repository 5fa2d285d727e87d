"""A view of a version: pages, filters, entities, and what it shows while others write."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, AlignmentView, Config, Link, LinkEvent
from everalign.errors import ConfigError, InputError, StateError
from everalign.methods import METHODS


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    METHODS.pop("toy", None)


@pytest.fixture
def towns(tmp_path: Path) -> Aligner:
    return Aligner.create(
        tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=Config(method="toy")
    )


def read_pages(view: AlignmentView, limit: int, **filters: object) -> list[Link]:
    links: list[Link] = []
    after: str | None = None
    while True:
        page = view.links(after, limit, **filters)  # type: ignore[arg-type]
        assert len(page.links) <= limit
        links += page.links
        if page.next is None:
            return links
        after = page.next


def names(links: object) -> list[tuple[str, str]]:
    return [(link.left, link.right) for link in links]  # type: ignore[attr-defined]


@pytest.mark.parametrize("limit", [1, 2, 3, 100])
def test_pages_together_are_the_whole_list(towns: Aligner, limit: int) -> None:
    towns.confirm([("Rome", "Рим")])
    towns.reject([("Oslo", "Осло")])
    with towns.session() as view:
        assert read_pages(view, limit) == towns.links()


def test_filters_and_counts(towns: Aligner) -> None:
    towns.reject([("Bergen", "Тронхейм"), ("Bergen", "Осло")], apply=True)
    with towns.session() as view:
        given = sorted(toys.SEEDS)
        assert sorted(names(view.links(origin="given").links)) == given
        found = view.links(origin="found").links
        assert [(link.left, link.score) for link in found] == [("Oslo", 1.0), ("Trondheim", 0.5)]
        assert names(view.links(max_confidence=0.9).links) == [("Trondheim", "Тронхейм")]
        assert view.count_links(max_confidence=0.9) == 1
        assert names(view.links(origin="found", min_confidence=0.6).links) == [("Oslo", "Осло")]
        assert view.count_links(min_confidence=0.6) == 4
        proposed = view.links(origin="proposed").links
        assert ("Rome", "Рим") in names(proposed)
        assert {link.origin for link in proposed} == {"proposed"}
        assert read_pages(view, 1, origin="proposed") == list(proposed)
        rejected = read_pages(view, 1, origin="rejected")
        assert set(names(rejected)) == {("Bergen", "Тронхейм"), ("Bergen", "Осло")}
        assert (view.counts().given, view.counts().found, view.counts().rejected) == (3, 2, 2)


def test_links_by_the_text_of_a_label(towns: Aligner) -> None:
    with towns.session() as view:
        assert names(view.links(text="ослО").links) == [("Oslo", "Осло")]
        assert names(view.links(text="or").links) == [("Norway", "Норвегия")]
        assert view.count_links(text="or") == 1
        assert names(view.links(text="rome", origin="proposed").links) == [("Rome", "Рим")]
        assert view.links(text="nowhere").links == ()


def test_frequent_texts_are_found_as_rare_ones(
    towns: Aligner, monkeypatch: pytest.MonkeyPatch
) -> None:
    with towns.session() as view:
        rare = read_pages(view, 1, text="o")
    monkeypatch.setattr("everalign.link_pages.FEW_ENTITIES", 0)
    with towns.session() as view:
        assert read_pages(view, 1, text="o") == rare
    assert names(rare)


def test_a_page_that_is_none_is_refused(towns: Aligner) -> None:
    with towns.session() as view:
        with pytest.raises(ConfigError, match="is not the end of a page"):
            view.links("somewhere")
        with pytest.raises(ConfigError, match="origin must be one of"):
            view.links(origin="guessed")
        with pytest.raises(ConfigError, match="limit must be at least 1"):
            view.links(limit=0)


def test_an_entity_with_its_facts_and_neighbours(towns: Aligner) -> None:
    with towns.session() as view:
        oslo = view.entity("Oslo")
        assert (oslo.entity.side, oslo.entity.label) == ("left", "Oslo")
        assert oslo.link == Link("Oslo", "Осло", 1.0, 0, "found")
        assert oslo.counterpart is not None
        assert oslo.counterpart.name == "Осло"
        ways = {
            (way.relation, way.inverse, way.entity.name, way.counterpart and way.counterpart.name)
            for way in oslo.neighbours
        }
        assert ways == {("in", False, "Norway", "Норвегия"), ("by", False, "Sea", "Море")}
        assert [row.entity.name for row in oslo.candidates][:1] == ["Осло"]
        assert oslo.candidates == view.candidates("Oslo")
        norway = view.entity("Norway", limit=2)
        assert (len(norway.neighbours), norway.neighbour_count) == (2, 5)
        assert sum(way.inverse for way in view.entity("Norway").neighbours) == 3
        assert view.entity("Fish", "right").entity.side == "right"
        with pytest.raises(InputError, match="no entity of the left graph"):
            view.entity("Осло", "left")
        with pytest.raises(InputError, match="in neither of the two graphs"):
            view.label("Atlantis")


def test_literals_and_labels(tmp_path: Path) -> None:
    label = "<http://www.w3.org/2000/01/rdf-schema#label>"
    left = tmp_path / "left.nt"
    left.write_text(
        f'<http://x.org/Q1> {label} "Oslo" .\n'
        '<http://x.org/Q1> <http://x.org/population> "700000" .\n'
        "<http://x.org/Q1> <http://x.org/in> <http://x.org/The_North> .\n"
        "<http://x.org/The_North> <http://x.org/has> <http://x.org/Q1234567> .\n",
        encoding="utf-8",
    )
    right = [("Осло", "в", "Норвегия")]
    aligner = Aligner.create(
        tmp_path / "state", left, right, [("http://x.org/Q1", "Осло")], config=Config(method="toy")
    )
    with aligner.session() as view:
        assert view.label("http://x.org/Q1") == "Oslo"
        assert view.label("http://x.org/The_North") == "The North"
        assert view.label("http://x.org/Q1234567") == "http://x.org/Q1234567"
        facts = {(row.attribute, row.literal) for row in view.entity("http://x.org/Q1").literals}
        assert facts == {
            ("http://www.w3.org/2000/01/rdf-schema#label", '"Oslo"'),
            ("http://x.org/population", '"700000"'),
        }


def test_explanations_list_as_much_evidence_as_is_wanted(towns: Aligner) -> None:
    with towns.session() as view:
        assert view.explain("Oslo", max_evidence=None) == towns.explain("Oslo")
        best = view.explain("Oslo", max_evidence=1).sides[0].candidates[0]
        assert (len(best.evidence), best.evidence_count, best.support) == (1, 2, 2.0)
        assert view.relations() == towns.relations()


def test_entities_without_a_link(towns: Aligner) -> None:
    with towns.session() as view:
        page = view.dangling("right")
        assert [row.name for row in page.entities] == ["Fish", "Берген", "Океан", "Рим"]
        first = view.dangling("right", limit=3)
        assert first.next is not None
        rest = view.dangling("right", first.next, 3)
        assert (first.entities + rest.entities, rest.next) == (page.entities, None)
    towns.confirm([("Rome", "Рим")])
    towns.reject([("Oslo", "Осло")])
    with towns.session() as view:
        left = [row.name for row in view.dangling("left").entities]
        assert "Oslo" in left
        assert "Rome" not in left


@pytest.mark.parametrize("limit", [1, 2, 100])
@pytest.mark.parametrize("entity", [None, "Oslo"])
def test_history_page_by_page(towns: Aligner, limit: int, entity: str | None) -> None:
    towns.update(right=[("Рим", "рядом", "Италия")])
    towns.reject([("Oslo", "Осло")], apply=True)
    towns.confirm([("Bergen", "Осло")], author="Ada")
    towns.unsure([("Oslo", "Берген")])
    with towns.session() as view:
        events: list[LinkEvent] = []
        after: str | None = None
        while True:
            page = view.history(entity, after, limit)
            events += page.events
            after = page.next
            if after is None:
                break
    assert events == towns.history(entity)


def test_a_view_keeps_its_version_until_it_is_refreshed(towns: Aligner) -> None:
    with towns.session() as view, towns.session(follow=True) as follower:
        before = view.links(), view.status(), view.explain("Rome"), view.search("R")
        assert not view.refresh()
        towns.update([("Riga", "in", "Italy")], [("Рим", "рядом", "Италия")])
        assert (view.links(), view.status(), view.explain("Rome"), view.search("R")) == before
        assert follower.links().links == tuple(towns.links())
        assert (view.version, follower.version) == (0, 1)
        assert view.refresh()
        assert view.links().links == tuple(towns.links())
        assert [row.entity.name for row in view.search("Riga")] == ["Riga"]
        assert not view.refresh()


def test_decisions_are_shown_from_the_next_refresh_on(towns: Aligner) -> None:
    with towns.session() as view:
        towns.reject([("Oslo", "Осло")])
        assert ("Oslo", "Осло") in names(view.links().links)
        assert all(not event.waiting for event in view.history().events)
        assert view.refresh()
        assert ("Oslo", "Осло") not in names(view.links().links)
        assert view.entity("Oslo").link is None
        assert view.count_links() == 4
        assert view.history().events[-1].waiting


def test_a_closed_view_says_so(towns: Aligner) -> None:
    with towns.session() as view:
        pass
    with pytest.raises(StateError, match="is closed"):
        view.links()
    assert "closed" in repr(view)


def test_several_threads_get_the_answers_of_one(towns: Aligner) -> None:
    with towns.session(follow=True) as view:
        expected = view.links(limit=2), view.explain("Oslo"), view.search("o"), view.history()
        answers: list[object] = []

        def ask() -> None:
            for _ in range(20):
                answers.append(
                    (view.links(limit=2), view.explain("Oslo"), view.search("o"), view.history())
                )

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(answers) == 80
        assert all(answer == expected for answer in answers)
