"""Real servers in processes of their own, and the alignments that they serve."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from everalign import Aligner

TOKEN = "a-token-for-tests-0123456789"
BEARER = {"Authorization": f"Bearer {TOKEN}"}
LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
LEFT, RIGHT = "http://left.example/", "http://right.example/"
# What a page must show as it is: markup, other scripts, both directions, characters beyond 16 bit.
LABELS = {
    0: ("<script>alert(1)</script>", "en"),
    1: ("杭州市", "zh"),
    2: ("القاهرة", "ar"),
    3: ("🏙️ & <b>city</b>", ""),
}
SIZE = 40
SEED_COUNT = 12


@dataclass
class Service:
    """A server that runs.

    Args:
        process: Its process.
        url: Its address.
        invitation: The address that signs in once.
        reconciliation: The address of the reconciliation service of the right graph.
        output: What it printed so far.
    """

    process: subprocess.Popen[str]
    url: str
    invitation: str
    reconciliation: str
    output: str

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def client(self, **options: object) -> httpx.Client:
        """A client with the token of the tests."""
        merged: dict[str, object] = {"headers": BEARER, "timeout": 60, **options}
        return httpx.Client(base_url=self.url, **merged)  # type: ignore[arg-type]

    def browser(self) -> httpx.Client:
        """A client that has signed in as a browser does, and sends what a browser sends."""
        headers = {"Origin": self.url, "Sec-Fetch-Site": "same-origin"}
        answer = httpx.post(f"{self.url}/api/v1/login", json={"token": TOKEN}, headers=headers)
        assert answer.status_code == 204, answer.text
        return httpx.Client(base_url=self.url, headers=headers, cookies=answer.cookies, timeout=60)

    def kill(self) -> None:
        """End the process as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


@contextmanager
def run_service(state: Path, *options: str, token: str | None = TOKEN) -> Iterator[Service]:
    """Serve an alignment in a process of its own, on a free port of this machine."""
    command = [sys.executable, "-m", "everalign", "serve", str(state), "--no-open"]
    command += ["--rate-limit", "0"] if "--rate-limit" not in options else []
    command += ["--port", "0"] if "--port" not in options else []
    command += ["--token", token] if token else []
    process = subprocess.Popen(
        [*command, *options], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    output = ""
    try:
        while "Reconciliation" not in output:
            line = process.stdout.readline()
            assert line, f"the server ended: {output}"
            output += line
        yield Service(process, *_find_addresses(output), output)
    finally:
        if process.poll() is None:
            process.terminate()
            process.wait(30)
        process.stdout.close()


def _find_addresses(output: str) -> tuple[str, str, str]:
    patterns = (r"at (http://\S+)", r"(http://\S+token=\S+)", r"OpenRefine\): (\S+)")
    found = [re.search(pattern, output) for pattern in patterns]
    assert all(found), output
    return tuple(match.group(1) for match in found if match)  # type: ignore[return-value]


def build_alignment(state: Path) -> Aligner:
    """Align two small graphs of cities and countries, and update them once."""
    seeds = [(f"{LEFT}city{n}", f"{RIGHT}town{n}") for n in range(10, 10 + SEED_COUNT)]
    left, right = _build_graph(LEFT, "city", 0), _build_graph(RIGHT, "town", 1)
    aligner = Aligner.create(state, left, right, seeds)
    aligner.update(
        left=[(f"{LEFT}city1", f"{LEFT}twin", f"{LEFT}city{SIZE}")],
        right=[(f"{RIGHT}town1", f"{RIGHT}twinned", f"{RIGHT}town{SIZE}")],
    )
    return aligner


def _build_graph(base: str, kind: str, side: int) -> list[tuple[str, str, str]]:
    inside, twin = (("in", "twin"), ("located", "twinned"))[side]
    triples = []
    for number in range(SIZE):
        city = f"{base}{kind}{number}"
        text, language = LABELS.get(number, (f"Place {number * 37 % 101} {kind[0]}", "en"))
        escaped = text.replace('"', '\\"')
        literal = f'"{escaped}"' + (f"@{language}" if language else "")
        triples += [
            (city, LABEL, literal),
            (city, f"{base}population", f'"{1000 + number * 7}"'),
            (city, f"{base}{inside}", f"{base}country{number % 8}"),
            (city, f"{base}{twin}", f"{base}{kind}{(number * 5 + 1) % SIZE}"),
            (city, TYPE, f"{base}City"),
        ]
    return triples
