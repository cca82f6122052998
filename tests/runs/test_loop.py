"""The loop keeps to its evaluations, never judges a candidate twice, and publishes wins as skills."""

from pathlib import Path

import pytest

from kb.errors import RunError
from kb.runs.journal import JOURNAL, Run, Runs, SynthesizerKind
from kb.skillbook.library import Skillbook
from kb.types.evidence import Estimate, Evidence
from kb.types.kernels import Candidate
from kb.types.protocols import Attempt
from kb.types.skill import SkillKind, SkillStanding
from synth.authors import author
from synth.authors.author import Reply, Usage
from tests.runs.fakes import (
    BEST,
    INTERFACE,
    TEMPLATE,
    FakeJudge,
    PaidAuthor,
    asking,
    book_of,
    candidate,
    evidence_of,
    loop_of,
    start,
    template,
)


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
    book.publish(template(f"int wrong; // row sum row sum\n{TEMPLATE}", "row-sum-a-wrong-one"))
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


def test_a_comment_buys_no_verdict(home: Path, library: Path, judge: FakeJudge) -> None:
    by_hand = start(home, kind=SynthesizerKind.EXTERNAL)
    loop = loop_of(by_hand, home, library)
    again = candidate().model_copy(update={"source": f"// once more\n{candidate().source}"})
    loop.submit(candidate(), judge)
    with pytest.raises(RunError, match="already judged, as candidate 1"):
        loop.submit(again, judge)
    asked = start(home, evaluations=2)

    loop_of(asked, home, library).optimize(asking(Commenting(judge.log.with_name("paid"))), judge)

    assert [one.candidate for one in asked.attempts] == [asked.attempts[0].candidate] * 2
    assert len(judge.log.read_text().splitlines()) == 2, "one in each run"


class Commenting(PaidAuthor):
    """Writes one kernel, with another comment each time."""

    def answer(self, ask: author.Ask) -> Reply:
        source = TEMPLATE.replace("// row sum", f"// row sum, try {ask.number}")
        source = source.replace("// tune", "// not tuned")
        return Reply(text=f"note: {ask.number}\n\n```cpp\n{source}```\n", usage=Usage(output_tokens=1))


class Disturbed(FakeJudge):
    """Times every kernel beside other work."""

    def verify(self, one: Candidate) -> Evidence:
        found = super().verify(one)
        assert found.timing
        sessions = tuple(session.model_copy(update={"others": 0.9}) for session in found.timing.sessions)
        return found.model_copy(update={"timing": found.timing.model_copy(update={"sessions": sessions})})


def test_where_other_work_disturbs_all_times_the_quick_ones_name_the_best(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = start(home)

    loop_of(run, home, library).optimize(None, Disturbed(tmp_path / "judged.log"))

    assert run.best
    assert (run.best.candidate.digest, run.best.is_tuned) == (candidate(**BEST).digest, True)


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


def test_what_a_run_has_counted_is_what_a_reader_of_its_journal_counts(
    home: Path, library: Path, tmp_path: Path
) -> None:
    run = start(home, evaluations=5)
    loop_of(run, home, library).optimize(asking(PaidAuthor(tmp_path / "paid.log")), FakeJudge(tmp_path / "judged.log"))

    read = Run(run.folder)
    for name in ("attempts", "tried", "exchanges", "asked", "spent", "judged_s", "step", "pending", "best"):
        assert getattr(run, name) == getattr(read, name), name
    assert run.tried
    assert len(run.attempts) == 5


def test_a_copy_with_another_source_has_another_digest() -> None:
    one = candidate()
    other = one.model_copy(update={"source": f"{one.source}// other\n"})

    assert (one.digest, one.template_digest) != (other.digest, other.template_digest)
    assert other.digest == Candidate(language=one.language, source=other.source).digest
