"""A new language or device is one class: no other code in eval/ refers to it by name."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from eval.clock import sessions
from eval.devices.cpu import Cpu
from eval.devices.device import CaseSizes, Device, Verdict
from eval.judge.task_judge import TaskJudge
from eval.oracle.cases import Case
from eval.supervisor.language import JudgedLanguage
from kb.errors import JudgeError
from kb.types.evidence import CaseResult, Grade, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.target import Isa
from tests.eval.judging import needs_linux

pytestmark = needs_linux

ROOT = Path(__file__).parents[2]
DOUBLED_SUM = """
import torch
ROWS, COLUMNS = 64, 32
class Model(torch.nn.Module):
    def forward(self, x):
        return 2 * x.sum(dim=-1)
def get_inputs():
    return [torch.rand(ROWS, COLUMNS)]
def get_init_inputs():
    return []
"""


class Toy(JudgedLanguage):
    name: str = "toy"
    suffix: str = ".toy"
    fences: tuple[str, ...] = ("toy",)
    rules: str = "Write words: double, negate, sum."
    tunable: str = "none"
    adapter: Path = Path(__file__).with_name("toy_adapter.py")
    tensors_alone: bool = True


class ToyChip(Device):
    """A device that counts words instead of seconds."""

    backends = ("toy",)
    languages = ("toy",)
    sizes = CaseSizes(large=1 << 12, small=1 << 10, given=None)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Verdict:
        log = self.trial(candidate, language).check(cases, results)
        return Verdict(grade=Grade.SIMULATED, log=log, detail=f"{len(candidate.source.split())} words")


class CpuForToys(Cpu):
    languages = ("toy",)


def judge_on(device: type[Device], isa: Isa) -> TaskJudge:
    task = Task(name="doubled-sum", source=DOUBLED_SUM)
    return TaskJudge(task, "toy-1", isa, [], call_s=60.0, device=device, languages=[Toy()])


def toy(source: str) -> Candidate:
    return Candidate(language="toy", source=source)


@pytest.mark.slow
def test_a_language_added_as_one_class_is_judged_and_timed_on_this_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 1)
    monkeypatch.setattr(sessions, "ATTEMPTS", 1)
    judge = judge_on(CpuForToys, Isa("cpu", os.uname().machine))

    right, wrong, unknown = (judge.verify(toy(source)) for source in ("sum double", "sum", "sum triple"))

    assert (right.outcome, right.grade, right.language) == (Outcome.PASSED, Grade.MEASURED, "toy")
    assert right.timing is not None
    assert wrong.outcome is Outcome.INCORRECT
    assert (unknown.outcome, "triple" in unknown.detail) == (Outcome.COMPILE_ERROR, True)


@pytest.mark.slow
def test_a_device_added_as_one_class_judges_with_its_own_measure() -> None:
    judge = judge_on(ToyChip, Isa("toy", "one", 1))

    right, wrong = (judge.verify(toy(source)) for source in ("double sum", "negate sum"))

    detail = "2 words\ntried at the task's own sizes only: its file gives no name to a size"
    assert (right.outcome, right.grade, right.detail) == (Outcome.PASSED, Grade.SIMULATED, detail)
    assert len(right.cases) > 3
    assert wrong.outcome is Outcome.INCORRECT


def test_a_device_refuses_languages_that_it_does_not_judge() -> None:
    with pytest.raises(JudgeError, match="a cpp candidate cannot be judged for toy-1"):
        judge_on(ToyChip, Isa("toy", "one", 1)).verify(Candidate(language="cpp", source=""))


@pytest.mark.parametrize("pattern", [r'"cpu "', r"isa\.(split|startswith|partition)", r'language (==|is|in) "'])
def test_only_one_file_parses_an_isa_and_none_compares_language_names(pattern: str) -> None:
    product = [p for package in ("kb", "eval", "synth", "retrieval") for p in (ROOT / package).rglob("*.py")]

    found = [str(p.relative_to(ROOT)) for p in product if re.search(pattern, p.read_text(encoding="utf-8"))]

    assert found == []
