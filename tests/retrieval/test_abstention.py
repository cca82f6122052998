"""A question that the documents do not answer is refused with the reason; one that they answer is not."""

from pathlib import Path

import pytest

from kb.types.passages import Status
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.abstention import asked_number

MANUAL = """# Tile processor

## Threads

Each tile has eight hardware threads. The scheduler is fair; loop warping is off.

## External memory

A controller on the device connects an external LPDDR memory, which holds the weights of a network.

## Local memory

| memory | size (KB) | access |
|---|---|---|
| SRAM of a tile | 512 | one word per clock cycle |
| boot ROM | 8 | two cycles |

## Arithmetic

The vector unit multiplies single-precision floating-point numbers at 600 MHz.
"""


@pytest.fixture
def tiles(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    folder = tmp_path / "tilechip"
    folder.mkdir()
    (folder / "manual.md").write_text(MANUAL, encoding="utf-8")
    filler = "\n\n".join(f"## Register {n}\n\nRegister {n} of the port controller holds {n} bytes." for n in range(60))
    (folder / "registers.md").write_text(f"# Registers\n\n{filler}\n", encoding="utf-8")
    kb.ingest([folder])
    return kb


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ("blurgh", "blurgh"),
        ("Wombats", "wombats"),
        ("frobnicate the snorkel", "snorkel"),
        ("Please tell me about wombats", "wombats"),
        ("tilechip wombats", "wombats"),
        ("本地缓存", "本地缓存"),
        ("Address of TILE_CTRL", "TILE_CTRL"),
        ("Which NVFP4 scale does MXDOT expect?", "NVFP4"),
        ("Bandwidth in GB/s of the external LPDDR memory", "GB/s"),
        ("Power of the tile in watts", "watts"),
        ("Peak single-precision GFLOPS of one tile", "GFLOPS"),
        ("How many bytes of external LPDDR memory fit?", "bytes"),
    ],
)
def test_what_no_document_states_is_refused_and_the_note_names_it(
    tiles: KnowledgeBase, question: str, named: str
) -> None:
    result = tiles.search(question, target="tilechip")

    assert (result.status, result.hits) == (Status.INSUFFICIENT, ())
    assert any(named.casefold() in note.casefold() for note in result.notes)


@pytest.mark.parametrize(
    "question",
    [
        "How many hardware threads does a tile have?",
        "Size in KB of the SRAM of a tile",
        "At how many MHz does the vector unit multiply?",
        "How many bytes does register 12 of the port controller hold?",
        "How large is the memory that a kernel can use on a chip?",
        "Why does my wavefront wait for the port controller?",
        "How many hardware threads does a warp of the tile have?",
        "How many hardware threads does a tile of the Darjeeling chip have?",
        "Can I pin hot buffers in the SRAM?",
        "scheduling",
        "frobnicate a tile",
        "tilechip",
        "Is a quicker access to external LPDDR memory possible?",
    ],
)
def test_what_the_documents_state_and_what_is_asked_in_other_words_is_searched_for(
    tiles: KnowledgeBase, question: str
) -> None:
    result = tiles.search(question, target="tilechip")

    assert (result.status, result.notes) == (Status.OK, ())


def test_an_unknown_name_beside_words_that_a_passage_has_is_noted_and_refuses_nothing(tiles: KnowledgeBase) -> None:
    result = tiles.search("single-precision floating-point numbers of the vector unit (VXU)", target="tilechip")

    assert "vector unit multiplies" in result.hits[0].passage.text
    assert "mentions VXU" in result.notes[0]


@pytest.mark.parametrize(
    ("question", "unit"),
    [
        ("latency in cycles of a load", "cycles"),
        ("How many bytes fit?", "bytes"),
        ("link bandwidth (GB/s)", "GB/s"),
        ("peak TFLOPS of fp8", "TFLOPS"),
        ("capacity of the cache in KiB", "KiB"),
        ("area in gate equivalents", "equivalents"),
        ("does a 64 KB tile fit", None),
        ("what does a 32-bit load cost", None),
        ("load A and B", None),
        ("measuring at a locked clock", None),
    ],
)
def test_a_question_asks_for_a_unit_if_it_names_one_without_a_number(question: str, unit: str | None) -> None:
    number = asked_number(question)

    assert (number[0] if number else None) == unit
