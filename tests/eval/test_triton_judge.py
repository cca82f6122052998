"""For an absent chip a Triton candidate's kernels do all the work, and those that were tried are compiled."""

from collections.abc import Iterable
from typing import Any, cast

import pytest

pytest.importorskip("triton")

from eval.devices import triton_own_size
from eval.devices.device import Bench, Judgement
from eval.devices.triton_compiler import TritonCompiler
from eval.devices.triton_plan import plan_of
from eval.devices.triton_source import kernels_of
from eval.devices.triton_trial import KernelTrial
from eval.fault import Fault
from eval.languages.registry import TORCH, TRITON
from eval.machine import sandbox_level
from eval.oracle.cases import cases
from eval.oracle.reference import Reference, interface_of
from eval.oracle.values import learn_structures
from eval.selftest.known import Known, known
from eval.supervisor.trial import Trial
from kb.types.evidence import CaseResult, Outcome
from kb.types.target import Isa
from tests.eval.judging import PATIENCE_S, given_case, needs_linux, task

pytestmark = needs_linux
AMD = Isa.parse("hip gfx942 64")
INTERPRETED = {"TRITON_INTERPRET": "1"}
CHEATS = [cheat for cheat in known().cheats if cheat.device == "TritonCompiler"]
HONEST = [kernel for kernel in known().honest if kernel.device == "TritonCompiler"]
HIDDEN = {
    "row_sum": {"ROWS": 7, "COLS": 67},
    "aligned_rows": {"ROWS": 7},
    "linear": {"ROWS": 5, "COLS": 19, "OUT": 21},
    "softmax": {"ROWS": 5, "COLS": 1100},
    "matmul": {"ROWS": 17, "INNER": 70, "COLS": 19},
}
QUICK = {"triton/dummy_kernel.py", "triton/two_faces.py", "triton/two_stages.py", "triton/stops_when_wide.py"}
"""The only ones that are not slow to try: each starts up to three processes that import torch."""


def judged(kernel: Known, results: list[CaseResult] | None = None, isa: Isa = AMD) -> Judgement:
    """Judge a kernel on its task; at the task's own sizes only a part of its programs."""
    own = Reference(kernel.subject, seed=1)
    bench = Bench(
        task=kernel.subject,
        reference=own,
        interface=interface_of(kernel.subject, own),
        target="chip",
        isa=isa,
        facts=[],
        level=sandbox_level(),
        call_s=PATIENCE_S,
    )
    smaller = Reference(task(kernel.task), seed=3, sizes=HIDDEN.get(kernel.task, {}))
    tried = list(cases(smaller, learn_structures(smaller), ["given", "signs"]))
    try:
        return TritonCompiler(bench).judge(kernel.candidate, TRITON, tried, [] if results is None else results)
    except Fault as fault:
        return Judgement(Outcome(fault.outcome), detail=fault.detail)


def parameters(kernels: Iterable[Known]) -> list[object]:
    return [pytest.param(k, id=k.file, marks=[pytest.mark.slow] * (k.file not in QUICK)) for k in kernels]


@pytest.mark.parametrize("cheat", parameters(CHEATS))
def test_a_cheat_is_refused_with_the_right_outcome(cheat: Known) -> None:
    judgement = judged(cheat)

    assert judgement.outcome in cheat.outcomes, judgement


@pytest.mark.slow
@pytest.mark.parametrize("cheat", [pytest.param(c, id=c.file) for c in CHEATS if Outcome.RAISED not in c.outcomes])
def test_a_cheat_is_right_if_its_host_code_runs_with_the_values(cheat: Known) -> None:
    results: list[CaseResult] = []

    whole = Trial(cheat.candidate, TORCH, sandbox_level(), PATIENCE_S, environment=INTERPRETED)
    whole.check([given_case("row_sum")], results)

    assert [result.outcome for result in results] == [Outcome.PASSED]


@pytest.mark.parametrize("kernel", parameters(HONEST))
def test_an_honest_kernel_passes(kernel: Known) -> None:
    judgement = judged(kernel)

    assert judgement.outcome is Outcome.PASSED, judgement
    assert judgement.screen


