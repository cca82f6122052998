"""Who sends too many requests, or too many wrong tokens, waits; nobody else does."""

from dataclasses import replace

import pytest
from starlette.testclient import TestClient

from kb.serve import rate
from kb.serve.people import Role
from kb.serve.rate import Rate
from tests.serve.conftest import ORIGIN, Team

READER, AUTHOR, CURATOR = Role
WRONG = {"authorization": "Bearer kb_" + "x" * 43}


class Clock:
    """Shows the time that a test sets."""

    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.setattr(rate, "monotonic", clock := Clock())
    return clock


def test_a_sender_may_make_its_burst_and_then_one_after_another(clock: Clock) -> None:
    few = Rate(2.0, 3)

    assert [few.wait_s("a") for _ in range(5)] == [0, 0, 0, 0.5, 0.5]
    clock.now_s += 0.5
    assert [few.wait_s("a"), few.wait_s("a")] == [0, 0.5]
    assert few.wait_s("b") == 0


@pytest.mark.parametrize("per_s", [0.1, 3.0, 50.0])
def test_in_the_long_run_a_sender_makes_as_many_as_its_rate_however_it_tries(clock: Clock, per_s: float) -> None:
    limited, passed = Rate(per_s, 5), 0
    for _ in range(5000):
        clock.now_s += 0.1 / per_s
        passed += limited.wait_s("a") == 0

    assert passed == pytest.approx(5000 / 10 + 4, abs=1)


def test_a_sender_that_waits_as_long_as_it_is_told_is_let_in(clock: Clock) -> None:
    limited = Rate(3.0, 2)
    for _ in range(50):
        clock.now_s += limited.wait_s("a")
        assert limited.wait_s("a") == 0 or limited.wait_s("a") <= 1 / 3 + 1e-9


def test_senders_that_went_away_take_no_memory(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rate, "SENDERS", 10)
    limited = Rate(1.0, 1)
    for number in range(1000):
        clock.now_s += 0.5
        limited.wait_s(str(number))

    assert len(limited._due_s) <= 11


def test_a_person_who_sends_too_much_waits_and_others_do_not(team: Team, clock: Clock) -> None:
    with TestClient(replace(team.guard, requests=Rate(2.0, 3)), base_url=ORIGIN) as client:
        statuses = [client.get("/api", headers=team.headers(READER)).status_code for _ in range(3)]
        refused = client.get("/api", headers=team.headers(READER))
        other = client.get("/api", headers=team.headers(AUTHOR))
        clock.now_s += int(refused.headers["retry-after"])
        again = client.get("/api", headers=team.headers(READER))

    assert (statuses, refused.status_code, other.status_code, again.status_code) == ([200] * 3, 429, 200, 200)
    assert "the-reader" in refused.json()["message"]
    assert "Retry-After" in refused.json()["hint"]


def test_a_person_has_one_rate_for_the_page_for_agents_and_for_programs(team: Team, clock: Clock) -> None:
    with TestClient(replace(team.guard, requests=Rate(1.0, 3)), base_url=ORIGIN) as client:
        asked = (("GET", "/"), ("POST", "/mcp"), ("POST", "/api/targets"), ("GET", "/static/style.css"))
        statuses = [client.request(*each, headers=team.headers(READER)).status_code for each in asked]

    assert statuses[-1] == 429
    assert 429 not in statuses[:-1]


def test_wrong_tokens_are_put_off_and_keep_nobody_out(team: Team, clock: Clock) -> None:
    with TestClient(replace(team.guard, wrong_tokens=Rate(1.0, 3)), base_url=ORIGIN) as client:
        statuses = [client.get("/api", headers=WRONG).status_code for _ in range(4)]
        refused = client.get("/api", headers=WRONG | {"authorization": "Basic bm8="})

        assert statuses == [401, 401, 401, 429]
        assert refused.status_code == 429
        assert int(refused.headers["retry-after"]) >= 1
        assert client.get("/api", headers=team.headers(READER)).status_code == 200
        assert client.get("/api").status_code == 401, "a browser that has no token yet is asked for it"
        clock.now_s += 1
        assert client.get("/api", headers=WRONG).status_code == 401
