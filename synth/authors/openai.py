"""A model behind any server that speaks OpenAI's chat completions: vLLM, llama.cpp, Ollama, hosted ones.

The wire format, with the parts that servers add: `reasoning_content` or `reasoning` beside the text, an `error` after
status 200, comments between events: https://platform.openai.com/docs/api-reference/chat-streaming
"""

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from kb.types.base import is_loopback
from synth.authors.author import (
    Ask,
    Author,
    AuthorError,
    Outcome,
    Reply,
    Usage,
    outcome_of_status,
    retry_after_s,
)

if TYPE_CHECKING:
    from httpx2 import Response

KEY = "OPENAI_API_KEY"
_BY_CODE = {
    "insufficient_quota": Outcome.KEY_REFUSED,
    "invalid_api_key": Outcome.KEY_REFUSED,
    "context_length_exceeded": Outcome.CONTEXT_FULL,
    "exceed_context_size_error": Outcome.CONTEXT_FULL,
    "rate_limit_exceeded": Outcome.RATE_LIMITED,
    "server_error": Outcome.OVERLOADED,
}
"""Outcomes by the code or the type of an error."""
_THOUGHTS = re.compile(r"\A\s*<think>.*?</think>\s*", re.DOTALL)
"""Reasoning that a server left in the text."""


@dataclass
class OpenAIAuthor(Author):
    """Sends the key of OPENAI_API_KEY, if there is one: a server of one's own needs none."""

    model: str
    base_url: str
    """With the version, as `http://127.0.0.1:8000/v1`."""
    timeout_s: float = 600.0
    """Longest silence of the service."""

    @property
    def name(self) -> str:
        return f"openai:{self.model}"

    @property
    def secrets(self) -> tuple[str, ...]:
        return (os.environ.get(KEY, ""),)

    def answer(self, ask: Ask) -> Reply:
        try:
            return self._sent(ask, "max_tokens")
        except _OtherLimitError:  # the newest models of OpenAI itself
            return self._sent(ask, "max_completion_tokens")

    def _sent(self, ask: Ask, limit: str) -> Reply:
        import httpx2

        key, received = os.environ.get(KEY), _Received(ask)
        body = {
            "model": self.model, "messages": _messages(ask), "stream": True,
            "stream_options": {"include_usage": True}, limit: ask.output_tokens,
        }  # fmt: skip
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        url = f"{self.base_url.rstrip('/')}/chat/completions"
        timeout = httpx2.Timeout(self.timeout_s, connect=min(5.0, self.timeout_s))
        try:
            with httpx2.stream(
                "POST", url, json=body, headers=headers, timeout=timeout, trust_env=not is_loopback(url),
                verify=url.startswith("https:"),  # to load certificates takes long
            ) as response:  # fmt: skip
                received.read(response, limit)
        except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
            raise AuthorError(f"cannot reach {self.base_url}: {error}", Outcome.UNREACHABLE) from error
        except (httpx2.LocalProtocolError, UnicodeEncodeError, httpx2.InvalidURL):  # its text may contain the key
            raise AuthorError("the key or the address cannot be sent", Outcome.KEY_REFUSED) from None
        except httpx2.TimeoutException as error:
            if not received.finished:
                waited = f"the model was silent for {self.timeout_s:g} s"
                raise AuthorError(waited, Outcome.TIMED_OUT, usage=received.usage) from error
        except httpx2.HTTPError:
            pass  # `reply` tells whether all had come
        return received.reply()


class _OtherLimitError(Exception):
    """The model wants its limit of tokens under another name."""


