"""Compile Triton kernels for a chip that is not present. Runs in the worker and imports nothing of kb."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

MOST_CONFIGURATIONS, CONFIGURATIONS_S = 8, 30.0
"""Configurations of an autotuned kernel that are compiled, the first that its pruning leaves; and the seconds after
which only the first one is."""
MOST_CHARACTERS = 200
"""Of the text that names a configuration."""


class CrossCompiler:
    """Compiles the kernels that Python code launches, instead of launching them.

    Args:
        isa: `backend`, `architecture` and `lanes` of a wavefront in Triton's terms: see kb.types.target.Isa.
        folder: Where the assembly is written: `0-name.amdgcn`, or for NVIDIA `0-name.ptx`, `0-name.cubin` and
            `0-name.sass`, which contains the disassembly and the resource usage.

    Attributes:
        launched: Names of the functions that were launched, in order.
        left_out: Number of configurations that were not compiled, by the name of an autotuned function.
        failure: The first exception of Triton's compiler; the code that launched the kernel may have caught it.
    """

    def __init__(self, isa: dict[str, Any], folder: Path) -> None:
        self._driver, self._folder, self._end = driver_of(isa), folder, monotonic() + CONFIGURATIONS_S
        self._records: dict[str, dict[str, Any]] = {}
        self._configuration: dict[str, Any] = {}
        self.launched: dict[str, None] = {}
        self.left_out: dict[str, int] = {}
        self.failure: Exception | None = None

    @property
    def records(self) -> list[dict[str, Any]]:
        """One per distinct compiled kernel, in the order of first launch; see `eval.screen.screen.Record`."""
        return list(self._records.values())

    @contextmanager
    def in_place_of_launches(self) -> Iterator[None]:
        """While it lasts, launching a kernel compiles it, for which tensors of any device or without values will do."""
        from triton.compiler.errors import CompileTimeAssertionFailure
        from triton.runtime import driver
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.errors import OutOfResources, PTXASError
        from triton.runtime.jit import JITFunction

        compile_ = JITFunction.run
        skipped_by_autotuner = OutOfResources, CompileTimeAssertionFailure, PTXASError

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            if warmup:
                return
            self.launched[kernel.fn.__name__] = None
            try:
                compiled = compile_(kernel, *args, grid=None, warmup=True, **kwargs)
            except Exception as error:
                if not (self._configuration and isinstance(error, skipped_by_autotuner)):
                    self.failure = self.failure or error
                raise
            self._record(compiled)

        def run_autotuned(tuner: Any, *args: Any, **kwargs: Any) -> None:
            tuner.nargs = dict(zip(tuner.arg_names, args, strict=False))
            rest = list(tuner.prune_configs(kwargs) if len(tuner.configs) > 1 else tuner.configs)
            fits, skipped = False, None
            for configuration in rest[:MOST_CONFIGURATIONS]:
                if fits and monotonic() > self._end:
                    break
                rest = rest[1:]
                try:
                    self._run_configured(tuner, args, kwargs, configuration)
                    fits = True
                except skipped_by_autotuner as error:
                    skipped = error
            if skipped and not fits:
                self.failure = self.failure or skipped
                raise skipped
            if rest:
                self.left_out[tuner.base_fn.__name__] = len(rest)

        with (
            patch.object(driver, "_active", self._driver),
            patch.object(JITFunction, "run", run),
            patch.object(Autotuner, "run", run_autotuned),
        ):
            yield

    def _run_configured(self, tuner: Any, args: Any, kwargs: dict[str, Any], configuration: Any) -> None:
        chosen = configuration.all_kwargs()
        text = ", ".join(f"{name}={value}" for name, value in chosen.items())[:MOST_CHARACTERS]
        if configuration.pre_hook:
            configuration.pre_hook({**tuner.nargs, **kwargs, **chosen})
        self._configuration = {"configuration": text}
        try:
            tuner.fn.run(*args, **kwargs, **chosen)
        finally:
            self._configuration = {}

    def _record(self, compiled: Any) -> None:
        if compiled.hash not in self._records:
            stem = f"{len(self._records)}-{compiled.metadata.name[:100]}"
            self._records[compiled.hash] = {
                "kernel": compiled.metadata.name,
                "num_warps": compiled.metadata.num_warps,
                "scratchpad_bytes": compiled.metadata.shared,
                "uses_dot": "tt.dot" in compiled.asm.get("ttir", ""),
                "assembly": _write_assembly(compiled, self._folder, stem),
                **self._configuration,
            }


def driver_of(isa: dict[str, Any]) -> SimpleNamespace:
    """A stand-in for the driver of an absent chip, which can only tell its target; tensors are on the CPU."""
    import torch
    from triton.backends.compiler import GPUTarget

    architecture = isa["architecture"]
    target = GPUTarget(isa["backend"], int(architecture) if architecture.isdigit() else architecture, isa["lanes"])
    name = " ".join(map(str, isa.values()))  # Triton caches compiled kernels by device
    return SimpleNamespace(
        get_current_target=lambda: target,
        get_current_device=lambda: name,
        get_current_stream=lambda _: 0,
        get_active_torch_device=lambda: torch.device("cpu"),
    )


def dot_precisions(isa: dict[str, Any]) -> tuple[str, ...]:
    """How `tl.dot` can multiply float32 on a chip, by Triton's names: with `tf32`, that is the default."""
    from triton.compiler.compiler import make_backend

    options = make_backend(driver_of(isa).get_current_target()).parse_options({})
    return tuple(options.allowed_dot_input_precisions)


def _write_assembly(compiled: Any, folder: Path, stem: str) -> str:
    """Write the compiler's output into `folder`; return the name of the file that the screen reads."""
    from triton import knobs  # it names the tool for NVIDIA's binaries that comes with Triton

    if "amdgcn" in compiled.asm:
        (folder / f"{stem}.amdgcn").write_text(compiled.asm["amdgcn"], encoding="utf-8")
        return f"{stem}.amdgcn"
    (folder / f"{stem}.ptx").write_text(compiled.asm["ptx"], encoding="utf-8")
    (folder / f"{stem}.cubin").write_bytes(compiled.asm["cubin"])
    command = [knobs.nvidia.cuobjdump.path, "--dump-resource-usage", "--dump-sass", folder / f"{stem}.cubin"]
    (folder / f"{stem}.sass").write_bytes(subprocess.run(command, capture_output=True, check=True).stdout)
    return f"{stem}.sass"
