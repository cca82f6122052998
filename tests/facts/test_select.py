"""Which facts answer a question: what a phrase means, what an unsaid one means, and which of several is best."""

import pytest

from eval.screen.screen import VENDORS
from kb.facts.select import best, canonical, comparable, compatible, conditions, matching, one_value
from kb.types.fact import Fact
from kb.types.measurement import Measurement
from kb.types.records import Form, Trust
from tests.facts.documents import fact, records, table


@pytest.mark.parametrize(
    ("phrase", "means"),
    [
        ("whole device", "per device"),
        ("per chip", "per device"),
        ("per XCD", "per die"),
        ("per SM", "per compute unit"),
        ("per thread", "per lane"),
        ("per warp", "per wavefront"),
        ("float8_e4m3fn", "float8"),
        ("float8_e4m3", "float8"),
        ("per 2 compute units", "per 2 compute units"),
        ("per NoC and link", "per NoC and link"),
        ("16-bit values", "16-bit values"),
        ("TensorCore", "TensorCore"),
        ("opt-in", "opt-in"),
    ],
)
def test_a_phrase_is_compared_in_kbs_spelling_or_else_unchanged(phrase: str, means: str) -> None:
    assert canonical(phrase) == canonical(means) == means


@pytest.mark.parametrize(
    ("quantity", "condition", "means"),
    [
        ("vgprs_max", "", {"per lane"}),
        ("vgprs_max", "32 bit each", {"32 bit each", "per lane"}),
        ("vgprs_max", "per wavefront", {"per wavefront"}),
        ("lds_granule", "", {"per workgroup"}),
        ("lds_size", "opt-in, per thread block", {"opt-in", "per workgroup"}),
        ("peak_flops", "float16", {"float16", "per device"}),
        ("max_wavefronts", "", set()),
        ("vgpr_granule", "", set()),  # NVIDIA's documents count it per warp, AMD's per lane
        ("of_no_kind", "", set()),
    ],
)
def test_a_missing_share_is_the_usual_share_of_the_quantity(quantity: str, condition: str, means: set[str]) -> None:
    assert conditions(fact("255", "1", condition, quantity=quantity)) == means


@pytest.mark.parametrize(
    ("condition", "asked", "answered"),
    [
        ("float16, dense, matrix", ("float16", "dense"), True),
        ("float16, dense, matrix", ("float16", "per device"), True),
        ("float16, dense, matrix", ("float16", "whole device"), True),
        ("float16, dense, per die", ("float16", "dense"), True),
        ("float16, dense, per die", ("float16", "per device"), False),
        ("float16, matrix", ("float16",), True),
        ("float16, matrix", ("float16", "dense"), False),
        ("dense, matrix", ("float16", "dense"), False),
        ("float16, dense", ("float16", "matrix"), False),
        ("float16, dense", ("bfloat16",), False),
        ("float8_e4m3fnuz, dense", ("float8_e4m3fn",), True),
        ("float8, dense", ("float8_e4m3fn",), True),
        ("float8_e5m2, dense", ("float8",), True),
        ("", (), True),
    ],
)
def test_a_fact_without_a_condition_other_than_the_share_answers_only_questions_without_it(
    condition: str, asked: tuple[str, ...], answered: bool
) -> None:
    stated = fact("900", "TFLOP/s", condition, quantity="peak_flops")

    assert matching([stated], "peak_flops", *asked) == [stated] * answered
    assert matching([stated], "flops_per_clock", *asked) == []


@pytest.mark.parametrize(
    ("label", "key", "limit"),
    [
        ("Maximum registers per thread", VENDORS["cuda"].registers, 255),
        (
            "Shared memory allocation unit size (bytes)",
            ("lds_granule", VENDORS["cuda"].compute_unit["lds_granule"]),
            255,
        ),
    ],
)
def test_a_limit_that_a_table_states_without_a_condition_is_the_screen_s(
    label: str, key: tuple[str, ...], limit: int
) -> None:
    [read] = records(f"# Limits\n\n{table('Feature | H200', f'{label} | 255')}", target="h200")
    found = fact(read.value, read.unit, read.condition, quantity=read.quantity, form=read.form)

    assert (read.condition, one_value([found], *key)) == ("", (limit, found))


