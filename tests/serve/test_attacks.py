"""What attackers try on a served home, as tables: each is refused, and says so as JSON."""

import base64
import hmac
import re
import socket
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import pytest
from starlette.routing import Mount, Route
from starlette.testclient import TestClient

from kb.serve import guard, people, server, uploads
from kb.serve.calls import CALLS, name_of
from kb.serve.guard import Guard
from kb.serve.people import People, Role
from kb.settings import Settings
from kb.web import guard as web_guard
from kb.web.deciding import DECISIONS
from kb.web.reading import PAGES
from tests.serve.conftest import ORIGIN, UPLOAD_BYTES, Team

READER, AUTHOR, CURATOR = Role

LEAST: dict[tuple[str, str], Role] = {
    **{("GET", path): READER for path in PAGES},
    **{("POST", path): CURATOR for path in DECISIONS},
    ("GET", "/static/style.css"): READER,
    ("POST", "/mcp"): READER,
    ("GET", "/api"): READER,
    **{("POST", f"/api/{name}"): READER for name in (
        "search", "symbol", "read", "document", "facts", "worksheet", "prompt", "targets", "skills", "skill", "run",
        "context", "documents", "list_runs", "report", "tasks",
    )},
    **{("POST", f"/api/{name}"): AUTHOR for name in (
        "propose_facts", "propose_skill", "start_run", "submit", "verify", "roofline",
    )},
    ("PUT", "/api/documents/mi300x/new.md"): AUTHOR,
    **{("POST", f"/api/{name}"): CURATOR for name in ("decide_fact", "decide_skill", "remove_document")},
}  # fmt: skip
"""Every address, and the least role that it takes."""


def told(answer: Any) -> dict[str, str]:
    """The message and hint of a refusal."""
    said = answer.json()
    assert set(said) == {"message", "hint"}
    assert all(said.values())
    return said


def routes(app: Any) -> Iterator[tuple[str, str]]:
    for one in app.routes:
        if isinstance(one, Mount):
            yield "GET", f"{one.path}/style.css"
        else:
            assert isinstance(one, Route)
            path = one.path.replace("{target}", "mi300x").replace("{name}", "new.md")
            yield from ((method, path) for method in (one.methods or ()) if method != "HEAD")


def test_the_table_has_every_address(team: Team) -> None:
    assert sorted(routes(team.guard.app)) == sorted(LEAST)
    assert {f"/api/{name_of(call)}" for call in CALLS} < {path for _, path in LEAST}


@pytest.mark.parametrize("address", LEAST, ids=" ".join)
def test_without_a_token_nothing_is_readable(client: TestClient, address: tuple[str, str]) -> None:
    for headers in ({}, {"authorization": "Bearer kb_" + "x" * 43}, {"authorization": "Bearer"}):
        answer = client.request(*address, headers=headers)

        assert answer.status_code == 401
        assert told(answer)
        assert {"Basic", "Bearer"} <= set(answer.headers["www-authenticate"].replace(",", " ").split())


@pytest.mark.parametrize("address", LEAST, ids=" ".join)
def test_a_role_opens_what_it_may_and_nothing_else(client: TestClient, team: Team, address: tuple[str, str]) -> None:
    for role in Role:
        headers = team.headers(role) | {"origin": ORIGIN}
        answer = client.request(*address, headers=headers)

        assert (answer.status_code == 403 and "role" in answer.text) == (not role.may(LEAST[address])), answer.text


