"""A prompt for a chip that nobody prepared: its own programming model, what the task needs, and no foreign contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from eval.task import load_task
from kb.home.briefing import fitting_facts
from kb.home.knowledge_base import KnowledgeBase
from kb.model.fact import Fact, FactAnswer
from kb.model.kernels import Interface, TensorSpec
from kb.model.passages import Citation
from kb.settings import Settings
from synth.prompts.needs import needs

SOFTMAX = Path(__file__).parents[2] / "examples" / "softmax.py"
MATMUL = SOFTMAX.with_name("matmul.py")

MANUAL = """# Zchip programming manual

## Programming model

A kernel is a function that each of the 16 workers of a tile runs; `zc_worker_id()` says which one runs.

## Exponentials

`zc_exp2(x)` computes 2^x of a float vector in 4 cycles.

## Reductions

`zc_reduce_max(v)` gives the maximum of the lanes; sums have `zc_reduce_add(v)`.

## Boot

The boot loader reads the flash and checks its signature. The loader waits for the watchdog.
"""


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    (tmp_path / "zchip").mkdir()
    (tmp_path / "zchip" / "manual.md").write_text(MANUAL)
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        kb.ingest([tmp_path / "zchip"])
        yield kb


def test_a_chip_without_a_judge_gets_a_prompt_with_its_model_and_what_the_task_needs(kb: KnowledgeBase) -> None:
    kb.answer_facts("zchip", [FactAnswer(quantity="workers", value="16", quote="16 workers")], trust_quotes=True)
    _, prompt = kb.prompt(kb.plan(load_task(SOFTMAX), "zchip", language="zc", synthesizer="external"))

    assert "in the language `zc`" in prompt.text
    assert "workers = 16" in prompt.text
    for named in ("zc_worker_id", "zc_exp2", "zc_reduce_max"):
        assert named in prompt.text
    assert "How the judge decides" not in prompt.text
    assert prompt.skills == ()
    assert prompt.tokens <= 6000


def test_needs_follow_from_the_operations_of_the_task() -> None:
    softmax, matmul = needs(load_task(SOFTMAX)), needs(load_task(MATMUL))
    assert any("exponential" in phrase for phrase in softmax)
    assert any("matrix" in phrase for phrase in matmul)
    assert not any("matrix" in phrase for phrase in softmax)


def fact(quantity: str, condition: str = "") -> Fact:
    place = Citation(id=quantity, path="a.md", sha256="0" * 64, section=(), line_start=1, line_end=1)
    return Fact(
        target="zchip", quantity=quantity, value="2", number=2, unit="1", condition=condition, source="", citation=place
    )


@pytest.mark.parametrize(
    ("operations", "kept"),
    [(0, ["lds_size", "own_name", "peak_flops"]), (8, ["lds_size", "matrix_shape", "own_name", "peak_flops"])],
)
def test_facts_of_other_data_types_of_systems_and_of_unused_matrix_units_stay_out(
    operations: int, kept: list[str]
) -> None:
    tensor = TensorSpec(name="x", shape=(4,), dtype="float32")
    task = Interface(inputs=(tensor,), state=(), outputs=(tensor,), init=(), matrix_operations=operations)
    facts = [
        fact("peak_flops", "float32"), fact("peak_flops", "int8"), fact("matrix_shape", "float32"), fact("power_max"),
        fact("own_name"), fact("lds_size"),
    ]  # fmt: skip
    assert sorted({f.quantity for f in fitting_facts(facts, task)}) == kept
    assert all("int8" not in f.condition for f in fitting_facts(facts, task))
