"""What a probe found is kept as measured facts of the right target, and held against the vendor's."""

from pathlib import Path

import pytest

from kb.errors import ReadOnlyError, TargetError
from kb.facts.probe_results import compare, target_of
from kb.targets import Targets
from kb.types.fact import Fact
from kb.types.measurement import Findings, Measurement, ProbedDevice
from kb.types.passages import Citation
from kb.types.records import Form, Trust
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.probing import stated_facts, store

CITATION = Citation(id="1", path="a.md", sha256="0", section=(), line_start=1, line_end=1)


def device(
    name: str = "NVIDIA H200", backend: str = "cuda", architecture: str = "sm_90", *features: str
) -> ProbedDevice:
    return ProbedDevice.model_validate(
        {"name": name, "backend": backend, "architecture": architecture, "features": features, "software": ("torch 2",)}
    )


def reading(quantity: str, value: float, unit: str, condition: str = "", *samples: float) -> Measurement:
    return Measurement(quantity=quantity, value=value, unit=unit, condition=condition, samples=samples, how="by hand")


def stated(quantity: str, value: str, unit: str, condition: str = "", *, form: Form = Form.STATED) -> Fact:
    return Fact(
        target="h200", quantity=quantity, value=value, number=float(value), unit=unit, condition=condition,
        source="datasheet", citation=CITATION, form=form,
    )  # fmt: skip


def findings(*readings: Measurement, name: str = "NVIDIA H200") -> Findings:
    return Findings(device=device(name), date="2026-01-02", readings=readings, missing=())


COPY = reading("hbm_bandwidth", 4274.2, "GB/s", "copy", 4264.0, 4274.2, 4281.0)
LDS = reading("lds_size", 227, "KiB", "per workgroup, opt-in")


