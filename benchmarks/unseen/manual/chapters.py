"""The chapters that a kernel's author needs first: overview, architecture, instructions."""

from collections.abc import Callable, Mapping, Sequence

from benchmarks.unseen.instructions import FORMS, Op, Operand, Unit
from benchmarks.unseen.manual.document import Block, Bullets, Code, Paragraph, Section
from benchmarks.unseen.manual.meanings import KINDS, MEANINGS, operand_names
from benchmarks.unseen.manual.scribe import Scribe
from benchmarks.unseen.manual.statements import Fact

Facts = Mapping[str, Sequence[Fact]]
"""The facts of each chapter."""
UNITS: dict[Unit, str] = {
    Unit.SCALAR: "The scalar unit `{scalar_unit}` [computes integers, branches and waits|does integer arithmetic, "
    "branches and waits].",
    Unit.LANES: "`{lanes}` [does the arithmetic of|computes] vectors, lane by lane.",
    Unit.SPECIAL: "`{special}` computes exponentials and inverse roots.",
    Unit.CROSS: "`{cross}` [works across|combines] the lanes of a vector.",
    Unit.PORT: "`{port}` moves vectors between registers and `{scratchpad}`.",
    Unit.MATRIX: "`{matrix}` multiplies matrices that lie in `{scratchpad}` and adds the products to a "
    "`{accumulator}`.",
    Unit.ENGINES: "`{engines}` moves data between `{outer}` and `{scratchpad}` [beside|in the background of] all other "
    "work.",
}


def overview(by: Scribe, shown: Sequence[Fact]) -> list[Block]:
    """What the chip is, and a few of its numbers at a glance (`shown`)."""
    say = by.paragraphs
    units = [by.said(text) for text in UNITS.values()]
    return [
        by.section(
            "[What {chip} is|Introduction]",
            say(
                "{chip} is a processor of the {family} family by {vendor} for [dense and irregular numerical "
                "work|numerical <kernel>s]. [Production parts are|Parts that are sold are] of stepping {stepping}; see "
                "the errata.",
                "[One program runs at a time|It runs one program at a time]. Instructions issue in order, and the "
                "units work beside each other: an instruction issues as soon as the one before it has taken its issue "
                "<cycles>, its unit is free and its operands are there.",
            ),
        ),
        by.section("[Units|What works beside what]", Paragraph(" ".join(units))),
        by.section("[At a glance|In numbers]", Bullets(tuple(map(by.sentence, shown)))),
        by.section(
            "[These documents|Reading order]",
            by.bullets(
                "The architecture and the instruction reference [are|define what is] binding, with their tables in "
                "CSV.",
                "The errata [override|replace] the reference for the stepping that they name.",
                "Where this overview, a guide or the release notes [differ from|contradict] the reference, the "
                "reference [is right|holds].",
            ),
        ),
    ]


def architecture(by: Scribe, facts: Facts) -> list[Block]:
    """Registers, lanes, memories, transfers, the matrix unit and what the host hands over."""
    say = by.paragraphs

    def numbers(chapter: str, caption: str) -> list[Block]:
        return [*by.sentences(facts[chapter]), *by.table(facts[chapter], by.said(caption))]

    return [
        by.section("[Registers|Register files]", numbers("registers", "[Registers of {chip}|Register files]")),
        by.section(
            "[Lanes and `{cross}`|Across the lanes: `{cross}`]",
            say(
                "[Vector instructions write active lanes only|Only active lanes are written by vector instructions], "
                "except as stated here. `{length}` [says|sets] how many lanes, from the first on, are active."
            ),
            numbers("lanes", "[Numbers of `{cross}`|Limits across lanes]"),
        ),
        *_memories(by, numbers),
        by.section(
            "[Matrix products: `{matrix}`|`{matrix}`]",
            say(
                "[A product instruction adds|Each product adds] the product of a left matrix, with as many rows as "
                "`{accumulator}`, and a right matrix, with as many columns, to it; their common size is the depth. "
                "Elements of a row are neighbours in `{scratchpad}`, addresses and pitches count words and are never "
                "negative.",
                "It is busy for the instruction's busy <cycles> times the number of steps. At the start of a <kernel> "
                "accumulators hold NaN: clear them first.",
            ),
            numbers("matrix", "[Numbers of `{matrix}`|Products in numbers]"),
        ),
        by.section(
            "[What the host hands over: `{argument_table}`|`{argument_table}`]",
            say(
                "[All tensors lie in `{outer}`|The host puts all tensors into `{outer}`], row-major and without gaps, "
                "as float32, int32 or float16. `{argument_table}` has words of 32 bits, which `{argument}` reads: for "
                "each tensor its address and its sizes in order, and after all tensors the numbers given to the model, "
                "as float32.",
            ),
            numbers("host", "[Numbers of `{argument_table}`|Of the host]"),
        ),
    ]


