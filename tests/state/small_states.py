"""A small state of the evidence method, and what commands read from it."""

from __future__ import annotations

import shutil
from pathlib import Path

from everalign import Aligner

Triples = list[tuple[str, str, str]]


def read_rows(file: Path) -> list[tuple[str, ...]]:
    return [tuple(line.split("\t")) for line in file.read_text().splitlines()]


def list_new_triples(dataset: Path) -> tuple[Triples, Triples]:
    """Triples of both graphs that `make_state` leaves for updates."""
    left, right = (read_rows(dataset / "batch1" / f"new_triples_{side}") for side in (1, 2))
    return left[8:], right[8:]  # type: ignore[return-value]


def make_state(state: Path, dataset: Path) -> Aligner:
    """A state with a whole method state, changes, decisions in force and one that is waiting."""
    base, batch = dataset / "base", dataset / "batch1"
    left, right = (read_rows(base / f"triples_{side}") for side in (1, 2))
    confirmed, rejected, *more = read_rows(base / "valid_links")
    # Enough to train on: without models, every update starts afresh.
    seeds = [*read_rows(base / "train_links"), *more]
    aligner = Aligner.create(state, left, right, seeds)  # type: ignore[arg-type]
    new_left, new_right = (read_rows(batch / f"new_triples_{side}") for side in (1, 2))
    aligner.update(left=new_left[:4], right=new_right[:4])  # type: ignore[arg-type]
    aligner.update(left=new_left[4:8], right=new_right[4:8])  # type: ignore[arg-type]
    aligner.confirm([confirmed], author="ada")  # type: ignore[list-item]
    found = (link for link in aligner.links() if link.origin == "found")
    # So that one link has ended.
    ended = next(link for link in found if link.left not in {confirmed[0], rejected[0]})
    aligner.reject([(ended.left, ended.right)], author="ada", apply=True)
    aligner.reject([rejected], author="bo")  # type: ignore[list-item]
    return aligner


def read_everything(aligner: Aligner) -> list[object]:
    """What `links`, `history`, `diff` and `explain` say."""
    last = aligner.status().version
    assert last is not None
    links = aligner.links()
    return [
        links,
        *(aligner.links(at=version) for version in range(last + 1)),
        aligner.links(min_confidence=0.1),
        aligner.history(),
        aligner.diff(0, last),
        aligner.explain(links[-1].left),
    ]


def copy_state(source: Path, target: Path) -> Aligner:
    shutil.copytree(source, target)
    return Aligner(target)
