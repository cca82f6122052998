"""What the workers of all baselines are started with. This module does not load torch."""

import os
from typing import Any

from eval.supervisor.process import ALL_GUARDS, Guard

GUARDS = ALL_GUARDS - {Guard.ALIASING}
"""A reference is not suspected; it may return a part of its input."""
SETTINGS, CACHE, TRITON_CACHE = ("TORCHINDUCTOR_", "TORCHDYNAMO_"), "TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR"
"""How the environment names settings of torch.compile, the folder of what it has compiled, and that of its kernels."""
ALONE = {
    "TORCHINDUCTOR_COMPILE_THREADS": "1",
    "TORCHINDUCTOR_CPP_CACHE_PRECOMPILE_HEADERS": "0",
    "TORCHINDUCTOR_VEC_ISA_OK": "1",
}
"""Makes it compile without other processes. It compiles neither all headers first, which it would not keep for the next
worker, nor a program that uses the CPU's vector units, because it knows these by their names."""
COMPILER = ("torch._inductor.compile_fx",)
"""To import this module loads most of what torch.compile needs."""


def compiles() -> bool:
    """Whether torch.compile is on. Where the user has switched it off, no baseline is called compiled."""
    return os.environ.get("TORCHDYNAMO_DISABLE") != "1"


def settings() -> dict[str, Any]:
    """The settings of a trial that all baselines share: a compiler keeps what it has compiled."""
    if not compiles():
        return {"guards": GUARDS, "environment": {}, "writable": (), "preload": ()}
    environment = ALONE | {name: value for name, value in os.environ.items() if name.startswith(SETTINGS)}
    cache = environment.get(CACHE)
    if cache:
        environment[TRITON_CACHE] = f"{cache}/triton"
    writable = (cache,) if cache else ()
    return {"guards": GUARDS, "environment": environment, "writable": writable, "preload": COMPILER}
