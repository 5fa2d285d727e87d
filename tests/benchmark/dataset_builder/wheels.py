"""Two graphs that can be counted by hand: a wheel of ten, with spokes that grow outwards.

hub0 → hub1 → … → hub9 → hub0 is the first snapshot. From each hub leads a chain of entities
that is joined to nothing else, so a snapshot gains just the triples that it draws.
"""

from __future__ import annotations

from pathlib import Path

from everalign.benchmark.contea_format import write_rows
from everalign.benchmark.dataset_builder import SourceGraphs
from everalign.io import Triple

HUBS = range(10)
LENGTH = 5


def base(side: str) -> list[Triple]:
    return [(f"{side}-hub{n}", "next", f"{side}-hub{(n + 1) % len(HUBS)}") for n in HUBS]


def chains(side: str) -> list[Triple]:
    steps = [
        (f"{side}-{n}.{step}", "next", f"{side}-{n}.{step + 1}")
        for n in HUBS
        for step in range(1, LENGTH)
    ]
    return [(f"{side}-hub{n}", "next", f"{side}-{n}.1") for n in HUBS] + steps


def links() -> list[tuple[str, str]]:
    hubs = [(f"l-hub{n}", f"r-hub{n}") for n in HUBS]
    outer = [f"{n}.{step}" for n in HUBS for step in range(1, LENGTH + 1)]
    return hubs + [(f"l-{name}", f"r-{name}") for name in outer]


def write_wheels(
    directory: Path, left: list[Triple] | None = None, right: list[Triple] | None = None
) -> SourceGraphs:
    """The files of a build with a given first snapshot; more triples can be added."""
    paths = [directory / name for name in ("left", "right", "links", "base_left", "base_right")]
    write_rows(paths[0], base("l") + chains("l") + (left or []))
    write_rows(paths[1], base("r") + chains("r") + (right or []))
    write_rows(paths[2], links())
    write_rows(paths[3], base("l"))
    write_rows(paths[4], base("r"))
    return SourceGraphs(*paths)