def _memories(by: Scribe, numbers: Callable[[str, str], list[Block]]) -> list[Block]:
    """The memory on the chip, the one outside, and what moves data between them."""
    say = by.paragraphs
    return [
        by.section(
            "[The memory on the chip: `{scratchpad}`|`{scratchpad}`]",
            say(
                "[It is addressed in words of 4 bytes|Its addresses count words of 4 bytes]. [Until it is written it "
                "holds|Before the first write it holds] NaN. A line is a run of consecutive words.",
                "A load or store keeps `{port}` busy for its busy <cycles>, times the number of different lines in the "
                "bank that has the most of those it touches: [lanes in one line do not conflict|one line is served at "
                "once].",
            ),
            numbers("scratchpad", "[Numbers of `{scratchpad}`|`{scratchpad}` in numbers]"),
        ),
        by.section(
            "[Transfers: `{engines}`|`{engines}` and `{outer}`]",
            say(
                "[A transfer moves|Each transfer moves] a number of rows of so many elements between `{outer}` and "
                "`{scratchpad}`. Addresses and pitches in `{scratchpad}` are multiples of its line, those in "
                "`{outer}` multiples of the element's size. If there is more than one row, the pitch in `{scratchpad}` "
                "is at least the number of elements of a row. No pitch is negative.",
                "Each row needs all bursts of `{outer}` that it touches. [The engine is busy for the start and then "
                "for each burst|Its time is that of the start and of all bursts]; an engine makes one transfer after "
                "the other.",
                "A transfer owns `{scratchpad}` from the first word of its first row to the last word of its last row "
                "until it is done. Any access to words owned by a `{get}`, and any write to words owned by a `{put}`, "
                "is a race, which is a fault. So is a `{get}` from bytes of `{outer}` that an unfinished `{put}` still "
                "writes.",
            ),
            numbers("transfers", "[Numbers of `{engines}`|Transfers in numbers]"),
        ),
    ]


def instructions(by: Scribe, facts: Sequence[Fact]) -> list[Block]:
    """One section for each instruction, by unit; `facts` are their times."""
    timing = {fact.key: fact for fact in facts}
    intro = by.paragraphs(
        "[Each section names|A section gives] operands, meaning and time. After the issue <cycles> the next "
        "instruction may issue; for the busy <cycles> the unit begins nothing else; after the latency, counted from "
        "the issue, the result is there. Instructions that need it wait for it, but for the hazards.",
        "A load or store needs its busy <cycles> for each of the conflicting lines of a bank, a product for each step "
        "of its depth; what they take beyond the first of these comes on top of the latency. Times that [are missing "
        "here stand|no section gives stand] in the CSV file of times.",
    )
    sections = [
        Section(
            by.said("[Instructions of `{unit}`|`{unit}`]", unit=by.chip.names.units[unit]),
            tuple(_instruction(by, op, [timing[f"{op}.{time}"] for time in ("issue", "busy", "latency")])
                  for op, form in FORMS.items() if form.unit is unit),
        )
        for unit in by.style.chance.sample(list(Unit), len(Unit))
    ]  # fmt: skip
    return [*intro, *sections]


def _instruction(by: Scribe, op: Op, times: Sequence[Fact]) -> Section:
    instruction, operands = by.chip.instructions[op], operand_names(op)
    unit = by.chip.names.units[instruction.unit]
    counts = {"transfer_registers": len(by.chip.transfers.order), "product_registers": len(by.chip.matrix.order)}
    kinds = tuple(
        by.said(f"`{name}`: {KINDS[kind]}", **counts) for name, kind in zip(operands, FORMS[op].operands, strict=True)
    )
    return by.section(
        f"`{instruction.name}`",
        Code(f"{instruction.name} {', '.join(operands)}".strip()),
        Paragraph(by.marked(f"{op}.meaning", MEANINGS[op], heading=instruction.name)),
        [Bullets(kinds)] if kinds else [],
        by.sentences(times),
        by.table(times, ""),
        Paragraph(by.said("[It is an instruction of|It runs on] `{unit}`. [A use|Example]:", unit=unit)),
        Code(use_of(by, op)),
    )


def use_of(by: Scribe, op: Op) -> str:
    """A line with the instruction, with operands that the assembler accepts."""
    chance, names, registers = by.style.chance, by.names, by.chip.registers
    longest = max(len(by.chip.transfers.order), len(by.chip.matrix.order))
    samples = {
        Operand.SCALAR: f"{names['scalar']}{chance.randrange(registers.scalar)}",
        Operand.NUMBER: str(chance.randrange(1, 9)),
        Operand.TRANSFER: f"{names['scalar']}{chance.randrange(registers.scalar - longest)}",
        Operand.PRODUCT: f"{names['scalar']}{chance.randrange(registers.scalar - longest)}",
        Operand.ACCUMULATOR: f"{names['accumulators']}{chance.randrange(registers.accumulators)}",
        Operand.LABEL: "again",
    }

    def sample(kind: Operand) -> str:
        if kind is Operand.VECTOR:
            return f"{names['vector']}{chance.randrange(registers.vector)}"
        return samples[chance.choice((Operand.SCALAR, Operand.NUMBER)) if kind is Operand.VALUE else kind]

    return f"{by.chip.instructions[op].name} {', '.join(map(sample, FORMS[op].operands))}".strip()
