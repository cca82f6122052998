"""A candidate in Python sees the layout that the task gives its inputs, wherever it is called; one in C++ sees rows."""

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock.baseline_sources import EAGER, SOURCES
from eval.clock.timed_worker import TimedWorker, common_memory
from eval.languages.registry import CPP, TORCH
from eval.machine import sandbox_level
from eval.oracle.cases import Case, draw_cases, given_case
from eval.oracle.reference import Reference
from eval.oracle.values import learn_structures
from eval.supervisor.trial import Trial
from eval.worker.fault import Fault
from kb.types.evidence import CaseResult
from kb.types.kernels import Candidate, Task
from tests.eval.judging import PATIENCE_S, needs_compiler, needs_linux

pytestmark = needs_linux
FILE = """
import torch

ROWS = 8
COLS = 6


class Model(torch.nn.Module):
    def forward(self, x):
        return {result}


def get_inputs():
    return [{drawn}]


def get_init_inputs():
    return []
"""
STRIDES = "x.sum() + torch.tensor(x.stride(), dtype=x.dtype)"
ORDER = "(x.reshape(-1) * 0.5 ** torch.arange(x.numel() - 1, -1, -1)).sum().reshape(1)"
LAYOUTS = {
    "in a row": "torch.randn(ROWS, COLS)",
    "transposed": "torch.randn(COLS, ROWS).t()",
    "every other column": "torch.randn(ROWS, 2 * COLS)[:, ::2]",
    "the first columns": "torch.randn(ROWS, 2 * COLS)[:, :COLS]",
    "one row many times": "torch.randn(COLS).expand(ROWS, COLS)",
    "one column many times": "torch.randn(ROWS, 1).expand(ROWS, COLS)",
    "channels last": "torch.randn(2, 3, ROWS, COLS).to(memory_format=torch.channels_last)",
    "permuted": "torch.randn(ROWS, 3, COLS).permute(2, 0, 1)",
    "in bfloat16": "torch.randn(COLS, ROWS).bfloat16().t()",
}
IN_ROWS = """
#include "kb_tensor.h"
extern "C" void model_new(const Tensor *in, const Tensor *, const double *, Tensor *out) {
    const float *x = (const float *)in[0].data;
    float sum = 0;
    for (int64_t i = 0; i < in[0].count; i++) sum = sum * 0.5f + x[i];
    *(float *)out[0].data = sum;
}
"""


def case_of(drawn: str, result: str = STRIDES) -> Case:
    task = Task(name="small", source=FILE.format(drawn=drawn, result=result))
    return given_case("given", Reference(task, seed=1))


def is_right(trial: Trial, case: Case) -> bool:
    """Whether a candidate is right in a timed call."""
    with TimedWorker(trial, case.reference, case, common_memory(trial, case.reference, case)) as worker:
        inputs = case.reference.inputs(7)
        return case.near(worker.time_call(inputs).outputs, case.reference.native(inputs))


