"""What updates cost in a long history: many small updates, one after the other.

    python benchmarks/history_cost.py --states DIRECTORY [--triples 1000000] [--updates 520]

The graphs keep their size: each update adds held-back triples and removes as many others, 0.1% of
the graphs in all, and what was removed is held back for later. `retrained` marks the updates
after which the method was trained again, as it is when much has changed since the last time.
`last_to_first` compares the processor seconds of the last ten updates with those of the first
ten, medians over the updates that did not train.

The state directory and the row of each update are kept in DIRECTORY; an interrupted measurement
goes on if it is given again.
"""

from __future__ import annotations

import json
import shutil
from functools import partial
from pathlib import Path
from statistics import median

from everalign import Aligner, ChangeSet
from everalign.config import Config
from growing_states import (
    GrowingState,
    SideTriple,
    build_addition,
    build_removal,
    measure_directory,
    measure_update,
    open_state,
)
from measurement import Row, build_parser, open_results, read_config, run_in_child

SHARE = 0.001  # of all triples, that each update changes
COMPARED = 10  # updates at the beginning and at the end


def main() -> None:
    parser = build_parser(__doc__, "history_cost.json")
    parser.add_argument("--states", type=Path, required=True, help="directory of generated states")
    parser.add_argument("--triples", type=int, default=1_000_000, help="size of the graphs")
    parser.add_argument("--updates", type=int, default=520)
    arguments = parser.parse_args()
    config, results = read_config(arguments), open_results(arguments)
    open_state(arguments.states, arguments.triples, config)
    key = {"triples": arguments.triples, "updates": arguments.updates}
    measure = partial(run_in_child, measure_history, arguments.states, key, config)
    results.measure_row(key, measure)


def measure_history(states: Path, key: Row, config: Config) -> Row:
    """Apply the updates that are missing, and compare the last ones with the first."""
    state = open_state(states, key["triples"], config)
    folder = state.directory.with_name(f"history-{key['updates']}")
    rows = run_updates(state, folder, key["updates"], round(key["triples"] * SHARE / 2))
    return summarise_history(rows) | {
        "fresh_state_bytes": state.facts["state_bytes"],
        "state_bytes": measure_directory(folder / "state"),
    }


def run_updates(state: GrowingState, folder: Path, count: int, exchanged: int) -> list[Row]:
    """Run the updates in a copy of the state; those that a folder has already are not repeated."""
    log = folder / "rows.jsonl"
    if not log.exists():
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(state.directory, folder / "state")
        log.touch()
    aligner = Aligner.open(folder / "state")
    rows: list[Row] = [json.loads(line) for line in log.read_text("utf-8").splitlines()]
    # An update that was applied and not measured is left out.
    done = aligner.status().version or 0
    changes = list_exchanges(state, exchanged, count + 1)
    if not done:
        aligner.update(change=changes[0])
        done = 1
    for number in range(done, count + 1):
        row = {"update": number, **measure_update(aligner, changes[number])}
        rows.append(row)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(row) + "\n")
    return rows


def list_exchanges(state: GrowingState, exchanged: int, count: int) -> list[ChangeSet]:
    """List deltas that each add and remove so many triples."""
    absent, present = list(state.held_back), list(state.present)
    exchanged = min(exchanged, len(absent) // 2, len(present) // 2)
    changes = []
    for _ in range(count):
        added, absent = absent[:exchanged], absent[exchanged:]
        removed, present = present[:exchanged], present[exchanged:]
        changes.append(merge_changes(added, removed))
        # To the end, so that it takes long until they come again.
        absent, present = absent + removed, present + added
    return changes


def merge_changes(added: list[SideTriple], removed: list[SideTriple]) -> ChangeSet:
    """Build the delta that adds some triples and removes others."""
    addition, removal = build_addition(added), build_removal(removed)
    return ChangeSet(
        addition.added_left, addition.added_right, removal.removed_left, removal.removed_right
    )


def summarise_history(rows: list[Row]) -> Row:
    """Compare the last updates with the first.

    >>> rows = [{"cpu_seconds": n, "retrained": n > 9, "grown_bytes": 5} for n in (1, 3, 99, 2)]
    >>> summary = summarise_history(rows)
    >>> summary["first_cpu_seconds"], summary["retrained"], summary["last_to_first"]
    (2, 1, 1.0)
    """
    plain = [row["cpu_seconds"] for row in rows if not row["retrained"]]
    first, last = median(plain[:COMPARED]), median(plain[-COMPARED:])
    return {
        "first_cpu_seconds": first,
        "last_cpu_seconds": last,
        "last_to_first": last / first,
        "all_cpu_seconds": [round(row["cpu_seconds"], 3) for row in rows],
        "retrained": sum(row["retrained"] for row in rows),
        "grown_bytes": median(row["grown_bytes"] for row in rows if not row["retrained"]),
    }


if __name__ == "__main__":
    main()
