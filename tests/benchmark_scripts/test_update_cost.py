"""The measurements of updates, decisions and histories on tiny graphs."""

from __future__ import annotations

import doctest
import json
from pathlib import Path

import pytest

import growing_states
import history_cost
import update_cost
from everalign.config import Config

TRIPLES, SHARE = 4000, growing_states.HELD_BACK_SHARE


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with one generated state."""
    states = tmp_path_factory.mktemp("states")
    folder = states / f"{TRIPLES}-{SHARE:g}-0"
    folder.mkdir()
    facts = growing_states.build_state(folder, TRIPLES, Config(), SHARE)
    (folder / "facts.json").write_text(json.dumps(facts))
    return states


@pytest.mark.parametrize("module", [update_cost, history_cost])
def test_examples(module: object) -> None:
    failed, tried = doctest.testmod(module)  # type: ignore[arg-type]
    assert tried
    assert not failed


@pytest.mark.slow
def test_held_back_triples_are_not_there_and_others_are(states: Path) -> None:
    state = growing_states.open_state(states, TRIPLES, Config())
    assert not set(state.held_back) & set(state.present)
    assert len(state.held_back) == pytest.approx(
        SHARE * (state.facts["triples_aligned"] + len(state.held_back)), abs=1
    )
    with state.copy_state() as aligner:
        some = state.held_back[:10]
        (added,) = aligner.update(change=growing_states.build_addition(some)).reports
        assert added.left_added_triples + added.right_added_triples == len(some)
        (removed,) = aligner.update(
            change=growing_states.build_removal(state.present[:10])
        ).reports
        assert removed.left_removed_triples + removed.right_removed_triples == len(some)
        assert removed.missing_removals == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["added", "removed"])
def test_a_row_tells_time_memory_and_bytes(states: Path, kind: str) -> None:
    key = {"triples": TRIPLES, "kind": kind, "delta": 3}
    row = update_cost.measure_delta(states, key, Config())
    assert row["repeats"] == update_cost.REPEATS
    assert 0 < row["cpu_spread"][0] <= row["cpu_seconds"] <= row["cpu_spread"][1]
    assert 0 < row["grown_bytes"] <= row["written_bytes"]
    assert row["peak_private_dirty_mb"] >= row["private_dirty_before_mb"] > 0
    assert not row["retrained"]


@pytest.mark.slow
def test_an_interrupted_history_goes_on(states: Path) -> None:
    state = growing_states.open_state(states, TRIPLES, Config())
    folder = states / "history"
    assert [row["update"] for row in history_cost.run_updates(state, folder, 2, 2)] == [1, 2]
    rows = history_cost.run_updates(state, folder, 3, 2)
    assert [row["update"] for row in rows] == [1, 2, 3]
