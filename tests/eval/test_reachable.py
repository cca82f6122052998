"""The reachable roof of a task: what torch reaches with as many bytes and operations, and nothing for what is tiny."""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from eval.roofline import bottleneck
from kb.types.kernels import Interface, TensorSpec
from tests.synth.samples import fact


def interface(read: int, written: int, operations: int = 0, dtype: str = "float32") -> Interface:
    """A task that reads and writes so many float32, or reads as many bytes of another type."""
    return Interface(
        inputs=(TensorSpec(name="x", shape=(read,), dtype=dtype),),
        state=(),
        outputs=(TensorSpec(name="output0", shape=(written,), dtype="float32"),),
        init=(),
        matrix_operations=operations,
    )


def reachable_s(one: Interface, device: str) -> float:
    from eval.clock import reachable  # it loads torch

    return reachable.reachable_s(one, device)


@pytest.fixture
def works(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """What was timed, with the sizes of its tensors; each element takes a microsecond."""
    done: list[str] = []

    def seconds(work: Callable[..., object], tensors: Sequence[Any]) -> float:
        work(*tensors)
        done.append(" ".join(str(tuple(tensor.shape)) for tensor in tensors))
        return 1e-6 * max(tensor.numel() for tensor in tensors)

    monkeypatch.setattr("eval.clock.reachable._seconds", seconds)
    return done


def test_reads_and_writes_are_those_of_the_task(works: list[str]) -> None:
    size = 1 << 20

    assert reachable_s(interface(size, size), "cpu") == pytest.approx(1e-6 * (size - 1))
    assert works == [f"({size},) ({size},)", "(1,) (1,)"]
    works.clear()
    assert reachable_s(interface(size, 16), "cpu") == pytest.approx(1e-6 * (size - 2))
    assert [work for work in works if str(size - 16) in work] == [f"({size - 16},) (0,)"], "the rest is only read"


def test_what_fits_into_caches_has_no_reachable_roof(works: list[str]) -> None:
    assert reachable_s(interface(1000, 1000), "cpu") == 0
    assert not works


def test_large_tasks_are_measured_at_smaller_sizes(works: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    size = 1 << 20
    monkeypatch.setattr("eval.clock.reachable.MOST_BYTES", 2 * size)

    assert reachable_s(interface(size, size), "cpu") == pytest.approx(1e-6 * size, rel=0.01)
    assert works[0] == f"({size // 4},) ({size // 4},)"


def test_a_product_has_as_many_operations_and_only_in_a_type_that_torch_multiplies_fast(works: list[str]) -> None:
    cube = interface(1 << 19, 1, operations=2 * 1000**3)

    assert reachable_s(cube, "cpu") == pytest.approx(1.0, rel=0.01)
    assert "(1000, 1000) (1000, 1000)" in works
    works.clear()
    reachable_s(interface(1 << 19, 1, operations=2 * 1000**3, dtype="bfloat16"), "cpu")
    assert not [work for work in works if "(1000, 1000)" in work]


def test_without_memory_nothing_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    def full(*arguments: object, **named: object) -> None:
        raise torch.OutOfMemoryError

    monkeypatch.setattr(torch, "zeros", full)
    assert reachable_s(interface(1 << 20, 1 << 20), "cpu") == 0


def test_torch_really_moves_and_multiplies() -> None:
    assert 0 < reachable_s(interface(1 << 19, 1 << 19, operations=2 * 256**3), "cpu") < 10


def test_evidence_has_the_share_of_what_is_reachable() -> None:
    rate = fact(1, "hbm_bandwidth").model_copy(
        update={"value": "1", "number": 1.0, "unit": "TB/s", "condition": "per device"}
    )
    limit = bottleneck(2e-3, interface(1 << 20, 1 << 20), [rate], reachable_s=1.9e-3)

    assert limit
    assert limit.reached == limit.reachable == pytest.approx(0.95)
    faster = limit.model_copy(update={"reachable": 1.2})
    assert faster.reached == faster.memory < 0.1, "a kernel that is faster shows that more is possible"