def test_a_fact_answers_only_its_own_condition() -> None:
    facts = [
        fact("228", "KiB", "per compute unit"),
        fact("48", "KiB", "per workgroup, without opt-in"),
        fact("1", "furlong", "per workgroup, opt-in"),
        fact("64x256x16", "MxNxK", "float16", quantity="matrix_shape"),
    ]

    assert one_value(facts, "lds_size", "per compute unit") == (228 * 1024, facts[0])
    assert one_value(facts, "lds_size", "per workgroup") == (48 * 1024, facts[1])
    assert one_value(facts, "lds_size", "per workgroup", "opt-in") is None
    assert one_value(facts, "matrix_shape") is None
    assert one_value(facts, "l2_size") is None


def test_equal_values_in_different_units_are_one_value_and_different_values_are_none() -> None:
    kib, byte, other = fact("64", "KiB"), fact("65536", "byte"), fact("64000", "byte")

    assert one_value([kib, byte], "lds_size") == (65536, kib)
    assert one_value([kib, byte, other], "lds_size") is None


def test_a_measured_value_outranks_a_stated_one_and_a_fact_table_outranks_other_text() -> None:
    stated, measured = fact("64", form=Form.STATED), fact("63", form=Form.STATED, trust=Trust.MEASURED)
    read_off = [fact("65", form=Form.TABLE), fact("66", form=Form.PROPOSED)]

    assert best([stated, measured, *read_off]) == [measured]
    assert best([stated, *read_off]) == [stated]
    assert best(read_off) == read_off
    assert best([]) == []


def peak(condition: str) -> Fact:
    return fact("900", "TFLOP/s", condition, quantity="peak_flops")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("float16, dense", "float16, dense", True),
        ("float16, dense", "float16, dense, whole device", True),
        ("float16", "float16, dense", True),
        ("float16, dense", "float16, matrix", False),
        ("float16, dense", "dense", False),
        ("float16", "float16, per die", False),
        ("float8", "float8_e5m2", True),
        ("float8_e4m3fn", "float8_e5m2", False),
    ],
)
def test_facts_are_compared_where_one_says_no_more_than_the_other_and_both_of_one_dtype_and_share(
    one: str, other: str, same: bool
) -> None:
    assert comparable(peak(one), peak(other)) is comparable(peak(other), peak(one)) is same


def test_facts_with_and_without_a_share_are_not_compared_if_no_share_is_usual() -> None:
    said, unsaid = (fact("32", "1", c, quantity="max_wavefronts") for c in ("per compute unit", ""))

    assert not comparable(said, unsaid)
    assert not comparable(said, fact("32", "1", "per compute unit", quantity="max_threads"))


@pytest.mark.parametrize(
    ("read", "stated", "beside"),
    [
        ("float16, dense, matmul", "float16, dense, matrix", True),
        ("float16, dense, matmul", "float16", True),
        ("float16, dense, matmul", "float16, sparse", False),
        ("float16, matmul", "float16, per die", True),
        ("float16, per compute unit", "float16", False),
        ("float16, of core 0", "float16, per compute unit", True),
        ("float8_e4m3fn", "float8_e4m3fnuz", True),
    ],
)
def test_a_reading_is_compared_with_a_fact_unless_their_conditions_differ(read: str, stated: str, beside: bool) -> None:
    reading = Measurement(quantity="peak_flops", value=1, unit="TFLOP/s", condition=read, how="by hand")

    assert compatible(reading, peak(stated)) is beside
    assert not compatible(reading, fact("1", quantity="hbm_bandwidth"))
