"""Every way in which Anthropic's service can fail, over a real connection to a server on this machine."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from synth.authors.anthropic import AnthropicAuthor
from synth.authors.author import HINTS, Ask, AuthorError, Outcome, Reply, Usage
from tests.synth.model_server import ModelServer, answer, failure, failure_midway, serving
from tests.synth.model_server import Reply as Sent

ASK = Ask(system="rules", stable="the manual", said=("the task",), output_tokens=1000)
GOOD = answer("note: größer\n\n```cpp\nint x;\n```\n")
PAID = Usage(input_tokens=100, cache_write_tokens=10, cache_read_tokens=1, output_tokens=20)
PAID_FOR_A_BEGINNING = PAID.model_copy(update={"output_tokens": 1})


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")


class Asked:
    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.author = AnthropicAuthor("some-model", server.url, timeout_s=10)

    def answer(self, ask: Ask = ASK) -> Reply:
        return self.author.answer(ask)

    def came(self) -> Reply | AuthorError:
        try:
            return self.answer()
        except AuthorError as error:
            return error

    def fail(self) -> AuthorError:
        with pytest.raises(AuthorError) as caught:
            self.answer()
        assert caught.value.hint == HINTS[caught.value.outcome]
        return caught.value


@contextmanager
def asking(*script: Sent) -> Iterator[Asked]:
    with serving(*script) as server:
        yield Asked(server)


def test_a_complete_answer_comes_with_what_it_cost() -> None:
    with asking(GOOD) as asked:
        reply = asked.answer()

    assert reply == Reply(text="note: größer\n\n```cpp\nint x;\n```\n", usage=PAID, model="m")


def test_reasoning_is_paid_for_and_not_part_of_the_answer() -> None:
    with asking(answer("the kernel", thinking="```cpp\nno\n```", output_tokens=500)) as asked:
        reply = asked.answer()

    assert (reply.text, reply.usage.output_tokens) == ("the kernel", 500)


def test_the_request_is_the_prompt_with_its_stable_part_to_be_cached() -> None:
    ask = ASK.model_copy(update={"said": ("the task", " ", "what was wrong")})
    with asking(GOOD) as asked:
        asked.answer(ask)
        [sent] = asked.server.requests

    first, theirs, ours = sent.pop("messages")
    assert sent == {"model": "some-model", "max_tokens": 1000, "system": "rules", "stream": True}
    assert first["content"] == [
        {"type": "text", "text": "the manual", "cache_control": {"type": "ephemeral"}},
        {"type": "text", "text": "the task"},
    ]
    assert (theirs, ours["content"]) == ({"role": "assistant", "content": "(nothing)"}, "what was wrong")


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (failure(400, "invalid_request_error"), Outcome.INVALID),
        (failure(401, "authentication_error"), Outcome.KEY_REFUSED),
        (failure(402, "billing_error"), Outcome.KEY_REFUSED),
        (failure(403, "permission_error"), Outcome.KEY_REFUSED),
        (failure(404, "not_found_error"), Outcome.INVALID),
        (failure(413, "request_too_large"), Outcome.CONTEXT_FULL),
        (failure(429, "rate_limit_error"), Outcome.RATE_LIMITED),
        (failure(500, "api_error"), Outcome.OVERLOADED),
        (failure(504, "timeout_error"), Outcome.OVERLOADED),
        (failure(529, "overloaded_error"), Outcome.OVERLOADED),
        (replace(failure(502, ""), body=b"<html>"), Outcome.OVERLOADED),
        (Sent(b"<html>", headers={"Content-Type": "text/html"}), Outcome.INVALID),
        (Sent(b"{}", headers={"Content-Type": "application/json"}), Outcome.INVALID),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Sent) else "",
)
def test_a_request_that_is_refused_costs_nothing_and_is_sent_once(sent: Sent, outcome: Outcome) -> None:
    with asking(sent) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage, len(asked.server.requests)) == (outcome, Usage(), 1)


def test_the_pause_that_the_service_asks_for_is_told() -> None:
    with asking(failure(429, "rate_limit_error", **{"retry-after-ms": "1500"})) as asked:
        assert asked.fail().retry_after_s == 1.5
    seconds = replace(failure(529, "overloaded_error"), headers={"retry-after": "7"})
    with asking(seconds) as asked:
        assert asked.fail().retry_after_s == 7


@pytest.mark.parametrize(
    ("kind", "outcome"),
    [
        ("overloaded_error", Outcome.OVERLOADED),
        ("api_error", Outcome.OVERLOADED),
        ("rate_limit_error", Outcome.RATE_LIMITED),
        ("invalid_request_error", Outcome.INVALID),
    ],
)
def test_an_error_after_status_200_is_told_by_its_name_with_what_was_paid(kind: str, outcome: Outcome) -> None:
    with asking(failure_midway(kind)) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage) == (outcome, PAID_FOR_A_BEGINNING)


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_that_is_cut_at_any_byte_is_whole_or_not_believed(step: int, chunked: bool) -> None:
    begun = GOOD.body.index(b"event: content_block_start")
    stopped = GOOD.body.index(b"event: message_stop")
    cuts = [*range(0, len(GOOD.body), step), GOOD.body.index("ö".encode()) + 1]
    with asking(*(GOOD.cut(at, chunked=chunked) for at in cuts)) as asked:
        for at in cuts:
            came = asked.came()
            if isinstance(came, Reply):
                assert (came.usage, came.text.endswith("```\n")) == (PAID, True)
            else:
                assert (came.outcome, at < stopped) == (Outcome.CUT, True)
                known = came.usage.model_copy(update={"output_tokens": 1})
                assert known == PAID_FOR_A_BEGINNING if at > begun else known.total in (1, PAID_FOR_A_BEGINNING.total)


@pytest.mark.parametrize(
    ("sent", "outcome", "said"),
    [
        (
            answer("", stop_reason="refusal", stop_details={"type": "refusal", "category": "cyber"}),
            Outcome.REFUSED,
            "cyber",
        ),
        (answer("", stop_reason="refusal"), Outcome.REFUSED, "no reason given"),
        (answer("```cpp", stop_reason="max_tokens"), Outcome.TRUNCATED, "longer than 20 tokens"),
        (answer("```cpp", stop_reason="model_context_window_exceeded"), Outcome.CONTEXT_FULL, "context"),
    ],
)
def test_a_reply_that_is_no_answer_is_told_and_paid(sent: Sent, outcome: Outcome, said: str) -> None:
    with asking(sent) as asked:
        error = asked.fail()

    assert (error.outcome, error.usage) == (outcome, PAID)
    assert said in error.message


@pytest.mark.parametrize(
    ("sent", "usage"),
    [
        (replace(GOOD, late_s=0.6), Usage()),
        (replace(GOOD, pause_s=0.6), PAID_FOR_A_BEGINNING),
        (replace(failure(500, "api_error"), pause_s=0.6), Usage()),
    ],
    ids=["before the answer", "within the answer", "within an error"],
)
def test_silence_is_a_timeout(sent: Sent, usage: Usage) -> None:
    with asking(sent) as asked:
        asked.author = replace(asked.author, timeout_s=0.2)
        error = asked.fail()

    assert error.outcome is Outcome.TIMED_OUT
    assert error.usage.input_tokens == usage.input_tokens


def test_a_server_on_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with asking(GOOD) as asked:
        assert asked.answer().usage == PAID


def test_silence_after_the_end_of_an_answer_loses_nothing() -> None:
    whole = GOOD.body[: GOOD.body.index(b"event: message_stop")]
    with asking(replace(GOOD, body=whole + b": wait\n\n" * len(whole), pause_s=0.6)) as asked:
        asked.author = replace(asked.author, timeout_s=0.2)
        assert asked.answer().usage == PAID


def test_nobody_listens() -> None:
    with serving(GOOD) as server:
        url = server.url

    with pytest.raises(AuthorError, match=url) as caught:
        AnthropicAuthor("some-model", url).answer(ASK)
    assert caught.value.outcome is Outcome.UNREACHABLE


def test_without_a_key_nothing_is_sent(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "ANTHROPIC_CONFIG_DIR", "ANTHROPIC_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with asking(GOOD) as asked:
        error = asked.fail()

    assert (error.outcome, asked.server.requests) == (Outcome.KEY_MISSING, [])


def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret\n")
    with asking(GOOD) as asked:
        error = asked.fail()

    assert (error.outcome, asked.server.requests) == (Outcome.KEY_REFUSED, [])
    assert "secret" not in "".join(traceback.format_exception(error))


def test_a_named_profile_that_is_not_there_is_a_missing_key(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("ANTHROPIC_API_KEY")
    monkeypatch.setenv("ANTHROPIC_CONFIG_DIR", str(tmp_path))
    monkeypatch.setenv("ANTHROPIC_PROFILE", "absent")
    with asking(GOOD) as asked:
        assert asked.fail().outcome is Outcome.KEY_MISSING
