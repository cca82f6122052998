"""Specifications of unseen chips are consistent, differ between seeds, and never share a word."""

from dataclasses import fields, replace

import pytest

from benchmarks.unseen.assembly import assemble
from benchmarks.unseen.chip import PARTS, TIMED, as_printed, chip, former, sibling
from benchmarks.unseen.instructions import FORMS, Op, Unit
from benchmarks.unseen.words import SEEDS, WORDS_PER_SEED, words
from tests.benchmarks.unseen.running import text

FEW, MANY = range(10), range(200)
seeds = pytest.mark.parametrize(
    "seed", [*FEW, *(pytest.param(seed, marks=pytest.mark.slow) for seed in MANY if seed not in FEW)]
)


def words_of(found):
    names = found.names
    own = [names.language, names.scratchpad, names.outer, names.accumulator, names.token, names.argument_table]
    return [*own, *names.units.values(), *(instruction.name for instruction in found.instructions.values())]


@seeds
def test_every_number_is_one_of_its_choices_and_has_a_meaning(seed):
    for part, kind in PARTS.items():
        for number in fields(kind):
            assert getattr(getattr(chip(seed), part), number.name) in number.metadata["choices"]
            assert number.metadata["meaning"]
    for op, instruction in chip(seed).instructions.items():
        form = FORMS[op]
        assert instruction.issue in form.issue
        assert instruction.busy in form.busy
        assert instruction.latency in form.latency


@seeds
def test_numbers_fit_each_other(seed):
    found = chip(seed)
    assert found.vectors.lanes % found.vectors.groups == 0
    assert found.scratchpad.words % found.scratchpad.line_words == 0
    assert len(set(words_of(found))) == len(words_of(found))
    assert found.instructions[Op.PRODUCT_FULL].busy > found.instructions[Op.PRODUCT_NARROW].busy
    for kind, hazard in ((hazard.kind, hazard) for hazard in found.hazards):
        assert hazard.cycles in TIMED.get(kind, (0,))


@seeds
def test_the_text_before_the_errata_differs_where_they_say_so_and_nowhere_else(seed):
    found, printed = chip(seed), as_printed(chip(seed))
    for erratum in found.errata:
        assert getattr(getattr(found, erratum.part), erratum.name) == erratum.actual != erratum.printed
        corrected = replace(getattr(printed, erratum.part), **{erratum.name: erratum.actual})
        printed = replace(printed, **{erratum.part: corrected})
    assert replace(printed, hazards=found.hazards, errata=found.errata) == found
    assert sum(hazard.in_errata_only for hazard in found.hazards) == 1


@seeds
def test_the_family_shares_words_with_the_sibling_and_none_with_the_former_revision(seed):
    found = chip(seed)
    assert words_of(sibling(found)) == words_of(found)
    assert sibling(found).names.chip != found.names.chip
    assert not set(words_of(former(found))) & set(words_of(found))
    assert sibling(found).scratchpad.words not in (found.scratchpad.words, as_printed(found).scratchpad.words)


def test_no_word_belongs_to_two_seeds():
    seen = [word for seed in MANY for word in words(seed)]
    assert len(set(seen)) == len(seen) == len(MANY) * WORDS_PER_SEED


def test_seeds_without_words_are_refused():
    with pytest.raises(ValueError, match="has no words"):
        next(words(SEEDS))


def test_the_same_seed_gives_the_same_chip():
    assert chip(7) == chip(7)
    assert chip(7) != chip(8)


def test_every_kind_of_every_choice_is_drawn_by_some_seed():
    chips = [chip(seed) for seed in MANY]
    for part, kind in PARTS.items():
        for number in fields(kind):
            drawn = {getattr(getattr(found, part), number.name) for found in chips}
            assert drawn == set(number.metadata["choices"])


def test_a_program_reads_as_it_is_written():
    found = chip(0)
    first = f"{found.names.scalar_prefix}0"
    program = assemble(
        found, "; nothing\n\nhere:\n" + text(found, (Op.ADD, first, first, "0x10"), (Op.BRANCH, first, 3, "here"))
    )
    registers = found.registers.scalar
    assert [step.op for step in program.steps] == [Op.ADD, Op.BRANCH]
    assert program.steps[1].operands == (0, registers + 1, 0)
    assert program.constants == (16, 3)
    assert [step.line for step in program.steps] == [4, 5]


def test_every_operation_has_a_unit_that_is_named():
    assert {form.unit for form in FORMS.values()} == set(Unit) == set(chip(0).names.units)
