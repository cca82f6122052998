"""Kernels are compiled for absent chips, and none is launched."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

from eval.languages.cross_compile import compile_kernels  # noqa: E402
from kb.model.target import Isa  # noqa: E402
from tests.eval.screen.kernels import CALLS, add_kernel, on_meta, softmax_kernel, wrong_kernel  # noqa: E402

AMD = "hip gfx942 64"
Compile = Callable[..., list[dict[str, Any]]]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns if it is not set
        yield


@pytest.fixture
def compile_for(tmp_path: Path) -> Compile:
    return lambda call, isa=AMD: compile_kernels(asdict(Isa.parse(isa)), call, tmp_path)


def launch(kernel: Any, *args: Any, **kwargs: Any) -> Callable[[], object]:
    return lambda: kernel[(4,)](*args, **kwargs)


@pytest.mark.parametrize(
    ("isa", "files", "word"),
    [
        (AMD, ["amdgcn"], "gfx942"),
        ("hip gfx950 64", ["amdgcn"], "gfx950"),
        ("cuda 90 32", ["cubin", "ptx", "sass"], "sm_90"),
        ("cuda 100 32", ["cubin", "ptx", "sass"], "sm_100"),
    ],
)
def test_a_kernel_is_compiled_for_the_given_target(
    compile_for: Compile, tmp_path: Path, isa: str, files: list[str], word: str
) -> None:
    [record] = compile_for(CALLS["softmax"], isa)

    assert {
        "kernel": "softmax_kernel",
        "num_warps": 4,
        "num_ctas": 1,
        "uses_dot": False,
        "configurations": 1,
        "launches": 1,
        "assembly": f"0-softmax_kernel.{files[0] if len(files) == 1 else 'sass'}",
    }.items() <= record.items()
    assert record["scratchpad_bytes"] > 0
    assert sorted(f.name for f in tmp_path.iterdir() if f.is_file()) == [f"0-softmax_kernel.{end}" for end in files]
    assert word in (tmp_path / record["assembly"]).read_text()


def test_each_kernel_has_one_record_however_often_it_is_launched(compile_for: Compile) -> None:
    x = on_meta(4, 1024)

    def forward() -> None:
        softmax_kernel[(4,)](x, x, 1024, block=1024)
        add_kernel[(4,)](x, x, x, 4096, block=1024)
        softmax_kernel[(4,)](x, x, 1024, block=1024)
        softmax_kernel[(4,)](x, x, 1024, block=1024, num_warps=8)

    records = compile_for(forward)

    assert [(r["assembly"], r["num_warps"], r["launches"]) for r in records] == [
        ("0-softmax_kernel.amdgcn", 4, 2),
        ("1-add_kernel.amdgcn", 4, 1),
        ("2-softmax_kernel.amdgcn", 8, 1),
    ]


def test_arguments_may_be_named_and_the_grid_is_not_evaluated(compile_for: Compile) -> None:
    x = on_meta(4096)

    def forward() -> None:
        add_kernel[lambda meta: 1 / 0](x=x, y=x, out=x, n=4096, block=1024)

    assert len(compile_for(forward)) == 1


def test_the_record_of_a_kernel_with_a_dot_says_so(compile_for: Compile) -> None:
    assert compile_for(CALLS["small matmul"])[0]["uses_dot"]


def test_heuristics_are_evaluated(compile_for: Compile) -> None:
    x = on_meta(4096)
    kernel = triton.heuristics({"block": lambda args: 16 * args["n"], "num_warps": lambda _: 2})(add_kernel)

    assert compile_for(launch(kernel, x, x, x, 64))[0]["num_warps"] == 2


def keep_the_last_two(configurations: list[Any], *_: Any, **__: Any) -> list[Any]:
    return configurations[-2:]


@pytest.mark.parametrize(("pruning", "num_warps"), [(None, 1), ({"early_config_prune": keep_the_last_two}, 2)])
def test_an_autotuned_kernel_is_compiled_in_the_first_configuration_that_pruning_leaves(
    compile_for: Compile, pruning: Any, num_warps: int
) -> None:
    x = on_meta(4096)
    configurations = [triton.Config({"block": 1024}, num_warps=n) for n in (1, 2, 4)]
    kernel = triton.autotune(configurations, key=["n"], prune_configs_by=pruning)(add_kernel)

    def forward() -> None:
        kernel[(4,)](x, x, x, 4096)
        softmax_kernel[(4,)](x, x, 1024, block=1024)

    tuned, other = compile_for(forward)

    assert (tuned["num_warps"], tuned["configurations"], tuned["launches"]) == (num_warps, 3, 1)
    assert other["configurations"] == 1


def test_warming_up_a_kernel_does_not_count_as_a_launch(compile_for: Compile) -> None:
    x = on_meta(4096)

    assert compile_for(lambda: add_kernel.warmup(x, x, x, 4096, block=1024, grid=(4,))) == []


def test_a_candidate_that_queries_the_device_gets_meta(compile_for: Compile) -> None:
    devices: list[Any] = []
    compile_for(lambda: devices.append(triton.runtime.driver.active.get_active_torch_device()))

    assert [str(d) for d in devices] == ["meta"]


def test_errors_of_the_compiler_are_passed_on_and_the_patches_are_removed(compile_for: Compile) -> None:
    before = triton.JITFunction.run, triton.runtime.Autotuner.run

    with pytest.raises(triton.CompilationError, match="power of 2"):
        compile_for(launch(wrong_kernel, on_meta(4)))

    assert (triton.JITFunction.run, triton.runtime.Autotuner.run) == before


INTERPRETED = """
import torch, triton, triton.language as tl
from eval.languages.cross_compile import skip_autotuning

skip_autotuning()

@triton.autotune([triton.Config({"BLOCK": b}) for b in (8, 4)], key=["n"], reset_to_zero=["programs"])
@triton.heuristics({"TWICE": lambda args: 2})
@triton.jit
def add(x, programs, n, BLOCK: tl.constexpr, TWICE: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + at, tl.load(x + at) + TWICE)
    tl.atomic_add(programs, 1)

x, programs = torch.zeros(32), torch.zeros(1)
for _ in range(2):
    add[lambda meta: (32 // meta["BLOCK"],)](x, programs, 32)
print(x.unique().tolist(), programs.item())
"""


def test_an_interpreted_autotuned_kernel_runs_once_per_call_in_its_first_configuration(tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_text(INTERPRETED, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, str(tmp_path / "candidate.py")],
        env={"TRITON_INTERPRET": "1", "PYTHONPATH": str(Path(__file__).parents[2]), "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (done.stdout.strip(), done.returncode) == ("[4.0] 8.0", 0), done.stderr
