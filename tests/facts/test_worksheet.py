"""The worksheet asks what kernel authors need, and puts each fact at the question that it answers."""

import pytest

from kb.facts.quantities import quantities
from kb.facts.worksheet import OTHER, line_of, lines


def test_every_quantity_of_kb_belongs_to_exactly_one_line() -> None:
    named = [quantity for line in lines() for quantity in line.quantities]
    assert sorted(named) == sorted(quantities().by_name)


def test_every_line_can_be_asked_in_several_phrasings() -> None:
    assert all(len(line.phrasings) > 1 for line in lines())


@pytest.mark.parametrize(
    ("quantity", "asks"),
    [
        ("tcdm_banks", "tcdm"),
        ("dma_dimensions", "DMA"),
        ("fma_latency", "How long"),
        ("barrier_csr", "barriers"),
        ("lds_size", "Which memories"),
    ],
)
def test_a_vendors_own_name_belongs_to_a_line_by_one_of_its_words(quantity: str, asks: str) -> None:
    line = line_of(quantity)
    assert asks in line.asks or asks in line.words


def test_a_name_without_a_known_word_belongs_to_the_last_line() -> None:
    assert line_of("zyx") == OTHER
