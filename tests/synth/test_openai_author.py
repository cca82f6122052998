"""Every way in which a server with OpenAI's API can fail, over a real connection to a server on this machine."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest

from synth.authors.author import Ask, AuthorError, Outcome, Reply, Usage
from synth.authors.openai import OpenAIAuthor
from tests.synth.model_server import ModelServer, serving
from tests.synth.model_server import Reply as Sent
from tests.synth.openai_wire import broken_off, completion, error, refused

ASK = Ask(system="rules", stable="the manual", said=("the task",), output_tokens=1000)
TEXT = "note: größer\n\n```cpp\nint x;\n```\n"
GOOD = completion(TEXT)
PAID = Usage(input_tokens=100, cache_read_tokens=11, output_tokens=20)


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "no-key")


class Asked:
    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self.author = OpenAIAuthor("some-model", f"{server.url}/v1", timeout_s=10)

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
        return caught.value


@contextmanager
def asking(*script: Sent) -> Iterator[Asked]:
    with serving(*script) as server:
        yield Asked(server)


def test_a_complete_answer_comes_with_what_it_cost() -> None:
    with asking(GOOD) as asked:
        assert asked.answer() == Reply(text=TEXT, usage=PAID, model="m")


@pytest.mark.parametrize(
    "sent",
    [
        completion(TEXT, reasoning_content="```cpp\nno\n```"),
        completion(TEXT, reasoning="```cpp\nno\n```"),
        completion(f"<think>\n```cpp\nno\n```\n</think>\n\n{TEXT}"),
    ],
    ids=["vLLM, llama.cpp", "Ollama", "in the text"],
)
def test_reasoning_is_no_part_of_the_answer(sent: Sent) -> None:
    with asking(sent) as asked:
        assert asked.answer().text == TEXT


def test_a_server_that_states_no_usage_is_counted_by_kb() -> None:
    with asking(completion("x" * 400, usage=None)) as asked:
        usage = asked.answer().usage

    assert (usage.output_tokens, usage.input_tokens) == (100, -(-len(ASK.text) // 4))


def test_the_request_begins_with_what_stays_the_same() -> None:
    ask = ASK.model_copy(update={"said": ("the task", " ", "what was wrong")})
    with asking(GOOD) as asked:
        asked.answer(ask)
        [sent], [headers] = asked.server.requests, asked.server.headers

    assert sent["messages"] == [
        {"role": "system", "content": "rules"},
        {"role": "user", "content": "the manual\n\nthe task"},
        {"role": "assistant", "content": "(nothing)"},
        {"role": "user", "content": "what was wrong"},
    ]
    assert (sent["model"], sent["max_tokens"], sent["stream"]) == ("some-model", 1000, True)
    assert headers["authorization"] == "Bearer no-key"


def test_a_server_of_ones_own_needs_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY")
    with asking(GOOD) as asked:
        asked.answer()

    assert "authorization" not in asked.server.headers[0]


def test_a_model_that_wants_its_limit_under_another_name_gets_it() -> None:
    told = "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."
    with asking(refused(400, error("unsupported_parameter", told)), GOOD) as asked:
        asked.answer()

    assert [sorted(name for name in sent if name.startswith("max")) for sent in asked.server.requests] == [
        ["max_tokens"],
        ["max_completion_tokens"],
    ]


VLLM_FULL = {"object": "error", "message": "This model's maximum context length is 4096 tokens.", "code": 400}


@pytest.mark.parametrize(
    ("sent", "outcome"),
    [
        (refused(400, error("invalid_value")), Outcome.INVALID),
        (refused(400, error("context_length_exceeded")), Outcome.CONTEXT_FULL),
        (refused(400, VLLM_FULL), Outcome.CONTEXT_FULL),
        (refused(400, {"error": {"code": 400, "type": "exceed_context_size_error"}}), Outcome.CONTEXT_FULL),
        (refused(401, error("invalid_api_key")), Outcome.KEY_REFUSED),
        (refused(404, {"error": "model not found"}), Outcome.INVALID),
        (refused(429, error("rate_limit_exceeded")), Outcome.RATE_LIMITED),
        (refused(429, error("insufficient_quota")), Outcome.KEY_REFUSED),
        (refused(500, error("")), Outcome.OVERLOADED),
        (refused(503, []), Outcome.OVERLOADED),
        (replace(refused(502, ""), body=b"<html>"), Outcome.OVERLOADED),
        (refused(529, error("")), Outcome.OVERLOADED),
        (Sent(b"<html>", headers={"Content-Type": "text/html"}), Outcome.INVALID),
    ],
    ids=lambda value: str(value.status) if isinstance(value, Sent) else "",
)
def test_a_request_that_is_refused_costs_nothing_and_is_sent_once(sent: Sent, outcome: Outcome) -> None:
    with asking(sent) as asked:
        failure = asked.fail()

    assert (failure.outcome, failure.usage, len(asked.server.requests)) == (outcome, Usage(), 1)


def test_the_pause_that_the_service_asks_for_is_told() -> None:
    with asking(refused(429, error(""), **{"retry-after": "7"})) as asked:
        assert asked.fail().retry_after_s == 7
    with asking(refused(429, error(""), **{"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"})) as asked:
        assert asked.fail().retry_after_s == 0


@pytest.mark.parametrize(
    ("code", "outcome"), [("server_error", Outcome.OVERLOADED), ("rate_limit_exceeded", Outcome.RATE_LIMITED)]
)
def test_an_error_after_status_200_is_told_by_its_name_with_what_was_paid(code: str, outcome: Outcome) -> None:
    with asking(broken_off(code)) as asked:
        failure = asked.fail()

    assert (failure.outcome, failure.usage) == (outcome, ASK.counted("```"))


@pytest.mark.parametrize("step", [23, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("chunked", [True, False])
def test_an_answer_that_is_cut_at_any_byte_is_whole_or_not_believed(step: int, chunked: bool) -> None:
    cuts = [*range(0, len(GOOD.body), step), GOOD.body.index("ö".encode()) + 1]
    with asking(*(GOOD.cut(at, chunked=chunked) for at in cuts)) as asked:
        for at in cuts:
            came = asked.came()
            if isinstance(came, Reply):
                assert came.text == TEXT
                assert came.usage in (PAID, ASK.counted(TEXT))
            else:
                assert came.outcome is Outcome.CUT
                assert came.usage.total <= ASK.counted(TEXT).total
                assert came.usage.total or at < 200


@pytest.mark.parametrize(
    ("sent", "outcome", "said"),
    [
        (completion("```cpp", finish="length"), Outcome.TRUNCATED, "longer than 20 tokens"),
        (completion("", finish="content_filter"), Outcome.REFUSED, "no reason given"),
        (completion("", refusal="I will not."), Outcome.REFUSED, "I will not."),
    ],
)
def test_a_reply_that_is_no_answer_is_told_and_paid(sent: Sent, outcome: Outcome, said: str) -> None:
    with asking(sent) as asked:
        failure = asked.fail()

    assert (failure.outcome, failure.usage) == (outcome, PAID)
    assert said in failure.message


@pytest.mark.parametrize("late", [{"late_s": 0.6}, {"pause_s": 0.6}], ids=["before the answer", "within the answer"])
def test_silence_is_a_timeout(late: dict[str, float]) -> None:
    with asking(replace(GOOD, **late)) as asked:
        asked.author = replace(asked.author, timeout_s=0.2)
        failure = asked.fail()

    assert failure.outcome is Outcome.TIMED_OUT
    assert bool(failure.usage.total) == ("pause_s" in late)


def test_a_server_on_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_PROXY")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    with asking(GOOD) as asked:
        assert asked.answer().usage == PAID


def test_silence_after_the_end_of_an_answer_loses_nothing() -> None:
    whole = GOOD.body.replace(b"data: [DONE]\n\n", b"")
    with asking(replace(GOOD, body=whole + b": wait\n\n" * len(whole), pause_s=0.6)) as asked:
        asked.author = replace(asked.author, timeout_s=0.2)
        assert asked.answer().usage == PAID


def test_nobody_listens() -> None:
    with serving(GOOD) as server:
        url = server.url

    with pytest.raises(AuthorError, match=url) as caught:
        OpenAIAuthor("some-model", url).answer(ASK)
    assert caught.value.outcome is Outcome.UNREACHABLE


def test_a_key_that_cannot_be_sent_is_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret\n")
    with asking(GOOD) as asked:
        failure = asked.fail()

    assert (failure.outcome, asked.server.requests) == (Outcome.KEY_REFUSED, [])
    assert "secret" not in "".join(traceback.format_exception(failure))
