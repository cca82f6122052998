"""An answer is a fact only if the quoted words hold its value and unit."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.facts.quotes import number_of, plain_list, quote_spans, refusal
from kb.types.fact import FactAnswer

TEXT = "Every unit owns **48 KiB** of\nscratch, in 24 banks; 1,536 entries of 16 x 16 at 1.5 GHz. It has eight cores."


def refused(around: str = "", **said: str) -> str:
    answer = FactAnswer(**{"quantity": "size", "value": "48", "unit": "KiB", "quote": TEXT} | said)
    [span] = quote_spans(answer.quote, TEXT)
    return refusal(answer, TEXT[slice(*span)], around)


@pytest.mark.parametrize(
    "said",
    [
        {},
        {"quote": "owns 48 KiB of scratch"},
        {"value": "24", "unit": "1"},
        {"value": "24", "unit": "", "quote": "in 24 banks"},
        {"value": "24", "unit": "banks"},
        {"value": "1536", "unit": "entries"},
        {"value": "8", "unit": "1"},
        {"value": "16x16", "unit": "shape"},
        {"value": "1.5", "unit": "GHz", "quantity": "clock_peak"},
        {"value": "eight cores", "unit": "name"},
        {"quote": "48", "around": "| Scratch (KiB) |"},
        {"value": "1,536", "unit": "1"},
        {"value": "48K", "unit": "byte"},
        {"value": "24, 16", "unit": "1"},
        {"quote": "24", "value": "24", "unit": "cycles", "around": "| instruction | latency |"},
    ],
    ids=str,
)
def test_what_the_quote_states_is_a_fact(said: dict[str, str]) -> None:
    assert refused(**said) == ""


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"value": "4"}, "does not hold the number 4"),
        ({"value": "36"}, "does not hold the number 36"),
        ({"value": "forty-eight"}, "no number, range or shape"),
        ({"value": "16x32", "unit": "shape"}, "does not hold the shape 16x32"),
        ({"value": "nine cores", "unit": "name"}, "does not name 'nine cores'"),
        ({"value": "eight", "unit": "name"}, "'eight' is a number"),
        ({"value": "48 KiB", "unit": "name"}, "'48 KiB' is a number"),
        ({"value": "1 to 48"}, "does not hold the number 1"),
        ({"value": "24 to 64"}, "does not hold the number 64"),
        ({"value": "24 to many"}, "no number, range or shape"),
        ({"value": "24 to 48", "unit": "TB/s"}, "states 48 in KiB, not in TB/s"),
        ({"quote": "48", "unit": "KiB"}, "state a unit like 'KiB'"),
        ({"unit": "TB/s"}, "states 48 in KiB, not in TB/s"),
        ({"unit": "GHz", "quantity": "lds_size"}, "lds_size is counted in byte, not in GHz"),
        ({"value": "24, 17", "unit": "1"}, "does not hold the number 17"),
        ({"quote": "24", "value": "24", "unit": "cycles", "around": "| latency (ns) |"}, "state a unit like 'cycles'"),
        ({"quantity": "how big?"}, "no name of a quantity"),
    ],
    ids=str,
)
def test_what_the_quote_does_not_state_is_refused_with_the_reason(said: dict[str, str], reason: str) -> None:
    assert reason in refused(**said)


@pytest.mark.parametrize("after", [", or 4 bytes", " and 4", ", 4"])
def test_a_list_that_goes_on_behind_the_quote_is_refused(after: str) -> None:
    answer = FactAnswer(quantity="beat", value="1, 2", unit="1", quote="beats of 1, 2")
    assert "the document has more values: 1, 2" in refusal(answer, answer.quote, "", after)
    assert refusal(answer, answer.quote, "", ". There are 4") == ""


def test_a_list_is_stored_in_one_form() -> None:
    lists = [plain_list(FactAnswer(quantity="q", value=v, unit="1", quote="q")) for v in ("1, 2, or 4", "1|2|4")]
    assert [one.value for one in lists] == ["1, 2, 4"] * 2
    assert plain_list(FactAnswer(quantity="q", value="8, 16, and 32", unit="name", quote="q")).value == "8, 16, and 32"


def test_a_quote_of_a_whole_page_is_refused() -> None:
    long = f"{'word ' * 200}48 KiB"
    assert "shortest words" in refusal(FactAnswer(quantity="size", value="48", unit="KiB", quote=long), long, "")


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("48 KiB of scratch", "48 KiB** of\nscratch"),
        ("owns 48KiB", "owns **48 KiB"),
        ("8 KiB", None),
        ("48 Ki", None),
        ("24 banks 1,536", "24 banks; 1,536"),
        ("...", None),
        ("", None),
    ],
)
def test_a_quote_is_found_by_its_words_whatever_stands_between_them(quote: str, found: str | None) -> None:
    assert [TEXT[slice(*span)] for span in quote_spans(quote, TEXT)] == ([found] if found else [])


@given(st.text(alphabet="ab1 .,|*\n", max_size=40), st.text(alphabet="ab1 .,|*\n", max_size=8))
def test_a_quote_that_is_found_has_the_same_words(text: str, quote: str) -> None:
    for span in quote_spans(quote, text):
        assert "".join(filter(str.isalnum, text[slice(*span)])) == "".join(filter(str.isalnum, quote))


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("two", "It has two cores"),
        ("2", "It has two cores"),
        ("16384", "memory of 16*1024 words"),
        ("0xE000", "begins at 0xE000"),
        ("0xe0000000", 'generic is x"E000_0000"'),
        ("-65535", "not below -65535"),
    ],
)
def test_numbers_may_be_words_products_hexadecimal_or_negative(value: str, text: str) -> None:
    assert refusal(FactAnswer(quantity="size", value=value, unit="1", quote=text), text, "") == ""


def test_a_quote_may_begin_with_an_underscore() -> None:
    assert quote_spans("_fast_mul_regs if set", "see _fast_mul_regs if set.")


def test_a_range_is_a_fact_without_a_number_if_the_quote_holds_both_ends() -> None:
    answer = FactAnswer(quantity="size", value="24 to 48", unit="KiB", quote=TEXT)
    assert (refusal(answer, TEXT, ""), number_of(answer)) == ("", None)


@pytest.mark.parametrize(
    ("words", "value", "unit", "holds"),
    [
        ("the valid range [40,48]", "40 to 48", "1", True),
        ("the valid range [40,48]", "4048", "1", False),
        ("4,096 entries", "4096", "1", True),
        ("2,5 GHz", "2.5", "GHz", True),
        ("2K entries", "2048", "1", True),
        ("16K bytes", "16K", "byte", True),
        ("16K bytes", "16", "KiB", True),
        ("strides of 1, 2, 4 or 8", "1, 2, 4, 8", "1", True),
        ("4x faster", "4", "x", True),
        ("beats of 1, 2, or 4 bytes", "1, 2, or 4", "bytes", True),
        ("beats of 1, 2, or 4 bytes", "1, 2, 4", "bytes", True),
        ("widths of 8, 16, and 32 bits", "8, 16, and 32", "bits", True),
        ("`lut_width 8|16|32` in bits", "8|16|32", "bits", True),
        ("beats of 1, 2, or 4 bytes", "1, 2", "bytes", False),
        ("8-bit, 16-bit and 32-bit data", "8, 16", "bit", False),
        ("8, 16 and 32 KiB", "8, 16", "KiB", False),
        ("16 KiB and 32 KiB, and 8 ways each", "16, 32", "KiB", True),
        ("a bank of 2K and 4K, or 8", "2K, 4K", "1", True),
        ("modes `1`, `2` or `4`", "1, 4", "1", False),
        ("a dual bank architecture", "2", "banks", True),
        ("| wdata | UInt(128) |", "128", "bit", True),
        ("| wdata | UInt(128) |", "128", "byte", False),
        ("an array of ap_int<8>", "8", "bits", True),
        ("UInt(128) bytes", "128", "byte", True),
        ("UInt(128) bytes", "128", "bit", False),
        ("ap_int<8> lanes", "8", "lanes", True),
        ("print(128)", "128", "bit", False),
    ],
)
def test_numbers_are_read_as_documents_write_them(words: str, value: str, unit: str, *, holds: bool) -> None:
    answer = FactAnswer(quantity="amount", value=value, unit=unit, quote=words)

    assert (refusal(answer, words, "") == "") is holds


@pytest.mark.parametrize(
    ("quoted", "value", "right", "wrong"),
    [
        ("Integrates with 256 KB L2 cache", "256", ["KB", "KiB"], ["GiB", "MB", "byte", "Kb", "KB/s", "1", "", "x"]),
        ("maximum 1.6 GHz", "1.6", ["GHz"], ["MHz", "Hz", "1"]),
        ("SRAM：2MB", "2", ["MB", "MiB"], ["GiB", "KB", "Mbit"]),
        ("vectors of 32 elements for 32-bit data", "32", ["", "1"], ["GiB"]),
        ("SRAM: **2**MB", "2", ["MB"], ["GiB"]),
        ("| SRAM | 2 | MB |", "2", ["MB"], ["GiB"]),
        ("a 2-MB SRAM (1 GiB outside)", "2", ["MB"], ["GiB"]),
        ("holds 16 Mbit", "16", ["Mbit", "Mb"], ["MB", "MiB", "Gbit"]),
        ("a link of 8 Gb/s", "8", ["Gb/s", "Gbps"], ["GB/s", "Gb", "Mb/s"]),
        ("2 TFLOPS per core", "2", ["TFLOPS", "TFLOP/s"], ["GFLOPS", "TOPS"]),
        ("2 TOPS per core", "2", ["TOPS", "TOP/s"], ["TFLOPS", "GOPS"]),
        ("64 bytes per cycle", "64", ["byte/clock", "B/cycle"], ["byte", "byte/s"]),
        ("it takes 40 us", "40", ["us"], ["ns", "ms", "s", "cycles"]),
        ("draws 5 mA at 1 MHz", "5", ["mA"], ["MHz", "A", "1"]),
        ("a 3.3 V supply, 1 GHz", "3.3", ["V"], ["GHz"]),
        ("from 1 to 64 KiB", "1 to 64", ["KiB", "KB"], ["MiB", "GiB", "1"]),
        ("1-64 KiB", "1", ["KiB"], ["MiB"]),
        ("16, 32 or 64 KiB", "16, 32, 64", ["KiB"], ["MiB"]),
        ("256 KB (64 KB per core, 1 MB in all)", "256", ["KB"], ["MB"]),
        ("16 cores and 4 MB", "16", ["cores", "1"], ["MB"]),
        ("16K bytes", "16", ["KiB"], ["byte", "MB"]),
        ("2K entries", "2", ["K"], ["1", "entries"]),
        ("8 MB of 8 banks", "8", ["MB"], ["GB"]),
        ("its length is 40 in all", "40", ["1"], ["s", "ns", "KB"]),
        ("32 Banks", "32", ["1", "banks"], ["KB"]),
    ],
)  # fmt: skip
def test_the_unit_is_the_one_beside_the_number(quoted: str, value: str, right: list[str], wrong: list[str]) -> None:
    held = [
        u for u in (*right, *wrong) if not refusal(FactAnswer(quantity="q", value=value, unit=u, quote="q"), quoted, "")
    ]
    assert held == right


@pytest.mark.parametrize(
    ("unit", "holds"), [("KiB", True), ("KB", True), ("MiB", False), ("GB", False), ("KB/s", False)]
)
def test_a_unit_in_the_header_holds_for_a_number_that_has_none_beside_it(unit: str, *, holds: bool) -> None:
    answer = FactAnswer(quantity="scratch", value="48", unit=unit, quote="Scratch 48")
    header = "Memory of a chip with 8 GB > Sizes\n| Part | Size (KiB) |\n| Main | 1 MiB |"
    assert (refusal(answer, "Scratch | 48", header) == "") is holds
