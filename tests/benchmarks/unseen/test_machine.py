"""Time passes as the documents of an unseen chip say, and what a chip cannot do is a fault of its kind."""

from dataclasses import replace

import pytest

from benchmarks.unseen import machine
from benchmarks.unseen.chip import chip
from benchmarks.unseen.faults import Fault, FaultKind
from benchmarks.unseen.host import simulate
from benchmarks.unseen.instructions import Op
from tests.benchmarks.unseen.running import run_lines

CHIP = replace(chip(0), hazards=())
NAMES, COSTS = CHIP.names, CHIP.instructions
TRANSFERS, PAD = CHIP.transfers, CHIP.scratchpad


def s(number):
    return f"{NAMES.scalar_prefix}{number}"


def v(number):
    return f"{NAMES.vector_prefix}{number}"


def a(number):
    return f"{NAMES.accumulator_prefix}{number}"


def block(first, order, **fields):
    """Instructions that fill the registers of a transfer or product from number `first` on."""
    return [(Op.SET, s(first + place), fields[name]) for place, name in enumerate(order)]


def transfer(first=10, **fields):
    usual = {"near": 0, "far": 0, "count": 8, "rows": 1, "near_pitch": 8 * PAD.line_words, "far_pitch": 32}
    return block(first, TRANSFERS.order, **usual | fields)


def product(**fields):
    usual = {"left": 0, "right": 0, "left_pitch": 1, "right_pitch": 1, "depth": 1}
    return block(20, CHIP.matrix.order, **usual | fields)


FAULTS = {
    "a missing operand": (FaultKind.BAD_OPERAND, [(Op.ADD, s(0), s(0))]),
    "a label that is not there": (FaultKind.BAD_OPERAND, [(Op.BRANCH, s(0), 1, "nowhere")]),
    "a word after the argument table": (FaultKind.BAD_OPERAND, [(Op.ARGUMENT, s(0), 4)]),
    "a store with stride 0": (FaultKind.BAD_OPERAND, [(Op.STORE, v(0), s(0), 0)]),
    "rows that overlap": (FaultKind.BAD_OPERAND, [*transfer(rows=2, near_pitch=0), (Op.GET, s(10), 0)]),
    "a scalar register too many": (FaultKind.REGISTER_RANGE, [(Op.SET, s(CHIP.registers.scalar), 0)]),
    "a vector register too many": (FaultKind.REGISTER_RANGE, [(Op.FILL, v(CHIP.registers.vector), 0)]),
    "an accumulator too many": (FaultKind.REGISTER_RANGE, [(Op.CLEAR, a(CHIP.registers.accumulators))]),
    "a transfer in the last registers": (FaultKind.REGISTER_RANGE, [(Op.GET, s(CHIP.registers.scalar - 1), 0)]),
    "a load after the scratchpad": (
        FaultKind.SCRATCHPAD_OVERFLOW, [(Op.SET, s(0), PAD.words - 1), (Op.LOAD, v(0), s(0), 1)],
    ),
    "a store before the scratchpad": (
        FaultKind.SCRATCHPAD_OVERFLOW, [(Op.SET, s(0), -1), (Op.STORE, v(0), s(0), 1)],
    ),
    "a get after the scratchpad": (
        FaultKind.SCRATCHPAD_OVERFLOW, [*transfer(near=PAD.words - PAD.line_words, count=16), (Op.GET, s(10), 0)],
    ),
    "a get after the outer memory": (FaultKind.OUTER_RANGE, [*transfer(far=1 << 20), (Op.GET, s(10), 0)]),
    "a get beside a line": (FaultKind.MISALIGNED, [*transfer(near=1), (Op.GET, s(10), 0)]),
    "a get beside a word": (FaultKind.MISALIGNED, [*transfer(far=2), (Op.GET, s(10), 0)]),
    "too many rows": (FaultKind.LIMIT, [*transfer(rows=TRANSFERS.rows_most + 1), (Op.GET, s(10), 0)]),
    "a transfer of nothing": (FaultKind.LIMIT, [*transfer(count=0), (Op.GET, s(10), 0)]),
    "a token too many": (FaultKind.LIMIT, [*transfer(), (Op.GET, s(10), TRANSFERS.tokens)]),
    "a product that is too deep": (
        FaultKind.LIMIT, [*product(depth=CHIP.matrix.depth_most + 1), (Op.PRODUCT_FULL, a(0), s(20))],
    ),
    "a rotation that is too far": (FaultKind.LIMIT, [(Op.ROTATE, v(0), v(0), CHIP.vectors.rotate_most + 1)]),
    "a division by zero": (FaultKind.DIVISION, [(Op.DIVIDE, s(0), s(0), 0)]),
    "a load of what is being got": (FaultKind.RACE, [*transfer(), (Op.GET, s(10), 0), (Op.LOAD, v(0), s(0), 0)]),
    "a store to what is being put": (FaultKind.RACE, [*transfer(), (Op.PUT, s(10), 0), (Op.STORE, v(0), s(0), 1)]),
    "a product of what is being got": (
        FaultKind.RACE, [*transfer(), *product(), (Op.GET, s(10), 0), (Op.PRODUCT_FULL, a(0), s(20))],
    ),
    "a get of what is being put": (
        FaultKind.RACE, [*transfer(), *transfer(30, near=64 * PAD.line_words), (Op.PUT, s(10), 0), (Op.GET, s(30), 1)],
    ),
    "waiting for nothing": (FaultKind.DEADLOCK, [(Op.WAIT, 0)]),
}  # fmt: skip


