"""Requests that follow from the OpenAPI description, valid and invalid: none breaks the server."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from tests.service.servers import BEARER, run_service

# Streams do not end, an update takes seconds, and the login is limited, since people guess there.
LEFT_OUT = ("/api/v1/events", "/api/v1/login", "/api/v1/updates", "/api/v1/reverts")
EXAMPLES = 12


def check_operation(operation: Any, url: str, mode: GenerationMode) -> None:
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode))
    def check(case: Any) -> None:
        response = case.call(base_url=url, headers=BEARER, timeout=60)
        case.validate_response(response, checks=[not_a_server_error])
        assert "Traceback" not in response.text

    check()


@pytest.mark.slow
@pytest.mark.parametrize("mode", list(GenerationMode))
def test_no_request_breaks_the_server(own_state: Path, mode: GenerationMode) -> None:
    with run_service(own_state) as service, service.client() as client:
        description = client.get("/api/v1/openapi.json").json()
        schema = schemathesis.openapi.from_dict(description)
        results: list[Any] = list(schema.get_all_operations())
        operations = [result.ok() for result in results]
        chosen = [row for row in operations if row.path not in LEFT_OUT]
        assert len(chosen) >= 15
        for operation in chosen:
            try:
                check_operation(operation, service.url, mode)
            except schemathesis.errors.InvalidSchema:
                # Nothing about it can be wrong: it has no parameters.
                assert mode is GenerationMode.NEGATIVE
        assert client.get("/api/v1/session").status_code == 200


def test_the_description_is_complete(client: httpx.Client) -> None:
    description = client.get("/api/v1/openapi.json").json()
    assert description["openapi"].startswith("3.1")
    assert description["security"] == [{"token": []}]
    for path, methods in description["paths"].items():
        for method, operation in methods.items():
            assert operation["description"], (method, path)
            assert "422" in operation["responses"], (method, path)
