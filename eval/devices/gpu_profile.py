"""Profiles a candidate with NVIDIA's Nsight Compute. What it measures explains a time, and decides nothing.

The profiler (Nsight Compute CLI, "Command Line Options") starts the worker's sandbox and talks to the worker by
sockets. The worker may open some until the GPU's driver has started, and loads the candidate after that. The report is
where no candidate can write.
"""

import csv
import os
import re
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from torch import OutOfMemoryError

from eval.fault import Fault
from eval.oracle.cases import Case
from eval.oracle.reference import Reference
from eval.supervisor.settings import Guard
from eval.supervisor.trial import Trial
from eval.worker.gpu_driver import DriverError
from kb.errors import JudgeError
from kb.types.profiler import DURATION_NS, METRICS, KernelProfile, Profile

PROFILE_S = 120.0
SEALED = 2
"""Sandbox level from which on a worker can open no socket."""
MOST_LAUNCHES, MOST_KERNELS, MOST_NAME = 50, 5, 200
GUARDS = frozenset({Guard.SANDBOX, Guard.CHANNEL, Guard.EXIT})
"""The others compare outputs, which nobody looks at here, or stop the worker, in which the profiler has to work."""
KERNEL, NUMBER = "Kernel Name", re.compile(r"[\d,]+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def profiler() -> str | None:
    """The program, if this machine has it."""
    toolkit = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return shutil.which("ncu") or shutil.which("ncu", path=f"{toolkit}/bin")


def profile(trial: Trial, reference: Reference, case: Case) -> Profile:
    """Call a candidate twice, and profile the second call.

    Raises:
        JudgeError: this machine has no profiler, or it measured nothing.
    """
    program = profiler()
    if program is None:
        raise JudgeError("there is no `ncu` on the path", hint="install NVIDIA Nsight Compute")
    with TemporaryDirectory(prefix="kb-profile-") as folder:
        report = Path(folder) / "report.csv"
        command = (
            program, "--config-file", "off", "--csv", "--page", "raw", "--print-units", "base",
            "--clock-control", "none", "--profile-from-start", "off", "--target-processes", "all",
            "--launch-count", str(MOST_LAUNCHES), "--metrics", ",".join(METRICS), "--log-file", str(report),
        )  # fmt: skip
        try:
            _run(replace(trial, guards=GUARDS, profiler=command, warm_pool=None), reference, case)
        except (Fault, OutOfMemoryError, DriverError) as error:
            why = error.detail if isinstance(error, Fault) else error
            raise JudgeError(f"it fails while it is profiled: {why}", hint=_message_of(report)) from error
        try:
            return parsed(report.read_text(encoding="utf-8", errors="replace").splitlines())
        except (OSError, ValueError, csv.Error) as error:
            raise JudgeError(f"nothing was profiled: {error}", hint=_message_of(report)) from error


def parsed(lines: Iterable[str]) -> Profile:
    """The profile in a report in CSV: a row of names, a row of units, and a row for each launch.

    Raises ValueError if there is none, csv.Error if it is no CSV.
    """
    rows = csv.reader(line for line in lines if not line.startswith("=="))
    names = next((row for row in rows if KERNEL in row), [])
    launches = [dict(zip(names, row, strict=True)) for row in rows if len(row) == len(names)][1:]
    if not launches:
        raise ValueError("the report has no kernels")
    measured = [(launch[KERNEL], _numbers(launch)) for launch in launches]
    kernels: dict[str, list[Mapping[str, float]]] = {}
    for name, numbers in measured:
        kernels.setdefault(name, []).append(numbers)
    found = sorted((_kernel(name, each) for name, each in kernels.items()), key=lambda kernel: -kernel.microseconds)
    return Profile(
        kernels=tuple(found[:MOST_KERNELS]),
        launches=len(measured),
        microseconds=sum(kernel.microseconds for kernel in found),
        missing=tuple(name for name in METRICS if all(name not in numbers for _, numbers in measured)),
    )


def _run(trial: Trial, reference: Reference, case: Case) -> None:
    with trial.worker() as worker:
        worker.ask("warm", adapter=str(trial.language.adapter))
        if trial.level >= SEALED:
            worker.ask("refuse sockets")
        trial.build(worker, reference, case)
        trial.send_inputs(worker, trial.share(worker, [case.inputs]))
        trial.call(worker, 0)  # compiles and tunes
        worker.ask("forget")
        worker.ask("profile", set=0, within_s=PROFILE_S)
        worker.finish()  # the profiler ends, and writes its report


def _kernel(name: str, launches: Sequence[Mapping[str, float]]) -> KernelProfile:
    longest = max(launches, key=_duration_us)
    return KernelProfile(
        kernel="".join(c for c in name if c.isprintable())[:MOST_NAME],
        launches=len(launches),
        microseconds=sum(map(_duration_us, launches)),
        metrics={metric: longest[metric] for metric in METRICS if metric in longest},
    )


def _duration_us(launch: Mapping[str, float]) -> float:
    return launch.get(DURATION_NS, 0.0) / 1e3


def _numbers(launch: Mapping[str, str]) -> dict[str, float]:
    texts = {name: launch.get(name) or "" for name in METRICS}
    return {name: float(text.replace(",", "")) for name, text in texts.items() if NUMBER.fullmatch(text)}


def _message_of(report: Path) -> str:
    """What the profiler said in place of numbers."""
    try:
        lines = report.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    return next((line.strip("= ") for line in lines if "ERROR" in line), "try `ncu` on a program of your own")
