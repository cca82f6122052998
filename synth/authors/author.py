"""What an author is: it gets one request and gives a reply, or a failure of a known kind. It decides nothing else.

Retries, the budget and the record of what was paid are `asking.Desk`'s, the same for all authors.
"""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum
from typing import Protocol

from kb.errors import SynthesisError
from kb.types.base import Frozen, tokens_of


class Outcome(StrEnum):
    """Why an author gave no reply, or no candidate."""

    TRUNCATED = "truncated"
    """The reply ran out of output tokens."""
    CUT = "cut"
    """The connection was cut during the reply."""
    REFUSED = "refused"
    CONTEXT_FULL = "context_full"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    TIMED_OUT = "timed_out"
    """It was silent for too long."""
    UNREACHABLE = "unreachable"
    KEY_REFUSED = "key_refused"
    KEY_MISSING = "key_missing"
    INVALID = "invalid"
    """The service rejects the request or does not offer this API; the command fails."""
    UNREADABLE = "unreadable"
    """No candidate could be read from two replies in a row."""
    OVER_BUDGET = "over_budget"
    """The next request may cost more than is left of the budget."""
    OVER_SHARE = "over_share"
    """It may cost more than the run may spend of that for now."""


HINTS = {
    Outcome.TRUNCATED: "use a model that may write longer answers",
    Outcome.CUT: "check the network, then resume the run",
    Outcome.REFUSED: "try another model, or hand in a kernel yourself",
    Outcome.CONTEXT_FULL: "lower prompt_tokens in kb.toml, or use a model with a larger context",
    Outcome.RATE_LIMITED: "wait, then resume the run",
    Outcome.OVERLOADED: "wait, then resume the run",
    Outcome.TIMED_OUT: "try again later",
    Outcome.UNREACHABLE: "check the network and the address of the service",
    Outcome.KEY_REFUSED: "check the key, its permissions and the balance of its account",
    Outcome.KEY_MISSING: "set the service's key in the environment, or use --author none, which needs no model",
    Outcome.INVALID: "check the name of the model and the address of the service, or the command",
    Outcome.UNREADABLE: "try again, or try another model",
    Outcome.OVER_BUDGET: "give a new run a larger budget",
    Outcome.OVER_SHARE: "resume the run with a larger share",
}
PASSING = (Outcome.CUT, Outcome.RATE_LIMITED, Outcome.OVERLOADED)
"""Failures that may be gone at the next try."""
OVER = (Outcome.OVER_BUDGET, Outcome.OVER_SHARE)
"""The request may cost too much."""


class Usage(Frozen):
    """Tokens of requests, by how they are priced."""

    input_tokens: int = 0
    """Without those that a cache took or gave."""
    cache_write_tokens: int = 0
    cache_read_tokens: int = 0
    output_tokens: int = 0
    """With those of the model's reasoning."""

    @property
    def total(self) -> int:
        return self.input_tokens + self.cache_write_tokens + self.cache_read_tokens + self.output_tokens

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(**{name: getattr(self, name) + getattr(other, name) for name in Usage.model_fields})


class Ask(Frozen):
    """One request to an author."""

    system: str
    """Rules: the same in every request."""
    stable: str = ""
    """What is equal in many requests of a run; a service may cache it with the system part."""
    said: tuple[str, ...]
    """The task part, then the author's replies and our answers to them in turn, ours last."""
    output_tokens: int
    """Most tokens of the reply."""
    number: int = 1
    """Of the request among those that this author answers in the run, from 1. A request that was lost in a kill is made
    again with its number."""

    @property
    def text(self) -> str:
        """All of it, for an author who reads one text."""
        return "\n\n".join(part for part in (self.system, self.stable, *self.said) if part) + "\n"

    def counted(self, reply: str) -> Usage:
        """The usage by kb's own count, where the author states none."""
        return Usage(input_tokens=tokens_of(self.text), output_tokens=tokens_of(reply))


class Reply(Frozen):
    text: str
    usage: Usage
    model: str = ""
    """The model with its version, as the service names it; empty if it does not."""


class AuthorError(SynthesisError):
    """An author gave no usable reply. `usage` holds the tokens that were paid for anyway."""

    def __init__(
        self, message: str, outcome: Outcome, *, usage: Usage | None = None, retry_after_s: float | None = None
    ) -> None:
        super().__init__(f"no answer from the author, {outcome.replace('_', ' ')}: {message}", hint=HINTS[outcome])
        self.outcome, self.usage, self.retry_after_s = outcome, usage or Usage(), retry_after_s


class Author(Protocol):
    """Writes replies: a model behind an API, a command, a person or an agent, or recorded answers."""

    @property
    def name(self) -> str:
        """As journals and reports show it; it holds no key."""
        ...

    @property
    def secrets(self) -> tuple[str, ...]:
        """Keys that it sends or gives away, which no text from it may bring into a journal or a report."""
        ...

    def answer(self, ask: Ask) -> Reply:
        """The complete reply to one request, which is sent once.

        Raises:
            AuthorError: there is no complete reply; `outcome` gives the reason.
        """
        ...


def outcome_of_status(status: int) -> Outcome:
    """What an HTTP status means, if the response does not name its error."""
    return _BY_STATUS.get(status) or (Outcome.OVERLOADED if status >= 500 else Outcome.INVALID)


_BY_STATUS = {
    401: Outcome.KEY_REFUSED,
    402: Outcome.KEY_REFUSED,
    403: Outcome.KEY_REFUSED,
    408: Outcome.OVERLOADED,
    413: Outcome.CONTEXT_FULL,
    429: Outcome.RATE_LIMITED,
}


def retry_after_s(headers: Mapping[str, str]) -> float | None:
    """Seconds that a service asks to wait, in milliseconds, in seconds or until a date (RFC 9110, 10.2.3)."""
    for name, scale in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        with suppress(KeyError, ValueError):
            return max(0.0, float(headers[name]) / scale)
    with suppress(KeyError, ValueError):
        return max(0.0, (parsedate_to_datetime(headers["retry-after"]) - datetime.now(UTC)).total_seconds())
    return None
