"""What the documents say that each instruction does; d, a and b are its operands.

For the signs see `Wording.say`; between « and » stands what tells the instruction from others.
"""

from benchmarks.unseen.instructions import FORMS, Op, Operand

_BOTH = ("d", "a", "b")
OPERANDS: dict[Op, tuple[str, ...]] = {
    Op.BRANCH: ("a", "b", "label"),
    Op.IDLE: ("n",),
    Op.WAIT: ("a",),
    Op.LENGTH: ("n",),
    **dict.fromkeys((Op.GET, Op.GET_HALF, Op.PUT, Op.PUT_HALF), ("a", "b")),
    Op.STORE: ("c", "a", "b"),
    Op.DRAIN: ("c", "a", "b"),
    Op.CLEAR: ("d",),
}
"""The names of operands where they are not d, a and b."""
KINDS: dict[Operand, str] = {
    Operand.SCALAR: "a scalar register",
    Operand.VALUE: "a scalar register or a number",
    Operand.NUMBER: "a number",
    Operand.TRANSFER: "the first of the {transfer_registers} scalar registers that describe a transfer",
    Operand.PRODUCT: "the first of the {product_registers} scalar registers that describe a product",
    Operand.VECTOR: "a vector register",
    Operand.ACCUMULATOR: "[an accumulator|a `{accumulator}`]",
    Operand.LABEL: "a label",
}
MEANINGS: dict[Op, str] = {
    Op.SET: "[Puts the number a into d|d becomes the number a]. A number with a decimal point becomes the 32 bits of "
    "that float32.",
    Op.ARGUMENT: "[Reads|Puts] word a of `{argument_table}`, counted from 0, into d.",
    Op.ADD: "[Adds a and b into d|d = a + b]. Scalars are signed integers of 32 bits.",
    Op.MULTIPLY: "[Multiplies a by b into d|d = a * b].",
    Op.DIVIDE: "[Divides a by b and rounds down|d = a / b, rounded down]. A division by zero is a fault.",
    Op.MINIMUM: "[d becomes the smaller of a and b|Puts the lesser of a and b into d].",
    Op.BRANCH: "[Jumps to|Continues at] the label if a is less than b.",
    Op.IDLE: "[Issues nothing|Idles] for n <cycles>, at least 1.",
    Op.FENCE: "Waits until the results of all earlier instructions are in registers, accumulators and `{scratchpad}`. "
    "It [does not wait|never waits] for transfers.",
    Op.GET: "[Begins|Starts] a transfer of words of 4 bytes from `{outer}` to `{scratchpad}`, with the `{token}` b.",
    Op.GET_HALF: "[Like|As] `{get}`, but [reads|it reads] «float16 of 2 bytes» from `{outer}` and writes each as a "
    "float32 of one word.",
    Op.PUT: "[Begins|Starts] a transfer of words of 4 bytes from `{scratchpad}` to `{outer}`, with the `{token}` b.",
    Op.PUT_HALF: "[Like|As] `{put}`, but rounds each float32 to a float16 of 2 bytes in `{outer}`, to nearest, ties to "
    "even.",
    Op.WAIT: "[Waits|Halts] until all transfers with the `{token}` a are done. [Waiting for one that no transfer has "
    "had|A wait for one that was never given to a transfer] never ends.",
    Op.LENGTH: "[Makes the «first n lanes» active|From now on the «first n lanes» are active], but at most the number "
    "of lanes. Vector instructions write active lanes only, unless their own section says otherwise. At the start of a "
    "<kernel> all lanes are active.",
    Op.LOAD: "Lane i of d [becomes|=] the word at address a + i * b of `{scratchpad}`. A stride b of 0 gives all lanes "
    "the same word; it is never negative.",
    Op.STORE: "The word at address a + i * b of `{scratchpad}` [becomes|=] lane i of c. The stride b is at least 1.",
    Op.LOAD_INDEXED: "Lane i of d [becomes|=] the word of `{scratchpad}` at address a + lane i of b, where the lanes "
    "of b «hold integers» of 32 bits.",
    Op.FILL: "[Each lane of d becomes|Copies to each lane of d] the 32 bits of a.",
    Op.FILL_INTEGER: "[Converts the integer a to float32 and copies it to each lane of d|Each lane of d becomes the "
    "integer a as a float32].",
    Op.VECTOR_ADD: "d = a + b in each lane.",
    Op.VECTOR_SUBTRACT: "d = a - b in each lane.",
    Op.VECTOR_MULTIPLY: "d = a * b in each lane.",
    Op.MULTIPLY_ADD: "d = d + a * b in each lane. [The product is rounded, and then the sum|It rounds twice: the "
    "product, and then the sum].",
    Op.VECTOR_MAXIMUM: "d = the «larger of a and b» in each lane.",
    Op.EXPONENTIAL: "d = the base with the exponent a, in each lane.",
    Op.INVERSE_ROOT: "d = 1 / the «square root» of a, in each lane. [There is no division of vectors|No instruction "
    "divides vectors].",
    Op.SUM: "One lane of each group of d [becomes|receives] the sum of that group of a, «added in the order» of the "
    "lanes.",
    Op.GREATEST: "One lane of each group of d [becomes|receives] the «largest value» of that group of a.",
    Op.ROTATE: "Lane i of d [becomes|=] lane i + b of a; [behind the last lane the first follows|it wraps at the last "
    "lane]. It reads inactive lanes, too.",
    Op.CLEAR: "[Sets all elements of d to 0|All elements of d become 0].",
    Op.PRODUCT_NARROW: "Adds the product of two matrices in `{scratchpad}` to d, after «rounding their elements» to "
    "fewer bits, to nearest, ties to even. [Products and sums are those of float32|It multiplies and adds in float32], "
    "in the order of the depth.",
    Op.PRODUCT_FULL: "Adds the product of two matrices in `{scratchpad}` to d, in float32, in the order of the depth.",
    Op.DRAIN: "Writes all rows of c to `{scratchpad}`: the first at address a, each b words after the one before.",
}

ASKED_MEANINGS: dict[Op, str] = {
    Op.INVERSE_ROOT: "[Which instruction of {chip} computes|Name of the instruction for] inverse square roots?",
    Op.GREATEST: "How do I find the maximum [among|of] the lanes of one vector on {chip}?",
    Op.LOAD_INDEXED: "[Gather from|Reading scattered words of] {scratchpad} with a vector of indices: which "
    "instruction?",
    Op.LENGTH: "How do I [mask|switch off] the lanes behind the end of a row on {chip}?",
    Op.GET_HALF: "[How are half-precision inputs brought|Which instruction brings half-precision inputs] into "
    "{scratchpad}?",
    Op.VECTOR_MAXIMUM: "[Which instruction serves for a ReLU|ReLU] of a vector on {chip}?",
}


def operand_names(op: Op) -> tuple[str, ...]:
    """The names of an instruction's operands in its section: one for each."""
    return OPERANDS.get(op, _BOTH)[: len(FORMS[op].operands)]