@pytest.mark.slow
@pytest.mark.parametrize(("isa", "outcome"), [("hip gfx90a 64", Outcome.PASSED), ("cuda 90 32", Outcome.INCORRECT)])
def test_a_product_has_the_default_precision_of_the_target(isa: str, outcome: Outcome) -> None:
    kernel = Known(file="triton/multiplies_in_tf32.py", task="matmul", outcomes=(Outcome.INCORRECT,))

    assert judged(kernel, isa=Isa.parse(isa)).outcome is outcome


LARGE = {
    "row_sum": {"ROWS": 600, "COLS": 512},
    "linear": {"ROWS": 200, "COLS": 500, "OUT": 400},
    "scaled_by": {"COLS": 200_000},
    "extremes": {"ROWS": 700, "COLS": 300},
    "total": {"COLS": 200_000},
    "softmax": {"ROWS": 300, "COLS": 4096},
}
"""Sizes at which the interpreter has no time for all programs."""
UNDECIDED = {
    "atomics_into_zeros.py": "its programs add to memory with atomics",
    "autotuned.py": "its programs add to memory with atomics",
    "counter.py": "its programs add to memory with atomics",
    "in_place.py": "its programs read what others wrote",
    "two_stages.py": "its programs read what others wrote",
}
"""Kernels of which no program alone gives a result."""


@pytest.mark.parametrize("kernel", parameters(HONEST))
def test_some_or_all_programs_are_tried_at_the_own_sizes(kernel: Known) -> None:
    results: list[CaseResult] = []

    judgement = judged(kernel.model_copy(update={"sizes": LARGE[kernel.task]}), results)

    assert judgement.outcome is Outcome.PASSED, judgement
    assert ("programs of" in results[-1].name) is (kernel.path.name not in UNDECIDED)
    assert results[-1].name.endswith("the task's own sizes")


