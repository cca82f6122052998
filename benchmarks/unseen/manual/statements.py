"""What the documents say of each number and rule of a chip: a sentence, a row of a table, and a question.

Between « and » stands what a passage must hold to state the fact. For the other signs see `Wording.say`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.unseen.chip import Chip, HazardKind
from benchmarks.unseen.instructions import Unit


@dataclass(frozen=True)
class Fact:
    """One number or rule of one chip."""

    key: str
    """`scratchpad.words`, `load.latency`, `hazard.stale load`; the same for every chip."""
    chapter: str
    subject: str
    """The name that documents use for what has the number."""
    label: str
    """What a table calls it."""
    sentence: str
    asks: str
    value: str
    """Empty for a rule, whose answer stands in the sentence."""
    unit: str
    """Empty for a rule."""
    quantity: str
    """kb's name; empty if kb has none."""
    names: dict[str, Any]
    """The texts and numbers that replace the names in braces."""

    @property
    def in_tables(self) -> bool:
        """Whether it may stand in a table: it is a number, and needs no further words."""
        return bool(self.unit) and self.chapter != "hazards"

    @property
    def says(self) -> tuple[str, ...]:
        """What two chips may differ in."""
        return self.value, self.sentence, self.names.get("order", "")


_Row = tuple[str, str, str, str, str, str]

