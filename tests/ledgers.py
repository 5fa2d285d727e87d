"""States made of events that a test chooses, without any method."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from everalign import Aligner, Config
from everalign.state import Delta, StateStore, compute_digest
from everalign.state.ledger import EventKind, LedgerEvent
from everalign.state.method_output import MethodOutput

# What happened to a pair: kind, left, right, score.
Step = tuple[EventKind, int, int, float]
LEFT = [f"http://left.org/{number}" for number in range(5)]
RIGHT = [f"http://right.org/{number}" for number in range(5)]


def aligner_of(
    state: Path,
    versions: Sequence[Sequence[Step]],
    method: str = "evidence",
    names: tuple[Sequence[str], Sequence[str]] = (LEFT, RIGHT),
) -> Aligner:
    """An alignment with these events, one list for each version."""
    arrays = {"left_added_triples": np.array([[0, 0, 1]])}
    rolls = {("left", "entity"): names[0], ("right", "entity"): names[1]}
    settings = {"config": Config(method=method).to_toml(), "made_by": "0.1.0"}
    with StateStore.create(state, settings) as store:
        store.journal_delta(Delta(compute_digest(arrays), "made up", arrays, rolls))  # type: ignore[arg-type]
        for number, steps in enumerate(versions):
            events = [LedgerEvent(number, *step, f"as said in version {number}") for step in steps]
            store.commit_version(MethodOutput(), events, info={})
    return Aligner.open(state)
