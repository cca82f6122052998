"""The protocol of language models: their answers, token usage and errors."""

from enum import StrEnum
from typing import Protocol

from kb.errors import SynthesisError
from kb.types.base import Frozen


class ModelOutcome(StrEnum):
    """Why a model gave no answer, or no candidate."""

    TRUNCATED = "truncated"
    """The answer is incomplete: it ran out of output tokens, or the connection was cut."""
    REFUSED = "refused"
    CONTEXT_FULL = "context_full"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMED_OUT = "timed_out"
    CONNECTION_LOST = "connection_lost"
    KEY_REFUSED = "key_refused"
    KEY_MISSING = "key_missing"
    BAD_REQUEST = "bad_request"
    """The service rejects the request, or does not offer this API."""
    BAD_ANSWER = "bad_answer"
    """No candidate could be read from two answers in a row."""


HINTS = {
    ModelOutcome.TRUNCATED: "allow the model more output tokens, or try again",
    ModelOutcome.REFUSED: "try another model, or hand in a kernel yourself",
    ModelOutcome.CONTEXT_FULL: "lower the prompt's budget or the output tokens, or use a model with a larger context",
    ModelOutcome.RATE_LIMITED: "wait, then resume the run",
    ModelOutcome.OVERLOADED: "wait, then resume the run",
    ModelOutcome.TIMED_OUT: "try again, or allow more time",
    ModelOutcome.CONNECTION_LOST: "check the network and the address of the service",
    ModelOutcome.KEY_REFUSED: "check the key, its permissions and the balance of its account",
    ModelOutcome.KEY_MISSING: "set ANTHROPIC_API_KEY, or use a synthesizer that needs no model",
    ModelOutcome.BAD_REQUEST: "check the name of the model and the address of the service",
    ModelOutcome.BAD_ANSWER: "try again, or try another model",
}


class ModelError(SynthesisError):
    """A model gave no usable answer. `usage` holds the tokens that were paid for anyway."""

    def __init__(self, message: str, outcome: ModelOutcome) -> None:
        super().__init__(f"no answer from the model, {outcome.replace('_', ' ')}: {message}", hint=HINTS[outcome])
        self.outcome = outcome
        self.usage: dict[str, int] = {}


class ChatAnswer(Frozen):
    text: str
    usage: dict[str, int]
    """Tokens paid for, by kind."""


class ChatModel(Protocol):
    """A language model."""

    def answer(self, rules: str, *said: str, stable: str = "") -> ChatAnswer:
        """The model's complete answer.

        Args:
            rules: The system prompt.
            said: The conversation so far: our first text, then the model's answers and our replies in turn, ours last.
            stable: Text before our first text that is equal in many requests, so that the service can cache it.

        Raises:
            ModelError: there is no complete answer; `outcome` gives the reason.
        """
