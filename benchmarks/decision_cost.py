"""What a decision costs in a long history, and whether any is lost while an update runs.

    python benchmarks/decision_cost.py --states DIRECTORY [--triples 10000] [--json OUT]

Cost: decisions are recorded one by one before there is any history, and again when the alignment
has 3,000 versions with 10,000 decisions. Processor seconds are medians; imports are not included.

Concurrency: four processes give 25 decisions a second each, and send some of them twice, as a
client does that got no answer; meanwhile another process applies one delta after the other. Then
every decision must be in the history once.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from itertools import islice, product
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path
from statistics import median

import numpy as np

from everalign import Aligner, ChangeSet
from everalign.config import Config
from growing_states import GrowingState, SideTriple, build_addition, build_removal, open_state
from measurement import Row, build_parser, open_results, read_config, run_in_child

Pair = tuple[str, str]

SAMPLES = 200  # decisions that are measured one by one
PROCESSES, RATE = 4, 25  # decisions a second of each process
REPEATED = 10  # every so many decisions, one is sent twice
DELTA_TRIPLES = 100


def main() -> None:
    parser = build_parser(__doc__, "decision_cost.json")
    parser.add_argument("--states", type=Path, required=True, help="directory of generated states")
    parser.add_argument("--triples", type=int, default=10_000, help="size of the graphs")
    parser.add_argument("--versions", type=int, default=3_000)
    parser.add_argument("--decisions", type=int, default=10_000)
    parser.add_argument("--seconds", type=float, default=10, help="how long processes decide")
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    open_state(arguments.states, arguments.triples, config)
    key = {name: getattr(arguments, name) for name in ("triples", "versions", "decisions")}
    measure = partial(run_in_child, measure_history, arguments.states, key, config)
    results.measure_row({"measured": "cost", **key}, measure)
    key = {name: getattr(arguments, name) for name in ("triples", "seconds")}
    measure = partial(run_in_child, measure_concurrency, arguments.states, key, config)
    results.measure_row({"measured": "concurrency", **key}, measure)


def list_pairs(state: GrowingState) -> Iterator[Pair]:
    """List pairs of entities that can be decided about, each once."""
    names = [
        sorted({triple[0] for side, triple in state.present if side == index}) for index in (0, 1)
    ]
    # Along diagonals, so that consecutive pairs have no entity in common.
    for shift, place in product(range(len(names[1])), range(len(names[0]))):
        yield names[0][place], names[1][(place + shift) % len(names[1])]


def measure_history(states: Path, key: Row, config: Config) -> Row:
    """Measure decisions before and after a long history."""
    state = open_state(states, key["triples"], config)
    pairs = list_pairs(state)
    per_version = -(-key["decisions"] // key["versions"])
    with state.copy_state() as aligner:
        time_decisions(aligner, pairs, 5)
        before = time_decisions(aligner, pairs, SAMPLES)
        began = time.process_time()
        for _ in range(key["versions"]):
            aligner.reject(list(islice(pairs, per_version)), apply=True)
        history_seconds = time.process_time() - began
        after = time_decisions(aligner, pairs, SAMPLES)
        status = aligner.status()
    return {
        "cpu_seconds_before": median(before),
        "cpu_seconds": median(after),
        "cpu_seconds_p95": float(np.quantile(after, 0.95)),
        "cpu_seconds_per_version": history_seconds / key["versions"],
        "last_version": status.version,
        "waiting": status.waiting_decisions,
    }


def time_decisions(aligner: Aligner, pairs: Iterator[Pair], count: int) -> list[float]:
    """Record decisions one by one; gives the processor seconds of each."""
    seconds = []
    for pair in islice(pairs, count):
        began = time.process_time()
        aligner.reject([pair], author="measurement")
        seconds.append(time.process_time() - began)
    return seconds


def measure_concurrency(states: Path, key: Row, config: Config) -> Row:
    """Decide in several processes while updates run, and look for what is lost or doubled."""
    state, context = open_state(states, key["triples"], config), get_context("spawn")
    count = round(key["seconds"] * RATE)
    pairs = list_pairs(state)
    shares = [list(islice(pairs, count)) for _ in range(PROCESSES)]
    with state.copy_state() as aligner, context.Manager() as manager:
        began, rows = context.Event(), manager.list()
        deciders = [
            context.Process(target=decide, args=(aligner.state, share, number, began, rows))
            for number, share in enumerate(shares)
        ]
        for process in deciders:
            process.start()
        deltas = repeat_deltas(state.held_back[:DELTA_TRIPLES])
        aligner.update(change=next(deltas))
        began.set()
        updates = []
        while any(process.is_alive() for process in deciders):
            started = time.perf_counter()
            aligner.update(change=next(deltas))
            updates.append(time.perf_counter() - started)
        for process in deciders:
            process.join()
        waiting = aligner.status().waiting_decisions
        aligner.apply_decisions()
        decided = Counter(
            (event.left, event.right)
            for event in aligner.iterate_history()
            if event.kind == "rejected"
        )
        numbers = [number for row in rows for number in row["numbers"]]
        return {
            "decisions": PROCESSES * count,
            "updates": len(updates),
            "waiting_at_the_end": waiting,
            "lost": sum(decided[pair] == 0 for share in shares for pair in share),
            "doubled": sum(times > 1 for times in decided.values()),
            "distinct_numbers": len(set(numbers)),
            "failed_processes": sum(process.exitcode != 0 for process in deciders),
            "decisions_per_second": sum(count / row["seconds"] for row in rows),
            "cpu_seconds": median(value for row in rows for value in row["cpu_seconds"]),
        }


def repeat_deltas(triples: list[SideTriple]) -> Iterator[ChangeSet]:
    """Add and remove the same triples, again and again."""
    while True:
        yield build_addition(triples)
        yield build_removal(triples)


def decide(
    directory: Path, pairs: list[Pair], process: int, began: Event, rows: list[Row]
) -> None:
    """The work of one process: give decisions at a constant rate."""
    aligner, numbers, seconds = Aligner.open(directory), [], []
    began.wait()
    start = time.perf_counter()
    for place, pair in enumerate(pairs):
        time.sleep(max(0.0, start + place / RATE - time.perf_counter()))
        for _ in range(2 if place % REPEATED == 0 else 1):
            cpu = time.process_time()
            result = aligner.reject([pair], author=f"{process}", keys=[f"{process}-{place}"])
            seconds.append(time.process_time() - cpu)
        numbers.append(result.decisions[0].number)
    rows.append(
        {"numbers": numbers, "cpu_seconds": seconds, "seconds": time.perf_counter() - start}
    )


if __name__ == "__main__":
    main()
