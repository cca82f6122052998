"""The loop keeps to its evaluations, never judges a candidate twice, and publishes wins as skills."""

import time
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import pytest

from kb.errors import JudgeError, RunError
from kb.runs import loop
from kb.runs.journal import JOURNAL, JournalEntry, Plan, Run, Runs, SynthesizerKind
from kb.skillbook.library import Skillbook
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate
from kb.types.protocols import Attempt, Stage
from kb.types.skill import SkillKind, SkillStanding
from kb.views.answers import candidates_by_request
from synth.authors import author
from synth.authors.asking import OUTPUT_TOKENS, Exchange
from synth.authors.author import Reply, Usage
from synth.authors.spending import Budget
from synth.search import moves
from tests.runs.fakes import (
    BEST,
    INTERFACE,
    TASK,
    TEMPLATE,
    FakeJudge,
    PaidAuthor,
    asking,
    book_of,
    candidate,
    evidence_of,
    loop_of,
    template,
)


@pytest.fixture
def library(tmp_path: Path) -> Path:
    Skillbook(tmp_path / "library", shipped=tmp_path / "none").publish(template())
    return tmp_path / "library" / "skills"


@pytest.fixture
def judge(tmp_path: Path) -> FakeJudge:
    return FakeJudge(tmp_path / "judged.log")


def start(
    home: Path, *, evaluations: int = 6, kind: SynthesizerKind = SynthesizerKind.TUNE, control: bool = False
) -> Run:
    plan = Plan(task=TASK, target="cpu-x86", language="cpp", synthesizer=kind, evaluations=evaluations, control=control)
    return Runs(home).start(plan)


def unused(run: Run) -> list[Exchange]:
    """The replies that led to no candidate yet."""
    led_to = candidates_by_request(run)
    return [one for one in run.exchanges if one.answered and one.number not in led_to]


def speedups(run: Run) -> list[float]:
    return [attempt.evidence.speedup or 0.0 for attempt in run.attempts]


def test_a_run_judges_as_many_candidates_as_its_plan_allows(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home, evaluations=2)
    told: list[tuple[int, Attempt]] = []

    loop_of(run, home, library, lambda step, attempt: told.append((step, attempt))).optimize(None, judge)

    assert len(judge.log.read_text().splitlines()) == 2
    assert [step for step, _ in told] == [1, 2]
    assert run.ended == "all evaluations are spent"


def test_a_run_times_settings_quickly_and_judges_the_best_two(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home, evaluations=100)

    loop_of(run, home, library).optimize(None, judge)

    assert len(run.attempts) == 3
    assert 3 <= len(run.tried) <= 16
    assert run.attempts[1].note == f"UNROLL=4, BLOCK=128: among the fastest of {len(run.tried)} settings of candidate 1"
    assert run.best
    assert run.best.candidate.digest == candidate(**BEST).digest
    assert run.ended == "tune has nothing left to try"


def test_a_win_becomes_a_verified_skill_from_which_the_next_run_starts(
    home: Path, library: Path, judge: FakeJudge
) -> None:
    first = start(home, evaluations=9)
    loop_of(first, home, library).optimize(None, judge)
    (name,) = first.published
    assert book_of(home, library).standings()[name] is SkillStanding.VERIFIED

    second = start(home, evaluations=3)
    loop_of(second, home, library).optimize(None, judge)

    assert speedups(second)[0] == max(speedups(first))
    assert speedups(first)[0] < max(speedups(first)), "the first run had something to gain"


@pytest.mark.parametrize(("stated", "licence"), [(None, "MIT"), ("Apache-2.0", "Apache-2.0"), ("", "")])
def test_what_a_run_writes_has_the_licence_of_the_kernel_that_it_changed_else_that_of_the_home(
    stated: str | None, licence: str, home: Path, tmp_path: Path, judge: FakeJudge
) -> None:
    shipped = Skillbook(tmp_path / "shipped", shipped=tmp_path / "none")
    if stated is not None:
        shipped.publish(template().model_copy(update={"license": stated}))
    run = start(home, kind=SynthesizerKind.EXTERNAL)
    loop = loop_of(run, home, shipped.folder)
    loop.skillbook.licence = "MIT"

    loop.submit(candidate(**BEST), judge)

    assert [loop.skillbook.find(name).license for name in run.published] == [licence]


def test_the_same_kernel_is_one_skill_however_often_it_wins(home: Path, library: Path, judge: FakeJudge) -> None:
    for _ in range(2):
        run = start(home, kind=SynthesizerKind.EXTERNAL)
        loop_of(run, home, library).submit(candidate(**BEST), judge, note=run.id)

    assert len([one for one in book_of(home, library).skills() if one.target == "cpu-x86"]) == 1


