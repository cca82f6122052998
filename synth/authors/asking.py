"""Asks the authors of a run in turn, within a budget. What is paid is recorded before it is used, and never paid twice.

Which author is next, what is spent and how a request is made follow from the record alone.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from itertools import takewhile
from math import inf
from threading import Lock
from typing import Protocol

from kb.types.base import Frozen, tokens_of
from synth.authors.author import OVER, PASSING, Ask, Author, AuthorError, Outcome, Usage
from synth.authors.spending import Budget, Model

OUTPUT_TOKENS = 16_000
"""Most tokens of a reply; one that is longer gets twice as many once."""
PAUSES_S = (2.0, 8.0, 30.0)
"""A request that failed for a reason that may pass is sent again after at least these pauses, one after the other."""
LONGEST_PAUSE_S = 300.0
"""A service that asks for a longer pause ends the run, which can be resumed."""


class Exchange(Frozen):
    """One request to an author and what became of it, as the journal keeps it."""

    number: int
    """Of the request in the run, from 1."""
    question: int = 0
    """Number of the question that it is for; several requests may be."""
    author: str
    model: str = ""
    """The model with its version, as the service names it; empty if it does not."""
    output_tokens: int = 0
    """Most tokens of the reply that were asked for; all else of the sampling is the service's default. 0 is unknown."""
    at: str = ""
    """When the reply or the failure came, in UTC, ISO 8601."""
    answered: bool = False
    """False: the request is under way, or kb was killed meanwhile; then `usage` is the most that it may have cost."""
    outcome: Outcome | None = None
    """Why there is no reply; None if there is one."""
    detail: str = ""
    text: str = ""
    """The reply."""
    usage: Usage = Usage()
    dollars: float | None = None
    """None: the price is unknown."""


class Ledger(Protocol):
    """Where requests for one question are recorded."""

    question: int
    """Number of the question."""

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """All requests so far, also for other questions, in order, each as it was recorded last."""
        ...

    def record(self, exchange: Exchange) -> None:
        """Keep it; when this returns, a kill cannot lose it."""
        ...


@dataclass
class Notes(Ledger):
    """A ledger in memory, for questions whose answers are kept elsewhere."""

    by_number: dict[int, Exchange] = field(default_factory=dict)
    question = 0

    @property
    def exchanges(self) -> Sequence[Exchange]:
        return list(self.by_number.values())

    def record(self, exchange: Exchange) -> None:
        self.by_number[exchange.number] = exchange


@dataclass(frozen=True)
class Seat:
    """An author of a run."""

    author: Author
    model: Model
    share: float = 1.0
    """Of the requests, in proportion to the shares of the others."""
    free: bool = False
    """Whether it costs no money, whatever the model's price."""

    def dollars(self, usage: Usage) -> float | None:
        """None: unknown."""
        if self.free or not usage.total:
            return 0.0
        return self.model.price.dollars(usage) if self.model.price else None

    def most(self, sent_bytes: int, output_tokens: int) -> Exchange:
        """The most that a request may use: a token has at least one byte, and any may be written to a cache."""
        reads = (Usage(input_tokens=sent_bytes), Usage(cache_write_tokens=sent_bytes))
        uses = [read + Usage(output_tokens=output_tokens) for read in reads]
        usage = max(uses, key=lambda usage: self.dollars(usage) or 0.0)
        most = {"usage": usage, "dollars": self.dollars(usage), "output_tokens": output_tokens}
        return Exchange(number=0, author=self.author.name, **most)

    @property
    def output_tokens(self) -> int:
        """Most tokens of a reply, unless that is found too little."""
        return min(OUTPUT_TOKENS, self.model.output_tokens or OUTPUT_TOKENS)


class Spent(Frozen):
    """What requests have cost so far, with the most that those under way may cost."""

    usage: Usage = Usage()
    dollars: float = 0.0
    unpriced: int = 0
    """Tokens whose price is unknown."""
    unanswered: int = 0
    """Requests under way, or lost in a kill."""

    @classmethod
    def of(cls, exchanges: Sequence[Exchange]) -> "Spent":
        return cls(
            usage=sum((e.usage for e in exchanges), Usage()),
            dollars=sum(e.dollars or 0.0 for e in exchanges),
            unpriced=sum(e.usage.total for e in exchanges if e.dollars is None),
            unanswered=sum(not e.answered for e in exchanges),
        )


