"""A language model behind Anthropic's SDK. Every kind of failure has its own outcome."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from synth.authors.chat import ChatAnswer, ChatModel, ModelError, ModelOutcome

if TYPE_CHECKING:
    from anthropic import Anthropic, APIStatusError
    from anthropic.types import Message, MessageParam, TextBlockParam

USAGE_KINDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")

_BY_ERROR: dict[str | int, ModelOutcome] = {
    "authentication_error": ModelOutcome.KEY_REFUSED,
    "billing_error": ModelOutcome.KEY_REFUSED,
    "permission_error": ModelOutcome.KEY_REFUSED,
    "rate_limit_error": ModelOutcome.RATE_LIMITED,
    "overloaded_error": ModelOutcome.OVERLOADED,
    "api_error": ModelOutcome.OVERLOADED,
    "timeout_error": ModelOutcome.TIMED_OUT,
    401: ModelOutcome.KEY_REFUSED,
    402: ModelOutcome.KEY_REFUSED,
    403: ModelOutcome.KEY_REFUSED,
    408: ModelOutcome.TIMED_OUT,
    413: ModelOutcome.CONTEXT_FULL,
    429: ModelOutcome.RATE_LIMITED,
    504: ModelOutcome.TIMED_OUT,
}
"""Outcomes by the name of the error in the response, or by HTTP status if the response has no name."""
_PASSING = (ModelOutcome.RATE_LIMITED, ModelOutcome.OVERLOADED, ModelOutcome.TIMED_OUT)
"""Failures that may be gone at the next try."""


@dataclass
class AnthropicModel(ChatModel):
    """A model behind the Messages API. The SDK finds the key, in ANTHROPIC_API_KEY and elsewhere."""

    model: str
    base_url: str | None = None
    max_tokens: int = 16_000
    """Most tokens of one answer."""
    timeout_s: float = 600.0
    """Longest silence of the service."""
    max_retries: int = 2
    """Retries by the SDK of requests that fail before an answer begins."""
    pauses_s: tuple[float, ...] = (2.0, 8.0, 30.0)
    """Pauses before each of our own retries of answers that the service breaks off."""
    sleep: Callable[[float], None] = time.sleep

    def answer(self, rules: str, *said: str, stable: str = "") -> ChatAnswer:
        usage: Counter[str] = Counter()
        try:
            with self._client() as client:
                text = _Exchange(self, client, rules, _messages(said, stable), usage).answer()
        except ModelError as error:
            error.usage = dict(usage)
            raise
        return ChatAnswer(text=text, usage=dict(usage))

    @contextmanager
    def _client(self) -> Iterator["Anthropic"]:
        import anthropic

        try:
            client = anthropic.Anthropic(base_url=self.base_url, timeout=self.timeout_s, max_retries=self.max_retries)
            if not (client.api_key or client.auth_token or client.credentials):
                raise ModelError("no key for the model was found", ModelOutcome.KEY_MISSING)
            with client:
                yield client
        except anthropic.CredentialsError as error:
            raise ModelError(f"cannot read the key: {error}", ModelOutcome.KEY_MISSING) from error


@dataclass
class _Exchange:
    """One request to the model, with its retries."""

    settings: AnthropicModel
    client: "Anthropic"
    rules: str
    messages: "list[MessageParam]"
    usage: Counter[str]

    def answer(self) -> str:
        """A whole answer; if it is cut off, one more request allows twice as many tokens."""
        try:
            return self._attempt(self.settings.max_tokens)
        except ModelError as error:
            if error.outcome is not ModelOutcome.TRUNCATED:
                raise
        return self._attempt(2 * self.settings.max_tokens)

    def _attempt(self, max_tokens: int) -> str:
        """An answer. Retries when the service breaks off; the SDK retries only before an answer begins."""
        import anthropic
        import httpx2

        pauses_s = iter(self.settings.pauses_s)
        while True:
            try:
                return self._streamed(max_tokens)
            except anthropic.APIStatusError as error:
                outcome = _outcome_of(error)
                pause_s = next(pauses_s, None)
                if error.status_code != httpx2.codes.OK or outcome not in _PASSING or pause_s is None:
                    raise ModelError(error.api_message or error.message, outcome) from error
                self.settings.sleep(pause_s)
            except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
                waited = f"the model was silent for {self.settings.timeout_s:g} s"
                raise ModelError(waited, ModelOutcome.TIMED_OUT) from error
            except anthropic.APIConnectionError as error:
                if isinstance(error.__cause__, httpx2.LocalProtocolError):  # its text contains the key
                    unfit = "the key contains characters that cannot be sent, such as a line break"
                    raise ModelError(unfit, ModelOutcome.KEY_REFUSED) from None
                lost = f"cannot reach {self.client.base_url}: {error.__cause__ or error}"
                raise ModelError(lost, ModelOutcome.CONNECTION_LOST) from error
            except httpx2.HTTPError as error:
                raise ModelError("the connection was cut during the answer", ModelOutcome.TRUNCATED) from error

    def _streamed(self, max_tokens: int) -> str:
        begun = False
        with self.client.messages.stream(
            model=self.settings.model,
            max_tokens=max_tokens,
            system=self.rules,
            messages=self.messages,
        ) as stream:
            try:
                for event in stream:
                    begun = begun or event.type == "message_start"
            except ValueError as error:  # an incomplete character or number
                raise ModelError("the answer was cut within an event", ModelOutcome.TRUNCATED) from error
            finally:
                if begun:
                    paid = stream.current_message_snapshot.usage
                    self.usage.update({kind: getattr(paid, kind) or 0 for kind in USAGE_KINDS})
            if begun:
                return _text_of(stream.current_message_snapshot)
            kind = stream.response.headers.get("content-type", "nothing")
        if kind.startswith("text/event-stream"):
            raise ModelError("the connection was cut before the answer", ModelOutcome.TRUNCATED)
        raise ModelError(f"{self.client.base_url} answers with {kind}, not with events", ModelOutcome.BAD_REQUEST)


def _messages(said: Sequence[str], stable: str) -> "list[MessageParam]":
    """Our messages and the model's in turn; the first begins with the text to be cached."""
    first: list[TextBlockParam] = [{"type": "text", "text": said[0]}]
    if stable:
        first.insert(0, {"type": "text", "text": stable, "cache_control": {"type": "ephemeral"}})
    messages: list[MessageParam] = [{"role": "user", "content": first}]
    for theirs, ours in zip(said[1::2], said[2::2], strict=True):
        messages.append({"role": "assistant", "content": theirs.strip() or "(nothing)"})
        messages.append({"role": "user", "content": ours})
    return messages


def _text_of(message: "Message") -> str:
    """The text of a complete answer. Raises ModelError if the answer is cut off or refused."""
    match message.stop_reason:
        case None:
            raise ModelError("the connection was cut during the answer", ModelOutcome.TRUNCATED)
        case "max_tokens":
            raise ModelError(f"the answer is longer than {message.usage.output_tokens} tokens", ModelOutcome.TRUNCATED)
        case "model_context_window_exceeded":
            raise ModelError("prompt and answer are longer than the model's context", ModelOutcome.CONTEXT_FULL)
        case "refusal":
            why = message.stop_details and (message.stop_details.explanation or message.stop_details.category)
            raise ModelError(f"the model refused: {why or 'no reason given'}", ModelOutcome.REFUSED)
    return "".join(block.text for block in message.content if block.type == "text")


def _outcome_of(error: "APIStatusError") -> ModelOutcome:
    unnamed = ModelOutcome.OVERLOADED if error.status_code >= 500 else ModelOutcome.BAD_REQUEST
    return _BY_ERROR.get(error.type or "") or _BY_ERROR.get(error.status_code, unnamed)
