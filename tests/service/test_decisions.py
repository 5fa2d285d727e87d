"""Decisions over HTTP: recorded once, durable, and never lost."""

from __future__ import annotations

import json
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest
from tests.service.servers import BEARER, LEFT, RIGHT, SIZE, Service, run_process, run_service

from everalign import Aligner, StateLockedError


def decide(client: httpx.Client, *rows: dict[str, object], **more: object) -> list[dict]:  # type: ignore[type-arg]
    answer = client.post("/api/v1/decisions", json={"decisions": rows, **more})
    assert answer.status_code == 200, answer.text
    results: list[dict] = answer.json()["results"]  # type: ignore[type-arg]
    return results


def name_pair(left: int, right: int | None = None) -> dict[str, str]:
    return {"left": f"{LEFT}city{left}", "right": f"{RIGHT}town{left if right is None else right}"}


def name_entity(number: int) -> dict[str, object]:
    return {"side": "left", "name": f"{LEFT}city{number}"}


@pytest.fixture
def own_service(own_state: Path):  # type: ignore[no-untyped-def]
    with run_service(own_state) as running:
        yield running


def test_every_kind_is_recorded(own_service: Service, own_state: Path) -> None:
    others = [f"{RIGHT}town{n}" for n in (5, 6)]
    with own_service.client() as client:
        results = decide(
            client,
            {"key": "kind-0001", "kind": "same", **name_pair(1), "seen_version": 1},
            {"key": "kind-0002", "kind": "different", **name_pair(2), "comment": "no <b>"},
            {
                "key": "kind-0003",
                "kind": "none of these",
                "entity": name_entity(3),
                "candidates": others,
            },
            {"key": "kind-0004", "kind": "no counterpart", "entity": name_entity(4)},
            {"key": "kind-0005", "kind": "not sure", **name_pair(7), "seen_version": 0},
            author="Ada",
        )
        assert [row["status"] for row in results] == ["recorded"] * 5
        kinds = [[decision["kind"] for decision in row["decisions"]] for row in results]
        assert kinds == [
            ["confirmed"],
            ["rejected"],
            ["rejected", "rejected"],
            ["no counterpart"],
            ["unsure"],
        ]
        assert results[0]["notice"] is None
        assert "version 1" in results[4]["notice"]
        activity = client.get("/api/v1/activity").json()
        assert activity["recorded"][0]["kind"] == "unsure"
        assert activity["reviewers"][0]["author"] == "Ada"
        assert activity["reviewers"][0]["different"] == 3
        shown = client.get("/api/v1/link", params=name_pair(1)).json()
        assert (shown["link"]["state"], shown["link"]["waiting"]) == ("given", True)
    recorded = Aligner.open(own_state).decisions()
    assert [(row.author, row.comment, row.seen_version) for row in recorded][:2] == [
        ("Ada", "", 1),
        ("Ada", "no <b>", 1),
    ]


def test_a_repeated_request_changes_nothing(own_service: Service, own_state: Path) -> None:
    row: dict[str, object] = {"key": "repeat-01", "kind": "same", **name_pair(1)}
    with own_service.client() as client:
        assert decide(client, row)[0]["status"] == "recorded"
        again = decide(client, row, row)
        assert [result["status"] for result in again] == ["repeated"] * 2
        other = decide(client, {**row, "kind": "different"})[0]
        assert (other["status"], other["error"]["code"]) == ("refused", "conflict")
        other = decide(client, {**row, **name_pair(2)})[0]
        assert other["status"] == "refused"
    assert len(Aligner.open(own_state).decisions()) == 1


def test_what_cannot_be_decided_is_refused_alone(own_service: Service) -> None:
    with own_service.client() as client:
        results = decide(
            client,
            {"key": "refuse-01", "kind": "same", "left": "nobody", "right": f"{RIGHT}town1"},
            {"key": "refuse-02", "kind": "same", "left": f"{LEFT}city1"},
            {"key": "refuse-03", "kind": "none of these", "entity": name_entity(1)},
            {"key": "refuse-04", "kind": "no counterpart", **name_pair(1)},
            {"key": "refuse-05", "kind": "same", **name_pair(1), "seen_version": 77},
            {"key": "refuse-06", "kind": "same", **name_pair(1)},
        )
    assert [row["status"] for row in results] == [*["refused"] * 5, "recorded"]
    assert all(row["error"]["message"] for row in results[:5])


def test_undo(own_service: Service, own_state: Path) -> None:
    with own_service.client() as client:
        decide(client, {"key": "undo-0001", "kind": "different", **name_pair(1)})
        assert client.get("/api/v1/link", params=name_pair(1)).json()["link"]["state"] != "found"
        body = {"withdrawals": [{"key": "undo-0002", "withdraws": "undo-0001"}]}
        result = client.post("/api/v1/withdrawals", json=body).json()["results"][0]
        assert result["status"] == "recorded"
        assert client.post("/api/v1/withdrawals", json=body).json()["results"][0]["status"] in (
            "repeated",
            "recorded",
        )
        assert client.get("/api/v1/link", params=name_pair(1)).json()["link"]["state"] == "found"
        body = {"withdrawals": [{"key": "undo-0003", "withdraws": "unknown-key"}]}
        result = client.post("/api/v1/withdrawals", json=body).json()["results"][0]
        assert result["status"] == "refused"


