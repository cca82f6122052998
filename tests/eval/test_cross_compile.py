"""Kernels are compiled for absent chips where they are launched, and none runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

triton = pytest.importorskip("triton")

from eval.worker.adapters import cross_compile  # noqa: E402
from eval.worker.adapters.cross_compile import CrossCompiler  # noqa: E402
from kb.types.target import Isa  # noqa: E402
from tests.eval.screen.kernels import (  # noqa: E402
    CALLS,
    add_kernel,
    cross_compiled,
    on_meta,
    softmax_kernel,
    wrong_kernel,
)

AMD = "hip gfx942 64"
Compile = Callable[..., CrossCompiler]


@pytest.fixture(scope="module", autouse=True)
def cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(tmp_path_factory.mktemp("triton")))
        patch.setenv("TRITON_DEFAULT_FP_FUSION", "1")  # Triton 3.9 warns if it is not set
        yield


@pytest.fixture
def compile_for(tmp_path: Path) -> Compile:
    return lambda call, isa=AMD: cross_compiled(Isa.parse(isa), call, tmp_path)


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
    [record] = compile_for(CALLS["softmax"], isa).records

    assert {
        "kernel": "softmax_kernel",
        "num_warps": 4,
        "uses_dot": False,
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

    found = compile_for(forward)

    assert [(r["assembly"], r["num_warps"]) for r in found.records] == [
        ("0-softmax_kernel.amdgcn", 4),
        ("1-add_kernel.amdgcn", 4),
        ("2-softmax_kernel.amdgcn", 8),
    ]
    assert list(found.launched) == ["softmax_kernel", "add_kernel"]


def test_arguments_may_be_named(compile_for: Compile) -> None:
    x = on_meta(4096)

    def forward() -> None:
        add_kernel[lambda meta: (meta["n"] // meta["block"],)](x=x, y=x, out=x, n=4096, block=1024)

    assert len(compile_for(forward).records) == 1


def test_the_record_of_a_kernel_with_a_dot_says_so(compile_for: Compile) -> None:
    assert compile_for(CALLS["small matmul"]).records[0]["uses_dot"]


def test_heuristics_are_evaluated(compile_for: Compile) -> None:
    x = on_meta(4096)
    kernel = triton.heuristics({"block": lambda args: 16 * args["n"], "num_warps": lambda _: 2})(add_kernel)

    assert compile_for(launch(kernel, x, x, x, 64)).records[0]["num_warps"] == 2


def keep_the_last_two(configurations: list[Any], *_: Any, **__: Any) -> list[Any]:
    return configurations[-2:]


def autotuned(*num_warps: int, block: int = 1024, **kwargs: Any) -> Any:
    return triton.autotune([triton.Config({"block": block}, num_warps=n) for n in num_warps], key=["n"], **kwargs)


def warps_of(found: CrossCompiler) -> list[int]:
    return [record["num_warps"] for record in found.records]


def test_an_autotuned_kernel_is_compiled_in_each_configuration_that_pruning_leaves(compile_for: Compile) -> None:
    x = on_meta(4096)
    pruning = {"early_config_prune": keep_the_last_two}

    def forward() -> None:
        autotuned(1, 2, 4, prune_configs_by=pruning)(add_kernel)[(4,)](x, x, x, 4096)
        softmax_kernel[(4,)](x, x, 1024, block=1024)

    found = compile_for(forward)

    assert [(r["num_warps"], "configuration" in r) for r in found.records] == [(2, True), (4, True), (4, False)]
    assert found.records[0]["configuration"].startswith("block=1024, num_warps=2")
    assert not found.left_out


@pytest.mark.parametrize(("most", "seconds", "compiled"), [(2, 60.0, [1, 2]), (8, 0.0, [1])])
def test_it_is_said_how_many_configurations_are_left_out(
    compile_for: Compile, monkeypatch: pytest.MonkeyPatch, most: int, seconds: float, compiled: list[int]
) -> None:
    monkeypatch.setattr(cross_compile, "MOST_CONFIGURATIONS", most)
    monkeypatch.setattr(cross_compile, "CONFIGURATIONS_S", seconds)
    x = on_meta(4096)

    found = compile_for(launch(autotuned(1, 2, 4)(add_kernel), x, x, x, 4096))

    assert warps_of(found) == compiled
    assert found.left_out == {"add_kernel": 3 - len(compiled)}


@triton.jit
def narrow_kernel(x, n, block: triton.language.constexpr):
    triton.language.static_assert(block < 64)
    triton.language.store(x + n + triton.language.arange(0, block), 0.0)


def test_a_configuration_that_does_not_compile_is_skipped_unless_all_are(compile_for: Compile, tmp_path: Path) -> None:
    x = on_meta(4096)
    wide, narrow = (triton.Config({"block": block}, num_warps=1) for block in (64, 32))

    found = compile_for(launch(triton.autotune([wide, narrow], key=[])(narrow_kernel), x, 0))
    assert [r["configuration"][:8] for r in found.records] == ["block=32"]
    assert found.failure is None

    with pytest.raises(triton.CompilationError):
        compile_for(launch(triton.autotune([wide, wide], key=[])(narrow_kernel), x, 0))


def test_warming_up_a_kernel_does_not_count_as_a_launch(compile_for: Compile) -> None:
    x = on_meta(4096)

    assert not compile_for(lambda: add_kernel.warmup(x, x, x, 4096, block=1024, grid=(4,))).launched


def test_errors_of_the_compiler_are_passed_on_and_launches_are_restored(compile_for: Compile) -> None:
    before = triton.JITFunction.run, triton.runtime.Autotuner.run

    with pytest.raises(triton.CompilationError, match="power of 2"):
        compile_for(launch(wrong_kernel, on_meta(4)))

    assert (triton.JITFunction.run, triton.runtime.Autotuner.run) == before


def test_an_error_of_the_compiler_is_kept_although_it_was_caught(compile_for: Compile) -> None:
    def forward() -> None:
        with pytest.raises(triton.CompilationError):
            wrong_kernel[(1,)](on_meta(4))

    assert isinstance(compile_for(forward).failure, triton.CompilationError)
