"""C++ for chips of another architecture, compiled by zig and run in an emulator at several vector lengths."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kb.types.evidence import Evidence, Grade, Outcome
from tests.eval.judging import needs_sandbox
from tests.toolchains.judging import HERE, OPERATIONS, judged, needs

CHIPS = {"riscv": "riscv-zig", "arm": "arm-zig"}
REFUSED = {
    "wrong": (Outcome.INCORRECT, "elements are wrong"),
    "over_memory": (Outcome.OVER_LIMIT, "bad_alloc"),
    "unsupported": (Outcome.UNSUPPORTED, "instruction requires"),
    "cheat_nowhere": (Outcome.INCORRECT, "elements are wrong"),
}

pytestmark = pytest.mark.toolchains


@pytest.fixture(scope="module", params=[pytest.param(chip, marks=needs(CHIPS[chip])) for chip in CHIPS])
def chip(request: pytest.FixtureRequest) -> Iterator[tuple[Path, Callable[[str, Path], Evidence]]]:
    with judged(CHIPS[request.param]) as judge:
        yield HERE / request.param, judge


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_right_kernel_passes_at_each_vector_length(chip, operation: str) -> None:
    folder, judge = chip
    evidence = judge(operation, folder / f"{operation}.cpp")

    assert evidence.passed, evidence
    assert evidence.grade is Grade.SIMULATED
    assert evidence.timing is None


@pytest.mark.parametrize("name", REFUSED)
def test_a_mistake_is_refused_with_its_own_outcome(chip, name: str) -> None:
    folder, judge = chip
    outcome, said = REFUSED[name]
    evidence = judge("row_sum", folder / f"{name}.cpp")

    assert evidence.outcome is outcome, evidence
    assert said in evidence.detail


@needs_sandbox
def test_the_host_cannot_do_the_work(chip) -> None:
    folder, judge = chip

    assert not judge("row_sum", folder / "cheat_host.cpp").passed
