"""Every way in which a model's service can fail, over a real connection to a server on this machine."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from eval.languages.registry import CPP
from kb.types.protocols import Proposal, Request
from synth.authors.anthropic import AnthropicModel
from synth.authors.chat import HINTS, ModelError, ModelOutcome
from synth.authors.model import ModelSynthesizer
from synth.prompts.prompt import build_prompt
from tests.synth.model_server import ModelServer, Reply, answer, failure, failure_midway, serving
from tests.synth.samples import CPP_SOURCE, request, warm

REQUEST = request(CPP)
GOOD = answer(f"note: größer\n\n```cpp\n{CPP_SOURCE}```\n")
BAD = answer("I would rather not say.")
PAID = {"input_tokens": 100, "cache_creation_input_tokens": 10, "cache_read_input_tokens": 1, "output_tokens": 20}
PAID_FOR_A_BEGINNING = PAID | {"output_tokens": 1}


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")


class Asked:
    """What came of one request, and what it took."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.slept_s: list[float] = []
        self.model = AnthropicModel("some-model", server.url, max_tokens=1000, timeout_s=10, sleep=self.slept_s.append)

    @property
    def requests(self) -> list[dict]:
        return self.server.requests

    def propose(self, request: Request = REQUEST) -> Proposal:
        return ModelSynthesizer(self.model).propose(request)

    def fail(self) -> ModelError:
        with pytest.raises(ModelError) as caught:
            self.propose()
        assert caught.value.hint == HINTS[caught.value.outcome]
        return caught.value


@contextmanager
def asking(*script: Reply) -> Iterator[Asked]:
    with serving(*script) as server:
        yield Asked(server)


def times(count: int, paid: dict[str, int] = PAID) -> dict[str, int]:
    return {kind: count * tokens for kind, tokens in paid.items()}


def test_an_answer_becomes_a_proposal() -> None:
    with asking(GOOD) as asked:
        proposal = asked.propose()

    assert (proposal.candidate.source, proposal.note, proposal.usage) == (CPP_SOURCE, "größer", PAID)


def test_the_request_is_the_prompt_with_its_stable_part_to_be_cached() -> None:
    prompt = build_prompt(warm())
    with asking(GOOD) as asked:
        proposal = asked.propose(warm())
        [sent] = asked.requests

    [message] = sent.pop("messages")
    assert sent == {"model": "some-model", "max_tokens": 1000, "system": prompt.rules, "stream": True}
    assert message["content"] == [
        {"type": "text", "text": prompt.stable, "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": prompt.rest},
    ]
    assert proposal.skills_used == prompt.skills


@pytest.mark.parametrize(
    ("reply", "outcome", "requests"),
    [
        (failure(400, "invalid_request_error"), ModelOutcome.BAD_REQUEST, 1),
        (failure(401, "authentication_error"), ModelOutcome.KEY_REFUSED, 1),
        (failure(402, "billing_error"), ModelOutcome.KEY_REFUSED, 1),
        (failure(403, "permission_error"), ModelOutcome.KEY_REFUSED, 1),
        (failure(404, "not_found_error"), ModelOutcome.BAD_REQUEST, 1),
        (failure(413, "request_too_large"), ModelOutcome.CONTEXT_FULL, 1),
        (failure(429, "rate_limit_error"), ModelOutcome.RATE_LIMITED, 3),
        (failure(500, "api_error"), ModelOutcome.OVERLOADED, 3),
        (failure(504, "timeout_error"), ModelOutcome.TIMED_OUT, 3),
        (failure(529, "overloaded_error"), ModelOutcome.OVERLOADED, 3),
        (replace(failure(502, ""), body=b"<html>"), ModelOutcome.OVERLOADED, 3),
        (Reply(b"<html>", headers={"Content-Type": "text/html"}), ModelOutcome.BAD_REQUEST, 1),
        (Reply(b"{}", headers={"Content-Type": "application/json"}), ModelOutcome.BAD_REQUEST, 1),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Reply) else "",
)
def test_a_request_that_is_refused_costs_nothing(reply: Reply, outcome: ModelOutcome, requests: int) -> None:
    with asking(reply) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage, asked.slept_s, len(asked.requests)) == (outcome, {}, [], requests)


def test_a_rate_limit_that_passes_is_waited_out() -> None:
    with asking(failure(429, "rate_limit_error", **{"retry-after": "0.01"}), GOOD) as asked:
        assert asked.propose().usage == PAID


@pytest.mark.parametrize("kind", ["overloaded_error", "api_error", "rate_limit_error"])
def test_an_answer_that_the_service_breaks_off_is_asked_for_again(kind: str) -> None:
    with asking(failure_midway(kind), GOOD) as asked:
        proposal = asked.propose()

    assert proposal.usage == PAID | {kind: PAID[kind] + PAID_FOR_A_BEGINNING[kind] for kind in PAID}
    assert asked.slept_s == [2.0]


