"""Operations, types and layouts like those on which honest kernels were refused and wrong ones passed before."""

from collections.abc import Callable
from typing import NamedTuple

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from tests.eval.test_honest_and_wrong import passes, task_of

ANY, UNIT, INTEGERS = "torch.randn(N, N)", "torch.rand(N, N)", "torch.randint(-99, 99, (N, N))"
E5M2, E4M3 = torch.float8_e5m2, torch.float8_e4m3fn
Kernel = Callable[..., object]


class Sibling(NamedTuple):
    """A task with an honest kernel and a wrong one."""

    names: str
    result: str
    drawn: str
    honest: Kernel
    wrong: Kernel


def sorted_at(x: torch.Tensor, place: int) -> tuple[torch.Tensor, ...]:
    return tuple(found[..., place] for found in x.sort(dim=-1, stable=True))


def log_softmax_by_halves(x: torch.Tensor) -> torch.Tensor:
    """A running maximum that is minus infinity after the first half makes the row NaN."""
    first, second = x.tensor_split(2, dim=-1)
    before, largest = first.amax(-1, keepdim=True), x.amax(-1, keepdim=True)
    earlier = (before - largest).exp() * (first - before).exp().sum(-1, keepdim=True)
    return x - largest - (earlier + (second - largest).exp().sum(-1, keepdim=True)).log()


