"""The contract agrees with eval/languages/kb_tensor.h and kb.types.kernels."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP, LANGUAGES
from kb.types.kernels import Candidate, Interface, Language, Precision
from synth.prompts.contract import contract
from tests.synth.samples import INTERFACE, TASK

HEADER = Path(__file__).parents[2] / "eval" / "languages" / "kb_tensor.h"


def test_the_struct_and_the_functions_are_those_of_the_header() -> None:
    header = HEADER.read_text(encoding="utf-8").splitlines()
    struct = header[header.index("typedef struct {") : header.index("} Tensor;") + 1]
    functions = [line for line in header if line.startswith("void ")]

    text = contract(TASK, INTERFACE, CPP)

    assert "\n".join(struct) in text
    assert len(functions) == 2
    assert "\n".join(functions) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_of_a_tunable_parameter_is_valid(language: Language) -> None:
    [parameter] = Candidate(
        language=language.name, source=contract(TASK, INTERFACE, language).replace("`", "")
    ).parameters

    assert parameter.value in parameter.choices


@pytest.mark.parametrize("language", LANGUAGES)
def test_for_a_task_without_state_or_arguments_the_contract_says_none(language: Language) -> None:
    empty = Interface(inputs=INTERFACE.inputs, state=(), outputs=INTERFACE.outputs, init=())

    text = contract(TASK, empty, language)

    assert "`Model`: none." in text
    assert "`Model(...)`: none." in text


@pytest.mark.parametrize("precision", Precision)
def test_the_precision_of_the_task_is_named(precision: Precision) -> None:
    text = contract(TASK.model_copy(update={"precision": precision}), INTERFACE, CPP)

    assert f"precision is `{precision}`" in text.replace("\n", " ")


def test_several_workloads_are_listed_with_what_a_win_is() -> None:
    several = TASK.model_copy(update={"workloads": ({"rows": 16, "given_by": 2.5}, {"rows": 3, "given_by": 2.5})})

    text = contract(several, INTERFACE, CPP)

    assert "2 workloads; those sizes are of the first:\n- rows=16, given_by=2.5\n- rows=3, given_by=2.5\n" in text
    assert "geometric mean over the workloads, and none of them may be below 0.95.\n- Without the target" in text
