"""An estimate is a time near the judge's for a candidate that is right, and words for one that is not."""

import os
import time
from collections.abc import Iterator
from statistics import median

import pytest

from eval.clock.quick_timing import quick_time_us
from eval.clock.sessions import time_candidate
from eval.devices.triton_compiler import TritonCompiler
from eval.judge.driver import LocalJudge
from eval.judge.task_judge import TaskJudge
from eval.languages.registry import CPP
from eval.machine import present_gpu, sandbox_level
from eval.supervisor.trial import Trial
from kb.errors import JudgeError
from kb.types.kernels import Candidate
from kb.types.target import Isa
from tests.eval.gpu_judging import TEMPLATES, judge_on, template
from tests.eval.judging import baselines, needs_compiler, needs_linux, task

pytestmark = [needs_linux, needs_compiler]

LIMIT_S = 3.0


def row_sum(before: str = "", element: str = "x[row * cols + i]") -> Candidate:
    """A right candidate, or one that does something else first, or adds other values."""
    source = f"""
#include <time.h>
#include <unistd.h>
#include "kb_tensor.h"
static double now_us() {{
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return 1e6 * now.tv_sec + 1e-3 * now.tv_nsec;
}}
extern "C" void model_new(const Tensor *inputs, const Tensor *, const double *, Tensor *outputs) {{
    const float *x = (const float *)inputs[0].data;
    const int64_t rows = inputs[0].shape[0], cols = inputs[0].shape[1];
    {before}
    for (int64_t row = 0; row < rows; row++) {{
        double sum = 0;
        for (int64_t i = 0; i < cols; i++) sum += {element};
        ((float *)outputs[0].data)[row] = sum;
    }}
}}
"""
    return Candidate(language="cpp", source=source)


def busy_for(us: int) -> Candidate:
    return row_sum(f"for (const double end = now_us() + {us}; now_us() < end;) {{}}")


@pytest.fixture(scope="module")
def judge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalJudge]:
    isa, cache = Isa("cpu", os.uname().machine), tmp_path_factory.mktemp("cache")
    with LocalJudge(task("row_sum"), target="cpu", isa=isa, facts=[], cache=cache, call_s=LIMIT_S) as started:
        yield started


def test_the_time_of_a_candidate_orders_it(judge: LocalJudge) -> None:
    found = [judge.estimate(busy_for(us)).time_us or 0.0 for us in (4000, 1000, 16000)]

    assert found[1] < found[0] < found[2]
    assert all(us <= time_us < 2 * us for us, time_us in zip((4000, 1000, 16000), found, strict=True)), found


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        (row_sum(element="x[0]"), "incorrect: "),
        (row_sum("*(volatile int *)nullptr = 0;"), "crashed: its process died of SIGSEGV"),
        (row_sum("sleep(100);"), f"timed_out: no answer to `call` within {LIMIT_S:g} s"),
        (row_sum("((float *)x)[0] = 0;"), "mutated_input: "),
        (Candidate(language="cpp", source="int"), "compile_error: "),
    ],
    ids=["wrong", "crashes", "hangs", "changes its input", "does not compile"],
)
def test_a_candidate_is_refused_in_words_within_its_limit_and_the_next_one_gets_a_time(
    judge: LocalJudge, refused: Candidate, said: str
) -> None:
    judge.estimate(row_sum())
    start = time.monotonic()

    estimate = judge.estimate(refused)

    assert time.monotonic() < start + 3 * LIMIT_S
    assert estimate.time_us is None
    assert estimate.detail.startswith(said)
    assert judge.estimate(row_sum()).time_us


@pytest.mark.alone
@pytest.mark.slow
def test_an_estimate_lies_among_the_times_of_a_verdict() -> None:
    running = baselines("row_sum")
    for us in (200, 5000):
        trial = Trial(busy_for(us), language=CPP, level=sandbox_level())
        timing, _ = time_candidate(trial, running, [])
        fastest_us = min(us for session in timing.sessions for us in session.inside_us)

        assert 0.95 * fastest_us < quick_time_us(trial, running) < 1.3 * timing.candidate_us


def test_no_baseline_runs_for_an_estimate(monkeypatch: pytest.MonkeyPatch) -> None:
    judged = TaskJudge(task("row_sum"), "cpu", Isa("cpu", os.uname().machine), [], call_s=LIMIT_S)
    try:
        assert judged.estimate(row_sum()).time_us
        assert not judged.device.baselines._kept_sets
    finally:
        judged.close()


def test_a_target_that_is_not_timed_here_gives_an_error() -> None:
    judged = TaskJudge(task("row_sum"), "mi300x", Isa("hip", "gfx942", 64), [], call_s=LIMIT_S, device=TritonCompiler)

    with pytest.raises(JudgeError, match="not timed here"):
        judged.estimate(Candidate(language="triton", source="import triton"))


@pytest.mark.gpu
@pytest.mark.skipif(present_gpu() is None, reason="there is no GPU that torch can use")
@pytest.mark.parametrize("name", TEMPLATES)
def test_on_a_gpu_an_estimate_is_quick_and_near_the_time_of_a_verdict(name: str) -> None:
    candidate, subject = template(name)
    judged = judge_on(subject)
    judged.estimate(candidate)
    start = time.monotonic()
    found = [judged.estimate(candidate).time_us or 0.0 for _ in range(3)]
    each_s = (time.monotonic() - start) / 3

    assert judged.verify(candidate).time_us == pytest.approx(median(found), rel=0.3)
    assert each_s < 2
