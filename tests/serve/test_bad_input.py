"""Whatever a request holds, the server answers or refuses it in words; no input is a fault of the server."""

import json
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest
from starlette.testclient import TestClient

from kb.serve.application import application
from kb.serve.calls import CALLS, arguments_of, name_of
from kb.serve.guard import Guard
from kb.serve.lanes import lanes_of
from kb.serve.people import People, Role
from kb.serve.rate import Rate
from kb.settings import Settings
from kb.web.deciding import DECISIONS
from kb.web.reading import PAGES
from tests.serve.conftest import ORIGIN, UPLOAD_BYTES

ROW = {"name": "x", "shape": [4, 8], "dtype": "float32", "stride": [8, 1]}
TASK = """\
class Model:
    def __init__(self, size): ...
    def forward(self, x):
        return x.softmax(-1)
def get_inputs(): ...
def get_init_inputs(): ...
"""
GOOD: dict[str, dict[str, Any]] = {
    "search": {"phrasings": ["wave lanes"], "target": "mi300x", "within": ["guide"], "numbers": True, "page": 1,
               "seen": ["abc"]},
    "symbol": {"name": "nl.load", "target": "mi300x", "limit": 3},
    "read": {"id": "mi300x/guide.md:3", "around": 3, "offset": 0},
    "document": {"name": "mi300x/guide.md", "section": "MI300X guide", "offset": 0},
    "facts": {"target": "mi300x", "quantity": "lds_size", "unconfirmed": True},
    "worksheet": {"target": "mi300x", "topic": "memory"},
    "prompt": {"task": TASK, "name": "softmax", "target": "mi300x", "language": "triton", "max_tokens": 4000,
               "interface": {"inputs": [ROW], "state": [ROW], "outputs": [ROW], "init": [1.5], "matrix_operations": 3,
                             "working_bytes": 5}},
    "targets": {"everything": True},
    "skills": {"query": "softmax", "target": "mi300x", "language": "triton"},
    "skill": {"name": "softmax", "offset": 0},
    "run": {"run": "1", "prompt": True, "report": True},
    "tasks": {},
    "context": {"phrasings": ["wave lanes"], "target": "mi300x", "budget_tokens": 200},
    "documents": {"target": "mi300x"},
    "list_runs": {},
    "report": {"run": "1"},
    "propose_facts": {"target": "mi300x", "answers": [
        {"quantity": "wave_lanes", "value": "64", "unit": "count", "condition": "", "quote": "A wave has 64 lanes.",
         "passage": "abc", "target": "mi300x"}]},
    "propose_skill": {"skill": {
        "name": "a-skill", "kind": "technique", "description": "Pads rows.", "body": "Why: banks.", "target": "mi300x",
        "language": "triton", "code": "", "citations": ["abc"],
        "preconditions": {"ops": ["softmax"], "dtypes": ["float32"], "constraints": ["cols > 4"]}}},
    "start_run": {"task_file": "none.py", "target": "mi300x", "language": "triton", "evaluations": 2},
    "submit": {"run": "1", "answer": "```python\n```", "tune": False, "brief": False},
    "verify": {"task_file": "none.py", "source": "x", "language": "triton", "target": "mi300x"},
    "roofline": {"task_file": "none.py", "target": "mi300x"},
    "decide_fact": {"fact": "abc", "verb": "accept", "reason": "so"},
    "decide_skill": {"skill": "a-skill", "verb": "accept", "reason": "so"},
    "remove_document": {"path": "none.md"},
}  # fmt: skip
"""Arguments of each call; each of them in its turn is replaced by what is bad."""

