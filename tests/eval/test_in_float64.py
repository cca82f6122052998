"""A reference runs in float64 whatever it does in float32: the values are those of a computation by hand."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.oracle.cases import given_case
from eval.oracle.in_float64 import InFloat64
from eval.oracle.reference import Reference
from kb.errors import TaskError
from kb.types.kernels import Task

SOURCE = """
import torch
from torch import nn
from torch.nn import functional as F

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(8, 8, bias=False)
        self.made = torch.linspace(-1, 1, 64).view(8, 8)
        {init}

    def forward(self, x):
        {forward}

def get_inputs():
    return [torch.randn(4, 8)]

def get_init_inputs():
    return []
"""
MADE = torch.linspace(-1, 1, 64).view(8, 8).double()
Exact = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


class Kind(NamedTuple):
    forward: str
    exact: Exact
    """From the inputs and the weights of the layer, both in float64."""
    init: str = "pass"


def _rnn(x: torch.Tensor, w: torch.Tensor, again: torch.Tensor) -> torch.Tensor:
    h = torch.zeros(8, dtype=torch.float64)
    for row in x:
        h = torch.tanh(w @ row + again @ h)
    return h


KINDS = {
    "a layer inside a function": Kind("return self.f(x)", lambda x, w: x @ w.T, "self.f = lambda x: self.linear(x)"),
    "layers inside a list of functions": Kind(
        "return self.steps[0](x)", lambda x, w: x @ w.T + 1, "m = self.linear; self.steps = [lambda x, m=m: m(x) + 1]"
    ),
    "a tensor that is no buffer": Kind("return x @ self.made", lambda x, w: x @ MADE),
    "a list of tensors": Kind("return x @ self.all[0]", lambda x, w: x @ MADE, "self.all = [self.made]"),
    "weights named again": Kind("return x @ self.t", lambda x, w: x @ w.T, "self.t = self.linear.weight.detach().t()"),
    "made in forward": Kind("return x @ torch.eye(8) * 2", lambda x, w: 2 * x),
    "made in forward with a type": Kind("return x @ torch.eye(8, dtype=torch.float32) * 2", lambda x, w: 2 * x),
    "made from whole numbers": Kind("return x @ torch.arange(8).float()", lambda x, w: x @ torch.arange(8.0).double()),
    "a cast of the inputs": Kind("return x.float() @ self.linear.weight", lambda x, w: x @ w),
    "a cast by its type": Kind("return self.linear(x.to(torch.float32).exp())", lambda x, w: x.exp() @ w.T),
    "a sum of a type": Kind(
        "return self.linear(F.softmax(x, 1, dtype=torch.float32))", lambda x, w: x.softmax(1) @ w.T
    ),
    "a cast that is changed in place": Kind(
        "y = x.clone(); z = y.float() if y.dtype != torch.float32 else y.clone(); z.mul_(3); return y @ self.made + z",
        lambda x, w: x @ MADE + 3 * x,
    ),
    "a state that is changed in place": Kind(
        "self.made.copy_(torch.linspace(-1, 1, 64).view(8, 8)); self.made.mul_(2); return x @ self.made",
        lambda x, w: x @ (2 * MADE),
    ),
    "a recurrent state made before": Kind(
        "h = self.h\n        for row in x: h = torch.tanh(self.linear(row) + self.made @ h)\n        return h",
        lambda x, w: _rnn(x, w, MADE),
        "self.h = torch.zeros(8)",
    ),
    "a recurrent layer's state made before": Kind(
        "return self.rnn(x, self.h)[0]",
        lambda x, w: torch.stack([_rnn(x[: i + 1], w, w) for i in range(4)]),
        "self.rnn = nn.RNN(8, 8, bias=False); self.h = torch.zeros(1, 8); "
        "self.rnn.weight_ih_l0 = self.rnn.weight_hh_l0 = self.linear.weight",
    ),
    "a mask made before": Kind(
        "q = self.linear(x); return F.scaled_dot_product_attention(q, q, q, attn_mask=self.mask)",
        lambda x, w: ((x @ w.T @ (x @ w.T).T) / 8**0.5 + torch.ones(4, 4).triu(1) * -9).softmax(1) @ (x @ w.T),
        "self.mask = torch.ones(4, 4).triu(1) * -9",
    ),
    "complex numbers": Kind(
        "return torch.view_as_real(torch.view_as_complex(x.view(4, 4, 2)) @ self.turn).flatten(1)",
        lambda x, w: torch.view_as_real(torch.view_as_complex(x.view(4, 4, 2)) * 1j).flatten(1),
        "self.turn = torch.eye(4) * torch.tensor(1j)",
    ),
    "bits taken for a number": Kind(
        "return self.linear(x) + self.bits.view(torch.float32)",
        lambda x, w: x @ w.T + 1,
        "self.bits = torch.ones(8).view(torch.int32)",
    ),
}


def _task(forward: str, init: str = "pass") -> Task:
    return Task(name="small", source=SOURCE.format(forward=forward, init=init))


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_what_is_float32_in_a_reference_is_computed_in_float64(kind: Kind) -> None:
    reference = Reference(_task(kind.forward, kind.init), seed=1)
    inputs = reference.inputs(2)

    [native], [exact] = reference.native(inputs), reference.oracle(inputs)

    right = kind.exact(inputs[0].double(), reference.state["linear.weight"].double())
    assert (native.dtype, exact.dtype) == (torch.float32, torch.float64)
    torch.testing.assert_close(exact, right, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(native, right.float(), rtol=1e-4, atol=1e-5)
    assert given_case("given", reference).decides


def test_a_change_of_the_weights_reaches_a_function_that_the_model_keeps() -> None:
    direct = Reference(_task("return self.linear(x)"), seed=1)
    kept = Reference(_task("return self.f(x)", "self.f = lambda x: self.linear(x)"), seed=1)
    inputs = direct.inputs(2)

    one, other = (reference.oracle(inputs, perturbed=3)[0] for reference in (direct, kept))

    assert torch.equal(one, other)
    assert not torch.equal(one, direct.oracle(inputs)[0])


@pytest.mark.parametrize("narrow", [torch.float16, torch.bfloat16])
def test_a_narrower_type_is_widened_where_torch_refuses_to_mix_it(narrow: torch.dtype) -> None:
    x, w = torch.rand(3, 3, dtype=torch.float64), torch.rand(3, 3).to(narrow)

    with InFloat64():
        mixed, rounded = x @ w, x.to(narrow)

    assert torch.equal(mixed, x @ w.double())
    assert rounded.dtype is narrow


WRONG = {
    "it mixes types": ("return x @ self.made.double()", "forward.*dtype"),
    "it mixes types with a layer": ("return self.linear(x.double())", "forward.*dtype"),
    "it gives the same on all inputs": ("return torch.where(x.float() > 9, x.float(), self.made[:4])", "same outputs"),
    "it draws": ("return x + torch.randn(4, 8)", "other outputs on the same inputs"),
    "it returns what it keeps": ("return self.made", "same outputs|that it keeps|of its own"),
}


@pytest.mark.parametrize(("forward", "message"), WRONG.values(), ids=WRONG)
def test_a_wrong_reference_stays_wrong(forward: str, message: str) -> None:
    with pytest.raises(TaskError, match=message):
        given_case("given", Reference(_task(forward), seed=1))