def test_it_is_asked_for_only_so_often() -> None:
    with asking(failure_midway("overloaded_error")) as asked:
        error = asked.fail()

    assert error.outcome is ModelOutcome.OVERLOADED
    assert error.usage == times(4, PAID_FOR_A_BEGINNING)
    assert asked.slept_s == [2.0, 8.0, 30.0]


def test_an_error_midway_that_will_not_pass_is_not_asked_again() -> None:
    with asking(failure_midway("invalid_request_error")) as asked:
        error = asked.fail()

    assert (error.outcome, len(asked.requests)) == (ModelOutcome.BAD_REQUEST, 1)


WITHIN_A_LETTER = GOOD.body.index("ö".encode()) + 1
UNTIL_THE_STOP_REASON = GOOD.body.index(b"event: message_delta")


@pytest.mark.parametrize("chunked", [True, False])
@pytest.mark.parametrize("at", [0, 50, *range(200, UNTIL_THE_STOP_REASON, 301), WITHIN_A_LETTER, UNTIL_THE_STOP_REASON])
def test_an_answer_that_is_cut_is_not_believed(at: int, chunked: bool) -> None:
    with asking(GOOD.cut(at, chunked=chunked)) as asked:
        error = asked.fail()

    begun = at > GOOD.body.index(b"event: content_block_start")
    assert error.outcome is ModelOutcome.TRUNCATED
    assert error.usage in ([times(2, PAID_FOR_A_BEGINNING)] if begun else [{}, times(2, PAID_FOR_A_BEGINNING)])
    assert len(asked.requests) == 2


def test_an_answer_that_is_too_long_gets_twice_the_room_once() -> None:
    long = answer(f"```cpp\n{CPP_SOURCE}```\n", stop_reason="max_tokens")
    with asking(long, GOOD) as asked:
        assert asked.propose().usage == times(2)
        assert [sent["max_tokens"] for sent in asked.requests] == [1000, 2000]
    with asking(long) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage) == (ModelOutcome.TRUNCATED, times(2))


@pytest.mark.parametrize(
    ("reply", "outcome", "said"),
    [
        (
            answer("", stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber"}),
            ModelOutcome.REFUSED,
            "cyber",
        ),
        (answer("", stop_reason="refusal"), ModelOutcome.REFUSED, "no reason given"),
        (answer("```cpp", stop_reason="model_context_window_exceeded"), ModelOutcome.CONTEXT_FULL, "context"),
    ],
)
def test_a_refusal_and_a_full_context_are_told_and_paid(reply: Reply, outcome: ModelOutcome, said: str) -> None:
    with asking(reply) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage, len(asked.requests)) == (outcome, PAID, 1)
    assert said in error.message


def test_after_an_answer_without_a_kernel_the_model_is_told_what_is_wrong() -> None:
    with asking(BAD, GOOD) as asked:
        proposal = asked.propose()

    assert proposal.usage == times(2)
    first, second = (sent["messages"] for sent in asked.requests)
    assert second[:2] == [*first, {"role": "assistant", "content": "I would rather not say."}]
    assert "found no fenced code block" in second[2]["content"]


@pytest.mark.parametrize("text", ["", " \n"])
def test_an_empty_answer_is_not_sent_back_empty(text: str) -> None:
    with asking(answer(text)) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage, len(asked.requests)) == (ModelOutcome.BAD_ANSWER, times(2), 2)
    assert asked.requests[1]["messages"][1]["content"].strip()


@pytest.mark.parametrize(
    ("reply", "usage"),
    [
        (replace(GOOD, late_s=0.6), {}),
        (replace(GOOD, pause_s=0.6), PAID_FOR_A_BEGINNING),
        (replace(failure(500, "api_error"), pause_s=0.6), {}),
    ],
    ids=["before the answer", "within the answer", "within an error"],
)
def test_silence_is_a_timeout(reply: Reply, usage: dict[str, int]) -> None:
    with asking(reply) as asked:
        asked.model = replace(asked.model, timeout_s=0.2, max_retries=0)
        error = asked.fail()

    assert error.outcome is ModelOutcome.TIMED_OUT
    assert error.usage == usage


def test_nobody_listens() -> None:
    with serving(GOOD) as server:
        url = server.url

    with pytest.raises(ModelError, match=url) as caught:
        AnthropicModel("some-model", url, max_retries=0).answer("rules", "text")
    assert caught.value.outcome is ModelOutcome.CONNECTION_LOST


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with asking(GOOD) as asked:
        error = asked.fail()

    assert (error.outcome, asked.requests) == (ModelOutcome.KEY_MISSING, [])
    assert "ANTHROPIC_API_KEY" in error.hint


def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret\n")
    with asking(GOOD) as asked:
        asked.model = replace(asked.model, max_retries=0)
        error = asked.fail()

    assert (error.outcome, asked.requests) == (ModelOutcome.KEY_REFUSED, [])
    assert "secret" not in "".join(traceback.format_exception(error))


def test_a_named_profile_that_is_not_there_is_a_missing_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "absent")
    with asking(GOOD) as asked:
        assert asked.fail().outcome is ModelOutcome.KEY_MISSING
