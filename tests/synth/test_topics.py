"""What a statement is about decides whether a prompt may quote it."""

import re
from pathlib import Path

import pytest

from kb.types.kernels import Interface, Task, TensorSpec
from synth.briefing.questions import (
    MOST_QUESTIONS,
    MOST_TECHNIQUES,
    Question,
    Technique,
    _shipped,
    questions_for,
    techniques_for,
)
from synth.briefing.shapes import shapes_of
from synth.briefing.topics import Subject, family_of, helps, kept_sentences, operations_in, topics

OF_GPUS = re.compile(r"\b(?:warps?|programs?|workgroups?|grid|thread blocks?|special functions?)\b")
SOFTMAX = Subject(
    targets=("h100", "hopper", "nvidia"), family="gpu", language="triton", limit="memory", dtypes=("float32",),
    operations=("softmax", "reduction", "exponential functions"),
)  # fmt: skip
MATMUL = SOFTMAX.model_copy(
    update={"operations": ("matrix multiplication", "transpose"), "limit": "compute", "dtypes": ("float16",)}
)
INT8 = MATMUL.model_copy(update={"family": "cpu", "language": "cpp", "targets": ("cpu-x86",), "dtypes": ("int8",)})
ON_EPYC = INT8.model_copy(update={"judged": "cpu", "lacks": ("amx",)})
IN_QEMU = INT8.model_copy(update={"judged": "simulator"})
ATTENTION = MATMUL.model_copy(update={"operations": ("matrix multiplication", "attention", "softmax")})
BACKWARD = ATTENTION.model_copy(update={"operations": (*ATTENTION.operations, "gradient")})
UNKNOWN = SOFTMAX.model_copy(update={"operations": (), "multiplies": False})
SUM = SOFTMAX.model_copy(update={"operations": ("reduction",)})
TTL = SOFTMAX.model_copy(update={"family": "npu", "language": "ttl", "targets": ("wormhole", "tenstorrent")})
GELU = SOFTMAX.model_copy(
    update={"operations": ("exponential functions", "element-wise operation"), "steps": ("arithmetic",)}
)
CAUSAL = SOFTMAX.model_copy(update={"steps": ("arithmetic", "sums", "choices")})
FOREIGN = [
    ("Zero the accumulator first.", GELU, True),
    ("Zero the accumulator first.", CAUSAL, False),
    ("Zero the accumulator first.", SOFTMAX, False),
    ("Many branches hurt.", GELU, True),
    ("Many branches hurt.", CAUSAL, False),
    ("SMEM reads single words.", CAUSAL, True),
    ("SLEEF and SVML have them ready, where a library may be linked.", ON_EPYC, True),
    ("Who starts the process pins it with `OMP_PLACES=cores` and `numactl --cpunodebind=0`.", ON_EPYC, True),
    ("In PyTorch, `torch.set_flush_denormal(True)` does it.", ON_EPYC, True),
    ("Split the outermost dimension (`#pragma omp parallel for`).", ON_EPYC, False),
    ("GEMM: tiles of 128x128.", SOFTMAX, True),
    ("GEMM: tiles of 128x128.", MATMUL, False),
    ("Memory-bound kernels (norms, softmax, element-wise): one row per block.", SOFTMAX, False),
    ("Memory-bound kernels (norms, softmax, element-wise): one row per block.", MATMUL, True),
    ("FP8: twice the K.", MATMUL, True),
    ("Few rows (decoding): bound by reading weights.", SOFTMAX, True),
    ("Few rows (decoding): bound by reading weights.", MATMUL, False),
    ("Short kernels: one or a few rows per block.", SOFTMAX.model_copy(update={"limit": "launch"}), False),
    ("N is a multiple of 8 (int8: of 16).", MATMUL, False),
    ("16-bit operands may be transposed.", MATMUL, False),
    ("`nvcc -arch=sm_90a` has wgmma.", MATMUL, True),
    ("Triton: `num_warps`, `maxnreg`.", SOFTMAX, False),
    ("Attention: keep the scores in registers, use base-2 exponentials.", SOFTMAX, True),
    ("Resident blocks share the shared memory.", SOFTMAX, False),
    ("Shared memory has banks of 4 bytes.", SOFTMAX, True),
    ("Shared memory has banks of 4 bytes.", SOFTMAX.model_copy(update={"language": "cuda"}), False),
    ("The cores are RISC-V cores.", TTL, True),
    ("`ttl.copy` moves a tile over the NoC.", TTL, False),
    ("The vector unit has 32 lanes.", TTL, False),
    ("`ZC_TRACE=1` prints each step.", SOFTMAX, True),
    ("Sums differ between chips: compare with a tolerance.", SOFTMAX, True),
    ("Licensed under the Apache License.", SOFTMAX, True),
    ("pip install triton", SOFTMAX, True),
    ("Error Code = E7; Error Message = The type is wrong.", SOFTMAX, True),
    ("In this example, the left core sends.", SOFTMAX, True),
    ("The goal is to let developers focus.", SOFTMAX, True),
    ("Space of a block: for larger K also block K.", SOFTMAX, True),
    ("Give each buffer the tiles of a block.", SOFTMAX, False),
    ("We now look at softmax.", SOFTMAX, True),
    ("Sparse rows need structured A.", MATMUL, True),
    ("On SVE use svdot.", INT8, True),
    ("AVX-512 has 32 registers.", INT8, False),
    ("bfloat16 is emulated.", INT8, True),
    ("bfloat16 is emulated.", SOFTMAX, True),
    ("bfloat16 is emulated.", MATMUL, False),
    ("Convert bfloat16 after the load.", SOFTMAX, False),
    ("AMX tile data is off until the process asks.", INT8, False),
    ("AMX tile data is off until the process asks.", ON_EPYC, True),
    ("Without AMX keep the accumulators in registers.", ON_EPYC, False),
    ("Check VNNI and AMX first.", ON_EPYC, False),
    ("Threads: one contiguous piece per core.", INT8, False),
    ("Threads: one contiguous piece per core.", IN_QEMU, True),
    ("Denormals are slow.", INT8, True),
    ("Denormals are slow.", SOFTMAX, False),
    ("`addv_u16` adds lanes.", SOFTMAX, True),
    ("Widen to int16 first.", INT8, False),
    ("FP8 runs twice as fast as bfloat16.", MATMUL, True),
    ("Mixed widths: begin with the widest type.", SOFTMAX, True),
    ("Mixed widths: begin with the widest type.", MATMUL, False),
    ("GEMM tiles for 16-bit: 128x256x64.", ATTENTION, True),
    ("Products take 128 columns.", ATTENTION, False),
    ("Registers are rarely the limit, not even of a GEMM.", ATTENTION, False),
    ("GEMM and attention: number tiles in bands.", ATTENTION, False),
    ("The backward pass of attention needs five products.", ATTENTION, True),
    ("The backward pass of attention needs five products.", BACKWARD, False),
    ("GEMM tiles for 16-bit: 128x256x64.", UNKNOWN, True),
    ("Row sums take a warp.", UNKNOWN, False),
    ("Element-wise loops take wide groups.", SUM, True),
    ("Use `evict_first` for data that is read once.", MATMUL, True),
]