NESTED = {
    "minus": "-" * 39_000 + "1",
    "attributes": "x" + ".a" * 900,
    "calls": "x" + ".relu()" * 300,
    "sums": "1" + "+1" * 900,
    "brackets": "[" * 900 + "]" * 900,
    "functions": "lambda:" * 900 + "1",
}
TEXTS = [
    "", " ", "\0", "a\0b", "\ud800", "\udcff", "\ufeff", "\u202e", "\U0010ffff", "\r\n", "\x1b[31m", "é" * 300,
    "x" * 500_000, "٣",
    "../../people.json", "/etc/passwd", "C:\\x", "file:///etc/passwd", "a/../b", ".", "..", "-", "--help", "~", "%00",
    "%s%n", "{}", "{{7*7}}", "{% x %}", "${x}", "<b>", "'", '"', "';--", "%", "_", "*", "a*", "NEAR(a b)", "a AND",
    "NOT", "OR", "(", ")", "^a", "a:b", "col:", "\\", "[", "[a", "(?P<a", "a" * 65, "1e999", "nan", "-1", "0x10", "1_0",
    "99999999999999999999", "mi300x:99999999999999999999", "mi300x/guide.md:0", "mi300x/guide.md:-1", "a:1.5:2",
    "abc.99999999999999999999", "```python\nx", "null", "any", "all", "amd",
]  # fmt: skip
NUMBERS = [
    0, -1, 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63) - 1, 2**64, 10**400, 0.5, -0.0, 1e308, 1e-320,
    float("nan"), float("inf"), float("-inf"),
]  # fmt: skip
BAD = [*TEXTS, *NUMBERS, None, True, False, [], {}, [[]], [None], [1] * 500, ["a"] * 500, {"": ""}, {"a": {}}, [{}]]


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The place of each value in a JSON document, itself among them."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*path, key))


def replaced(value: Any, path: tuple[Any, ...], new: Any) -> Any:
    if not path:
        return new
    key, *rest = path
    copied = value.copy()
    copied[key] = replaced(value[key], tuple(rest), new)
    return copied