@pytest.mark.parametrize("name", FAULTS)
def test_what_a_chip_cannot_do_is_a_fault_of_its_kind(name):
    kind, lines = FAULTS[name]
    with pytest.raises(Fault) as raised:
        run_lines(CHIP, *lines)
    assert (raised.value.kind, raised.value.line) == (kind, len(lines))


def test_an_instruction_of_another_chip_is_unknown():
    with pytest.raises(Fault, match="unknown instruction"):
        simulate(CHIP, chip(1).instructions[Op.FENCE].name, [], [], [])


def test_a_program_without_an_end_is_a_fault(monkeypatch):
    monkeypatch.setattr(machine, "MOST_STEPS", 1000)
    with pytest.raises(Fault, match="too many instructions"):
        simulate(CHIP, f"again:\n{COSTS[Op.BRANCH].name} {s(0)}, 1, again", [], [], [])


def test_each_kind_of_fault_has_a_test():
    others = {FaultKind.UNKNOWN_INSTRUCTION, FaultKind.RUNAWAY}
    assert {kind for kind, _ in FAULTS.values()} == set(FaultKind) - others


def cycles(*lines):
    return run_lines(CHIP, *lines).cycles


def test_an_instruction_waits_for_its_operands():
    add = COSTS[Op.VECTOR_ADD]
    chain = [(Op.FILL, v(0), 0), (Op.VECTOR_ADD, v(1), v(0), v(0)), (Op.VECTOR_ADD, v(2), v(1), v(1))]
    assert cycles(*chain) == COSTS[Op.FILL].latency + 2 * add.latency


def test_instructions_of_one_unit_wait_for_each_other_and_those_of_others_do_not():
    fill, power = COSTS[Op.FILL], COSTS[Op.EXPONENTIAL]
    independent = [(Op.EXPONENTIAL, v(number), v(9)) for number in range(4)]
    assert cycles(*independent) == 3 * power.busy + power.latency
    fills = [(Op.FILL, v(number), 0) for number in range(4, 6)]
    assert cycles(independent[0], *fills) == max(power.latency, power.issue + fill.issue + fill.latency)


def test_conflicts_of_banks_keep_the_port_busy():
    load = COSTS[Op.LOAD]
    conflict_free = [(Op.SET, s(0), 0), (Op.LOAD, v(0), s(0), 0)]
    one_bank = [(Op.SET, s(0), 0), (Op.LOAD, v(0), s(0), PAD.line_words * PAD.banks)]
    lanes = 8
    narrow = [(Op.LENGTH, lanes)]
    assert cycles(*narrow, *one_bank) - cycles(*narrow, *conflict_free) == (lanes - 1) * load.busy


def test_a_transfer_takes_its_startup_and_its_bursts():
    words = TRANSFERS.burst_bytes // 4
    one = cycles(*transfer(count=words // 2), (Op.GET, s(10), 0))
    two = cycles(*transfer(count=words + 1), (Op.GET, s(10), 0))
    rows = cycles(*transfer(count=1, rows=3, far_pitch=0), (Op.GET, s(10), 0))
    assert one == len(TRANSFERS.order) + TRANSFERS.startup_cycles + TRANSFERS.burst_cycles
    assert two - one == TRANSFERS.burst_cycles
    assert rows - one == 2 * TRANSFERS.burst_cycles


def test_engines_work_beside_each_other_and_one_after_the_other_takes_its_turn():
    far_apart = [*transfer(), *transfer(30, near=64 * PAD.line_words)]
    both = cycles(*far_apart, (Op.GET, s(10), 0), (Op.GET, s(30), 1))
    serial = cycles(*far_apart, (Op.GET, s(10), 0), (Op.GET, s(30), TRANSFERS.engines))
    assert serial - both > TRANSFERS.startup_cycles / 2


def test_a_full_queue_stops_the_issue():
    gets = [
        line
        for number in range(TRANSFERS.queue + 1)
        for line in (*transfer(near=8 * number * PAD.line_words), (Op.GET, s(10), 0))
    ]
    assert cycles(*gets) == cycles(*gets, *[(Op.SET, s(0), 0)] * (TRANSFERS.startup_cycles - 10))
    assert cycles(*gets[:-1]) < cycles(*gets[:-1], *[(Op.SET, s(0), 0)] * cycles(*gets[:-1]))
    issued_last = cycles(*gets, (Op.IDLE, cycles(*gets))) - cycles(*gets)
    assert issued_last > TRANSFERS.startup_cycles


def test_a_deeper_product_takes_more_steps():
    full, step = COSTS[Op.PRODUCT_FULL], CHIP.matrix.step
    shallow = cycles(*product(depth=step), (Op.CLEAR, a(0)), (Op.PRODUCT_FULL, a(0), s(20)))
    deep = cycles(*product(depth=step + 1), (Op.CLEAR, a(0)), (Op.PRODUCT_FULL, a(0), s(20)))
    assert deep - shallow == full.busy


def test_a_fence_waits_for_results_and_not_for_transfers():
    lines = [*transfer(), (Op.GET, s(10), 0), (Op.EXPONENTIAL, v(0), v(1)), (Op.FENCE,), (Op.FILL, v(2), 0)]
    assert cycles(*lines) == cycles(*lines[: len(transfer()) + 1])
