"""Runs through an open knowledge base: what cannot work is refused before a judge starts, and answers bring prompts."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import pytest

from eval.languages import registry as languages
from kb.cli.runs import show_runs
from kb.errors import CandidateError, FactError, KbError, RunError, SettingsError, SynthesisError, TargetError
from kb.exports import flashinfer, hub
from kb.exports.export import FORMS, export
from kb.runs.entries import JournalEntry
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.types.evidence import Evidence, Outcome
from kb.types.fact import FactAnswer
from kb.types.kernels import Candidate
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.report import report
from kb.views.runs import run_view
from kb.web.report import markdown, page
from synth.authors.author import AuthorError
from synth.authors.spending import Budget
from tests.synth.model_server import answer, failure, serving
from tests.synth.openai_wire import completion, error, refused
from tests.synth.samples import INTERFACE, TASK, candidate, evidence
from tests.usecases.test_confinement import PYTHON, needs_sandbox

TRITON, CPP = candidate(languages.TRITON), candidate(languages.CPP)


class JudgeStartedError(Exception):
    """A judge was started where none may be."""


@pytest.fixture
def no_judge(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def start(*arguments: object, **named: object) -> None:
        raise JudgeStartedError

    monkeypatch.setattr("kb.usecases.judging.LocalJudge", start)
    monkeypatch.setattr("kb.usecases.judging.cache_dir", lambda: tmp_path)


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Candidate]:
    """The candidates that a judge was asked about; it passes all but those that say `wrong`."""
    asked: list[Candidate] = []

    class Judge:
        interface = INTERFACE

        def __init__(self, *arguments: object, **named: object) -> None: ...

        def __enter__(self) -> Self:
            return self

        def __exit__(self, *error: object) -> None: ...

        def verify(self, one: Candidate) -> Evidence:
            asked.append(one)
            return evidence(one, Outcome.INCORRECT if "wrong" in one.source else Outcome.PASSED)

    monkeypatch.setattr("kb.usecases.judging.LocalJudge", Judge)
    monkeypatch.setattr("kb.usecases.judging.cache_dir", lambda: tmp_path)
    return asked


def plan(target: str = "mi300x", language: str = "triton", **rest: Any) -> Plan:
    return Plan(
        task=TASK, target=target, language=language, evaluations=2, **{"synthesizer": SynthesizerKind.TUNE} | rest
    )


def by_hand(target: str = "mi300x", language: str = "triton") -> Plan:
    return plan(target, language, synthesizer=SynthesizerKind.EXTERNAL)


def by_model(target: str = "mi300x", **rest: Any) -> Plan:
    return plan(target, synthesizer=SynthesizerKind.AUTHORS, authors=("anthropic:claude-opus-5-5",), **rest)


def test_a_roofline_needs_the_rates_of_a_chip_and_no_compiler(
    kb: KnowledgeBase, judged: list[Candidate], tmp_path: Path
) -> None:
    (tmp_path / "zchip").mkdir()
    (tmp_path / "zchip" / "manual.md").write_text("# Zchip\n\nThe memory delivers 5 GB/s.\n")
    kb.ingest([tmp_path / "zchip"])
    with pytest.raises(FactError, match="zchip"):
        kb.roofline(TASK, "zchip")

    rate = FactAnswer(quantity="hbm_bandwidth", value="5", unit="GB/s", quote="delivers 5 GB/s")
    kb.answer_facts("zchip", [rate])
    kb.factbook.accept_answers("zchip")

    assert [c.fact.target for c in kb.roofline(TASK, "zchip").ceilings] == ["zchip"]


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda kb: kb.optimize(kb.plan(TASK, "mi300x", authors=["claude-opus-5-5"])),
            SettingsError,
            "costs money, and no budget allows it",
        ),
        (
            lambda kb: kb.optimize(kb.plan(TASK, "mi300x", authors=["claude-new"], budget=Budget(dollars=1))),
            SettingsError,
            "the price of anthropic:claude-new is unknown, so a budget in tokens is needed",
        ),
        (
            lambda kb: kb.optimize(kb.plan(TASK, "mi300x", authors=["files:a", "files:b"])),
            SettingsError,
            "the author files is named twice",
        ),
        (lambda kb: kb.plan(TASK, "mi300x", authors=["oracle"]), SettingsError, "'oracle' names no author"),
        (lambda kb: kb.optimize(plan("mi9000")), TargetError, "unknown target 'mi9000'"),
        (lambda kb: kb.optimize(plan(language="cpp")), CandidateError, "are not written in cpp"),
        (lambda kb: kb.optimize(by_model("a100", budget=Budget(dollars=1))), FactError, "no documents about a100"),
        (lambda kb: kb.optimize(by_hand()), RunError, "driven by hand"),
        (lambda kb: kb.prompt(by_hand("mi9000")), TargetError, "unknown target 'mi9000'"),
        (lambda kb: kb.prompt(by_hand(language="cpp")), CandidateError, "are not written in cpp"),
        (lambda kb: kb.prompt(by_hand("a100")), FactError, "no documents about a100"),
        (lambda kb: kb.prompt(plan()), RunError, "driven by tune"),
        (lambda kb: kb.plan(TASK, "mi9000"), TargetError, "unknown target 'mi9000'"),
        (lambda kb: kb.plan(TASK, "mi300x", language="cpp"), CandidateError, "are not written in cpp"),
        (lambda kb: kb.plan(TASK, "mi300x", synthesizer="oracle"), RunError, "unknown synthesizer 'oracle'"),
    ],
)
@pytest.mark.usefixtures("no_judge")
def test_a_plan_that_cannot_work_is_refused_before_a_judge_starts_and_leaves_no_run(
    kb: KnowledgeBase, home: Path, ask: Callable[[KnowledgeBase], object], error: type[KbError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(kb)

    assert not (home / "runs").exists()


@pytest.mark.usefixtures("no_judge")
@pytest.mark.parametrize("ask", [lambda kb: kb.optimize(plan()), lambda kb: kb.prompt(by_hand())])
def test_a_plan_that_can_work_starts_a_judge(kb: KnowledgeBase, ask: Callable[[KnowledgeBase], object]) -> None:
    with pytest.raises(JudgeStartedError):
        ask(kb)


def over(run: Run) -> Run:
    run.append(JournalEntry(kind="ended", step=1, text="enough"))
    return run


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (lambda kb: kb.resume(over(kb.runs.start(plan()))), RunError, "is over: enough"),
        (lambda kb: kb.resume(kb.runs.start(by_hand())), RunError, "driven by hand"),
        (lambda kb: kb.submit(over(kb.runs.start(by_hand())), TRITON), RunError, "is over: enough"),
        (lambda kb: kb.submit(kb.runs.start(plan()), TRITON), RunError, "driven by tune, not by hand"),
        (lambda kb: kb.submit(kb.runs.start(by_hand()), CPP), CandidateError, "candidate is in cpp"),
        (lambda kb: kb.submit(kb.runs.start(by_hand()), "I would rather not."), SynthesisError, "no fenced code"),
    ],
)
@pytest.mark.usefixtures("no_judge")
def test_what_a_run_does_not_take_is_refused_before_a_judge_starts(
    kb: KnowledgeBase, ask: Callable[[KnowledgeBase], object], error: type[KbError], message: str
) -> None:
    with pytest.raises(error, match=message):
        ask(kb)


def test_each_answer_brings_evidence_and_the_next_prompt_until_the_evaluations_are_spent(
    kb: KnowledgeBase, judged: list[Candidate]
) -> None:
    run, first = kb.prompt(by_hand())
    wrong = TRITON.model_copy(update={"source": f"{TRITON.source}wrong = 1\n"})

    refused = kb.submit(run, wrong)
    passed = kb.submit(run, TRITON, note="reads rows once")

    assert (judged, [a.note for a in run.attempts]) == ([wrong, TRITON], ["", "reads rows once"])
    assert (refused.evidence.outcome, refused.ended) == (Outcome.INCORRECT, "")
    assert "## Earlier attempts" not in first.text
    assert refused.prompt
    assert "### Attempt 1: incorrect" in refused.prompt.text
    assert refused.prompt.stable == first.stable
    assert (passed.evidence.passed, passed.prompt, passed.ended) == (True, None, "all evaluations are spent")


def test_the_kernel_of_a_whole_answer_is_judged_and_its_note_is_kept(
    kb: KnowledgeBase, judged: list[Candidate]
) -> None:
    run, _ = kb.prompt(by_hand())

    kb.submit(run, f"note: wide loads\n\n```python\n{TRITON.source}```\n")

    assert judged == [TRITON]
    assert [a.note for a in run.attempts] == ["wide loads"]


def test_the_note_of_a_source_file_is_kept_and_the_judge_does_not_get_it(
    kb: KnowledgeBase, judged: list[Candidate]
) -> None:
    run, _ = kb.prompt(by_hand())

    kb.submit(run, Candidate(language="triton", source=f"# note: wide loads\n{TRITON.source}"))

    assert (judged, [a.note for a in run.attempts]) == ([TRITON], ["wide loads"])


@pytest.mark.parametrize(
    ("kernels", "tune", "notes"),
    [
        ([TRITON], False, ("nothing times it here",)),
        (
            [Candidate(language="triton", source="FIXED = 1\n")],
            True,
            ("nothing times", "declares no parameters with `# tune:`"),
        ),
        ([TRITON], True, ("nothing times", "only a kernel that has a time can be tuned")),
        *(
            ([TRITON, again], True, ("judged before", "nothing times", "only a kernel that has a time can be tuned"))
            for again in (TRITON, Candidate(language="triton", source=f"{TRITON.source}# nothing else\n"))
        ),
    ],
)
def test_a_submission_says_what_was_asked_for_and_not_done(
    kb: KnowledgeBase, judged: list[Candidate], kernels: list[Candidate], tune: bool, notes: tuple[str, ...]
) -> None:
    run, _ = kb.prompt(by_hand())

    for kernel in kernels:
        done = kb.submit(run, kernel, tune=tune)

    assert len(judged) == 1
    assert len(done.notes) == len(notes)
    assert all(part in note for part, note in zip(notes, done.notes, strict=True))


def test_a_submission_whose_times_were_disturbed_says_that_it_may_be_submitted_again(
    kb: KnowledgeBase, judged: list[Candidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    run, _ = kb.prompt(by_hand())
    monkeypatch.setattr(Evidence, "disturbed", True)

    assert "submit this kernel again" in kb.submit(run, TRITON).notes[0]


KEY = "sk-planted-0123456789"
PROBLEM = TASK.model_copy(update={"name": "19-row-scale"})
"""Named as KernelBench names its problems, so that every export takes it."""
SAID = f"note: sent with {KEY}\n\n```python\n{TRITON.source}# {KEY}\n```\n"
AGENT = f"""
import os, sys
if "### Attempt 1" in sys.stdin.read():
    sys.exit("bad key " + os.environ["OWN_API_KEY"])
