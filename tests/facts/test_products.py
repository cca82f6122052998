"""Tables of products: each product gets the facts of its own row or column, and unknown products get none."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.documents import PROPERTY, Said, said, table


def size(target: str, value: str) -> Said:
    return Said(target, "l2_size", value, "MB", "per device")


@pytest.mark.parametrize("other", ["H100 PCIe", "H100 NVL", "RTX 7777", "MI999X", "M1 Max", "M2 Ultra", "Xeon", "B77"])
@pytest.mark.parametrize("known", ["H100", "A100"])
def test_values_of_an_unknown_product_are_given_to_no_other(known: str, other: str) -> None:
    rows = table("Chip | L2 cache", f"{known} | 3 MB", f"{other} | 7 MB")
    columns = table(f"Cache | {known} | {other}", "L2 cache | 3 MB | 7 MB")

    assert said(rows, target="hopper") == said(columns, target="hopper") == {size(known.lower(), "3")}


@pytest.mark.parametrize("header", ["Compute capability", "SM version", "CC"])
def test_compute_capabilities_name_their_targets(header: str) -> None:
    stated = {
        Said("a100", "lds_size", "165", "KB", "per compute unit"),
        Said("hopper", "lds_size", "229", "KB", "per compute unit"),
    }

    columns = table(f"{header} | 7.5 | 8.0 | 9.0", "Shared memory per SM | 64 KB | 165 KB | 229 KB")
    rows = table(f"{header} | Shared memory per SM (KB)", "7.5 | 64", "8.0 | 165", "9.0 | 229")

    assert said(columns, target="hopper") == said(rows, target="hopper") == stated


def test_a_number_that_looks_like_a_capability_names_no_target_in_other_tables() -> None:
    assert said(table("Release | L2 cache", "9.0 | 3 MB"), target="nvidia") <= {size("nvidia", "3")}


@pytest.mark.parametrize(
    "text",
    [
        table("Chip | L2 cache", "RTX 7777 | 3 MB", "GTX 888 | 5 MB"),
        table("Cache | RTX 7777", "L2 cache | 3 MB"),
        table("Chip | RTX 7777 L2 cache", "MI300X | 3 MB"),
    ],
    ids=["rows", "columns", "a column of a known row"],
)
def test_a_table_of_unknown_products_gives_no_facts_to_the_target_of_the_document(text: str) -> None:
    assert said(text) == set()


TWELVE = {
    "MI100": "mi100", "MI210": "mi210", "MI250X": "mi250x", "MI300A": "mi300a", "MI300X": "mi300x",
    "MI325X": "mi325x", "MI350X": "mi350x", "MI355X": "mi355x", "A100": "a100", "H100": "h100", "H200": "h200",
    "B200": "b200",
}  # fmt: skip
UNKNOWN = ["MI999X", "RTX 7777", "H100 PCIe", "GTX 9", "Radeon"]


def test_a_table_of_twelve_products_gives_facts_of_twelve_targets() -> None:
    rows = [f"{name} | {100 + i} GB | {200 + i}" for i, name in enumerate(TWELVE)]

    found = said(table("Accelerator | HBM size | L2 cache (MB)", *rows))

    assert found == {Said(t, "hbm_size", str(100 + i), "GB", "per device") for i, t in enumerate(TWELVE.values())} | {
        size(t, str(200 + i)) for i, t in enumerate(TWELVE.values())
    }


@PROPERTY
@given(st.permutations([*TWELVE, *UNKNOWN]), st.lists(st.integers(2, 9999), min_size=17, max_size=17, unique=True))
def test_each_product_gets_its_own_value_in_any_order_and_among_unknown_products(
    names: list[str], values: list[int]
) -> None:
    own = {name: str(value) for name, value in zip(names, values, strict=True)}
    stated = {size(target, own[name]) for name, target in TWELVE.items()}

    rows = table("Accelerator | L2 cache (MB)", *(f"{name} | {value}" for name, value in own.items()))
    columns = table(f"Cache | {' | '.join(own)}", f"L2 cache (MB) | {' | '.join(own.values())}")

    assert said(rows) == said(columns) == stated
