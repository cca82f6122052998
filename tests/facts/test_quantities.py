"""The vocabulary of facts: kb/facts/quantities.toml is consistent, and its words are found as documents write them."""

import re
import tomllib
from collections import Counter, defaultdict
from importlib.resources import files
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ingest.readers import read
from ingest.scan import SHEETS
from kb.facts.quantities import SHAPE, Quantity, Vocabulary, quantities
from kb.types.units import PIECES, unit_of
from tests.facts.documents import PROPERTY
from tests.ingest.documents import facts_of

TABLE = tomllib.loads(files("kb.facts").joinpath("quantities.toml").read_text(encoding="utf-8"))
ALL = list(quantities().by_name.values())
DIGITS_OF_A_NAME = re.compile(
    r"\b[sv]?[LI]\d[CDI]?\b|\b(?:HBM|L?P?DDR|GDDR)\d+[eX]?|\b32-?b(?:it)?\b|\bGen\d\b|\blevel.\d\b|\b(?:FP|INT)\d+"
    r"|NeuronLink-v\d|-?C2C|\bPCIe \d\.0"
)
"""Digits that belong to a name, not to an amount: L1, HBM3e, 32-bit."""

OF_ONE_SHARE = {"vgprs_max", "lds_granule"}
"""Quantities whose share no document has to say: there is but one."""


def kind(quantity: Quantity) -> str:
    """Return what a number counts, as far as its unit tells."""
    return "1" if quantity.unit in PIECES else quantity.unit


def test_the_unit_of_a_quantity_is_a_base_unit_or_a_shape() -> None:
    for quantity in ALL:
        unit = unit_of(quantity.unit)

        assert quantity.unit == SHAPE or unit == (quantity.unit, 1.0) or (quantity.unit == "bit" and unit)


def test_needed_and_optional_conditions_are_different_known_kinds() -> None:
    for quantity in ALL:
        assert {*quantity.needs, *quantity.may} <= set(TABLE["condition"])
        assert not set(quantity.needs) & set(quantity.may)


def test_the_part_that_a_quantity_is_per_is_a_known_word() -> None:
    for quantity in ALL:
        assert not quantity.per or quantity.per in quantities().spelt["per"]
        assert not quantity.per or "per" in quantity.needs or quantity.name in OF_ONE_SHARE


def test_no_name_contains_a_value() -> None:
    for quantity in ALL:
        assert [name for name in quantity.names if re.search(r"\d", DIGITS_OF_A_NAME.sub("", name))] == []


def test_a_name_means_one_quantity_per_unit() -> None:
    meanings = defaultdict(set)
    for quantity in ALL:
        for name in quantity.names:
            meanings[re.sub(r"[^a-z0-9$]", "", name.lower()).removesuffix("s"), kind(quantity)].add(quantity.name)

    assert {key: sorted(found) for key, found in meanings.items() if len(found) > 1} == {}


def test_no_name_is_listed_twice() -> None:
    twice = {name: n for q in ALL for name, n in Counter(q.names).items() if n > 1}

    assert twice == {}


@pytest.mark.parametrize("of", sorted(TABLE["condition"]))
def test_a_word_of_a_condition_has_one_meaning(of: str) -> None:
    meanings = defaultdict(set)
    for means, words in TABLE["condition"][of].items():
        for word in words:
            meanings[re.sub(r"[^a-z0-9:]", "", word.lower())].add(means)

    assert {word: found for word, found in meanings.items() if len(found) > 1} == {}


def test_a_quantity_is_found_by_its_own_name_and_by_each_vendor_name() -> None:
    for quantity in ALL:
        for spelling in (quantity.name, quantity.name.upper(), quantity.name.replace("_", " "), *quantity.names):
            assert quantity in quantities().find(spelling), spelling


@pytest.mark.parametrize("spelling", ["", "voltage", "lds_sice", "64", "siz", "size", "l"])
def test_a_word_that_names_no_quantity_finds_none(spelling: str) -> None:
    assert quantities().find(spelling) == ()


