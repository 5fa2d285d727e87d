"""The Reconciliation Service API 0.2, checked against the schemas of its specification."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import httpx
import pytest
from jsonschema import Draft7Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT7
from tests.service.servers import LEFT, RIGHT, Service

SCHEMAS = Path(__file__).parents[3] / "shared/reconciliation/0.2/schemas"
needs_schemas = pytest.mark.skipif(
    not SCHEMAS.is_dir(), reason=f"the schemas of the specification are not in {SCHEMAS}"
)
CITY, TOWN = f"{LEFT}city1", f"{RIGHT}town1"


def validate(answer: object, name: str) -> None:
    documents = {path.name: json.loads(path.read_text()) for path in SCHEMAS.glob("*.json")}
    resources = [
        (uri, Resource.from_contents(document, default_specification=DRAFT7))
        for file, document in documents.items()
        for uri in (document.get("$id", file), file)
    ]
    registry: Registry[Any] = Registry().with_resources(resources)
    errors = list(Draft7Validator(documents[name], registry=registry).iter_errors(answer))
    assert not errors, errors[0].message


def ask(service: Service, queries: object, side: str = "right") -> Any:
    url = service.reconciliation.removesuffix("right") + side
    answer = httpx.post(url, data={"queries": json.dumps(queries)}, timeout=60)
    assert answer.status_code == 200, answer.text
    return answer.json()


@needs_schemas
def test_manifest(service: Service) -> None:
    answer = httpx.get(service.reconciliation)
    validate(answer.json(), "manifest.json")
    assert answer.json()["preview"]["url"].startswith(service.reconciliation)


@needs_schemas
def test_queries_by_iri_label_type_and_property(service: Service) -> None:
    queries = {
        "iri": {"query": CITY},
        "label": {"query": "杭州市", "limit": 3},
        "own": {"query": TOWN, "type": f"{RIGHT}City", "type_strict": "any"},
        "wrong_type": {"query": "杭州市", "type": ["http://no.example/"], "type_strict": "all"},
        "property": {
            "query": "杭州市",
            "properties": [
                {"pid": f"{RIGHT}population", "v": 1007},
                {"pid": f"{RIGHT}located", "v": {"id": f"{RIGHT}country1"}},
                {"pid": "http://no.example/", "v": ["x", True]},
            ],
        },
        "nothing": {"query": "zzzzzz"},
    }
    if SCHEMAS.is_dir():
        validate(queries, "reconciliation-query-batch.json")
    answer = ask(service, queries)
    validate(answer, "reconciliation-result-batch.json")
    best = {key: rows["result"][0]["id"] for key, rows in answer.items() if rows["result"]}
    assert best == dict.fromkeys(("iri", "label", "own", "property"), TOWN)
    match = answer["iri"]["result"][0]
    assert match["match"] is True
    assert match["type"] == [{"id": f"{RIGHT}City", "name": "City"}]
    features = {row["id"]: row["value"] for row in match["features"]}
    assert features["confidence"] * 100 == pytest.approx(match["score"])
    assert features["evidence_count"] >= 1
    contributions = [value for name, value in features.items() if name.startswith("contribution")]
    assert sum(contributions) == pytest.approx(features["confidence"], abs=1e-6)
    features = {row["id"]: row["value"] for row in answer["property"]["result"][0]["features"]}
    assert features["property: population"] is True
    assert features["property: located"] is True


def test_both_graphs_can_be_asked(service: Service) -> None:
    assert ask(service, {"q": {"query": TOWN}}, "left")["q"]["result"][0]["id"] == CITY


@needs_schemas
def test_suggestions(service: Service) -> None:
    for kind, prefix, wanted, schema in [
        ("entity", "杭", TOWN, "suggest-entities-response.json"),
        ("property", "pop", f"{RIGHT}population", "suggest-properties-response.json"),
        ("type", "ci", f"{RIGHT}City", "suggest-types-response.json"),
    ]:
        url = f"{service.reconciliation}/suggest/{kind}"
        answer = httpx.get(url, params={"prefix": prefix}).json()
        validate(answer, schema)
        assert answer["result"][0]["id"] == wanted
        assert httpx.get(url, params={"prefix": prefix, "cursor": 50}).json()["result"] == []


@needs_schemas
def test_extension(service: Service) -> None:
    proposed = httpx.get(f"{service.reconciliation}/properties").json()
    validate(proposed, "data-extension-property-proposal.json")
    wanted = [row["id"] for row in proposed["properties"]]
    query = {"ids": [TOWN, "nobody"], "properties": [{"id": name} for name in wanted]}
    validate(query, "data-extension-query.json")
    answer = httpx.post(service.reconciliation, data={"extend": json.dumps(query)}).json()
    validate(answer, "data-extension-response.json")
    row = answer["rows"][TOWN]
    assert row["everalign:counterpart"] == [{"id": CITY, "name": "杭州市"}]
    assert row[f"{RIGHT}population"] == [{"int": 1007}]
    assert row[f"{RIGHT}located"][0]["id"] == f"{RIGHT}country1"
    assert answer["rows"]["nobody"]["everalign:counterpart"] == []


def test_preview_escapes_labels(service: Service) -> None:
    url = f"{service.reconciliation}/preview"
    answer = httpx.get(url, params={"id": f"{RIGHT}town0"})
    assert "&lt;script&gt;" in answer.text
    assert "<script" not in answer.text
    assert answer.headers["content-security-policy"].startswith("default-src 'none'")
    assert "frame-ancestors *" in answer.headers["content-security-policy"]
    assert httpx.get(url, params={"id": "nobody"}).status_code == 404


def test_view_leads_to_the_entity(service: Service) -> None:
    answer = httpx.get(f"{service.reconciliation}/view", params={"id": TOWN})
    assert (answer.status_code, answer.headers["location"]) == (302, TOWN)
    answer = httpx.get(f"{service.reconciliation}/view", params={"id": "http://evil.example/"})
    assert answer.status_code == 404


def test_other_pages_may_ask(service: Service) -> None:
    headers = {"Origin": "http://openrefine.example", "Sec-Fetch-Site": "cross-site"}
    answer = httpx.get(service.reconciliation, headers=headers)
    assert answer.headers["access-control-allow-origin"] == "*"
    preflight = httpx.options(service.reconciliation, headers=headers)
    assert preflight.status_code == 204
    assert "POST" in preflight.headers["access-control-allow-methods"]


def test_without_the_capability_there_is_nothing(service: Service) -> None:
    for path in ("/reconcile/", "/reconcile/guess/right", "/reconcile/guess/right/preview?id=x"):
        assert httpx.get(service.url + path).status_code == 404


@pytest.mark.parametrize(
    ("form", "status"),
    [
        ({}, 400),
        ({"queries": "{"}, 400),
        ({"queries": "[]"}, 400),
        ({"queries": "[" * 50_000}, 400),
        ({"queries": '{"q": {"query": "x", "limit": -1}}'}, 400),
        ({"queries": json.dumps({str(n): {"query": "x"} for n in range(65)})}, 413),
        ({"extend": '{"ids": "x"}'}, 400),
        ({"extend": json.dumps({"ids": ["x"] * 201, "properties": []})}, 400),
        ({"queries": '{"q": {"query": "\\ud800"}}'}, 400),
    ],
)
def test_bad_requests_are_refused(service: Service, form: dict[str, str], status: int) -> None:
    answer = httpx.post(service.reconciliation, data=form)
    assert answer.status_code == status, answer.text
    assert answer.json()["error"]["message"]
