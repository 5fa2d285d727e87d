"""The tutorial on SPARQL endpoints does what it says, against two endpoints on this machine."""

from __future__ import annotations

import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from pyoxigraph import RdfFormat, Store
from tests.docs.pages import DOCS, all_blocks, check_output
from tests.servers import LocalServer, run_server

pytestmark = pytest.mark.slow

FIRST = ("Ada", "Boris", "Clara", "David", "Emma", "Franz", "Greta", "Hugo")
LAST = ("Almond", "Bergström", "Castillo", "Dvořák", "Eriksen", "Fontaine", "Grünwald", "Hašek")
PLACES = ("Lisbon", "Kraków", "Gothenburg", "Ljubljana", "Antwerp")
COUNT = len(FIRST) * len(LAST)


def make_store(text: str) -> Store:
    store = Store()
    store.load(text.encode(), RdfFormat.TURTLE)
    return store


def make_library() -> Store:
    lines = ["@prefix l: <http://library.example.org/ns#> ."]
    for number in range(COUNT):
        writer = f"<http://library.example.org/writer/{number}>"
        name = f"{FIRST[number % 8]} {LAST[number // 8]}"
        place = f"<http://library.example.org/place/{number % 5}>"
        lines.append(f'{writer} a l:Writer ; l:name "{name}" ; l:birthplace {place} .')
        lines.append(f"{writer} l:born {1800 + number} .")
    lines += [
        f'<http://library.example.org/place/{number}> l:name "{place}" .'
        for number, place in enumerate(PLACES)
    ]
    return make_store("\n".join(lines))


def make_people() -> Store:
    lines = ["@prefix s: <http://schema.org/> ."]
    for number in range(COUNT):
        person = f"<http://people.example.org/p{1000 + number}>"
        name = f"{FIRST[number % 8]} {LAST[number // 8]}"
        lines.append(f'{person} a s:Person ; s:name "{name}"@en ; s:birthDate {1800 + number} .')
    return make_store("\n".join(lines))


def test_the_tutorial_runs(tmp_path: Path) -> None:
    found = all_blocks(DOCS / "tutorial-sparql.md")
    commands = [
        line for block in found if block.language == "sh" for line in block.code.splitlines()
    ]
    query, explanation = [block.code for block in found if block.language == "text"]
    (tmp_path / "writers.rq").write_text(query, encoding="utf-8")
    assert len(commands) == 5
    with run_server() as server:
        server.stores = {"/library": make_library(), "/people": make_people()}
        init, links, explain, again, update = commands
        run(init, tmp_path, server)
        pairs = [line.split("\t")[:2] for line in run(links, tmp_path, server).splitlines()]
        right = [pair for pair in pairs if is_right(*pair)]
        assert len(right) > 0.9 * COUNT
        check_output(explanation, run(explain, tmp_path, server))
        asked = len(server.requests)
        run(again, tmp_path, server)
        assert len(server.requests) == asked
        same = links.replace("writers.state", "again.state")
        assert run(same, tmp_path, server) == run(links, tmp_path, server)
        run(update, tmp_path, server)
        assert len(server.requests) > asked


def is_right(left: str, right: str) -> bool:
    number = left.removeprefix("http://library.example.org/writer/")
    return number.isdigit() and right == f"http://people.example.org/p{1000 + int(number)}"


def run(command: str, directory: Path, server: LocalServer) -> str:
    """What a command prints; it has to end well."""
    here = command.replace("https://library.example.org/sparql", server.url("/library"))
    here = here.replace("https://people.example.org/sparql", server.url("/people"))
    words = shlex.split(here)
    assert words[0] == "everalign"
    done = subprocess.run(
        [sys.executable, "-m", "everalign", *words[1:]],
        cwd=directory,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout
