"""Find answers that need no computation and would pass as the output of a task."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import torch

from eval.oracle.cases import Case
from eval.oracle.reference import Tensors
from kb.types.evidence import Outcome

Answer = Callable[[Case], Tensors]


def degenerate_answers(cases: Sequence[Case]) -> tuple[str, ...]:
    """The answers that pass in all cases, in words: zeros, a constant, the mean of the outputs, an input.

    A constant is the mean of the first case's outputs in all cases; the mean is that of each case.
    """
    answers = _answers(cases) if cases else ()
    return tuple(name for name, answer in answers if all(_passes(case, answer(case)) for case in cases))


def _answers(cases: Sequence[Case]) -> Iterator[tuple[str, Answer]]:
    means = _means(cases[0])
    yield "zeros", lambda case: _filled(case, [0.0] * len(means))
    yield "a constant", lambda case: _filled(case, means)
    if all(expected.numel() != 1 for expected in cases[0].expected):  # a single number is its own mean
        yield "the mean of the outputs", lambda case: _filled(case, _means(case))
    for number, value in enumerate(cases[0].inputs):
        if isinstance(value, torch.Tensor):
            yield f"input {number}", partial(_copied, number)


def _passes(case: Case, answers: Tensors) -> bool:
    return (
        all(answer.shape == expected.shape for answer, expected in zip(answers, case.expected, strict=True))
        and case.compare([a.to(x.dtype) for a, x in zip(answers, case.layouts, strict=True)]).outcome is Outcome.PASSED
    )


def _copied(number: int, case: Case) -> Tensors:
    return (case.inputs[number],) * len(case.expected)


def _means(case: Case) -> list[float]:
    return [float(expected.double().mean()) if expected.numel() else 0.0 for expected in case.expected]


def _filled(case: Case, values: Sequence[float]) -> Tensors:
    return tuple(
        torch.full_like(expected, value, dtype=torch.float64)
        for expected, value in zip(case.expected, values, strict=True)
    )
