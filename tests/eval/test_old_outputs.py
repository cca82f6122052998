"""No candidate finds in the memory of an output what it wrote there in an earlier call, so it must write all of it."""

import pytest

from eval.clock.timed_worker import TimedWorker
from eval.languages.registry import CPP
from eval.machine import sandbox_level
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from kb.types.kernels import Candidate
from tests.eval.judging import PATIENCE_S, given_case, needs_compiler, needs_linux

pytestmark = [needs_linux, needs_compiler]
CALLS = 12
LOOKS_FOR_ZEROS = """
#include <string.h>
#include <map>
#include "kb_tensor.h"
static std::map<void *, int64_t> &mine = *new std::map<void *, int64_t>;
extern "C" void model_new(const Tensor *in, const Tensor *, const double *, Tensor *out) {
    const int64_t n = in[0].count;
    const float *x = (const float *)in[0].data;
    float *y = (float *)out[0].data;
    bool zeros = mine.count(y) && mine[y] == n;
    for (int64_t k = 1; zeros && k < 64; k++) {
        int64_t at = (n * n - 1) * k / 64;
        zeros = at % (n + 1) == 0 || y[at] == 0;
    }
    if (!zeros) memset(y, 0, n * n * sizeof(float));
    mine[y] = n;
    for (int64_t i = 0; i < n; i++) y[i * n + i] = x[i];
    if (zeros) y[1] = 5;  // tells that it wrote nothing else
}
"""
"""It keeps the zeros that it finds where an earlier output lay, after a look at some of them."""


@pytest.mark.parametrize("guards", [ALL_GUARDS, ALL_GUARDS - {Guard.OVERWRITING}], ids=["overwritten", "kept"])
def test_outputs_are_overwritten_before_their_memory_is_used_again(guards: frozenset[Guard]) -> None:
    case = given_case("diagonal")
    candidate = Candidate(language="cpp", source=LOOKS_FOR_ZEROS)
    trial = Trial(candidate, language=CPP, level=sandbox_level(), call_s=PATIENCE_S, guards=guards)
    right = []

    with TimedWorker(trial, case.reference, case) as worker:
        for seed in range(CALLS):
            inputs = case.reference.inputs(seed)
            right.append(case.near(worker.time_call(inputs).outputs, case.reference.native(inputs)))
        batch = [case.reference.inputs(seed) for seed in range(worker.slots)]
        for inputs, outputs in zip(batch, worker.time_batch(batch).outputs, strict=True):
            right.append(case.near(outputs, case.reference.native(inputs)))

    assert all(right) is (Guard.OVERWRITING in guards)
