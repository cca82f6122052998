"""A run as its journal would be, without a judge: its texts are given."""

from pathlib import Path

from kb.runs.entries import JournalEntry
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.runs.question import written
from kb.types.evidence import Bottleneck, CaseResult, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.protocols import Proposal, Stage, Tried
from synth.authors.asking import Exchange
from synth.authors.author import Outcome as Failure
from synth.authors.author import Usage
from synth.prompts.prompt import Prompt
from tests.runs.fakes import candidate, evidence_of

AT = "2026-11-28T10:20:30+00:00"


def started(home: Path, **plan: object) -> Run:
    fields = {
        "task": Task(name="row-sum", source='"""Sums rows."""\nclass Model: ...\n'), "target": "cpu-x86",
        "language": "cpp", "synthesizer": SynthesizerKind.AUTHORS, "authors": ("recorded:answers",), "evaluations": 40,
    }  # fmt: skip
    return Runs(home).start(Plan(**fields | plan))


def ask(run: Run, *, said: str = "What to do.", cited: tuple[str, ...] = (), skills: tuple[str, ...] = ()) -> None:
    """An author is asked, and has not answered yet."""
    prompt = Prompt(
        rules="The rules.", stable="The task.", rest=said, stage=Stage.DRAFT, skills=skills, cited=cited, items=(),
        left_out=(),
    )  # fmt: skip
    run.keep_prompt(prompt, 1 + len(written(run)))
    _record(run, _exchange(run, len(run.exchanges) + 1))


def answer(run: Run, text: str = "An answer.", failure: Failure | None = None, **more: object) -> None:
    """The answer to the last request comes."""
    usage = Usage(input_tokens=1000, output_tokens=200)
    told = {"detail": text} if failure else {"text": text, "model": "maker/model-2026-10-01"}
    came = {"answered": True, "at": AT, "usage": usage, "dollars": 0.01, "outcome": failure, **told, **more}
    _record(run, _exchange(run, len(run.exchanges)).model_copy(update=came))


def propose(run: Run, source: str | Candidate = "", **more: object) -> Candidate:
    kernel = source if isinstance(source, Candidate) else Candidate(language=run.plan.language, source=source)
    run.append(JournalEntry(kind="proposed", step=run.step, proposal=Proposal(candidate=kernel, **more)))
    return kernel


def judge(run: Run, kernel: Candidate, *, speedup: float | None = 2.0, **more: object) -> None:
    """Judged: passed with this speed-up, or incorrect."""
    evidence = evidence_of(kernel, outcome=Outcome.PASSED if speedup else Outcome.INCORRECT, speedup=speedup)
    run.append(JournalEntry(kind="judged", step=run.step, evidence=evidence.model_copy(update=more)))


def whole_run(home: Path) -> Run:
    """Three structures: one tuned and improved, one refused and mended, one that an author could not write."""
    run = started(home)
    ask(run)
    answer(run)
    first = propose(run, candidate(), author="recorded:answers", stage=Stage.DRAFT, note="sums row by row")
    judge(run, first)
    half = Bottleneck(memory=0.5, compute=0.0, citations=())
    for unroll, time_us in ((2, 40.0), (4, 30.0), (8, None)):
        tried = Tried(template=first.template_digest, values={"UNROLL": unroll, "BLOCK": 64}, time_us=time_us)
        run.append(JournalEntry(kind="tried", step=2, tried=tried))
    judge(
        run,
        propose(run, candidate(UNROLL=4), author="recorded:answers", parent=1, note="UNROLL=4"),
        speedup=2.5,
        bottleneck=half,
    )
    ask(run)
    answer(run, "I would rather not.")
    _record(run, _exchange(run, len(run.exchanges) + 1))
    answer(run)
    columns = propose(run, "// columns\n", author="recorded:answers", stage=Stage.RETHINK, note="sums columns")
    wrong = CaseResult(name="ROWS=3", outcome=Outcome.INCORRECT, max_error=3.0, error_ratio=7.0)
    judge(run, columns, speedup=None, cases=(wrong,), log="nan nan")
    ask(run)
    answer(run)
    mended = propose(run, "// columns, mended\n", author="recorded:answers", stage=Stage.FIX, parent=3)
    judge(run, mended, speedup=1.5)
    ask(run)
    answer(run, "the service is busy", Failure.OVERLOADED)
    run.append(JournalEntry(kind="published", step=2, text="row-sum-cpu-x86-0123"))
    run.append(JournalEntry(kind="ended", step=5, text="2 kernels in a row brought no gain"))
    return run


def _record(run: Run, exchange: Exchange) -> None:
    with run.held():
        run.record(exchange, None)


def _exchange(run: Run, number: int) -> Exchange:
    author = (run.plan.authors or ("hand",))[0]
    return Exchange(
        number=number,
        question=1 + len(written(run)),
        author=author,
        output_tokens=16_000,
        usage=Usage(output_tokens=16_000),
    )