SIBLINGS = {
    "the index of a median": Sibling(
        "x", "x.median(-1)", f"{ANY}.bfloat16()", lambda x: sorted_at(x, 31), lambda x: sorted_at(x, 32)
    ),
    "the index of the third": Sibling(
        "x", "x.kthvalue(3)", f"{ANY}.half()", lambda x: sorted_at(x, 2), lambda x: sorted_at(x, 3)
    ),
    "the index of a minimum": Sibling(
        "x", "x.argmin(-1)", f"{ANY}.half()", lambda x: 63 - x.flip(-1).argmin(-1), lambda x: x.argmax(-1)
    ),
    "maxima of columns": Sibling(
        "x",
        "x.max(0)",
        f"{ANY}.half()",
        lambda x: (x.amax(0), 63 - x.flip(0).argmax(0)),
        lambda x: (x.amax(0), x.argmin(0)),
    ),
    "a sort that keeps the order of equal values": Sibling(
        "x",
        "x.sort(dim=-1, stable=True)[1]",
        INTEGERS,
        lambda x: (64 * x + torch.arange(64)).argsort(-1),
        lambda x: (64 * x - torch.arange(64)).argsort(-1),
    ),
    "the places of maxima of parts": Sibling(
        "x",
        "torch.nn.functional.adaptive_max_pool1d(x, 8, return_indices=True)[1]",
        f"{ANY}.bfloat16()",
        lambda x: torch.arange(7, 64, 8) - x.unflatten(-1, (8, 8)).flip(-1).argmax(-1),
        lambda x: torch.arange(0, 64, 8) + x.unflatten(-1, (8, 8)).argmin(-1),
    ),
    "values of which as many as may be are true": Sibling(
        "x, mask",
        "torch.where(mask, x, 0.0).sum(-1)",
        f"{ANY}, torch.rand(N, N) < 0.5",
        lambda x, mask: (x * mask).sum(-1),
        lambda x, mask: (x * (mask & (mask.cumsum(-1) <= 60))).sum(-1),
    ),
    "values that are there once": Sibling(
        "x",
        "x.unique()",
        INTEGERS,
        lambda x: x.flatten().sort().values.unique_consecutive(),
        lambda x: x.unique().flip(0),
    ),
    "borders from the left": Sibling(
        "b, x",
        "torch.searchsorted(b, x)",
        f"torch.randn(N).sort().values, {ANY}",
        lambda b, x: (x[..., None] > b).sum(-1),
        lambda b, x: (x[..., None] >= b).sum(-1),
    ),
    "borders of the file": Sibling(
        "x",
        "torch.bucketize(x, torch.tensor([-0.5, 0.0, 0.5], dtype=x.dtype))",
        ANY,
        lambda x: (x[..., None] > torch.tensor([-0.5, 0.0, 0.5])).sum(-1),
        lambda x: (x[..., None] >= torch.tensor([-0.5, 0.0, 0.5])).sum(-1),
    ),
    "the root of zero": Sibling(
        "x",
        "torch.sqrt(x)",
        UNIT,
        lambda x: torch.where(x == 0, 0.0, x * torch.rsqrt(x)),
        lambda x: x * torch.rsqrt(x),
    ),
    "the root that divides": Sibling(
        "x", "torch.rsqrt(x)", UNIT, lambda x: 1 / torch.sqrt(x), lambda x: torch.rsqrt(x + 1e-4)
    ),
    "a tangent": Sibling(
        "x", "torch.tan(x)", f"2 * {ANY}", lambda x: torch.sin(x) / torch.cos(x), lambda x: x + x**3 / 3
    ),
    "a logarithm of base two": Sibling(
        "x", "torch.log2(x)", UNIT, lambda x: torch.log(x) / 0.6931471805599453, lambda x: torch.log2(x + 1e-6)
    ),
    "both ends of a domain": Sibling(
        "x",
        "torch.atanh(x)",
        f"2 * {UNIT} - 1",
        lambda x: 0.5 * (torch.log1p(x) - torch.log1p(-x)),
        lambda x: torch.atanh(x.clamp(-0.999, 0.999)),
    ),
    "zero times a logarithm": Sibling(
        "x, y",
        "torch.xlogy(x, y)",
        f"{UNIT}, {UNIT}",
        lambda x, y: torch.where(x == 0, 0.0, x * torch.log(y)),
        lambda x, y: x * torch.log(y),
    ),
    "a gap that is closed": Sibling(
        "x",
        "torch.sinc(x)",
        ANY,
        lambda x: torch.where(x == 0, 1.0, torch.sin(torch.pi * x) / (torch.pi * x)),
        lambda x: torch.sin(torch.pi * x) / (torch.pi * x),
    ),
    "8-bit numbers in": Sibling(
        "x", "x.float() * 2", f"{ANY}.to(torch.float8_e5m2)", lambda x: x.float() + x.float(), lambda x: x.float() * 2.1
    ),
    "8-bit numbers in and out": Sibling(
        "x",
        "x.float().relu().to(torch.float8_e4m3fn)",
        f"{ANY}.to(torch.float8_e4m3fn)",
        lambda x: x.float().clamp(min=0).to(E4M3),
        lambda x: (1.2 * x.float().clamp(min=0)).to(E4M3),
    ),
    "8-bit numbers out": Sibling(
        "x, y",
        "(x @ y).to(torch.float8_e4m3fn)",
        f"{ANY}.bfloat16(), {ANY}.bfloat16()",
        lambda x, y: (x.float() @ y.float()).bfloat16().to(E4M3),
        lambda x, y: ((x.float() @ y.float()) * (0.75 + torch.rand(64, 64) / 2)).to(E4M3),
    ),
    "8-bit numbers out of steps in bfloat16": Sibling(
        "x",
        "torch.nn.functional.silu(x).to(torch.float8_e5m2)",
        f"{ANY}.bfloat16()",
        lambda x: (x / (1 + (-x).exp())).to(E5M2),
        lambda x: (torch.nn.functional.silu(x) * (0.75 + torch.rand(64, 64) / 2)).to(E5M2),
    ),
    "the logarithm of zero": Sibling(
        "x", "x.log()", UNIT, lambda x: -(1 / x).log(), lambda x: torch.where(x == 0, torch.inf, x.log())
    ),
    "an infinity in each row": Sibling(
        "x",
        "-torch.log(1 - x).amin(-1)",
        UNIT,
        lambda x: torch.where(x == 1, torch.nan, -torch.log(1 - x)).amax(-1),
        lambda x: torch.where((x == 1).any(-1), -torch.inf, -torch.log(1 - x).amin(-1)),
    ),
    "channels last": Sibling(
        "x",
        "x.mean((2, 3))",
        "torch.randn(4, 8, N, N).to(memory_format=torch.channels_last)",
        lambda x: x.permute(0, 2, 3, 1).flatten(1, 2).mean(1),
        lambda x: x.as_strided(x.shape, torch.empty(x.shape).stride()).mean((2, 3)),
    ),
    "one column many times": Sibling(
        "x",
        "x.cumsum(1)",
        "torch.randn(N, 1).expand(N, N)",
        lambda x: x[:, :1] * torch.arange(1, 65),
        lambda x: x[:, :1] * torch.arange(64),
    ),
    "no elements": Sibling(
        "x, y",
        "torch.cat([x, y], 1)",
        f"torch.randn(N, 0), {ANY}",
        lambda x, y: y.clone(),
        lambda x, y: y + 1,
    ),
    "division of integers downwards": Sibling(
        "x, y",
        "x // y",
        f"{INTEGERS}, torch.randint(1, 9, (N, N))",
        lambda x, y: torch.div(x - x.remainder(y), y, rounding_mode="trunc"),
        lambda x, y: torch.div(x, y, rounding_mode="trunc"),
    ),
    "a remainder of the divisor's sign": Sibling(
        "x, y",
        "torch.remainder(x, y)",
        f"{INTEGERS}, torch.randint(1, 9, (N, N))",
        lambda x, y: x - x.div(y, rounding_mode="floor") * y,
        lambda x, y: torch.fmod(x, y),
    ),
    "halves to the even number": Sibling(
        "x",
        "torch.round(2 * x)",
        "torch.randint(-9, 9, (N, N)).float() / 4",
        lambda x: (x + x).round(),
        lambda x: torch.floor(2 * x + 0.5),
    ),
    "a product of signs": Sibling(
        "x", "x.cumprod(-1)", ANY, lambda x: x.double().cumprod(-1).float(), lambda x: x.abs().cumprod(-1)
    ),
    "small integers summed": Sibling(
        "x",
        "x.cumsum(-1)",
        "torch.randint(-100, 100, (N, N), dtype=torch.int8)",
        lambda x: x.long().cumsum(-1),
        lambda x: x.cumsum(-1, dtype=torch.int8).long(),
    ),
    "the size of complex numbers": Sibling(
        "x",
        "torch.view_as_complex(x).abs()",
        "torch.randn(N, N, 2)",
        lambda x: torch.hypot(x[..., 0], x[..., 1]),
        lambda x: x.abs().sum(-1),
    ),
    "both parts of complex numbers": Sibling(
        "x",
        "torch.view_as_real(torch.fft.fft(x))",
        ANY,
        lambda x: torch.view_as_real(torch.fft.ifft(x, norm="forward").conj().resolve_conj()),
        lambda x: torch.view_as_real(torch.fft.fft(x)).flip(-1),
    ),
    "the sign of a negative zero": Sibling(
        "x, y",
        "torch.copysign(x, y)",
        f"{ANY}, {ANY}",
        lambda x, y: torch.where(torch.signbit(y), -x.abs(), x.abs()),
        lambda x, y: torch.where(y < 0, -x.abs(), x.abs()),
    ),
    "a step's own height": Sibling(
        "x",
        "torch.heaviside(x, torch.tensor(0.5, dtype=x.dtype))",
        ANY,
        lambda x: torch.where(x == 0, 0.5, (x > 0).float()),
        lambda x: (x > 0).float(),
    ),
    "a shared error of 2 % in float16": Sibling(
        "x",
        "x.mean(-1)",
        "torch.rand(512, N).half()",
        lambda x: x.float().mean(-1).half(),
        lambda x: (1.02 * x.float().mean(-1)).half(),
    ),
    "rows in the opposite order": Sibling("x", "x.flip(0).t()", ANY, lambda x: x.t().flip(1), lambda x: x.t().clone()),
    "means of bytes": Sibling(
        "x, y",
        "((x.int() + y.int() + 1) // 2).to(torch.uint8)",
        ", ".join(["torch.randint(0, 256, (N, N), dtype=torch.uint8)"] * 2),
        lambda x, y: ((x.short() + y.short() + 1) >> 1).to(torch.uint8),
        lambda x, y: (x + y + 1) // 2,
    ),
    "products that overflow": Sibling(
        "x",
        "x * 65537",
        "torch.randint(-(1 << 31), (1 << 31) - 1, (N, N), dtype=torch.int32)",
        lambda x: (x.long() * 65537).to(torch.int32),
        lambda x: (x.double() * 65537).clamp(-(2**31), 2**31 - 1).to(torch.int32),
    ),
    "a mask of large numbers": Sibling(
        "x, m",
        "(x + m).softmax(-1)",
        f"{ANY}, torch.full((N, N), -1e9).triu(1)",
        lambda x, m: torch.exp((x + m).log_softmax(-1)),
        lambda x, m: (x + torch.full_like(x, -1e9).triu(1)).softmax(-1),
    ),
    "a mask that may hide a block": Sibling(
        "x, m",
        "x.masked_fill(m, -torch.inf).softmax(-1)",
        f"{ANY}, torch.rand(N, N) < 0.5",
        lambda x, m: torch.exp(torch.where(m, -torch.inf, x).log_softmax(-1)),
        lambda x, m: log_softmax_by_halves(x.masked_fill(m, -torch.inf)).exp(),
    ),
    "a logarithm that hides a block": Sibling(
        "x",
        "x.log_softmax(-1)",
        ANY,
        lambda x: x - x.amax(-1, keepdim=True) - (x - x.amax(-1, keepdim=True)).exp().sum(-1, keepdim=True).log(),
        log_softmax_by_halves,
    ),
    "a mask of integers": Sibling(
        "x, m",
        "x * m",
        f"{ANY}, torch.ones(N, N, dtype=torch.int32)",
        lambda x, m: x * m.float(),
        lambda x, m: x.clone(),
    ),
    "a number": Sibling("x, t", "x * t", f"{ANY}, 3 / 8", lambda x, t: x * t, lambda x, t: x * 0.375),
    "an epsilon": Sibling(
        "x, e",
        "x * (x.square().mean(-1, keepdim=True) + e).rsqrt()",
        f"{ANY}, 1e-5",
        lambda x, e: x / (x.square().mean(-1, keepdim=True) + e).sqrt(),
        lambda x, e: x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt(),
    ),
    "limits": Sibling(
        "x, low, high",
        "x.clamp(low, high)",
        f"{ANY}, -0.5, 1.5",
        lambda x, low, high: torch.minimum(torch.maximum(x, torch.tensor(low)), torch.tensor(high)),
        lambda x, low, high: x.clamp(-0.5, high),
    ),
    "one shift": Sibling(
        "x, s",
        "x >> s",
        f"{INTEGERS}, torch.full((N, 1), 4)",
        lambda x, s: x.div(2**s, rounding_mode="floor"),
        lambda x, s: x >> 4,
    ),
}


@pytest.mark.parametrize("sibling", SIBLINGS.values(), ids=SIBLINGS)
def test_the_honest_kernel_passes_and_the_wrong_one_fails(sibling: Sibling) -> None:
    task = task_of(*sibling[:3])

    assert passes(task, sibling.honest)
    assert not passes(task, sibling.wrong)
