"""The chapters that a kernel's author needs: overview, architecture, instructions, guides, errata, release notes."""

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
ADVICE: dict[str, tuple[str, str]] = {
    "conflicts": (
        "[A stride|A pitch] that is a multiple of the banks times the line lets all lanes [meet in|fall into] one "
        "bank: «make the pitch one line longer» and they [spread|are spread] over all banks of `{scratchpad}`.",
        "Reading columns from {scratchpad} is [slow|many times slower than reading rows], what [can I change|helps]?"),
    "startup": (
        "[Few transfers of many rows|A few large transfers] are better than many small ones, because «each transfer "
        "pays the start» of `{engines}` [again|anew].",
        "My <kernel> [loses|spends] most of its time starting transfers on {engines}, how do I [avoid|reduce] that?"),
    "engines": (
        "[Give successive transfers different `{token}` numbers|Change the `{token}` from transfer to transfer]: "
        "«neighbouring numbers run on different engines», side by side.",
        "How do I get several transfers [to run at once|in flight together] on {chip}?"),
    "overlap": (
        "Start the `{get}` of the next block before you compute this one, and «wait only where its data is needed»; "
        "then `{engines}` works while the vectors do.",
        "How [can|do] I hide the time of transfers behind arithmetic on {chip}?"),
    "bursts": (
        "A row that begins or ends inside a burst of `{outer}` «pays for the whole burst»; long rows [waste less|lose "
        "less] than short ones.",
        "Why [does a row of a few bytes of|do short rows in] {outer} cost so much?"),
    "chains": (
        "[To fill the latency of `{multiply_add}`|Where `{multiply_add}` waits for itself], keep «several sums that do "
        "not depend on each other» in different registers.",
        "My accumulation with {multiply_add} [runs at a fraction of the peak|stalls in each step], how [to speed it "
        "up|can I keep the unit busy]?"),
    "reduction": (
        "For a long row, first «add whole vectors to one another», and use `{sum}` [once at the end|only at the end].",
        "What is the [fastest|quickest] way to reduce a long row to one number on {chip}?"),
    "narrow": (
        "`{product_narrow}` [keeps `{matrix}` busy for fewer|takes fewer] <cycles> than `{product_full}`; «use it "
        "where its rounding can be tolerated».",
        "When is {product_narrow} [preferable|the better choice] for a matrix product?"),
    "unrolling": (
        "`{branch}` [costs more to issue than|issues slower than] any other scalar instruction, so «unroll short "
        "loops» and [count once for several steps|move the counting out of them].",
        "Short inner loops on {chip} are dominated by {branch}; what [is recommended|do I do]?"),
    "constants": (
        "[Load|Read] words of `{argument_table}` «once, before the loop»: `{argument}` [has the longer latency|is "
        "slower than a register].",
        "Is it bad to call {argument} inside a loop?"),
}  # fmt: skip
FAULTS = (
    "unknown instruction: [the name is not one of this chip's|no instruction has the name]",
    "bad operand: [an operand is of the wrong kind, or there are too many or too few|the operands do not fit]",
    "register out of range: the register does not exist, also as one of consecutive registers",
    "scratchpad overflow: an address lies outside `{scratchpad}`",
    "outer memory out of range: a transfer leaves the tensors of `{outer}`",
    "misaligned transfer: an address or a pitch is no multiple of what it <must> be",
    "limit exceeded: more rows or a greater depth than allowed",
    "division by zero: `{divide}` by 0",
    "race: an access to words that a transfer owns",
    "deadlock: a wait that never ends",
    "too many instructions: more than 2,000,000 were executed",
)


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


def guide(by: Scribe, dangers: Sequence[Fact], example: str) -> list[Block]:
    """How to write a program in the chip's language, what `dangers` there are, and one right example."""
    say = by.paragraphs
    return [
        by.section(
            "[Lines of a program|The language {language}]",
            say(
                "A line of {language} holds a label with a colon, or an instruction's name and its operands with "
                "commas between them. A semicolon begins a comment.",
                "A register is a letter and a number from 0: `{scalar}` for scalars, `{vector}` for vectors, "
                "`{accumulators}` for accumulators. Numbers are decimal, or hexadecimal after 0x; one with a decimal "
                "point stands for the bits of that float32. [At the start all scalar registers hold 0|Scalar registers "
                "begin as 0], vector registers and accumulators NaN.",
                "[The program ends behind its last line|A program is over after its last line]; there is no "
                "instruction for it.",
            ),
        ),
        by.section(
            "[Sizes and remainders|When sizes do not fit]",
            say(
                "[A <kernel> reads all sizes|Sizes come] from `{argument_table}` with `{argument}`: [never assume|do "
                "not rely on] a size. For the last, shorter piece of a row compute its length with `{minimum}` and "
                "give it to `{length}`.",
                "A loop counts up in a scalar register and ends with `{branch}`, which continues while its first "
                "operand is less than its second.",
            ),
        ),
        by.section(
            "[Moving data|Transfers, step by step]",
            by.bullets(
                "Set up the consecutive registers that the architecture reference lists, in its order.",
                "Begin with `{get}`, `{get_half}`, `{put}` or `{put_half}`, and name a `{token}`.",
                "Wait with `{wait}` for that `{token}` before you touch the words that a `{get}` writes, and before "
                "you overwrite those that a `{put}` reads.",
                "[Several transfers may have|You may give several transfers] one `{token}`; the wait is for all of "
                "them.",
                "[Before the end no wait is needed|The program's end waits for all transfers].",
            ),
        ),
        by.section(
            "[Products of matrices|Using `{matrix}`]",
            by.bullets(
                "Clear the accumulator with `{clear}`, add products with `{product_full}` or `{product_narrow}`, piece "
                "by piece of the depth, and then `{drain}` it to `{scratchpad}`.",
                "Both matrices and the result [always have full rows and columns|are always whole]: fill what a "
                "smaller matrix leaves over with zeros.",
                "`{fence}` before you read what `{drain}` wrote.",
            ),
        ),
        *hazards(by, dangers),
        by.section("[Faults|What ends a program early]", by.bullets(*FAULTS)),
        by.section(
            "[An example|A complete program]",
            say(
                "[This program|The program below] writes 2.5 times its first input plus its second one, both matrices "
                "of the same size. [It is right for all sizes|It works for any size], but not [tuned|fast]."
            ),
            Code(example),
        ),
    ]