print({SAID.replace(KEY, "%s")!r}.replace("%s", os.environ["OWN_API_KEY"]))
"""
"""A command's first answer and its second, a failure, repeat its key."""


def must_reach_nothing(kb: KnowledgeBase, folder: Path) -> None:
    """The key stands in no file of the only run, nor in a report or an export of it."""
    [run] = kb.runs
    [attempt] = run.attempts
    assert attempt.note == "sent with [key]"
    found = report(kb, run)
    for form in FORMS:
        export(kb, [run], form, folder / form, level=1, licence="mit")
    written = [path.read_text() for place in (run.folder, folder) for path in place.rglob("*") if path.is_file()]
    written += [page(found), markdown(found), found.model_dump_json()]
    assert sum("sent with [key]" in text for text in written) > len(FORMS)
    assert [text for text in written if KEY in text] == []


@pytest.fixture
def described(monkeypatch: pytest.MonkeyPatch) -> None:
    """Exports take the tensors of the task as given, and run nothing."""
    for module in (flashinfer, hub):
        monkeypatch.setattr(module, "interface_of", lambda task: INTERFACE)


@pytest.mark.usefixtures("described")
@pytest.mark.parametrize("form", ["anthropic", "openai"])
def test_a_key_reaches_no_file_report_or_export_of_a_run_even_if_the_service_repeats_it(
    form: str, kb: KnowledgeBase, judged: list[Candidate], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(f"{form.upper()}_API_KEY", KEY)
    said = answer(SAID) if form == "anthropic" else completion(SAID)
    failed = failure(400, f"bad key {KEY}") if form == "anthropic" else refused(400, error("", f"bad key {KEY}"))
    with serving(said, failed) as server:
        names = {"anthropic": f"anthropic:m@{server.url}", "openai": f"openai:m@{server.url}/v1"}
        plan = kb.plan(PROBLEM, "mi300x", authors=[names[form]], budget=Budget(tokens=10**6))
        with pytest.raises(AuthorError) as caught:
            kb.optimize(plan)
        headers = "".join(map(str, server.headers))

    assert KEY in headers, "it was sent"
    assert KEY not in str(caught.value)
    must_reach_nothing(kb, tmp_path / "exports")


@needs_sandbox
@pytest.mark.usefixtures("described")
def test_the_key_of_a_command_reaches_no_file_report_or_export_of_a_run_even_if_the_command_repeats_it(
    kb: KnowledgeBase, home: Path, judged: list[Candidate], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("OWN_API_KEY", KEY)
    run = json.dumps([PYTHON, "-c", AGENT])
    (home / "models.toml").write_text(f'[agent.own]\nrun = {run}\nvariables = ["OWN_API_KEY"]\n')
    plan = kb.plan(PROBLEM, "mi300x", authors=["command:own"], budget=Budget(tokens=10**6))

    with pytest.raises(AuthorError, match=r"bad key \[key\]"):
        kb.optimize(plan)

    must_reach_nothing(kb, tmp_path / "exports")


def test_recorded_answers_are_marked_as_such_in_journal_and_report(
    kb: KnowledgeBase, judged: list[Candidate], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    for number in (1, 2):
        (tmp_path / "demo" / f"{number}.md").write_text(f"note: try {number}\n\n```python\n{number}\n```\n")

    run = kb.optimize(kb.plan(TASK, "mi300x", authors=[f"recorded:{tmp_path / 'demo'}"], evaluations=2))

    show_runs([run_view(run)])
    shown = capsys.readouterr().out
    assert [attempt.author for attempt in run.attempts] == ["recorded:demo"] * 2
    assert "nobody was asked" in shown
    assert "try 2 [recorded:demo]" in shown
    assert "spent: $0.00" in shown


def test_a_run_ends_when_its_budget_has_no_room_for_another_request(
    kb: KnowledgeBase, judged: list[Candidate], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "no-key")
    with serving(answer("```python\n1\n```", output_tokens=5000)) as server:
        author = f"anthropic:claude-opus-5-5@{server.url}"
        run = kb.optimize(kb.plan(TASK, "mi300x", authors=[author], budget=Budget(dollars=0.5), evaluations=50))

    assert "of the budget of $0.50" in run.ended
    assert 1 <= len(run.attempts) < 50
    assert run.spent.dollars <= 0.5


def test_a_run_of_an_earlier_version_is_read(kb: KnowledgeBase) -> None:
    run = kb.runs.start(by_model())
    header, journal = run.folder / "run.json", run.folder / "journal.jsonl"
    earlier = json.loads(header.read_text()) | {"synthesizer": "anthropic", "model": "m"}
    header.write_text(json.dumps({name: value for name, value in earlier.items() if name not in ("authors", "budget")}))
    proposal = {"candidate": TRITON.model_dump(), "usage": {"output_tokens": 9}}
    journal.write_text(json.dumps({"kind": "proposed", "step": 1, "proposal": proposal}) + "\n")

    read = kb.runs.get(run.id)

    assert (read.plan.authors, read.pending and read.pending.candidate) == (("anthropic:m",), TRITON)
