"""What a server refuses: each attack has a defined answer."""

from __future__ import annotations

import json
import re
import signal
import socket
import time
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest
from tests.service.servers import BEARER, LEFT, RIGHT, TOKEN, Service, run_process, run_service

from everalign.errors import ConfigError
from everalign.service.identity import Identities
from everalign.service.settings import (
    Role,
    ServiceSettings,
    Token,
    parse_networks,
    read_tokens,
)

READ = "/api/v1/links"
WRITE = "/api/v1/decisions"
SAME = {
    "decisions": [
        {
            "key": "security-test-1",
            "kind": "not sure",
            "left": f"{LEFT}city1",
            "right": f"{RIGHT}town1",
        }
    ]
}


def get_code(answer: httpx.Response) -> tuple[int, str]:
    return answer.status_code, answer.json()["error"]["code"]


@pytest.mark.parametrize("host", ["evil.example", "evil.example:80", "127.0.0.1:1", "", "[::1"])
@pytest.mark.parametrize("path", [READ, "/", "/healthz", "/static/index.html"])
def test_other_hosts_are_refused_everywhere(service: Service, host: str, path: str) -> None:
    with httpx.Client() as plain:
        answer = plain.get(service.url + path, headers={**BEARER, "Host": host})
    # Without a name, the server's own HTTP reader refuses it already.
    assert answer.status_code == (421 if host else 400) or get_code(answer) == (421, "host")


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "LOCALHOST", "[::1]"])
def test_own_names_are_accepted(service: Service, name: str) -> None:
    headers = {**BEARER, "Host": f"{name}:{service.port}"}
    assert httpx.get(service.url + READ, headers=headers).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {},
        {"Authorization": "Bearer guessed"},
        {"Authorization": f"Basic {TOKEN}"},
        {"Authorization": f"Bearer {TOKEN}x"},
        {"Authorization": f"Bearer {TOKEN[:-1]}"},
        {"Cookie": "everalign=1"},
        {"X-Forwarded-User": "root"},
    ],
)
def test_reads_need_a_token(service: Service, headers: dict[str, str]) -> None:
    if "Cookie" in headers:
        headers = {"Cookie": f"everalign_{service.port}=0123456789abcdef.9999999999.0"}
    assert get_code(httpx.get(service.url + READ, headers=headers)) == (401, "token")


def test_the_printed_address_signs_in_once(own_state: Path) -> None:
    with run_service(own_state) as service, httpx.Client(base_url=service.url) as browser:
        code = urlsplit(service.invitation).query
        assert TOKEN not in service.invitation
        answer = browser.get(f"/?{code}")
        assert answer.status_code == 200
        cookie = answer.headers["set-cookie"]
        assert re.match(rf"everalign_{service.port}=\S+; HttpOnly; Max-Age=\d+; Path=/;", cookie)
        assert "SameSite=strict" in cookie
        assert TOKEN not in cookie
        assert browser.get(READ).status_code == 200
        # A second browser gets the page that asks for a token.
        again = httpx.get(f"{service.url}/?{code}")
        assert again.status_code == 401
        assert "set-cookie" not in again.headers
        assert "Sign in" in again.text


def test_a_cookie_of_another_token_or_an_old_one_is_refused() -> None:
    settings = ServiceSettings(Path("x"), tokens=(Token("t" * 20),))
    identities = Identities(settings)
    value = identities.make_cookie(settings.tokens[0])
    assert identities._find_cookie(value) == settings.tokens[0]
    name, end, signature = value.split(".")
    longer = f"{name}.{int(end) + 1}.{signature}"
    expired = Identities._sign(settings.tokens[0], int(time.time()) - 1)
    other = Identities(ServiceSettings(Path("x"), tokens=(Token("u" * 20),)))
    for forged in (longer, expired, value[:-1], "", "..", f"{name}.{'9' * 50}.x", f"{name}.٣.x"):
        assert identities._find_cookie(forged) is None
    assert other._find_cookie(value) is None


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": "http://["},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Sec-Fetch-Site": "none"},
    ],
)
def test_other_pages_cannot_write(service: Service, headers: dict[str, str]) -> None:
    answer = httpx.post(service.url + WRITE, json=SAME, headers={**BEARER, **headers})
    assert get_code(answer) == (403, "origin")


def test_a_cookie_alone_does_not_write(service: Service) -> None:
    with service.browser() as browser:
        del browser.headers["Origin"], browser.headers["Sec-Fetch-Site"]
        assert get_code(browser.post(WRITE, json=SAME)) == (403, "origin")
        assert browser.get(READ).status_code == 200


