"""The Reconciliation Service API 0.2, for OpenRefine and other clients. It only reads.

Each graph has a service of its own at `/reconcile/CAPABILITY/SIDE`: the capability is the secret,
since such clients send no tokens, and other pages may ask it (CORS), as the specification demands.
"""

from __future__ import annotations

import html
import json
import re
from typing import Annotated, Any, Literal

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse, RedirectResponse
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationError

from everalign import __version__
from everalign.service import reconcile_search as search
from everalign.service.api_relations import count_classes
from everalign.service.common import Alignment, IriParameter
from everalign.service.details import EntityDescriber
from everalign.service.errors import ApiError
from everalign.service.models import MAX_TEXT_LENGTH, SideName
from everalign.service.naming import find_direction, shorten_iri
from everalign.service.settings import ServiceSettings
from everalign.state.snapshots import SIDES
from everalign.summary import RDF_TYPE

router = APIRouter(include_in_schema=False)

MAX_QUERIES = 64
MAX_IDS = 200
MAX_PROPERTIES = 50
MAX_SUGGESTED = 20
MAX_PREVIEWED = 12
COUNTERPART = "everalign:counterpart"
CONFIDENCE = "everalign:confidence"
OWN_PROPERTIES = {COUNTERPART: "counterpart", CONFIDENCE: "confidence of the link"}
CORS_HEADERS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
# A preview is shown in a frame of the other page; it has no scripts.
PREVIEW_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors *; base-uri 'none'",
    "X-Frame-Options": "",
    "Cross-Origin-Resource-Policy": "cross-origin",
}
_INTEGER = re.compile(r"[+-]?\d{1,15}\Z")
_NUMBER = re.compile(r"[+-]?(\d{1,15}\.?\d{0,15})\Z")
Prefix = Annotated[str, Query(max_length=MAX_TEXT_LENGTH)]
Offset = Annotated[int, Query(ge=0, le=10_000)]
Name = Annotated[str, Field(max_length=8000)]


class EntityReference(BaseModel):
    """An entity as the value of a property."""

    id: Name
    name: str = ""


Scalar = str | float | bool | EntityReference


class PropertyBody(BaseModel):
    """A value that candidates should have."""

    pid: Name
    v: Scalar | Annotated[list[Scalar], Field(max_length=100)]


class QueryBody(BaseModel):
    """A reconciliation query."""

    model_config = ConfigDict(extra="ignore")

    query: Annotated[str, Field(max_length=MAX_TEXT_LENGTH)] = ""
    type: Name | Annotated[list[Name], Field(max_length=50)] = []
    limit: Annotated[float, Field(ge=1, le=100)] = 10
    properties: Annotated[list[PropertyBody], Field(max_length=MAX_PROPERTIES)] = []
    type_strict: Literal["any", "should", "all"] = "should"

    def convert(self) -> search.Query:
        """Convert to a query.

        Returns:
            The query.
        """
        types = [self.type] if isinstance(self.type, str) else self.type
        return search.Query(
            self.query,
            tuple(types),
            self.type_strict,
            tuple(_convert_property(row) for row in self.properties),
            int(self.limit),
        )


class ExtendProperty(BaseModel):
    """A property to fetch."""

    model_config = ConfigDict(extra="ignore")

    id: Name
    settings: dict[str, Any] = {}


class ExtendBody(BaseModel):
    """A data extension query."""

    ids: Annotated[list[Name], Field(max_length=MAX_IDS)]
    properties: Annotated[list[ExtendProperty], Field(max_length=MAX_PROPERTIES)]


QUERIES = TypeAdapter(dict[str, QueryBody])


@router.options("/{side}")
@router.options("/{side}/{rest:path}")
def answer_preflight(side: SideName, rest: str = "") -> Response:  # noqa: ARG001
    """Let other pages ask."""
    return Response(status_code=204, headers=CORS_HEADERS)


