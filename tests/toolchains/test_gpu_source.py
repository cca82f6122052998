"""CUDA C++ and HIP, compiled for GPUs that are not here and held against their cited limits. Nothing runs."""

import re
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

import pytest

import kb as knowledge
from eval.oracle.task import load_task
from kb.errors import JudgeError
from kb.types.evidence import Evidence, Finding, Grade, Outcome
from kb.types.kernels import Candidate
from kb.types.target import Isa
from kb.usecases.toolchains import SHIPPED, load
from kb.views.verdicts import verdict
from tests.eval.screen.sheets import facts_of_chip
from tests.toolchains.judging import HERE, OPERATIONS, judged, needs

CHIPS = {
    "sm_90a": ("nvcc", "cuda 90 32", "h200"),
    "sm_100a": ("nvcc", "cuda 100 32", "b200"),
    "sm_103a": ("nvcc", "cuda 103 32", None),
    "sm_120a": ("nvcc", "cuda 120 32", None),
    "gfx942": ("hip-zig", "hip gfx942 64", "mi300x"),
    "gfx950": ("hip-zig", "hip gfx950 64", "mi355x"),
    "gfx1201": ("hip-zig", "hip gfx1201 32", None),
}
"""Toolchain, ISA and, if a sheet ships for one, a chip."""
DOCUMENTED = [name for name, (*_, sheet) in CHIPS.items() if sheet]
Judge = Callable[[str, str], Evidence]

pytestmark = pytest.mark.toolchains


def of_chips(names: list[str]) -> pytest.MarkDecorator:
    marked = [pytest.param(name, marks=needs(CHIPS[name][0])) for name in names]
    return pytest.mark.parametrize("chip", marked, indirect=True)


@pytest.fixture(scope="module")
def chip(request: pytest.FixtureRequest) -> Iterator[Judge]:
    """Judges one of the files beside this test for a chip, on a task."""
    toolchain, isa, sheet = CHIPS[request.param]
    folder = HERE / isa.split()[0]
    suffix = ".cu" if toolchain == "nvcc" else ".hip"
    facts = tuple(facts_of_chip(sheet)) if sheet else ()
    with judged(toolchain, isa=Isa.parse(isa), facts=facts) as judge:
        yield cache(lambda file, task="row_sum": judge(task, folder / f"{file}{suffix}"))


def finding(evidence: Evidence, check: str) -> Finding:
    return next(f for screen in evidence.screen for f in screen.findings if f.check == check)


@of_chips(list(CHIPS))
@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_right_kernel_is_built_and_its_needs_are_known(chip: Judge, operation: str) -> None:
    evidence = chip(operation, operation)

    assert evidence.passed, evidence
    assert (evidence.grade, evidence.cases, evidence.timing) == (Grade.COMPILED, (), None)
    [screen] = evidence.screen
    assert 0 < screen.registers < 128
    assert screen.spills == 0
    assert screen.num_warps
    assert any(name.startswith(("LDG", "global_load")) for name in screen.memory_instructions)


@of_chips(["sm_90a"])
def test_what_a_candidate_prints_in_the_compiler_s_name_counts_for_nothing(chip: Judge) -> None:
    assert "scratchpad 512 B" in finding(chip("says_less", "row_sum"), "scratchpad").message


@of_chips(DOCUMENTED)
def test_each_limit_that_documents_state_is_cited(chip: Judge) -> None:
    found = {f.check: f for screen in chip("row_sum").screen for f in screen.findings}

    for check in ("scratchpad", "workgroup size", "registers", "occupancy"):
        assert found[check].state == "ok", found[check]
        assert found[check].citation
    assert "scratchpad 512 B" in found["scratchpad"].message


@of_chips(list(CHIPS))
def test_a_wrong_kernel_is_built_and_not_called_correct(chip: Judge) -> None:
    evidence = chip("wrong")

    assert evidence.passed
    assert not evidence.won
    assert "whether its results are correct is not known" in evidence.detail
    assert "whether it is correct is unknown" in verdict(evidence).summary


@of_chips(list(CHIPS))
def test_static_scratchpad_over_the_chips_is_over_the_limit(chip: Judge) -> None:
    evidence = chip("over_memory")

    assert evidence.outcome is Outcome.OVER_LIMIT, evidence
    assert evidence.grade is None


@of_chips(DOCUMENTED)
def test_the_limit_of_the_scratchpad_is_cited(chip: Judge) -> None:
    assert "[kb cite lds_size, per workgroup" in chip("over_memory").detail


@of_chips(["sm_90a", "sm_100a"])
def test_a_workgroup_over_the_chips_is_over_the_cited_limit(chip: Judge) -> None:
    """clang makes a larger one the largest, and says nothing."""
    evidence = chip("over_workgroup")

    assert evidence.outcome is Outcome.OVER_LIMIT, evidence
    assert "workgroup size 2,048 > 1,024" in evidence.detail
    assert finding(evidence, "workgroup size").citation


