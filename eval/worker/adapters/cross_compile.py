"""Compile Triton kernels for a chip that is not present. Runs in the worker and imports nothing of kb."""

import subprocess
from collections.abc import Iterable
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple
from unittest.mock import patch


class Compilation(NamedTuple):
    """A kernel to compile, as it would be launched."""

    kernel: Any
    arguments: dict[str, Any]
    """By name; tensors of the real shapes on the meta device are enough."""
    options: dict[str, Any]
    """`num_warps`, `num_stages` and others of the compiler."""
    configurations: int = 1
    """Number of autotuning configurations from which this one was chosen."""


def compile_kernels(isa: dict[str, Any], compilations: Iterable[Compilation], folder: Path) -> list[dict[str, Any]]:
    """Compile kernels; nothing is launched.

    Args:
        isa: `backend`, `architecture` and `lanes` of a wavefront in Triton's terms: see kb.types.target.Isa.
        compilations: One for each launch.
        folder: Where the assembly is written: `0-name.amdgcn`, or for NVIDIA `0-name.ptx`, `0-name.cubin` and
            `0-name.sass`, which contains the disassembly and the resource usage.

    Returns:
        One record per distinct compiled kernel, in the order of first launch; see `eval.screen.screen.Record`.

    Raises:
        Any exception of Triton's compiler, unchanged.
    """
    from triton.runtime import driver

    records: dict[str, dict[str, Any]] = {}
    with patch.object(driver, "_active", driver_of(isa, "meta")):
        for kernel, arguments, options, configurations in compilations:
            compiled = kernel.run(grid=None, warmup=True, **arguments, **options)
            if compiled.hash not in records:
                records[compiled.hash] = _record(compiled, configurations, folder, len(records))
            records[compiled.hash]["launches"] += 1
    return list(records.values())


def driver_of(isa: dict[str, Any], device: str) -> SimpleNamespace:
    """A stand-in for the driver of an absent chip, which can only tell its target, and the torch device to use."""
    import torch
    from triton.backends.compiler import GPUTarget

    architecture = isa["architecture"]
    target = GPUTarget(isa["backend"], int(architecture) if architecture.isdigit() else architecture, isa["lanes"])
    name = " ".join(map(str, isa.values()))  # Triton caches compiled kernels by device
    return SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: name,
        get_current_stream=lambda _: 0,
        get_active_torch_device=lambda: torch.device(device),
    )


def dot_precisions(isa: dict[str, Any]) -> tuple[str, ...]:
    """How `tl.dot` can multiply float32 on a chip, by Triton's names: with `tf32`, that is the default."""
    from triton.compiler.compiler import make_backend

    options = make_backend(driver_of(isa, "meta").get_current_target()).parse_options({})
    return tuple(options.allowed_dot_input_precisions)


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