@router.get("/{side}")
def answer_get(
    request: Request,
    alignment: Alignment,
    side: SideName,
    queries: str | None = None,
    extend: str | None = None,
) -> Response:
    """Describe the service, or answer queries."""
    if queries is not None or extend is not None:
        return _answer(alignment, side, queries, extend)
    return _reply(_build_manifest(request, alignment.settings, side))


@router.post("/{side}")
async def answer_post(request: Request, alignment: Alignment, side: SideName) -> Response:
    """Answer queries that are sent as a form."""
    from urllib.parse import parse_qs

    from starlette.concurrency import run_in_threadpool

    try:
        text = (await request.body()).decode("utf-8")
        form = parse_qs(text, max_num_fields=10)
    except ValueError as error:
        raise ApiError(400, "bad_request", "the body is not a form", CORS_HEADERS) from error
    queries, extend = (form.get(name, [None])[0] for name in ("queries", "extend"))
    if queries is None and extend is None:
        raise ApiError(400, "bad_request", "`queries` or `extend` is missing", CORS_HEADERS)
    return await run_in_threadpool(_answer, alignment, side, queries, extend)


@router.get("/{side}/suggest/entity")
def suggest_entities(
    alignment: Alignment, side: SideName, prefix: Prefix = "", cursor: Offset = 0
) -> Response:
    """Suggest entities by the beginning of a label."""
    with alignment.reading() as reader:
        found = reader.search(prefix, side, cursor + MAX_SUGGESTED)[cursor:] if prefix else []
        reconciler = search.Reconciler(alignment, reader, side)
        result = [
            {
                "id": row.entity.name,
                "name": row.entity.label,
                "description": row.match if row.match != row.entity.label else "",
                "notable": _describe_types(reconciler.list_types(row.entity.name)),
            }
            for row in found
        ]
    return _reply({"result": result})


@router.get("/{side}/suggest/property")
def suggest_properties(
    alignment: Alignment, side: SideName, prefix: Prefix = "", cursor: Offset = 0
) -> Response:
    """Suggest relations and attributes by a part of their name."""
    return _suggest(_list_properties(alignment, side), prefix, cursor)


@router.get("/{side}/suggest/type")
def suggest_types(
    alignment: Alignment, side: SideName, prefix: Prefix = "", cursor: Offset = 0
) -> Response:
    """Suggest classes by a part of their name."""
    return _suggest([row.name for row in _list_classes(alignment, side)], prefix, cursor)


@router.get("/{side}/properties")
def propose_properties(
    alignment: Alignment,
    side: SideName,
    type: Annotated[str, Query(max_length=8000)] = "",
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
) -> Response:
    """Propose properties to extend data with."""
    own = [{"id": name, "name": label} for name, label in OWN_PROPERTIES.items()]
    names = [row for row in _list_properties(alignment, side) if row != RDF_TYPE]
    listed = [{"id": name, "name": shorten_iri(name)} for name in names]
    return _reply({"properties": (own + listed)[:limit], "type": type, "limit": limit})


@router.get("/{side}/preview")
def preview_entity(alignment: Alignment, side: SideName, id: IriParameter) -> Response:
    """Show an entity in a small frame."""
    with alignment.reading() as reader:
        describer = EntityDescriber(alignment, reader, id, side)
        entity = describer.namer.get_entity(side, id)
        types = search.Reconciler(alignment, reader, side).list_types(id)
        facts = [
            (
                shorten_iri(fact.attribute),
                describer.namer.get_value(side, fact.literal, is_entity=False).text,
            )
            for fact in describer.details.literals[:MAX_PREVIEWED]
        ]
        linked = [other.label for other in describer.details.counterparts]
    lines = [f"<p>{html.escape(', '.join(map(shorten_iri, types)))}</p>"] if types else []
    lines += [f"<p>= {html.escape(label)}</p>" for label in linked]
    lines += [
        f"<p dir='{find_direction(text)}'>{html.escape(name)}: {html.escape(text[:200])}</p>"
        for name, text in facts
    ]
    lang = f" lang='{html.escape(entity.lang, quote=True)}'" if entity.lang else ""
    page = (
        f"<!doctype html><html><head><meta charset='utf-8'><title>{html.escape(entity.label)}"
        f"</title></head><body><h1 dir='{entity.dir}'{lang}>{html.escape(entity.label)}</h1>"
        f"{''.join(lines)}</body></html>"
    )
    return HTMLResponse(page, headers=PREVIEW_HEADERS)


