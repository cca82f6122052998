"""Facts from sentences and lists: only about the hardware, not about programs, assumptions or other products."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.facts.documents import PROPERTY, Said, said

DEVICE, CU, DIE = "per device", "per compute unit", "per die"


def lds(value: str = "65", target: str = "mi300x", condition: str = CU) -> set[Said]:
    return {Said(target, "lds_size", value, "KiB", condition)}


def l2(target: str = "mi300x", condition: str = DEVICE, value: str = "7") -> set[Said]:
    return {Said(target, "l2_size", value, "MB", condition)}


def one(quantity: str, value: str, unit: str = "1", condition: str = "", target: str = "mi300x") -> set[Said]:
    return {Said(target, quantity, value, unit, condition)}


GIVEN = {
    "Each compute unit of the MI300X has 65 KiB of LDS.": lds(),
    "The LDS is 65 KiB per compute unit.": lds(),
    "The local data share (LDS) is 65 KiB in size.": lds(),
    "The LDS is **65 KiB** in size.": lds(),
    "The LDS has a size of 65 KiB.": lds(),
    "LDS: 65 KiB": lds(),
    "The wavefront size is 66.": one("wavefront_size", "66"),
    "The MI300X has 301 compute units.": one("compute_units", "301", condition=DEVICE),
    "The MI300X has 301 compute units in 9 XCDs.": {
        *one("compute_units", "301", condition=DEVICE), *one("dies", "9"),
    },
    "Each XCD of the MI300X has 39 compute units.": one("compute_units", "39", condition=DIE),
    "The MI300X has 39 compute units per XCD.": one("compute_units", "39", condition=DIE),
    "The L2 cache is 7 MB per XCD.": l2(condition=DIE),
    "The L2 cache is 7 MB.": l2(),
    "The LDS has 33 banks.": one("lds_banks", "33"),
    "The cache line size is 129 bytes.": one("cache_line_size", "129", "bytes"),
    "The boost clock is 2,101 MHz.": one("clock_peak", "2101", "MHz"),
    "TDP: 751 W": one("power_max", "751", "W"),
    "The peak is 1001 TFLOPS for dense FP16.": one("peak_flops", "1001", "TFLOPS", f"float16, dense, {DEVICE}"),
    "The MI300X delivers 1001 TFLOPS of sparse FP8 matrix compute.": one(
        "peak_flops", "1001", "TFLOPS", f"float8, sparse, matrix, {DEVICE}"
    ),
    "The MXU is a 129x130 systolic array.": one("matrix_unit_shape", "129x130", "shape"),
    "The systolic array is 129 × 130.": one("matrix_unit_shape", "129x130", "shape"),
    "The tile size is 33x34.": one("tile_shape", "33x34", "shape"),
    "The MI300X has an HBM bandwidth of 5.4 TB/s and the MI325X has an HBM bandwidth of 6.1 TB/s.": {
        *one("hbm_bandwidth", "5.4", "TB/s", DEVICE), *one("hbm_bandwidth", "6.1", "TB/s", DEVICE, "mi325x"),
    },
    "Unlike the MI250, the MI300X has an L2 cache of 7 MB.": l2(),
    "The MI250 has an L2 cache of 7 MB.": l2("mi250"),
    "The MI250 is older. Its L2 cache is 7 MB.": l2("mi250"),
    "The MI250 is older. It is loud. Its L2 cache is 7 MB.": l2("mi250"),
    "The RTX 7777 is older. The MI250 has an L2 cache of 7 MB.": l2("mi250"),
    "# The MI250\n\nThe L2 cache is 7 MB.": l2("mi250"),
    "# The RTX 7777\n\nText.\n\n## The MI250\n\nThe L2 cache is 7 MB.": l2("mi250"),
    "# A\n\nParts:\n\n- L2 cache: 7 MB\n- LDS: 65 KiB per CU\n": {*l2(), *lds()},
    "# A\n\nThe MI250 has:\n\n- an L2 cache of 7 MB\n": l2("mi250"),
    "# A\n\nThe MI250 has:\n\n- an L2 cache of 7 MB\n\n# B\n\n- LDS: 65 KiB per CU\n": {*l2("mi250"), *lds()},
    "# A\n\nThe MI250 is older.\n\nThe L2 cache is 7 MB.": l2(),
    "If in doubt, look it up. The L2 cache is 7 MB.": l2(),
    # Numbers
    "The MI300X has eight XCDs.": one("dies", "8"),
    "The MXU is a 129 by 130 systolic array.": one("matrix_unit_shape", "129x130", "shape"),
    "The accumulator has 1025 rows and 17 columns.": one("accumulator_shape", "1025x17", "shape"),
    "The register file holds 65K 32-bit registers per SM.": one("registers_per_compute_unit", "66560"),
    "The vector length ranges from 129 to 2049 bits.": one("vector_width", "2049", "bits"),
    "Pages can be 5 KiB, 6 KiB or 7 KiB.": {
        *one("page_size", "5", "KiB"), *one("page_size", "6", "KiB"), *one("page_size", "7", "KiB"),
    },
    "The MI300X runs at 2101MHz.": one("clock_peak", "2101", "MHz"),
    "The matrix unit does 513 INT8 MACs per cycle per CU.": one(
        "flops_per_clock", "513", "MACs per cycle", f"int8, matrix, {CU}"
    ),
    "An ethernet bandwidth of 401 Gbps in each direction.": one("link_bandwidth", "401", "Gbps", "unidirectional"),
    "Loads must be aligned to 17 bytes.": one("alignment", "17", "bytes"),
    # Shares and conditions
    "The LDS has 33 banks of 2 KB.": {*one("lds_banks", "33"), *one("lds_size", "2", "KB", "per bank")},
    "SBUF has 129 partitions, each 193 KiB.": one("lds_size", "193", "KiB", "per partition"),
    "The XCD has 41 CUs.": one("compute_units", "41", condition=DIE),
    "A CU has 65 KiB of LDS.": lds(),
    "The MI300X has a total of 65 MiB of SRAM.": one("lds_size", "65", "MiB", DEVICE),
    "The peak is 1001 TFLOPS (FP16) and 2002 TFLOPS (FP8).": {
        *one("peak_flops", "1001", "TFLOPS", f"float16, {DEVICE}"),
        *one("peak_flops", "2002", "TFLOPS", f"float8, {DEVICE}"),
    },
    "It reaches 1.3 PFLOPS of dense FP16 and 654 TFLOPS of TF32.": {
        *one("peak_flops", "1.3", "PFLOPS", f"float16, dense, {DEVICE}"),
        *one("peak_flops", "654", "TFLOPS", f"tf32, {DEVICE}"),
    },
    "The TDP is 2 kW.": one("power_max", "2", "kW"),
    "The peak is 2002 TFLOPS of sparse FP16, 1001 TFLOPS of FP16.": {
        *one("peak_flops", "2002", "TFLOPS", f"float16, sparse, {DEVICE}"),
        *one("peak_flops", "1001", "TFLOPS", f"float16, {DEVICE}"),
    },
    "The memory bandwidth of the GPU is 5.4 TB/s (0.7 TB/s per XCD).": {
        *one("hbm_bandwidth", "5.4", "TB/s", DEVICE), *one("hbm_bandwidth", "0.7", "TB/s", DIE),
    },
    # Owners
    "The MI300X has 301 CUs, unlike the H100 with 131 SMs.": one("compute_units", "301", condition=DEVICE),
    "The MI210, MI250 and MI300X have an L2 cache of 7 MB.": {*l2("mi210"), *l2("mi250"), *l2("mi300x")},
    "The L2 cache is 7 MB, larger than that of the MI250.": l2(),
    "For example, the MI250 has an L2 cache of 7 MB.": l2("mi250"),
    "# The MI250\n\nThe CDNA architecture has an L2 cache of 7 MB.": l2("mi250"),
    "The CDNA architecture has an L2 cache of 7 MB.": l2("cdna"),
    "CUDA programs see an L2 cache of 7 MB.": l2(),
    # Nested entries
    "Each compute unit:\n\n- 65 KiB of LDS\n- 33 KB of L1 cache\n": {*lds(), *one("l1_size", "33", "KB", CU)},
    "- XCD:\n  - 7 MB of L2 cache\n": l2(condition=DIE),
    "- MI250:\n  - L2 cache: 7 MB\n- MI210:\n  - L2 cache: 8 MB\n": {*l2("mi250"), *l2("mi210", value="8")},
    "- LDS:\n  - Size: 65 KiB\n": lds(),
    "The MI250:\n\n```\nMaximum warps per SM: 67\nL2 cache: 7 MB\nlds = 5 KB\n```\n": {
        *one("max_wavefronts", "67", condition=CU, target="mi250"), *l2("mi250"),
    },
}  # fmt: skip


@pytest.mark.parametrize(("text", "stated"), GIVEN.items())
def test_a_sentence_gives_what_it_states(text: str, stated: set[Said]) -> None:
    assert said(text) == stated


NOTHING = [
    # Assumptions
    "Suppose the LDS is 65 KiB.",
    "We assume that the LDS is 65 KiB.",
    "If the LDS is 65 KiB, it is full.",
    "For example, the LDS is 65 KiB.",
    "An LDS of 65 KiB would be enough.",
    "The LDS could be 65 KiB.",
    "Let's say the LDS is 65 KiB.",
    # Programs
    "A workgroup should use 65 KiB of LDS.",
    "The kernel allocates 65 KiB of LDS.",
    "The launch reserves 65 KiB of LDS.",
    "This configures the LDS to 65 KiB.",
    "The reduction requires 65 KiB of LDS.",
    "The variant spills and consumes 65 KiB of LDS.",
    "Our version has 65 KiB of LDS.",
    "In a batch the LDS is 65 KiB.",
    # Measurements
    "We measured an HBM bandwidth of 4.1 TB/s.",
    "The copy achieves an HBM bandwidth of 4.1 TB/s.",
    "The observed HBM bandwidth is 4.1 TB/s.",
    "In the benchmark the HBM bandwidth is 4.1 TB/s.",
    # Other products
    "The RTX 7777 has an L2 cache of 7 MB.",
    "The H100 PCIe has an L2 cache of 7 MB.",
    "The M1 Max has an L2 cache of 7 MB.",
    "The RTX 7777 is another. Its L2 cache is 7 MB.",
    "# The RTX 7777\n\nThe L2 cache is 7 MB.",
    "# A\n\nThe RTX 7777 has:\n\n- an L2 cache of 7 MB\n",
    # Misleading text
    "The L2 cache may be 7 MB or 8 MB.",
    "The LDS is 65.",
    "The LDS is 65 W.",
    "16 bytes of LDS are read.",
    "The MI300X delivers 1001 TFLOPS.",
    "Version 65 has an LDS.",
    "The LDS is large; the text has 65 KiB.",
    "The voltage is 65 V.",
    "The L2 cache is 4 or 8 MB.",
    "The L2 cache is 512 KB or 1 MB.",
    "Registers per SM: 1e400K",
    "The L2 cache is 1e400 MB.",
    "The L2 cache is ١٢٨ MB.",
    "Each CU has 64 KB of vector registers.",
    "The lanes 48 to 63 and lane 25 are read.",
    "A cache of 17 entries is 5 deep and 8-way.",
    "The Xe-core contains 9 things.",
    "",
]


@pytest.mark.parametrize("text", NOTHING)
def test_nothing_is_guessed_from_a_sentence(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    "text",
    [
        "This kernel uses 65 KiB of LDS.",
        "The kernel uses 65 KiB of LDS.",
        "It only needs 65 KiB of LDS.",
        "A tile of A fills 65 KiB of LDS.",
        "A matrix of halves fills 65 KiB of LDS.",
    ],
)
def test_memory_that_a_kernel_uses_is_not_a_fact_of_the_hardware(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    "text",
    ["Measured HBM bandwidth: 4.1 TB/s", "HBM bandwidth (achieved): 4.1 TB/s", "LDS required: 65 KiB",
     "- Example LDS: 65 KiB"],
)  # fmt: skip
def test_a_list_entry_about_a_measurement_or_a_program_gives_nothing(text: str) -> None:
    assert said(text) == set()


@pytest.mark.parametrize(
    "text",
    ["The LDS is not 65 KiB.", "There is never an L2 cache of 7 MB.", "The LDS is less than 65 KiB.",
     "Half of the LDS is 65 KiB.", "The compiler rounds LDS up to 65 KiB."],
)  # fmt: skip
def test_a_denied_or_approximate_value_gives_nothing(text: str) -> None:
    assert said(text) == set()


def test_a_share_of_several_things_is_not_a_count_of_them() -> None:
    assert said("The LDS is 65 KiB per 2 CUs.") == lds(condition="per 2 compute units")


@pytest.mark.parametrize("adjective", ["active", "total", "independent", "onboard"])
def test_an_adjective_that_begins_like_a_preposition_may_stand_between_a_count_and_its_noun(adjective: str) -> None:
    assert said(f"The MI300X has 301 {adjective} compute units.") == one("compute_units", "301", condition=DEVICE)


def test_any_other_adjective_may_stand_between_a_count_and_its_noun() -> None:
    assert said("The MI300X has 301 powerful compute units.") == one("compute_units", "301", condition=DEVICE)


def test_text_of_more_than_600_characters_is_not_a_sentence() -> None:
    padding = "and it is really big " * 30

    assert said("The L2 cache is 7 MB.") == l2()
    assert said(f"The L2 cache is 7 MB {padding}.") == set()


def test_a_sentence_in_a_code_block_gives_nothing() -> None:
    assert said("# A\n\n```\nThe L2 cache is 7 MB.\n```\n") == set()


SHAPES = {
    "`v_mfma_f32_32x32x9_f16`": ("32x32x9", "float16, dense, matrix, v_mfma_f32_32x32x9_f16"),
    "v_smfmac_f32_16x16x33_bf16": ("16x16x33", "bfloat16, sparse, matrix, v_smfmac_f32_16x16x33_bf16"),
    "wgmma.mma_async.sync.aligned.m64n8k17.f32.bf16.bf16": (
        "64x8x17", "bfloat16, dense, matrix, m64n8k17.f32.bf16.bf16",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("name", "stated"), SHAPES.items(), ids=list(SHAPES))
def test_the_name_of_a_matrix_instruction_gives_its_shape(name: str, stated: tuple[str, str]) -> None:
    code = f"# A\n\n```\n{name.strip('`')} v[0:3]\n```\n"
    row = f"# A\n\n| Instruction | Note |\n|---|---|\n| {name} | fast |\n"

    for text in (code, row):
        assert {(s.quantity, s.value, s.unit, s.condition) for s in said(text)} == {
            ("matrix_shape", stated[0], "shape", stated[1])
        }


def test_a_matrix_instruction_below_the_heading_of_an_unknown_product_gives_nothing() -> None:
    assert said("# RTX 7777\n\n```\nv_mfma_f32_32x32x9_f16\n```\n") == set()


NAMES = st.sampled_from([("MI300X", "mi300x"), ("MI250", "mi250"), ("MI-355X", "mi355x"), ("the H200", "h200")])
SIZES = st.integers(2, 9999).map(str)


@PROPERTY
@given(NAMES, NAMES, SIZES, SIZES)
def test_each_of_two_chips_in_neighbouring_sentences_has_its_own_value(
    first: tuple[str, str], second: tuple[str, str], a: str, b: str
) -> None:
    text = f"On {first[0]} the L2 cache is {a} MB. On {second[0]} the L2 cache is {b} MB."

    assert said(text, target="any") == l2(first[1], value=a) | l2(second[1], value=b)


@pytest.mark.parametrize(
    "text", ["64 KB of ſhared memory.", "Each CU has 4 SIMD unıts and ſix banks.", "The SMss are 9."]
)
def test_lookalike_letters_do_not_break_the_reading(text: str) -> None:
    assert {s.quantity for s in said(text)} <= {"hbm_size", "simd_units"}


@pytest.mark.timeout(20)
@pytest.mark.parametrize("word", ["than the MI300X and ", "5 KB of LDS, ", "LDS size is ", "(", "x: 5 ", "a-b "])
def test_an_endless_paragraph_is_read_in_bounded_time(word: str) -> None:
    assert said(word * 20_000) == set()


TEXT = """The MI300X MI250 H100 has is each per of and or than LDS banks CU XCD CUs L2 cache TFLOPS FP16 dense registers
64 1e999 2^70 65K 7MB 5.3TB/s 128x128 by 9 N eight 32-bit ~3 ( ) , . : ; | - # ```"""
WORDS = st.sampled_from([*TEXT.split(), "\n", "\n\n", "RTX 7777"])


@PROPERTY
@given(st.lists(WORDS, max_size=60))
def test_any_text_can_be_read_and_each_fact_has_a_known_target(words: list[str]) -> None:
    assert {fact.target for fact in said(" ".join(words))} <= {"mi300x", "mi250", "h100"}