def test_other_pages_cannot_read(service: Service) -> None:
    with service.browser() as browser:
        browser.headers["Sec-Fetch-Site"] = "cross-site"
        answer = browser.get(READ)
    assert get_code(answer) == (403, "origin")
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", ""])
def test_writes_are_json(service: Service, kind: str) -> None:
    headers = {**BEARER, "Content-Type": kind}
    answer = httpx.post(service.url + WRITE, content=json.dumps(SAME), headers=headers)
    assert get_code(answer) == (415, "content_type")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{",
        b"[]",
        b"null",
        b"\xff\xfe",
        b'{"decisions": []}',
        b'{"decisions": [{"key": "x"}]}',
        b"[" * 100_000,
        b'{"decisions": [{"key": "12345678", "kind": "same", "left": "\\ud800", "right": "b"}]}',
        b'{"\\ud800": 1, "decisions": []}',
        b'{"decisions": [{"key": "12345678\\n", "kind": "same", "left": "a", "right": "b"}]}',
    ],
)
def test_malformed_bodies_are_refused(client: httpx.Client, body: bytes) -> None:
    answer = client.post(WRITE, content=body, headers={"Content-Type": "application/json"})
    assert answer.status_code in (400, 422)
    assert answer.json()["error"]["message"]


def test_huge_bodies_are_refused(client: httpx.Client, service: Service) -> None:
    headers = {"Content-Type": "application/json"}
    body = b'{"decisions": "' + b"x" * 1_100_000 + b'"}'
    assert get_code(client.post(WRITE, content=body, headers=headers)) == (413, "too_large")
    # Without a length, in chunks.
    chunks = (b"x" * 100_000 for _ in range(20))
    assert get_code(client.post(WRITE, content=chunks, headers=headers)) == (413, "too_large")


@pytest.mark.parametrize(
    "path",
    [
        "/static/../settings.py",
        "/static/%2e%2e/settings.py",
        "/static/..%2f..%2faligner.py",
        "/static//etc/passwd",
        "/static/%00",
        "/signin/../../app.py",
        "/api/v1/../../../etc/passwd",
    ],
)
def test_climbing_paths_lead_nowhere(service: Service, path: str) -> None:
    target = urlsplit(service.url)
    assert target.hostname is not None
    with socket.create_connection((target.hostname, service.port)) as connection:
        # By hand: a client would shorten the path.
        request = f"GET {path} HTTP/1.1\r\nHost: {target.netloc}\r\nConnection: close\r\n"
        connection.sendall(f"{request}Authorization: Bearer {TOKEN}\r\n\r\n".encode())
        answer = b""
        while part := connection.recv(65536):
            answer += part
    assert b" 404 " in answer.partition(b"\r\n")[0]
    assert b"root:" not in answer
    assert b"import" not in answer


def test_every_answer_has_the_headers(service: Service, client: httpx.Client) -> None:
    paths = [READ, "/", "/healthz", "/api/v1/nothing", "/static/nothing", "/api/v1/openapi.json"]
    for path in paths:
        headers = client.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'self'")
        assert "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in headers
        assert "server" not in headers


def test_roles(service: Service) -> None:
    def post(token: str, path: str, body: object) -> tuple[int, str]:
        headers = {"Authorization": f"Bearer {token}"}
        answer = httpx.post(f"{service.url}/api/v1/{path}", json=body, headers=headers)
        return get_code(answer) if answer.status_code >= 400 else (answer.status_code, "")

    reader, reviewer = "reader-token-0123456789", "reviewer-token-0123456789"
    assert post(reader, "decisions", SAME) == (403, "role")
    assert post(reader, "withdrawals", {"withdrawals": []}) == (403, "role")
    assert post(reader, "updates", {}) == (403, "role")
    assert post(reviewer, "updates", {}) == (403, "role")
    assert post(reviewer, "reverts", {"version": 0}) == (403, "role")
    assert post(TOKEN, "reverts", {"version": 99}) == (404, "not_found")
    headers = {"Authorization": f"Bearer {reviewer}"}
    session = httpx.get(f"{service.url}/api/v1/session", headers=headers).json()
    assert session["role"] == "reviewer"
    assert (session["author"], session["author_fixed"]) == ("Ada Lovelace", True)
    assert session["can"] == {"decide": True, "update": False}


def test_read_only(own_state: Path) -> None:
    with run_service(own_state, "--read-only") as service, service.client() as client:
        assert get_code(client.post(WRITE, json=SAME)) == (403, "read_only")
        assert get_code(client.post("/api/v1/updates", json={})) == (403, "read_only")
        assert client.get("/api/v1/session").json()["role"] == "reader"


def test_only_a_trusted_proxy_names_the_user(own_state: Path) -> None:
    options = ("--trusted-proxy", "127.0.0.1", "--curator", "grace", "--user-header", "X-User")
    with run_service(own_state, *options) as service:
        url = f"{service.url}/api/v1/session"
        answer = httpx.get(url, headers={"X-User": "grace"}).json()
        assert (answer["author"], answer["role"]) == ("grace", "curator")
        answer = httpx.get(url, headers={"X-User": "ada"}).json()
        assert (answer["author"], answer["role"]) == ("ada", "reviewer")
        name = "Søren 王"
        answer = httpx.get(url, headers={b"X-User": name.encode()}).json()
        assert answer["author"] == name
        assert httpx.get(url).status_code == 401
        # A browser behind the proxy proves nothing by itself: writes must be of our own page.
        answer = httpx.post(service.url + WRITE, json=SAME, headers={"X-User": "ada"})
        assert get_code(answer) == (403, "origin")