@router.get("/{side}/view")
def view_entity(alignment: Alignment, side: SideName, id: IriParameter) -> Response:
    """Lead to the page of an entity, or show its preview if it has none."""
    with alignment.reading() as reader:
        entity = EntityDescriber(alignment, reader, id, side).namer.get_entity(side, id)
    if entity.url is None:
        return preview_entity(alignment, side, id)
    return RedirectResponse(entity.url, 302, CORS_HEADERS)


def _answer(
    alignment: Alignment, side: SideName, queries: str | None, extend: str | None
) -> Response:
    try:
        if queries is not None:
            return _reply(_reconcile(alignment, side, QUERIES.validate_python(_parse(queries))))
        assert extend is not None, "callers give one of both"
        return _reply(_extend(alignment, side, ExtendBody.model_validate(_parse(extend))))
    except ValidationError as error:
        first = error.errors(include_input=False, include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise ApiError(400, "invalid", f"{place}: {first['msg']}", CORS_HEADERS) from error


def _parse(text: str) -> Any:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ApiError(400, "bad_request", "this is not JSON", CORS_HEADERS) from error
    if isinstance(value, dict) and len(value) > MAX_QUERIES:
        raise ApiError(413, "too_large", f"at most {MAX_QUERIES} queries a batch", CORS_HEADERS)
    return value


def _reconcile(
    alignment: Alignment, side: SideName, queries: dict[str, QueryBody]
) -> dict[str, Any]:
    results = {}
    for key, body in queries.items():
        # One by one: others may ask in between.
        with alignment.reading() as reader:
            reconciler = search.Reconciler(alignment, reader, side)
            found = reconciler.find(body.convert())
            results[key] = {"result": [_describe_match(reconciler, match) for match in found]}
    return results


def _describe_match(reconciler: search.Reconciler, match: search.Match) -> dict[str, Any]:
    return {
        "id": match.name,
        "name": reconciler.get_entity(match.name).label,
        "score": match.score,
        "match": match.is_link or bool(match.features.get("same_iri")),
        "type": _describe_types(match.types),
        "features": [{"id": name, "value": value} for name, value in match.features.items()],
    }


def _extend(alignment: Alignment, side: SideName, body: ExtendBody) -> dict[str, Any]:
    rows: dict[str, dict[str, list[dict[str, Any]]]] = {}
    for name in body.ids:
        with alignment.reading() as reader:
            reconciler = search.Reconciler(alignment, reader, side)
            rows[name] = {
                row.id: _fetch(alignment, reconciler, side, name, row) for row in body.properties
            }
    meta: list[dict[str, Any]] = [
        {"id": row.id, "name": OWN_PROPERTIES.get(row.id) or shorten_iri(row.id)}
        for row in body.properties
    ]
    return {"meta": meta, "rows": rows}


def _fetch(
    alignment: Alignment,
    reconciler: search.Reconciler,
    side: SideName,
    name: str,
    wanted: ExtendProperty,
) -> list[dict[str, Any]]:
    if wanted.id in OWN_PROPERTIES:
        with alignment.reading() as reader:
            if reader.names.find_entity(side, name) is None:
                return []
            details = reader.describe_entity(name, side, 1, with_candidates=False)
        if wanted.id == CONFIDENCE:
            return [{"float": link.score} for link in details.links]
        return [{"id": other.name, "name": other.label} for other in details.counterparts]
    return [
        _describe_value(reconciler, side, value)
        for value in reconciler.list_values(name, wanted.id)
    ]


def _describe_value(reconciler: search.Reconciler, side: SideName, value: str) -> dict[str, Any]:
    if not value.startswith('"'):
        return {"id": value, "name": reconciler.get_entity(value).label}
    text = reconciler.namer.get_value(side, value, is_entity=False).text
    if _INTEGER.match(text) and str(int(text)) == text:
        return {"int": int(text)}
    if _NUMBER.match(text):
        return {"float": float(text)}
    return {"str": text}


def _build_manifest(request: Request, settings: ServiceSettings, side: SideName) -> dict[str, Any]:
    base = f"{_find_origin(request, settings)}/reconcile/{settings.capability}/{side}"

    def describe_suggestions(kind: str) -> dict[str, str]:
        return {"service_url": base, "service_path": f"/suggest/{kind}"}

    return {
        "versions": ["0.2"],
        "name": f"EverAlign: {settings.state.name} ({side} graph)",
        "identifierSpace": "http://www.w3.org/2002/07/owl#Thing",
        "schemaSpace": "http://www.w3.org/1999/02/22-rdf-syntax-ns#Property",
        "serviceVersion": __version__,
        "defaultTypes": [],
        "view": {"url": f"{base}/view?id={{{{id}}}}"},
        "preview": {"url": f"{base}/preview?id={{{{id}}}}", "width": 400, "height": 250},
        "suggest": {kind: describe_suggestions(kind) for kind in ("entity", "property", "type")},
        "extend": {
            "propose_properties": {"service_url": base, "service_path": "/properties"},
            "property_settings": [],
        },
    }


def _find_origin(request: Request, settings: ServiceSettings) -> str:
    peer = request.client.host if request.client else ""
    is_secure = settings.trusts_proxy(peer) and request.headers.get("x-forwarded-proto") == "https"
    # The middleware has compared the host with those that are allowed.
    return f"{'https' if is_secure else 'http'}://{request.headers['host']}"


def _convert_property(row: PropertyBody) -> search.PropertyValue:
    values = row.v if isinstance(row.v, list) else [row.v]
    texts = [
        text
        for value in values
        for text in (
            (value.id, value.name)
            if isinstance(value, EntityReference)
            else (_format_scalar(value),)
        )
        if text
    ]
    return search.PropertyValue(row.pid, tuple(texts))


def _format_scalar(value: str | float | bool) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return f"{value:g}" if isinstance(value, float) else value


def _describe_types(names: tuple[str, ...]) -> list[dict[str, str]]:
    return [{"id": name, "name": shorten_iri(name)} for name in names]


def _list_properties(alignment: Alignment, side: SideName) -> list[str]:
    with alignment.reading() as reader:
        session = reader.session

        def read() -> list[str]:
            kinds = ("relation", "attribute")
            names = [session.store.open_names(side, kind) for kind in kinds]  # type: ignore[arg-type]
            return sorted({name for list_ in names for name in list_.read_range(0, len(list_))})

        return alignment.remember(f"properties {side}", reader.version, read)


def _list_classes(alignment: Alignment, side: SideName) -> list[Any]:
    version = alignment.read_mark().version
    classes = alignment.remember("classes", version, lambda: count_classes(alignment))
    return classes[SIDES[SIDES.index(side)]]


def _suggest(names: list[str], prefix: str, cursor: int) -> Response:
    wanted = prefix.casefold().strip()
    labels = [(shorten_iri(name).casefold(), name) for name in names]
    found = [row for row in labels if wanted in row[0] or row[1] == prefix]
    found.sort(key=lambda row: (not row[0].startswith(wanted), row))
    page = [name for _, name in found[cursor : cursor + MAX_SUGGESTED]]
    return _reply({"result": [{"id": name, "name": shorten_iri(name)} for name in page]})


def _reply(answer: dict[str, Any]) -> Response:
    return JSONResponse(answer, headers=CORS_HEADERS)