FORGED: dict[str, tuple[int, str, dict[str, str]]] = {
    "another host": (421, "GET", {"host": "evil.example"}),
    "another host with the port": (421, "GET", {"host": "evil.example:8643"}),
    "our host with another port": (421, "GET", {"host": "127.0.0.1:1"}),
    "a host that begins like ours": (421, "GET", {"host": "127.0.0.1.evil.example:8643"}),
    "a host that ends like ours": (421, "GET", {"host": "evil.example@127.0.0.1:8643"}),
    "no host": (421, "GET", {"host": ""}),
    "another origin": (403, "POST", {"origin": "http://evil.example"}),
    "our origin with another port": (403, "POST", {"origin": "http://127.0.0.1:9999"}),
    "our origin over TLS": (403, "POST", {"origin": "https://127.0.0.1:8643"}),
    "the origin of a file": (403, "POST", {"origin": "null"}),
    "a reading page of another site": (403, "GET", {"origin": "http://evil.example"}),
    "an image in another site": (403, "GET", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}),
    "a form of another site": (403, "POST", {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}),
    "a method to remove": (405, "DELETE", {}),
    "a method that asks for methods": (405, "OPTIONS", {}),
    "a method of proxies": (405, "CONNECT", {}),
    "a method to echo": (405, "TRACE", {}),
    "a method of nobody": (405, "PATCH", {}),
    "a scheme of another kind": (401, "GET", {"authorization": "Digest kb"}),
    "a password that is none": (401, "GET", {"authorization": "Basic ???"}),
    "a password of bytes": (401, "GET", {"authorization": "Basic " + base64.b64encode(b"\xff:\xff").decode()}),
    "a name that is no token": (401, "GET", {"authorization": "Bearer the-curator"}),
}


@pytest.mark.parametrize(("status", "method", "headers"), FORGED.values(), ids=FORGED)
def test_what_is_forged_is_refused(
    client: TestClient, team: Team, status: int, method: str, headers: dict[str, str]
) -> None:
    answer = client.request(method, "/api", headers=team.headers(CURATOR) | headers)

    assert answer.status_code == status
    assert told(answer)


def test_a_link_of_another_site_opens_the_page(client: TestClient, team: Team) -> None:
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}

    assert client.get("/", headers=team.headers(READER) | link).status_code == 200


TRAVERSALS = [
    "/static/../templates/base.html",
    "/static/..%2f..%2fserver.py",
    "/static/%2e%2e/%2e%2e/server.py",
    "/static//etc/passwd",
    "/../../etc/passwd",
    "/api/documents/..%2f..%2fpeople.json",
    "/document?path=../../people.json",
    "/document?path=/etc/passwd",
    "/page.png?path=/etc/passwd&page=1",
    "/run?id=../../people.json",
    "/candidate?run=..%2f..&number=1",
    "/skill?name=../../../etc",
]


@pytest.mark.parametrize("path", TRAVERSALS)
def test_no_path_leads_out_of_the_home(client: TestClient, team: Team, path: str) -> None:
    answer = client.get(path, headers=team.headers(CURATOR))

    assert answer.status_code in (404, 405)
    assert not re.search("root:|sha256", answer.text)


@pytest.mark.parametrize(
    ("call", "given"),
    [
        ("read", {"id": "/etc/passwd:1"}),
        ("read", {"id": "../../people.json:1"}),
        ("document", {"name": "/etc/passwd"}),
        ("skill", {"name": "../../people.json"}),
        ("report", {"run": "../../people.json"}),
        ("verify", {"task_file": "/etc/passwd", "source": "", "language": "torch", "target": "mi300x"}),
        ("remove_document", {"path": "/etc/passwd"}),
    ],
)
def test_no_argument_leads_out_of_the_home(client: TestClient, team: Team, call: str, given: dict[str, str]) -> None:
    answer = client.post(f"/api/{call}", json=given, headers=team.headers(CURATOR))

    assert answer.status_code == 422
    assert not re.search("root:|sha256", answer.text)


