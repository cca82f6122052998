"""A compiled kernel is held against cited facts: what a document does not state is unknown, never guessed."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.devices import triton_trial
from eval.screen import screen as screening
from eval.screen.occupancy import ComputeUnit, occupancy
from eval.screen.screen import MAX_ASSEMBLY_BYTES, MAX_KERNELS, VENDORS, Record, screen_file, screen_kernel
from eval.screen.vendor import Usage
from eval.worker.fault import Fault
from kb.facts.select import one_value
from kb.types.evidence import Finding, KernelScreen
from kb.types.fact import Fact
from kb.types.target import Isa
from tests.eval.screen.sheets import AMD, BLACKWELL, CDNA4, NVIDIA, TARGETS, facts_of

SYNTHETIC = Path(__file__).parent / "screen"
RECORD: dict[str, Any] = {
    "kernel": "tiny",
    "num_warps": 4,
    "scratchpad_bytes": 1024,
    "uses_dot": True,
    "assembly": "tiny.amdgcn",
}
Screen = Callable[[Isa, str], tuple[KernelScreen, str]]


def finding(screen: KernelScreen, check: str) -> Finding:
    return next(f for f in screen.findings if f.check == check)


@pytest.fixture(scope="session")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Screen]:
    """Screens of kernels of tests/eval/screen/kernels.py by target, with the assembly; each is compiled once."""
    pytest.importorskip("triton")
    from tests.eval.screen.kernels import CALLS, cross_compiled

    known: dict[tuple[Isa, str], tuple[KernelScreen, str]] = {}

    def screen(isa: Isa, name: str) -> tuple[KernelScreen, str]:
        if (isa, name) not in known:
            folder = tmp_path_factory.mktemp("compiled")
            [record] = cross_compiled(isa, CALLS[name], folder).records
            known[isa, name] = (
                screen_kernel(Record(**record), folder, isa, facts_of(isa)),
                (folder / record["assembly"]).read_text(),
            )
        return known[isa, name]

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns where it is not set
        yield screen


@pytest.mark.parametrize("isa", TARGETS, ids=str)
@pytest.mark.parametrize("name", ["add", "softmax"])
def test_a_plain_kernel_passes_every_check(compiled: Screen, isa: Isa, name: str) -> None:
    screen, _ = compiled(isa, name)

    assert {f.state for f in screen.findings} == {"ok"}
    assert 0 < screen.registers <= 64
    assert screen.spills == 0
    assert not screen.matrix_instructions
    assert any(load in screen.memory_instructions for load in ("buffer_load_dwordx4", "LDG.E.128"))


@pytest.mark.parametrize(
    ("isa", "instruction"),
    [
        (AMD, "v_mfma_f32_32x32x8_f16"),
        (CDNA4, "v_mfma_f32_32x32x16_f16"),
        (NVIDIA, "HGMMA.64x128x16.F32"),
        (BLACKWELL, "UTCHMMA"),
    ],
    ids=str,
)
def test_a_matmul_runs_on_the_matrix_units(compiled: Screen, isa: Isa, instruction: str) -> None:
    screen, _ = compiled(isa, "matmul")

    assert list(screen.matrix_instructions) == [instruction]
    assert finding(screen, "matrix") == Finding(
        check="matrix", state="ok", message=f"matrix instructions {instruction}"
    )
    assert screen.scratchpad_bytes >= 128 * 64 * 2
    assert screen.spills == 0


def test_a_kernel_over_the_scratchpad_is_over_by_the_cited_fact_of_its_own_chip(compiled: Screen) -> None:
    over, _ = compiled(AMD, "deep matmul")
    fits, _ = compiled(CDNA4, "deep matmul")

    assert over.scratchpad_bytes == 98304
    assert finding(over, "scratchpad") == Finding(
        check="scratchpad",
        state="over",
        message="scratchpad 98,304 B > 65,536 B (per workgroup)",
        citation="lds_size, per workgroup",
    )
    assert finding(fits, "scratchpad").state == "ok"


@pytest.mark.slow
@pytest.mark.parametrize("isa", [AMD, NVIDIA], ids=str)
def test_spills_warn(compiled: Screen, isa: Isa) -> None:
    screen, _ = compiled(isa, "wide matmul")

    assert screen.spills > 0
    assert finding(screen, "spills").state == "warn"
    assert any(name.startswith(("scratch_", "STL")) for name in screen.memory_instructions)


@pytest.mark.parametrize("isa", TARGETS, ids=str)
def test_loads_that_are_all_narrow_warn(compiled: Screen, isa: Isa) -> None:
    found = finding(compiled(isa, "narrow add")[0], "global loads")

    assert (found.state, found.message) == ("warn", "widest global load 2 B of 16 B per lane")
    assert found.citation.startswith("global_access_width")


def test_of_a_chip_without_documents_nothing_is_known_but_what_was_compiled(compiled: Screen) -> None:
    screen, _ = compiled(BLACKWELL, "matmul")

    assert screen.registers > 0
    assert screen.occupancy is None
    assert {f.check for f in screen.findings if f.state == "unknown"} == {
        "scratchpad", "workgroup size", "registers", "occupancy", "global loads"
    }  # fmt: skip


@pytest.mark.parametrize("isa", [AMD, CDNA4], ids=str)
@pytest.mark.parametrize("name", ["add", "softmax", "small matmul", "matmul", "wide matmul"])
def test_occupancy_is_what_the_compiler_says_of_the_registers(compiled: Screen, isa: Isa, name: str) -> None:
    """LLVM does not know the scratchpad, which is asked for at launch, and does not count whole workgroups."""
    screen, text = compiled(isa, name)
    stated = re.search(r"^; Occupancy: (\d+)$", text, re.M)
    assert stated is not None
    usage = VENDORS["hip"].usage(text, screen.kernel)
    assert usage is not None

    wavefronts, _ = occupancy(usage._replace(scratchpad_bytes=0), 4, compute_unit(isa))

    assert wavefronts == 4 * int(stated[1])


@cache
def compute_unit(isa: Isa) -> ComputeUnit:
    found = {key[0]: one_value(facts_of(isa), *key) for key in VENDORS[isa.backend].compute_unit.items()}
    return ComputeUnit(isa.lanes or 1, **{name: int(value[0]) for name, value in found.items() if value is not None})


WAVEFRONTS = st.integers(1, 16)
USAGE = st.builds(Usage, st.integers(1, 512), st.integers(0, 102), st.just(0), st.integers(0, 70_000))


@pytest.mark.parametrize("isa", TARGETS, ids=str)
@given(wavefronts=WAVEFRONTS, usage=USAGE, more=USAGE)
def test_who_takes_more_never_fits_more_often_and_nothing_exceeds_the_slots(
    isa: Isa, wavefronts: int, usage: Usage, more: Usage
) -> None:
    unit = compute_unit(isa)
    greater = Usage(*(a + b for a, b in zip(usage[:4], more[:4], strict=True)))

    found, _ = occupancy(usage, wavefronts, unit)

    assert occupancy(greater, wavefronts, unit)[0] <= found <= unit.max_wavefronts
    assert found % wavefronts == 0


@pytest.mark.parametrize(
    ("wavefronts", "registers", "scratchpad_bytes", "blocks", "limit"),
    [
        (1, 16, 0, 32, "max_workgroups"),
        (4, 32, 0, 16, "max_wavefronts"),
        (3, 40, 0, 16, "vgpr_file_size"),
        (5, 67, 0, 5, "vgpr_file_size"),
        (8, 255, 0, 1, "vgpr_file_size"),
        (9, 255, 0, 0, "vgpr_file_size"),
        (4, 40, 37_000, 6, "lds_size"),
        (4, 40, 115_712, 2, "lds_size"),
        (4, 40, 115_713, 1, "lds_size"),
    ],
)
def test_occupancy_is_what_the_vendor_calculates(
    wavefronts: int, registers: int, scratchpad_bytes: int, blocks: int, limit: str
) -> None:
    """Blocks as cuda_occupancy.h of CUDA runtime 13.0.88 gives them for an H200."""
    usage = Usage(registers, 0, 0, scratchpad_bytes)

    assert occupancy(usage, wavefronts, compute_unit(NVIDIA)) == (blocks * wavefronts, limit)


def test_many_scalar_registers_cost_a_wavefront() -> None:
    assert occupancy(Usage(8, 96, 0, 0), 1, compute_unit(AMD)) == (32, "max_wavefronts")
    assert occupancy(Usage(8, 97, 0, 0), 1, compute_unit(AMD)) == (28, "sgpr_file_size")


@pytest.mark.parametrize("isa", [AMD, NVIDIA], ids=str)
def test_without_any_one_of_its_facts_occupancy_is_unknown(isa: Isa) -> None:
    for quantity, condition in VENDORS[isa.backend].compute_unit.items():
        known = facts_of(isa)
        missing = one_value(known, quantity, condition)
        assert missing is not None
        screen = screened(isa, [f for f in known if f != missing[1]])

        assert screen.occupancy is None
        assert finding(screen, "occupancy").state == "unknown"
        assert quantity in finding(screen, "occupancy").message


@pytest.mark.parametrize("isa", [AMD, NVIDIA], ids=str)
def test_a_document_that_states_zero_makes_occupancy_unknown(isa: Isa, monkeypatch: pytest.MonkeyPatch) -> None:
    def stated(facts: Sequence[Fact], quantity: str, *conditions: str) -> tuple[float, Fact] | None:
        found = one_value(facts, quantity, *conditions)
        return (0.0, found[1]) if found else None

    monkeypatch.setattr(screening, "one_value", stated)

    assert screened(isa, facts_of(isa)).occupancy is None


def screened(isa: Isa, facts: list[Fact], **changes: Any) -> KernelScreen:
    """Of the synthetic assembly."""
    assembly = "tiny.amdgcn" if isa.backend == "hip" else "tiny.sass"
    return screen_kernel(Record(**{**RECORD, "assembly": assembly, **changes}), SYNTHETIC, isa, facts)


def test_amd_assembly_is_read() -> None:
    screen = screened(AMD, facts_of(AMD))

    assert (screen.kernel, screen.isa, screen.num_warps) == ("tiny", AMD, 4)
    assert (screen.registers, screen.spills, screen.scratchpad_bytes, screen.occupancy) == (100, 3, 2048, 4)
    assert screen.matrix_instructions == {"v_mfma_f32_16x16x16_f16": 1}
    assert screen.memory_instructions == {
        "global_load_dwordx4": 2, "buffer_load_ushort": 1, "ds_write_b64": 1, "ds_read_b128": 1,
        "scratch_store_dword": 1, "global_store_dwordx2": 1,
    }  # fmt: skip


def test_what_inline_assembly_says_of_a_kernel_counts_for_nothing(tmp_path: Path) -> None:
    text = (SYNTHETIC / "tiny.amdgcn").read_text()
    stated = text[text.index("\t.amdgpu_metadata") :].replace("     100", "     1").replace(" 2048", " 16")
    (tmp_path / "tiny.amdgcn").write_text(text.replace("\ts_endpgm", f"/*\n{stated}\n*/\n\ts_endpgm"))

    screen = screen_kernel(Record(**RECORD), tmp_path, AMD, facts_of(AMD))

    assert (screen.registers, screen.scratchpad_bytes) == (100, 2048)


def test_nvidia_assembly_is_read() -> None:
    screen = screened(NVIDIA, facts_of(NVIDIA))

    assert (screen.registers, screen.spills, screen.scratchpad_bytes, screen.occupancy) == (100, 6, 1024, 16)
    assert screen.matrix_instructions == {"HGMMA.64x128x16.F32": 1}
    assert screen.memory_instructions == {
        "LDG.E.128": 1, "LDG.E.U16.CONSTANT": 1, "LDGSTS.E.BYPASS.128": 1, "LDSM.16.M88.4": 1, "STL": 1, "STG.E.64": 1
    }  # fmt: skip


@pytest.mark.parametrize(("isa", "file"), [(AMD, "two.amdgcn"), (NVIDIA, "two.sass")], ids=str)
def test_each_kernel_of_a_file_has_its_own_needs_and_instructions(isa: Isa, file: str) -> None:
    screens = {screen.kernel: screen for screen in screen_file(SYNTHETIC / file, isa, facts_of(isa))}
    first, second = screens["first"], screens["second"]

    assert (first.registers, first.spills, first.scratchpad_bytes) == (100, 3, 2048)
    assert (second.registers, second.spills, second.scratchpad_bytes) == (2, 0, 0)
    assert first.num_warps == 256 // (isa.lanes or 1)
    assert (len(first.matrix_instructions), len(second.matrix_instructions)) == (1, 0)
    assert (len(first.memory_instructions), len(second.memory_instructions)) == (1, 1)
    assert finding(first, "matrix").state == finding(first, "occupancy").state == "ok"


def test_what_only_the_launch_states_is_unknown() -> None:
    [screen] = [
        screen for screen in screen_file(SYNTHETIC / "two.sass", NVIDIA, facts_of(NVIDIA)) if not screen.num_warps
    ]

    assert screen.occupancy is None
    for check in ("scratchpad", "workgroup size", "occupancy"):
        assert finding(screen, check).state == "unknown"


@pytest.mark.parametrize(("isa", "file"), [(AMD, "two.amdgcn"), (NVIDIA, "two.sass")], ids=str)
def test_a_file_whose_kernels_write_nothing_has_no_kernel(tmp_path: Path, isa: Isa, file: str) -> None:
    text = (SYNTHETIC / file).read_text()
    for without in ("", text.replace("global_store_dword", "s_nop").replace("STG.E", "NOP")):
        (tmp_path / "program").write_text(without)
        with pytest.raises(Fault) as fault:
            screen_file(tmp_path / "program", isa, [])

        assert fault.value.outcome == "no_kernel"


def test_a_file_of_very_many_kernels_is_refused(tmp_path: Path) -> None:
    kernels = "".join(f"\t\tFunction : kernel_{i}\n" for i in range(MAX_KERNELS + 1))
    (tmp_path / "program").write_text(kernels)

    with pytest.raises(Fault, match=f"{MAX_KERNELS + 1} kernels"):
        screen_file(tmp_path / "program", NVIDIA, [])


@pytest.mark.parametrize(
    ("backend", "instruction", "width"),
    [
        ("hip", "global_load_dwordx4", 16),
        ("hip", "buffer_load_dwordx3", 12),
        ("hip", "flat_load_dword", 4),
        ("hip", "global_load_lds_dwordx4", 16),
        ("hip", "buffer_load_short_d16_hi", 2),
        ("hip", "buffer_load_ubyte", 1),
        ("hip", "global_load_b128", 16),
        ("hip", "global_store_dwordx4", 0),
        ("hip", "ds_read_b128", 0),
        ("cuda", "LDG.E", 4),
        ("cuda", "LDG.E.S8", 1),
        ("cuda", "LDG.E.LTC128B.64", 8),
        ("cuda", "LDG.E.ENL2.256", 32),
        ("cuda", "LDGSTS.E.BYPASS.128", 16),
        ("cuda", "LDS.128", 0),
        ("cuda", "STG.E.128", 0),
    ],
)
def test_the_width_of_a_load_is_in_its_name(backend: str, instruction: str, width: int) -> None:
    assert VENDORS[backend].load_bytes(instruction) == width


def test_loads_are_not_judged_where_whole_tiles_are_copied(tmp_path: Path) -> None:
    text = (
        (SYNTHETIC / "tiny.sass").read_text().replace("LDG.E.128", "UTMALDG.2D").replace("LDGSTS.E.BYPASS.128", "NOP")
    )
    (tmp_path / "tiny.sass").write_text(text)
    screen = screen_kernel(Record(**{**RECORD, "assembly": "tiny.sass"}), tmp_path, NVIDIA, facts_of(NVIDIA))

    assert "UTMALDG.2D" in screen.memory_instructions
    assert "global loads" not in {f.check for f in screen.findings}


def test_a_dot_without_matrix_instructions_warns(tmp_path: Path) -> None:
    (tmp_path / "tiny.amdgcn").write_text((SYNTHETIC / "tiny.amdgcn").read_text().replace("v_mfma", "v_fma"))

    with_dot, without = (
        screen_kernel(Record(**{**RECORD, "uses_dot": dot}), tmp_path, AMD, []) for dot in (True, False)
    )

    assert finding(with_dot, "matrix").state == "warn"
    assert "matrix" not in {f.check for f in without.findings}


def test_a_workgroup_may_be_too_large() -> None:
    found = finding(screened(AMD, facts_of(AMD), num_warps=32), "workgroup size")

    assert (found.state, found.message) == ("over", "workgroup size 2,048 > 1,024 (compiler default upper bound)")


def test_a_workgroup_that_the_registers_cannot_hold_is_over() -> None:
    screen = screened(NVIDIA, facts_of(NVIDIA), num_warps=32)

    assert screen.occupancy == 0
    assert finding(screen, "occupancy").state == "over"


def test_an_autotuned_kernel_is_named_with_its_configuration() -> None:
    assert screened(AMD, [], configuration="block=64, num_warps=4").kernel == "tiny (block=64, num_warps=4)"


@pytest.mark.parametrize(
    "changes",
    [
        {"num_warps": "4"},
        {"num_warps": 0},
        {"scratchpad_bytes": -1},
        {"scratchpad_bytes": 10**12},
        {"kernel": "tiny\n"},
        {"assembly": "../screen/tiny.amdgcn"},
        {"seconds": 0.1},
    ],
)
def test_a_record_that_no_compiler_wrote_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Fault) as fault:
        triton_trial._understood({"launched": [], "kernels": [{**RECORD, **changes}]})

    assert fault.value.outcome == "forged"


@pytest.mark.parametrize("assembly", ["absent.amdgcn", "tiny.sass"])
def test_a_record_without_its_assembly_is_refused(assembly: str) -> None:
    with pytest.raises(Fault) as fault:
        screen_kernel(Record(**{**RECORD, "assembly": assembly}), SYNTHETIC, AMD, [])

    assert fault.value.outcome == "forged"


@pytest.mark.parametrize("isa", [AMD, NVIDIA], ids=str)
@pytest.mark.parametrize("text", ["", "    .vgpr_count:     many\n", "Function tiny:\n  REG:9"])
def test_assembly_that_does_not_say_what_the_kernel_uses_is_refused(tmp_path: Path, isa: Isa, text: str) -> None:
    (tmp_path / "tiny.amdgcn").write_text(text)

    with pytest.raises(Fault, match="does not state"):
        screen_kernel(Record(**RECORD), tmp_path, isa, [])


def make_link(path: Path) -> None:
    path.symlink_to(SYNTHETIC / "tiny.amdgcn")


def make_huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(MAX_ASSEMBLY_BYTES + 1)


@pytest.mark.timeout(10)
@pytest.mark.parametrize("make", [make_link, make_huge, os.mkfifo, Path.mkdir])
def test_what_is_no_assembly_is_not_read(tmp_path: Path, make: Callable[[Path], None]) -> None:
    make(tmp_path / "tiny.amdgcn")

    with pytest.raises(Fault) as fault:
        screen_kernel(Record(**RECORD), tmp_path, AMD, [])

    assert fault.value.outcome == "forged"