@dataclass
class Desk:
    """The authors of a run with what they may spend."""

    seats: Sequence[Seat]
    ledger: Ledger
    budget: Budget
    sleep: Callable[[float], None] = time.sleep
    share: Budget = field(default_factory=Budget)
    """What may be spent of the budget for now, in all."""
    lock: Lock = field(default_factory=Lock)
    """Held to record a request; questions that are asked at the same time share it."""

    def ask(self, system: str, *said: str, stable: str = "") -> Exchange:
        """The reply of the author whose turn it is, or of the next one if that fails. Arguments as in `Ask`.

        Raises:
            AuthorError: the budget has no room for another request, or every author failed; the last failure.
        """
        failure: AuthorError | None = None
        for seat in self._in_turn():
            ask = Ask(system=system, stable=stable, said=said, output_tokens=seat.output_tokens)
            try:
                return self._patiently(seat, ask)
            except AuthorError as error:
                if error.outcome in OVER:
                    raise
                failure = error
        assert failure is not None  # noqa: S101 - a run has an author
        raise failure

    @property
    def replies(self) -> list[Exchange]:
        """All replies to the question, such as those before a kill."""
        own = (one for one in self.ledger.exchanges if one.question == self.ledger.question)
        return [one for one in own if one.answered and one.outcome is None]

    def _in_turn(self) -> list[Seat]:
        """The authors, first who is furthest behind its share."""
        before = self._requests_before_next()
        return sorted(self.seats, key=lambda seat: before[seat.author.name] / seat.share)

    def _requests_before_next(self) -> Counter[str]:
        """How many each author has, in the order of questions; one that a kill cut off is made again in its place."""
        made, answered = dict[tuple[int, int], str](), Counter[int]()
        for one in self.ledger.exchanges:
            made[one.question, answered[one.question]] = one.author
            answered[one.question] += one.answered
        own = self.ledger.question, answered[self.ledger.question]
        return Counter(author for _, author in takewhile(lambda each: each[0] != own, made.items()))

    def _patiently(self, seat: Seat, ask: Ask) -> Exchange:
        """A reply, with retries where a failure may pass, and one with more room for a reply that was too long."""
        pauses: Iterator[float] = iter(PAUSES_S)
        while True:
            try:
                return self._once(seat, ask)
            except AuthorError as error:
                twice = 2 * seat.output_tokens
                larger = min(twice, seat.model.output_tokens or twice)
                if error.outcome is Outcome.TRUNCATED and ask.output_tokens < larger:
                    ask = ask.model_copy(update={"output_tokens": larger})
                    continue
                pause_s = max(next(pauses, LONGEST_PAUSE_S + 1), error.retry_after_s or 0.0)
                if error.outcome not in PASSING or pause_s > LONGEST_PAUSE_S:
                    raise
            self.sleep(pause_s)

    def _once(self, seat: Seat, ask: Ask) -> Exchange:
        context = seat.model.context_tokens
        if context is not None and tokens_of(ask.text) + ask.output_tokens > context:
            raise AuthorError(f"prompt and answer may be longer than {context:,} tokens", Outcome.CONTEXT_FULL)
        most = seat.most(len(ask.text.encode()), ask.output_tokens)
        with self.lock:
            ask = ask.model_copy(update={"number": self._requests_before_next()[seat.author.name] + 1})
            number = len(self.ledger.exchanges) + 1
            asked = most.model_copy(update={"number": number, "question": self.ledger.question})
            self._must_afford(asked)
            self.ledger.record(asked)
        try:
            reply = seat.author.answer(ask)
        except AuthorError as error:
            error.message = _without(error.message, seat.author.secrets)
            error.args = (error.message,)
            told = {"outcome": error.outcome, "detail": error.message}
            self._answered(asked, seat, error.usage, **told)
            raise
        text = _without(reply.text, seat.author.secrets)
        return self._answered(asked, seat, reply.usage, text=text, model=reply.model)

    def _answered(self, asked: Exchange, seat: Seat, usage: Usage, **came: object) -> Exchange:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        paid = {"answered": True, "at": now, "usage": usage, "dollars": seat.dollars(usage)}
        answered = asked.model_copy(update={**paid, **came})
        self.ledger.record(answered)
        return answered

    def _must_afford(self, asked: Exchange) -> None:
        """Raises AuthorError if the request may cost more than is left."""
        spent = Spent.of(self.ledger.exchanges)
        dollars = spent.dollars + (asked.dollars or 0.0)
        tokens = spent.usage.total + asked.usage.total
        for budget, outcome in ((self.budget, Outcome.OVER_BUDGET), (self.share, Outcome.OVER_SHARE)):
            if dollars > (budget.dollars or inf) or tokens > (budget.tokens or inf):
                costs = "" if asked.dollars is None else f"${asked.dollars:.2f} and "
                raise AuthorError(
                    f"of the budget of {budget}, ${spent.dollars:.2f} and {spent.usage.total:,} tokens are spent, and "
                    f"the next request may take {costs}{asked.usage.total:,} tokens",
                    outcome,
                )


def _without(text: str, secrets: Sequence[str]) -> str:
    """`text` without these keys, which a service or a command may repeat in what it says."""
    for secret in filter(None, secrets):
        text = text.replace(secret, "[key]")
    return text
