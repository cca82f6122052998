"""What a run pays over real connections in both wire formats: each request counts once, with what the service charged.

`test_anthropic_author` and `test_openai_author` try each failure of one request; here `Desk` goes on after it.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import pairwise

import pytest

from synth.authors.anthropic import AnthropicAuthor
from synth.authors.asking import OUTPUT_TOKENS, PAUSES_S, Exchange, Notes, Spent
from synth.authors.author import Author, AuthorError, Outcome, Usage
from synth.authors.openai import OpenAIAuthor
from tests.synth.model_server import ModelServer, answer, failure, failure_midway, serving
from tests.synth.model_server import Reply as Sent
from tests.synth.openai_wire import broken_off, completion, error, refused
from tests.synth.scripted import desk_of

TEXT = "note: größer\n\n```cpp\nint x;\n```\n"
FORMS = ("anthropic", "openai")
PAID = {
    "anthropic": Usage(input_tokens=100, cache_write_tokens=10, cache_read_tokens=1, output_tokens=20),
    "openai": Usage(input_tokens=100, cache_read_tokens=11, output_tokens=20),
}
SENT: dict[str, dict[str, Callable[[], Sent]]] = {
    "anthropic": {
        "good": lambda: answer(TEXT),
        "good after reasoning": lambda: answer(TEXT, thinking="```cpp\nno\n```"),
        "429": lambda: failure(429, "rate_limit_error"),
        "429 for 7 s": lambda: failure(429, "rate_limit_error", **{"retry-after-ms": "7000"}),
        "429 for an hour": lambda: failure(429, "rate_limit_error", **{"retry-after-ms": "3600000"}),
        "500": lambda: failure(500, "api_error"),
        "529": lambda: failure(529, "overloaded_error"),
        "error after 200": lambda: failure_midway("overloaded_error"),
        "cut": lambda: answer(TEXT).cut(600, chunked=True),
        "too long": lambda: answer("```cpp", stop_reason="max_tokens"),
        "refusal": lambda: answer("", stop_reason="refusal"),
        "401": lambda: failure(401, "authentication_error"),
    },
    "openai": {
        "good": lambda: completion(TEXT),
        "good after reasoning": lambda: completion(TEXT, reasoning_content="```cpp\nno\n```"),
        "429": lambda: refused(429, error("rate_limit_exceeded")),
        "429 for 7 s": lambda: refused(429, error("rate_limit_exceeded"), **{"retry-after": "7"}),
        "429 for an hour": lambda: refused(429, error("rate_limit_exceeded"), **{"retry-after": "3600"}),
        "500": lambda: refused(500, error("server_error")),
        "529": lambda: refused(529, error("")),
        "error after 200": lambda: broken_off("server_error"),
        "cut": lambda: completion(TEXT).cut(600, chunked=True),
        "too long": lambda: completion("```cpp", finish="length"),
        "refusal": lambda: completion("", refusal="I will not."),
        "401": lambda: refused(401, error("invalid_api_key")),
    },
}


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "no-key")


class Ledger(Notes):
    """Remembers every record in order, as a journal does."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[Exchange] = []

    def record(self, exchange: Exchange) -> None:
        super().record(exchange)
        self.lines.append(exchange)


@dataclass
class Asked:
    """A question that was put to a service until there was an answer or none could come."""

    server: ModelServer
    ledger: Ledger
    slept: list[float]
    outcome: Outcome | None
    text: str = ""


def author_of(form: str, server: ModelServer) -> Author:
    return (
        AnthropicAuthor("m", server.url, timeout_s=10)
        if form == "anthropic"
        else OpenAIAuthor("m", f"{server.url}/v1", timeout_s=10)
    )


@contextmanager
def asked(form: str, *script: Sent) -> Iterator[Asked]:
    with serving(*script) as server:
        ledger, slept = Ledger(), list[float]()
        desk = desk_of(author_of(form, server), ledger=ledger, sleep=slept.append)
        try:
            yield Asked(server, ledger, slept, None, desk.ask("rules", "the task", stable="the manual").text)
        except AuthorError as failed:
            yield Asked(server, ledger, slept, failed.outcome)


