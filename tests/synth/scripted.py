"""An author that answers from a script, and remembers what it was asked."""

from collections.abc import Callable

from synth.authors.asking import Desk, Ledger, Notes, Seat
from synth.authors.author import Ask, Author, AuthorError, Reply, Usage
from synth.authors.spending import Budget, Model


class ScriptedAuthor:
    """Gives the next reply of the script to each request, for 10 tokens each; the last one is repeated."""

    secrets = ()

    def __init__(self, *script: str | AuthorError, name: str = "scripted") -> None:
        self.script = list(script)
        self.name = name
        self.asked: list[Ask] = []

    def answer(self, ask: Ask) -> Reply:
        self.asked.append(ask)
        reply = self.script.pop(0) if len(self.script) > 1 else self.script[0]
        if isinstance(reply, AuthorError):
            reply.usage = Usage(output_tokens=10)
            raise reply
        return Reply(text=reply, usage=Usage(output_tokens=10))


def desk_of(
    *authors: Author,
    budget: Budget | None = None,
    ledger: Ledger | None = None,
    model: Model | None = None,
    sleep: Callable[[float], None] = lambda pause_s: None,
) -> Desk:
    seats = [Seat(author, model or Model()) for author in authors]
    return Desk(seats, Notes() if ledger is None else ledger, budget or Budget(), sleep)
