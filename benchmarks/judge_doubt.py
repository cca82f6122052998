"""How much of a question's time a candidate can use to work unseen on a GPU, if its code answers in the worker's place.

For calls of several sizes an honest worker, which replays recorded calls or not, and one that answers in C are asked in
turn. What the latter needs less beside its call is what it could hide. Needs a GPU and a C compiler; the sandbox is
off, so run it on a machine of your own. `python -m benchmarks.judge_doubt` writes `results/judge-doubt-GPU.json`.
"""

import json
import secrets
import subprocess
import sys
import tempfile
from itertools import product
from pathlib import Path
from statistics import median
from typing import Any

import torch  # noqa: TID253 - it needs a GPU

from benchmarks.origin import write_result
from eval.clock.sessions import one_thread
from eval.clock.timed_worker import TimedWorker
from eval.languages.registry import TORCH
from eval.oracle.cases import make_case
from eval.oracle.reference import Reference
from eval.supervisor.device_memory import DeviceMemory
from eval.supervisor.settings import ALL_GUARDS, Guard
from eval.supervisor.trial import Trial
from kb.types.kernels import Candidate, Task

ROUNDS, CALLS, BATCHES = 3, 40, 8
ON_GPU = TORCH.model_copy(update={"adapter": TORCH.gpu_adapter})
GUARDS = ALL_GUARDS - {Guard.SANDBOX, Guard.REST}
TASK = """
import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x.clone()
def get_inputs():
    return [torch.rand({mib}, 262144)]
def get_init_inputs():
    return []
"""
HONEST = """
import torch
class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clone()
"""
IN_C = (
    HONEST
    + """
import ctypes
from eval.worker import worker
LIBRARY = ctypes.CDLL("{library}")
LIBRARY.start()
kept = {{}}
def addresses(tensors):
    return (ctypes.c_ulonglong * len(tensors))(*(x.data_ptr() for x in tensors))
def call(model, number, channel):
    sets = model._inputs if number < 0 else [model._inputs[number]]
    key = number, sets[0][0].data_ptr()
    if key not in kept:
        outputs = [torch.empty_like(each[0]) for each in sets]
        kept[key] = outputs, " ".join(model._places(outputs)).encode()
    outputs, places = kept[key]
    model._outputs = tuple(outputs)
    sources, targets = (addresses([each[0] for each in sets]), addresses(outputs))
    size = ctypes.c_size_t(sets[0][0].nbytes)
    LIBRARY.call(channel.read_fd, channel.write_fd, sources, targets, size, len(sets), places)
honest = worker.Worker.answer
def answer(self, question):
    told = honest(self, question)
    if question["verb"] == "layouts":
        worker.call = call
    return told
worker.Worker.answer = answer
"""
)
LIBRARY = r"""
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
typedef unsigned long long address;
static double now(void) { struct timespec t; clock_gettime(CLOCK_MONOTONIC, &t); return t.tv_sec + 1e-9 * t.tv_nsec; }
static int (*create)(void **, unsigned), (*record)(void *, void *), (*copy)(address, address, size_t, void *);
static int (*finish)(void *), (*elapsed)(float *, void *, void *);
static void *before, *after;
void start(void) {
    void *driver = dlopen("libcuda.so.1", RTLD_NOW);
    create = dlsym(driver, "cuEventCreate"); record = dlsym(driver, "cuEventRecord");
    copy = dlsym(driver, "cuMemcpyDtoDAsync_v2"); finish = dlsym(driver, "cuStreamSynchronize");
    elapsed = dlsym(driver, "cuEventElapsedTime");
    create(&before, 0); create(&after, 0);
}
void call(int questions, int answers, address *x, address *y, size_t bytes, int count, const char *places) {
    char line[65536], token[256];
    ssize_t n = read(questions, token, sizeof token - 1);
    if (n <= 0) _exit(0);
    double start = now(); float ms = 0;
    token[n] = 0; token[strcspn(token, "\n")] = 0;
    record(before, 0);
    for (int i = 0; i < count; i++) copy(y[i], x[i], bytes, 0);
    record(after, 0);
    finish(0);
    elapsed(&ms, before, after);
    n = snprintf(line, sizeof line, "%s %.9f %.9f %s\n", token, now() - start, ms / 1e3, places);
    if (write(answers, line, n) < 0) _exit(0);
}
"""


def main(results: Path = Path(__file__).parent / "results") -> None:
    """Measure, and write the results."""
    name = torch.cuda.get_device_name()
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "answers.so"
        source = library.with_suffix(".c")
        source.write_text(LIBRARY, encoding="utf-8")
        subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-o", library, source, "-ldl"], check=True)
        rows = [row for mib in (16, 256, 1024, 4096) for row in _measured(mib, IN_C.format(library=library))]
    write_result(results / f"judge-doubt-{name.split()[1].lower()}.json", {"rounds": ROUNDS, "rows": rows}, ["torch"])


def _measured(mib: int, in_c: str) -> list[dict[str, Any]]:
    """What was seen with inputs of so many MiB, and outputs as large."""
    memory = DeviceMemory()
    memory.slot_bytes = memory.total_bytes // 16
    reference = Reference(Task(name="copy", source=TASK.format(mib=mib)), seed=0, device="cuda")
    case = make_case("given", reference, reference.inputs(0))
    seen: dict[str, dict[str, list[float]]] = {}
    for _, (worker, source, replays) in product(
        range(ROUNDS), (("replays", HONEST, True), ("in C", in_c, False), ("calls", HONEST, False))
    ):
        candidate = Candidate(language="torch", source=source)
        trial = Trial(candidate, language=ON_GPU, level=0, call_s=60.0, guards=GUARDS, memory=memory)
        with one_thread(), TimedWorker(trial, reference, case) as timed:
            timed.capture(on=replays)
            calls = [timed.time_call(reference.inputs(secrets.randbits(62))).time for _ in range(CALLS)]
            batches = [timed.time_batch([case.inputs] * timed.slots).time for _ in range(BATCHES)]
            kept = seen.setdefault(worker, {"call": [], "batch": [], "answering": [], "inside": []})
            kept["call"].append(median(each.overhead_us for each in calls))
            kept["batch"].append(median(each.overhead_us for each in batches))
            kept["answering"].append(median(each.answering_us for each in calls))
            kept["inside"].append(median(each.inside_us for each in calls))
            slots = timed.slots
    rows = []
    for worker in ("replays", "calls"):
        answering_us = median(seen[worker]["answering"])
        hidden_us = {
            part: [a - b for a, b in zip(seen[worker][part], seen["in C"][part], strict=True)]
            for part in ("call", "batch")
        }
        rows.append(
            {
                "MiB": mib,
                "honest worker": worker,
                "sets": slots,
                "call_us": round(median(seen[worker]["inside"]), 1),
                "answering_us": round(answering_us, 1),
                "hidden of a call, us": [round(us, 1) for us in hidden_us["call"]],
                "hidden of a batch, us": [round(us, 1) for us in hidden_us["batch"]],
                "share of answering, call": round(median(hidden_us["call"]) / answering_us, 3),
                "share of answering, batch": round(median(hidden_us["batch"]) / answering_us, 3),
            }
        )
        sys.stdout.write(json.dumps(rows[-1]) + "\n")
        sys.stdout.flush()
    return rows


if __name__ == "__main__":
    main()
