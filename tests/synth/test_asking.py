"""Requests go to authors by their shares, within a budget; each is recorded before it is made and before it is used."""

from contextlib import suppress
from datetime import UTC, datetime
from itertools import pairwise

import hypothesis
import pytest
from hypothesis import given
from hypothesis import strategies as st

from synth.authors.asking import OUTPUT_TOKENS, PAUSES_S, Desk, Exchange, Notes, Seat, Spent
from synth.authors.author import PASSING, AuthorError, Outcome, Usage
from synth.authors.spending import Budget, Model, Price
from tests.synth.scripted import ScriptedAuthor, desk_of

PRICED = Model(price=Price(input=1.0, output=10.0, cache_write=2.0, cache_read=0.1), output_tokens=20_000)


class Log(Notes):
    """Remembers every record, not only the last of each request."""

    def __init__(self) -> None:
        super().__init__()
        self.all: list[Exchange] = []

    def record(self, exchange: Exchange) -> None:
        super().record(exchange)
        self.all.append(exchange)


def failing(outcome: Outcome, retry_after_s: float | None = None) -> AuthorError:
    return AuthorError("on purpose", outcome, retry_after_s=retry_after_s)


def test_a_request_is_recorded_with_the_most_that_it_may_cost_and_then_with_what_it_cost() -> None:
    log = Log()
    reply = desk_of(ScriptedAuthor("yes"), ledger=log, model=PRICED).ask("rules", "task")

    asked, answered = log.all
    assert (asked.answered, asked.text, asked.usage.output_tokens) == (False, "", OUTPUT_TOKENS)
    assert asked.usage.cache_write_tokens == len(b"rules\n\ntask\n"), "a token has at least one byte"
    assert answered == reply
    assert (asked.output_tokens, asked.at, reply.output_tokens) == (OUTPUT_TOKENS, "", OUTPUT_TOKENS)
    assert datetime.fromisoformat(reply.at).tzinfo == UTC
    assert (reply.number, reply.answered, reply.text, reply.dollars) == (asked.number, True, "yes", 10 * 10 / 1e6)


def test_a_failure_is_recorded_with_what_was_paid() -> None:
    log = Log()
    with pytest.raises(AuthorError):
        desk_of(ScriptedAuthor(failing(Outcome.REFUSED)), ledger=log).ask("rules", "task")

    assert (log.all[-1].outcome, log.all[-1].usage) == (Outcome.REFUSED, Usage(output_tokens=10))


@pytest.mark.parametrize("outcome", PASSING)
def test_a_failure_that_may_pass_is_waited_out(outcome: Outcome) -> None:
    slept: list[float] = []
    author = ScriptedAuthor(failing(outcome), failing(outcome, retry_after_s=20), "yes")

    assert desk_of(author, sleep=slept.append).ask("rules", "task").text == "yes"
    assert slept == [PAUSES_S[0], 20]


def test_it_is_waited_out_only_so_often_and_not_for_long() -> None:
    slept: list[float] = []
    often = ScriptedAuthor(failing(Outcome.OVERLOADED))
    with pytest.raises(AuthorError):
        desk_of(often, sleep=slept.append).ask("rules", "task")
    assert (slept, len(often.asked)) == ([*PAUSES_S], len(PAUSES_S) + 1)

    long = ScriptedAuthor(failing(Outcome.RATE_LIMITED, retry_after_s=3600))
    with pytest.raises(AuthorError):
        desk_of(long).ask("rules", "task")
    assert len(long.asked) == 1


@pytest.mark.parametrize("outcome", sorted(set(Outcome) - {*PASSING, Outcome.TRUNCATED}))
def test_a_failure_that_stays_is_not_asked_again(outcome: Outcome) -> None:
    author = ScriptedAuthor(failing(outcome))
    with pytest.raises(AuthorError) as caught:
        desk_of(author).ask("rules", "task")

    assert (caught.value.outcome, len(author.asked)) == (outcome, 1)


def test_a_reply_that_is_too_long_gets_more_room_once_within_the_models_limit() -> None:
    author = ScriptedAuthor(failing(Outcome.TRUNCATED))
    with pytest.raises(AuthorError):
        desk_of(author).ask("rules", "task")
    assert [ask.output_tokens for ask in author.asked] == [OUTPUT_TOKENS, 2 * OUTPUT_TOKENS]

    limited = ScriptedAuthor(failing(Outcome.TRUNCATED), "yes")
    desk_of(limited, model=PRICED).ask("rules", "task")
    assert [ask.output_tokens for ask in limited.asked] == [OUTPUT_TOKENS, 20_000]


