"""Kernels are compiled for absent chips, and none is launched."""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

from eval.worker.adapters.cross_compile import compile_kernels  # noqa: E402
from kb.types.target import Isa  # noqa: E402
from tests.eval.screen.kernels import CALLS, add_kernel, launches, on_meta, softmax_kernel, wrong_kernel  # noqa: E402

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
    return lambda call, isa=AMD: compile_kernels(asdict(Isa.parse(isa)), launches(call), tmp_path)


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


def test_arguments_may_be_named(compile_for: Compile) -> None:
    x = on_meta(4096)

    def forward() -> None:
        add_kernel[lambda meta: (meta["n"] // meta["block"],)](x=x, y=x, out=x, n=4096, block=1024)

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


def test_errors_of_the_compiler_are_passed_on_and_launches_are_restored(compile_for: Compile) -> None:
    before = triton.JITFunction.run, triton.runtime.Autotuner.run

    with pytest.raises(triton.CompilationError, match="power of 2"):
        compile_for(launch(wrong_kernel, on_meta(4)))

    assert (triton.JITFunction.run, triton.runtime.Autotuner.run) == before
