"""Random lives of an alignment: whatever comes, its links hold, and its journal tells it again."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import toy

from everalign import Aligner, ChangeSet, Config
from everalign.cardinality import Cardinality
from everalign.errors import SeedError, StateError
from everalign.methods import METHODS
from everalign.pipeline import apply_pending_delta
from everalign.session import AlignmentSession, convert_recorded
from everalign.state import StateStore
from everalign.state.inbox import DecisionRequest

LEFTS, RIGHTS = "abcdef", "ABCDEF"
SEEDS = [("a", "A"), ("b", "B")]
DECISIONS = ("seeds", "validation", "confirmed", "rejected", "withdrawn")


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toy.register_toy()
    yield
    del METHODS["toy"]


def triples(names: str) -> st.SearchStrategy[Any]:
    tails = st.sampled_from([*names, '"one"', '"two"@en'])
    row = st.tuples(st.sampled_from(names), st.sampled_from(["r", "s"]), tails)
    return st.lists(row, min_size=1, max_size=4)


pairs = st.lists(
    st.tuples(st.sampled_from(LEFTS), st.sampled_from(RIGHTS)), min_size=1, max_size=2
)
changes = st.fixed_dictionaries(
    {},
    optional={
        "added_left": triples(LEFTS),
        "added_right": triples(RIGHTS),
        "removed_left": triples(LEFTS),
        "removed_right": triples(RIGHTS),
        "removed_left_entities": st.lists(st.sampled_from(LEFTS), max_size=1),
        **dict.fromkeys(DECISIONS, pairs),
    },
)
steps = st.one_of(
    changes,
    changes,
    st.integers(0, 5),  # revert to this version
    st.tuples(st.sampled_from(["confirm", "reject", "withdraw", "unsure"]), pairs, st.booleans()),
)


class Life:
    """An alignment, and what it must be like by plain sets."""

    def __init__(self, state: Path, cardinality: Cardinality) -> None:
        # Every name is known from the start, so that any of them may be spoken of.
        left = [("a", "r", name) for name in LEFTS]
        right = [("A", "r", name) for name in RIGHTS]
        config = Config(method="toy", cardinality=cardinality)
        self.aligner = Aligner.create(state, left, right, SEEDS, config=config)
        self.facts = [(set(left), set(right))]

    def step(self, step: Any) -> None:
        before = len(self.facts)
        try:
            if isinstance(step, int):
                self.aligner.revert(step)
                now = self.facts[step] if step < before else self.facts[-1]
            elif isinstance(step, tuple):
                getattr(self.aligner, step[0])(step[1], apply=step[2])
                now = self.facts[-1]
            else:
                self.aligner.update(change=ChangeSet(**step))
                now = self._changed(step)
        except (SeedError, StateError):
            return  # nothing has changed then
        version = self.aligner.status().version
        if version == before:
            self.facts.append(now)
        else:
            assert now == self.facts[-1]

    def _changed(self, step: dict[str, Any]) -> tuple[set[Any], set[Any]]:
        sides = []
        for side, facts in zip(("left", "right"), self.facts[-1], strict=True):
            gone = set(step.get(f"removed_{side}", ()))
            dropped = set(step.get(f"removed_{side}_entities", ()))
            kept = {
                fact for fact in facts - gone if fact[0] not in dropped and fact[2] not in dropped
            }
            sides.append(kept | set(step.get(f"added_{side}", ())))
        return sides[0], sides[1]

    def check(self) -> None:
        status, links = self.aligner.status(), self.aligner.links()
        lefts, rights = [link.left for link in links], [link.right for link in links]
        cardinality = Cardinality(status.cardinality)
        assert len(set(zip(lefts, rights, strict=True))) == len(links)
        assert len(set(lefts)) == len(lefts) or not cardinality.unique_left
        assert len(set(rights)) == len(rights) or not cardinality.unique_right
        for names, facts in zip((lefts, rights), self.facts[-1], strict=True):
            there = {fact[0] for fact in facts}
            there |= {fact[2] for fact in facts if not fact[2].startswith('"')}
            assert set(names) <= there
        counted = [sum(not fact[2].startswith('"') for fact in side) for side in self.facts[-1]]
        assert [status.left_triples, status.right_triples] == counted
        with StateStore.open(self.aligner.state, write=False) as store:
            view = store.read_links()
            assert not view.rejected_pairs & view.links.keys()


@settings(max_examples=40)
@given(st.lists(steps, min_size=1, max_size=8), st.sampled_from(Cardinality))
@pytest.mark.slow
def test_links_hold_through_every_change_and_the_journal_tells_it_again(
    life: list[Any], cardinality: Cardinality
) -> None:
    with TemporaryDirectory() as directory:
        lived = Life(Path(directory, "state"), cardinality)
        for step in life:
            lived.step(step)
            lived.check()
        replay(lived.aligner.state, Path(directory, "again"))
        with (
            StateStore.open(lived.aligner.state, write=False) as one,
            StateStore.open(Path(directory, "again"), write=False) as two,
        ):
            assert one.read_events() == two.read_events()
            assert one.read_links() == two.read_links()
            assert [v.delta for v in one.list_versions()] == [v.delta for v in two.list_versions()]
        assert Aligner.open(Path(directory, "again")).links() == lived.aligner.links()


@settings(max_examples=20)
@given(st.lists(steps, min_size=1, max_size=5), st.sampled_from(Cardinality))
@pytest.mark.slow
def test_a_revert_restores_the_links(life: list[Any], cardinality: Cardinality) -> None:
    with TemporaryDirectory() as directory:
        lived = Life(Path(directory, "state"), cardinality)
        at_first = {(link.left, link.right, link.score) for link in lived.aligner.links()}
        for step in life:
            lived.step(step)
        lived.aligner.apply_decisions()
        lived.aligner.revert(0)
        links = lived.aligner.links()
        assert {(link.left, link.right, link.score) for link in links} == at_first


def replay(state: Path, again: Path) -> None:
    """Apply the journal and the inbox of one state to a new one."""
    with (
        StateStore.open(state, write=False) as old,
        StateStore.create(again, old.read_settings()) as new,
    ):
        new.inbox.append_decisions(
            [DecisionRequest(row.pair, row.kind) for row in old.inbox.read_range(0)], 0
        )
        for delta in old.read_deltas():
            if delta.source == "decisions":
                given = new.inbox.read_range(new.inbox_upto(), delta.inbox_upto)
                plan = new.plan_decisions().plan_given(
                    list(map(convert_recorded, given)), inbox_upto=delta.inbox_upto
                )
                new.commit_decisions(plan, {"source": "decisions"})
            else:
                new.journal_delta(delta)
                apply_pending_delta(AlignmentSession(again, new))
