"""For an absent chip a Triton candidate runs in the interpreter, its kernels are compiled, and the rest is said."""

from collections.abc import Iterable, Sequence

import pytest

pytest.importorskip("triton")

from eval.devices.device import Setup, Verdict
from eval.devices.triton_compiler import TritonCompiler
from eval.languages.registry import TRITON
from eval.machine import sandbox_level
from eval.oracle.cases import draw_cases
from eval.oracle.reference import Reference, interface_of
from eval.oracle.values import learn_structures
from eval.selftest.known import Known, known
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult, Grade, Outcome
from kb.types.fact import Fact
from kb.types.kernels import Candidate
from kb.types.target import Isa
from tests.eval.judging import PATIENCE_S, needs_linux, task
from tests.eval.screen.sheets import AMD, facts_of

pytestmark = needs_linux
MISTAKES = [kernel for kernel in known().cheats if kernel.device == "TritonCompiler"]
HONEST = [kernel for kernel in known().honest if kernel.device == "TritonCompiler"]
HIDDEN = {
    "row_sum": {"ROWS": 7, "COLS": 67},
    "aligned_rows": {"ROWS": 7},
    "linear": {"ROWS": 5, "COLS": 19, "OUT": 21},
    "softmax": {"ROWS": 5, "COLS": 1100},
    "matmul": {"ROWS": 17, "INNER": 70, "COLS": 19},
}
QUICK = {"triton/reads_beyond_end.py", "triton/stops_when_wide.py", "triton/two_stages.py", "triton/torch_around.py"}
"""The only ones that are not slow to try: each starts up to three processes that import torch."""


def judged(
    kernel: Known, results: list[CaseResult] | None = None, isa: Isa = AMD, facts: Sequence[Fact] = ()
) -> Verdict:
    """Judge a kernel on its task, at smaller sizes than its own."""
    own = Reference(kernel.subject, seed=1)
    bench = Setup(
        task=kernel.subject,
        reference=own,
        interface=interface_of(kernel.subject),
        target="chip",
        isa=isa,
        facts=facts,
        level=sandbox_level(),
        call_s=PATIENCE_S,
    )
    smaller = Reference(task(kernel.task), seed=3, sizes=HIDDEN.get(kernel.task, {}))
    tried = list(draw_cases(smaller, learn_structures(smaller), ["given", "signs"]))
    try:
        return TritonCompiler(bench).judge(kernel.candidate, TRITON, tried, [] if results is None else results)
    except Fault as fault:
        return Verdict(Outcome(fault.outcome), detail=fault.detail)


def parameters(kernels: Iterable[Known]) -> list[object]:
    return [pytest.param(k, id=k.file, marks=[pytest.mark.slow] * (k.file not in QUICK)) for k in kernels]


def named(file: str) -> Known:
    return next(kernel for kernel in HONEST if kernel.file == f"triton/{file}")


@pytest.mark.parametrize("kernel", parameters(MISTAKES))
def test_a_mistake_is_refused_with_the_right_outcome(kernel: Known) -> None:
    judgement = judged(kernel)

    assert judgement.outcome in kernel.outcomes, judgement


@pytest.mark.parametrize("kernel", parameters(HONEST))
def test_an_honest_kernel_passes(kernel: Known) -> None:
    judgement = judged(kernel)

    assert judgement.outcome is Outcome.PASSED, judgement
    assert judgement.screen
    assert "values at the task's own sizes are untried" in judgement.detail or "not checked" in judgement.detail


@pytest.mark.slow
@pytest.mark.parametrize(("isa", "outcome"), [("hip gfx90a 64", Outcome.PASSED), ("cuda 90 32", Outcome.INCORRECT)])
def test_a_product_has_the_default_precision_of_the_target(isa: str, outcome: Outcome) -> None:
    kernel = Known(file="triton/multiplies_in_tf32.py", task="matmul", outcomes=(Outcome.INCORRECT,))

    assert judged(kernel, isa=Isa.parse(isa)).outcome is outcome


def test_a_kernel_that_the_interpreter_lacks_something_for_is_only_compiled() -> None:
    results: list[CaseResult] = []

    judgement = judged(named("fast_division.py"), results)

    assert (judgement.outcome, judgement.grade, results) == (Outcome.PASSED, Grade.COMPILED, [])
    assert judgement.detail.startswith("not checked in the interpreter: softmax_row: ")
    assert "libdevice.fast_dividef is not in the interpreter" in judgement.detail
    assert [screen.kernel for screen in judgement.screen] == ["softmax_row"]


@pytest.mark.slow
def test_kernels_are_compiled_for_the_cases_if_forward_needs_values() -> None:
    judgement = judged(named("reads_a_value.py"))

    assert judgement.outcome is Outcome.PASSED
    assert "compiled for the sizes of the cases, not the task's own: forward needs values" in judgement.detail


@pytest.mark.slow
def test_configurations_that_do_not_fit_are_left_out_and_further_ones_are_counted() -> None:
    judgement = judged(named("autotuned_product.py"), facts=facts_of(AMD))

    assert judgement.outcome is Outcome.PASSED, judgement
    assert "autotuning skips what needs more than the target has: 1 of" in judgement.detail
    assert "more configurations of product" in judgement.detail
    assert not any("bm=128" in screen.kernel for screen in judgement.screen)


TWO_KERNELS = """
import triton
import triton.language as tl
from torch import nn

@triton.jit
def narrow_row(x, y, cols, block: tl.constexpr):
    i = tl.arange(0, block)
    tl.store(y + tl.program_id(0), tl.sum(tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0), 0))

@triton.jit
def wide_row(x, y, cols, block: tl.constexpr):
    total = tl.zeros((block,), tl.float32)
    for start in range(0, cols, block):
        i = start + tl.arange(0, block)
        total += tl.load(x + tl.program_id(0) * cols + i, mask=i < cols, other=0)
    tl.store(y + tl.program_id(0), tl.sum(total, 0))

class ModelNew(nn.Module):
    def forward(self, x):
        rows, cols = x.shape
        y = x.new_empty(rows)
        (narrow_row if cols <= 128 else wide_row)[(rows,)](x, y, cols, block={block})
        return y
"""


@pytest.mark.slow
def test_a_kernel_that_no_case_launches_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    source = TWO_KERNELS.format(block=128)
    monkeypatch.setattr(Known, "candidate", Candidate(language="triton", source=source))

    judgement = judged(named("two_stages.py"))

    assert judgement.outcome is Outcome.PASSED
    assert judgement.detail.startswith("not checked in the interpreter: wide_row")
    assert [screen.kernel for screen in judgement.screen] == ["wide_row"]


def test_a_kernel_that_does_not_compile_at_the_own_sizes_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    source = TWO_KERNELS.format(block="128 if cols <= 128 else cols")
    monkeypatch.setattr(Known, "candidate", Candidate(language="triton", source=source))

    judgement = judged(named("two_stages.py"))

    assert judgement.outcome is Outcome.COMPILE_ERROR
    assert judgement.detail.endswith("must be a power of 2 (at the task's own sizes)")