@pytest.mark.parametrize(("text", "subject", "foreign"), FOREIGN)
def test_a_sentence_is_foreign_if_it_is_about_something_else(text: str, subject: Subject, foreign: bool) -> None:
    assert topics().foreign(text, subject) is foreign


def test_what_follows_a_foreign_first_sentence_is_left_out_too() -> None:
    assert kept_sentences(["Load wide.", "FP8: twice.", "Store wide."], MATMUL) == ["Load wide.", "Store wide."]
    assert kept_sentences(["FP8: twice.", "Store wide."], MATMUL) == []
    assert kept_sentences(["GEMM: 4 stages.", "Load wide.", "Attention: 1 stage."], ATTENTION) == [
        "Attention: 1 stage."
    ]
    assert kept_sentences(["Load wide.", "FP8: twice.", "It saturates.", "Store wide."], MATMUL) == [
        "Load wide.",
        "Store wide.",
    ]


@pytest.mark.parametrize(
    ("code", "tag", "subject", "fits"),
    [
        ("@triton.jit\ndef f(x): tl.load(x)", "python", SOFTMAX, True),
        ("@triton.jit\ndef f(x): tl.dot(x, x)", "python", SOFTMAX, False),
        ("@triton.jit\ndef layer_norm(x): tl.load(x)", "python", SOFTMAX, False),
        ("@triton.jit\ndef gemm(x): tl.dot(x, x)", "python", ATTENTION, False),
        ("uint16x4_t add(uint16x4_t a); // also _f32", "c", SOFTMAX.model_copy(update={"language": "cpp"}), False),
        ("int s = 0;", "cpp", INT8, True),
        ("float s = 0;", "cpp", INT8, False),
        ("import torch", "python", INT8, False),
        ("$ make", "bash", INT8, False),
        ("zc_load(0);", "c", SOFTMAX.model_copy(update={"language": "zc"}), True),
    ],
)
def test_a_listing_is_shown_if_it_is_in_the_language_and_of_the_operation(
    code: str, tag: str, subject: Subject, fits: bool
) -> None:
    assert topics().is_code_for(code, tag, subject) is fits


