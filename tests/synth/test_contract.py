"""The contract agrees with eval/languages/kb_tensor.h and kb.types.kernels."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP, LANGUAGES
from kb.types.kernels import Candidate, Interface, Language
from synth.prompts.contract import contract
from tests.synth.samples import INTERFACE

HEADER = Path(__file__).parents[2] / "eval" / "languages" / "kb_tensor.h"


def test_the_struct_and_the_functions_are_those_of_the_header() -> None:
    header = HEADER.read_text(encoding="utf-8").splitlines()
    struct = header[header.index("typedef struct {") : header.index("} Tensor;") + 1]
    functions = [line for line in header if line.startswith("void ")]

    text = contract(INTERFACE, CPP)

    assert "\n".join(struct) in text
    assert len(functions) == 2
    assert "\n".join(functions) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_of_a_tunable_parameter_is_valid(language: Language) -> None:
    [parameter] = Candidate(language=language.name, source=contract(INTERFACE, language).replace("`", "")).parameters

    assert parameter.value in parameter.choices


@pytest.mark.parametrize("language", LANGUAGES)
def test_for_a_task_without_state_or_arguments_the_contract_says_none(language: Language) -> None:
    empty = Interface(inputs=INTERFACE.inputs, state=(), outputs=INTERFACE.outputs, init=())

    text = contract(empty, language)

    assert "`Model`: none." in text
    assert "`Model(...)`: none." in text
