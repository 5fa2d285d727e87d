"""How a server stands load: start, answers to many readers, decisions during an update and a kill.

    python benchmarks/service_load.py [DATASET_DIR] [--state DIR] [--decisions N] [--json OUT]

The state directory is that of session_speed.py: all snapshots of the dataset in one version, and a
small update. With `--state` it is kept and used again. The server runs on a copy of it.

`start` is the time from the start of the process to the first answer of each kind, with the index
of labels there already. `reads` has percentiles in milliseconds over the requests of 20 clients
that ask at once, without a pause, for all kinds of pages; `single` is one client alone.
`decisions` is the same for 4 clients that each send one decision after the other while an update
runs; meanwhile the server is killed with SIGKILL and started again, and clients repeat what was
not acknowledged. `lost` counts acknowledged decisions that are not recorded, `twice` those that
are recorded twice. `peak_rss_mb` is the peak memory of the server without the process of the
update.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import httpx
import numpy as np

from everalign import Aligner
from everalign.benchmark.contea_format import ContEADataset
from measurement import Row, build_parser, open_results
from session_state import build_state

TOKEN = "a-token-for-measurements"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
READERS = 20
REVIEWERS = 4
READS = 2000
PORT = 8719
PATIENCE_SECONDS = 300


class Server:
    """A server in a process of its own.

    Args:
        state: The state directory.
    """

    def __init__(self, state: Path) -> None:
        command = [sys.executable, "-m", "everalign", "serve", str(state), "--no-open"]
        command += ["--port", str(PORT), "--token", TOKEN, "--rate-limit", "0"]
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        self.url = f"http://127.0.0.1:{PORT}"

    def wait(self, path: str) -> float:
        """Wait for the first answer; return the seconds since the start."""
        while time.perf_counter() - self.began < PATIENCE_SECONDS:
            with suppress(httpx.TransportError):
                answer = httpx.get(self.url + path, headers=HEADERS, timeout=PATIENCE_SECONDS)
                if answer.status_code == 200:
                    return time.perf_counter() - self.began
            time.sleep(0.02)
        raise TimeoutError(path)

    def read_peak(self) -> float:
        """Read the peak memory of the process in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        line = next(line for line in text.splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1000

    def end(self, number: int = signal.SIGTERM) -> None:
        """End the process with a signal."""
        self.process.send_signal(number)
        self.process.wait()


def main() -> None:
    parser = build_parser(__doc__, "service_load.json")
    parser.add_argument("dataset", type=Path, nargs="?")
    parser.add_argument("--state", type=Path, help="state directory to use again")
    parser.add_argument("--decisions", type=int, default=10_000)
    arguments = parser.parse_args()
    results = open_results(arguments)
    with tempfile.TemporaryDirectory() as directory:
        state = arguments.state or Path(directory) / "state"
        if arguments.dataset and not Aligner.exists(state):
            build_state(arguments.dataset, state)
        name = ContEADataset.open(arguments.dataset).name if arguments.dataset else state.name
        copy = Path(directory) / "served"
        shutil.copytree(state, copy)
        with Aligner.open(copy).session() as view:
            view.search("the index is there")
        results.measure_row({"dataset": name}, lambda: measure_service(copy, arguments))


def measure_service(state: Path, arguments: argparse.Namespace) -> Row:
    """Measure start and reads, then decisions."""
    server = Server(state)
    try:
        start = {path: server.wait(f"/api/v1/{path}") for path in ("session", "questions")}
        paths = list_paths(server)
        # Once each: what is computed for a version is not computed again.
        measure_reads(server, sorted(set(paths))[:200], 1)
        row: Row = {
            "start_seconds": {name: round(seconds, 2) for name, seconds in start.items()},
            "single": measure_reads(server, paths[:300], 1),
            "reads": measure_reads(server, paths, READERS),
            "peak_rss_mb": round(server.read_peak()),
        }
    finally:
        server.end()
    return row | {"decisions": measure_decisions(state, arguments.decisions)}


def list_paths(server: Server) -> list[str]:
    """List what clients ask for: each kind of page, of random links and entities."""
    with httpx.Client(base_url=server.url, headers=HEADERS, timeout=60) as client:
        links = client.get("/api/v1/links", params={"state": "found", "limit": 200}).json()
    rng = random.Random(0)
    chosen = rng.sample(links["links"], min(50, len(links["links"])))
    paths = ["links?limit=50", "overview", "corrections", "unmatched", "relations", "questions"]
    for link in chosen:
        pair = {"left": link["left"]["name"], "right": link["right"]["name"]}
        paths += [
            f"link?{httpx.QueryParams(pair)}",
            f"entity?{httpx.QueryParams({'name': pair['left']})}",
            f"search?{httpx.QueryParams({'text': link['left']['label'][:4]})}",
            f"links?{httpx.QueryParams({'max_confidence': link['confidence']})}",
        ]
    return list(islice(cycle(rng.sample(paths, len(paths))), READS))


def measure_reads(server: Server, paths: list[str], clients: int) -> dict[str, float]:
    """Let clients ask at once; summarise how long each answer took."""

    def read(part: list[str]) -> list[float]:
        times = []
        with httpx.Client(base_url=server.url, headers=HEADERS, timeout=60) as client:
            for path in part:
                began = time.perf_counter()
                answer = client.get(f"/api/v1/{path}")
                times.append(time.perf_counter() - began)
                assert answer.status_code == 200, answer.text
        return times

    began = time.perf_counter()
    with ThreadPoolExecutor(clients) as pool:
        parts = [paths[number::clients] for number in range(clients)]
        times = [seconds for part in pool.map(read, parts) for seconds in part]
    rate = len(times) / (time.perf_counter() - began)
    return {**summarise(times), "requests_per_second": round(rate, 1)}


def measure_decisions(state: Path, count: int) -> Row:
    """Let clients decide during an update, and kill the server when half is done."""
    server = Server(state)
    server.wait("/api/v1/session")
    pairs = [
        (link.left, link.right)
        for link in islice(Aligner.open(state).iterate_links(found_only=True), 5000)
    ]
    acknowledged: dict[str, float] = {}
    update = httpx.post(f"{server.url}/api/v1/updates", json={"full": True}, headers=HEADERS)
    assert update.status_code == 202, update.text

    def decide(number: int) -> None:
        with httpx.Client(base_url=server.url, headers=HEADERS, timeout=60) as client:
            for place in range(number, count, REVIEWERS):
                left, right = pairs[place % len(pairs)]
                kind = ("same", "different", "not sure")[place % 3]
                key = f"load-{place:08d}"
                row = {"key": key, "kind": kind, "left": left, "right": right}
                acknowledged[key] = send(client, row)

    began = time.perf_counter()
    with ThreadPoolExecutor(REVIEWERS) as pool:
        tasks = [pool.submit(decide, number) for number in range(REVIEWERS)]
        while len(acknowledged) < count // 2 and not any(task.done() for task in tasks):
            time.sleep(0.01)
        server.end(signal.SIGKILL)
        server = Server(state)
        for task in tasks:
            task.result()
    seconds = time.perf_counter() - began
    peak = server.read_peak()
    server.end()
    recorded = [row.key for row in Aligner.open(state).decisions()]
    return {
        **summarise(list(acknowledged.values())),
        "count": count,
        "per_second": round(count / seconds, 1),
        "lost": len(set(acknowledged) - set(recorded)),
        "twice": len(recorded) - len(set(recorded)),
        "peak_rss_mb": round(peak),
    }


def send(client: httpx.Client, row: dict[str, Any]) -> float:
    """Send a decision until it is acknowledged; return the seconds of the last attempt."""
    for _ in range(PATIENCE_SECONDS * 10):
        began = time.perf_counter()
        with suppress(httpx.TransportError):
            answer = client.post("/api/v1/decisions", json={"decisions": [row]})
            result = answer.json()["results"][0]
            assert result["status"] in ("recorded", "repeated"), result
            return time.perf_counter() - began
        time.sleep(0.1)
    raise TimeoutError(row["key"])


def summarise(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    points = np.percentile(np.array(seconds) * 1000, [50, 95, 100])
    median, p95, most = (round(float(point), 1) for point in points)
    return {"median_ms": median, "p95_ms": p95, "max_ms": most}


if __name__ == "__main__":
    main()