@pytest.mark.parametrize(
    ("found", "target"),
    [
        (device("NVIDIA H200", "cuda", "sm_90"), "h200"),
        (device("NVIDIA H100 80GB HBM3", "cuda", "sm_90"), "h100"),
        (device("NVIDIA GH200 480GB", "cuda", "sm_90"), "gh200"),
        (device("NVIDIA A100-SXM4-80GB", "cuda", "sm_80"), "a100"),
        (device("NVIDIA A30", "cuda", "sm_80"), "ampere"),  # sm_80 alone does not make it an A100
        (device("NVIDIA H20", "cuda", "sm_90"), "hopper"),
        (device("NVIDIA GeForce RTX 4090", "cuda", "sm_89"), "ada"),
        (device("NVIDIA GeForce RTX 5090", "cuda", "sm_120"), "sm120"),
        (device("NVIDIA GeForce RTX 3090", "cuda", "sm_86"), "nvidia"),
        (device("Tesla M4", "cuda", "sm_52"), "nvidia"),  # an Apple M4 it is not
        (device("AMD Instinct MI300X", "hip", "gfx942"), "mi300x"),
        (device("AMD Instinct MI308X", "hip", "gfx942"), "gfx942"),
        (device("AMD Radeon RX 7900 XTX", "hip", "gfx1100"), "amd"),
        (device("AMD EPYC 9654", "cpu", "x86_64", "sse", "avx2", "avx512f"), "x86-avx512"),
        (device("Intel Xeon", "cpu", "x86_64", "avx512f", "amx_tile"), "x86-amx"),
        (device("AMD EPYC 7763", "cpu", "x86_64", "avx2"), "cpu-x86"),
        (device("Neoverse-V1", "cpu", "aarch64", "asimd", "sve"), "arm-neon-sve"),
        (device("a board", "cpu", "riscv64"), "riscv"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_a_device_is_the_target_that_it_is_named_by_and_no_other(found: ProbedDevice, target: str, home: Path) -> None:
    assert target_of(Targets.load(home), found) == target


def test_a_device_of_no_known_kind_is_refused(home: Path) -> None:
    with pytest.raises(TargetError, match="no target is known for Loongson") as refused:
        target_of(Targets.load(home), device("Loongson", "cpu", "loongarch64"))
    assert "--target" in refused.value.hint


def test_what_was_found_is_stored_as_measured_facts_that_can_be_cited(kb: KnowledgeBase) -> None:
    file = store(kb, findings(COPY, LDS), "h200")

    measured = [f for f in kb.facts("h200") if f.trust is Trust.MEASURED]

    assert [(f.quantity, f.value, f.unit, f.condition) for f in measured] == [
        ("hbm_bandwidth", "4274.2", "GB/s", "copy"),
        ("lds_size", "227", "KiB", "per workgroup, opt-in"),
    ]
    for part in ("by hand", "median of 3, 4264 to 4281 GB/s", "NVIDIA H200", "torch 2", "2026-01-02"):
        assert part in measured[0].source
    for fact in measured:
        place = kb.cite(fact.citation.id)
        assert (Path(place.file), place.file_same) == (file, True)
        assert any(fact.value in text for _, text, cited in place.lines if cited)


def test_a_second_probe_replaces_the_first(kb: KnowledgeBase) -> None:
    first = store(kb, findings(COPY, LDS), "h200")
    second = store(kb, findings(COPY.model_copy(update={"value": 4300.0})), "h200")

    assert (first, list(first.parent.iterdir())) == (second, [second])
    assert [f.value for f in kb.facts("h200") if f.trust is Trust.MEASURED] == ["4300"]


def test_devices_of_one_target_have_their_own_sheets(kb: KnowledgeBase) -> None:
    store(kb, findings(COPY), "h200")
    store(kb, findings(COPY, name="NVIDIA H200 NVL"), "h200")

    assert len([f for f in kb.facts("h200", "hbm_bandwidth") if f.trust is Trust.MEASURED]) == 2


@pytest.mark.parametrize("name", ["a|b", 'say "hi"', "`x` <b>*y*</b>", "back\\slash", "two\nlines", "colon: #1"])
def test_whatever_a_device_is_called_its_facts_are_read_back(kb: KnowledgeBase, name: str) -> None:
    file = store(kb, findings(COPY, name=name), "h200")

    [fact] = [f for f in kb.facts("h200") if f.trust is Trust.MEASURED]
    assert (fact.quantity, fact.value, fact.condition) == ("hbm_bandwidth", "4274.2", "copy")
    assert next(d.title for d in kb.catalog.documents() if d.source == str(file)).endswith("as measured")


def test_a_sheet_that_cannot_be_written_leaves_the_old_one(kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch) -> None:
    file = store(kb, findings(COPY), "h200")
    before = file.read_text()

    def refuse(handle: int) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("os.fsync", refuse)
    with pytest.raises(ReadOnlyError):
        store(kb, findings(LDS), "h200")
    assert file.read_text() == before


@pytest.mark.parametrize(("value", "differs"), [(4.8, False), (4.33, False), (4.31, True), (5.2, False), (5.3, True)])
def test_more_than_a_tenth_apart_is_a_disagreement(value: float, differs: bool) -> None:
    [compared] = compare(
        [reading("hbm_bandwidth", value * 1000, "GB/s", "copy")], [stated("hbm_bandwidth", "4.8", "TB/s")]
    )

    assert compared.differs is differs
    assert compared.ratio == pytest.approx(value / 4.8)


PEAKS = [
    stated("peak_flops", "989.5", "TFLOP/s", "bfloat16, dense, matrix"),
    stated("peak_flops", "1979", "TFLOP/s", "bfloat16, sparse, matrix"),
    stated("peak_flops", "1979", "TFLOP/s", "float8_e4m3fn, dense, matrix"),
    stated("peak_flops", "67", "TFLOP/s", "float64, dense, matrix"),
    stated("peak_flops", "34", "TFLOP/s", "float64, dense, vector"),
]


@pytest.mark.parametrize(
    ("condition", "value", "text"),
    [
        ("bfloat16, dense, matrix, matmul", 1900, "989.5 TFLOP/s"),
        ("float8_e4m3fnuz, dense, matrix, matmul", 1300, "1979 TFLOP/s"),
        ("float64, dense, vector, multiply-add", 60, "34 TFLOP/s"),
        ("float64, dense, matmul", 60, "67 TFLOP/s"),
        ("float32, dense, vector, multiply-add", 60, ""),
        ("bfloat16, dense, vector, multiply-add", 60, ""),
    ],
)
def test_only_peaks_of_the_same_dtype_density_and_engine_are_compared(condition: str, value: float, text: str) -> None:
    [compared] = compare([reading("peak_flops", value, "TFLOP/s", condition)], PEAKS)

    assert compared.stated_text == text


def test_the_share_of_a_part_is_compared_with_that_of_such_a_part() -> None:
    facts = [
        stated("lds_size", "228", "KiB", "per compute unit"),
        stated("lds_size", "227", "KiB", "per workgroup, opt-in"),
        stated("lds_size", "48", "KiB", "per workgroup, without opt-in"),
    ]

    [compared] = compare([LDS], facts)

    assert (compared.stated_text, compared.ratio, compared.differs) == ("227 KiB", 1.0, False)


def test_a_detail_of_another_reading_is_not_compared() -> None:
    details = [COPY.model_copy(update={"condition": f"copy, {size} MiB"}) for size in (64, 1024)]

    compared = compare([COPY, *details], [stated("hbm_bandwidth", "4.8", "TB/s")])

    assert [c.stated_text for c in compared] == ["4.8 TB/s", "", ""]


def test_what_a_table_of_facts_states_goes_before_what_kb_read_off_a_text() -> None:
    facts = [stated("hbm_bandwidth", "4.3", "TB/s", form=Form.PROPOSED), stated("hbm_bandwidth", "4.8", "TB/s")]

    assert compare([COPY], facts)[0].stated_text == "4.8 TB/s"


def test_nothing_measured_is_compared_with_what_was_measured_before(kb: KnowledgeBase) -> None:
    store(kb, findings(COPY), "h200")

    facts = stated_facts(kb, "h200")

    assert {f.trust for f in facts} == {Trust.VENDOR}
    assert compare([COPY], facts)[0].stated_text == "4.8 TB/s"


def test_a_target_that_no_document_speaks_of_has_nothing_to_compare_with(kb: KnowledgeBase) -> None:
    assert compare([COPY], stated_facts(kb, "l40s"))[0].stated is None