SCRIPTS: dict[str, tuple[tuple[str, ...], tuple[Outcome | None, ...], int]] = {
    # what the service sends, what became of each request, and how many of them were charged in full
    "a good answer": (("good",), (None,), 1),
    "an answer after reasoning": (("good after reasoning",), (None,), 1),
    "a burst of 529": (("529", "529", "529", "good"), (Outcome.OVERLOADED,) * 3 + (None,), 1),
    "a burst of 429": (("429", "429 for 7 s", "429", "good"), (Outcome.RATE_LIMITED,) * 3 + (None,), 1),
    "a mixed burst": (("500", "429", "good"), (Outcome.OVERLOADED, Outcome.RATE_LIMITED, None), 1),
    "a burst without end": (("529",), (Outcome.OVERLOADED,) * (len(PAUSES_S) + 1), 0),
    "a pause of an hour": (("429 for an hour", "good"), (Outcome.RATE_LIMITED,), 0),
    "an error after status 200": (("error after 200", "good"), (Outcome.OVERLOADED, None), 1),
    "a cut": (("cut", "good"), (Outcome.CUT, None), 1),
    "a cut, an error after 200, a 529": (
        ("cut", "error after 200", "529", "good"),
        (Outcome.CUT, Outcome.OVERLOADED, Outcome.OVERLOADED, None),
        1,
    ),
    "max_tokens once": (("too long", "good"), (Outcome.TRUNCATED, None), 2),
    "max_tokens twice": (("too long",), (Outcome.TRUNCATED,) * 2, 2),
    "a refusal": (("refusal",), (Outcome.REFUSED,), 1),
    "a key that is refused after a burst": (("529", "401"), (Outcome.OVERLOADED, Outcome.KEY_REFUSED), 0),
}  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", SCRIPTS)
def test_each_request_is_counted_once_with_what_it_cost(form: str, name: str) -> None:
    sent, outcomes, in_full = SCRIPTS[name]
    with asked(form, *(SENT[form][one]() for one in sent)) as found:
        lines, exchanges = found.ledger.lines, list(found.ledger.exchanges)

        assert tuple(one.outcome for one in exchanges) == outcomes
        assert found.outcome == outcomes[-1]
        assert found.text == (TEXT if outcomes[-1] is None else "")
        assert len(found.server.requests) == len(exchanges), "nothing is sent that is not counted"
        assert [(one.number, one.answered) for one in lines] == [
            (number, answered) for number in range(1, len(exchanges) + 1) for answered in (False, True)
        ]
        begun = [one for one, came in zip(sent, exchanges, strict=False) if one in ("cut", "error after 200")]
        charged = [one.usage for one in exchanges if one.usage.total]
        assert charged.count(PAID[form]) == in_full
        assert len(charged) == in_full + len(begun), "what was refused at once costs nothing"
        assert all(one.input_tokens and one.total <= PAID[form].total for one in charged)
        assert Spent.of(exchanges).usage == sum(charged, Usage())
        if "429 for 7 s" in sent:
            assert found.slept[1] == max(PAUSES_S[1], 7.0)
        if name.startswith("max_tokens"):
            limits = [next(v for k, v in one.items() if k.startswith("max")) for one in found.server.requests]
            assert limits == [OUTPUT_TOKENS, 2 * OUTPUT_TOKENS]


@pytest.mark.parametrize("step", [97, pytest.param(1, marks=pytest.mark.slow)])
@pytest.mark.parametrize("form", FORMS)
def test_wherever_an_answer_is_cut_it_is_asked_for_once_more_and_each_is_counted(form: str, step: int) -> None:
    good = SENT[form]["good"]()
    spent = []
    for at in range(0, len(good.body), step):
        with asked(form, good.cut(at, chunked=bool(at % 2)), good) as found:
            first, *more = found.ledger.exchanges
            assert found.text == TEXT
            assert len(found.server.requests) == 1 + len(more)
            assert [one.outcome for one in (first, *more)] == ([Outcome.CUT, None] if more else [None])
            assert not more or more[0].usage == PAID[form]
            spent.append(first.usage.total)
    assert all(one <= two for one, two in pairwise(spent[:-2])), "the more came, the more it cost"