def test_what_a_model_cannot_hold_is_not_sent() -> None:
    author = ScriptedAuthor("yes")
    with pytest.raises(AuthorError) as caught:
        desk_of(author, model=Model(context_tokens=16_100)).ask("rules", "task" * 1000)

    assert (caught.value.outcome, author.asked) == (Outcome.CONTEXT_FULL, [])


def test_several_authors_are_asked_by_their_shares() -> None:
    ours, theirs = ScriptedAuthor("a", name="ours"), ScriptedAuthor("b", name="theirs")
    desk = Desk([Seat(ours, Model(), 2), Seat(theirs, Model(), 1)], Notes(), Budget())

    for _ in range(9):
        desk.ask("rules", "task")

    assert (len(ours.asked), len(theirs.asked)) == (6, 3)
    assert [ask.number for ask in ours.asked] == [1, 2, 3, 4, 5, 6], "a request counts among those of its author"
    assert all(one.author != "theirs" or two.author != "theirs" for one, two in pairwise(desk.ledger.exchanges))


def test_a_request_that_a_kill_cut_off_goes_to_the_same_author_again_with_its_number() -> None:
    """Also if later ones were answered before the kill, and others after it."""
    for lost in range(1, 7):
        ours, theirs, log = ScriptedAuthor("a", name="ours"), ScriptedAuthor("b", name="theirs"), Notes()
        desk = Desk([Seat(ours, Model(), 2), Seat(theirs, Model(), 1)], log, Budget())
        for log.question in range(1, 7):
            desk.ask("rules", "task")
        asked = [(one.author, one.question) for one in log.exchanges]
        number = {one.question: one for one in log.exchanges}
        log.record(number[lost].model_copy(update={"answered": False}))
        before = (len(ours.asked), len(theirs.asked))

        log.question = lost
        again = desk.ask("rules", "task")

        assert (again.author, again.question) == asked[lost - 1]
        own = ours if again.author == "ours" else theirs
        assert len(own.asked) == before[own is theirs] + 1
        assert own.asked[-1] in own.asked[:-1], "the same request, with its number"


def test_if_one_author_fails_the_next_is_asked() -> None:
    broken, other = ScriptedAuthor(failing(Outcome.KEY_REFUSED), name="a"), ScriptedAuthor("yes", name="b")

    assert desk_of(broken, other).ask("rules", "task").author == "b"
    with pytest.raises(AuthorError):
        desk_of(broken, ScriptedAuthor(failing(Outcome.REFUSED), name="b")).ask("rules", "task")


def test_a_request_that_may_exceed_the_budget_is_not_made() -> None:
    author = ScriptedAuthor("yes")
    for budget in (Budget(dollars=0.1), Budget(tokens=OUTPUT_TOKENS)):
        with pytest.raises(AuthorError, match="budget") as caught:
            desk_of(author, budget=budget, model=PRICED).ask("rules", "task")
        assert (caught.value.outcome, author.asked) == (Outcome.OVER_BUDGET, [])


@hypothesis.settings(max_examples=20)
@given(st.floats(0.17, 1.0), st.lists(st.integers(0, 20_000), min_size=1, max_size=10))
def test_whatever_replies_cost_the_budget_is_never_exceeded(dollars: float, replies: list[int]) -> None:
    class Author(ScriptedAuthor):
        def answer(self, ask):
            reply = super().answer(ask)
            paid = Usage(output_tokens=min(replies[len(self.asked) % len(replies)], ask.output_tokens))
            return reply.model_copy(update={"usage": paid})

    desk = desk_of(Author("yes"), budget=Budget(dollars=dollars), model=PRICED)
    for _ in range(30):
        with suppress(AuthorError):
            desk.ask("rules", "task")
        assert Spent.of(desk.ledger.exchanges).dollars <= dollars


def test_a_request_that_was_lost_in_a_kill_counts_with_the_most_that_it_may_have_cost() -> None:
    lost = Exchange(number=1, author="a", usage=Usage(input_tokens=5, output_tokens=100), dollars=0.5)
    spent = Spent.of([lost, lost.model_copy(update={"number": 2, "answered": True, "dollars": None})])

    assert (spent.dollars, spent.unpriced, spent.unanswered, spent.usage.total) == (0.5, 105, 1, 210)


def test_no_key_of_an_author_reaches_a_record_or_an_error() -> None:
    key = "sk-planted-key"
    for script in (f"the key is {key}", AuthorError(f"bad key {key}", Outcome.KEY_REFUSED)):
        author, log = ScriptedAuthor(script), Log()
        author.secrets = (key, "")
        desk = desk_of(author, ledger=log)
        if isinstance(script, str):
            assert desk.ask("rules", "task").text == "the key is [key]"
        else:
            with pytest.raises(AuthorError) as caught:
                desk.ask("rules", "task")
            assert key not in f"{caught.value} {caught.value.message}"
        assert key not in "".join(exchange.model_dump_json() for exchange in log.all)