@pytest.mark.parametrize("drawn", LAYOUTS.values(), ids=LAYOUTS)
def test_the_reference_sees_the_layout_in_float64_and_in_all_cases(drawn: str) -> None:
    reference = case_of(drawn).reference
    own = reference.inputs(0)[0].stride()

    for case in draw_cases(reference, learn_structures(reference)):
        assert case.inputs[0].stride() == own
        expected = case.inputs[0].double().sum() + torch.tensor(own)
        torch.testing.assert_close(case.expected[0], expected.double(), rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("drawn", LAYOUTS.values(), ids=LAYOUTS)
def test_a_candidate_in_python_sees_the_layout_when_it_is_checked_and_when_it_is_timed(drawn: str) -> None:
    case, results = case_of(drawn), list[CaseResult]()
    same = Candidate(language="torch", source=f"{case.reference.task.source}\n{SOURCES[EAGER]}\n")
    trial = Trial(same, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S)

    trial.check([case], results)

    assert len(results) == 1
    assert is_right(trial, case)


@needs_compiler
def test_a_candidate_in_cpp_sees_rows_whatever_the_layout_is() -> None:
    in_rows = Candidate(language="cpp", source=IN_ROWS)
    trial = Trial(in_rows, language=CPP, level=sandbox_level(), call_s=PATIENCE_S)
    cases = [case_of(drawn, ORDER) for name, drawn in LAYOUTS.items() if name != "in bfloat16"]
    results: list[CaseResult] = []

    trial.check(cases, results)

    assert len(results) == len(cases)
    assert all(is_right(trial, case) for case in (cases[1], cases[4]))


@pytest.mark.parametrize("result", ["x.exp().t()", "(x > 0).t()", "x.argsort(0).t()", "(x.exp().t(), x.sum(0))"])
def test_a_reference_may_give_outputs_in_another_layout(result: str) -> None:
    case = case_of("torch.randn(ROWS, COLS)", result)

    assert case.compare(case.reference.native(case.inputs)).outcome == "passed"


VIEW = "class ModelNew(Model):\n    def forward(self, x):\n        return {result}\n"


def output_stride(case: Case, result: str, before: str = "") -> tuple[int, ...]:
    """The strides with which a candidate's output comes from a call."""
    source = f"{case.reference.task.source}\n{before}\n{VIEW.format(result=result)}"
    trial = Trial(Candidate(language="torch", source=source), language=TORCH, level=sandbox_level(), call_s=PATIENCE_S)
    with trial.worker() as worker:
        trial.build(worker, case.reference, case)
        trial.send_inputs(worker, trial.share(worker, [case.inputs]))
        report = trial.call(worker, 0)
        trial.read_outputs(worker, report, case)
        return report.outputs[0].stride


@pytest.mark.parametrize(
    ("result", "drawn", "candidate", "stride"),
    [
        ("(x + 1).t().contiguous()", "torch.randn(ROWS, COLS)", "(x + 1).t()", (8, 1)),
        ("x.t().contiguous()", "torch.randn(ROWS, COLS)", "x.t()", (8, 1)),
        ("(x + 1)[:, :2].contiguous()", "torch.randn(ROWS, COLS)", "(x + 1)[:, :2]", (2, 1)),
        ("(x + 1).t()", "torch.randn(ROWS, COLS)", "(x + 1).t()", (1, 6)),
        ("x + 1", "torch.randn(2, 3, 4, 5)", "(x + 1).to(memory_format=torch.channels_last)", (60, 1, 15, 3)),
    ],
)
def test_an_output_in_another_order_than_the_references_is_put_in_order_within_the_call(
    result: str, drawn: str, candidate: str, stride: tuple[int, ...]
) -> None:
    assert output_stride(case_of(drawn, result), candidate) == stride


def test_an_output_that_was_not_put_in_order_is_refused() -> None:
    case = case_of("torch.randn(ROWS, COLS)", "(x + 1).t().contiguous()")

    with pytest.raises(Fault, match="in another order"):
        output_stride(case, "(x + 1).t()", before="torch.Tensor.contiguous = lambda x: x")


SECOND_CALL = """
import torch
class ModelNew(torch.nn.Module):
    calls = 0
    def forward(self, x):
        self.calls += 1
        y = x + 1
        return {result} if self.calls > 1 else y
"""


@pytest.mark.parametrize("result", ["y.to_sparse()", "(y, y)", "torch.empty_strided((8, 6), (0, 1))", "y.double()"])
def test_what_a_later_call_gives_is_refused_and_does_not_end_the_judge(result: str) -> None:
    told = Task(name="plus", source=FILE.format(result="x + 1", drawn=LAYOUTS["in a row"]))
    candidate = Candidate(language=TORCH.name, source=SECOND_CALL.format(result=result))
    trial = Trial(candidate, language=TORCH, level=sandbox_level(), call_s=PATIENCE_S)

    with pytest.raises(Fault) as caught:
        trial.check([given_case("own sizes", Reference(told, seed=0))], [])

    assert caught.value.outcome == "bad_output"
