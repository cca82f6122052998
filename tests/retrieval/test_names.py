"""An exact name brings its definition first: in a home of small files, and before every page that only mentions it."""

from itertools import product
from pathlib import Path

import pytest

from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.names import asked_name

OPERATIONS = {"add": "Adds", "sub": "Subtracts", "mul": "Multiplies", "madd": "Multiplies and adds", "avg": "Averages"}
HALVES = {"w": "all", "wev": "the even", "wod": "the odd", "l": "the lower"}
WIDTHS = {"b": "byte", "h": "half word"}
NAMES = [f"vx{operation}{half}.{width}" for operation, half, width in product(OPERATIONS, HALVES, WIDTHS)]


def description(name: str) -> str:
    operation, half, width = next(
        (o, h, w) for o, h, w in product(OPERATIONS, HALVES, WIDTHS) if f"vx{o}{h}.{w}" == name
    )
    return (
        f"{OPERATIONS[operation]} {HALVES[half]} {WIDTHS[width]} elements of the vector registers vj and vk and writes "
        f"the results to the vector register vd. No exception is raised. See also {', '.join(NAMES[:3])}.\n"
    )


@pytest.fixture(params=["txt", "md"])
def small_files(request: pytest.FixtureRequest, kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    """A home of 40 files, one for each instruction, and an index that mentions them all."""
    folder = tmp_path / "newchip"
    folder.mkdir()
    for name in NAMES:
        head = f"# {name}\n\n" if request.param == "md" else f"{name} vd, vj, vk\n\n"
        (folder / f"{name}.{request.param}").write_text(head + description(name), encoding="utf-8")
    index = "\n\n".join(f"{name}: see {name} for {name}." for name in NAMES)
    (folder / f"index.{request.param}").write_text(f"Index\n=====\n\n{index}\n", encoding="utf-8")
    kb.ingest([folder], target=None)
    return kb


@pytest.mark.parametrize("asked", ["{}", "What does {} do?"])
def test_an_instruction_asked_by_its_name_is_first(small_files: KnowledgeBase, asked: str) -> None:
    first = {
        name: small_files.search(asked.format(name), target="newchip").hits[0].passage.citation.path for name in NAMES
    }

    assert [name for name, path in first.items() if Path(path).stem != name] == []


@pytest.mark.parametrize(
    ("question", "name"),
    [
        ("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_f16"),
        ("What does mbarrier.init do?", "mbarrier.init"),
        ("what is setc?", "setc"),
        ("LDS bank conflicts", None),
        ("latency of vfdiv.vv", None),
        ("vfdiv.vv or vfsqrt.v", None),
        ("what is this", None),
    ],
)
def test_a_question_asks_for_a_name_if_it_has_no_other_words_than_stop_words(question: str, name: str | None) -> None:
    assert asked_name(question) == name