@pytest.mark.parametrize(
    ("title", "backend", "language", "family"),
    [
        ("NVIDIA H100 NVIDIA GPUs", "cuda", "triton", "gpu"),
        ("Huawei Ascend NPUs", "", "triton", "npu"),
        ("Arm CPUs with Neon or SVE", "cpu", "cpp", "cpu"),
        ("Qualcomm Hexagon NPUs", "", "cpp", "npu"),
        ("", "", "cpp", "cpu"),
        ("", "", "zc", "npu"),
    ],
)
def test_the_family_of_a_target(title: str, backend: str, language: str, family: str) -> None:
    assert family_of(title, backend, language) == family


@pytest.mark.parametrize("subject", [SOFTMAX, MATMUL, INT8, SOFTMAX.model_copy(update={"family": "npu"})])
def test_a_prompt_asks_at_most_fifteen_questions_once_each(subject: Subject, tmp_path: object) -> None:
    asked = [question.asks for question in questions_for(subject, tmp_path)]
    assert 0 < len(asked) <= MOST_QUESTIONS
    assert len(set(asked)) == len(asked)


def test_a_question_for_an_operation_is_not_asked_of_others() -> None:
    asked = Question(asks="Tiles?", operations=("matrix multiplication",), unless=("h200",))
    assert asked.fits(MATMUL)
    assert not asked.fits(SOFTMAX)


def test_the_operations_of_a_task_are_those_of_its_code_not_of_its_docstrings() -> None:
    source = 'class Model:\n    """Performs no softmax."""\n    def forward(self, x):\n        return x.mean(1)'
    assert operations_in(Task(name="t", source=source)) == ("reduction",)


@pytest.mark.parametrize(
    ("computed", "operations", "wanted"),
    [
        ("torch.softmax(x @ x.T, dim=-1) @ x", ["softmax"], False),
        ("torch.softmax(x @ x.T, dim=-1) @ x", ["matmul", "gemm"], True),
        ("torch.softmax(x @ x.T, dim=-1) @ x", [], True),
        ("torch.softmax(x, dim=-1)", ["softmax"], True),
    ],
)
def test_a_kernel_for_a_part_helps_a_task_with_products_only_with_products(
    computed: str, operations: list[str], wanted: bool
) -> None:
    assert helps(operations, Task(name="t", source=f"def forward(x):\n    return {computed}\n")) is wanted


PRODUCT_SOURCE = "class Model:\n    def forward(self, a, b):\n        return a @ b"