@dataclass
class _Received:
    """What a stream has told so far."""

    ask: Ask
    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    finished: str = ""
    model: str = ""
    stated: dict[str, Any] = field(default_factory=dict)
    begun: bool = False

    def read(self, response: "Response", limit: str) -> None:
        if response.is_error:
            response.read()
            error = _error_in(response.text)
            if limit != "max_completion_tokens" and "max_completion_tokens" in str(error):
                raise _OtherLimitError
            raise self._failure(error or {}, response.status_code, retry_after_s(response.headers))
        kind = response.headers.get("content-type", "nothing")
        if not kind.startswith("text/event-stream"):
            raise AuthorError(f"{response.url} answers with {kind}, not with events", Outcome.INVALID)
        for event in _events(response):
            if error := event.get("error"):
                raise self._failure(error if isinstance(error, dict) else {"message": error}, 200, None)
            self._take(event)

    def _take(self, event: dict[str, Any]) -> None:
        self.begun = True
        self.stated = event.get("usage") or self.stated
        self.model = event.get("model") or self.model
        for choice in event.get("choices") or ():
            delta = choice.get("delta") or {}
            self.text += delta.get("content") or ""
            self.refusal += delta.get("refusal") or ""
            self.reasoning += delta.get("reasoning_content") or delta.get("reasoning") or ""
            self.finished = choice.get("finish_reason") or self.finished

    def _failure(self, error: dict[str, Any], status: int, wait_s: float | None) -> AuthorError:
        named = [_BY_CODE[name] for name in (error.get("code"), error.get("type")) if name in _BY_CODE]
        message = str(error.get("message") or f"the service answers with status {status}")
        outcome = Outcome.OVERLOADED if status == 200 else outcome_of_status(status)
        if status == 400 and "context length" in message:  # vLLM gives no code
            outcome = Outcome.CONTEXT_FULL
        return AuthorError(message, named[0] if named else outcome, usage=self.usage, retry_after_s=wait_s)

    @property
    def usage(self) -> Usage:
        """What the service states, else kb's count, once an answer has begun."""
        if not self.stated:
            return self.ask.counted(self.text + self.reasoning) if self.begun else Usage()
        cached = (self.stated.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
        return Usage(
            input_tokens=max(0, (self.stated.get("prompt_tokens") or 0) - cached),
            cache_read_tokens=cached,
            output_tokens=self.stated.get("completion_tokens") or 0,
        )

    def reply(self) -> Reply:
        """The whole reply. If the connection was cut, the text counts only if the server had said why it ends."""
        if not self.finished:
            raise AuthorError("the connection was cut during the answer", Outcome.CUT, usage=self.usage)
        if self.finished == "length":
            long = f"the answer is longer than {self.usage.output_tokens} tokens"
            raise AuthorError(long, Outcome.TRUNCATED, usage=self.usage)
        if self.refusal or self.finished == "content_filter":
            refused = f"the model refused: {self.refusal or 'no reason given'}"
            raise AuthorError(refused, Outcome.REFUSED, usage=self.usage)
        return Reply(text=_THOUGHTS.sub("", self.text), usage=self.usage, model=self.model)


def _messages(ask: Ask) -> list[dict[str, str]]:
    """The stable part comes first: such services cache what is equal from the start on."""
    first = "\n\n".join(part for part in (ask.stable, ask.said[0]) if part)
    turns = [first, *(text.strip() or "(nothing)" for text in ask.said[1:])]
    spoken = [{"role": ("user", "assistant")[i % 2], "content": text} for i, text in enumerate(turns)]
    return [{"role": "system", "content": ask.system}, *spoken]


def _events(response: "Response") -> Iterator[dict[str, Any]]:
    """The events of a stream, without its comments and its end; one that is cut ends the stream."""
    for line in response.iter_lines():
        data = line.removeprefix("data:").strip() if line.startswith("data:") else ""
        if not data or data == "[DONE]":
            continue
        try:
            event = json.loads(data)
        except ValueError:
            return
        if isinstance(event, dict):
            yield event


def _error_in(text: str) -> dict[str, Any] | None:
    """The error in the body of a response, which some servers give without `error` around it."""
    try:
        body = json.loads(text)
    except ValueError:
        return None
    error = body.get("error", body) if isinstance(body, dict) else None
    return error if isinstance(error, dict) else {"message": error} if error else None
