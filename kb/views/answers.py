"""The answers of a run's authors, and what they cost."""

from kb.runs.journal import Run
from kb.runs.question import written
from kb.types.base import Frozen
from kb.views.cited import Sources
from kb.views.response import view_of
from synth.authors.asking import Exchange, Spent


class AnswerView(Frozen):
    """One request to an author."""

    number: int
    author: str
    model: str
    """With its version, as the service names it; empty if it does not."""
    output_tokens: int
    """Most tokens of the reply that were asked for; all else of the sampling is the service's default. 0 is unknown."""
    at: str
    """When it came, in UTC, ISO 8601; empty if it has not, or is not known."""
    outcome: str
    """`answered`, why it failed, or that no answer came yet."""
    candidate: int
    """Number of the candidate that was read from it; 0 if none was."""
    text: str
    """Why it failed; or, if no candidate was read from it, what it says."""
    spent: Spent


class AuthorCost(Frozen):
    """What one author cost."""

    author: str
    models: tuple[str, ...]
    """All that its service named."""
    requests: int
    candidates: int
    spent: Spent


def answers_of(run: Run, sources: Sources) -> tuple[AnswerView, ...]:
    """All requests of a run, in order."""
    led_to = candidates_by_request(run)
    return tuple(_answer(exchange, led_to.get(exchange.number, 0), sources) for exchange in run.exchanges)


def costs_of(run: Run) -> tuple[AuthorCost, ...]:
    """What the authors cost, in the order in which they were first asked."""
    led_to, by_author = candidates_by_request(run), dict[str, list[Exchange]]()
    for exchange in run.exchanges:
        by_author.setdefault(exchange.author, []).append(exchange)
    return tuple(
        AuthorCost(
            author=author,
            models=tuple(dict.fromkeys(one.model for one in exchanges if one.model)),
            requests=len(exchanges),
            candidates=sum(one.number in led_to for one in exchanges),
            spent=Spent.of(exchanges),
        )
        for author, exchanges in by_author.items()
    )


def candidates_by_request(run: Run) -> dict[int, int]:
    """The numbers of the candidates by those of the requests that they answer: the last ones for their questions."""
    answered = {e.question: e.number for e in run.exchanges if e.answered and e.outcome is None}
    return {answered[question]: step for question, step in written(run).items() if question in answered}


def _answer(exchange: Exchange, candidate: int, sources: Sources) -> AnswerView:
    outcome = exchange.outcome or ("answered" if exchange.answered else "no answer yet, or lost in a kill")
    return view_of(
        AnswerView,
        exchange,
        outcome=outcome.replace("_", " "),
        candidate=candidate,
        text=sources.open_text(exchange.detail if exchange.outcome else "" if candidate else exchange.text),
        spent=Spent.of([exchange]),
    )
