"""Asks a model, through Anthropic's SDK: for the next candidate above all. Every way to fail has a name."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from kb.errors import SynthesisError
from kb.model.kernels import Candidate, Language
from kb.model.protocols import Proposal, Request, Synthesizer
from synth.prompts.answer import AnswerError, parse_answer
from synth.prompts.prompt import Prompt, build_prompt

if TYPE_CHECKING:
    from anthropic import Anthropic, APIStatusError
    from anthropic.types import Message, MessageParam, TextBlockParam

USAGE_KINDS = ("input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens", "output_tokens")


class ModelOutcome(StrEnum):
    """Why a model gave no answer, or none with a candidate."""

    TRUNCATED = "truncated"
    """The answer stops before its end: out of output tokens, or the connection was cut."""
    REFUSED = "refused"
    CONTEXT_FULL = "context_full"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMED_OUT = "timed_out"
    CONNECTION_LOST = "connection_lost"
    KEY_REFUSED = "key_refused"
    KEY_MISSING = "key_missing"
    BAD_REQUEST = "bad_request"
    """The service does not take what it is asked, or is no such service."""
    BAD_ANSWER = "bad_answer"
    """Twice in a row no candidate could be read from the answer."""


HINTS = {
    ModelOutcome.TRUNCATED: "allow the model more output tokens, or try again",
    ModelOutcome.REFUSED: "try another model, or hand in a kernel yourself",
    ModelOutcome.CONTEXT_FULL: "lower the prompt's budget or the output tokens, or use a model with a larger context",
    ModelOutcome.RATE_LIMITED: "wait, then resume the run",
    ModelOutcome.OVERLOADED: "wait, then resume the run",
    ModelOutcome.TIMED_OUT: "try again, or allow more time",
    ModelOutcome.CONNECTION_LOST: "check the network and the address of the service",
    ModelOutcome.KEY_REFUSED: "check the key, what it may do, and what is left on its account",
    ModelOutcome.KEY_MISSING: "set ANTHROPIC_API_KEY, or use a synthesizer that needs no model",
    ModelOutcome.BAD_REQUEST: "check the name of the model and the address of the service",
    ModelOutcome.BAD_ANSWER: "try again, or try another model",
}

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
"""The error's name on the wire, or its status where the body has no name."""
_PASSING = (ModelOutcome.RATE_LIMITED, ModelOutcome.OVERLOADED, ModelOutcome.TIMED_OUT)
"""What may be gone at the next try."""


class ModelError(SynthesisError):
    """A model gave no answer of use. `usage` holds the tokens paid for nevertheless."""

    def __init__(self, message: str, outcome: ModelOutcome) -> None:
        super().__init__(f"no answer from the model, {outcome.replace('_', ' ')}: {message}", hint=HINTS[outcome])
        self.outcome = outcome
        self.usage: dict[str, int] = {}


@dataclass
class AnthropicSynthesizer(Synthesizer):
    """A model behind the Messages API. The key is the SDK's business: ANTHROPIC_API_KEY and what else it reads."""

    model: str
    base_url: str | None = None
    max_tokens: int = 16_000
    """Of one answer."""
    timeout_s: float = 600.0
    """Longest silence."""
    max_retries: int = 2
    """The SDK's, of requests that fail before an answer begins."""
    pauses_s: tuple[float, ...] = (2.0, 8.0, 30.0)
    """Before each of our own retries, of answers that the service breaks off."""
    sleep: Callable[[float], None] = time.sleep
    name: str = "anthropic"

    def propose(self, request: Request) -> Proposal:
        """Asks until a candidate can be read from the answer, a second time at most.

        Raises:
            ModelError: there is none; its `outcome` says why.
            SynthesisError: the prompt does not fit its budget.
        """
        prompt = build_prompt(request)
        usage: Counter[str] = Counter()
        try:
            with self._client() as client:
                candidate, note = _Conversation(self, client, prompt, usage).candidate(request.language)
        except ModelError as error:
            error.usage = dict(usage)
            raise
        return Proposal(candidate=candidate, note=note, skills_used=prompt.skills, usage=dict(usage))

    def answer(self, rules: str, text: str) -> str:
        """The model's whole answer to `text`.

        Raises:
            ModelError: there is none; its `outcome` says why.
        """
        prompt = Prompt(rules=rules, stable=text, rest="Please answer now.", skills=(), left_out=())
        with self._client() as client:
            return _Conversation(self, client, prompt, Counter()).answer()

    @contextmanager
    def _client(self) -> Iterator["Anthropic"]:
        import anthropic

        try:
            client = anthropic.Anthropic(base_url=self.base_url, timeout=self.timeout_s, max_retries=self.max_retries)
            if not (client.api_key or client.auth_token or client.credentials):
                raise ModelError("there is no key for the model", ModelOutcome.KEY_MISSING)
            with client:
                yield client
        except anthropic.CredentialsError as error:
            raise ModelError(f"the key cannot be read: {error}", ModelOutcome.KEY_MISSING) from error