@pytest.fixture(scope="module")
def curator(stocked: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    """May everything, and has a folder of tasks, which is empty."""
    home = shutil.copytree(stocked, tmp_path_factory.mktemp("bad") / "home")
    settings = Settings(home=home, embedding_model="none", task_folders=(tmp_path_factory.mktemp("tasks"),))
    people = People(home)
    token = people.add("carol", Role.CURATOR)
    lanes = lanes_of(settings, lambda message: None)
    inside = application(settings, lanes, upload_bytes=UPLOAD_BYTES)
    guard = Guard(inside, people, frozenset({ORIGIN}), is_open=False, requests=Rate(1e6, 10**6))
    headers = {"authorization": f"Bearer {token}", "origin": ORIGIN}
    with TestClient(guard, ORIGIN, raise_server_exceptions=False, headers=headers, follow_redirects=False) as opened:
        yield opened
    for lane in lanes.values():
        lane.close()


def test_the_table_has_each_call_with_each_argument() -> None:
    assert {name: set(one) for name, one in GOOD.items()} == {
        name_of(call): set(arguments_of(call).model_fields) for call in CALLS
    }


def wrong(answer: Any) -> str:
    """What is wrong with an answer; empty if nothing is."""
    if answer.status_code not in (200, 422):
        return f"status {answer.status_code}: {answer.text[:300]}"
    said = answer.json()
    if answer.status_code == 422 and not (set(said) == {"message", "hint"} and all(said.values())):
        return f"no words: {said}"
    return ""


@pytest.mark.parametrize("some", [61, pytest.param(1, marks=pytest.mark.slow)], ids=["a part", "all"])
@pytest.mark.parametrize("call", GOOD)
def test_no_argument_of_a_call_makes_the_server_fail(curator: TestClient, call: str, some: int) -> None:
    failed = []
    for number, path in enumerate(places(GOOD[call])):
        for bad in BAD[number % some :: some]:
            body = json.dumps(replaced(GOOD[call], path, bad))
            if problem := wrong(curator.post(f"/api/{call}", content=body)):
                failed.append(f"{path} = {str(bad)[:40]!r}: {problem}")

    assert failed == []


@pytest.mark.parametrize("deep", NESTED.values(), ids=NESTED)
def test_a_task_that_is_nested_too_deep_is_refused(curator: TestClient, deep: str) -> None:
    task = TASK.replace("x.softmax(-1)", deep)

    answer = curator.post("/api/prompt", json=GOOD["prompt"] | {"task": task})

    assert answer.status_code == 422
    assert "the argument `task`" in answer.json()["message"]


BODIES = {
    "nothing": b"",
    "half an object": b"{",
    "a list": b"[]",
    "null": b"null",
    "a number": b"1",
    "bytes": b"\xff\xfe\x00",
    "a mark of byte order": b"\xef\xbb\xbf{}",
    "another encoding": "{}".encode("utf-16"),
    "two objects": b"{}{}",
    "many lists": b"[" * 100_000,
    "many objects": b'{"a":' * 100_000,
    "a lone surrogate": b'{"target": "\\ud800"}',
    "a long number": b'{"page": ' + b"9" * 5000 + b"}",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_no_body_of_a_call_makes_the_server_fail(curator: TestClient, body: bytes) -> None:
    assert [problem for call in GOOD if (problem := wrong(curator.post(f"/api/{call}", content=body)))] == []


@pytest.mark.parametrize("tool", [name for name in GOOD if f"kb_{name}" in {call.__name__ for call in CALLS}])
def test_no_argument_of_a_tool_makes_the_server_fail(curator: TestClient, tool: str) -> None:
    failed = []
    for number, path in enumerate(places(GOOD[tool])):
        for bad in BAD[number % 61 :: 61]:
            asked = {"name": f"kb_{tool}", "arguments": replaced(GOOD[tool], path, bad)}
            message = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": asked}
            answer = curator.post("/mcp", content=json.dumps(message))
            if answer.status_code >= 500 or re.search("Error executing tool|Traceback", answer.text):
                failed.append(f"{path} = {str(bad)[:40]!r}: {answer.status_code} {answer.text[:300]}")

    assert failed == []


QUERY = {
    "q": "wave", "also": "lanes", "target": "mi300x", "compare": "", "numbers": "1", "path": "mi300x/guide.md",
    "cited": "abc", "section": "0", "page": "1", "from": "0", "id": "abc", "name": "a-skill", "beside": "another",
    "run": "1", "number": "1", "seen": "0", "done": "abc",
}  # fmt: skip
"""Whatever a page takes."""


@pytest.mark.parametrize("page", PAGES)
def test_no_query_of_a_page_makes_the_server_fail(curator: TestClient, page: str) -> None:
    bad = [text for text in (*TEXTS, *map(str, NUMBERS[:8])) if text.isprintable() and len(text) < 1000]
    asked = [urlencode(QUERY | {name: text}) for number, name in enumerate(QUERY) for text in bad[number % 13 :: 13]]
    asked += ["%ff", "&&=&", "id=%ed%a0%80&path=%ed%a0%80&q=%00", "a=1&" * 2000]

    statuses = {query[:200]: curator.get(f"{page}?{query}").status_code for query in asked}

    assert {query: status for query, status in statuses.items() if status not in (200, 204, 303, 404)} == {}


@pytest.mark.parametrize("path", DECISIONS)
@pytest.mark.parametrize("kind", ["application/x-www-form-urlencoded", "multipart/form-data; boundary=b", "text/plain"])
def test_no_form_makes_the_server_fail(curator: TestClient, path: str, kind: str) -> None:
    [token, *_] = re.findall(r'name="token" value="([^"]+)"', curator.get("/facts?target=mi300x").text)
    form = {"token": token, "verb": "reject", "id": "abc", "name": "a-skill", "reason": "so", "target": "x"}
    bad = [text for text in TEXTS if text.isprintable() and len(text) < 1000]
    sent = [urlencode(form | {name: text}).encode() for name in form for text in bad[::5]]
    sent += [
        b"",
        b"%ff=%fe",
        b"=" * 50_000,
        b"a=1&" * 10_000,
        b"--b\r\n",
        b"--b\r\nContent-Disposition: x\r\n\r\nx--b--",
    ]
    headers = {"content-type": kind}

    statuses = {body[:200]: curator.post(path, content=body, headers=headers).status_code for body in sent}

    assert {body: status for body, status in statuses.items() if status not in (303, 400, 403, 409, 422)} == {}