def test_tune_searches_only_skills_that_are_kernels(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    Skillbook(tmp_path / "library", shipped=tmp_path / "none").publish(
        template().model_copy(update={"kind": SkillKind.TECHNIQUE})
    )
    run = start(home)

    loop_of(run, home, tmp_path / "library" / "skills").optimize(None, judge)

    assert (run.attempts, run.ended) == ((), "tune has nothing left to try")


def test_a_control_run_leaves_nothing(home: Path, library: Path, judge: FakeJudge) -> None:
    plan = start(home).plan.model_copy(update={"control": True})

    loop_of(Runs(home).start(plan), home, library).optimize(None, judge)

    assert not (home / "skills").exists()


@pytest.mark.parametrize("target", ["any", "cpu-x86"])
def test_a_control_run_gets_a_template_as_if_it_had_not_won(
    target: str, home: Path, tmp_path: Path, judge: FakeJudge
) -> None:
    shipped = template().model_copy(update={"target": target})
    Skillbook(tmp_path / "library", shipped=tmp_path / "none").publish(shipped)
    library = tmp_path / "library" / "skills"
    book, won = book_of(home, library), evidence_of(candidate())
    book.attest(won)
    book.publish(shipped.model_copy(update={"evidence": (won,)}))
    run = Runs(home).start(start(home).plan.model_copy(update={"control": True}))

    loop_of(run, home, library).optimize(None, judge)

    assert "hypothesis" in run.attempts[0].note


def test_if_a_skill_is_refused_unchanged_the_next_one_is_tried(home: Path, tmp_path: Path, judge: FakeJudge) -> None:
    book = Skillbook(tmp_path / "library", shipped=tmp_path / "none")
    book.publish(template(f"// wrong row sum row sum\n{TEMPLATE}", "row-sum-a-wrong-one"))
    book.publish(template())
    run = start(home, evaluations=4)

    loop_of(run, home, tmp_path / "library" / "skills").optimize(None, judge)

    outcomes = [a.evidence.outcome for a in run.attempts]
    assert outcomes.count("incorrect") <= 1
    assert outcomes[-1] == "passed"


def test_a_skill_says_why_in_the_words_of_the_kernels_author_also_if_the_tuner_found_its_values(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path
) -> None:
    run = start(home, evaluations=3)

    loop_of(run, home, library).optimize(asking(PaidAuthor(tmp_path / "paid.log")), judge)

    assert run.best
    assert run.best.is_tuned
    (name,) = run.published
    assert "> try 0\n" in book_of(home, library).find(name).body


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
    assert len(unused(run)) == 1
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
    monkeypatch.setattr(moves, "_over", lambda state: "enough" if len(state.attempts) > 1 else "")
    loop_of(run, home, library).optimize(asking(PaidAuthor(tmp_path / "paid.log", 0.1)), judge)

    assert run.ended == "enough"
    assert sum(attempt.stage is not None for attempt in run.attempts) == len(run.exchanges) == 2


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
    assert len(unused(run)) == 1

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
        source = candidate().source.replace("row sum", f"row sum {ask.number}")
        source = source if self.tuned else source.replace("// tune", "// not tuned")
        plans = "plan: by rows\nplan: by columns\n" if ask.number == 1 else ""
        return Reply(text=f"{plans}note: {ask.number}\n\n```cpp\n{source}```\n", usage=Usage())


def kinds_of(run: Run) -> list[str]:
    """What happened, in order, with the number of the question or the candidate."""
    return [f"{entry.kind} {entry.exchange.question if entry.exchange else entry.step}" for entry in run.entries]


def test_the_planned_structures_are_asked_for_while_the_first_kernel_is_judged(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run, slow = start(home, evaluations=3), FakeJudge(tmp_path / "judged.log", 0.1)

    loop_of(run, home, library).optimize(asking(Fresh(tmp_path / "paid.log", 0.2, tuned=False)), slow)

    assert kinds_of(run)[:6] == ["asked 1", "answered 1", "proposed 1", "asked 2", "asked 3", "judged 1"]
    assert [run.asked[number].structure for number in run.asked] == ["", "by rows", "by columns"]
    prompts = [run.prompt(number) for number in run.asked]
    assert [prompt and ("by rows" in prompt.text, "by columns" in prompt.text) for prompt in prompts] == [
        (False, False), (True, False), (False, True),
    ]  # fmt: skip


@pytest.mark.parametrize(("raised", "unanswered"), [(JudgeError("broken", hint=""), 0), (KeyboardInterrupt(), 2)])
def test_replies_are_waited_for_if_the_judge_fails_but_not_on_an_interrupt(
    home: Path, library: Path, judge: FakeJudge, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    raised: BaseException, unanswered: int,
) -> None:  # fmt: skip
    run, slow = start(home, evaluations=3), Fresh(tmp_path / "paid.log", 0.3, tuned=False)
    monkeypatch.setattr(judge, "verify", Mock(side_effect=raised))

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


def test_a_paid_reply_in_the_journal_of_an_earlier_version_is_used(home: Path, library: Path, tmp_path: Path) -> None:
    run, writer = start(home, evaluations=1), Fresh(tmp_path / "paid.log", tuned=False)
    text = writer.answer(author.Ask(system="", said=(), output_tokens=1)).text
    reply = Exchange(number=1, author="paid", answered=True, text=text)
    run.append(JournalEntry(kind="answered", step=1, exchange=reply, ask=moves.Ask(stage=Stage.DRAFT)))
    again, other = Runs(home).get(run.id), Remembering(tmp_path / "paid.log")

    loop_of(again, home, library).optimize(asking(other), FakeJudge(tmp_path / "judged.log"))

    assert [attempt.note for attempt in again.attempts] == ["1"]
    assert len(again.exchanges) == 1


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
    """At a fiftieth of the times of an H100: a verdict takes 15 s, a setting 1.5 s, an answer 30 s."""
    run = start(home, evaluations=evaluations)
    slow = Rising(tmp_path / "judged.log", 0.3, estimate_s=0.03)
    writer = Fresh(tmp_path / "paid.log", 0.6, tuned=tuned)
    begin = time.monotonic()

    loop_of(run, home, library).optimize(asking(writer), slow)

    assert slow.busy_s / (time.monotonic() - begin) > 0.6


class Repeating(PaidAuthor):
    """Writes the same kernel again and again."""

    def answer(self, ask: author.Ask) -> Reply:
        return super().answer(ask.model_copy(update={"number": 1}))


def test_the_same_candidate_is_not_judged_again(home: Path, library: Path, judge: FakeJudge, tmp_path: Path) -> None:
    run = start(home, evaluations=20)

    loop_of(run, home, library).optimize(asking(Repeating(tmp_path / "paid.log")), judge)

    judged = judge.log.read_text().splitlines()
    assert len(judged) == len({*judged}) < len(run.attempts)
    assert run.ended == "2 kernels in a row brought no gain"
    assert run.spent.usage == Usage(output_tokens=100 * sum(attempt.stage is not None for attempt in run.attempts))


def test_a_run_that_stops_on_time_can_continue(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home)
    loop_of(run, home, library).optimize(None, judge, minutes=0)
    assert (run.ended, run.attempts) == ("", ())

    loop_of(run, home, library).optimize(None, judge)

    assert len(run.attempts) == 3


def test_a_run_that_is_over_is_refused(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home)
    loop_of(run, home, library).optimize(None, judge)

    with pytest.raises(RunError, match="is over"):
        loop_of(Runs(home).get(run.id), home, library).optimize(None, judge)


def test_a_run_belongs_to_one_process_at_a_time(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home)
    with run.held(), pytest.raises(RunError, match="another process"):
        loop_of(Runs(home).get(run.id), home, library).optimize(None, judge)


def test_two_runs_share_a_home(home: Path, library: Path, judge: FakeJudge) -> None:
    one, two = start(home), start(home)
    assert one.id != two.id
    with one.held():
        loop_of(two, home, library).optimize(None, judge)
    loop_of(one, home, library).optimize(None, judge)
    assert {r.id for r in Runs(home)} == {one.id, two.id}
    assert not Skillbook(home, shipped=library).problems()


def test_a_submitted_candidate_is_judged_once_and_published_if_it_wins(
    home: Path, library: Path, judge: FakeJudge
) -> None:
    run = start(home, kind=SynthesizerKind.EXTERNAL, evaluations=2)
    loop = loop_of(run, home, library)
    first = loop.prompt(INTERFACE)
    assert (run.folder / "prompts" / "001.md").read_text() == first.text

    assert loop.submit(candidate(**BEST), judge, note="all at once").won
    assert run.published
    with pytest.raises(RunError, match="already judged, as candidate 1"):
        loop.submit(candidate(**BEST), judge)
    assert "all at once" in loop.prompt(INTERFACE).text

    loop.submit(candidate(), judge)
    assert len(run.published) == 1, "a slower one is not published"
    assert run.ended
    with pytest.raises(RunError, match="is over"):
        loop.prompt(INTERFACE)


def test_a_submitted_candidate_whose_times_were_disturbed_is_judged_again_and_counts_once(
    home: Path, library: Path, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(home, kind=SynthesizerKind.EXTERNAL, evaluations=1)
    loop, good = loop_of(run, home, library), evidence_of(candidate(**BEST))
    assert good.timing
    sessions = tuple(each.model_copy(update={"others": 0.5}) for each in good.timing.sessions)
    busy = good.model_copy(update={"timing": good.timing.model_copy(update={"sessions": sessions})})
    verdicts = iter([busy, good])
    monkeypatch.setattr(judge, "verify", lambda _: next(verdicts))

    assert not loop.submit(candidate(**BEST), judge).won
    assert run.ended
    assert loop.submit(candidate(**BEST), judge).won
    assert len(run.attempts) == 1
    assert run.published
    assert [entry.kind for entry in run.entries].count("ended") == 1
    with pytest.raises(RunError, match="is over"):
        loop.submit(candidate(**BEST), judge)


def test_a_submitted_candidate_is_tuned_on_request(
    home: Path, library: Path, judge: FakeJudge, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = start(home, kind=SynthesizerKind.EXTERNAL)
    by_hand = loop_of(run, home, library)
    killed = iter([Estimate(time_us=90.0), KeyboardInterrupt()])

    def estimate(one: Candidate) -> Estimate:
        came = next(killed)
        if isinstance(came, Estimate):
            return came
        raise came

    with monkeypatch.context() as patched:
        patched.setattr(judge, "estimate", estimate)
        with pytest.raises(KeyboardInterrupt):
            by_hand.submit(candidate(), judge, tune=True)
    assert (len(run.attempts), len(run.tried)) == (1, 1)

    assert by_hand.submit(candidate(), judge, tune=True) == run.attempts[0].evidence

    assert run.best
    assert run.best.candidate == candidate(**BEST)
    assert run.best.is_tuned
    assert len(judge.log.read_text().splitlines()) == len(run.attempts), "nothing is judged twice"
    assert loop_of(run, home, library).skillbook.find(run.published[-1]).candidate == candidate(**BEST)


def test_a_repeated_request_gives_the_same_prompt(home: Path, library: Path) -> None:
    run = start(home, kind=SynthesizerKind.EXTERNAL)
    loop = loop_of(run, home, library)
    assert loop.prompt(INTERFACE).text == loop.prompt(INTERFACE).text
    assert not run.entries


def test_the_best_candidate_is_the_fastest_winner_whatever_its_speed_up(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lucky, fastest = candidate(UNROLL=1), candidate(UNROLL=8)
    attempts = [
        Attempt(candidate=lucky, evidence=evidence_of(lucky, speedup=1.5, baseline_us=200.0)),
        Attempt(candidate=fastest, evidence=evidence_of(fastest, speedup=1.2)),
    ]
    run = start(home)
    monkeypatch.setattr(Run, "attempts", property(lambda _: attempts))

    assert run.best is attempts[1]


def test_an_incomplete_last_line_of_the_journal_is_ignored(home: Path, library: Path, judge: FakeJudge) -> None:
    run = start(home)
    with (run.folder / JOURNAL).open("ab") as file:
        file.write(b'{"kind":"judged","step"')

    again = Runs(home).get(run.id)
    loop_of(again, home, library).optimize(None, judge)

    assert len(again.attempts) == 3


@pytest.mark.parametrize(
    ("name", "message"), [("nothing", "there is no run 'nothing'"), ("row-sum", "2 runs match 'row-sum'")]
)
def test_a_run_is_found_only_by_an_unambiguous_name(home: Path, name: str, message: str) -> None:
    start(home)
    last = start(home)
    with pytest.raises(RunError, match=message):
        Runs(home).get(name)
    assert Runs(home).get(last.id[-4:]).id == last.id


def test_a_damaged_journal_is_refused_and_hides_no_other_run(home: Path) -> None:
    run, other = start(home), start(home)
    (run.folder / JOURNAL).write_bytes(b'{"kind":"what"}\n{}\n')
    with pytest.raises(RunError, match="cannot be read: kind"):
        Runs(home).get(run.id)
    assert [r.id for r in Runs(home)] == [other.id]
    assert [folder.name for folder, _ in Runs(home).problems()] == [run.id]
