"""The chapters that help a kernel's author: how to write a program, what goes wrong, and what makes it fast."""

from collections.abc import Sequence

from benchmarks.unseen.manual.document import Block, Code, Paragraph, Section
from benchmarks.unseen.manual.scribe import Scribe
from benchmarks.unseen.manual.statements import Fact

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
    """The mistakes for which the chip gives wrong results and reports no fault."""
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
