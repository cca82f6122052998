"""A prompt states a fact once, and none that only bounds chips or that the judge's processor lacks."""

import pytest

from kb.types.briefing import Answer, Said
from synth.briefing.fact_choice import matters, without_repeats
from tests.synth.samples import citation, fact
from tests.synth.test_topics import INT8, MATMUL, ON_EPYC


@pytest.mark.parametrize(
    ("quantity", "value", "unit", "text", "stated"),
    [
        ("cache_line_size", "64", "byte", "With the usual line of 64 bytes a register is a line.", False),
        ("alignment", "64", "byte", "An access that is not 64-byte aligned costs twice.", False),
        ("alignment", "64", "byte", "A buffer of 64 bytes.", True),
        ("accumulator_banks", "8", "1", "Eight banks allow eight groups.", False),
        ("accumulator_banks", "8", "1", "18 banks", True),
        ("accumulator_tiles", "4", "1", "At most 8 tiles of 16 bits, or 4 of 32 bits.", False),
        ("accumulator_tiles", "4", "1", "Eight tiles. Sets of 4 of them.", True),
        ("tile_shape", "8x128", "shape", "A tile is 8 x 128.", False),
        ("tile_shape", "8x128", "shape", "A tile is 8 x 1280.", True),
        ("lds_size", "64", "KiB", "The LDS allows two buffers of 64 KiB.", True),
        ("compute_units", "2", "1", "It has two vector units.", True),
    ],
)
def test_a_fact_is_left_out_where_the_words_beside_it_give_it(
    quantity: str, value: str, unit: str, text: str, stated: bool
) -> None:
    own = fact(1, quantity).model_copy(update={"value": value, "unit": unit})
    answers = [Answer(asks="?", facts=(own,)), Answer(asks="!", said=(Said(text=text, citation=citation(2)),))]

    assert (own in [f for answer in without_repeats(answers, "") for f in answer.facts]) is stated
    assert bool(without_repeats(answers[:1], text)) is stated


def test_what_the_contract_cites_is_left_out_and_a_series_of_values_only_whole() -> None:
    series = tuple(fact(n, "register_groups").model_copy(update={"value": str(n), "unit": "1"}) for n in (4, 8))
    answers = [Answer(asks="?", facts=series)]

    assert without_repeats(answers, f"at most 8 a row [{series[0].citation.id}]")[0].facts == series[1:]
    assert without_repeats(answers, "eight groups")[0].facts == series
    assert without_repeats(answers, "four groups or eight groups") == []


def test_bounds_of_an_architecture_and_units_that_are_lacking_do_not_matter() -> None:
    assert matters(fact(1, "vector_width", condition="zmm register"), INT8)
    assert not matters(fact(1, "vector_width", condition="upper bound of the ISA"), INT8)
    assert matters(fact(1, "tile_registers", condition="AMX palette 1"), INT8)
    assert not matters(fact(1, "tile_registers", condition="AMX palette 1"), ON_EPYC)
    assert not matters(fact(1, "peak_flops", condition="float16, dense, vector"), MATMUL)
