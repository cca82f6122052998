"""kb judges kernels for an unseen chip with the toolchain of its seed."""

import pytest

from benchmarks.unseen import kernels, toolchain
from benchmarks.unseen.chip import chip
from eval.oracle.task import load_task
from kb.settings import Settings
from kb.types.evidence import Grade, Outcome
from kb.types.kernels import Candidate
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.toolchains import load
from tests.eval.judging import needs_linux

SEED = 5
CHIP = chip(SEED)
TARGET = CHIP.names.chip.lower()


@pytest.fixture
def home(tmp_path):
    toolchain.write(SEED, tmp_path / "toolchains")
    with KnowledgeBase(Settings.load(tmp_path)) as kb:
        kb.target_tree.add(TARGET, parent="any")
    with KnowledgeBase(Settings.load(tmp_path)) as kb:
        yield kb


def verdict(home, task, source):
    candidate = Candidate(language=CHIP.names.language, source=source)
    return home.verify(load_task(toolchain.task_file(task)), candidate, TARGET)


@pytest.mark.parametrize("seed", range(5))
def test_the_file_of_each_seed_is_a_toolchain_whose_rules_name_no_instruction(seed, tmp_path):
    found = load(toolchain.write(seed, tmp_path))
    assert found.grade is Grade.SIMULATED
    assert not any(instruction.name in found.language.rules for instruction in chip(seed).instructions.values())


@needs_linux
@pytest.mark.slow
@pytest.mark.parametrize("task", kernels.KERNELS)
def test_the_judge_accepts_naive_and_expert_kernels(home, task):
    for write in (kernels.naive, kernels.expert):
        evidence = verdict(home, task, write(CHIP, task))
        assert evidence.passed, evidence.detail


@needs_linux
def test_the_example_passes_and_says_how_many_cycles_it_took(home):
    evidence = home.toolchains.check(TARGET)
    assert evidence.passed
    assert evidence.grade is Grade.SIMULATED
    assert "simulated cycles:" in evidence.log


@needs_linux
def test_a_fault_refuses_a_kernel_with_its_kind_and_line(home):
    evidence = verdict(home, "scaled-add", f"{CHIP.instructions[kernels.Op.WAIT].name} 0\n")
    assert evidence.outcome is Outcome.TIMED_OUT
    assert "deadlock" in evidence.detail
    assert "line 1" in evidence.detail
