"""What an update costs by the size of the delta and of the graphs.

    python benchmarks/update_cost.py --states DIRECTORY [--sizes 100000 1000000] [--json OUT]

A size is the number of triples of both generated graphs. The alignment of each size is made once
and kept in DIRECTORY (see growing_states.py); give the same directory again to go on later.

Each row is a delta of some added or removed triples, measured in a process of its own that works
on a copy of the state and has applied another delta before, so that imports and compilation are
not included. The updates of a row follow one another. Processor seconds and bytes written are
medians; `cpu_spread` gives the smallest and the largest. Memory is measured with one more update,
since watching it takes time: `peak_private_dirty_mb` is what the process alone holds at most,
`peak_private_clean_mb` are pages of mapped files, which the system can drop at any time.
"""

from __future__ import annotations

from functools import partial
from pathlib import Path
from statistics import median

from everalign.config import Config
from growing_states import (
    GrowingState,
    MemoryPeak,
    build_addition,
    build_removal,
    measure_update,
    open_state,
    read_private_mb,
)
from measurement import Row, build_parser, open_results, read_config, run_in_child

SIZES = (100_000, 300_000, 1_000_000, 3_000_000)
ADDED = (1, 10, 100, 1_000, 10_000, 100_000)
REMOVED = (10,)
REPEATS = 5
# Larger deltas are measured less often: they take long and vary little.
MAX_MEASURED_TRIPLES = 30_000
WARM_UP_TRIPLES = 20


def main() -> None:
    parser = build_parser(__doc__, "update_cost.json")
    parser.add_argument("--states", type=Path, required=True, help="directory of generated states")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--added", type=int, nargs="+", default=ADDED)
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    for size in arguments.sizes:
        state = open_state(arguments.states, size, config)
        deltas = [("added", count) for count in arguments.added]
        for kind, count in [*deltas, *(("removed", count) for count in REMOVED)]:
            # The warm-up and the update that is watched take some as well.
            if kind == "removed" or count + WARM_UP_TRIPLES <= len(state.held_back):
                key = {"triples": size, "kind": kind, "delta": count}
                measure = partial(run_in_child, measure_delta, arguments.states, key, config)
                results.measure_row(key, measure)


def measure_delta(states: Path, key: Row, config: Config) -> Row:
    """Measure updates with deltas of one size."""
    state = open_state(states, key["triples"], config)
    pool, build = (
        (state.held_back, build_addition)
        if key["kind"] == "added"
        else (state.present, build_removal)
    )
    count = key["delta"]
    fits = (len(pool) - WARM_UP_TRIPLES) // count
    repeats = max(1, min(REPEATS, fits - 1, MAX_MEASURED_TRIPLES // count))
    rest = pool[WARM_UP_TRIPLES:]
    deltas = [build(rest[n * count : (n + 1) * count]) for n in range(min(fits, repeats + 1))]
    with state.copy_state() as aligner:
        # Both ways, so that all is compiled and loaded.
        aligner.update(change=build_addition(state.held_back[:WARM_UP_TRIPLES]))
        aligner.update(change=build_removal(state.present[:WARM_UP_TRIPLES]))
        rows = [measure_update(aligner, change) for change in deltas[:repeats]]
        memory: Row = {}
        if len(deltas) > repeats:
            before, peak = read_private_mb(), MemoryPeak()
            aligner.update(change=deltas[repeats])
            memory = {
                "private_dirty_before_mb": round(before["private_dirty_mb"], 1),
                **peak.finish(),
            }
    return summarise_updates(rows) | memory | describe_state(state)


def summarise_updates(rows: list[Row]) -> Row:
    """Summarise several updates.

    Args:
        rows: What `measure_update` tells of each.

    Returns:
        The median of each value, their number, and the range of the processor seconds.

    >>> rows = [{"cpu_seconds": seconds, "links_changed": 2} for seconds in (3.0, 1.0, 2.0)]
    >>> summarise_updates(rows)
    {'repeats': 3, 'cpu_seconds': 2.0, 'links_changed': 2, 'cpu_spread': [1.0, 3.0]}
    """
    seconds = [row["cpu_seconds"] for row in rows]
    return {
        "repeats": len(rows),
        **{name: median(row[name] for row in rows) for name in rows[0]},
        # An even number of yes and no has no median.
        **({"retrained": any(row["retrained"] for row in rows)} if "retrained" in rows[0] else {}),
        "cpu_spread": [min(seconds), max(seconds)],
    }


def describe_state(state: GrowingState) -> Row:
    """Tell the size of the alignment and what it cost to make."""
    names = ("triples_aligned", "entities", "create_cpu_seconds", "state_bytes")
    return {name: state.facts[name] for name in names}


if __name__ == "__main__":
    main()