# key, subject, label in tables, sentence, question, kb's name for the quantity
NUMBERS: dict[str, tuple[_Row, ...]] = {
    "registers": (
        ("registers.scalar", "chip", "[scalar registers|registers for scalars]",
         "[The scalar file|The file for scalars] [holds|has] «{amount}» of 32 bits, `{scalar}0` to `{scalar}{last}`.",
         "How many scalar registers [does|can] a <kernel> on {chip} [have|use]?", "sgprs_max"),
        ("registers.vector", "chip", "[vector registers|registers for vectors]",
         "[Vectors live in|The vector file holds|For vectors there are] «{amount}», `{vector}0` to `{vector}{last}`.",
         "[Number of vector registers of {chip}|How many vector registers are there on {chip}]?", "vector_registers"),
        ("registers.accumulators", "matrix", "accumulators",
         "`{matrix}` [has|owns|works on] «{amount}», `{accumulators}0` to `{accumulators}{last}`.",
         "How many accumulators can {matrix} [use|keep] at a time?", ""),
        ("vectors.lanes", "chip", "[lanes of a vector register|lanes per vector|vector lanes]",
         "[A|Each] vector register [has|consists of] «{amount}», each of one float32.",
         "How [wide is a vector register of {chip}, in lanes|many float32 does one vector register of {chip} hold]?",
         "vector_lanes"),
    ),
    "lanes": (
        ("vectors.groups", "cross", "[groups of lanes|groups in a vector]",
         "[For `{sum}` and `{greatest}`|In `{sum}` and `{greatest}`], `{cross}` divides a vector into «{amount}» of "
         "{group_lanes} neighbouring lanes.",
         "Into how many groups does {sum} [divide|split] the lanes?", ""),
        ("vectors.rotate_most", "rotate", "[largest rotation|farthest rotation]",
         "`{rotate}` [turns|moves] a vector by [at least 1 lane and at most|1 to] «{amount}».",
         "[What is the largest distance for {rotate}|By how many lanes at most does {rotate} turn a vector]?", ""),
    ),
    "scratchpad": (
        ("scratchpad.words", "scratchpad", "[capacity|size]",
         "`{scratchpad}` [holds|has a capacity of|has room for] «{amount}» of 4 bytes[, addressed from 0|].",
         "[How large is|What is the capacity of|How much fits into] {scratchpad}?", "lds_size"),
        ("scratchpad.line_words", "scratchpad", "[size of a line|line size|length of a line]",
         "A line of `{scratchpad}` is «{amount}» [long|wide], and its first address is a multiple of that.",
         "[Which alignment do addresses of transfers need in|How long is a line of] {scratchpad}?", "lds_granule"),
        ("scratchpad.banks", "scratchpad", "[banks|number of banks]",
         "[The lines|Lines of `{scratchpad}`] are [spread|distributed] over «{amount}»: line n lies in bank n modulo "
         "{value}.",
         "[How many banks does {scratchpad} have|Over how many banks are the lines of {scratchpad} spread]?",
         "lds_banks"),
    ),
    "transfers": (
        ("transfers.engines", "engines", "[engines|number of engines]",
         "`{engines}` [consists of|is made of] «{amount}», and a transfer with `{token}` t runs on engine t modulo "
         "{value}.",
         "How many DMA engines does {engines} [have|consist of]?", ""),
        ("transfers.tokens", "token", "[tokens|number of tokens]",
         "[There are|The chip has|A <kernel> has] «{amount}» [of this kind|called `{token}`], numbered from 0.",
         "[Up to which number may I choose a {token}|How many different {token} are there]?", ""),
        ("transfers.queue", "engines", "[queue of an engine|queue depth of an engine]",
         "[One engine|Each engine] of `{engines}` holds «{amount}», the one under way included; the issue of a further "
         "one waits until one is done.",
         "How many transfers can wait in one engine of {engines} before [the issue stalls|a <kernel> is held up]?", ""),
        ("transfers.startup_cycles", "engines", "[start of a transfer|start-up of a transfer]",
         "[Each transfer|A transfer of `{engines}`] [begins with|first costs] «{amount}» in which nothing moves.",
         "[What does it cost to start a transfer|How long before a transfer moves its first data] on {engines}?", ""),
        ("transfers.burst_bytes", "outer", "[size of a burst|burst size|burst length]",
         "A burst is «{amount}» of `{outer}`, and its first address is a multiple of that.",
         "[How large is one burst of {outer}|In pieces of how many bytes is {outer} read]?", ""),
        ("transfers.burst_cycles", "engines", "[time of a burst|duration of a burst]",
         "[A burst|Each burst] [occupies an engine of `{engines}` for|keeps an engine of `{engines}` busy for] "
         "«{amount}».",
         "How long does one burst [take on|occupy] {engines}?", ""),
        ("transfers.rows_most", "engines", "[rows of a transfer|most rows of a transfer]",
         "[One transfer has|A transfer of `{engines}` has] at most «{amount}».",
         "[What limits the rows of one transfer of {engines}|How many rows may one transfer of {engines} have]?", ""),
    ),
    "matrix": (
        ("matrix.rows", "accumulator", "[rows of an accumulator|rows]",
         "[One `{accumulator}`|A `{accumulator}`|Each `{accumulator}`] has «{amount}».",
         "How many rows of results does {accumulator} [hold|have]?", ""),
        ("matrix.columns", "accumulator", "[columns of an accumulator|columns]",
         "[Each row of|A row of] `{accumulator}` [has|spans] «{amount}».",
         "How many columns [has|does one row span in] {accumulator}?", ""),
        ("matrix.depth_most", "matrix", "[greatest depth|largest depth]",
         "[One product on `{matrix}`|A single product of `{matrix}`] has a depth of at most «{amount}»[, and at least "
         "1|].",
         "[What is the deepest product that {matrix} accepts|How deep may a single product on {matrix} be]?", ""),
        ("matrix.step", "matrix", "[depth of a step|step]",
         "`{matrix}` takes «{amount}» of the depth at a time, so a product needs depth / {value} steps, rounded up.",
         "How much of the depth does {matrix} [consume|take] in one step?", ""),
        ("matrix.narrow_bits", "product_narrow", "[bits kept of a fraction|fraction bits]",
         "`{product_narrow}` [keeps|rounds to] «{amount}» of each <element>'s fraction.",
         "How [precise|exact] is {product_narrow}: how many fraction bits of its inputs [remain|are kept]?", ""),
    ),
    "host": (
        ("host.tensor_bytes", "argument_table", "[alignment of a tensor|tensor alignment]",
         "[The host places each tensor|Each tensor begins] at an address of `{outer}` that is a multiple of "
         "«{amount}».",
         "[What alignment do tensors have|How are tensors aligned] in {outer}?", ""),
    ),
}  # fmt: skip
RULES: dict[str, tuple[tuple[str, str, str, dict[object, str], str], ...]] = {
    "lanes": (
        ("vectors.result_last", "sum", "result lane", {
            True: "[The result|What comes out] of `{sum}` and `{greatest}` [appears in|goes to] the «last lane of each "
                  "group»; all other lanes of the destination keep their values.",
            False: "[The result|What comes out] of `{sum}` and `{greatest}` [appears in|goes to] the «first lane of "
                   "each group»; all other lanes of the destination keep their values."},
         "[In|To] which lane does {sum} [leave|write] its result?"),
        ("vectors.inactive_count", "sum", "inactive lanes", {
            True: "`{sum}` and `{greatest}` «include inactive lanes», and the result is written even where that lane "
                  "is inactive.",
            False: "`{sum}` and `{greatest}` «leave out inactive lanes», and a result whose lane is inactive is not "
                   "written."},
         "[Do lanes that are switched off count|What becomes of inactive lanes] in {sum}?"),
        ("vectors.load_clears", "load", "inactive lanes of the destination", {
            True: "`{load}` and `{load_indexed}` «set the inactive lanes» of the destination to 0; all other vector "
                  "instructions leave inactive lanes as they are.",
            False: "`{load}` and `{load_indexed}` «leave the inactive lanes» of the destination as they are, like all "
                   "other vector instructions."},
         "What [stands in|happens to] the destination's inactive lanes after {load}?"),
        ("vectors.exponent_base", "exponential", "base", {
            "2": "`{exponential}` raises the «base 2» to the power of each lane[, not the base e|].",
            "e": "`{exponential}` raises the «base e» to the power of each lane[, not the base 2|]."},
         "[What is the base of {exponential}|Does {exponential} compute powers of 2 or of e]?"),
    ),
    "matrix": (
        ("matrix.drain_clears", "drain", "accumulator after it", {
            True: "`{drain}` «sets the accumulator to 0» [when it has written it|afterwards].",
            False: "`{drain}` «leaves the accumulator as it is»[, sums included|]."},
         "[Is the accumulator empty|What is left in the accumulator] after {drain}?"),
        ("matrix.order", "product_full", "registers of a product", {},
         "In which order do the registers of {product_full} [stand|hold its addresses, pitches and depth]?"),
    ),
    "transfers": (
        ("transfers.order", "get", "registers of a transfer", {},
         "Which registers does {get} [read|expect], and in which order?"),
    ),
    "host": (
        ("host.outputs_first", "argument_table", "order of tensors", {
            True: "`{argument_table}` «lists outputs first», then inputs, then parameters.",
            False: "`{argument_table}` «lists inputs first», then parameters, then outputs."},
         "[In which order|How] are inputs and outputs listed in {argument_table}?"),
        ("host.address_last", "argument_table", "place of the address", {
            True: "[For each tensor|Of a tensor] it gives the sizes, one word each, and «then the address» in bytes.",
            False: "[For each tensor|Of a tensor] it gives the «address in bytes first», and then the sizes, one word "
            "each."},
         "Does a tensor's address come before or after its sizes in {argument_table}?"),
    ),
}  # fmt: skip
ORDER = (
    "`{subject}` and its like read consecutive scalar registers, of which the instruction names the first. They hold, "
    "in this order: «{order}»."
)
ORDERED = {
    "near": "address in `{scratchpad}` in words",
    "far": "address in `{outer}` in bytes",
    "count": "elements of a row",
    "rows": "number of rows",
    "near_pitch": "pitch in `{scratchpad}` in words",
    "far_pitch": "pitch in `{outer}` in bytes",
    "left": "address of the left matrix",
    "left_pitch": "pitch of the left matrix",
    "right": "address of the right matrix",
    "right_pitch": "pitch of the right matrix",
    "depth": "depth",
}
"""What the registers of transfers and products hold."""
HAZARDS: dict[HazardKind, tuple[str, str, str]] = {
    HazardKind.BRANCH_SLOT: ("branch",
        "The instruction [behind|after] `{branch}` «is always executed», whether the branch is taken or not, and "
        "<must> not be a branch itself.",
        "Is the instruction right after {branch} [skipped when it jumps|executed when the jump is taken]?"),
    HazardKind.LENGTH_SLOT: ("length",
        "The instruction [right after|directly behind] `{length}` «still works with the old number» of active lanes.",
        "[From which instruction on|When] does a new number of active lanes set by {length} [count|apply]?"),
    HazardKind.LOAD_SHADOW: ("load",
        "[There is no interlock|Nothing waits] for `{load}` and `{load_indexed}`: «until their latency has passed», a "
        "reader of the destination finds its old value.",
        "Why do I read the old register contents shortly after {load}?"),
    HazardKind.CROSS_SHADOW: ("sum",
        "[There is no interlock|Nothing waits] for the results of `{cross}`: «until their latency has passed», a "
        "reader of the destination finds its old value.",
        "Why is the value of {sum} still the previous one in the next instruction?"),
    HazardKind.SPECIAL_SHADOW: ("exponential",
        "[There is no interlock|Nothing waits] for the results of `{special}`: «until their latency has passed», a "
        "reader of the destination finds its old value.",
        "Why is the register of {exponential} unchanged when I use it at once?"),
    HazardKind.LATE_PRODUCT: ("drain",
        "`{drain}` leaves out each product into its accumulator that issued less than «{amount}» before.",
        "How long after a product [does {drain} still miss it|must I wait before {drain}]?"),
    HazardKind.STALE_LOAD: ("load",
        "[A `{load}`|`{load}` or `{load_indexed}`] that issues less than «{amount}» after `{store}` or `{drain}` finds "
        "the old words.",
        "How long after {store} [does {load} still see old data|must I wait before {load}]?"),
    HazardKind.STALE_PUT: ("put",
        "[A `{put}`|`{put}` or `{put_half}`] that issues less than «{amount}» after `{store}` or `{drain}` moves the "
        "old words.",
        "How long after {store} does {put} [still move|pick up] old data?"),
    HazardKind.LATE_GET: ("get",
        "For «{amount}» after a `{get}` or `{get_half}` is done, the last row of its transfer still holds the old "
        "words.",
        "Why is the last row [stale|old] after {get} although I waited for it?"),
}  # fmt: skip
TIMES = {
    "issue": ("[issue|issue cost]", "[issues in «{amount}»|takes «{amount}» to issue]"),
    "busy": ("[busy|occupancy]", "[keeps `{unit}` busy for|occupies `{unit}` for] «{amount}»"),
    "latency": ("[latency|result after]", "[has its result after|has a latency of] «{amount}»"),
}
ASKED_TIMES = {
    "issue": "How many <cycles> [pass|go by] from the issue of {name} to that of the next instruction?",
    "busy": "For how long does {name} [occupy|block] its unit?",
    "latency": "[What is the latency of|After how many <cycles> is the result there of] {name}?",
}


