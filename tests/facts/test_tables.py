"""Facts from tables: what row and column say together, only about the products that they name."""

import pytest

from tests.facts.documents import TARGETS, Said, said, table

DEVICE, CU, DIE = "per device", "per compute unit", "per die"


def size(target: str, value: str, condition: str = DEVICE, *, quantity: str = "l2_size", unit: str = "MB") -> Said:
    return Said(target, quantity, value, unit, condition)


def peak(target: str, value: str, condition: str) -> Said:
    return Said(target, "peak_flops", value, "TFLOPS", f"{condition}, per device")


GIVEN = {
    "one product per row": (
        table("Accelerator | HBM capacity | L2 cache", "MI300X | 11 GB | 3 MB", "MI250 | 12 GB | 5 MB"),
        {
            size("mi300x", "3"), size("mi250", "5"),
            size("mi300x", "11", quantity="hbm_size", unit="GB"), size("mi250", "12", quantity="hbm_size", unit="GB"),
        },
    ),
    "one product per column": (
        table("Feature | MI250 | MI300X", "L2 cache | 3 MB | 5 MB", "CU count | 101 | 102"),
        {
            size("mi250", "3"), size("mi300x", "5"),
            Said("mi250", "compute_units", "101", "1", DEVICE), Said("mi300x", "compute_units", "102", "1", DEVICE),
        },
    ),
    "no product: the target of the title": (
        "# The MI300X\n\n" + table("Property | Value", "LDS size per CU | 65 KB", "Wavefront size | 66"),
        {Said("mi300x", "lds_size", "65", "KB", CU), Said("mi300x", "wavefront_size", "66")},
    ),
    "no product: the target of the heading": (
        "## On the MI250\n\n" + table("Cache | Size", "L2 cache | 5 MB"),
        {size("mi250", "5")},
    ),
    "a column whose name says little, and a row that says which memory": (
        "# MI300X\n\n" + table("Memory | Size | Bandwidth", "HBM | 48 GiB | 1.2 TB/s"),
        {
            size("mi300x", "48", quantity="hbm_size", unit="GiB"),
            size("mi300x", "1.2", quantity="hbm_bandwidth", unit="TB/s"),
        },
    ),
    "the clock of the chip below that of a crystal": (
        "# MI300X\n\n" + table("Part | Clock frequency", "Crystal | 24 MHz", "Core clock | 1.6 GHz"),
        {Said("mi300x", "clock_peak", "1.6", "GHz")},
    ),
    "a count beside a column with another unit": (
        "# MI300X\n\n" + table("Cores | Current (mA)", "4 | 2250"),
        {Said("mi300x", "compute_units", "4", "1", DEVICE)},
    ),
    "the innermost heading that names a product": (
        "# About the MI250\n\n## About the MI210\n\n### Caches\n\n" + table("Cache | Size", "L2 cache | 5 MB"),
        {size("mi210", "5")},
    ),
    "quantity in the caption": (
        "**L2 cache size (MB)**\n\n" + table("Chip | Value", "MI300X | 3", "MI250 | 5"),
        {size("mi300x", "3"), size("mi250", "5")},
    ),
    "product in the caption": (
        "**Caches of the MI250**\n\n" + table("Cache | Size", "L2 cache | 5 MB"),
        {size("mi250", "5")},
    ),
    "unit in the header": (
        table("Chip | L2 cache (MB) | HBM [GB] | TDP (W)", "MI300X | 3 | 191 | 751"),
        {size("mi300x", "3"), size("mi300x", "191", quantity="hbm_size", unit="GB"),
         Said("mi300x", "power_max", "751", "W")},
    ),
    "unit in the header of the row": (
        table("Property | MI300X | MI250", "L2 cache (MB) | 3 | 5"),
        {size("mi300x", "3"), size("mi250", "5")},
    ),
    "the unit of the cell wins over that of the header": (
        table("Chip | L2 cache (MB)", "MI300X | 3 | ", "MI250 | 5 KiB"),
        {size("mi300x", "3"), size("mi250", "5", unit="KiB")},
    ),
    "markup around names and values": (
        table("**Chip** | `L2 cache`", "[MI300X](https://example.org/mi250) | **3 MB**", "*MI250* | 5 MB<br>"),
        {size("mi300x", "3"), size("mi250", "5")},
    ),
    "another share in brackets": (
        table("Chip | Compute units", "MI300X | 301 (39 per XCD)"),
        {Said("mi300x", "compute_units", "301", "1", DEVICE), Said("mi300x", "compute_units", "39", "1", DIE)},
    ),
    "a share of several": (
        table("Chip | LDS (KiB)", "MI300X | 65 per 2 CUs", "MI250 | 66 per CU"),
        {size("mi300x", "65", "per 2 compute units", quantity="lds_size", unit="KiB"),
         size("mi250", "66", CU, quantity="lds_size", unit="KiB")},
    ),
    "a share in the header": (
        table("Chip | L2 cache (MB per XCD)", "MI300X | 3"),
        {size("mi300x", "3", DIE)},
    ),
    "one data type per row": (
        "**Peak TFLOPS**\n\n" + table("Type | MI300X | MI250", "FP16 dense | 1001 | 301", "FP8 sparse | 2002 | -"),
        {peak("mi300x", "1001", "float16, dense"), peak("mi250", "301", "float16, dense"),
         peak("mi300x", "2002", "float8, sparse")},
    ),
    "one data type per column": (
        table("Chip | FP16 TFLOPS | FP64 TFLOPS", "MI300X | 1001 | 302"),
        {peak("mi300x", "1001", "float16"), peak("mi300x", "302", "float64")},
    ),
    "dense and sparse columns": (
        "# The MI300X\n\n" + table("Type | Dense TFLOPS | Sparse TFLOPS", "BF16 | 1001 | 2002"),
        {peak("mi300x", "1001", "bfloat16, dense"), peak("mi300x", "2002", "bfloat16, sparse")},
    ),
    "several data types in one label": (
        table("Peak | MI300X", "FP16/BF16 dense TFLOPS | 1001"),
        {peak("mi300x", "1001", "float16, dense"), peak("mi300x", "1001", "bfloat16, dense")},
    ),
    "two products in one row": (
        table("Chip | L2 cache", "MI300X and MI325X | 3 MB"),
        {size("mi300x", "3"), size("mi325x", "3")},
    ),
    "a family and its chip: only the chip": (
        table("Architecture | Target | L2 cache", "CDNA3 | gfx942 | 3 MB", "CDNA2 | gfx90a | 5 MB"),
        {size("gfx942", "3"), size("gfx90a", "5")},
    ),
    "a shape": (
        "# The MI300X\n\n" + table("Part | Shape", "Systolic array | 129x130"),
        {Said("mi300x", "matrix_unit_shape", "129x130", "shape")},
    ),
    "thousands with commas": (
        table("Chip | HBM bandwidth (GB/s)", "MI300X | 5,301"),
        {size("mi300x", "5301", quantity="hbm_bandwidth", unit="GB/s")},
    ),
    "an aside about another thing": (
        table("Spec | MI300X", "L2 cache | 4 MB (256 KB per channel)"),
        {size("mi300x", "4")},
    ),
    "a shape in bytes": (
        table("Spec | MI300X", "MXU size (bytes) | 129x130"),
        {Said("mi300x", "matrix_unit_shape", "129x130", "shape")},
    ),
    "another product among the labels": (
        table("What | Value", "L2 cache | 3 MB", "Links to the MI250 | yes"),
        {size("mi300x", "3")},
    ),
    "the chip of the outer heading": (
        "# The MI250\n\n## Of its gfx90a cores\n\n" + table("Cache | Size", "L2 cache | 5 MB"),
        {size("mi250", "5")},
    ),
    "a neighbouring column in words": (
        table("Chip | Memory | L2 cache", "MI300X | HBM3 | 3 MB", "MI325X | HBM3E | 5 MB"),
        {size("mi300x", "3"), size("mi325x", "5")},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("text", "stated"), GIVEN.values(), ids=GIVEN.keys())
def test_a_table_gives_what_its_labels_say(text: str, stated: set[Said]) -> None:
    assert said(text) == stated


NOTHING = {
    "a label with many other words": table("Chip | L2 cache prefetch window of streams", "MI300X | 3 MB"),
    "a label about a part of the memory": table("Chip | LDS reserved by our small runtime", "MI300X | 3 KB"),
    "an unknown product in the heading": "## Of the RTX 7777\n\n" + table("Cache | Size", "L2 cache | 3 MB"),
    "a known and an unknown product in a row": table("Chip | L2 cache", "MI300X and RTX 7777 | 3 MB"),
    "measured header": table("Chip | Measured HBM bandwidth", "MI300X | 4.1 TB/s"),
    "achieved header": table("Chip | HBM bandwidth | Achieved", "MI300X | 4.1 TB/s | 81%"),
    "results below a heading": "# Benchmark results\n\n" + table("Chip | HBM bandwidth", "MI300X | 4.1 TB/s"),
    "a lost header": table(" | | ", "MI300X | 64 KB | 5 MB"),
    "a lost header whose first row took its place": table("MI300X | 64 KB | 5 MB", "MI250 | 65 KB | 6 MB"),
    "a unit of another kind": table("Property | Value", "LDS size | 65 GHz", "Clock | 4 MB"),
    "no unit where one is needed": table("Property | Value", "LDS size | 65", "HBM bandwidth | 5"),
    "a fraction of things that are counted": table("Property | Value", "LDS banks | 32.5", "XCDs | 1"),
    "several values in a cell": table("Chip | L2 cache", "MI300X | 3 MB or 5 MB"),
    "a range": table("Chip | L2 cache", "MI300X | 3-5 MB"),
    "dense and sparse in one cell": table("Chip | FP16 TFLOPS", "MI300X | 1001 / 2002"),
    "a peak without a data type": table("Chip | Peak TFLOPS", "MI300X | 1001"),
    "a size where a width is expected": table("Spec | MI300X", "Vector register width | 2 KB"),
    "an unknown quantity": table("Chip | Supply voltage", "MI300X | 3 V"),
    "a count with its noun": table("Part | MI300X", "Core count | 301 cores"),
    "a cell in words": table("Part | MI300X", "Compute | Up to 1001 TFLOPS of FP8 compute"),
    "only a unit": table("Type | MI300X", "INT8 | 2001 TOPS"),
    "words beside the value": table("Chip | L2 cache", "MI300X | 3 MB when enabled"),
    "a rough value": table("Chip | L2 cache", "MI300X | ~3 MB"),
    "another rough value": table("Chip | L2 cache", "MI300X | ≈3 MB"),
    "possible settings of a program": "## Tuning the MI300X\n\n" + table("Cache | Size", "L2 cache | 3 MB"),
    "a word that often means something else": table("Chip | Memory", "MI300X | 3 MB"),
    "no named owner": table("Cache | Size", "L2 cache | 3 MB"),
    "an assumed share": table("Chip | LDS (KiB)", "MI300X | 65"),
    "words beside the quantity": table("Chip | L2 cache prefetch", "MI300X | 3 MB"),
    "the bank of each pin": "## MI300X\n\n" + table("Ball | Net | Bank", "L3 | LNK | 8", "L4 | VSS | 3"),
    "a share of a name": "## MI300X\n\n" + table("Rail | Current | Tolerance", "core | 88 A | 7 %", "fan | 3 A | 3 %"),
    "a count below a unit of another kind": "# MI300X\n\n"
    + table("Supply | Voltage (V) | Current (mA)", "CORE | 0.8 | 2250", "CUs | 2 | 900"),
    "a count in a unit of another kind": "# MI300X\n\n" + table("Step | Time in us", "Cores | 17"),
    "the clock of a crystal": "# MI300X\n\n" + table("Clock | Frequency", "RTC crystal | 32.768 KHz", "OSC | 5 V"),
    "the clock of an oscillator": "# MI300X\n\n" + table("Part | Clock frequency", "Oscillator | 24 MHz"),
    "memories that may be connected": "# MI300X\n\n"
    + table("Type | Model | Manufacturer | Capacity", "DRAM | X1 | Some | 4 Gb", "HBM | Y | Other | 8 Gb"),
    "crystals that may be connected": "# MI300X\n\n## Clock frequency\n\n"
    + table("Frequency | Accuracy", "24 MHz | 20 ppm", "25 MHz | 10 ppm"),
    "a bandwidth of something else": "# MI300X\n\n" + table("Link | Bandwidth", "PCIe | 64 GB/s"),
    "no value": table("Chip | L2 cache", "MI300X | - ", "MI250 | n/a", "MI210 | "),
}


@pytest.mark.parametrize("text", NOTHING.values(), ids=NOTHING.keys())
def test_nothing_is_guessed_from_a_table(text: str) -> None:
    assert said(text) == set()


def test_a_label_may_hold_words_without_a_meaning_of_their_own() -> None:
    assert said(table("Chip | Total L2 cache size", "MI300X | 3 MB")) == {size("mi300x", "3")}


@pytest.mark.parametrize("before", ["301 (39 per XCD)", "39 per XCD"])
def test_the_share_of_one_value_does_not_apply_to_its_neighbour(before: str) -> None:
    found = said(table("Chip | Compute units | L2 cache", f"MI300X | {before} | 3 MB"))

    assert {s for s in found if s.quantity == "l2_size"} == {size("mi300x", "3")}


def test_every_named_target_is_one_that_kb_knows() -> None:
    found = {s.target for text, _ in GIVEN.values() for s in said(text)}

    assert found <= {target.name for target in TARGETS}
