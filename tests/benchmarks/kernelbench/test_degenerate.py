"""An answer that needs no computation is found if it passes in all cases of a task."""

import pytest

from benchmarks.kernelbench.degenerate import degenerate_answers
from eval.oracle.cases import Case, make_case
from eval.oracle.reference import Reference
from tests.eval.test_cases import task_of

TASKS = {
    "relu of what is never positive": ("torch.relu(-x.abs())", {"zeros", "a constant", "the mean of the outputs"}),
    "softmax of one column": ("torch.softmax(x[:, None], -1)[:, 0]", {"a constant", "the mean of the outputs"}),
    "a total that differs from case to case": ("x.sum().expand(3)", {"the mean of the outputs"}),
    "the identity": ("x.clone()", {"input 0"}),
    "a sum": ("x + 1", set()),
    "a single number": ("x.sum()", set()),
    "several outputs": ("(x * 0, x + 1)", set()),
    "an integer that is always the same": ("(x < 100).long()", {"a constant", "the mean of the outputs"}),
}


def cases_of(result: str) -> list[Case]:
    reference = Reference(task_of(result), seed=0)
    return [make_case("drawn", reference, reference.inputs(seed)) for seed in range(3)]


@pytest.mark.parametrize(("result", "found"), TASKS.values(), ids=TASKS)
def test_the_answers_that_pass_everywhere_are_named(result: str, found: set[str]) -> None:
    assert set(degenerate_answers(cases_of(result))) == found


def test_without_cases_nothing_is_known() -> None:
    assert degenerate_answers([]) == ()
