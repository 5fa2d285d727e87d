"""Answers that are kept are those that a server would compute that has kept nothing."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import httpx
from tests.service.servers import LEFT, RIGHT, Service, run_service

from everalign import Aligner
from everalign.service.alignment import ServedAlignment
from everalign.service.naming import Namer
from everalign.service.settings import ServiceSettings

CITY, TOWN = f"{LEFT}city1", f"{RIGHT}town1"
PATHS: tuple[tuple[str, dict[str, str]], ...] = (
    ("overview", {}),
    ("versions", {}),
    ("corrections", {}),
    ("activity", {}),
    ("links", {}),
    ("links", {"state": "found", "limit": "5"}),
    ("links", {"state": "proposed"}),
    ("links", {"state": "rejected"}),
    ("links", {"max_confidence": "0.9", "min_confidence": "0.1"}),
    ("links", {"text": "Place"}),
    ("link", {"left": CITY, "right": TOWN}),
    ("link", {"left": f"{LEFT}city5", "right": f"{RIGHT}town6"}),
    ("entity", {"name": CITY}),
    ("entity", {"name": TOWN}),
    ("entity", {"name": f"{LEFT}country2"}),
    ("unmatched", {"side": "right"}),
    ("search", {"text": "杭州"}),
    ("search", {"text": "Place"}),
    ("relations", {}),
    ("classes", {}),
    ("questions", {"limit": "20"}),
    ("questions", {"author": "Ada"}),
    ("question", {"name": CITY}),
)


def read_all(client: httpx.Client) -> list[Any]:
    found = []
    for path, parameters in PATHS:
        answer = client.get(f"/api/v1/{path}", params=parameters)
        assert answer.status_code == 200, answer.text
        found.append(answer.json())
    return found


def check_answers(service: Service, state: Path) -> list[Any]:
    """Compare a server that has kept answers with one that has just begun."""
    with service.client() as client:
        kept = [read_all(client) for _ in range(2)]
    with run_service(state) as fresh, fresh.client() as client:
        computed = read_all(client)
    for (path, parameters), *answers in zip(PATHS, *kept, computed, strict=True):
        assert answers[0] == answers[1] == answers[2], (path, parameters)
    return computed


def test_answers_after_decisions_and_updates(own_state: Path) -> None:
    aligner = Aligner.open(own_state)
    with run_service(own_state) as service:
        seen = [check_answers(service, own_state)]
        aligner.reject([(CITY, TOWN)], author="Ada", keys=["reject-1"])
        aligner.confirm([(f"{LEFT}city3", f"{RIGHT}town4")], author="Bob", keys=["confirm-1"])
        seen.append(check_answers(service, own_state))
        aligner.undo("reject-1")
        seen.append(check_answers(service, own_state))
        label = "http://www.w3.org/2000/01/rdf-schema#label"
        aligner.update(left=[(f"{LEFT}city5", label, '"A new name"@en')])
        seen.append(check_answers(service, own_state))
        aligner.revert(1)
        seen.append(check_answers(service, own_state))
    # Nothing was compared with itself.
    assert all(before != after for before, after in pairwise(seen))


def test_authors_have_answers_of_their_own(service: Service, client: httpx.Client) -> None:
    """The questions of a reviewer are not those of another one, whoever asked first."""
    headers = {"Authorization": "Bearer reviewer-token-0123456789"}
    row = {"key": "own-00001", "kind": "not sure", "left": CITY, "right": TOWN}
    with service.client(headers=headers) as reviewer:
        answer = reviewer.post("/api/v1/decisions", json={"decisions": [row]})
        assert answer.status_code == 200, answer.text
        for _ in range(2):
            assert client.get("/api/v1/questions").json()["answered"] == 0
            assert reviewer.get("/api/v1/questions").json()["answered"] == 1


def test_names_instead_of_labels_are_not_kept(own_state: Path) -> None:
    """Until labels are indexed, decisions are answered with names; later answers have labels."""
    alignment = ServedAlignment(ServiceSettings(state=own_state))
    with alignment.reading() as reader:
        for with_labels, label in ((False, "city1"), (True, "杭州市"), (False, "city1")):
            namer = Namer(alignment, reader, with_labels=with_labels)
            assert namer.get_entity("left", CITY).label == label
    assert not alignment.is_loaded
    alignment.warm_up()
    assert alignment.is_loaded
    alignment.close()
