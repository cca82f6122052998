"""Other sites that a browser has open can neither read the page nor change anything through it."""

import hashlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from starlette.datastructures import Headers
from starlette.testclient import TestClient

from kb.usecases.knowledge_base import KnowledgeBase
from kb.web import guard
from kb.web.deciding import DECISIONS
from kb.web.guard import HEADERS, HOSTS, MOST_BYTES, refusal
from kb.web.pages import STYLE
from kb.web.reading import PAGES
from tests.web.conftest import ORIGIN, TOKEN

LISTED = any(map(Path.exists, guard.CONNECTIONS))
ASKED = {
    "/": ("q", "also", "target"),
    "/documents": ("target",),
    "/document": ("path", "page", "from", "section", "cited"),
    "/page.png": ("path", "page"),
    "/cite": ("id",),
    "/quote": ("id",),
    "/facts": ("target", "done"),
    "/skill": ("name", "beside"),
    "/run": ("id", "seen"),
    "/curve.svg": ("id",),
    "/candidate": ("run", "number"),
}
HERE = {"host": "127.0.0.1:8642"}
SENT = HERE | {"origin": "http://127.0.0.1:8642", "content-length": "10"}

REFUSED: dict[str, tuple[str, dict[str, str]]] = {
    "another host": ("GET", {"host": "evil.example"}),
    "another host with the port": ("GET", {"host": "evil.example:8642"}),
    "a host that begins like ours": ("GET", {"host": "127.0.0.1.evil.example:8642"}),
    "a host that ends like ours": ("GET", {"host": "evil-localhost:8642"}),
    "a host with a user": ("GET", {"host": "localhost@evil.example"}),
    "a host with a port that is none": ("GET", {"host": "localhost:8642.evil.example"}),
    "another address of this machine": ("GET", {"host": "0.0.0.0:8642"}),
    "no host": ("GET", {}),
    "an image in another site": ("GET", HERE | {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors"}),
    "a script of another port": ("GET", HERE | {"sec-fetch-site": "same-site", "sec-fetch-mode": "cors"}),
    "a form of another site": ("POST", SENT | {"origin": "http://evil.example"}),
    "a form of another port": ("POST", SENT | {"origin": "http://127.0.0.1:9999"}),
    "a form of the other name": ("POST", SENT | {"origin": "http://localhost:8642"}),
    "a form of a file": ("POST", SENT | {"origin": "null"}),
    "a form without an origin": ("POST", HERE | {"content-length": "10"}),
    "a form that says it is of another site": ("POST", SENT | {"sec-fetch-site": "cross-site"}),
    "a form over TLS": ("POST", SENT | {"origin": "https://127.0.0.1:8642"}),
    "a large form": ("POST", SENT | {"content-length": str(MOST_BYTES + 1)}),
    "a form of unknown length": ("POST", HERE | {"origin": SENT["origin"]}),
    "another method": ("DELETE", HERE),
}


@pytest.mark.parametrize(("method", "headers"), REFUSED.values(), ids=REFUSED)
def test_what_does_not_come_from_this_page_is_refused(method: str, headers: dict[str, str]) -> None:
    assert refusal(method, Headers(headers))


@pytest.mark.parametrize("name", HOSTS)
def test_the_page_itself_and_links_to_it_are_let_in(name: str) -> None:
    host = {"host": f"{name}:8642"}
    link = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate"}
    sent = {"origin": f"http://{name}:8642", "content-length": "10", "sec-fetch-site": "same-origin"}

    assert refusal("GET", Headers(host)) == ""
    assert refusal("GET", Headers(host | link)) == ""
    assert refusal("POST", Headers(host | sent)) == ""


def test_two_hosts_are_none() -> None:
    assert refusal("GET", Headers(raw=[(b"host", b"localhost"), (b"host", b"evil.example")]))


@pytest.mark.parametrize("path", [*PAGES, *DECISIONS, "/static/style.css", "/nothing"])
def test_every_answer_is_refused_to_another_host_and_has_the_headers(browser: TestClient, path: str) -> None:
    refused = browser.get(path, headers={"host": "evil.example"})
    assert (refused.status_code, "html" in refused.headers["content-type"]) == (403, False)

    for answer in (refused, browser.get(path)):
        assert HEADERS.items() <= {name.title(): value for name, value in answer.headers.items()}.items()
        assert "Cache-Control".lower() in answer.headers


def test_the_policy_lets_nothing_run_but_files_of_the_page() -> None:
    rules = dict(rule.split(" ", 1) for rule in HEADERS["Content-Security-Policy"].split("; "))

    assert rules.pop("default-src") == "'none'"
    assert set(rules.values()) == {"'self'", "'none'"}
    assert {"script-src", "style-src", "form-action", "base-uri", "frame-ancestors"} <= rules.keys()


@pytest.mark.parametrize("path", DECISIONS)
@pytest.mark.parametrize("form", [{}, {"token": ""}, {"token": "another"}, {"token": TOKEN + " "}, {"token": "ä"}])
def test_no_decision_is_taken_without_the_token(
    kb: KnowledgeBase, browser: TestClient, monkeypatch: pytest.MonkeyPatch, path: str, form: dict[str, str]
) -> None:
    taken: list[Any] = []
    monkeypatch.setitem(DECISIONS, path, lambda kb, form: taken.append(form) or "/")

    assert browser.post(path, data={"verb": "accept", "name": "softmax-triton"} | form).status_code == 403
    assert taken == []


def test_every_address_that_takes_a_post_is_a_decision(browser: TestClient) -> None:
    assert [path for path in PAGES if browser.post(path, data={"token": TOKEN}).status_code != 405] == [*DECISIONS]


def test_a_token_in_the_address_is_no_token(browser: TestClient) -> None:
    assert browser.post(f"/skill?token={TOKEN}", data={"name": "softmax-triton"}).status_code == 403


@pytest.mark.parametrize(
    "path",
    ["/static/../server.py", "/static/%2e%2e/server.py", "/static/..%2fserver.py", "/static//etc/passwd", "/static/"],
)
def test_only_files_of_the_page_are_served(browser: TestClient, path: str) -> None:
    assert browser.get(ORIGIN + path).status_code in (403, 404)


@pytest.mark.parametrize("path", ["/etc/passwd", "../../etc/passwd", "/proc/self/environ", "kb.toml", ""])
def test_only_documents_of_the_home_are_shown(browser: TestClient, path: str) -> None:
    for address in ("/document", "/page.png"):
        assert browser.get(address, params={"path": path}).status_code == 404


def test_the_vendored_script_is_the_one_that_its_licence_is_noted_for() -> None:
    digest = hashlib.sha256((STYLE.parent / "htmx.min.js").read_bytes()).hexdigest()

    assert digest in (STYLE.parent / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "value", ["\0", "\ud7ff￿", "%", "*" * 5000, "-1", "1e9", "9" * 40, "..", "/", "a.b.c", "NULL; --"]
)
def test_no_query_breaks_a_page(browser: TestClient, value: str) -> None:
    for path, names in ASKED.items():
        for name in names:
            assert browser.get(path, params={name: value}).status_code in (200, 404), (path, name)


@pytest.mark.skipif(not LISTED or os.getuid() != 0, reason="needs Linux, and root to take another account")
@pytest.mark.parametrize("address", ["127.0.0.1", "::ffff:127.0.0.1"])
@pytest.mark.parametrize(("account", "status"), [(0, "200"), (65534, "403")])
def test_another_account_of_the_machine_gets_nothing(home: Path, account: int, status: str, address: str) -> None:
    command = [sys.executable, "-m", "kb.cli", "web", "--port", "0"]
    asks = """import http.client, sys
asked = http.client.HTTPConnection(sys.argv[1], int(sys.argv[2]))
asked.request("GET", "/settings", headers={"Host": "localhost"})
print(asked.getresponse().status)
"""

    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as served:
        assert served.stdout is not None
        port = served.stdout.readline().rpartition(":")[2].strip("/\n")
        asking = ["/usr/bin/env", "python3", "-c", asks, address, port]
        asked = subprocess.run(asking, user=account, capture_output=True, text=True, cwd="/")
        served.terminate()

    assert asked.stdout.strip() == status, asked.stderr


@pytest.mark.parametrize(("lists", "is_refused"), [({}, False), ({Path(os.devnull): ""}, True)])
def test_a_connection_is_let_in_unasked_only_where_no_system_lists_it(
    monkeypatch: pytest.MonkeyPatch, lists: dict[Path, str], *, is_refused: bool
) -> None:
    monkeypatch.setattr(guard, "CONNECTIONS", lists)

    refused = guard.refusal_of_stranger({"client": ("127.0.0.1", 1), "server": ("127.0.0.1", 2)})
    assert bool(refused) is is_refused
