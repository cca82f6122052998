"""What the instructions of every chip do. Their names, costs and latencies are drawn for each chip."""

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """The parts of a chip that work beside each other. Each begins instructions in the order of the program."""

    SCALAR = "scalar"
    """Integer arithmetic, branches, waiting, and everything that no other unit does."""
    LANES = "lanes"
    """Vector arithmetic."""
    SPECIAL = "special"
    """Exponentials and inverse roots of vectors."""
    CROSS = "cross"
    """Operations across the lanes of a vector."""
    PORT = "port"
    """Moves vectors between registers and the scratchpad."""
    MATRIX = "matrix"
    ENGINES = "engines"
    """The DMA engines, which move data between the outer memory and the scratchpad."""


class Operand(StrEnum):
    """What may stand at one place of an instruction."""

    SCALAR = "a scalar register"
    VALUE = "a scalar register or a number"
    NUMBER = "a number"
    TRANSFER = "the first of the consecutive scalar registers that describe a transfer"
    PRODUCT = "the first of the consecutive scalar registers that describe a product"
    VECTOR = "a vector register"
    ACCUMULATOR = "an accumulator"
    LABEL = "a label"


class Op(StrEnum):
    """What an instruction does. Names of these never appear in a chip's documents."""

    SET = "set"
    ARGUMENT = "argument"
    ADD = "add"
    MULTIPLY = "multiply"
    DIVIDE = "divide"
    MINIMUM = "minimum"
    BRANCH = "branch"
    IDLE = "idle"
    FENCE = "fence"
    GET = "get"
    GET_HALF = "get_half"
    PUT = "put"
    PUT_HALF = "put_half"
    WAIT = "wait"
    LENGTH = "length"
    LOAD = "load"
    STORE = "store"
    LOAD_INDEXED = "load_indexed"
    FILL = "fill"
    FILL_INTEGER = "fill_integer"
    VECTOR_ADD = "vector_add"
    VECTOR_SUBTRACT = "vector_subtract"
    VECTOR_MULTIPLY = "vector_multiply"
    MULTIPLY_ADD = "multiply_add"
    VECTOR_MAXIMUM = "vector_maximum"
    EXPONENTIAL = "exponential"
    INVERSE_ROOT = "inverse_root"
    SUM = "sum"
    GREATEST = "greatest"
    ROTATE = "rotate"
    CLEAR = "clear"
    PRODUCT_NARROW = "product_narrow"
    PRODUCT_FULL = "product_full"
    DRAIN = "drain"


@dataclass(frozen=True)
class Form:
    """What the instruction of an operation is on every chip."""

    unit: Unit
    operands: tuple[Operand, ...]
    """The destination, if there is one, comes first."""
    issue: tuple[int, ...]
    """The cycles after which the next instruction may issue: one of these, as is each of the following."""
    busy: tuple[int, ...]
    """The cycles for which the unit begins nothing else."""
    latency: tuple[int, ...]
    """The cycles after which the result is there."""
    meaning: str
    """In words, where d, a and b are the operands in order."""


_S, _X, _N, _V, _A = Operand.SCALAR, Operand.VALUE, Operand.NUMBER, Operand.VECTOR, Operand.ACCUMULATOR
_ONE = (1,)
_SLOW = (2, 3)