VOCABULARY = Vocabulary(
    {
        "unit": ["thing"],
        "memory": ["thing memory", "TM", "K store"],
        "speed": ["thing memory speed", "speeds"],
        "word": ["half-word"],
        "shared": ["thing"],
    }
)


@pytest.mark.parametrize(
    ("text", "means"),
    [
        ("a thing memory speed here", ["speed"]),
        ("a thing memory here", ["memory"]),
        ("a thing here", ["unit", "shared"]),
        ("two things", ["unit", "shared"]),
        ("Thing Memory", ["memory"]),
        ("THING-MEMORY", ["memory"]),
        ("thingmemory", ["memory"]),
        ("one speed, many speeds", ["speed", "speed"]),
        ("a TM, two TMs", ["memory", "memory"]),
        ("a tm", []),
        ("K-store", ["memory"]),
        ("half word, half-word, halfword", ["word"] * 3),
        ("something, things2, 3thing", []),
        ("thing thing memory", ["unit", "shared", "memory"]),
        ("", []),
    ],
)
def test_the_longest_name_is_found_in_singular_or_plural_and_any_hyphenation_and_acronyms_keep_their_case(
    text: str, means: list[str]
) -> None:
    assert [mention.means for mention in VOCABULARY.mentions(text)] == means


SPELLINGS = st.sampled_from([(q, name) for q in ALL for name in q.names])


@pytest.mark.parametrize(("before", "after"), [("", ""), ("the ", " is"), ("(", ")"), ("- ", ": 4"), ("1. ", ".")])
def test_each_name_is_found_at_its_position(before: str, after: str) -> None:
    for quantity in ALL:
        for name in quantity.names:
            found = [m for m in quantities().names.mentions(before + name + after) if m.means == quantity.name]

            assert [(m.start, m.end) for m in found] == [(len(before), len(before) + len(name))], name


@PROPERTY
@given(st.lists(SPELLINGS, max_size=4), st.sampled_from([" ", ", ", " x ", " and "]))
def test_no_mention_lies_inside_another(spellings: list[tuple[Quantity, str]], between: str) -> None:
    found = list(quantities().names.mentions(between.join(name for _, name in spellings)))

    spans = sorted({(m.start, m.end) for m in found})
    assert all(a[1] <= b[0] for a, b in pairwise(spans))


BY_NAME = quantities().by_name


@pytest.mark.parametrize(
    ("name", "value", "unit", "holds"),
    [
        ("lds_size", "65", "KiB", True),
        ("lds_size", "65", "B", False),
        ("lds_size", "65", "KiB/s", False),
        ("lds_size", "65", "", False),
        ("lds_size", "65", "Kbit", True),
        ("lds_bank_width", "5", "bytes", True),
        ("lds_bank_width", "33", "bits", True),
        ("lds_banks", "33", "", True),
        ("lds_banks", "1", "", False),
        ("lds_banks", "0", "", False),
        ("lds_banks", "3.5", "", False),
        ("lds_banks", "33", "KiB", False),
        ("max_threads", "65", "lanes", True),
        ("wavefront_size", "65", "threads", True),
        ("peak_flops", "65", "TFLOPS", True),
        ("peak_flops", "65", "GB/s", False),
        ("clock_peak", "1.5", "GHz", True),
        ("matrix_unit_shape", "65", "", False),
        ("matrix_unit_shape", "65x66", "", False),
    ],
)
def test_a_quantity_holds_only_values_that_fit_its_unit(name: str, value: str, unit: str, holds: bool) -> None:
    assert BY_NAME[name].holds(value, unit_of(unit)) is holds


@pytest.mark.parametrize("sheet", sorted(SHEETS.rglob("*.md")), ids=lambda path: path.stem)
def test_a_fact_of_a_sheet_is_in_a_unit_of_its_quantity(sheet: Path) -> None:
    found, _ = facts_of(read(sheet, sheet.read_bytes(), root=SHEETS), target=sheet.parent.name)
    known = [f for f in found if f.quantity in BY_NAME]

    assert len(known) > 5
    for f in known:
        quantity, unit = BY_NAME[f.quantity], unit_of(f.unit)
        assert quantity.counts(unit) if unit else quantity.unit == SHAPE, f