@pytest.mark.parametrize(
    ("dtype", "limit", "then", "told"),
    [
        ("float32", "compute", "", "Split each float32 operand"),
        ("float16", "compute", ".relu()", "Leave a large plain product"),
        ("float32", "memory", "", "Treat a product with few rows"),
    ],
)
def test_a_task_gets_the_techniques_of_its_class(dtype: str, limit: str, then: str, told: str, tmp_path: Path) -> None:
    subject = MATMUL.model_copy(update={"dtypes": (dtype,), "limit": limit})
    found = techniques_for(subject, PRODUCT_SOURCE + then, tmp_path)

    assert told in " ".join(one.does for one in found)
    assert len(found) <= MOST_TECHNIQUES


def test_a_screen_has_no_baselines_and_calls_no_library_of_the_chip(tmp_path: Path) -> None:
    subject = MATMUL.model_copy(update={"dtypes": ("float32",), "limit": "compute"})
    source = PRODUCT_SOURCE + ".relu().sum(1)"
    timed, screened = (
        " ".join(one.does for one in techniques_for(subject.model_copy(update={"judged": judged}), source, tmp_path))
        for judged in ("gpu", "screen")
    )

    for told in ("Let the library multiply", "one of the baselines"):
        assert told in timed
        assert told not in screened


def test_a_product_that_nothing_follows_is_not_left_to_a_library(tmp_path: Path) -> None:
    assert techniques_for(MATMUL, PRODUCT_SOURCE, tmp_path) == []


@pytest.mark.parametrize(
    ("computed", "shape", "told"),
    [
        ("torch.softmax(x, dim=1)", (8192, 4096), ["Hold a whole row"]),
        ("torch.softmax(x, -1)", (64, 4096), ["Hold a whole row", "Split a long row"]),
        ("torch.softmax(x, -1)", (8192, 65536), ["Split a long row"]),
        ("x.softmax(0)", (8192, 4096), ["Reduce over a dimension"]),
        ("nn.LayerNorm(cols)(x)", (8192, 4096), ["Hold a whole row"]),
        ("nn.Softmax(dim)(x)", (8192, 4096), ["Hold a whole row", "Split a long row"]),
    ],
)
def test_an_idea_for_rows_fits_their_number_and_length_where_the_source_shows_along_what_it_reduces(
    computed: str, shape: tuple[int, ...], told: list[str], tmp_path: Path
) -> None:
    tensor = TensorSpec(name="x", shape=shape, dtype="float32")
    shapes = shapes_of(computed, Interface(inputs=(tensor,), state=(), outputs=(tensor,), init=()))
    found = techniques_for(SOFTMAX.model_copy(update={"shapes": shapes}), f"{computed}; x.norm()", tmp_path)

    assert [one.does[: len(does)] for one, does in zip(found, told, strict=True)] == told


def test_an_idea_whose_condition_is_a_size_needs_its_fact(tmp_path: Path) -> None:
    rows = SOFTMAX.model_copy(update={"family": "cpu", "language": "cpp", "targets": ("cpu-x86",)})
    given = {
        size: techniques_for(rows, "softmax(x)", tmp_path, size) for size in ((), ("l3_size",), ("l2_size", "l3_size"))
    }

    assert [len(found) for found in given.values()] == [1, 2, 3]


def test_a_users_techniques_come_first_and_fit_the_source(tmp_path: Path) -> None:
    entry = "[[technique]]\ndoes = '{}'\nneeds = 'b'\nsource = 'c'\n{}\n"
    (tmp_path / "techniques.toml").write_text(entry.format("own", "") + entry.format("other", "code = ['conv']"))

    assert techniques_for(MATMUL, PRODUCT_SOURCE, tmp_path)[0].does == "own"
    assert "other" not in [one.does for one in techniques_for(MATMUL, PRODUCT_SOURCE, tmp_path)]


@pytest.mark.parametrize("kind", [Technique, Question])
def test_what_a_prompt_for_a_cpu_may_say_has_no_words_of_gpus(kind: type[Technique | Question]) -> None:
    told = [
        str(one) if kind is Technique else one.asks
        for one in _shipped(kind)
        if not one.families or "cpu" in one.families
    ]

    assert told
    assert [text for text in told if OF_GPUS.search(text)] == []
