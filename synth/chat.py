"""What any language model can do for us: answer a text, and say what that cost."""

from enum import StrEnum
from typing import Protocol

from kb.errors import SynthesisError
from kb.model.base import Frozen


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


class ModelError(SynthesisError):
    """A model gave no answer of use. `usage` holds the tokens paid for nevertheless."""

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
        """The model's whole answer.

        Args:
            rules: What the model must follow throughout.
            said: The conversation so far: our text, then the model's answer and our reply in turn. Ours is the last.
            stable: Stands before our first text. It is the same in many requests, so the service may cache it.

        Raises:
            ModelError: there is no whole answer; `outcome` says why.
        """