def test_nobody_is_asked_again(own_service: Service) -> None:
    with own_service.client() as client:
        first = client.get("/api/v1/questions", params={"limit": 100}).json()
        question = first["questions"][0]
        assert [row["entity"]["name"] for row in question["candidates"]] == [
            column["name"] for column in question["comparison"]["columns"][1:]
        ]
        entity = question["entity"]
        about = {"side": entity["side"], "name": entity["name"]}
        row: dict[str, object] = {"key": "asked-001", "kind": "no counterpart", "entity": about}
        decide(client, row)
        after = client.get("/api/v1/questions", params={"limit": 100}).json()
        assert question["id"] not in [row["id"] for row in after["questions"]]
        rest = after["questions"][0]["id"] if after["questions"] else None
        body = {"limit": 100, "exclude": [rest] if rest else []}
        others = client.post("/api/v1/questions", json=body).json()
        assert rest not in [row["id"] for row in others["questions"]]


def test_events_tell_about_decisions_and_versions(own_service: Service, own_state: Path) -> None:
    with (
        own_service.client() as client,
        client.stream("GET", "/api/v1/events") as stream,
    ):
        assert stream.headers["content-type"].startswith("text/event-stream")
        lines = stream.iter_lines()

        def wait_for(name: str) -> dict:  # type: ignore[type-arg]
            for line in lines:
                if line == f"event: {name}":
                    assert next(lines).startswith("id: ")
                    data: dict = json.loads(next(lines).removeprefix("data: "))  # type: ignore[type-arg]
                    return data
            raise AssertionError(f"the stream ended before {name}")

        assert wait_for("hello")["version"] == 1
        # Another process decides.
        Aligner.open(own_state).confirm([(f"{LEFT}city1", f"{RIGHT}town1")], author="Bob")
        event = wait_for("decision")["decisions"][0]
        assert (event["kind"], event["author"]) == ("confirmed", "Bob")
        with own_service.client() as other:
            answer = other.post("/api/v1/updates", json={})
            assert answer.status_code == 202, answer.text
            assert answer.json()["update"]["state"] == "running"
            again = other.post("/api/v1/updates", json={})
            assert again.status_code == 409
        assert wait_for("update")["state"] in ("running", "done")
        assert wait_for("version")["version"] == 2
        with own_service.client() as other:
            deadline = time.monotonic() + 60
            while (update := other.get("/api/v1/updates").json()["update"])["state"] == "running":
                assert time.monotonic() < deadline
                time.sleep(0.1)
            assert (update["state"], update["version"]) == ("done", 2)


def test_updates_read_only_files_of_the_data_directory(own_state: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (tmp_path / "secret.nt").write_text("")
    (data / "out.nt").symlink_to(tmp_path / "secret.nt")
    triple = f"<{LEFT}city1> <{LEFT}twin> <{LEFT}city9> .\n"
    (data / "new.nt").write_text(triple)
    with run_service(own_state, "--data", str(data)) as service, service.client() as client:
        for name in ("../secret.nt", "/etc/passwd", "out.nt", "missing.nt", "\0", "http://x/"):
            answer = client.post("/api/v1/updates", json={"left": name})
            assert answer.status_code == 400, (name, answer.text)
        assert client.post("/api/v1/updates", json={"left": "new.nt"}).status_code == 202
        deadline = time.monotonic() + 100
        while client.get("/api/v1/session").json()["version"] == 1:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        report = client.get("/api/v1/versions").json()["versions"][-1]
        assert report["source"] == "new.nt"
    with run_service(own_state) as service, service.client() as client:
        answer = client.post("/api/v1/updates", json={"left": "new.nt"})
        assert "--data" in answer.json()["error"]["message"]


def wait_for_updates(state: Path) -> None:
    """Wait until no process updates the alignment: an update outlives the server."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        try:
            Aligner.open(state).apply_decisions()
        except StateLockedError:
            time.sleep(0.1)
        else:
            return
    raise AssertionError("the update did not end")


@pytest.mark.slow
def test_acknowledged_decisions_survive_a_kill(own_state: Path) -> None:
    """Four clients decide during an update; the server is killed and started again."""
    clients, each, acknowledged = 4, 60, set[str]()
    with run_process(own_state) as first:
        port = str(first.port)
        with first.client() as client:
            client.post("/api/v1/updates", json={"full": True})

        def work(number: int) -> None:
            with httpx.Client(base_url=first.url, headers=BEARER, timeout=10) as client:
                for count in range(each):
                    key = f"client-{number}-{count:05d}"
                    entity = (number * each + count) % SIZE
                    pair = name_pair(entity, count % SIZE)
                    row: dict[str, object] = {"key": key, "kind": "not sure", **pair}
                    send(client, row, key)

        def send(client: httpx.Client, row: dict[str, object], key: str) -> None:
            deadline = time.monotonic() + 120
            while time.monotonic() < deadline:
                try:
                    result = decide(client, row)[0]
                except (httpx.TransportError, AssertionError):
                    time.sleep(0.05)
                    continue
                assert result["status"] in ("recorded", "repeated"), result
                acknowledged.add(key)
                return
            raise AssertionError("the server did not come back")

        with ThreadPoolExecutor(clients) as pool:
            tasks = [pool.submit(work, number) for number in range(clients)]
            while len(acknowledged) < clients * each // 3:
                time.sleep(0.01)
            first.kill()
            with run_process(own_state, "--port", port):
                for task in tasks:
                    task.result()
    recorded = [row.key for row in Aligner.open(own_state).decisions()]
    assert len(recorded) == len(set(recorded)) == clients * each
    assert set(recorded) == acknowledged
    wait_for_updates(own_state)
    assert Aligner.open(own_state).verify().findings == ()
