"""Answers that compute nothing: a task on which one of them passes cannot show that a kernel is right."""

from collections.abc import Callable, Sequence

import torch

from eval.cases import Case
from eval.reference import Tensors
from kb.model.evidence import Outcome

Answer = Callable[[Case], Tensors | None]
"""Gives outputs for a case, or None if it does not fit the case."""


def degenerate_answers(cases: Sequence[Case]) -> list[str]:
    """The answers that pass all cases and compute nothing: zeros, a constant, the mean of the outputs, an input.

    Args:
        cases: Cases with several kinds of values; an answer that only fits one kind is not degenerate.
    """
    if not cases:
        return []
    constants = tuple(_mean(expected) for expected in cases[0].expected)
    answers: dict[str, Answer] = {
        "zeros": lambda case: _filled(case, [0.0] * len(case.expected)),
        "a constant": lambda case: _filled(case, constants),
        "the mean of the outputs": _means,
    }
    for index in range(len(cases[0].inputs)):
        answers[f"input {index}"] = lambda case, index=index: _input(case, index)  # type: ignore[misc]
    return [name for name, answer in answers.items() if all(_passes(case, answer) for case in cases)]


def _passes(case: Case, answer: Answer) -> bool:
    outputs = answer(case)
    return outputs is not None and case.compare(outputs).outcome is Outcome.PASSED


def _filled(case: Case, values: Sequence[float]) -> Tensors:
    return tuple(
        torch.full(expected.shape, value, dtype=torch.float64).to(dtype)
        for expected, value, dtype in zip(case.expected, values, case.dtypes, strict=True)
    )


def _means(case: Case) -> Tensors | None:
    """The mean of each output; None if an output is a single number, which is its own mean."""
    if any(expected.numel() == 1 for expected in case.expected):
        return None
    return _filled(case, [_mean(expected) for expected in case.expected])


def _input(case: Case, index: int) -> Tensors | None:
    given = case.inputs[index]
    fits = isinstance(given, torch.Tensor) and all(
        given.shape == expected.shape and given.dtype == dtype
        for expected, dtype in zip(case.expected, case.dtypes, strict=True)
    )
    return (given,) * len(case.expected) if fits else None


def _mean(expected: torch.Tensor) -> float:
    return float(expected.double().mean()) if expected.numel() else 0.0
