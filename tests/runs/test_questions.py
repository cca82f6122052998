"""Authors are asked while kernels are judged and tuned; each question has its prompt, and each answer is used."""

import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from threading import Barrier, BrokenBarrierError, Lock
from unittest.mock import Mock

import pytest

from eval.pool.ahead import JudgesOnCards
from kb.errors import JudgeError
from kb.runs import loop
from kb.runs.entries import JournalEntry
from kb.runs.journal import HEADER, JOURNAL, Run, Runs
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate
from kb.types.protocols import Stage
from kb.views.answers import candidates_by_request
from kb.views.candidates import prompts_of
from synth.authors import author
from synth.authors.asking import OUTPUT_TOKENS, Exchange
from synth.authors.author import Reply, Usage
from synth.authors.spending import Budget
from synth.search import moves
from tests.runs.fakes import BEST, FakeJudge, PaidAuthor, asking, candidate, cards, evidence_of, loop_of, start


def unused(run: Run) -> list[Exchange]:
    """The replies that led to no candidate yet."""
    led_to = candidates_by_request(run)
    return [one for one in run.exchanges if one.answered and one.number not in led_to]


def test_an_author_is_asked_for_the_next_kernel_while_the_last_one_is_tuned(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = start(home, evaluations=9)
    slow = FakeJudge(tmp_path / "judged.log", estimate_s=0.02)

    loop_of(run, home, library).optimize(asking(PaidAuthor(tmp_path / "paid.log", 0.1)), slow)

    kinds = [entry.kind for entry in run.entries]
    second = kinds.index("asked", kinds.index("judged"))
    assert "tried" in kinds[second : kinds.index("answered", second)]


def test_an_answer_that_comes_after_the_time_is_up_is_kept_for_the_next_start(
    home: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, log = start(home, evaluations=9), tmp_path / "paid.log"
    slow = FakeJudge(tmp_path / "judged.log")
    monkeypatch.setattr(loop.time, "monotonic", lambda: 1e9 if run.tried else 0.0)

    loop_of(run, home, library).optimize(asking(PaidAuthor(log, 0.3)), slow, minutes=1)

    assert (run.ended, run.spent.unanswered) == ("", 0)
    assert len(unused(run)) == 2, "a small step, and another structure"
    paid = len(log.read_text().splitlines())
    monkeypatch.undo()
    again = Runs(home).get(run.id)
    loop_of(again, home, library).optimize(asking(PaidAuthor(log)), slow)
    assert log.read_text().splitlines()[:paid] == [f"paid {number}" for number in range(1, paid + 1)]
    assert len(log.read_text().splitlines()) == sum(attempt.stage is not None for attempt in again.attempts)


def test_a_search_that_would_stop_still_judges_the_kernel_that_it_has_asked_for(
    home: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(home, evaluations=9)
    judge = FakeJudge(tmp_path / "judged.log", estimate_s=0.02)
    monkeypatch.setattr(moves, "_over", lambda state, beam: "enough" if len(state.attempts) > 1 else "")
    loop_of(run, home, library).optimize(asking(PaidAuthor(tmp_path / "paid.log", 0.1)), judge)

    assert run.ended == "enough"
    assert sum(attempt.stage is not None for attempt in run.attempts) == len(run.exchanges) == 3


class Remembering(PaidAuthor):
    """Remembers what it was asked."""

    def __init__(self, log: Path) -> None:
        super().__init__(log)
        self.asked: list[str] = []

    def answer(self, ask: author.Ask) -> Reply:
        self.asked.append(ask.said[0])
        return super().answer(ask)


def test_each_prompt_to_an_author_is_kept_under_the_number_of_its_question(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run, writer = start(home, evaluations=9), Remembering(tmp_path / "paid.log")

    loop_of(run, home, library).optimize(asking(writer), FakeJudge(tmp_path / "judged.log"))

    assert len(writer.asked) > 1
    kept = [run.prompt(number) for number in range(1, len(writer.asked) + 2)]
    assert [prompt and prompt.rest for prompt in kept] == [*writer.asked, None]
    assert (run.folder / "prompts" / "001.md").read_text() == kept[0].text


def test_a_prompt_whose_answer_is_paid_stays_as_it_was_sent(
    home: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, writer = start(home, evaluations=9), Remembering(tmp_path / "paid.log")
    monkeypatch.setattr(loop.time, "monotonic", lambda: 1e9 if run.tried else 0.0)
    loop_of(run, home, library).optimize(asking(writer), FakeJudge(tmp_path / "judged.log"), minutes=1)
    monkeypatch.undo()
    assert len(unused(run)) == 2

    again = Runs(home).get(run.id)
    loop_of(again, home, library).optimize(asking(writer), FakeJudge(tmp_path / "judged.log"))

    assert [again.prompt(number).rest for number in range(1, len(writer.asked) + 1)] == writer.asked


class Fresh(PaidAuthor):
    """Plans two other structures, and writes another kernel each time: with the same parameters, or without."""

    def __init__(self, log: Path, pause_s: float = 0.0, *, tuned: bool = True) -> None:
        super().__init__(log, pause_s)
        self.tuned = tuned

    def answer(self, ask: author.Ask) -> Reply:
        time.sleep(self.pause_s)
        source = candidate().source.replace("// row sum", f"int row_sum_{ask.number};")
        source = source if self.tuned else source.replace("// tune", "// not tuned")
        plans = "plan: by rows\nplan: by columns\n" if ask.number == 1 else ""
        return Reply(text=f"{plans}note: {ask.number}\n\n```cpp\n{source}```\n", usage=Usage())


def kinds_of(run: Run) -> list[str]:
    """What happened, in order, with the number of the question or the candidate."""
    return [f"{entry.kind} {entry.exchange.question if entry.exchange else entry.step}" for entry in run.entries]


def test_a_planned_structure_is_asked_for_while_the_first_kernel_is_judged_and_another_beside_a_small_step(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run, slow = start(home, evaluations=4), FakeJudge(tmp_path / "judged.log", 0.1)

    loop_of(run, home, library).optimize(asking(Fresh(tmp_path / "paid.log", 0.2, tuned=False)), slow)

    assert kinds_of(run)[:7] == [
        "asked 1", "answered 1", "proposed 1", "asked 2", "judged 1", "asked 3", "asked 4",
    ]  # fmt: skip
    assert [(ask.stage, ask.structure) for ask in run.asked.values()] == [
        (Stage.DRAFT, ""), (Stage.RETHINK, "by rows"), (Stage.IMPROVE, ""), (Stage.RETHINK, "by columns"),
    ]  # fmt: skip
    prompts = [run.prompt(number) for number in run.asked]
    assert [prompt and ("by rows" in prompt.text, "by columns" in prompt.text) for prompt in prompts] == [
        (False, False), (True, False), (False, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("raised", "unanswered"), [(JudgeError("broken", hint=""), 0), (KeyboardInterrupt(), 2)])
def test_replies_are_waited_for_if_the_judge_fails_but_not_on_an_interrupt(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    raised: BaseException, unanswered: int,
) -> None:  # fmt: skip
    """While the first kernel is tuned, a small step and a structure are asked for."""
    run, slow = start(home, evaluations=9), Fresh(tmp_path / "paid.log", 0.3)
    monkeypatch.setattr(judge, "estimate", Mock(side_effect=raised))

    with pytest.raises(type(raised)):
        loop_of(run, home, library).optimize(asking(slow), judge)

    assert (len(run.exchanges), run.spent.unanswered) == (3, unanswered)


def test_what_does_not_fit_the_budget_beside_others_is_asked_when_these_are_answered(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run, authors = start(home, evaluations=3), asking(Fresh(tmp_path / "paid.log", 0.2, tuned=False))
    most = authors.desk.seats[0].most(10_000, OUTPUT_TOKENS).usage.total
    authors = replace(authors, desk=replace(authors.desk, budget=Budget(tokens=most)))

    loop_of(run, home, library).optimize(authors, FakeJudge(tmp_path / "judged.log", 0.1))

    asked = [kind for kind in kinds_of(run) if "ed 3" in kind or "ed 2" in kind]
    assert asked.index("answered 2") < asked.index("asked 3")
    assert (len(run.attempts), run.ended) == (3, "all evaluations are spent")


class Evasive(Fresh):
    """Its first reply on the structure `by rows` comes at once and has no kernel."""

    words = 5

    def answer(self, ask: author.Ask) -> Reply:
        if "by rows" in ask.said[0] and len(ask.said) == 1:
            return Reply(text="evasive " * self.words, usage=Usage())
        return super().answer(ask)


def evasive_run(home: Path, library: Path, tmp_path: Path, words: int) -> Run:
    """It ends, with a budget for two requests at a time; a reply of so many words needs one twice as large."""
    run, writer = start(home, evaluations=4), Evasive(tmp_path / "paid.log", 0.2, tuned=False)
    writer.words, authors = words, asking(writer)
    most = authors.desk.seats[0].most(10_000, OUTPUT_TOKENS).usage.total
    authors = replace(authors, desk=replace(authors.desk, budget=Budget(tokens=2 * most)))
    loop_of(run, home, library).optimize(authors, FakeJudge(tmp_path / "judged.log"))
    return run


def test_a_request_without_room_in_the_budget_is_made_when_those_under_way_are_answered(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = evasive_run(home, library, tmp_path, words=5)

    kinds = kinds_of(run)
    assert kinds[kinds.index("answered 2") + 1 :].index("asked 2") > 0
    assert len(run.attempts) == 4
    assert unused(run) == [one for one in run.exchanges if "evasive" in one.text]


def test_a_run_that_ends_for_want_of_budget_first_judges_each_paid_kernel(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = evasive_run(home, library, tmp_path, words=6000)

    assert "over budget" in run.ended
    assert len(run.attempts) > 1
    assert unused(run) == [one for one in run.exchanges if "evasive" in one.text]
    for candidate_number, prompt in prompts_of(run).items():
        assert ("by columns" in prompt.text) is (candidate_number == 3)


def test_a_run_that_was_stopped_after_it_passed_over_a_question_goes_on_behind_it(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = evasive_run(home, library, tmp_path, words=6000)
    journal = run.folder / "journal.jsonl"
    lines = journal.read_text().splitlines(keepends=True)
    place = next(n for n, entry in enumerate(run.entries) if (entry.kind, entry.step) == ("proposed", 2))
    journal.write_text("".join(lines[: place + 1]))
    again = Runs(home).get(run.id)

    loop_of(again, home, library).optimize(asking(Fresh(tmp_path / "paid.log")), FakeJudge(tmp_path / "judged.log"))

    written = [attempt.question for attempt in again.attempts if attempt.stage]
    assert written == [1, *range(3, 2 + len(written))]


def test_a_reply_that_comes_after_the_hold_is_not_recorded_and_asked_for_again(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow = start(home, evaluations=9), Fresh(tmp_path / "paid.log", 0.2)
    monkeypatch.setattr(judge, "estimate", Mock(side_effect=KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        loop_of(run, home, library).optimize(asking(slow), judge)
    monkeypatch.undo()
    left = (run.folder / "journal.jsonl").read_bytes()
    time.sleep(0.4)

    assert (run.folder / "journal.jsonl").read_bytes() == left
    again = Runs(home).get(run.id)
    loop_of(again, home, library).optimize(asking(slow), judge)
    written = [attempt.question for attempt in again.attempts if attempt.stage]
    assert (written, again.spent.unanswered) == ([1, 2, 3], 2)


class Failing(Fresh):
    """Its key is refused after the first answer."""

    def answer(self, ask: author.Ask) -> Reply:
        if ask.number > 1:
            raise author.AuthorError("no", author.Outcome.KEY_REFUSED)
        return super().answer(ask)


def test_a_run_that_pauses_tells_that_an_author_failed(
    home: Path, library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, slow = start(home, evaluations=3), FakeJudge(tmp_path / "judged.log", 0.1)
    monkeypatch.setattr(loop.time, "monotonic", lambda: 1e9 if run.attempts else 0.0)

    with pytest.raises(author.AuthorError, match="key refused"):
        loop_of(run, home, library).optimize(asking(Failing(tmp_path / "paid.log", tuned=False)), slow, minutes=1)

    assert (len(run.attempts), run.ended) == (1, "")


def test_a_paid_reply_in_the_journal_of_an_earlier_version_is_used(home: Path, library: Path, tmp_path: Path) -> None:
    run, writer = start(home, evaluations=1), Fresh(tmp_path / "paid.log", tuned=False)
    text = writer.answer(author.Ask(system="", said=(), output_tokens=1)).text
    reply = Exchange(number=1, author="paid", answered=True, text=text)
    run.append(JournalEntry(kind="answered", step=1, exchange=reply, ask=moves.Ask(stage=Stage.DRAFT)))
    again, other = Runs(home).get(run.id), Remembering(tmp_path / "paid.log")

    loop_of(again, home, library).optimize(asking(other), FakeJudge(tmp_path / "judged.log"))

    assert [attempt.note for attempt in again.attempts] == ["1"]
    assert len(again.exchanges) == 1


def prefixes(run: Run, folder: Path) -> Iterator[tuple[Run, JournalEntry]]:
    """The run after each entry of its journal, and what came next."""
    folder.mkdir()
    (folder / HEADER).write_bytes((run.folder / HEADER).read_bytes())
    lines = (run.folder / JOURNAL).read_bytes().splitlines(keepends=True)
    for number, entry in enumerate(Run(run.folder).entries):
        (folder / JOURNAL).write_bytes(b"".join(lines[:number]))
        yield Run(folder), entry


def test_each_step_of_a_run_follows_from_the_journal_before_it(home: Path, library: Path, tmp_path: Path) -> None:
    run = start(home, evaluations=moves.WRITTEN)
    slow = FakeJudge(tmp_path / "judged.log", 0.01)
    loop_of(run, home, library).optimize(asking(Fresh(tmp_path / "paid.log", 0.03)), slow)
    assert run.ended

    for before, entry in prefixes(run, tmp_path / "prefix"):
        asked = [ask for number, ask in before.asked.items() if number not in loop.written(before)]
        state = loop.state_of(before, asked=asked)
        move = next(iter(moves.next_moves(state, writes=True)), None)
        if entry.tried:
            assert isinstance(move, moves.Measure)
            values = {one.name: one.value for one in move.candidate.parameters}
            assert (move.candidate.template_digest, values) == (entry.tried.template, entry.tried.values)
        elif entry.proposal and entry.proposal.is_tuned:
            assert move == moves.Submit(proposal=entry.proposal)
        elif entry.proposal:
            assert not isinstance(move, moves.Measure | moves.Submit)
            assert (asked[0].stage, asked[0].base) == (entry.proposal.stage, entry.proposal.parent)
        elif entry.kind == "asked":
            assert moves.ask_ahead(state, moves.WRITTEN - len(before.attempts)) == entry.ask
        elif entry.kind == "ended":
            assert move == moves.Stop(reason=entry.text)
    assert {entry.kind for entry in run.entries} >= {"asked", "tried", "proposed", "judged", "ended"}


class Rising(FakeJudge):
    """Finds each kernel faster than the one before it, so that the search does not stop."""

    def verify(self, one: Candidate) -> Evidence:
        super().verify(one)
        return evidence_of(one, speedup=1.0 + 0.1 * len(self.log.read_text().splitlines()))


@pytest.mark.alone
@pytest.mark.parametrize(("tuned", "evaluations"), [(True, 12), (False, 8)], ids=["with parameters", "without"])
def test_the_device_works_most_of_the_time_while_an_author_is_slow(
    home: Path, library: Path, tmp_path: Path, evaluations: int, *, tuned: bool
) -> None:
    """At a hundredth of the times of an H100: a verdict takes 15 s, a setting 1.5 s, an answer 30 s."""
    run = start(home, evaluations=evaluations)
    slow = Rising(tmp_path / "judged.log", 0.15, estimate_s=0.015)
    writer = Fresh(tmp_path / "paid.log", 0.3, tuned=tuned)
    begin = time.monotonic()

    loop_of(run, home, library).optimize(asking(writer), slow)

    assert slow.busy_s / (time.monotonic() - begin) > 0.6


def test_several_cards_judge_what_authors_answer_and_the_journal_is_as_with_one(
    home: Path, library: Path, tmp_path: Path
) -> None:
    """A planned structure is judged while the first kernel is; each verdict is asked for once."""
    at_once, lock, most = [0], Lock(), [0]

    class Counting(FakeJudge):
        def verify(self, one: Candidate) -> Evidence:
            with lock:
                at_once[0] += 1
                most[0] = max(most[0], at_once[0])
            try:
                return super().verify(one)
            finally:
                with lock:
                    at_once[0] -= 1

    log = tmp_path / "judged.log"
    one, several = start(home, evaluations=9), start(tmp_path / "several", evaluations=9)
    loop_of(one, home, library).optimize(asking(Fresh(tmp_path / "paid.log", tuned=False)), FakeJudge(tmp_path / "one"))
    with JudgesOnCards(lambda environment: nullcontext(Counting(log, 0.2)), cards(3), print) as judges:
        author = asking(Fresh(tmp_path / "paid.log", 0.02, tuned=False))
        loop_of(several, tmp_path / "several", library).optimize(author, judges)

    assert most[0] > 1
    assert several.ended == one.ended
    assert [attempt.candidate for attempt in several.attempts] == [attempt.candidate for attempt in one.attempts]
    assert sorted(log.read_text().splitlines()) == sorted(attempt.candidate.digest for attempt in several.attempts)


def test_the_tuner_times_as_many_settings_at_a_time_as_there_are_cards(
    home: Path, library: Path, tmp_path: Path
) -> None:
    barrier = Barrier(2, timeout=10)

    class Together(FakeJudge):
        def estimate(self, one: Candidate) -> Estimate:
            with suppress(BrokenBarrierError):  # the last of an odd number is alone
                barrier.wait(1)
            return super().estimate(one)

    run = start(home, evaluations=3)
    with JudgesOnCards(lambda environment: nullcontext(Together(tmp_path / "log")), cards(2), print) as judges:
        loop_of(run, home, library).optimize(None, judges)

    assert len(run.tried) > 2
    assert len({tuple(one.values.items()) for one in run.tried}) == len(run.tried)
    assert run.best
    assert run.best.candidate == candidate(**BEST)
