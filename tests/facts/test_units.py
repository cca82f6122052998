"""Units: the text of a unit gives what it counts and its scale; any other text has no meaning."""

import math
import re
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.units import WRITTEN, Unit, unit_of
from tests.facts.documents import PROPERTY

KI, MI, GI, TI = 2.0**10, 2.0**20, 2.0**30, 2.0**40

WRITTEN_AS = {
    Unit("byte", 1): ["B", "byte", "bytes", "Byte", "Bytes", " B "],
    Unit("byte", KI): ["KiB", "Kibytes", "KB", "kB", "Kbytes"],
    Unit("byte", MI): ["MiB", "MB", "Mbyte"],
    Unit("byte", GI): ["GiB"],
    Unit("byte", 1e9): ["GB", "Gbytes"],
    Unit("byte", TI): ["TiB"],
    Unit("byte", 1e12): ["TB"],
    Unit("byte", 1 / 8): ["b", "bit", "bits", "Bit"],
    Unit("byte", 1e3 / 8): ["kb", "Kb", "Kbit"],
    Unit("byte", KI / 8): ["Kib", "Kibit"],
    Unit("byte/s", 1e9 / 8): ["Gbps", "Gb/s", "Gbit/s", "Gbits per second"],
    Unit("byte/s", 1e9): ["GB/s", "GBps", "GB/sec", "GB per second", "GB / s", "Gbytes/second"],
    Unit("byte/s", 1e3): ["KB/s", "kB/s"],
    Unit("byte/s", 1e6): ["MB/s"],
    Unit("byte/s", GI): ["GiB/s"],
    Unit("byte/s", 1e12): ["TB/s", "TBps"],
    Unit("byte/clock", 1): ["B/clk", "bytes/cycle", "byte/clock", "bytes per cycle", "B/CLOCK", "bytes each cycle"],
    Unit("FLOP/s", 1): ["FLOPS", "FLOP/s", "OPS", "FLOPs/s", "Flops"],
    Unit("FLOP/s", 1e9): ["GFLOPS", "GOPS"],
    Unit("FLOP/s", 1e12): ["TFLOPS", "TFLOP/s", "TFLOPs", "TOPS", "TFLOPs/s", "Tflops"],
    Unit("FLOP/s", 1e15): ["PFLOPS", "PFLOP/s", "POPS"],
    Unit("FLOP/s", 1e18): ["EFLOPS"],
    Unit("FLOP/clock", 1): ["FLOPs/cycle", "FLOP/clock", "OPs per cycle", "flops/clk"],
    Unit("Hz", 1): ["Hz"],
    Unit("Hz", 1e6): ["MHz", "Mhz"],
    Unit("Hz", 1e9): ["GHz", "Ghz"],
    Unit("W", 1): ["W", "Watts", "watt"],
    Unit("W", 1e3): ["kW"],
    Unit("s", 1): ["s", "sec", "seconds"],
    Unit("s", 1e-3): ["ms"],
    Unit("s", 1e-6): ["us", "µs"],
    Unit("s", 1e-9): ["ns"],
    Unit("lane", 1): ["lane", "lanes", "Lanes"],
    Unit("thread", 1): ["thread", "threads", "work-item", "workitems"],
    Unit("1", 1): ["1", "", " "],
}

NONE = [
    "shape", "MxNxK", "KiB per CU", "B/clock/CU", "GT/s", "%", "K", "Ki", "G", "k1", "kthread", "Mlanes", "lanes/s",
    "threads per cycle", "1/s", "1 per clock", "64", "64 KiB", "KiBs", "KKB", "tiB", "gB/S", "banks", "cycles", "Hertz",
]  # fmt: skip


def test_a_unit_gives_what_it_counts_and_its_scale() -> None:
    for unit, text in ((unit, text) for unit, texts in WRITTEN_AS.items() for text in texts):
        found = unit_of(text)

        assert found is not None
        assert found.kind == unit.kind
        assert found.scale == pytest.approx(unit.scale, rel=1e-12)


def test_text_that_is_not_a_unit_has_no_meaning() -> None:
    for text in NONE:
        assert unit_of(text) is None


@pytest.mark.parametrize(("prefix", "binary"), [("K", "Ki"), ("M", "Mi")])
def test_sizes_of_on_chip_memory_are_binary_in_either_spelling(prefix: str, binary: str) -> None:
    assert unit_of(f"{prefix}B") == unit_of(f"{binary}B")


@pytest.mark.parametrize("rate", ["/s", "ps", "/clock"])
@pytest.mark.parametrize("prefix", ["K", "M", "G", "T"])
def test_a_rate_is_decimal_unless_its_prefix_says_otherwise(prefix: str, rate: str) -> None:
    decimal, binary = unit_of(f"{prefix}B{rate}"), unit_of(f"{prefix}iB{rate}")

    assert decimal is not None
    assert binary is not None
    assert decimal.kind == binary.kind
    assert math.log10(decimal.scale) % 3 == pytest.approx(0)
    assert math.log2(binary.scale) % 10 == pytest.approx(0)


def test_a_bit_is_an_eighth_of_a_byte() -> None:
    for prefix, bit, byte in product(("", "K", "G"), ("b", "Bit", "bits"), ("B", "Byte", "bytes")):
        one, other = unit_of(prefix + byte), unit_of(prefix + bit)

        assert one is not None
        assert other is not None
        assert one.kind == other.kind == "byte"
        assert other.scale * 8 == pytest.approx(one.scale, rel=0.025)  # a K of bytes is binary


PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "Ki": KI, "Mi": MI, "Gi": GI, "Ti": TI}
THINGS = st.sampled_from(["B", "bytes", "b", "bits", "FLOP", "FLOPs", "OP"])
RATES = st.sampled_from(["/s", "/sec", " per second", "/clock", "/clk", " per cycle"])


@PROPERTY
@given(st.sampled_from(sorted(PREFIXES)), THINGS, RATES)
def test_a_unit_consists_of_prefix_thing_and_rate(prefix: str, thing: str, rate: str) -> None:
    whole, bare = unit_of(prefix + thing + rate), unit_of(thing + rate)

    assert whole is not None
    assert bare is not None
    assert whole.kind == bare.kind
    assert whole.scale == pytest.approx(PREFIXES[prefix] * bare.scale)


@PROPERTY
@given(st.sampled_from(sorted(PREFIXES)), st.sampled_from(["B", "bytes", "bits", "FLOPS"]), RATES, st.integers(1, 999))
def test_a_unit_found_in_a_text_has_a_meaning(prefix: str, thing: str, rate: str, number: int) -> None:
    written = prefix + thing + ("" if thing == "FLOPS" else rate)

    found = re.search(WRITTEN, f"{number} {written}")

    assert found is not None
    assert found.group() == written
    assert unit_of(found.group()) is not None