def test_a_header_of_another_peer_is_ignored(own_state: Path) -> None:
    with run_service(own_state, "--trusted-proxy", "192.0.2.0/24") as service:
        url = f"{service.url}/api/v1/session"
        assert httpx.get(url, headers={"X-Forwarded-User": "grace"}).status_code == 401
        answer = httpx.get(url, headers={**BEARER, "X-Forwarded-User": "grace"}).json()
        assert answer["author"] == ""


def test_requests_are_limited_for_each_token(own_state: Path) -> None:
    with run_service(own_state, "--rate-limit", "5") as service, service.client() as client:
        answers = [client.get("/api/v1/updates") for _ in range(40)]
        refused = [answer for answer in answers if answer.status_code == 429]
        assert refused
        assert refused[0].json()["error"]["code"] == "rate"
        assert int(refused[0].headers["retry-after"]) >= 1


def test_guesses_are_limited(own_state: Path) -> None:
    with run_service(own_state) as service:
        url = f"{service.url}/api/v1/session"
        codes = [
            httpx.get(url, headers={"Authorization": f"Bearer guess{n}"}).status_code
            for n in range(15)
        ]
        assert codes[0] == 401
        assert codes[-1] == 429
        origin = {"Origin": service.url}
        answer = httpx.post(f"{service.url}/api/v1/login", json={"token": "guess"}, headers=origin)
        assert answer.status_code == 429


def test_others_need_a_token() -> None:
    for host in ("0.0.0.0", "192.0.2.1", "::", "example.org"):
        with pytest.raises(ConfigError, match="give a token"):
            ServiceSettings(Path("x"), host=host)
        assert not ServiceSettings(Path("x"), host=host, tokens=(Token("t" * 20),)).is_local
    for host in ("127.0.0.1", "localhost", "::1", "127.0.0.9"):
        assert ServiceSettings(Path("x"), host=host).has_random_token
    with pytest.raises(ConfigError, match="at least 16"):
        ServiceSettings(Path("x"), tokens=(Token("short"),))


def test_the_printed_address_works_on_all_addresses(own_state: Path) -> None:
    options = ("--host", "0.0.0.0", "--allow-host", "links.example")
    with run_service(own_state, *options) as service:
        assert httpx.get(service.invitation).status_code == 200
        for host, status in (("links.example", 200), ("evil.example", 421)):
            headers = {**BEARER, "Host": host}
            assert httpx.get(service.url + READ, headers=headers).status_code == status


def test_own_names() -> None:
    tokens = (Token("t" * 20),)
    for host, name, is_loopback in [
        ("127.0.0.1", "127.0.0.1", True),
        ("::", "[::]", True),
        ("[2001:db8::1]", "[2001:db8::1]", False),
        ("Links.Example", "links.example", False),
    ]:
        names = ServiceSettings(Path("x"), host=host, tokens=tokens).own_names
        assert name in names
        assert ("localhost" in names) == is_loopback


def test_the_server_ends_at_once_and_quietly(own_state: Path) -> None:
    with run_process(own_state) as service, service.client() as client:
        # A page that is open listens to a stream.
        with client.stream("GET", "/api/v1/events") as stream:
            assert next(stream.iter_lines()) == "event: hello"
            began = time.monotonic()
            service.process.send_signal(signal.SIGINT)
            assert service.process.wait(30) in (0, -signal.SIGINT, 130)
            assert time.monotonic() - began < 3
        assert service.process.stdout is not None
        assert "Traceback" not in service.process.stdout.read()


def test_tokens_and_networks_are_read(tmp_path: Path) -> None:
    path = tmp_path / "tokens"
    path.write_text("# comment\n\nreviewer 0123456789abcdef Ada L.\nreader 0123456789abcdeg\n")
    assert read_tokens(path) == (
        Token("0123456789abcdef", Role.REVIEWER, "Ada L."),
        Token("0123456789abcdeg", Role.READER),
    )
    path.write_text("admin 0123456789abcdef\n")
    with pytest.raises(ConfigError, match="tokens:1"):
        read_tokens(path)
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="UTF-8"):
        read_tokens(path)
    with pytest.raises(ConfigError, match="trusted proxy"):
        parse_networks(("proxy.example",))
    with pytest.raises(ConfigError, match="--data"):
        ServiceSettings(Path("x"), data=tmp_path / "nothing")


def test_reading_writes_nothing(client: httpx.Client, service: Service) -> None:
    before = client.get("/api/v1/session").json()
    description = client.get("/api/v1/openapi.json").json()
    for path, methods in description["paths"].items():
        if "get" in methods and not path.endswith("/events"):
            parameters = {"left": f"{LEFT}city1", "right": f"{RIGHT}town1", "text": "a"}
            client.get(path, params={**parameters, "name": f"{LEFT}city1"})
        # A GET never reaches what a POST does.
        if set(methods) == {"post"}:
            assert client.get(path).status_code == 405
    after = client.get("/api/v1/session").json()
    assert (before["version"], before["decisions"]) == (after["version"], after["decisions"])