@pytest.mark.parametrize(
    ("chip", "file", "instruction"),
    [
        pytest.param(name, file, instruction, marks=needs(CHIPS[name][0]))
        for name, file, instruction in (
            ("sm_90a", "wgmma", "HGMMA.64x8x16.F32"),
            ("sm_90a", "wmma", "HMMA.16816.F32"),
            ("sm_100a", "wmma", "HMMA.16816.F32"),
            ("sm_103a", "wmma", "HMMA.16816.F32"),
            ("sm_120a", "wmma", "HMMA.16816.F32"),
            ("gfx942", "mfma_fp8", "v_mfma_f32_16x16x32_fp8_fp8"),
            ("gfx942", "mfma_xf32", "v_mfma_f32_16x16x8_xf32"),
            ("gfx950", "mfma_fp8", "v_mfma_f32_16x16x32_fp8_fp8"),
            ("gfx950", "mfma_scale", "v_mfma_f32_16x16x128_f8f6f4"),
            ("gfx1201", "wmma", "v_wmma_f32_16x16x16_f16"),
        )
    ],
    indirect=["chip"],
)
def test_matrix_instructions_are_counted(chip: Judge, file: str, instruction: str) -> None:
    evidence = chip(file)

    assert evidence.passed, evidence
    assert instruction in evidence.screen[0].matrix_instructions
    assert finding(evidence, "matrix").state == "ok"


@pytest.mark.parametrize(
    ("chip", "file", "said"),
    [
        pytest.param(name, file, said, marks=needs(CHIPS[name][0]))
        for name, file, said in (
            ("sm_90a", "tcgen05", "Instruction 'tcgen05.alloc' not supported"),
            ("sm_120a", "tcgen05", "Instruction 'tcgen05.alloc' not supported"),
            ("sm_100a", "wgmma", "wgmma"),
            ("sm_103a", "wgmma", "wgmma"),
            ("gfx942", "mfma_scale", "needs target feature gfx950-insts"),
            ("gfx942", "mfma_assembly", "instruction not supported on this GPU"),
            ("gfx950", "mfma_xf32", "Cannot select: intrinsic %llvm.amdgcn.mfma.f32.16x16x8.xf32"),
            ("gfx1201", "mfma_fp8", "needs target feature fp8-insts"),
        )
    ],
    indirect=["chip"],
)
def test_an_instruction_that_the_chip_lacks_is_unsupported(chip: Judge, file: str, said: str) -> None:
    evidence = chip(file)

    assert evidence.outcome is Outcome.UNSUPPORTED, evidence
    assert said in evidence.detail


@of_chips(["sm_100a", "sm_103a"])
def test_an_instruction_that_the_chip_has_is_built(chip: Judge) -> None:
    assert chip("tcgen05").passed


@of_chips(list(CHIPS))
@pytest.mark.parametrize("file", ["cheat_host", "cheat_nowhere"])
def test_a_file_of_which_nothing_can_come_from_the_gpu_is_refused(chip: Judge, file: str) -> None:
    assert chip(file).outcome is Outcome.NO_KERNEL


@of_chips(["sm_90a"])
def test_the_vendors_library_is_not_there(chip: Judge) -> None:
    assert chip("library").outcome is Outcome.COMPILE_ERROR


@of_chips(list(CHIPS))
def test_a_file_without_model_new_is_refused(chip: Judge) -> None:
    evidence = chip("no_model_new")

    assert evidence.outcome is Outcome.COMPILE_ERROR
    assert "model_new" in evidence.detail


@of_chips(["gfx942", "gfx950", "gfx1201"])
def test_each_name_that_the_rules_promise_is_there(chip: Judge) -> None:
    rules = load(SHIPPED / "hip-zig.toml").language.rules.partition("No other header")[0]
    source = (HERE / "hip" / "names.hip").read_text()
    promised = set(re.findall(r"`(\w+)`", rules))

    assert chip("names").passed
    assert len(promised) > 30
    assert all(re.search(rf"\b{name}\b", source) for name in promised)


@of_chips(list(CHIPS))
def test_spills_are_counted_and_warn(chip: Judge) -> None:
    evidence = chip("spills")

    assert evidence.passed, evidence
    assert evidence.screen[0].spills > 100
    assert finding(evidence, "spills").state == "warn"


@of_chips(["sm_90a", "sm_120a"])
def test_what_only_the_launch_states_is_unknown(chip: Judge) -> None:
    evidence = chip("unstated")

    assert evidence.passed, evidence
    assert [finding(evidence, check).state for check in ("scratchpad", "workgroup size", "occupancy")] == [
        "unknown"
    ] * 3
    assert evidence.screen[0].num_warps is None


@pytest.mark.parametrize("target", ["b200", "b300", "mi355x", "gfx1201"])
def test_triton_stays_the_usual_language_and_the_suffix_chooses_the_other(tmp_path: Path, target: str) -> None:
    with knowledge.open(tmp_path) as kb:
        judges = kb.toolchains.judges(target)

    assert next(iter(judges)) == "triton"
    assert judges["cuda"].suffixes == (".cu", ".hip")


@pytest.mark.parametrize(
    "family", [pytest.param("blackwell", marks=needs("nvcc")), pytest.param("cdna", marks=needs("hip-zig"))]
)
def test_for_a_family_of_chips_nothing_is_compiled(tmp_path: Path, family: str) -> None:
    task, candidate = load_task(HERE / "tasks" / "row_sum.py"), Candidate(language="cuda", source="")
    with knowledge.open(tmp_path) as kb, pytest.raises(JudgeError, match=f"compilers have no name for {family}"):
        kb.verify(task, candidate, family)