@pytest.mark.parametrize("kernel", parameters(k for k in HONEST if k.path.name in UNDECIDED))
def test_a_kernel_that_can_not_be_tried_at_the_own_sizes_does_not_pass(
    kernel: Known, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(triton_own_size, "WHOLE_S", 0.01)

    judgement = judged(kernel.model_copy(update={"sizes": LARGE[kernel.task]}))

    assert judgement.outcome is Outcome.UNTRIED
    why = UNDECIDED[kernel.path.name]
    assert judgement.detail.startswith(f"its values at the task's own sizes are untried: {why}; all programs take more")


def test_a_task_whose_reference_takes_too_long_is_not_tried_at_its_own_sizes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(triton_own_size, "MOST_ELEMENTS", 1000)

    judgement = judged(next(kernel for kernel in HONEST if kernel.path.name == "calls_helpers.py"))

    assert judgement.outcome is Outcome.PASSED, judgement
    assert judgement.detail == "its values at the task's own sizes are untried: the reference takes too long there"


HEAD = "import os\nimport triton\nimport triton.language as tl\nfrom triton.language import core, target_info\n"
LINES = {
    "a question for the type": "if isinstance(B, int): tl.store(x, 0)",
    "a question for a member": "if hasattr(B, 'value'): tl.store(x, 0)",
    "a member by name": "getattr(tl, 'core')",
    "the handle of a tensor": "tl.load(x).handle.data",
    "the type of a parameter": "if n.type == tl.int32: tl.store(x, 0)",
    "a module behind Triton's": "tl.core.inspect.stack()",
    "a setting of Triton": "if triton.knobs.runtime.interpret: tl.store(x, 0)",
    "the target": "if target_info.is_hip(): tl.store(x, 0)",
    "the target, by its module": "if tl.target_info.current_target() is None: tl.store(x, 0)",
    "the semantics of the interpreter": "tl.load(x, _semantic=core.semantic)",
    "a private name": "tl._experimental(x)",
    "a module of Python": "os.environ.get('TRITON_INTERPRET')",
    "an import": "import os",
    "a lambda": "f = lambda: 0",
    "a function": "def f(): pass",
    "text made from a constant": "if f'{LIMIT}' == '3': tl.store(x, 0)",
    "the value of a condition": "y = (n - n + 3 and 5) == 5",
    "the value of a negation": "y = not tl.zeros((4,), tl.int32)",
    "identity": "if B is 16: tl.store(x, 0)",
    "a class": "if B == tl.tensor: tl.store(x, 0)",
    "an unknown name": "tl.store(x, MISSING)",
    "a list of the host": "tl.store(x, LIST[0])",
    "a function of the host": "tl.store(x, HOST())",
    "exec": "exec('0')",
    "a global name": "global LIMIT",
    "an exception": "try: tl.store(x, 0)\n    except Exception: pass",
    "a context": "with x: pass",
    "a comprehension": "[tl.store(x, i) for i in range(3)]",
    "an assignment in an expression": "tl.store(x, (y := 0))",
}
KERNEL = (
    HEAD
    + "LIMIT = tl.constexpr(3)\nLIST = [1]\ndef HOST(): return 0\n@triton.jit\ndef k(x, n, B: tl.constexpr):\n    {}\n"
)


@pytest.mark.parametrize("line", LINES.values(), ids=LINES)
def test_a_kernel_uses_nothing_but_the_language(line: str) -> None:
    with pytest.raises(Fault) as caught:
        kernels_of(KERNEL.format(line), ["k"])

    assert caught.value.outcome == Outcome.OUTSIDE_KERNELS


FILES = {
    "a default that runs": "@triton.jit\ndef k(x, B: tl.constexpr = HOST()):\n    tl.store(x, B)\n",
    "a constant that runs": "C = __import__('os').getpid()\n@triton.jit\ndef k(x):\n    tl.store(x, C)\n",
    "a constant that is set twice": "C = 1\nC = 2\n@triton.jit\ndef k(x):\n    tl.store(x, C)\n",
    "a constant that depends": "if os.name:\n    C = 1\n@triton.jit\ndef k(x):\n    tl.store(x, C)\n",
    "an option that runs": "@triton.jit(repr=HOST)\ndef k(x):\n    tl.store(x, 0)\n",
    "arguments without names": "@triton.jit\ndef k(*x):\n    tl.store(x[0], 0)\n",
    "another decorator's function": "@HOST\ndef k(x):\n    tl.store(x, 0)\n",
    "no such function": "",
    "a kernel in a class": "class A:\n    @triton.jit\n    def k(x):\n        tl.store(x, 0)\n",
    "a helper that asks": "@triton.jit\ndef h(B):\n    return isinstance(B, int)\n@triton.jit\ndef k(x):\n    h(x)\n",
    "another meaning of a function of Python": "def min(a, b): return a\n@triton.jit\ndef k(x):\n    min(x, x)\n",
    "a name of another module": "from os import getpid as load\n@triton.jit\ndef k(x):\n    load(x)\n",
}


@pytest.mark.parametrize("text", FILES.values(), ids=FILES)
def test_what_a_kernel_uses_may_not_run_anything(text: str) -> None:
    with pytest.raises(Fault) as caught:
        kernels_of(HEAD + "def HOST(*_): return 0\n" + text, ["k"])

    assert caught.value.outcome == Outcome.OUTSIDE_KERNELS


@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("def k(x, n: tl.constexpr = 1):\n    tl.store(x, n)  # here\n", True),
        ("def k(x, n: tl.constexpr = 1):\n    tl.store(x, 0)\n", False),
        ("def k(x, n: tl.constexpr = 2):\n    tl.store(x, n)\n", False),
        ("def k(x, n: tl.constexpr = 1):\n    tl.store(x, n)\ndef m(): pass\n", False),
    ],
)
def test_what_is_launched_has_the_text_of_the_file(text: str, same: bool) -> None:
    source = HEAD + "@triton.autotune([], key=[])\n@triton.jit\ndef k(x, n: tl.constexpr = 1):\n    tl.store(x, n)\n"
    if same:
        assert "tl.store(x, n)" in kernels_of(source, ["k"], {"k": text})
        return
    with pytest.raises(Fault, match="is not the kernel of that name"):
        kernels_of(source, ["k"], {"k": text})


