"""The JSON API on a real server: what it reads, and how it says no."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import httpx
import pytest
from tests.service.servers import LABELS, LEFT, RIGHT, SIZE, Service, run_service

from everalign import Aligner

CITY, TOWN = f"{LEFT}city1", f"{RIGHT}town1"


def get(client: httpx.Client, path: str, **parameters: object) -> dict:  # type: ignore[type-arg]
    answer = client.get(f"/api/v1/{path}", params=parameters)  # type: ignore[arg-type]
    assert answer.status_code == 200, answer.text
    body: dict = answer.json()  # type: ignore[type-arg]
    return body


def test_links_come_in_pages(client: httpx.Client, served_state: Path) -> None:
    expected = [(link.left, link.right) for link in Aligner.open(served_state).links()]
    found: list[tuple[str, str]] = []
    after, pages = None, 0
    while True:
        parameters = {"limit": 10} | ({"after": after} if after else {})
        page = get(client, "links", **parameters)
        assert page["count"] == len(expected)
        found += [(row["left"]["name"], row["right"]["name"]) for row in page["links"]]
        after, pages = page["next"], pages + 1
        if after is None:
            break
    assert found == expected
    assert pages == -(-len(expected) // 10)


def test_links_are_filtered(client: httpx.Client) -> None:
    given = get(client, "links", state="given", limit=200)
    assert {row["state"] for row in given["links"]} == {"given"}
    high = get(client, "links", min_confidence=0.9, max_confidence=0.99999, limit=200)["links"]
    assert all(0.9 <= row["confidence"] <= 0.99999 for row in high)
    new = get(client, "links", since=1, limit=200)["links"]
    assert all(row["since"] >= 1 for row in new)
    first = get(client, "links", until=0, limit=200)["links"]
    assert all(row["since"] == 0 for row in first)
    cities = get(client, "links", **{"class": f"{LEFT}City", "limit": 200})["links"]
    assert cities
    assert all("/city" in row["left"]["name"] for row in cities)
    with_relation = get(client, "links", relation=f"{LEFT}twin", limit=200)["links"]
    assert {row["left"]["name"] for row in cities} >= {
        row["left"]["name"] for row in with_relation if "/city4" not in row["left"]["name"]
    }
    assert get(client, "links", relation="http://no.example/")["links"] == []
    text = get(client, "links", text="杭州")["links"]
    assert [row["left"]["name"] for row in text] == [CITY]


def test_labels_keep_their_script_and_direction(client: httpx.Client) -> None:
    for number, (label, language) in LABELS.items():
        entity = get(client, "entity", name=f"{LEFT}city{number}")["entity"]
        assert entity["label"] == label
        assert entity["lang"] == (language or None)
        assert entity["dir"] == ("rtl" if language == "ar" else "ltr")
        assert entity["url"] == f"{LEFT}city{number}"
    answer = client.get("/api/v1/search", params={"text": "<script>"})
    assert answer.headers["content-type"] == "application/json"


def test_a_link_in_detail(client: httpx.Client) -> None:
    answer = get(client, "link", left=CITY, right=TOWN)
    assert answer["link"]["state"] == "found"
    candidate = answer["candidate"]
    parts = [part["value"] for part in candidate["contributions"]]
    assert sum(parts) == pytest.approx(candidate["confidence"], abs=1e-6)
    assert answer["link"]["confidence"] == candidate["confidence"]
    assert [part["group"] for part in candidate["contributions"]] == [
        "prior",
        "neighbours",
        "names and values",
        "rivals",
        "may have no counterpart",
        "earlier confidence",
    ]
    assert candidate["evidence"]
    table = answer["comparison"]
    assert [column["name"] for column in table["columns"]] == [CITY, TOWN]
    labels = [row for row in table["rows"] if row["relations"][0]["label"] == "label"]
    assert labels[0]["agreement"] == [None, "same"]
    assert [cell[0]["text"] for cell in labels[0]["cells"]] == ["杭州市", "杭州市"]
    neighbours = answer["neighbours"]
    for left, right, confidence in neighbours["pairs"]:
        linked = neighbours["left"][left]["counterparts"]
        name = neighbours["right"][right]["entity"]["name"]
        assert name in [entity["name"] for entity in linked]
        assert confidence > 0
    assert answer["history"][0]["kind"] == "added"


def test_a_pair_that_is_no_link(client: httpx.Client) -> None:
    answer = get(client, "link", left=CITY, right=f"{RIGHT}town30")
    assert answer["link"]["state"] in ("none", "candidate")
    assert answer["link"]["since"] is None
    assert answer["comparison"]["rows"]


def test_what_is_not_there(client: httpx.Client) -> None:
    for path, parameters in [
        ("entity", {"name": "http://no.example/"}),
        ("entity", {"name": CITY, "side": "right"}),
        ("link", {"left": CITY, "right": "\0"}),
        ("relation", {"left": "a", "right": "b"}),
        ("corrections", {"version": 99}),
        ("question", {"name": "nobody"}),
        ("nothing", {}),
    ]:
        answer = client.get(f"/api/v1/{path}", params=parameters)  # type: ignore[arg-type]
        assert answer.status_code == 404, (path, answer.text)
        assert answer.json()["error"]["code"] == "not_found"


@pytest.mark.parametrize(
    ("path", "parameters"),
    [
        ("links", {"limit": 0}),
        ("links", {"limit": 201}),
        ("links", {"state": "other"}),
        ("links", {"min_confidence": "nan"}),
        ("links", {"text": "x" * 501}),
        ("entity", {}),
        ("entity", {"name": "x" * 9000}),
        ("unmatched", {"side": "middle"}),
    ],
)
def test_parameters_are_checked(
    client: httpx.Client, path: str, parameters: dict[str, str]
) -> None:
    answer = client.get(f"/api/v1/{path}", params=parameters)
    assert answer.status_code == 422, answer.text
    assert answer.json()["error"]["details"]


@pytest.mark.parametrize("after", ["x", "given 1.0 1", "given nan 1 1", "found 1 99999999999 1"])
def test_cursors_are_checked(client: httpx.Client, after: str) -> None:
    answer = client.get("/api/v1/links", params={"after": after})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_overview(client: httpx.Client, served_state: Path) -> None:
    answer = get(client, "overview")
    aligner = Aligner.open(served_state)
    status = aligner.status()
    assert answer["counts"]["found"] == status.found_links
    assert [row["version"] for row in answer["versions"]] == [0, 1]
    assert answer["versions"][-1]["found"] == status.found_links
    assert sum(row["found"] for row in answer["histogram"]) == status.found_links
    assert len(answer["thresholds"]) == 101
    at_zero = answer["thresholds"][0]
    assert at_zero["links"] == answer["counts"]["found"] + answer["counts"]["proposed"]
    assert at_zero["recall"] == 1.0
    left = answer["dangling"]["left"]
    assert left["linked"] + left["unlinked"] == left["entities"] == status.left_entities


def test_unmatched(client: httpx.Client, served_state: Path) -> None:
    answer = get(client, "unmatched", side="left", limit=200)
    linked = {link.left for link in Aligner.open(served_state).links()}
    names = [entity["name"] for entity in answer["entities"]]
    assert not linked & set(names)
    assert len(names) == answer["count"]


def test_corrections_and_versions(client: httpx.Client, served_state: Path) -> None:
    reports = get(client, "versions")["versions"]
    for report in reports:
        answer = get(client, "corrections", version=report["version"], limit=200)
        assert answer["counts"]["revised"] == report["links_revised"]
        assert answer["counts"]["retracted"] == report["links_retracted"]
        assert all(event["reason"] for event in answer["events"])


def test_relations_with_examples(client: httpx.Client) -> None:
    relations = get(client, "relations")["relations"]
    names = {(row["left"]["label"], row["right"]["label"]) for row in relations}
    assert ("in", "located") in names
    for row in relations[:5]:
        answer = get(
            client,
            "relation",
            left=row["left"]["name"],
            right=row["right"]["name"],
            inverse=row["inverse"],
        )
        assert answer["relation"] == row
    row = next(row for row in relations if row["left"]["label"] == "in" and not row["inverse"])
    answer = get(client, "relation", left=row["left"]["name"], right=row["right"]["name"])
    assert any(example["same"] for example in answer["examples"])


def test_classes(client: httpx.Client) -> None:
    classes = get(client, "classes")["classes"]
    assert classes["left"][0] == {
        "name": f"{LEFT}City",
        "label": "City",
        "entities": SIZE,
        "linked": classes["left"][0]["linked"],
    }


def test_search(client: httpx.Client) -> None:
    results = get(client, "search", text="杭州")["results"]
    assert {(row["entity"]["side"], row["entity"]["name"]) for row in results} == {
        ("left", CITY),
        ("right", TOWN),
    }
    assert results[0]["link"]["right"]["name"] == TOWN


def test_answers_are_cached_by_version(own_state: Path) -> None:
    with run_service(own_state) as service, service.client() as client:
        first = client.get("/api/v1/links")
        tag = first.headers["etag"]
        again = client.get("/api/v1/links", headers={"If-None-Match": f'"x", {tag}'})
        assert (again.status_code, again.content) == (304, b"")
        assert again.headers["etag"] == tag
        # A decision of another process changes what is shown.
        Aligner.open(own_state).reject([(CITY, TOWN)])
        changed = client.get("/api/v1/links", headers={"If-None-Match": tag})
        assert changed.status_code == 200
        assert changed.headers["etag"] != tag


def test_an_entity_that_was_just_removed(own_state: Path) -> None:
    from everalign.changeset import ChangeSet

    with run_service(own_state) as service, service.client() as client:
        assert client.get("/api/v1/entity", params={"name": CITY}).status_code == 200
        Aligner.open(own_state).update(change=ChangeSet(removed_left_entities=[CITY]))
        answer = client.get("/api/v1/entity", params={"name": CITY})
        assert answer.status_code == 404
        assert "removed" in answer.json()["error"]["message"]
        answer = client.get("/api/v1/link", params={"left": CITY, "right": TOWN})
        assert answer.status_code == 404
        # Who has looked at it before decides all the same, and is told once the server has seen
        # the version.
        for attempt in range(100):
            row = {"key": f"removed-{attempt}", "kind": "same", "left": CITY, "right": TOWN}
            body = {"decisions": [{**row, "seen_version": 1}]}
            decided = client.post("/api/v1/decisions", json=body).json()
            assert decided["results"][0]["status"] == "recorded"
            if decided["version"] == 2:
                break
            time.sleep(0.1)
        assert "removed from its graph" in decided["results"][0]["notice"]


def test_a_state_that_changes_underneath(own_state: Path) -> None:
    with run_service(own_state) as service, service.client() as client:
        assert get(client, "session")["version"] == 1
        Aligner.open(own_state).revert(0)
        assert get(client, "session")["version"] == 2
        shutil.rmtree(own_state)
        answers = {client.get("/api/v1/links").status_code for _ in range(3)}
        # What is open can still be read; what is not is said to be gone. Never a 500.
        assert answers <= {200, 503}
        body = {"decisions": [{"key": "gone-0001", "kind": "same", "left": CITY, "right": TOWN}]}
        answer = client.post("/api/v1/decisions", json=body)
        assert (answer.status_code, answer.json()["error"]["code"]) == (503, "state")


def test_the_page_is_served(service: Service) -> None:
    with service.browser() as browser:
        del browser.headers["Sec-Fetch-Site"]
        for path in ("/", "/links?state=found"):
            answer = browser.get(path)
            assert answer.status_code == 200
            assert "/static/app.js" in answer.text
        for name, kind in (("app.js", "text/javascript"), ("app.css", "text/css")):
            answer = browser.get(f"/static/{name}")
            assert answer.status_code == 200
            assert answer.headers["content-type"].startswith(kind)
    answer = httpx.get(service.url + "/")
    assert answer.status_code == 401
    assert "/signin/signin.js" in answer.text
    for name in ("signin.js", "signin.css", "index.html"):
        assert httpx.get(f"{service.url}/signin/{name}").status_code == 200


def test_first_answers_come_soon(own_state: Path) -> None:
    began = time.monotonic()
    with run_service(own_state) as service, service.client() as client:
        get(client, "questions")
        # Generous: this is no benchmark, but nothing may wait for a timeout.
        assert time.monotonic() - began < 60
