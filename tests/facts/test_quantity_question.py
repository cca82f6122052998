"""A question asks for a quantity only if it says nothing else."""

import pytest

from kb.facts.quantity_question import asked_quantity
from kb.types.fact import Fact
from kb.types.passages import Citation

PLACE = Citation(id="f", path="a.md", sha256="0" * 64, section=("Memory",), line_start=1, line_end=1)


def fact(quantity: str, value: str, unit: str, condition: str = "", quote: str = "") -> Fact:
    return Fact(
        target="t",
        quantity=quantity,
        value=value,
        number=float(value),
        unit=unit,
        condition=condition,
        source="",
        citation=PLACE,
        quote=quote,
    )


@pytest.mark.parametrize(
    ("question", "quantities"),
    [
        ("LDS size per compute unit", {"lds_size"}),
        ("How much LDS does one compute unit have?", {"lds_size"}),
        ("LDS bandwidth in bytes per clock", {"lds_bandwidth"}),
        ("How many LDS banks are there?", {"lds_banks"}),
        ("What is the peak HBM bandwidth?", {"hbm_bandwidth"}),
        ("peak dense fp8 throughput in TFLOPS", {"peak_flops"}),
        ("wavefront size", {"wavefront_size"}),
        ("capacity of the scalar register file", {"sgpr_file_size"}),
    ],
)
def test_a_question_of_nothing_but_a_quantity_asks_for_it(question: str, quantities: set[str]) -> None:
    asked = asked_quantity(question)

    assert asked is not None
    assert asked.quantities >= quantities


@pytest.mark.parametrize(
    "question",
    [
        "avoid LDS bank conflicts",
        "How do I choose the LDS size of my kernel?",
        "LDS",
        "how wide is the LDS",
        "why is the L2 cache slow",
        "kernel uses 170 VGPRs: how many waves per SIMD can be resident?",
        "peak bandwidth that the copy benchmark reached",
        "",
    ],
)
def test_a_question_that_says_more_or_asks_for_no_number_does_not(question: str) -> None:
    assert asked_quantity(question) is None


@pytest.mark.parametrize(
    ("question", "stated", "answers"),
    [
        ("LDS size", fact("lds_size", "64", "KiB", "per compute unit"), True),
        ("LDS size per workgroup", fact("lds_size", "64", "KiB", "per compute unit"), False),
        ("LDS size in KB", fact("lds_size", "64", "KiB"), True),
        ("peak fp8 TFLOPS", fact("peak_flops", "10", "TFLOPS", "float8, dense"), True),
        ("peak int4 TFLOPS", fact("peak_flops", "10", "TFLOPS", "float8, dense"), False),
        ("peak sparse fp8 TFLOPS", fact("peak_flops", "10", "TFLOPS", "float8, dense"), False),
        ("line size of the instruction cache in bytes", fact("cache_line_size", "128", "byte", quote="L2 line"), False),
        (
            "line size of the instruction cache in bytes",
            fact("cache_line_size", "64", "byte", quote="the instruction cache has lines of 64 bytes"),
            True,
        ),
    ],
)
def test_a_fact_answers_if_unit_condition_and_subject_are_those_of_the_question(
    question: str, stated: Fact, answers: bool
) -> None:
    asked = asked_quantity(question)

    assert asked is not None
    assert asked.is_answered_by(stated) is answers


def test_a_fact_with_the_asked_condition_alone_is_less_special() -> None:
    asked = asked_quantity("LDS size")

    assert asked is not None
    assert asked.unasked(fact("lds_size", "64", "KiB", "per compute unit")) == 0
    assert asked.unasked(fact("lds_size", "64", "KiB", "per workgroup")) == 1