@pytest.mark.parametrize("text", ["def k(:", "\0", "x = " + "-" * 100_000 + "1", KERNEL.format("x" + " + 1" * 20_000)])
def test_a_file_that_cannot_be_read_is_no_kernel(text: str) -> None:
    with pytest.raises(Fault) as caught:
        kernels_of(text, ["k"])

    assert caught.value.outcome == Outcome.COMPILE_ERROR


def test_only_the_kernels_and_what_they_use_are_taken_out() -> None:
    source = """
from __future__ import annotations
import torch, triton
import triton.language as tl
from torch import nn
torch.rand(3)
UNUSED, SIZE, TWICE = 1, 2, 3
WIDTH = 4 * 8
LIMIT: tl.constexpr = tl.constexpr(-WIDTH / 2.0)

@triton.jit
def helper(x):
    return x + LIMIT

@triton.autotune([triton.Config({"B": 16})], key=[])
@triton.jit(noinline=False)
def kernel(x: torch.Tensor, n: tl.int64, B: "tl.constexpr" = WIDTH) -> None:
    m: tl.tensor = 1
    half: tl.constexpr = B // 2
    tl.store(x + m, helper(tl.load(x)).to(x.type.element_ty))

@triton.jit
def other(x):
    os.abort()

class ModelNew(nn.Module):
    pass
"""

    assert (
        kernels_of(source, ["kernel"])
        == """\
import triton
import triton.language as tl
WIDTH = 4 * 8
LIMIT = tl.constexpr(-WIDTH / 2.0)

@triton.jit
def helper(x):
    return x + LIMIT

@triton.jit(noinline=False)
def kernel(x, n, B: tl.constexpr=WIDTH):
    m = 1
    half: tl.constexpr = B // 2
    tl.store(x + m, helper(tl.load(x)).to(x.type.element_ty))"""
    )


VIEW = {"of": "buffers", "number": 0, "dtype": "float32", "offset": 0, "shape": [4], "stride": [1]}
LAUNCH = {"kernel": "k", "grid": [1], "arguments": {"x": {"view": VIEW}}, "options": {}, "configurations": 1}
PLAN: dict[str, Any] = {"constants": [], "buffers": [16], "steps": [{"launch": LAUNCH}], "outputs": [VIEW]}
FORGERIES: dict[str, dict[str, Any]] = {
    "nothing": {"steps": None},
    "an output beyond its buffer": {"outputs": [VIEW | {"offset": 1}]},
    "an output of no buffer": {"outputs": [VIEW | {"number": 1}]},
    "an output of no type": {"outputs": [VIEW | {"dtype": "load"}]},
    "steps of negative length": {"outputs": [VIEW | {"stride": [-1]}]},
    "an argument beyond its input": {
        "steps": [{"launch": LAUNCH | {"arguments": {"x": {"view": VIEW | {"of": "inputs"}}}}}]
    },
    "a filling beyond its buffer": {"steps": [{"fill": {"view": VIEW | {"offset": 9}, "number": 0}}]},
    "a name that is no name": {"steps": [{"launch": LAUNCH | {"kernel": "os.abort"}}]},
    "a grid without end": {"steps": [{"launch": LAUNCH | {"grid": [1 << 40]}}]},
}


def test_what_refuses_at_the_task_s_own_sizes_is_none_of_the_hidden_cases() -> None:
    class Refusing:
        def check(self, *_: object) -> None:
            raise Fault(Outcome.INCORRECT, "wrong (sizes as given)", 0)

    with pytest.raises(Fault, match="wrong") as caught:
        triton_own_size._try_whole(cast(KernelTrial, Refusing()), given_case("row_sum"), "atomics")

    assert caught.value.case is None


def test_a_plan_within_its_memory_is_accepted() -> None:
    assert plan_of({"plan": PLAN}, []).kernels == {"k"}


@pytest.mark.parametrize("change", FORGERIES.values(), ids=FORGERIES)
def test_a_plan_beyond_its_memory_is_refused(change: dict[str, Any]) -> None:
    with pytest.raises(Fault) as caught:
        plan_of({"plan": PLAN | change}, [4])

    assert caught.value.outcome == Outcome.FORGED
