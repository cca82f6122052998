"""A model behind Anthropic's Messages API. Every kind of failure has its own outcome."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from kb.types.base import is_loopback, tokens_of
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
    from anthropic import Anthropic
    from anthropic.lib.streaming import MessageStream
    from anthropic.types import Message, MessageParam, TextBlockParam

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
"""Variables in which the SDK finds a key; it also finds one in its own files."""
_BY_NAME = {
    "authentication_error": Outcome.KEY_REFUSED,
    "billing_error": Outcome.KEY_REFUSED,
    "permission_error": Outcome.KEY_REFUSED,
    "rate_limit_error": Outcome.RATE_LIMITED,
    "overloaded_error": Outcome.OVERLOADED,
    "api_error": Outcome.OVERLOADED,
    "timeout_error": Outcome.OVERLOADED,
}
"""Outcomes by the name of the error in the response; an error after status 200 has only a name."""


@dataclass
class AnthropicAuthor(Author):
    """One model of Anthropic's."""

    model: str
    base_url: str | None = None
    timeout_s: float = 600.0
    """Longest silence of the service."""

    @property
    def name(self) -> str:
        return f"anthropic:{self.model}"

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(os.environ.get(name, "") for name in KEYS)

    def answer(self, ask: Ask) -> Reply:
        with self._client() as client:
            return _streamed(client, self.model, ask, self.timeout_s)

    @contextmanager
    def _client(self) -> "Iterator[Anthropic]":
        import anthropic
        import httpx2

        try:
            own, secure = self.base_url or "", (self.base_url or "").startswith("https:")
            direct = httpx2.Client(trust_env=False, verify=secure) if is_loopback(own) else None
            client = anthropic.Anthropic(
                base_url=self.base_url, timeout=self.timeout_s, max_retries=0, http_client=direct
            )
            if not (client.api_key or client.auth_token or client.credentials):
                raise AuthorError("no key for Anthropic's API was found", Outcome.KEY_MISSING)
            with client:
                yield client
        except anthropic.CredentialsError as error:
            raise AuthorError(f"cannot read the key: {error}", Outcome.KEY_MISSING) from error


def _streamed(client: "Anthropic", model: str, ask: Ask, timeout_s: float) -> Reply:
    import anthropic
    import httpx2

    stream = None
    try:
        with client.messages.stream(
            model=model, max_tokens=ask.output_tokens, system=ask.system, messages=_messages(ask)
        ) as stream:
            return _reply(stream, str(client.base_url))
    except anthropic.APIStatusError as error:
        outcome = _BY_NAME.get(error.type or "") or outcome_of_status(error.status_code)
        message = error.api_message or error.message
        wait_s = retry_after_s(error.response.headers)
        raise AuthorError(message, outcome, usage=_paid(stream), retry_after_s=wait_s) from error
    except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
        waited = f"the model was silent for {timeout_s:g} s"
        raise AuthorError(waited, Outcome.TIMED_OUT, usage=_paid(stream)) from error
    except anthropic.APIConnectionError as error:
        if isinstance(error.__cause__, httpx2.LocalProtocolError):  # its text contains the key
            unfit = "the key contains characters that cannot be sent, such as a line break"
            raise AuthorError(unfit, Outcome.KEY_REFUSED) from None
        lost = f"cannot reach {client.base_url}: {error.__cause__ or error}"
        raise AuthorError(lost, Outcome.UNREACHABLE) from error


def _reply(stream: "MessageStream[None]", url: str) -> Reply:
    """The whole reply. What came before a cut is believed only if the stream had told why it stops."""
    import httpx2

    begun, cut = False, False
    try:
        for event in stream:
            begun = begun or event.type == "message_start"
    except httpx2.TimeoutException:
        if not (begun and stream.current_message_snapshot.stop_reason):
            raise
    except (httpx2.HTTPError, ValueError):  # ValueError: an incomplete character or number
        cut = True
    kind = stream.response.headers.get("content-type", "nothing")
    if not (begun or cut or kind.startswith("text/event-stream")):
        raise AuthorError(f"{url} answers with {kind}, not with events", Outcome.INVALID)
    message = stream.current_message_snapshot if begun else None
    if message is None or message.stop_reason is None:
        raise AuthorError("the connection was cut during the answer", Outcome.CUT, usage=_paid(stream))
    if failure := _failure(message):
        raise AuthorError(failure[1], failure[0], usage=_paid(stream))
    return Reply(text=_text(message), usage=_paid(stream), model=message.model)


def _messages(ask: Ask) -> "list[MessageParam]":
    """Our messages and the model's in turn; the first begins with the text to be cached."""
    first: list[TextBlockParam] = [{"type": "text", "text": ask.said[0]}]
    if ask.stable:
        first.insert(0, {"type": "text", "text": ask.stable, "cache_control": {"type": "ephemeral"}})
    messages: list[MessageParam] = [{"role": "user", "content": first}]
    for theirs, ours in zip(ask.said[1::2], ask.said[2::2], strict=True):
        messages.append({"role": "assistant", "content": theirs.strip() or "(nothing)"})
        messages.append({"role": "user", "content": ours})
    return messages


def _failure(message: "Message") -> tuple[Outcome, str] | None:
    """Why a reply that ended is not complete; None if it is."""
    match message.stop_reason:
        case "max_tokens":
            return Outcome.TRUNCATED, f"the answer is longer than {message.usage.output_tokens} tokens"
        case "model_context_window_exceeded":
            return Outcome.CONTEXT_FULL, "prompt and answer are longer than the model's context"
        case "refusal":
            why = message.stop_details and (message.stop_details.explanation or message.stop_details.category)
            return Outcome.REFUSED, f"the model refused: {why or 'no reason given'}"
    return None


def _text(message: "Message") -> str:
    """Without the model's reasoning."""
    return "".join(block.text for block in message.content if block.type == "text")


def _paid(stream: "MessageStream[None] | None") -> Usage:
    """What the stream has told so far; of a reply that was cut, at least the tokens of the text that came."""
    try:
        message = stream.current_message_snapshot if stream else None
    except AssertionError:  # no message began
        message = None
    if message is None:
        return Usage()
    paid = message.usage
    return Usage(
        input_tokens=paid.input_tokens or 0,
        cache_write_tokens=paid.cache_creation_input_tokens or 0,
        cache_read_tokens=paid.cache_read_input_tokens or 0,
        output_tokens=max(paid.output_tokens or 0, 0 if message.stop_reason else tokens_of(_text(message))),
    )
