"""Languages within Python: Pallas for TPUs, interpreted and compiled, and TT-Lang for Tenstorrent in its simulator."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from subprocess import CompletedProcess, run

import numpy
import pytest

from eval.languages.toolchain import language_of_toolchain
from kb.settings import cache_dir
from kb.targets import Targets
from kb.types.evidence import Evidence, Grade, Outcome
from kb.types.target import Isa
from kb.usecases.toolchains import SHIPPED, load
from tests.toolchains.judging import HERE, OPERATIONS, judged, needs

LANGUAGES = {"pallas": "pallas", "tt_lang": "tt-lang"}
REFUSED = {
    "pallas": {
        "wrong": (Outcome.INCORRECT, "elements are wrong"),
        "over_memory": (Outcome.OVER_LIMIT, "exceed a VMEM of 134217728"),
        "unsupported": (Outcome.UNSUPPORTED, "Unimplemented primitive in Pallas TPU lowering for tc: sort"),
        "cheat_host": (Outcome.OUTSIDE_KERNELS, "reduce_sum is computed outside of kernels"),
        "cheat_nowhere": (Outcome.INCORRECT, "not finite"),
    },
    "tt_lang": {
        "wrong": (Outcome.INCORRECT, "elements are wrong"),
        "over_memory": (Outcome.OVER_LIMIT, "exceeds the L1 memory limit"),
        "unsupported": (Outcome.UNSUPPORTED, "the language has no `cumsum`"),
        "cheat_host": (Outcome.FORBIDDEN, "may not import torch"),
        "cheat_nowhere": (Outcome.INCORRECT, "not finite"),
    },
}
PALLAS = """
import jax, jax.numpy as jnp, jax.lax as lax
import jax.experimental.pallas as pl, jax.experimental.pallas.tpu as pltpu
def launch(kernel, *inputs, **options):
    return pl.pallas_call(kernel, out_shape=jax.ShapeDtypeStruct(inputs[0].shape, jnp.float32), **options)(*inputs)
def copy(a, out):
    out[...] = a[...]
def scaled_add(a, b, out):
    out[...] = 2 * a[...] + b[...]
def racy(a, out, scratch, semaphore):
    transfer = pltpu.make_async_copy(a, scratch, semaphore)
    transfer.start()
    out[...] = scratch[...]
    transfer.wait()
def model_new(inputs, state, init):
    """
TT_LANG = """
import ttl, ttnn
@ttl.operation(grid=(1, 1))
def operation(a, b, out):
    buffer = ttl.make_dataflow_buffer_like(a, shape=(1, 1), block_count=2)
    @ttl.datamovement()
    def read():
        with buffer.reserve() as block:
            ttl.copy(a[0, 0], block).wait()
    @ttl.compute()
    def compute():
        pass
    @ttl.datamovement()
    def write():
        with buffer.wait() as block:
            {write}
def model_new(inputs, state, init, outputs):
    {host}
