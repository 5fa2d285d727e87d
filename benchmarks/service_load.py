"""How a server stands load: start, answers to many readers, decisions during an update and a kill.

    python benchmarks/service_load.py [DATASET_DIR] [--state DIR] [--decisions N] [--json OUT]

The state directory is that of session_speed.py: all snapshots of the dataset in one version, and a
small update. With `--state` it is kept and used again. The server runs on a copy of it, and has
been started once before: compiled code and the index of labels are there.

`start` is the time from the start of the process to the answers that the page needs: its files,
`session`, and the first 20 questions; in seconds of wall and of processor time, the median of five
starts. `endpoints` has the processor time of the server for one request of each kind, and
percentiles of the time that one client waits, in milliseconds; each request is for another link or
entity where the kind has any. All others are the same request again, so all but the first are
answers that were kept; `entity` and `question` follow `link`, whose explanations are kept.
`closed_loop` are 20 clients that
ask without a pause for all kinds of pages, four of five about links and entities that nobody has
asked for before: the time that a client waits is then that of 20 answers. `people` are 20 clients
that pause for a second on average; each twelfth request is a decision, another one asks for the
next 20 questions, and `answers` has the decisions alone. `decisions` is that of 4 clients who
each send one decision after the other, without a pause, while an update runs; meanwhile the server
is killed with SIGKILL and started again, and clients repeat what was not acknowledged. `lost`
counts acknowledged decisions that are not recorded, `twice` those that are recorded twice.
`peak_rss_mb` is the peak memory of the server without the process of the update, `private_mb` what
it does not share with files. `load_average` is that of the machine before each part: with more
than the number of cores, wall times tell little.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from itertools import islice
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import httpx
import numpy as np

from everalign import Aligner
from everalign.benchmark.contea_format import ContEADataset
from http_load import Ask, Reply, run_clients
from measurement import Row, build_parser, open_results
from session_state import build_state

TOKEN = "a-token-for-measurements"
HEADERS = {"Authorization": f"Bearer {TOKEN}"}
READERS = 20
REVIEWERS = 4
STARTS = 5
PAUSE_SECONDS = 1.0
CHOSEN_LINKS = 600  # that requests are about
CLOSED_LOOP_LINKS = 400
ENDPOINT_LINKS = 60
PORT = 8719
PATIENCE_SECONDS = 300
# What the page asks for when it is opened.
FIRST_ASKS = {
    "page": Ask("/"),
    "script": Ask("/static/app.js"),
    "session": Ask("/api/v1/session"),
    "questions": Ask("/api/v1/questions", {"limit": 20, "exclude": [], "author": ""}),
}
# Pages that are different for each reader, and such that many look at.
OWN_PAGES = ("link", "entity", "search", "links from a confidence on")
SHARED_PAGES = ("links", "overview", "corrections", "unmatched", "relations", "questions")


class Server:
    """A server in a process of its own.

    Args:
        state: The state directory.
    """

    def __init__(self, state: Path) -> None:
        command = [sys.executable, "-m", "everalign", "serve", str(state), "--no-open"]
        command += ["--port", str(PORT), "--token", TOKEN, "--rate-limit", "0"]
        # An installed package has its bytecode; where Python is told to write none, it would be
        # compiled at each start.
        environment = {**os.environ}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        self.began = time.perf_counter()
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, env=environment)
        self.url = f"http://127.0.0.1:{PORT}"

    def wait(self, ask: Ask) -> Row:
        """Wait for the first answer; return the seconds since the start."""
        while time.perf_counter() - self.began < PATIENCE_SECONDS:
            with suppress(OSError):
                reply = run_clients(PORT, TOKEN, [ask], 1)[0]
                if reply.status == 200:
                    wall = time.perf_counter() - self.began
                    return {"wall": wall, "cpu": self.read_cpu()}
            time.sleep(0.01)
        raise TimeoutError(ask.path)

    def read_cpu(self) -> float:
        """Read the processor time of the process in seconds."""
        text = Path(f"/proc/{self.process.pid}/stat").read_text()
        user, system = text.rpartition(")")[2].split()[11:13]
        return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")

    def read_memory(self) -> Row:
        """Read the peak memory of the process, and what it does not share, in MB."""
        text = Path(f"/proc/{self.process.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in text.splitlines())
        return {
            name: round(int(fields[field].split()[0]) / 1000)
            for name, field in (("peak_rss_mb", "VmHWM"), ("private_mb", "RssAnon"))
        }

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
        server = Server(copy)
        server.wait(FIRST_ASKS["questions"])
        server.end()
        results.measure_row({"dataset": name}, lambda: measure_service(copy, arguments))


def measure_service(state: Path, arguments: argparse.Namespace) -> Row:
    """Measure start and reads, then decisions."""
    row: Row = {"load_average": {"start": _read_load()}, "start": measure_starts(state)}
    server = Server(state)
    try:
        server.wait(FIRST_ASKS["questions"])
        links = choose_links()
        parts = {
            "endpoints": measure_endpoints,
            "closed_loop": measure_closed_loop,
            "people": measure_people,
        }
        for name, measure in parts.items():
            row["load_average"][name] = _read_load()
            row[name] = measure(server, links)
        row |= server.read_memory()
    finally:
        server.end()
    row["load_average"]["decisions"] = _read_load()
    return row | {"decisions": measure_decisions(state, arguments.decisions)}


def measure_starts(state: Path) -> Row:
    """Start servers, one after the other; the median of the time to each first answer."""
    starts = []
    for _ in range(STARTS):
        server = Server(state)
        try:
            starts.append({name: server.wait(ask) for name, ask in FIRST_ASKS.items()})
        finally:
            server.end()
    return {
        name: {
            clock: round(float(np.median([start[name][clock] for start in starts])), 2)
            for clock in ("wall", "cpu")
        }
        for name in FIRST_ASKS
    }


def choose_links() -> list[Row]:
    """Choose found links of any confidence at random."""
    asks = [
        _ask("links", state="found", limit=200, max_confidence=round(maximum, 3))
        for maximum in np.linspace(0.3, 1.0, 15)
    ]
    found: dict[tuple[str, str], Row] = {}
    for reply in run_clients(PORT, TOKEN, asks, 1):
        for link in json.loads(reply.body)["links"]:
            found[link["left"]["name"], link["right"]["name"]] = link
    return random.Random(0).sample(list(found.values()), min(CHOSEN_LINKS, len(found)))


def make_asks(link: Row) -> dict[str, Ask]:
    """A request of each kind; some are about a link and some are the same for all links."""
    left, right = link["left"], link["right"]
    return {
        "link": _ask("link", left=left["name"], right=right["name"]),
        "entity": _ask("entity", name=left["name"]),
        "search": _ask("search", text=left["label"][:4]),
        "links from a confidence on": _ask("links", max_confidence=link["confidence"]),
        "question": _ask("question", name=left["name"]),
        "next 20 questions": FIRST_ASKS["questions"],
        **{name: _ask(name) for name in SHARED_PAGES},
        "session": _ask("session"),
    }


def measure_endpoints(server: Server, links: list[Row]) -> Row:
    """Let one client ask for each kind of page by itself."""
    rows = {}
    chosen = [make_asks(link) for link in links[-ENDPOINT_LINKS:]]
    for name in chosen[0]:
        asks = [kinds[name] for kinds in chosen]
        cpu = server.read_cpu()
        replies = _check(run_clients(PORT, TOKEN, asks, 1))
        milliseconds = 1000 * (server.read_cpu() - cpu) / len(replies)
        rows[name] = {"cpu_ms": round(milliseconds, 1), **summarise_replies(replies)}
    return rows


def measure_closed_loop(server: Server, links: list[Row]) -> Row:
    """Let readers ask without a pause."""
    asks = []
    for number, link in enumerate(links[:CLOSED_LOOP_LINKS]):
        kinds = make_asks(link)
        asks += [kinds[name] for name in OWN_PAGES]
        asks.append(kinds[SHARED_PAGES[number % len(SHARED_PAGES)]])
    random.Random(1).shuffle(asks)
    return _measure_load(server, asks, 0.0)[0]


def measure_people(server: Server, links: list[Row]) -> Row:
    """Let people read and decide."""
    asks = []
    for number, link in enumerate(links[CLOSED_LOOP_LINKS:]):
        kinds = make_asks(link)
        pair = {"left": link["left"]["name"], "right": link["right"]["name"]}
        row = {"key": f"people-{number:08d}", "kind": "not sure", **pair}
        asks += [kinds[name] for name in (*OWN_PAGES, *SHARED_PAGES, "next 20 questions")]
        asks.append(Ask("/api/v1/decisions", {"decisions": [row]}))
    random.Random(2).shuffle(asks)
    load, replies = _measure_load(server, asks, PAUSE_SECONDS)
    is_decision = [ask.path.endswith("/decisions") for ask in asks]
    answers = [reply for reply, wanted in zip(replies, is_decision, strict=True) if wanted]
    return load | {"answers": summarise_replies(answers)}


def _measure_load(server: Server, asks: list[Ask], pause: float) -> tuple[Row, list[Reply]]:
    cpu, began = server.read_cpu(), time.perf_counter()
    replies = _check(run_clients(PORT, TOKEN, asks, READERS, pause))
    seconds, cpu = time.perf_counter() - began, server.read_cpu() - cpu
    figures = {
        "requests": len(asks),
        "requests_per_second": round(len(asks) / seconds, 1),
        "cpu_ms": round(1000 * cpu / len(asks), 1),
    }
    return figures | summarise_replies(replies), replies


def _ask(path: str, **parameters: object) -> Ask:
    query = f"?{urlencode(parameters)}" if parameters else ""
    return Ask(f"/api/v1/{path}{query}")


def _check(replies: list[Reply]) -> list[Reply]:
    bad = [reply for reply in replies if reply.status != 200]
    assert not bad, bad[0].body
    return replies


def _read_load() -> float:
    return round(os.getloadavg()[0], 1)


def measure_decisions(state: Path, count: int) -> Row:
    """Let clients decide during an update, and kill the server when half is done."""
    server = Server(state)
    server.wait(FIRST_ASKS["session"])
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
    memory = server.read_memory()
    server.end()
    keys = (row.key for row in Aligner.open(state).decisions())
    recorded = [key for key in keys if key.startswith("load-")]
    return {
        **summarise(list(acknowledged.values())),
        "count": count,
        "per_second": round(count / seconds, 1),
        "lost": len(set(acknowledged) - set(recorded)),
        "twice": len(recorded) - len(set(recorded)),
        **memory,
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


def summarise_replies(replies: list[Reply]) -> dict[str, float]:
    """Percentiles of the time that clients waited."""
    return summarise([reply.seconds for reply in replies])


def summarise(seconds: list[float]) -> dict[str, float]:
    """Percentiles in milliseconds."""
    points = np.percentile(np.array(seconds) * 1000, [50, 95, 100])
    median, p95, most = (round(float(point), 1) for point in points)
    return {"median_ms": median, "p95_ms": p95, "max_ms": most}


if __name__ == "__main__":
    main()
