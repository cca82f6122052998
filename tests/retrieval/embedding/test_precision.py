"""This machine's fastest precision follows from its CPU and from whether it has a GPU's driver."""

from pathlib import Path

import pytest

from retrieval.embedding.precision import Precision, fastest


@pytest.mark.parametrize(
    ("flags", "driver", "expected"),
    [
        ("fpu avx2 avx512f avx512_vnni", False, Precision.INT8),
        ("fpu avx2 avx_vnni", False, Precision.INT8),
        ("fpu amx_tile amx_int8", False, Precision.INT8),
        ("fpu avx2 avx512f amx_bf16", False, Precision.FLOAT32),
        ("fpu avx2 avx512f avx512_vnni", True, Precision.FLOAT32),
        (None, False, Precision.FLOAT32),
    ],
)
def test_int8_needs_vnni_or_amx_and_no_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, flags: str | None, driver: bool, expected: Precision
) -> None:
    if flags is not None:
        (tmp_path / "cpuinfo").write_text(f"processor\t: 0\nflags\t\t: {flags}\nbugs\t\t:\n", encoding="utf-8")
    if driver:
        (tmp_path / "driver").touch()
    monkeypatch.setattr("retrieval.embedding.precision.CPU", tmp_path / "cpuinfo")
    monkeypatch.setattr("retrieval.embedding.gpu.DRIVERS", (tmp_path / "driver",))

    assert fastest() is expected