"""
OUTSIDE = "a tensor is used outside of kernels"
CHEATS = {
    "pallas": {
        PALLAS + "return launch(copy, jax.jit(lambda a, b: 2 * a + b)(*inputs))": "mul is computed outside of kernels",
        PALLAS
        + "return lax.fori_loop(0, 1, lambda _, a: launch(copy, a), inputs[0])": "scan is computed outside of kernels",
        PALLAS + "return inputs[0].reshape(inputs[0].shape)": "it calls no pallas_call",
        PALLAS + "return jax.pure_callback(copy, inputs[0], inputs[0])": "no attribute 'pure_callback'",
        PALLAS + "return jax.jit(jnp.sin).trace(1.0).jaxpr.eqns[0].primitive": "the attribute primitive",
        PALLAS + "return jnp.clip.trace(1.0).jaxpr.eqns.clear()": "the attribute jaxpr",
        PALLAS + "return lax.platform_dependent(*inputs, cpu=copy, tpu=copy)": "no attribute 'platform_dependent'",
        PALLAS + "jnp.save('output_0.bin', jnp.zeros(3))": "no attribute 'save'",
    },
    "tt_lang": {
        TT_LANG.format(write="pass", host="outputs[0][0:1, 0:2] = inputs[0]"): OUTSIDE,
        TT_LANG.format(write="pass", host="inputs[0] + inputs[1]"): OUTSIDE,
        TT_LANG.format(write="pass", host="operation(*inputs, inputs[0] @ inputs[1])"): OUTSIDE,
        TT_LANG.format(write="pass", host="outputs[0].to_torch()"): "the language has no `to_torch`",
        TT_LANG.format(write="pass", host="ttl.math.get_context()"): "the language has no `get_context`",
        TT_LANG.format(write="pass", host="raise ValueError(f'{inputs[0]}')"): "Tensor object at",
        TT_LANG.format(write="ttl.copy(block + block, out[0, 0]).wait()", host="operation(*inputs, *outputs)"): "copy",
        TT_LANG.format(write="block.store(block + block)", host="operation(*inputs, *outputs)"): "COPY_SRC",
    },
}

pytestmark = pytest.mark.toolchains


def each_language() -> list:
    return [pytest.param(folder, marks=needs(toolchain)) for folder, toolchain in LANGUAGES.items()]


@pytest.fixture(scope="module", params=each_language())
def language(request: pytest.FixtureRequest) -> Iterator[tuple[str, Callable[[str, Path], Evidence]]]:
    with judged(LANGUAGES[request.param]) as judge:
        yield request.param, judge


@pytest.mark.parametrize("operation", OPERATIONS)
def test_a_right_kernel_passes(language, operation: str) -> None:
    folder, judge = language
    evidence = judge(operation, HERE / folder / f"{operation}.py")

    assert evidence.passed, evidence
    assert evidence.grade is Grade.SIMULATED
    assert evidence.timing is None


@pytest.mark.parametrize("name", REFUSED["pallas"])
def test_a_mistake_and_a_cheat_are_refused_with_their_own_outcome(language, name: str) -> None:
    folder, judge = language
    outcome, said = REFUSED[folder][name]
    evidence = judge("row_sum", HERE / folder / f"{name}.py")

    assert evidence.outcome is outcome, evidence
    assert said in evidence.detail


def called(folder: Path, name: str, source: str, *, isa: Isa | None = None) -> CompletedProcess[str]:
    """One call of a candidate for `scaled_add`, without the judge."""
    toolchain = load(SHIPPED / f"{LANGUAGES[name]}.toml")
    language = language_of_toolchain(toolchain, isa, cache_dir())
    (folder / "candidate.py").write_text(source)
    call = folder / "call"
    call.mkdir()
    for number in range(2):
        numpy.ones((17, 61), numpy.float32).tofile(call / f"input_{number}.bin")
    tensors = ("input 0", "input 1", "output 0")
    (call / "call.txt").write_text("".join(f"{tensor} float32 17 61\n" for tensor in tensors) + "init\n")
    command = language.model_copy(update={"variant": {}}).build_options()["run"]
    environment = {"PATH": "/usr/bin:/bin", "HOME": str(folder), **language.environment()}
    assert command[0] == sys.executable
    return run(command, cwd=call, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("name", "source", "said"),
    [pytest.param(n, s, m, marks=needs(LANGUAGES[n])) for n, cheats in CHEATS.items() for s, m in cheats.items()],
)
def test_nothing_but_a_kernel_can_compute(tmp_path: Path, name: str, source: str, said: str) -> None:
    done = called(tmp_path, name, source)

    assert done.returncode == 1
    assert said in done.stderr


@needs("pallas")
def test_a_kernel_does_not_choose_how_it_is_interpreted(tmp_path: Path) -> None:
    done = called(tmp_path, "pallas", PALLAS + "return launch(scaled_add, *inputs, interpret=True)")

    assert done.returncode == 0, done.stderr
    assert (numpy.fromfile(tmp_path / "call" / "output_0.bin", numpy.float32) == 3).all()


@needs("pallas")
def test_a_race_is_found(tmp_path: Path) -> None:
    scratch = "[pltpu.VMEM((17, 61), jnp.float32), pltpu.SemaphoreType.DMA]"
    source = f"return launch(racy, inputs[0], in_specs=[pl.BlockSpec(memory_space=pl.ANY)], scratch_shapes={scratch})"
    done = called(tmp_path, "pallas", PALLAS + source)

    assert done.returncode == 1
    assert "RACE DETECTED" in done.stderr


@needs("pallas")
def test_a_kernel_is_checked_for_each_tpu(tmp_path: Path) -> None:
    targets = Targets.load(tmp_path)
    chips = sorted(targets.scope("google-tpu") - set(targets.lineage("google-tpu")))
    assert len(chips) > 4

    for chip in chips:
        folder = tmp_path / chip
        folder.mkdir()
        done = called(folder, "pallas", PALLAS + "return launch(scaled_add, *inputs)", isa=targets.isa(chip))
        assert done.returncode == 0, f"{chip}: {done.stderr}"
