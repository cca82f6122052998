"""Chapters that no kernel author needs, such as board, registers and driver. Their numbers are near misses."""

from collections.abc import Callable

from benchmarks.unseen.manual.document import Block, Bullets, Code, Note, Paragraph, Section, Table
from benchmarks.unseen.manual.wording import Wording

_BLOCKS = (
    "clock generator", "power monitor", "fan controller", "link training", "host bridge", "boot sequencer", "fuse box",
    "trace funnel", "mailbox", "watchdog", "thermal sensor", "debug port", "interrupt router", "reset controller",
    "flash interface", "serial console", "telemetry unit", "voltage regulator", "error collector", "page translator",
    "queue manager", "doorbell unit", "time stamp counter", "security monitor",
)  # fmt: skip
_REGISTERS = (
    "CTRL", "STATUS", "MASK", "CAUSE", "LIMIT", "BASE", "SIZE", "INDEX", "DATA", "LOCK", "SEED", "TIMER", "BURST",
    "ALIGN", "RATE", "DEPTH", "BANK", "TOKEN",
)  # fmt: skip
_FIELD = (
    "[Enables|Selects|Holds|Reports|Clears|Locks] the [retry|threshold|divider|window|credit|filter|time-out|alignment|"
    "burst] [value|count|limit|state] of the [primary|secondary|spare|shared] [channel|port|link|sensor|queue]"
)
_SYMPTOMS = (
    "The [host|card|link] reports [a time-out|a parity error|an alignment error|an overflow|a race] [after|within] "
    "{wait} "
    "[ms|<cycles> of the bus clock]",
    "[Transfers|Messages] of more than {size} bytes [stall|are cut off|arrive twice]",
    "The [queue|ring|buffer] of {size} entries is [full|never drained]",
)
_REMEDIES = (
    "[Raise|Lower] the [credit|burst|retry] limit to {size}",
    "[Wait|Allow] {wait} ms before the next [reset|attempt]",
    "[Align|Place] the host's buffer at a multiple of {size} bytes",
    "[Replace|Reseat] the [cable|card|fan]",
)
_CODES = 432
_CALLS = (
    "open", "close", "reset", "map", "unmap", "submit", "wait", "poll", "query", "pin", "unpin", "copy", "fill",
    "register", "release", "lock", "unlock", "suspend", "resume", "update",
)  # fmt: skip
_OBJECTS = ("device", "context", "queue", "buffer", "event", "region", "firmware", "counter")
_ARGUMENTS = ("flags", "size", "offset", "time_out", "handle", "count", "priority", "alignment")
_RAILS = ("core", "memory", "link", "analogue", "standby", "fan", "debug")


def board(style: Wording, chip: str) -> tuple[Block, ...]:
    """The card that carries the chip: rails, connectors, cooling, mechanics."""
    say, chance = style.say, style.chance
    rails = tuple(
        (name, f"{chance.randrange(60, 330) / 100} V", f"{chance.randrange(2, 190)} A", f"{chance.randrange(1, 9)} %")
        for name in _RAILS
    )
    connectors = tuple(
        Section(
            f"Connector J{number}",
            (
                Paragraph(
                    say(
                        "[Connector|The connector] J{number} [carries|brings out] {signals} signals in {banks} banks "
                        "of pins [at a pitch of|with a pitch of] {pitch} mm. [It is rated for|It withstands] {times} "
                        "[matings|insertions].",
                        number=number,
                        signals=chance.randrange(8, 160),
                        banks=chance.randrange(2, 9),
                        pitch=chance.choice((0.5, 0.8, 1.27, 2.54)),
                        times=chance.randrange(2, 40) * 25,
                    )
                ),
                Table(
                    ("Pin", "Signal", "Direction", "Level"),
                    tuple(
                        (
                            f"{chance.choice('ABCD')}{pin}",
                            say("[SIG|AUX|DBG|PWR|GND]_{n}", n=chance.randrange(99)),
                            say("[in|out|both]"),
                            say("[1.2|1.8|3.3] V"),
                        )
                        for pin in range(1, chance.randrange(16, 40))
                    ),
                    f"Pins of connector J{number}",
                ),
            ),
        )
        for number in range(1, 21)
    )
    cooling = Paragraph(
        say(
            "[The card needs|Provide] an air flow of at least {flow} CFM at {inlet} °C. [Above|Beyond] {limit} °C the "
            "clock is [reduced|lowered] in steps of {step} MHz [every|each] {every} ms.",
            flow=chance.randrange(8, 60),
            inlet=chance.randrange(25, 46),
            limit=chance.randrange(84, 106),
            step=chance.randrange(10, 90),
            every=chance.randrange(2, 60),
        )
    )
    return (
        Section(f"Power of the {chip} card", (Table(("Rail", "Voltage", "Current", "Tolerance"), rails, "Rails"),)),
        Section("Cooling", (cooling,)),
        Section("Connectors", connectors),
    )


