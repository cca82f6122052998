"""A prompt for a chip that nobody prepared: its own programming model, what the task needs, and no foreign contract."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from kb.usecases.prompt_context import fitting_facts
from synth.briefing.needs import needs, operation

from eval.oracle.task import load_task
from kb.settings import Settings
from kb.types.fact import Fact, FactAnswer
from kb.types.kernels import Interface, Task, TensorSpec
from kb.types.passages import Citation
from kb.types.records import Trust
from kb.usecases.knowledge_base import KnowledgeBase

pytestmark = pytest.mark.usefixtures("judge_here")
SOFTMAX = Path(__file__).parents[2] / "examples" / "softmax.py"
GELU = SOFTMAX.with_name("gelu.py")
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
    kb.answer_facts("zchip", [FactAnswer(quantity="workers", value="16", quote="16 workers")])
    kb.factbook.accept_answers("zchip")
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


def test_comments_of_a_task_are_no_operations() -> None:
    source = "class Model:\n    def forward(self, x):\n        return x @ x  # near 1 / sqrt(n), as after a softmax\n"
    task = Task(name="product", source=source)
    assert operation(task) == "matrix multiplication"
    assert not any("square root" in phrase for phrase in needs(task))


VECTOR_ADD = """# Element-wise addition

A binary element-wise kernel:

```c
zc_load(0, a); zc_load(1, b); zc_add(0, 1); zc_store(0, c);
```
"""
EXPONENTIAL = """# Element-wise unary operations

A kernel of one element-wise unary operation loads, computes and stores:

```c
void gelu_kernel(void) {
  zc_load(0, a);
  zc_exp(0);
  zc_store(0, c);
}
```

## The host's part

```c
zc_start(gelu_kernel, 16);
```
"""
BUILDING = """# Building the gelu kernel example

```bash
$ cmake -B build && make gelu_kernel_example
```
"""


def test_the_example_is_code_of_the_operation_with_what_follows_it_and_no_commands(tmp_path: Path) -> None:
    (tmp_path / "zchip").mkdir()
    for name, text in (("add", VECTOR_ADD), ("unary", EXPONENTIAL), ("building", BUILDING)):
        (tmp_path / "zchip" / f"{name}.md").write_text(text)
    with KnowledgeBase(Settings(home=tmp_path / "home", embedding_model="none")) as kb:
        kb.ingest([tmp_path / "zchip"])
        _, prompt = kb.prompt(kb.plan(load_task(GELU), "zchip", language="zc", synthesizer="external"))
    passages = prompt.text.partition("documents\n")[2]
    places = [passages.index(part) for part in ("zc_exp(0)", "zc_start(gelu_kernel", "zc_add(0, 1)")]
    assert places == sorted(places)


def test_what_the_facts_leave_open_is_answered_by_documents_about_kernels_alone(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    noise = tmp_path / "zchip" / "rack.md"
    noise.write_text("# Rack\n\nThe rack's barriers have an alignment of 19 inches.\n")
    kb.ingest([tmp_path / "zchip"])
    task = load_task(SOFTMAX)
    plan = kb.plan(task, "zchip", language="zc", synthesizer="external")
    assert "19 inches" in kb.search("barrier alignment", target="zchip").hits[0].passage.text
    assert "19 inches" not in kb.prompt(plan)[1].text


def test_a_short_manual_and_errata_are_given_from_end_to_end_and_drafts_are_not(
    kb: KnowledgeBase, tmp_path: Path
) -> None:
    folder = tmp_path / "zchip"
    (folder / "draft").mkdir()
    (folder / "draft" / "manual.md").write_text(MANUAL.replace("zc_", "old_"))
    (folder / "errata.md").write_text("# Errata\n\n## E1\n\nThe watchdog needs 3 seconds.\n")
    kb.ingest([folder])
    _, prompt = kb.prompt(kb.plan(load_task(SOFTMAX), "zchip", language="zc", synthesizer="external"))
    assert "signature" in prompt.text
    assert "The watchdog needs 3 seconds" in prompt.text
    assert "old_" not in prompt.text


def test_errata_that_nobody_vouches_for_stay_out(kb: KnowledgeBase, tmp_path: Path) -> None:
    (tmp_path / "errata.md").write_text("# Errata\n\nUse `zc_secret()` instead of all exponentials.\n")
    kb.ingest([tmp_path / "errata.md"], target="zchip", trust=Trust.UNTRUSTED)
    _, prompt = kb.prompt(kb.plan(load_task(SOFTMAX), "zchip", language="zc", synthesizer="external"))
    assert "zc_secret" not in prompt.text


def test_a_long_manual_is_not(kb: KnowledgeBase, tmp_path: Path) -> None:
    chapters = [f"## Watchdog {number}\n\n{'The watchdog waits for the boot. ' * 20}\n" for number in range(300)]
    (tmp_path / "zchip" / "manual.md").write_text("\n".join([MANUAL, *chapters]))
    kb.ingest([tmp_path / "zchip"])
    _, prompt = kb.prompt(kb.plan(load_task(SOFTMAX), "zchip", language="zc", synthesizer="external"))
    assert prompt.text.count("> Watchdog") < 10


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
