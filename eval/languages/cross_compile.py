"""Compile a candidate's Triton kernels for a chip that is not present. Runs in the worker and imports nothing of kb."""

import subprocess
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch


def skip_autotuning() -> None:
    """Make autotuned kernels, compiled or interpreted, use the first configuration that pruning leaves.

    No configuration is timed: all times are set equal, and Triton takes the first of the best.
    """
    from triton.runtime.autotuner import Autotuner

    Autotuner._bench = lambda *_, **__: [0.0]  # noqa: SLF001 - Triton has no switch for it


def compile_kernels(isa: dict[str, Any], call: Callable[[], object], folder: Path) -> list[dict[str, Any]]:
    """Run `call`, compiling each Triton kernel instead of launching it; grids are not evaluated.

    Args:
        isa: `backend`, `architecture` and `lanes` of a wavefront in Triton's terms: see kb.model.target.Isa.
        call: Runs a candidate's forward; tensors of the real shapes on the meta device are enough.
        folder: Where the assembly is written: `0-name.amdgcn`, or for NVIDIA `0-name.ptx`, `0-name.cubin` and
            `0-name.sass`, which contains the disassembly and the resource usage.

    Returns:
        One record per distinct compiled kernel, in the order of first launch; see `eval.screen.screen.Record`.

    Raises:
        Any exception of the candidate or of Triton's compiler, unchanged.
    """
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner
    from triton.runtime.jit import JITFunction

    compile_or_launch, autotune = JITFunction.run, Autotuner.run
    records: dict[str, dict[str, Any]] = {}
    configurations = 1

    def run(kernel: Any, *args: Any, grid: object, warmup: bool, **kwargs: Any) -> Any:
        compiled = compile_or_launch(kernel, *args, grid=grid, warmup=True, **kwargs)
        if not warmup:
            if compiled.hash not in records:
                records[compiled.hash] = _record(compiled, configurations, folder, len(records))
            records[compiled.hash]["launches"] += 1
        return compiled

    def run_autotuned(tuner: Any, *args: Any, **kwargs: Any) -> Any:
        nonlocal configurations
        configurations = len(tuner.configs)
        try:
            return autotune(tuner, *args, **kwargs)
        finally:
            configurations = 1

    skip_autotuning()
    with (
        patch.object(driver, "_active", _driver(isa)),
        patch.object(JITFunction, "run", run),
        patch.object(Autotuner, "run", run_autotuned),
    ):
        call()
    return list(records.values())


def _driver(isa: dict[str, Any]) -> SimpleNamespace:
    """A stand-in for the driver of an absent chip, which can only tell the compiler its target."""
    import torch
    from triton.backends.compiler import GPUTarget

    architecture = isa["architecture"]
    target = GPUTarget(isa["backend"], int(architecture) if architecture.isdigit() else architecture, isa["lanes"])
    name = " ".join(map(str, isa.values()))  # Triton caches compiled kernels by device
    return SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: name,
        get_current_stream=lambda device: 0,
        get_active_torch_device=lambda: torch.device("meta"),
    )


def _record(compiled: Any, configurations: int, folder: Path, number: int) -> dict[str, Any]:
    return {
        "kernel": compiled.metadata.name,
        "num_warps": compiled.metadata.num_warps,
        "num_stages": compiled.metadata.num_stages,
        "num_ctas": compiled.metadata.num_ctas,
        "scratchpad_bytes": compiled.metadata.shared,
        "uses_dot": "tt.dot" in compiled.asm.get("ttir", ""),
        "configurations": configurations,
        "launches": 0,
        "assembly": _write_assembly(compiled, folder, f"{number}-{compiled.metadata.name[:100]}"),
    }


def _write_assembly(compiled: Any, folder: Path, stem: str) -> str:
    """Write the compiler's output into `folder`; return the name of the file that the screen reads."""
    if "amdgcn" in compiled.asm:
        (folder / f"{stem}.amdgcn").write_text(compiled.asm["amdgcn"], encoding="utf-8")
        return f"{stem}.amdgcn"
    (folder / f"{stem}.ptx").write_text(compiled.asm["ptx"], encoding="utf-8")
    (folder / f"{stem}.cubin").write_bytes(compiled.asm["cubin"])
    (folder / f"{stem}.sass").write_bytes(_disassembled(folder / f"{stem}.cubin"))
    return f"{stem}.sass"


def _disassembled(cubin: Path) -> bytes:
    """Resource usage and instructions, from the tool that comes with Triton."""
    from triton import knobs

    tool = knobs.nvidia.cuobjdump.path
    return subprocess.run([tool, "--dump-resource-usage", "--dump-sass", cubin], capture_output=True, check=True).stdout
