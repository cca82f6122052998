"""Kernels for unseen chips: both are right on all tasks, the expert's is fast, and no hazard may be ignored."""

from dataclasses import replace

import pytest

from benchmarks.unseen import kernels
from benchmarks.unseen.bound import least_cycles
from benchmarks.unseen.chip import TIMED, Hazard, HazardKind, chip
from benchmarks.unseen.faults import Fault
from benchmarks.unseen.kernels import KERNELS
from benchmarks.unseen.toolchain import TASKS
from tests.benchmarks.unseen.running import run_task, shapes_of

FEW, MANY = (0, 1, 2), range(200)
FASTER, TASKS_FASTER = 2.0, 7
seeds = pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY if seed not in FEW)]
)
ENDANGERED = {
    HazardKind.BRANCH_SLOT: "scaled-add",
    HazardKind.LENGTH_SLOT: "softmax",
    HazardKind.LOAD_SHADOW: "scaled-add",
    HazardKind.CROSS_SHADOW: "row-sum",
    HazardKind.SPECIAL_SHADOW: "softmax",
    HazardKind.LATE_PRODUCT: "matmul",
    HazardKind.STALE_LOAD: "softmax",
    HazardKind.STALE_PUT: "scaled-add",
    HazardKind.LATE_GET: "scaled-add",
}
"""A task for whose kernels a hazard matters."""


def test_every_task_has_kernels_and_every_hazard_a_task():
    assert {file.stem.replace("_", "-") for file in TASKS.glob("*.py")} == set(KERNELS)
    assert set(ENDANGERED) == set(HazardKind)


@seeds
def test_naive_and_expert_kernels_are_right_and_most_experts_much_faster(seed):
    found, faster = chip(seed), 0
    for task in KERNELS:
        cycles = {}
        for write in (kernels.naive, kernels.expert):
            right, cycles[write] = run_task(found, task, write(found, task))
            assert right, (task, write.__name__)
        inputs, output, size = shapes_of(task)
        assert least_cycles(found, task, inputs, output, element_bytes=size) <= cycles[kernels.expert], task
        faster += cycles[kernels.naive] >= FASTER * cycles[kernels.expert]
    assert faster >= TASKS_FASTER


@seeds
def test_who_ignores_a_hazard_of_the_chip_is_wrong(seed):
    for hazard in chip(seed).hazards:
        assert _wrong_without_care(seed, hazard), hazard


@pytest.mark.parametrize("kind", HazardKind)
def test_who_ignores_a_hazard_is_wrong(kind):
    assert _wrong_without_care(0, Hazard(kind, TIMED.get(kind, (0,))[0], in_errata_only=False))


def _wrong_without_care(seed, hazard):
    """Whether a kernel is wrong that ignores a hazard, and right if it does not, on a chip with this hazard alone."""
    alone, task = replace(chip(seed), hazards=(hazard,)), ENDANGERED[hazard.kind]
    write = kernels.expert if hazard.kind is HazardKind.LATE_PRODUCT else kernels.naive
    assert run_task(alone, task, write(alone, task))[0]
    try:
        return not run_task(alone, task, write(alone, task, ignoring=[hazard.kind]))[0]
    except Fault:
        return True


@seeds
def test_who_trusts_a_misprint_of_a_limit_or_rule_is_wrong_or_slower_somewhere(seed):
    found = chip(seed)
    erratum = found.errata[0]
    believed = replace(
        found, **{erratum.part: replace(getattr(found, erratum.part), **{erratum.name: erratum.printed})}
    )
    verdicts = []
    for task in KERNELS:
        truth = run_task(found, task, kernels.expert(found, task))
        try:
            verdicts.append(run_task(found, task, kernels.expert(believed, task)) != truth)
        except Fault:
            verdicts.append(True)
    assert any(verdicts)
