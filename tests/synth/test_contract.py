"""The contract agrees with eval/languages/kb_tensor.h and kb.types.kernels."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP, LANGUAGES, TRITON
from kb.types.kernels import AllowedError, Candidate, Interface, Language, Precision, TensorSpec
from kb.types.terms import Best, Judged, Terms
from synth.prompts.contract import contract
from tests.synth.samples import INTERFACE, TASK

HEADER = Path(__file__).parents[2] / "eval" / "languages" / "kb_tensor.h"


def test_the_struct_and_the_functions_are_those_of_the_header() -> None:
    header = HEADER.read_text(encoding="utf-8").splitlines()
    struct = header[header.index("typedef struct {") : header.index("} Tensor;") + 1]
    functions = [line for line in header if line.startswith("void ")]

    text = contract(TASK, INTERFACE, CPP, Terms(judged="cpu"))

    assert "\n".join(struct) in text
    assert len(functions) == 2
    assert "\n".join(functions) in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_example_of_a_tunable_parameter_is_valid(language: Language) -> None:
    [parameter] = Candidate(
        language=language.name, source=contract(TASK, INTERFACE, language, Terms()).replace("`", "")
    ).parameters

    assert parameter.value in parameter.choices


@pytest.mark.parametrize("language", LANGUAGES)
def test_where_nothing_is_tuned_the_contract_speaks_of_no_tunable_constants(language: Language) -> None:
    untuned = language.model_copy(update={"tunable": ""})

    assert "tunable" in contract(TASK, INTERFACE, language, Terms())
    assert "tun" not in contract(TASK, INTERFACE, untuned, Terms()).replace("triton.autotune", "")


@pytest.mark.parametrize("language", LANGUAGES)
def test_for_a_task_without_state_or_arguments_the_contract_says_none(language: Language) -> None:
    empty = Interface(inputs=INTERFACE.inputs, state=(), outputs=INTERFACE.outputs, init=())

    text = contract(TASK, empty, language, Terms())

    assert "`Model`: none." in text
    assert "`Model(...)`, in order: none." in text


def test_of_hundreds_of_weights_the_first_are_listed_and_the_others_counted() -> None:
    weights = tuple(TensorSpec(name=f"layer{n}.weight", shape=(n, 8), dtype="float32") for n in range(1, 301))

    text = contract(TASK, INTERFACE.model_copy(update={"state": weights}), TRITON, Terms(judged="gpu"))

    assert "39. `layer40.weight: float32[40, 8]`\n  and 260 more, as the reference's `state_dict()` has them" in text
    assert "layer41.weight" not in text


@pytest.mark.parametrize("precision", Precision)
def test_the_precision_of_the_task_is_named(precision: Precision) -> None:
    text = contract(TASK.model_copy(update={"precision": precision}), INTERFACE, TRITON, Terms(judged="gpu"))

    assert f"precision is `{precision}`" in text.replace("\n", " ")


@pytest.mark.parametrize(("judged", "said"), [("gpu", True), ("cpu", False)])
def test_a_convolution_in_tf32_may_have_the_error_of_one_product_in_it(judged: Judged, said: bool) -> None:
    allowed = AllowedError(output="y", roundings=256, rounding=1e-7, slack=16, median=1e-4, least=6e-5, biased=False)
    convolves = INTERFACE.model_copy(update={"in_tf32": True, "allowed": (allowed,)})

    text = contract(TASK, convolves, TRITON, Terms(judged=judged))

    assert ("may do one product in TF32" in text.replace("\n", " ")) is said
    assert ("Aim at a relative error" in text) is not said


def test_several_workloads_are_listed_with_what_a_win_is() -> None:
    several = TASK.model_copy(update={"workloads": ({"rows": 16, "given_by": 2.5}, {"rows": 3, "given_by": 2.5})})

    text = contract(several, INTERFACE, TRITON, Terms(judged="gpu"))

    assert "2 workloads; those sizes are of the first:\n- rows=16, given_by=2.5\n- rows=3, given_by=2.5\n" in text
    assert "geometric mean over the workloads, and none of them may be below 0.95.\n" in text


def text_for(judged: Judged, dtype: str = "float32", **terms: object) -> str:
    tensor = TensorSpec(name="x", shape=(8, 8), dtype=dtype)
    product = Interface(inputs=(tensor,), state=(), outputs=(tensor,), init=(4096.0, 1e-5), matrix_operations=1024)
    return contract(TASK, product, TRITON, Terms(judged=judged, **terms))


@pytest.mark.parametrize(
    ("judged", "said", "unsaid"),
    [
        ("gpu", ["runs and times it", "eager, torch.compile", "current", "A baseline in TF32 counts"], ["interpreter"]),
        ("cpu", ["runs and times it"], ["interpreter", "A baseline in TF32 counts", "Work queued"]),
        ("screen", ["interpreter", "ask no device", "only the grid may differ"], ["runs and times", "For a win"]),
        ("simulator", ["simulator"], ["interpreter", "For a win"]),
        ("built", ["only compiles it"], ["For a win", "other values"]),
    ],
)
def test_the_contract_follows_the_device_that_judges(judged: Judged, said: list[str], unsaid: list[str]) -> None:
    text = text_for(judged, baselines=("eager", "torch.compile"))

    assert [words for words in said if words not in text] == []
    assert [words for words in unsaid if words in text] == []


def test_the_contract_states_the_error_allowed_the_best_times_and_the_roof() -> None:
    allowed = AllowedError(
        output="output0", roundings=256, rounding=1.2e-7, slack=16, median=3.1e-5, least=2.9e-5, biased=False
    )
    interface = INTERFACE.model_copy(update={"allowed": (allowed,)})
    known = (Best(what="the fastest baseline, eager,", time_us=81.53),)
    text = " ".join(contract(TASK, interface, TRITON, Terms(judged="gpu", known=known, roof=("80.1 us: 1 B",))).split())

    assert "relative error of at most 3.1e-05 in each element of `output0`" in text
    assert "256 roundings of the type (1.2e-07 each)" in text
    assert "3e-05 for the median element and 3e-05 for the strictest" in text
    assert "the fastest baseline, eager, takes 81.53 us" in text
    assert "no kernel is faster than these bounds: ```text 80.1 us: 1 B ```" in text


def test_init_is_listed_by_name_and_the_sizes_that_the_judge_changes_are_named() -> None:
    text = contract(TASK, INTERFACE, CPP, Terms(judged="cpu"))

    assert "`columns` = 4096, `eps` = 1e-05" in text
    assert "`rows`, `columns` other values" in text


def test_however_whole_numbers_are_assigned_their_names_are_sizes() -> None:
    source = "inner = 1024 * 4\nshape = (2, 3)\neps = 0.5\nh, w = 8, 9\nd = e = 7\nstride = 1\n"
    text = contract(TASK.model_copy(update={"source": source}), INTERFACE, CPP, Terms(judged="cpu"))

    assert "gives `inner`, `shape`, `h`, `w`, `d`, `e` other values" in text


@pytest.mark.parametrize(("dtype", "said"), [("bfloat16", True), ("float16", True), ("float32", False)])
def test_half_precision_is_summed_in_float32(dtype: str, said: bool) -> None:
    assert (f"Sum {dtype} in float32" in text_for("gpu", dtype)) is said


MISLEADING = [
    "sum in at least that precision", "finishes an output after the call has returned", "Sizes vary between builds",
    "kb cite", "which declares:", "any value where", "the target's GPU is not present",
]  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_contract_has_a_sentence_that_misled_authors(language: Language) -> None:
    text = " ".join(contract(TASK, INTERFACE, language, Terms(judged="gpu")).split())

    assert [words for words in MISLEADING if words in text] == []


@pytest.mark.parametrize(("buffer", "said"), [("norm.num_batches_tracked", True), ("norm.bias", False)])
def test_that_running_statistics_need_no_update_is_said_where_the_reference_keeps_some(buffer: str, said: bool) -> None:
    state = (TensorSpec(name=buffer, shape=(), dtype="int64"),)

    text = contract(TASK, INTERFACE.model_copy(update={"state": state}), TRITON, Terms(judged="gpu"))

    assert ("running statistics" in text) == said
