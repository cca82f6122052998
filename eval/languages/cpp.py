"""The language `cpp`: C++ that defines one C function."""

import shutil
from collections.abc import Sequence
from pathlib import Path

from eval.machine import compilers
from eval.supervisor.language import ADAPTERS, WAIT, JudgedLanguage
from eval.worker.adapters.cpp import FLAGS, LIBRARY
from kb.errors import JudgeError

CONTRACT = """\
Begin with `#include "kb_tensor.h"`, which declares:

```c
typedef struct {
    void *data;           /* contiguous, row-major, aligned to 64 bytes */
    const int64_t *shape; /* ndim sizes */
    int64_t ndim;
    int64_t count;        /* number of elements: the product of the sizes */
} Tensor;

void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs);
void load_reference(const Tensor *state, const double *init);
```

- Define `model_new`, which computes the outputs of one call. The header gives it C linkage.
- `inputs`, `state` and `init` come in the order listed above. `outputs` are allocated but not initialised: all of them
  must be fully written when the function returns. Do not write to inputs or state.
- Sizes vary between builds: read them from `shape` and `count`, and numbers from `init`.
- `load_reference` is optional. It is called once, untimed, before the first call: convert or repack the state there,
  into your own memory.
- No thread may continue after the call, except OpenMP's own pool. Use no files, no network, no other processes."""
RULES = f"""\
Write one C++17 file. It is compiled with `-O3 -march=native -fopenmp`; OpenMP and the intrinsics of the processor are
available, other libraries are not. {CONTRACT}"""

IDLE = f"""\
#include <stdio.h>
#include <time.h>
#include "kb_tensor.h"

static double now_us() {{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * now.tv_sec + 1e-3 * now.tv_nsec;
}}

void model_new(const Tensor *, const Tensor *, const double *, Tensor *) {{
    const double start = now_us();
    double wait_us = 0;
    if (FILE *file = fopen("{WAIT}", "r")) {{
        fscanf(file, "%lf", &wait_us);
        fclose(file);
    }}
    while (now_us() - start < wait_us) {{}}
}}
"""


class Cpp(JudgedLanguage):
    """C++ that defines the function `model_new` of kb_tensor.h."""

    name: str = "cpp"
    searched: tuple[str, ...] = ("intrinsics in C and C++", "compiler options vectorisation")
    suffix: str = ".cpp"
    fences: tuple[str, ...] = ("cpp", "c++", "cc")
    rules: str = RULES
    contract: str = CONTRACT
    tunable: str = "constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8"
    adapter: Path = ADAPTERS / "cpp.py"
    other_suffixes: tuple[str, ...] = (".cc",)
    tensors_alone: bool = True

    def idle(self, reference: str) -> str:
        return IDLE

    def compile_command(self, folder: Path) -> Sequence[str]:
        compiler = shutil.which("c++") or shutil.which("clang++")
        if compiler is None:
            raise JudgeError("there is no C++ compiler on the path", hint="install g++ or clang++")
        header = f"-I{Path(__file__).parent}"
        return (compiler, *FLAGS, header, "-o", str(folder / LIBRARY), str(folder / f"candidate{self.suffix}"))

    def versions(self) -> dict[str, str]:
        return {"compiler": compilers().get("c++", "")}
