"""The decision inbox: recorded once, on the disk when acknowledged, taken up once."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests import toy as toys

from everalign import Aligner, ChangeSet, Config
from everalign.changeset import ADDED_TRIPLES, NO_FACTS
from everalign.errors import ConfigError, SeedError, StateDamagedError, StateLockedError
from everalign.methods import METHODS
from everalign.state import Delta, StateStore
from everalign.state.decisions import DecisionKind
from everalign.state.inbox import DecisionRequest

ROME = [("Rome", "Рим")]
# Confirms pairs one by one, each under its own key, and says which are recorded.
WRITER = """
import sys
from everalign import Aligner
state, name, count = sys.argv[1], sys.argv[2], int(sys.argv[3])
aligner = Aligner.open(state)
for number in range(count):
    pair = [(f"l{number}", f"r{number}")]
    for attempt in range(2):
        recorded = aligner.confirm(pair, author=name, keys=[f"{name}-{number}"])
    print(recorded.decisions[0].key, flush=True)
"""


@pytest.fixture(autouse=True)
def _toy_method() -> Iterator[None]:
    toys.register_toy()
    yield
    del METHODS["toy"]


@pytest.fixture
def towns(tmp_path: Path) -> Aligner:
    config = Config(method="toy")
    return Aligner.create(tmp_path / "state", toys.LEFT, toys.RIGHT, toys.SEEDS, config=config)


def list_pairs(aligner: Aligner, at: int | None = None) -> dict[str, tuple[str, str]]:
    return {link.left: (link.right, link.origin) for link in aligner.links(at=at)}


def test_a_waiting_decision_is_seen_everywhere_at_once(towns: Aligner) -> None:
    result = towns.confirm([("Oslo", "Рим")], author="ada", comment="the same", keys=["k1"])
    (decision,) = result.decisions
    assert (decision.number, decision.kind, decision.key) == (1, "confirmed", "k1")
    assert (decision.left, decision.right, decision.seen_version) == ("Oslo", "Рим", 0)
    assert result.reports == ()
    assert list_pairs(towns)["Oslo"] == ("Рим", "given")
    assert list_pairs(towns, at=0)["Oslo"] == ("Осло", "found")
    status = towns.status()
    assert (status.version, status.waiting_decisions) == (0, 1)
    for entity in (None, "Oslo", "Рим"):
        event = towns.history(entity)[-1]
        assert (event.version, event.waiting, event.kind) == (None, True, "confirmed")
        assert (event.author, event.comment) == ("ada", "the same")
        assert event.decided_at == decision.decided_at


def test_what_a_waiting_decision_displaces_is_no_longer_shown(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")])
    assert "Oslo" not in list_pairs(towns)
    towns.confirm([("Rain", "Осло")])
    assert list_pairs(towns)["Rain"] == ("Осло", "given")
    towns.confirm([("Fjord", "Осло")])
    assert "Rain" not in list_pairs(towns), "the later confirmation counts"
    towns.withdraw([("Fjord", "Осло")])
    assert "Fjord" not in list_pairs(towns)
    waiting = list_pairs(towns)
    towns.apply_decisions()
    assert list_pairs(towns) == waiting


def test_taken_up_by_the_next_update_and_kept_with_author_and_comment(towns: Aligner) -> None:
    towns.confirm(ROME, author="ada", comment="seen it")
    towns.unsure([("Fjord", "Океан")], author="bo", comment="ask ada")
    (report,) = towns.update(left=[("Turin", "in", "Italy")]).reports
    assert report.links_confirmed == 1
    assert towns.status().waiting_decisions == 0
    event = next(event for event in towns.history("Rome") if event.kind == "confirmed")
    assert (event.version, event.author, event.comment) == (1, "ada", "seen it")
    (unsure,) = towns.history("Fjord")[-1:]
    assert (unsure.version, unsure.kind, unsure.author) == (1, "unsure", "bo")
    everything = towns.history()
    assert event in everything
    assert unsure in everything
    assert not any(event.waiting for event in everything)


def test_a_repeated_request_is_recorded_once(towns: Aligner) -> None:
    first = towns.confirm(ROME, author="ada", keys=["key"])
    again = towns.confirm(ROME, author="someone else", keys=["key"])
    assert again.decisions == first.decisions
    towns.apply_decisions()
    assert towns.confirm(ROME, keys=["key"]).decisions == first.decisions
    assert towns.status().waiting_decisions == 0
    assert towns.apply_decisions().message == "nothing to do: no decision is waiting"
    with pytest.raises(ConfigError, match="2 keys were given for 1 decisions"):
        towns.reject(ROME, keys=["a", "b"])


def test_an_entity_without_a_counterpart_has_no_link_and_finds_none(towns: Aligner) -> None:
    towns.no_counterpart(left=["Oslo"], author="ada")
    assert "Oslo" not in list_pairs(towns)
    assert "Oslo" not in [link.left for link in towns.links(min_confidence=0.0)]
    towns.update(full=True)
    assert "Oslo" not in list_pairs(towns)
    retracted, decided = towns.history("Oslo")[-2:]
    assert (retracted.kind, retracted.reason) == (
        "retracted", "the left entity has no counterpart",
    )  # fmt: skip
    assert (retracted.author, decided.kind, decided.right) == ("ada", "no counterpart", "")
    with pytest.raises(SeedError, match="has an entity without a counterpart"):
        towns.update(change=ChangeSet(seeds=[("Oslo", "Осло")]))
    towns.withdraw(left=["Oslo"])
    towns.update()
    assert list_pairs(towns)["Oslo"] == ("Осло", "found")


def test_a_confirmation_and_no_counterpart_take_each_other_back(towns: Aligner) -> None:
    towns.no_counterpart(right=["Норвегия"])
    assert "Norway" not in list_pairs(towns)
    towns.apply_decisions()
    assert "Norway" not in list_pairs(towns)
    towns.confirm([("Norway", "Норвегия")], apply=True)
    assert list_pairs(towns)["Norway"] == ("Норвегия", "given")
    towns.update(full=True)
    assert list_pairs(towns)["Norway"] == ("Норвегия", "given")


def test_unsure_changes_no_link_and_is_taken_up_without_the_method(towns: Aligner) -> None:
    before = towns.links()
    towns.unsure(ROME)
    assert towns.links() == before
    (report,) = towns.update().reports
    assert report.source == "decisions"
    assert towns.links() == before
    assert towns.update().message == "nothing to do: no changes given"
    with pytest.raises(SeedError, match="was neither given nor confirmed nor rejected"):
        towns.withdraw(ROME)


@pytest.mark.parametrize(
    ("decide", "message"),
    [
        (lambda a: a.confirm([("Nowhere", "Рим")]), "'Nowhere' is not an entity of the left"),
        (lambda a: a.reject([("Рим", "Rome")]), "left and right look swapped"),
        (lambda a: a.confirm([("Oslo", "Рим"), ("Rome", "Рим")]), "is linked to both"),
        (lambda a: a.no_counterpart(right=["Oslo"]), "'Oslo' is not an entity of the right"),
        (lambda a: a.withdraw(left=["Oslo"]), "'Oslo' was never decided to have no counterpart"),
    ],
)
def test_a_mistake_records_nothing(towns: Aligner, decide: object, message: str) -> None:
    assert callable(decide)
    with pytest.raises(SeedError, match=message):
        decide(towns)
    assert towns.status().waiting_decisions == 0


def test_waiting_decisions_count_when_seeds_are_checked(towns: Aligner) -> None:
    towns.confirm(ROME)
    with pytest.raises(SeedError, match="'Rome' is linked to both"):
        towns.update(change=ChangeSet(seeds=[("Rome", "Океан")]))
    assert towns.status().waiting_decisions == 1


def test_a_revert_leaves_waiting_decisions_waiting(towns: Aligner) -> None:
    towns.reject([("Oslo", "Осло")], apply=True)
    towns.confirm(ROME)
    assert len(towns.revert(0).reports) == 1
    again = towns.revert(0)
    assert (again.reports, again.message) == ((), "nothing to do: equal to version 0")
    assert towns.status().waiting_decisions == 1
    assert list_pairs(towns)["Oslo"][0] == "Осло"
    assert list_pairs(towns)["Rome"] == ("Рим", "given")
    towns.update()
    assert list_pairs(towns)["Rome"] == ("Рим", "given")


def test_a_decision_after_the_delta_was_journalled_waits_for_the_update_after(
    towns: Aligner,
) -> None:
    towns.reject([("Oslo", "Осло")])
    with StateStore.open(towns.state, write=True) as store:
        arrays = dict.fromkeys(ADDED_TRIPLES, NO_FACTS)
        store.journal_delta(Delta("d", "interrupted", arrays, inbox_upto=1))
    towns.confirm(ROME)
    assert towns.status().waiting_decisions == 2
    reports = towns.apply_decisions().reports
    assert [report.source for report in reports] == ["interrupted", "decisions"]
    assert [report.links_rejected for report in reports] == [1, 0]
    assert [report.links_confirmed for report in reports] == [0, 1]


def test_decisions_are_recorded_while_another_process_updates(towns: Aligner) -> None:
    with StateStore.open(towns.state, write=True):
        towns.confirm(ROME)
        with pytest.raises(StateLockedError, match="what was decided is recorded and waits"):
            towns.reject([("Oslo", "Осло")], apply=True)
    assert towns.status().waiting_decisions == 2
    towns.apply_decisions()
    assert "Oslo" not in list_pairs(towns)


def test_an_inbox_that_lacks_what_was_taken_up_is_damaged(towns: Aligner) -> None:
    towns.confirm(ROME, apply=True)
    fresh = Aligner.create(
        towns.state.with_name("fresh"), toys.LEFT, toys.RIGHT, toys.SEEDS, config=Config("toy")
    )
    (fresh.state / "inbox.sqlite").replace(towns.state / "inbox.sqlite")
    with pytest.raises(StateDamagedError, match="lacks decisions that a version has taken up"):
        towns.history()
    (towns.state / "inbox.sqlite").unlink()
    with pytest.raises(StateDamagedError, match=r"inbox\.sqlite is missing"):
        towns.confirm(ROME)


def test_the_digests_cover_decisions_of_the_inbox(towns: Aligner) -> None:
    towns.confirm(ROME, comment="sure", apply=True)
    towns.no_counterpart(left=["Oslo"])
    towns.update(change=ChangeSet(removed_left_entities=["Bergen"]))
    towns.revert(1)
    with StateStore.open(towns.state, write=False) as store:
        digests = [version.digest for version in store.list_versions()]
        assert [store.compute_digest_of(number) for number in range(4)] == digests
        assert len(set(digests)) == 4


@pytest.fixture
def pairs_state(tmp_path: Path) -> Path:
    """A state with a hundred pairs of entities."""
    left = [(f"l{number}", "r", "hub") for number in range(100)]
    right = [(f"r{number}", "r", "HUB") for number in range(100)]
    Aligner.create(tmp_path / "state", left, right, [("hub", "HUB")], config=Config("toy"))
    return tmp_path / "state"


def start_writer(state: Path, name: str, count: int) -> subprocess.Popen[str]:
    environment = os.environ | {"PYTHONPATH": ":".join(entry for entry in sys.path if entry)}
    command = [sys.executable, "-c", WRITER, str(state), name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)


@pytest.mark.slow
def test_four_processes_decide_during_an_update_and_one_is_killed(pairs_state: Path) -> None:
    with StateStore.open(pairs_state, write=True) as store:  # an update is running
        writers = [start_writer(pairs_state, f"w{number}", 60) for number in range(4)]
        victim = writers[0]
        assert victim.stdout is not None
        acknowledged = [victim.stdout.readline().strip() for _ in range(10)]
        victim.kill()
        with victim.stdout:
            acknowledged += victim.stdout.read().split()
        for writer in writers[1:]:
            out, _ = writer.communicate()
            assert writer.returncode == 0
            acknowledged += out.split()
        assert victim.wait() == -signal.SIGKILL
        recorded = store.inbox.read_range(0)
    keys = [row.key for row in recorded]
    assert len(keys) == len(set(keys)), "none doubled"
    assert set(acknowledged) <= set(keys), "none lost"
    assert len(set(keys) - set(acknowledged)) <= 1, "at most one whose answer was lost"
    assert [row.number for row in recorded] == list(range(1, len(recorded) + 1))
    aligner = Aligner.open(pairs_state)
    (report,) = aligner.apply_decisions().reports
    assert report.links_confirmed == len({row.pair for row in recorded})


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.0, 0.005, 0.02, 0.05, 0.1])
def test_killed_while_decisions_are_taken_up_they_are_taken_up_once(
    pairs_state: Path, seconds: float
) -> None:
    aligner = Aligner.open(pairs_state)
    aligner.confirm([(f"l{number}", f"r{number}") for number in range(50)])
    child = os.fork()
    if child == 0:
        os.kill(os.getpid(), signal.SIGSTOP)
        try:
            aligner.apply_decisions()
        finally:
            os._exit(0)
    os.waitpid(child, os.WUNTRACED)
    os.kill(child, signal.SIGCONT)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    # Right after the kill all is seen, and applying again completes it or says that it is done.
    assert sum(link.origin == "given" for link in aligner.links()) == 51
    result = aligner.apply_decisions()
    assert result.reports or result.message == "nothing to do: no decision is waiting"
    status = aligner.status()
    assert (status.version, status.given_links, status.waiting_decisions) == (1, 51, 0)


def test_requests_of_one_call_are_recorded_all_or_none(pairs_state: Path) -> None:
    with StateStore.open(pairs_state, write=False) as store:
        broken = DecisionRequest((1, None), DecisionKind.CONFIRMED)  # type: ignore[arg-type]
        good = DecisionRequest((1, 1), DecisionKind.CONFIRMED)
        with pytest.raises(sqlite3.IntegrityError):
            store.inbox.append_decisions([good, broken], 0)
        assert store.inbox.last_number() == 0