FORMS: dict[Op, Form] = {
    Op.SET: Form(Unit.SCALAR, (_S, _N), _ONE, _ONE, _ONE,
        "d = the number a. A number with a decimal point becomes the 32 bits of that float32."),
    Op.ARGUMENT: Form(Unit.SCALAR, (_S, _N), (1, 2), _ONE, (2, 4, 6, 8),
        "d = word number a of the argument table, counted from 0."),
    Op.ADD: Form(Unit.SCALAR, (_S, _S, _X), _ONE, _ONE, _ONE, "d = a + b. Scalars are signed integers of 32 bits."),
    Op.MULTIPLY: Form(Unit.SCALAR, (_S, _S, _X), _ONE, _ONE, (2, 3, 4), "d = a * b."),
    Op.DIVIDE: Form(Unit.SCALAR, (_S, _S, _X), _ONE, (4, 6, 8), (8, 10, 14, 18),
        "d = a / b, rounded down. A division by zero is a fault."),
    Op.MINIMUM: Form(Unit.SCALAR, (_S, _S, _X), _ONE, _ONE, _ONE, "d = the smaller of a and b."),
    Op.BRANCH: Form(Unit.SCALAR, (_S, _X, Operand.LABEL), (2, 3, 4, 5), _ONE, _ONE,
        "Continues at the label if the first operand is less than the second."),
    Op.IDLE: Form(Unit.SCALAR, (_N,), _ONE, _ONE, _ONE, "Issues nothing for this number of cycles, at least 1."),
    Op.FENCE: Form(Unit.SCALAR, (), (2, 3, 4), _ONE, _ONE,
        "Waits until the results of all earlier instructions are in registers, accumulators and scratchpad. It does "
        "not wait for transfers."),
    Op.GET: Form(Unit.ENGINES, (Operand.TRANSFER, _X), _SLOW, _ONE, _ONE,
        "Begins a transfer of words of 4 bytes from the outer memory to the scratchpad, with the token b."),
    Op.GET_HALF: Form(Unit.ENGINES, (Operand.TRANSFER, _X), _SLOW, _ONE, _ONE,
        "As the transfer of words, but reads float16 of 2 bytes and writes each as a float32 of one word."),
    Op.PUT: Form(Unit.ENGINES, (Operand.TRANSFER, _X), _SLOW, _ONE, _ONE,
        "Begins a transfer of words of 4 bytes from the scratchpad to the outer memory, with the token b."),
    Op.PUT_HALF: Form(Unit.ENGINES, (Operand.TRANSFER, _X), _SLOW, _ONE, _ONE,
        "As the transfer of words, but rounds each float32 to a float16 of 2 bytes, to nearest, ties to even."),
    Op.WAIT: Form(Unit.SCALAR, (_X,), _ONE, _ONE, _ONE,
        "Waits until all transfers with this token are done. Waiting for a token that no transfer has had never ends."),
    Op.LENGTH: Form(Unit.SCALAR, (_X,), _ONE, _ONE, _ONE,
        "Makes the first n lanes active, where n is the operand, but at most the number of lanes. All other vector "
        "instructions write active lanes only. At the start of a program all lanes are active."),
    Op.LOAD: Form(Unit.PORT, (_V, _S, _X), _ONE, _ONE, (4, 5, 6, 8, 10),
        "Lane i of d = the word at address a + i * b of the scratchpad. With a stride b of 0 all get the same word."),
    Op.STORE: Form(Unit.PORT, (_V, _S, _X), _ONE, _ONE, (2, 3, 4),
        "The word at address a + i * b of the scratchpad = lane i of the vector register. The stride b is not 0."),
    Op.LOAD_INDEXED: Form(Unit.PORT, (_V, _S, _V), _SLOW, _ONE, (6, 8, 10, 12),
        "Lane i of d = the word at address a + lane i of b, where the lanes of b hold integers of 32 bits."),
    Op.FILL: Form(Unit.LANES, (_V, _X), _ONE, _ONE, (2, 3, 4), "Each lane of d = the 32 bits of a."),
    Op.FILL_INTEGER: Form(Unit.LANES, (_V, _X), _ONE, _ONE, (3, 4, 5), "Each lane of d = the integer a as a float32."),
    Op.VECTOR_ADD: Form(Unit.LANES, (_V, _V, _V), _ONE, (1, 2), (3, 4, 5, 6), "d = a + b in each lane."),
    Op.VECTOR_SUBTRACT: Form(Unit.LANES, (_V, _V, _V), _ONE, (1, 2), (3, 4, 5, 6), "d = a - b in each lane."),
    Op.VECTOR_MULTIPLY: Form(Unit.LANES, (_V, _V, _V), _ONE, (1, 2), (4, 5, 6, 7), "d = a * b in each lane."),
    Op.MULTIPLY_ADD: Form(Unit.LANES, (_V, _V, _V), _ONE, (1, 2), (4, 5, 6, 8),
        "d = d + a * b in each lane; the product and the sum are rounded one after the other."),
    Op.VECTOR_MAXIMUM: Form(Unit.LANES, (_V, _V, _V), _ONE, _ONE, (2, 3, 4), "d = the larger of a and b in each lane."),
    Op.EXPONENTIAL: Form(Unit.SPECIAL, (_V, _V), _ONE, (3, 4, 5, 6, 8), (10, 12, 14, 18, 22),
        "d = the power of the chip's base with the exponent a, in each lane."),
    Op.INVERSE_ROOT: Form(Unit.SPECIAL, (_V, _V), _ONE, (3, 4, 5, 6, 8), (10, 12, 14, 18, 22),
        "d = 1 / the square root of a in each lane. There is no division of vectors."),
    Op.SUM: Form(Unit.CROSS, (_V, _V), _ONE, (2, 3, 4), (6, 8, 9, 11, 12),
        "One lane of each group of d = the sum of that group of a, added in the order of the lanes."),
    Op.GREATEST: Form(Unit.CROSS, (_V, _V), _ONE, (2, 3, 4), (6, 8, 9, 11, 12),
        "One lane of each group of d = the largest value of that group of a."),
    Op.ROTATE: Form(Unit.CROSS, (_V, _V, _N), _ONE, (1, 2), (4, 5, 6, 7),
        "Lane i of d = lane i + b of a; the lanes after the last are the first again. It reads inactive lanes, too."),
    Op.CLEAR: Form(Unit.MATRIX, (_A,), _ONE, (1, 2), (2, 3), "All elements of the accumulator = 0."),
    Op.PRODUCT_NARROW: Form(Unit.MATRIX, (_A, Operand.PRODUCT), _SLOW, (1, 2), (8, 10, 12, 16),
        "Adds the product of two matrices in the scratchpad to the accumulator, after rounding their elements to fewer "
        "bits, to nearest, ties to even. Products and sums are those of float32, in the order of the depth."),
    Op.PRODUCT_FULL: Form(Unit.MATRIX, (_A, Operand.PRODUCT), _SLOW, (3, 4, 5), (10, 12, 14, 18),
        "Adds the product of two matrices in the scratchpad to the accumulator, in float32 and in the order "
        "of the depth."),
    Op.DRAIN: Form(Unit.MATRIX, (_A, _S, _X), _SLOW, (6, 8, 10, 12), (14, 16, 20),
        "Writes all rows of the accumulator to the scratchpad: the first at address a, and each b words after the one "
        "before."),
}  # fmt: skip
