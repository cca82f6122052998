"""The machine computes as a second implementation does: to the bit, but for exponentials and roots."""

import math
import random
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.unseen.builder import Builder, Shape
from benchmarks.unseen.chip import chip
from benchmarks.unseen.host import simulate
from benchmarks.unseen.instructions import Op
from benchmarks.unseen.schedule import Stream, described, resident
from benchmarks.unseen.scratchpad import ScratchpadMemory
from tests.benchmarks.unseen import arithmetic
from tests.benchmarks.unseen.arithmetic import single
from tests.benchmarks.unseen.running import run_vectors

SEEDS = range(8)
LANEWISE = {
    Op.VECTOR_ADD: lambda _, a, b: single(a + b),
    Op.VECTOR_SUBTRACT: lambda _, a, b: single(a - b),
    Op.VECTOR_MULTIPLY: lambda _, a, b: single(a * b),
    Op.VECTOR_MAXIMUM: lambda _, a, b: max(a, b),
    Op.MULTIPLY_ADD: arithmetic.multiply_add,
}


def drawn(dice, count):
    return [single(dice.uniform(-1, 1) * 2.0 ** dice.randint(-6, 6)) for _ in range(count)]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", LANEWISE)
def test_arithmetic_of_vectors_is_rounded_as_float32_and_leaves_inactive_lanes(op, seed):
    found, dice = chip(seed), random.Random(seed)
    d, a, b = (drawn(dice, found.vectors.lanes) for _ in range(3))
    active = dice.randint(1, found.vectors.lanes)
    output = run_vectors(found, lambda builder, to, others: builder.emit(op, to, *others), d, a, b, active=active)
    expected = [LANEWISE[op](*lane) for lane in zip(d, a, b, strict=True)]
    assert output.tolist() == expected[:active] + d[active:]


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", [Op.SUM, Op.GREATEST])
def test_groups_are_reduced_by_the_rules_for_inactive_lanes_and_for_the_lane_of_the_result(op, seed):
    found, dice = chip(seed), random.Random(seed)
    d, a = (drawn(dice, found.vectors.lanes) for _ in range(2))
    active = dice.randint(1, found.vectors.lanes)
    output = run_vectors(found, lambda b, to, others: b.emit(op, to, *others), d, a, active=active)
    assert output.tolist() == arithmetic.reduced(found, d, a, active, total=op is Op.SUM)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_rotation_brings_lanes_down_and_the_first_to_the_end(seed):
    found, dice = chip(seed), random.Random(seed)
    d, a = (drawn(dice, found.vectors.lanes) for _ in range(2))
    by = dice.randint(1, min(found.vectors.rotate_most, found.vectors.lanes - 1))
    output = run_vectors(found, lambda b, to, others: b.emit(Op.ROTATE, to, *others, by), d, a)
    assert output.tolist() == a[by:] + a[:by]


@pytest.mark.parametrize("seed", SEEDS)
def test_exponentials_and_inverse_roots_are_within_some_roundings(seed):
    found, dice = chip(seed), random.Random(seed)
    a = [abs(value) for value in drawn(dice, found.vectors.lanes)]
    powers = run_vectors(found, lambda b, to, others: b.emit(Op.EXPONENTIAL, to, *others), a, a)
    roots = run_vectors(found, lambda b, to, others: b.emit(Op.INVERSE_ROOT, to, *others), a, a)
    assert powers.tolist() == pytest.approx([arithmetic.power(found, value) for value in a], rel=1e-6)
    assert roots.tolist() == pytest.approx([1 / math.sqrt(value) for value in a], rel=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_a_load_treats_inactive_lanes_by_its_rule(seed):
    found, dice = chip(seed), random.Random(seed)
    d = drawn(dice, found.vectors.lanes)
    active = found.vectors.lanes // 2

    def load(b, to, _):
        b.emit(Op.LOAD, to, b.number(0), 0)

    output = run_vectors(found, load, d, active=active).tolist()
    rest = [0.0] * (len(d) - active) if found.vectors.load_clears else d[active:]
    assert output == [d[0]] * active + rest  # the first input is resident at address 0


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("op", [Op.PRODUCT_NARROW, Op.PRODUCT_FULL])
def test_products_add_in_the_order_of_the_depth_after_rounding_if_they_are_narrow(op, seed):
    found, dice = chip(seed), random.Random(seed)
    shape = found.matrix
    depth = dice.randint(1, shape.depth_most)
    left = [drawn(dice, depth) for _ in range(shape.rows)]
    right = [drawn(dice, shape.columns) for _ in range(depth)]
    output = _product(found, op, left, right)
    if op is Op.PRODUCT_NARROW:
        left, right = (
            [[arithmetic.narrow(v, shape.narrow_bits) for v in row] for row in rows] for rows in (left, right)
        )
    assert output.tolist() == arithmetic.product(left, right)


def _product(found, op, left, right):
    b = Builder(found, Shape((2, 2), (2,)))
    columns, rows = b.size(1, 1), b.size(0, 0)
    block = b.block(found.matrix.order)
    for number, name in enumerate(("left", "right")):
        count, height = b.size(number, 1), b.size(number, 0)
        address, pitch = resident(b, Stream(number, count), height, 2000)
        b.copy(block[name], address)
        b.copy(block[f"{name}_pitch"], pitch)
    b.copy(block["depth"], b.size(0, 1))
    accumulator = b.accumulator(1)
    b.emit(Op.CLEAR, accumulator)
    b.product(op, accumulator, block)
    put = described(b, Stream(2, columns))
    b.emit(Op.SET, put["near"], b.memory(2000))
    b.copy(put["rows"], rows)
    b.emit(Op.DRAIN, accumulator, put["near"], put["near_pitch"])
    b.transfer(Op.PUT, put, 0)
    tensors = [np.array(rows, np.float32) for rows in (left, right)]
    return simulate(found, b.text(), tensors, [], [((len(left), len(right[0])), "float32")]).outputs[0]


@pytest.mark.parametrize("seed", SEEDS)
def test_half_transfers_round_to_float16_and_back(seed):
    found, dice = chip(seed), random.Random(seed)
    values = drawn(dice, 37)
    b = Builder(found, Shape((1,), (1,)))
    count, one = b.size(0, 0), b.number(1)
    address, _ = resident(b, Stream(0, count), one, 64)
    put = described(b, Stream(1, count, half=True))
    b.copy(put["near"], address)
    b.copy(put["rows"], one)
    b.transfer(Op.PUT_HALF, put, 1)
    output = simulate(found, b.text(), [np.array(values, np.float32)], [], [((37,), "float16")]).outputs[0]
    assert output.tolist() == [arithmetic.half(value) for value in values]


@pytest.mark.parametrize("seed", SEEDS)
def test_conflicts_are_the_lines_of_the_busiest_bank(seed):
    found, dice = chip(seed), random.Random(seed)
    pad = ScratchpadMemory(found)
    for _ in range(50):
        first, stride, count = dice.randint(0, 500), dice.randint(0, 60), dice.randint(1, found.vectors.lanes)
        addresses = [first + stride * lane for lane in range(count)]
        assert pad.conflict_cycles(first, stride, count) == arithmetic.conflict_cycles(found, addresses)


def test_a_narrow_product_is_exact_for_float16():
    found = replace(chip(0), hazards=())
    dice = random.Random(0)
    for _ in range(1000):
        value = arithmetic.half(dice.uniform(-100, 100))
        assert arithmetic.narrow(value, found.matrix.narrow_bits) == value