def hazards(by: Scribe, facts: Sequence[Fact]) -> list[Section]:
    """What gives wrong results without a fault."""
    if not facts:
        return []
    intro = by.paragraphs(
        "[The hardware does not check these|Nothing reports these mistakes]: the result is [silently wrong|wrong "
        "without a fault]. `{fence}` [ends all of them but those about the very next instruction|helps, except against "
        "those about the next instruction]."
    )
    return [by.section("[Hazards|What you <must> take care of]", intro, by.sentences(facts))]


def performance(by: Scribe) -> list[Block]:
    """Advice on speed."""
    intro = by.paragraphs(
        "[Count|Estimate] the <cycles> of each unit; the busiest one is the bound. [Then look at what waits|The rest "
        "is waiting]."
    )
    advice = [
        Section(by.said(f"[Rule|Advice] {number}"), (Paragraph(by.marked(f"advice.{key}", text)),))
        for number, (key, (text, _)) in enumerate(by.style.chance.sample(list(ADVICE.items()), len(ADVICE)), 1)
    ]
    return [*intro, *advice]


def errata(by: Scribe, printed: Mapping[str, Fact], actual: Mapping[str, Fact]) -> list[Block]:
    """What the text states wrongly, or not at all, for this stepping.

    Args:
        printed, actual: The facts of the text and of the chip, by key, where they differ.
    """
    sections: list[Block] = []
    for number, key in enumerate(by.style.chance.sample(sorted(actual), len(actual)), 1):
        fact = actual[key]
        before = by.quoted(printed[key]) if key in printed else by.said("nothing[ about this|]")
        sections.append(
            by.section(
                f"E{number:02} ({{stepping}})",
                Paragraph(
                    by.said("[Affected|Concerns]: {chip}, stepping {stepping}. `{subject}`.", subject=fact.subject)
                ),
                Paragraph(by.said("[The reference says|Printed]: {before}", before=before)),
                Paragraph(by.said("[On this stepping|Correct]: {text}", text=by.sentence(fact))),
            )
        )
    return sections


def release_notes(by: Scribe, versions: Sequence[str], told: Sequence[Fact]) -> list[Block]:
    """What changed from version to version of the documents. The newest also tells some numbers (`told`)."""
    changes = (
        "[Clearer|Better] wording in the section about `{wait}`.",
        "[Figures|Drawings] of the package replaced.",
        "The guide [has|got] a complete program.",
        "Board revision 2 [added|described].",
        "Names of instructions are final; drafts before version 1 use others.",
        "Times of `{special}` [measured again|confirmed].",
        "Host driver: `time_out` [documented|explained].",
    )
    return [
        Section(
            f"Version {version}",
            (
                by.bullets(*by.style.chance.sample(changes, 3)),
                *(Paragraph(by.sentence(fact)) for fact in told if not place),
            ),
        )
        for place, version in enumerate(versions)
    ]


FEATURES: tuple[tuple[str, str, str, int, int], ...] = (
    ("codec", "[The codec|A codec] `{word}` compresses rows at «{number} bytes per <cycles>».",
     "At what rate does the codec of {chip} compress rows?", 8, 64),
    ("sorter", "[The sorter|A sorter] `{word}` orders «{number} keys» at a time.",
     "How many keys does the hardware sorter of {chip} order at once?", 16, 96),
    ("mailbox", "[Neighbouring cores|Two cores] exchange messages of «{number} words» through `{word}`.",
     "How long is a message between neighbouring cores of {chip}?", 4, 40),
    ("dice", "[The random generator|A random generator] `{word}` fills a vector in «{number} <cycles>».",
     "How long does the random generator of {chip} need for one vector?", 5, 50),
    ("sparse", "`{word}` skips zero blocks of «{number} elements» in a product.",
     "What block size of zeros can sparse products on {chip} skip?", 4, 32),
    ("texture", "[Interpolated loads|Loads with interpolation] through `{word}` take «{number} <cycles>».",
     "Latency of an interpolated load on {chip}?", 20, 90),
)  # fmt: skip
"""What only the sibling has: key, sentence, question, and the range of the number."""


def features(by: Scribe, word: Callable[[], str]) -> list[Block]:
    """What only the sibling has."""
    paragraphs = [
        Paragraph(by.marked(f"feature.{key}", text, word=word(), number=by.style.chance.randrange(low, high)))
        for key, text, _, low, high in FEATURES
    ]
    return [by.section("[Only on {chip}|What other members of the family lack]", paragraphs)]