class _Conversation:
    """One request to the model, with the repetitions that it may need."""

    def __init__(
        self, settings: AnthropicSynthesizer, client: "Anthropic", prompt: Prompt, usage: Counter[str]
    ) -> None:
        self._settings = settings
        self._client = client
        self._usage = usage
        self._rules = prompt.rules
        stable: TextBlockParam = {"type": "text", "text": prompt.stable, "cache_control": {"type": "ephemeral"}}
        self._messages: list[MessageParam] = [
            {"role": "user", "content": [stable, {"type": "text", "text": prompt.rest}]}
        ]

    def candidate(self, language: Language) -> tuple[Candidate, str]:
        """Of the first answer, or of the one after the model was told what is wrong with the first."""
        text = self.answer()
        try:
            return parse_answer(text, language)
        except AnswerError as error:
            self._messages += [
                {"role": "assistant", "content": text.strip() or "(nothing)"},
                {"role": "user", "content": f"No kernel could be read: {error.message}. Please {error.hint}."},
            ]
        try:
            return parse_answer(self.answer(), language)
        except AnswerError as error:
            raise ModelError(
                f"no kernel could be read from the answer: {error.message}", ModelOutcome.BAD_ANSWER
            ) from error

    def answer(self) -> str:
        """A whole answer; one that is cut off is asked for once more, with twice the room."""
        try:
            return self._attempt(self._settings.max_tokens)
        except ModelError as error:
            if error.outcome is not ModelOutcome.TRUNCATED:
                raise
        return self._attempt(2 * self._settings.max_tokens)

    def _attempt(self, max_tokens: int) -> str:
        """An answer, after pauses when the service breaks it off. The SDK retries only what fails before it begins."""
        import anthropic
        import httpx2

        pauses_s = iter(self._settings.pauses_s)
        while True:
            try:
                return self._streamed(max_tokens)
            except anthropic.APIStatusError as error:
                outcome = _outcome_of(error)
                pause_s = next(pauses_s, None)
                if error.status_code != httpx2.codes.OK or outcome not in _PASSING or pause_s is None:
                    raise ModelError(error.api_message or error.message, outcome) from error
                self._settings.sleep(pause_s)
            except (anthropic.APITimeoutError, httpx2.TimeoutException) as error:
                waited = f"the model was silent for {self._settings.timeout_s:g} s"
                raise ModelError(waited, ModelOutcome.TIMED_OUT) from error
            except anthropic.APIConnectionError as error:
                if isinstance(error.__cause__, httpx2.LocalProtocolError):  # its text holds the key
                    unfit = "the key holds characters that may not be sent, such as the end of a line"
                    raise ModelError(unfit, ModelOutcome.KEY_REFUSED) from None
                lost = f"{self._client.base_url} cannot be reached: {error.__cause__ or error}"
                raise ModelError(lost, ModelOutcome.CONNECTION_LOST) from error
            except httpx2.HTTPError as error:
                raise ModelError("the connection was cut during the answer", ModelOutcome.TRUNCATED) from error

    def _streamed(self, max_tokens: int) -> str:
        begun = False
        with self._client.messages.stream(
            model=self._settings.model,
            max_tokens=max_tokens,
            system=self._rules,
            messages=self._messages,
        ) as stream:
            try:
                for event in stream:
                    begun = begun or event.type == "message_start"
            except ValueError as error:  # half a letter, half a number
                raise ModelError("the answer was cut within an event", ModelOutcome.TRUNCATED) from error
            finally:
                if begun:
                    paid = stream.current_message_snapshot.usage
                    self._usage.update({kind: getattr(paid, kind) or 0 for kind in USAGE_KINDS})
            if begun:
                return _text_of(stream.current_message_snapshot)
            kind = stream.response.headers.get("content-type", "nothing")
        if kind.startswith("text/event-stream"):
            raise ModelError("the connection was cut before the answer", ModelOutcome.TRUNCATED)
        raise ModelError(f"{self._client.base_url} answers with {kind}, not with events", ModelOutcome.BAD_REQUEST)


def _text_of(message: "Message") -> str:
    """The text of an answer that is whole."""
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
