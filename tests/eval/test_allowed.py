"""The error that the judge allows is said in numbers, the same in each process."""

from pathlib import Path

import pytest

from eval.oracle.allowed import allowed_errors, described
from eval.oracle.reference import interface_of
from eval.oracle.task import load_task

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "roundings"), [("softmax", 256.0), ("rmsnorm", None)])
def test_the_error_allowed_is_a_number_of_roundings_and_a_multiple_of_the_references_own(
    name: str, roundings: float | None
) -> None:
    task = load_task(EXAMPLES / f"{name}.py")
    [found] = allowed_errors(task)

    assert 0 < found.least <= found.median < 1
    assert found.least >= found.rounding
    assert roundings in (None, found.roundings)
    assert f"{found.median:.0e}" == f"{allowed_errors(task)[0].median:.0e}"


def test_a_task_with_whole_numbers_alone_has_none() -> None:
    source = load_task(EXAMPLES / "softmax.py").source.replace("torch.softmax(x, dim=-1)", "x.argmax(dim=-1)")
    task = load_task(EXAMPLES / "softmax.py").model_copy(update={"source": source})

    assert allowed_errors(task) == ()


def test_a_description_has_the_tensors_of_the_task_also_if_it_uses_the_compiler() -> None:
    task = load_task(EXAMPLES / "softmax.py")
    source = task.source.replace("torch.softmax(x", "torch.compiler.disable(torch.softmax)(x")
    assert described(task).inputs == interface_of(task).inputs
    assert described(task.model_copy(update={"source": source})).outputs == interface_of(task).outputs
