"""In the class `default` a candidate may use TF32 where torch does; in `ieee` nobody may. A CPU has no TF32."""

from collections.abc import Callable

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.clock.baseline_sources import EAGER, IEEE, TF32, gpu_sources
from eval.oracle import expected
from eval.oracle.cases import Case, draw_cases
from eval.oracle.precision import CUDNN, PRODUCTS, computed_in, tf32_operations
from eval.oracle.reference import Reference, interface_of
from eval.oracle.values import learn_structures
from kb.types.evidence import Outcome
from kb.types.kernels import Interface, Precision, Task, TensorSpec

CONVOLUTION = """
import torch

N = 24


class Model(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = torch.nn.Conv2d(7, 13, 3)

    def forward(self, x):
        return {result}


def get_inputs():
    return [{drawn}]


def get_init_inputs():
    return []
"""
NORMALISED = "torch.nn.functional.instance_norm(self.conv(x)) / 2"
Kernel = Callable[[torch.nn.Module, torch.Tensor], torch.Tensor | tuple[torch.Tensor, ...]]
Round = Callable[[torch.Tensor], torch.Tensor]


def task(
    result: str = "self.conv(x)", drawn: str = "torch.randn(2, 7, N, N)", precision: Precision = Precision.DEFAULT
) -> Task:
    return Task(name="small", source=CONVOLUTION.format(result=result, drawn=drawn), precision=precision)


def truncated(x: torch.Tensor) -> torch.Tensor:
    return (x.view(torch.int32) & ~0x1FFF).view(torch.float32)


def nearest(x: torch.Tensor) -> torch.Tensor:
    return ((x.view(torch.int32) + 0x1000) & ~0x1FFF).view(torch.float32)


def in_bfloat16(x: torch.Tensor) -> torch.Tensor:
    return x.bfloat16().float()