def names_of(chip: Chip) -> dict[str, str]:
    """The names in braces: units, memories and instructions, each under the word that the templates use for it."""
    names = chip.names
    own = {
        name: getattr(names, name)
        for name in ("vendor", "family", "chip", "stepping", "language", "scratchpad", "outer", "accumulator", "token",
                     "argument_table")
    }  # fmt: skip
    letters = {
        "scalar": names.scalar_prefix, "vector": names.vector_prefix, "accumulators": names.accumulator_prefix,
    }  # fmt: skip
    units = {"scalar_unit" if unit is Unit.SCALAR else str(unit): name for unit, name in names.units.items()}
    return own | units | {str(op): one.name for op, one in chip.instructions.items()} | letters


def facts(chip: Chip) -> Iterator[Fact]:
    """All facts of a chip in the order of its chapters."""
    names = names_of(chip) | {"group_lanes": chip.vectors.group_lanes}
    for chapter, rows in NUMBERS.items():
        for key, subject, label, sentence, asks, quantity in rows:
            value, unit = _drawn(chip, key)
            own = names | {"value": value, "last": value - 1}
            yield Fact(key, chapter, names[subject], label, sentence, asks, str(value), unit, quantity, own)
    for chapter, rules in RULES.items():
        for key, subject, label, sentences, asks in rules:
            value, _ = _drawn(chip, key)
            order = [ORDERED[part].format(**names) for part in value] if isinstance(value, tuple) else []
            own = names | {"order": ", ".join(order), "subject": names[subject]}
            yield Fact(key, chapter, names[subject], label, sentences.get(value, ORDER), asks, "", "", "", own)
    for hazard in chip.hazards:
        subject, sentence, asks = HAZARDS[hazard.kind]
        value, unit = (str(hazard.cycles), "cycles") if hazard.cycles else ("", "")
        key = f"hazard.{hazard.kind.name.lower()}"
        yield Fact(key, "hazards", names[subject], "[distance|delay]", sentence, asks, value, unit, "", names)
    for op, instruction in chip.instructions.items():
        own = names | {"name": instruction.name, "unit": chip.names.units[instruction.unit]}
        for time, (label, clause) in TIMES.items():
            value = str(getattr(instruction, time))
            yield Fact(
                f"{op}.{time}", "timing", instruction.name, label, f"`{{name}}` {clause}.", ASKED_TIMES[time], value,
                "cycles", "", own,
            )  # fmt: skip


def _drawn(chip: Chip, key: str) -> tuple[Any, str]:
    part, name = key.split(".")
    part = getattr(chip, part)
    return getattr(part, name), part.__dataclass_fields__[name].metadata["unit"]
