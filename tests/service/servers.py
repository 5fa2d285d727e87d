"""Real servers, and the alignments that they serve."""

from __future__ import annotations

import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from threading import Thread

import httpx

from everalign import Aligner
from everalign.cli.service import build_settings, serve
from everalign.service.server import RunningServer, run_server

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
        url: Its address.
        invitation: The address that signs in once.
        reconciliation: The address of the reconciliation service of the right graph.
    """

    url: str
    invitation: str
    reconciliation: str

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


@dataclass
class ServiceProcess(Service):
    """A server in a process of its own.

    Args:
        process: The process.
    """

    process: subprocess.Popen[str]

    def kill(self) -> None:
        """End the process as a power cut does."""
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()


def _list_arguments(state: Path, options: tuple[str, ...]) -> list[str]:
    arguments = [str(state), "--no-open", "--token", TOKEN]
    arguments += ["--rate-limit", "0"] if "--rate-limit" not in options else []
    arguments += ["--port", "0"] if "--port" not in options else []
    return [*arguments, *options]


@contextmanager
def run_service(state: Path, *options: str) -> Iterator[Service]:
    """Serve an alignment from a thread, on a free port of this machine.

    It starts sooner than a process, and what it runs is measured.
    """
    parameters = serve.make_context("serve", _list_arguments(state, options)).params
    parameters.pop("open_browser")
    begun: Queue[RunningServer] = Queue()
    thread = Thread(target=run_server, args=(build_settings(**parameters), begun.put))
    thread.start()
    server = begun.get(timeout=60)
    try:
        yield Service(server.url, server.invitations[0].url, server.reconciliation)
    finally:
        server.stop()
        thread.join(60)
        assert not thread.is_alive()


@contextmanager
def run_process(state: Path, *options: str) -> Iterator[ServiceProcess]:
    """Serve an alignment as a command, on a free port of this machine."""
    command = [sys.executable, "-m", "everalign", "serve", *_list_arguments(state, options)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    assert process.stdout is not None
    output = ""
    try:
        while "Reconciliation" not in output:
            line = process.stdout.readline()
            assert line, f"the server ended: {output}"
            output += line
        yield ServiceProcess(*_find_addresses(output), process)
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