NAMES = [
    "..",
    ".hidden.md",
    "a b.md",
    "a\x00.md",
    "é.md",
    "a" * 129 + ".md",
    "noend",
    "evil.exe",
    "archive.zip",
    "-x.md",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_document_has_a_plain_name_of_a_kind_that_kb_reads(client: TestClient, team: Team, name: str) -> None:
    path = "/api/documents/mi300x/" + "".join(f"%{byte:02x}" for byte in name.encode())
    answer = client.put(path, content=b"# Text\n", headers=team.headers(AUTHOR))

    assert answer.status_code in (404, 422)
    assert told(answer)
    assert [*(team.settings.home / uploads.FOLDER).iterdir()] == []


OVERSIZED = {
    "a call": ("POST", "/api/search", 1 << 20),
    "a message of an agent": ("POST", "/mcp", 1 << 20),
    "a form": ("POST", "/facts", web_guard.MOST_BYTES),
    "a document": ("PUT", "/api/documents/mi300x/new.md", UPLOAD_BYTES),
}


@pytest.mark.parametrize("is_stated", [True, False], ids=["stated", "in parts"])
@pytest.mark.parametrize(("method", "path", "most"), OVERSIZED.values(), ids=OVERSIZED)
def test_an_oversized_body_is_refused(
    client: TestClient, team: Team, method: str, path: str, most: int, is_stated: bool
) -> None:
    headers = team.headers(CURATOR) | {"origin": ORIGIN, "content-type": "application/json"}
    headers |= {"content-type": "application/x-www-form-urlencoded"} if path == "/facts" else {}
    body = b"x" * (most + 1)
    content: Any = body if is_stated else (body[at : at + 5000] for at in range(0, len(body), 5000))

    answer = client.request(method, path, content=content, headers=headers)

    assert answer.status_code == 413
    assert told(answer)
    folder = team.settings.home / uploads.FOLDER
    assert [*folder.iterdir()] == []


@pytest.mark.parametrize("length", ["-1", "1e9", "0x10"])
def test_a_length_that_is_none_is_refused(client: TestClient, team: Team, length: str) -> None:
    headers = team.headers(READER) | {"content-length": length}

    assert client.post("/api/targets", headers=headers).status_code == 413


def test_a_token_in_an_address_is_refused(client: TestClient, team: Team) -> None:
    token = team.tokens[CURATOR]
    for path in (f"/?token={token}", f"/api?access_token={token}", f"/{token}", f"/?q=%6bb{token[2:]}"):
        answer = client.get(path, headers=team.headers(CURATOR))

        assert answer.status_code == 400
        assert told(answer)
        assert token not in answer.text
    assert client.get(f"/api?access_token={token}").status_code in (400, 401)


def test_every_token_is_compared_in_the_same_time(team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    compared: list[int] = []

    def counting(one: str, other: str) -> bool:
        compared[-1] += 1
        assert len(one) == len(other) == 64
        return hmac.compare_digest(one, other)

    monkeypatch.setattr(people, "compare_digest", counting)
    for token in (*team.tokens.values(), "", "kb_", "x" * 5000):
        compared.append(0)
        People(team.settings.home).of(token)

    assert compared == [len(Role)] * 6


def test_a_home_keeps_no_token(team: Team) -> None:
    for file in team.settings.home.rglob("*"):
        if file.is_file():
            content = file.read_bytes()
            assert not [role for role, token in team.tokens.items() if token.encode() in content]
    assert (team.settings.home / "people.json").stat().st_mode & 0o077 == 0


def test_a_browser_sends_the_token_as_the_password(client: TestClient, team: Team) -> None:
    known = ("anybody", team.tokens[CURATOR])

    assert client.get("/", auth=known).status_code == 200
    assert client.post("/api/targets", auth=known, headers={"origin": ORIGIN}).status_code == 200
    assert client.post("/api/targets", auth=known).status_code == 403  # a browser would say from where


def test_a_token_is_void_once_its_person_is_removed_or_gets_another(client: TestClient, team: Team) -> None:
    known = People(team.settings.home)
    assert client.get("/api", headers=team.headers(READER)).status_code == 200

    known.remove("the-reader")
    assert client.get("/api", headers=team.headers(READER)).status_code == 401
    known.add("the-author", AUTHOR)
    assert client.get("/api", headers=team.headers(AUTHOR)).status_code == 401
    known.remove("the-author")
    known.remove("the-curator")
    assert client.get("/api").status_code == 401


def test_if_nobody_can_tell_who_has_a_token_nobody_comes_in(client: TestClient, team: Team) -> None:
    (team.settings.home / "people.json").write_text("{")

    answer = client.get("/api", headers=team.headers(CURATOR))

    assert answer.status_code == 422
    assert "people.json" in told(answer)["message"]


def test_without_people_only_this_account_comes_in_and_not_through_a_proxy(
    settings: Settings, team: Team, monkeypatch: pytest.MonkeyPatch
) -> None:
    (settings.home / "people.json").unlink()
    monkeypatch.setattr(web_guard, "CONNECTIONS", {})
    near = Guard(team.guard.app, team.guard.people, frozenset({ORIGIN}), is_open=True)
    client = TestClient(near, base_url=ORIGIN)

    assert client.get("/api").status_code == 200
    for header in guard.BY_PROXY:
        assert client.get("/api", headers={header: "203.0.113.7"}).status_code == 401
    monkeypatch.setattr(guard, "refusal_of_stranger", lambda scope: "of another account")
    assert client.get("/api").status_code == 401
    monkeypatch.undo()
    team.guard.people.add("somebody", READER)
    assert client.get("/api").status_code == 401


REACHABLE = {
    "another address, nobody": ({"host": "0.0.0.0"}, False, "nobody has a token"),
    "a proxy, nobody": ({"url": "https://kb.example.org"}, False, "nobody has a token"),
    "another address without a name": ({"host": "0.0.0.0"}, True, "by which address"),
    "a name of a machine": ({"host": "kb.example.org"}, False, "nobody has a token"),
    "a name with a path": ({"url": "https://kb.example.org/kb"}, True, "no address of a server"),
    "a name with a password": ({"url": "https://me:secret@kb.example.org"}, True, "no address of a server"),
    "a name without a scheme": ({"url": "kb.example.org"}, True, "no address of a server"),
}


@pytest.mark.parametrize(("given", "has_people", "why"), REACHABLE.values(), ids=REACHABLE)
def test_it_does_not_start_where_others_could_come_in(
    settings: Settings, given: dict[str, str], has_people: bool, why: str
) -> None:
    if has_people:
        People(settings.home).add("somebody", READER)

    with pytest.raises(server.SettingsError, match=why):
        server.serve(
            settings, **{"host": "127.0.0.1", "url": "", **given}, port=0, upload_bytes=1, ready=print, notify=print
        )


def ended(port: int, *parts: bytes) -> bytes:
    """What the server says until it ends the connection."""
    said = b""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection, suppress(ConnectionResetError):
        for part in parts:
            connection.sendall(part)
        while got := connection.recv(65536):
            said += got
    return said


@pytest.mark.parametrize("parts", [(), (b"GET / HTTP/1.1\r\n", b"Host: ", b"127.0.0.1")], ids=["nothing", "a part"])
def test_a_client_that_sends_no_whole_head_is_put_off(
    parts: tuple[bytes, ...], monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.3)

    assert ended(request.getfixturevalue("port"), *parts) == b""


def test_a_client_that_sends_its_body_slowly_is_put_off(team: Team, monkeypatch: pytest.MonkeyPatch, port: int) -> None:
    monkeypatch.setattr(guard, "BODY_S", 0.5)
    head = f"POST /api/search HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n"
    head += f"Authorization: Bearer {team.tokens[READER]}\r\n"

    said = ended(port, head.encode(), b"Content-Length: 100\r\n\r\n{")

    assert b" 408 " in said.splitlines()[0]
    assert b'"hint"' in said


def test_a_head_that_is_too_large_is_refused(port: int) -> None:
    said = ended(port, b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"x" * (server.HEAD_BYTES + 1))

    assert b" 400 " in said.splitlines()[0] or b" 431 " in said.splitlines()[0]


def test_two_hosts_are_refused(port: int) -> None:
    said = ended(port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n\r\n".encode())

    assert said.split()[1] in (b"400", b"421")


def test_more_connections_than_it_has_room_for_are_refused(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    monkeypatch.setattr(server, "CONNECTIONS", 3)
    port = request.getfixturevalue("port")
    held = [socket.create_connection(("127.0.0.1", port)) for _ in range(4)]
    try:
        said = ended(port, f"GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nConnection: close\r\n\r\n".encode())
    finally:
        for one in held:
            one.close()

    assert said.split()[1] == b"503"


def test_behind_a_proxy_it_has_the_name_that_people_open(team: Team) -> None:
    public = "https://kb.example.org"
    named = Guard(team.guard.app, team.guard.people, frozenset({public, ORIGIN}), is_open=False)
    forwarded = team.headers(READER) | {"x-forwarded-for": "203.0.113.7", "x-forwarded-proto": "https"}
    with TestClient(named, base_url=public) as client:
        assert client.post("/api/targets", headers=forwarded | {"origin": public}).status_code == 200
        assert client.post("/api/targets", headers=forwarded | {"origin": "http://kb.example.org"}).status_code == 403
        assert client.get("/api", headers=forwarded | {"host": "kb.example.org:8643"}).status_code == 421
