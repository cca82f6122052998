"""A judge's cases are of all kinds at all sizes, new for each candidate, and include those that refused one before."""

from pathlib import Path

import pytest
import torch  # noqa: TID253 - what is tested computes with it

from eval.devices.device import CaseSizes
from eval.judge.counterexamples import Counterexamples
from eval.judge.held_out_cases import HeldOutCases
from eval.oracle.reference import Reference, interface_of
from eval.oracle.values import KINDS
from kb.errors import TaskError
from kb.types.kernels import Task
from tests.eval.judging import task
from tests.eval.test_cases import task_of

ALL_SIZES = CaseSizes(large=1 << 14, small=1 << 10, given=None)


def hidden(subject: Task, *, limits: CaseSizes = ALL_SIZES, refused: Path | None = None) -> HeldOutCases:
    reference = Reference(subject, seed=5)
    return HeldOutCases(subject, reference, interface_of(subject, reference), limits, Counterexamples(refused))


def test_every_kind_is_tried_at_odd_sizes_and_at_those_given() -> None:
    found = [case.draw for case in hidden(task("row_sum")).for_candidate() if case.draw]

    given = {draw.kinds for draw in found if not draw.sizes}
    odd = {draw.kinds for draw in found if draw.sizes and all(size % 2 for size in draw.sizes.values())}
    assert given == odd == {KINDS, *((kind,) for kind in KINDS)}


def test_each_candidate_is_tried_on_a_case_that_no_other_was() -> None:
    cases = hidden(task("row_sum"))

    first, second = cases.for_candidate(), cases.for_candidate()

    assert all(a is b for a, b in zip(first[:-1], second[:-1], strict=True))
    assert not torch.equal(first[-1].inputs[0], second[-1].inputs[0])


def test_a_draw_that_refused_one_candidate_is_tried_first_on_all_later_ones(tmp_path: Path) -> None:
    cases = hidden(task("row_sum"), refused=tmp_path / "refused.jsonl")
    fresh = cases.for_candidate()[-1]
    cases.refused(fresh)

    assert cases.for_candidate()[0] is fresh
    later = hidden(task("row_sum"), refused=tmp_path / "refused.jsonl").for_candidate()[0]
    assert torch.equal(later.inputs[0], fresh.inputs[0])
    assert all(torch.equal(a, b) for a, b in zip(later.expected, fresh.expected, strict=True))


@pytest.mark.parametrize(("given", "odd"), [(None, True), (1 << 6, False)])
def test_small_sizes_are_odd_unless_no_even_ones_would_be_tried(given: int | None, odd: bool) -> None:
    limits = CaseSizes(large=1 << 14, small=1 << 10, given=given)

    first = hidden(task("row_sum"), limits=limits).for_candidate()[0]

    assert first.draw
    assert all(size % 2 == odd for size in first.draw.sizes.values())


def test_a_draw_at_sizes_that_the_device_cannot_run_is_not_tried_again(tmp_path: Path) -> None:
    cases = hidden(task("row_sum"), refused=tmp_path / "refused.jsonl")
    [given] = [case for case in cases.for_candidate() if case.name == "sizes as given"]
    cases.refused(given)

    limits = CaseSizes(large=1 << 12, small=1 << 10, given=1 << 12)
    found = hidden(task("row_sum"), limits=limits, refused=tmp_path / "refused.jsonl").for_candidate()

    assert all(case.draw and case.draw.sizes for case in found)


def test_a_draw_at_sizes_that_exceed_the_wanted_number_is_tried_again(tmp_path: Path) -> None:
    cases = hidden(task("row_sum"), refused=tmp_path / "refused.jsonl")
    [first, *_] = [case for case in cases.for_candidate() if case.draw and case.draw.sizes]
    cases.refused(first)
    elements = sum(x.numel() for x in (*first.inputs, *first.expected))

    limits = CaseSizes(large=elements // 2, small=1 << 6, given=None)
    again = hidden(task("row_sum"), limits=limits, refused=tmp_path / "refused.jsonl").for_candidate()[0]

    assert again.draw == first.draw


def test_a_random_reference_is_refused_where_its_own_sizes_are_not_run() -> None:
    with pytest.raises(TaskError, match="other outputs on the same inputs"):
        hidden(task_of("nn.functional.dropout(x)", constants="N = 4096"), limits=CaseSizes(1 << 12, 1 << 10, 1 << 10))


def test_a_large_task_without_sizes_is_refused() -> None:
    with pytest.raises(TaskError, match="too large"):
        hidden(task_of(constants="", drawn="torch.randn(4096)"), limits=CaseSizes(1 << 12, 1 << 10, 1 << 10))
