"""How fast a session answers: opening, links, explanations, search and entities.

    python benchmarks/session_speed.py [DATASET_DIR] [--state DIR] [--json OUT]

All snapshots of the dataset are aligned in one version, and a small update makes a second one.
With `--state`, that state directory is kept and used again; without a dataset it must exist, and
may be that of a generated graph (see growing_states.py). Each row is measured in a new process:
`updated` on the state as it is, `trained` after it was reverted to the first version, so that the
method loads no changes. The first session of the process loads libraries and compiled code and is
not counted.

Times are processor time in milliseconds: median, 95th percentile and maximum over 200 entities,
half of them linked. `open` is the session alone, `load` what the first explanation adds to it,
`index` the time to build the index of labels. Searches are for the first letters, and for a part,
of labels. `links_head` is the command `everalign links STATE`, of which the first lines are read:
processor and wall time of the whole process.
"""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from time import perf_counter, process_time
from typing import Any

import numpy as np

from everalign import Aligner, AlignmentView
from everalign.benchmark.contea_format import ContEADataset
from measurement import Row, build_parser, open_results, run_in_child
from session_state import build_state

ENTITY_COUNT = 200
SAMPLE_SIZE = 20_000  # links, and entities of each graph without one, to choose from
PAGE_SIZE = 100


def main() -> None:
    parser = build_parser(__doc__, "session_speed.json")
    parser.add_argument("dataset", type=Path, nargs="?")
    parser.add_argument("--state", type=Path, help="state directory to use again")
    arguments = parser.parse_args()
    results = open_results(arguments)
    with tempfile.TemporaryDirectory() as directory:
        state = arguments.state or Path(directory) / "state"
        if arguments.dataset and not Aligner.exists(state):
            build_state(arguments.dataset, state)
        name = (
            ContEADataset.open(arguments.dataset).name if arguments.dataset else state.parent.name
        )
        for row in ("updated", "trained"):
            copy = Path(directory) / row
            shutil.copytree(state, copy, ignore=shutil.ignore_patterns("cache"))
            if row == "trained":
                Aligner.open(copy).revert(0)
            results.measure_row(
                {"dataset": name, "state": row}, partial(run_in_child, measure_session, copy)
            )


def measure_session(state: Path) -> Row:
    """Measure the answers of a session, after those of another one."""
    aligner = Aligner.open(state)
    with aligner.session() as view:
        index_ms, _ = measure(lambda: view.search("warm up"))
        entities = choose_entities(view)
        for answer in build_questions(view, entities).values():
            answer(entities[0])
    opening, loading = [], []
    for _ in range(5):
        milliseconds, view = measure(aligner.session)
        opening.append(milliseconds)
        loading.append(measure(partial(view.explain, entities[0]))[0])
        view.close()
    with aligner.session() as view:
        counts = view.counts()
        rows: Row = {
            "entities": sum(_count_entities(view)),
            "links": counts.given + counts.found,
            "index_ms": round(index_ms, 1),
            "open_ms": summarise(opening),
            "load_ms": summarise(loading),
        }
        for name, answer in build_questions(view, entities).items():
            answer(entities[0])
            times = [measure(partial(answer, entity))[0] for entity in entities]
            rows[f"{name}_ms"] = summarise(times)
    return rows | {"links_head": measure_links_head(state)}


def measure_links_head(state: Path) -> Row:
    """Measure the command that lists links, if only the first lines are read."""
    command = [sys.executable, "-m", "everalign", "links", str(state)]
    before, wall = os.times(), perf_counter()
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        assert process.stdout is not None
        for _ in range(10):
            process.stdout.readline()
        process.stdout.close()
        process.wait()
    after = os.times()
    cpu = sum(after[2:4]) - sum(before[2:4])
    return {"cpu_seconds": round(cpu, 2), "wall_seconds": round(perf_counter() - wall, 2)}


def choose_entities(view: AlignmentView) -> list[str]:
    """Choose entities of both graphs at random, half of them linked."""
    rng = random.Random(0)
    links = view.links(limit=SAMPLE_SIZE).links
    linked = [name for link in links for name in (link.left, link.right)]
    unlinked = [
        entity.name
        for side in ("left", "right")
        for entity in view.dangling(side, limit=SAMPLE_SIZE).entities
    ]
    half = ENTITY_COUNT // 2
    return rng.sample(linked, half) + rng.sample(unlinked, half)


def build_questions(view: AlignmentView, entities: list[str]) -> dict[str, Callable[[str], Any]]:
    """The questions that are measured, each about an entity."""
    labels = {entity: view.label(entity) for entity in entities}
    pages = _list_cursors(view, len(entities))
    cursors = dict(zip(entities, (*pages, *pages * len(entities)), strict=False))
    return {
        "explain": view.explain,
        "search_prefix": lambda entity: view.search(labels[entity][:3]),
        "search_substring": lambda entity: view.search(labels[entity][2:7]),
        "search_two_characters": lambda entity: view.search(labels[entity][1:3]),
        "links_page": lambda entity: view.links(cursors[entity], PAGE_SIZE),
        "links_with_text": lambda entity: view.links(text=labels[entity][:5]),
        "entity": view.entity,
        "candidates": view.candidates,
        "history": view.history,
        "dangling_page": lambda entity: view.dangling("left", str(len(entity) * 100)),
    }


def measure(work: Callable[[], Any]) -> tuple[float, Any]:
    """Return the processor time of a call in milliseconds, and its result."""
    started = process_time()
    result = work()
    return 1000 * (process_time() - started), result


def summarise(times: Iterable[float]) -> Row:
    """Return median, 95th percentile and maximum."""
    median, p95, maximum = np.percentile(list(times), [50, 95, 100])
    return {"median": round(median, 2), "p95": round(p95, 2), "max": round(maximum, 2)}


def _list_cursors(view: AlignmentView, limit: int) -> list[str]:
    cursors: list[str] = []
    page = view.links(limit=PAGE_SIZE)
    while page.next is not None and len(cursors) < limit:
        cursors.append(page.next)
        page = view.links(page.next, PAGE_SIZE)
    return cursors


def _count_entities(view: AlignmentView) -> tuple[int, int]:
    status = view.status()
    return status.left_entities, status.right_entities


if __name__ == "__main__":
    main()