def convolved(rounded: Round, factor: float = 1.0) -> Callable[[torch.nn.Module, torch.Tensor], torch.Tensor]:
    def kernel(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        weight, bias = model.conv.weight, model.conv.bias
        return factor * torch.nn.functional.conv2d(rounded(x.contiguous()), rounded(weight.contiguous()), bias)

    return kernel


def normalised(rounded: Round) -> Kernel:
    return lambda model, x: torch.nn.functional.instance_norm(convolved(rounded)(model, x)) / 2


@pytest.fixture
def ampere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Torch may convolve in TF32 here, and does not: as cuDNN at sizes at which it finds TF32 no faster."""
    monkeypatch.setattr(expected, "tf32_operations", lambda device: CUDNN)


def passes(of: Task, kernel: Kernel) -> bool:
    """Whether a kernel is right in all cases at the task's own sizes."""
    reference = Reference(of, seed=1)
    cases = list(draw_cases(reference, learn_structures(reference)))
    assert len(cases) > 2
    return all(_is_right(case, kernel) for case in cases)


@torch.no_grad()
def _is_right(case: Case, kernel: Kernel) -> bool:
    outputs = kernel(case.reference.model, *case.inputs)
    return case.compare(outputs if isinstance(outputs, tuple) else (outputs,)).outcome is Outcome.PASSED


POSITIVE = "torch.rand(2, 7, N, N)"


@pytest.mark.usefixtures("ampere")
@pytest.mark.parametrize("rounded", [truncated, nearest, lambda x: x], ids=["truncated", "nearest", "float32"])
@pytest.mark.parametrize("drawn", ["torch.randn(2, 7, N, N)", POSITIVE])
def test_what_torch_may_do_passes_where_the_reference_does_not_do_it(rounded: Round, drawn: str) -> None:
    assert passes(task(drawn=drawn), convolved(rounded))
    assert passes(task(NORMALISED, drawn), normalised(rounded))


def with_variance(exact: bool) -> Kernel:
    """Convolves in TF32, and takes the variance from squared differences, or from squares less the squared mean."""

    def kernel(model: torch.nn.Module, x: torch.Tensor) -> torch.Tensor:
        y = convolved(nearest)(model, x)
        mean = y.double().mean((2, 3), keepdim=True).float()
        squares = (y - mean).square() if exact else y.square() - mean.square()
        return (y - mean) / (squares.mean((2, 3), keepdim=True).clamp(min=0) + 1e-5).sqrt() / 2

    return kernel


@pytest.mark.usefixtures("ampere")
@pytest.mark.parametrize("drawn", ["torch.randn(2, 7, N, N)", POSITIVE])
def test_tf32_does_not_hide_a_variance_that_cancels(drawn: str) -> None:
    assert passes(task(NORMALISED, drawn), with_variance(exact=True))
    assert not passes(task(NORMALISED, drawn), with_variance(exact=False))


@pytest.mark.parametrize(
    ("result", "precision", "tried"),
    [("self.conv(x)", Precision.DEFAULT, True), ("self.conv(x)", Precision.IEEE, False), ("x.sigmoid()", None, False)],
)
def test_coarse_values_are_tried_where_torch_may_use_tf32(
    result: str, precision: Precision | None, tried: bool
) -> None:
    reference = Reference(task(result, precision=precision or Precision.DEFAULT), seed=1)

    kinds = [case.seed.kinds for case in draw_cases(reference, learn_structures(reference), budget_s=0) if case.seed]

    assert {("far",), *([("coarse",)] if tried else [])} == {*kinds} & {("far",), ("coarse",)}


@pytest.mark.usefixtures("ampere")
def test_a_value_of_a_single_element_has_the_error_of_several_runs() -> None:
    assert all(
        passes(task("self.conv(x).mean().reshape(1)"), lambda model, x: convolved(nearest)(model, x).mean().reshape(1))
        for _ in range(5)
    )


@pytest.mark.usefixtures("ampere")
@pytest.mark.parametrize(
    "kernel", [convolved(in_bfloat16), convolved(lambda x: x, 1.01), convolved(truncated, 1.005)],
    ids=["products of bfloat16", "1 % off", "0.5 % off"],
)  # fmt: skip
def test_what_is_less_exact_fails(kernel: Kernel) -> None:
    assert not passes(task(), kernel)
    assert not passes(task(drawn=POSITIVE), kernel)


@pytest.mark.usefixtures("ampere")
@pytest.mark.parametrize("rounded", [truncated, nearest])
def test_in_ieee_tf32_fails(rounded: Round) -> None:
    assert passes(task(precision=Precision.IEEE), convolved(lambda x: x))
    assert not passes(task(precision=Precision.IEEE), convolved(rounded))


@pytest.mark.usefixtures("ampere")
def test_only_what_tf32_reaches_gets_its_tolerance() -> None:
    both = task("(self.conv(x), x.sigmoid())")

    assert passes(both, lambda model, x: (convolved(nearest)(model, x), x.sigmoid()))
    assert not passes(both, lambda model, x: (convolved(nearest)(model, x), nearest(x.contiguous()).sigmoid()))


@pytest.mark.usefixtures("ampere")
def test_float64_is_not_convolved_in_tf32() -> None:
    source = task().source.replace("3)", "3, dtype=torch.float64)").replace("N, N)", "N, N, dtype=torch.float64)")
    double = Task(name="double", source=source)

    assert passes(double, lambda model, x: model.conv(x))
    assert not passes(double, lambda model, x: convolved(nearest)(model.float(), x.float()).double())


def test_on_a_cpu_both_classes_are_the_same() -> None:
    assert tf32_operations("cpu") == frozenset()
    assert not passes(task(), convolved(nearest))


@pytest.mark.parametrize(
    ("cudnn", "matmul", "operations"),
    [(True, False, CUDNN), (True, True, CUDNN | PRODUCTS), (False, False, frozenset())],
)
def test_a_gpu_does_what_torch_allows(
    cudnn: bool, matmul: bool, operations: frozenset[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_tf32_supported", lambda: True)
    monkeypatch.setattr(torch.version, "hip", None)
    with computed_in(Precision.DEFAULT):
        torch.backends.cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = cudnn, matmul
        assert tf32_operations("cuda") == operations


@pytest.mark.parametrize(("precision", "allowed"), [(Precision.IEEE, False), (Precision.DEFAULT, True)])
def test_the_reference_runs_in_the_precision_of_its_task(precision: Precision, allowed: bool) -> None:
    seen = task("self.conv(x) * float(torch.backends.cudnn.allow_tf32)", precision=precision)
    reference = Reference(seen, seed=0)

    assert bool(reference.native(reference.inputs(0))[0].any()) is allowed
    assert torch.backends.cudnn.allow_tf32


def test_baselines_compute_in_the_precision_of_the_task_and_some_in_tf32() -> None:
    x = TensorSpec(name="x", shape=(8, 8), dtype="float32")
    interface = Interface(inputs=(x,), state=(), outputs=(x,), init=(), matrix_operations=9)
    usual, exact = (gpu_sources(task(precision=precision), interface) for precision in Precision)

    assert usual.keys() == exact.keys()
    assert (IEEE in usual[EAGER], IEEE in exact[EAGER]) == (False, True)
    assert all(IEEE not in source for name, source in exact.items() if TF32 in source)


@pytest.mark.parametrize(
    ("result", "precision", "more"),
    [
        ("self.conv(x)", Precision.DEFAULT, False),
        ("self.conv(x)", Precision.IEEE, True),
        ("self.conv(x).flatten(2) @ torch.ones(484, 3, device=x.device)", Precision.DEFAULT, True),
        ("torch.nn.functional.scaled_dot_product_attention(x, x, x)", Precision.DEFAULT, True),
        ("x.exp()", Precision.IEEE, False),
    ],
    ids=["by default torch convolves in it", "in ieee it does not", "products", "attention", "nothing to multiply"],
)
def test_baselines_in_tf32_are_timed_only_where_they_differ(result: str, precision: Precision, more: bool) -> None:
    seen = task(result, precision=precision)

    assert any(TF32 in source for source in gpu_sources(seen, interface_of(seen)).values()) is more


def test_the_class_is_part_of_what_a_task_is_and_the_usual_one_changes_no_digest() -> None:
    assert task().digest != task(precision=Precision.IEEE).digest
    assert task().digest == Task.model_validate({"name": "small", "source": task().source}).digest