def package(style: Wording, chip: str) -> tuple[Block, ...]:
    """The package: dimensions, balls, soldering."""
    say, chance = style.say, style.chance
    side, pitch = chance.randrange(21, 56), chance.choice((0.4, 0.5, 0.65, 0.8))
    dimensions = tuple(
        (name, f"{size:.2f}", f"{size + 0.02 * chance.randrange(1, 8):.2f}", "mm")
        for name, size in (("length", side), ("width", side), ("height", 2.1), ("ball diameter", pitch / 2))
    )
    profile = tuple(
        (say(name), f"{chance.randrange(20, 260)} °C", f"{chance.randrange(20, 140)} s")
        for name in ("preheat", "soak", "ramp", "[peak|reflow]", "cooling")
    )
    balls = tuple(
        Table(
            ("Ball", "Net", "Bank", "Trace length, mm"),
            tuple(
                (f"{row}{column}", say("[VDD|VSS|LNK_P|LNK_N|TST|RSV]{n}", n=chance.randrange(64)),
                 str(chance.randrange(12)), f"{chance.randrange(40, 400) / 10}")
                for column in range(1, 21)
            ),
            f"Balls of row {row}",
        )
        for row in "ABCDEFGHJKLMNPRTUVWY"
    )  # fmt: skip
    return (
        Section(f"Outline of {chip}", (Table(("Dimension", "Nominal", "Maximum", "Unit"), dimensions, "Outline"),)),
        Section("Soldering", (Table(("Phase", "Temperature", "Duration"), profile, "Reflow profile"),)),
        Section("Ball map", balls),
    )


def register_map(style: Wording, word: Callable[[], str]) -> tuple[Block, ...]:
    """The registers that firmware sees. `word` gives a new one at each call."""
    chance = style.chance
    return tuple(
        Section(
            f"{block.capitalize()} `{(prefix := word().upper())}`",
            tuple(
                _register(style, f"{prefix}_{name}", 4 * n)
                for n, name in enumerate(chance.sample(_REGISTERS, chance.randrange(9, len(_REGISTERS))))
            ),
        )
        for block in chance.sample(_BLOCKS, 16)
    )


def _register(style: Wording, name: str, offset: int) -> Section:
    say, chance = style.say, style.chance
    text = say(
        "`{name}` [lies|is] at offset 0x{offset:03x} and [resets to|is after reset] 0x{reset:08x}. [A write takes "
        "effect after|It settles within] {wait} <cycles> of the bus clock. [Firmware reads it every {every} ms.|It is "
        "write-once between resets.|Only privileged software may change it.]",
        name=name,
        offset=offset,
        reset=chance.getrandbits(32),
        wait=chance.randrange(2, 90),
        every=chance.randrange(1, 500),
    )
    rows, low = [], 0
    while low < 32:
        high = min(31, low + chance.choice((0, 1, 3, 5, 7, 11)))
        rows.append((f"{high}:{low}", say("[RW|RO|W1C|RSV]"), f"0x{chance.getrandbits(high - low + 1):x}", say(_FIELD)))
        low = high + 1
    return Section(f"`{name}`", (Paragraph(text), Table(("Bits", "Access", "Reset", "Meaning"), tuple(rows))))


def diagnostics(style: Wording) -> tuple[Block, ...]:
    """Codes that the service processor reports, by area."""
    say, chance = style.say, style.chance

    def about(template: str) -> str:
        return say(template, wait=chance.randrange(2, 900), size=chance.choice((16, 48, 64, 96, 128, 4096)))

    codes = [
        Section(
            f"Code 0x{0x100 + number:03x}",
            (
                Paragraph(f"{about(chance.choice(_SYMPTOMS))}. {about(chance.choice(_REMEDIES))}."),
                Paragraph(say("[Severity|Class] {level}; [logged|counted] by the {block}.",
                              level=chance.randrange(1, 6), block=chance.choice(_BLOCKS))),
            ),
        )
        for number in range(_CODES)
    ]  # fmt: skip
    step = _CODES // len(_BLOCKS)
    return tuple(
        Section(f"{block.capitalize()} errors", tuple(codes[place * step : (place + 1) * step]))
        for place, block in enumerate(_BLOCKS)
    )


def host_driver(style: Wording, prefix: str) -> tuple[Block, ...]:
    """The library of the host. `prefix` begins the name of each function."""
    chance = style.chance
    return tuple(
        Section(
            f"{thing.capitalize()}s",
            tuple(_function(style, f"{prefix}_{thing}_{call}", thing) for call in chance.sample(_CALLS, 17)),
        )
        for thing in _OBJECTS
    )


def _function(style: Wording, name: str, thing: str) -> Section:
    say, chance = style.say, style.chance
    arguments = chance.sample(_ARGUMENTS, 3)
    meaning = tuple(
        say(
            "`{argument}`: [a multiple of {number}|at most {number}|zero or {number}; others are reserved|default "
            "{number}]",
            argument=argument,
            number=chance.choice((1, 2, 4, 8, 64, 128, 256, 4096)) * chance.randrange(1, 9),
        )
        for argument in arguments
    )
    text = say(
        "[Acts on|Works on|Is called for] [one|the current] {thing} and [returns|gives back] 0, or a negative error. "
        "[A call takes|Expect] about {time} µs on the host, and [{pending} calls may be pending|the host ring holds "
        "{pending} of them].",
        thing=thing,
        time=chance.randrange(2, 900),
        pending=chance.choice((16, 24, 32, 48, 64, 96, 128)),
    )
    code = f"int {name}(handle_t self, {', '.join(f'uint64_t {a}' for a in arguments)});"
    warning = Note(
        say("[Not thread-safe.|The host's lock is held meanwhile.|May sleep.|Fails while the card is reset.]")
    )
    return Section(f"`{name}`", (Code(code), Paragraph(text), Bullets(meaning), warning))
