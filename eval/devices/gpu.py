"""This machine's GPU: candidates run natively and are timed against the fastest baseline."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.clock.baseline_settings import settings
from eval.devices.device import CaseSizes, Device, Judgement
from eval.fault import Fault
from eval.languages.registry import TORCH
from eval.machine import present_gpu
from eval.roofline import BOUND
from eval.supervisor.language import JudgedLanguage
from kb.errors import JudgeError
from kb.types.evidence import WIN_SESSIONS, CaseResult, Outcome, Timing
from kb.types.kernels import Candidate
from kb.types.target import Isa

if TYPE_CHECKING:
    from eval.clock.baselines import Baselines
    from eval.clock.nvml import Nvml
    from eval.oracle.cases import Case
    from eval.supervisor.device_memory import DeviceMemory
    from eval.supervisor.trial import Trial
    from eval.supervisor.warm_pool import WarmPool

DEVICE_FILES = ("nvidiactl", "nvidia-uvm", "kfd", "dri")
"""Files of /dev that every process on an NVIDIA or AMD GPU opens. Each NVIDIA GPU has one more; see `device_files`."""
READABLE = ("/proc/driver/nvidia", "/proc/devices")
"""What the driver reads when it starts."""
WRITABLE = ("/proc/self",)
"""It names its threads there."""
AT_ONCE = 2
"""Baselines that start at the same time. One that tunes itself comes last, when the others only compile on the CPU."""
CHECKS_AHEAD = 3
"""Workers that start in advance to check candidates: a wrong one is refused before the next worker has started."""
ROOMY_BYTES, KEPT_BYTES = 32 << 30, 512 << 20
"""Least memory of a GPU on which workers stay or start in advance, because each takes about half a GB for the driver's
context; and the largest inputs of which they keep copies."""
KEPT = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Environment variables that say where the driver's libraries are, and which GPU is meant."""


class Gpu(Device):
    backends = ("cuda", "hip")
    languages = ("triton", "cuda", "torch")
    sizes = CaseSizes(large=1 << 24, small=1 << 16, given=None)
    tensors = "cuda"

    @classmethod
    def serves(cls, isa: Isa) -> bool:
        gpu = present_gpu() if super().serves(isa) else None
        return gpu is not None and (gpu.backend, gpu.architecture) == (isa.backend, isa.architecture)

    @cached_property
    def baselines(self) -> Baselines:
        from eval.clock.baselines import Baselines

        bench = self.bench
        shared = settings()
        environment = {**self._environment, **shared.pop("environment")}
        trial_of = partial(self._trial, language=TORCH, environment=environment, **shared)
        kept = WIN_SESSIONS if self._roomy else 1
        return Baselines(
            bench.task, bench.reference, self.sources(), trial_of, at_once=AT_ONCE, kept=kept, kept_bytes=KEPT_BYTES
        )

    def sources(self) -> Mapping[str, str]:
        """What makes candidates of the reference, by the name of the baseline."""
        from eval.clock.gpu_baselines import gpu_sources

        return gpu_sources(self.bench.task, self.bench.interface)

    def judge(
        self, candidate: Candidate, language: JudgedLanguage, cases: Sequence[Case], results: list[CaseResult]
    ) -> Judgement:
        from torch import OutOfMemoryError

        from eval.clock.gpu_use import GpuUse
        from eval.clock.sessions import measure
        from eval.worker.gpu_driver import DriverError

        trial, baselines = self.trial(candidate, language), self.baselines
        if self._roomy:
            trial.start_warm_workers(checks=CHECKS_AHEAD, sessions=WIN_SESSIONS)
        try:
            log = trial.check(cases, results)
            self._spares.wait()
            timing, busy = measure(trial, baselines, cases, GpuUse)
        except (OutOfMemoryError, DriverError) as error:
            raise Fault(Outcome.CRASHED, "it leaves too little of the GPU's memory for its own inputs") from error
        judgement = self.measured(timing, (busy, *baselines.notes), log)
        return self._profiled(judgement, trial, timing) if self.bench.profile else judgement

    def close(self) -> None:
        super().close()
        self._spares.close()

    def measured(self, timing: Timing, notes: Sequence[str], log: str) -> Judgement:
        """As `Device.measured`; nor can a candidate be faster than this GPU copies as many bytes as it must move."""
        from eval.roofline import IMPLAUSIBLE, least_bytes

        if (moved := least_bytes(self.bench.interface) - self._memory.l2_bytes) > 0:
            copy_us = 1e6 * self._memory.copy_s(moved)
            if timing.candidate_us * IMPLAUSIBLE < copy_us:
                took = f"{timing.candidate_us:,.1f} us, but this GPU takes {copy_us:,.1f} us"
                raise Fault(Outcome.TOO_FAST, f"{took} to copy {moved:,} bytes, which it must move")
        return super().measured(timing, notes, log)

    def _profiled(self, judgement: Judgement, trial: Trial, timing: Timing) -> Judgement:
        from eval.devices.gpu_profile import MOST_LAUNCHES, profile

        try:
            found = profile(trial, self.bench.reference, self.baselines.case)
        except JudgeError as error:
            detail = "; ".join(filter(None, (judgement.detail, f"{error.message} ({error.hint})")))
            return replace(judgement, detail=detail)
        limit = judgement.bottleneck
        waits = 1 - found.microseconds / timing.candidate_us
        if limit and limit.kind == "latency" and waits > BOUND and 0 < found.launches < MOST_LAUNCHES:
            limit = limit.model_copy(update={"kind": "launch"})
        return replace(judgement, profile=found, bottleneck=limit)

    def trial(self, candidate: Candidate, language: JudgedLanguage) -> Trial:
        return self._trial(
            candidate, language, guards=self.bench.guards, environment=self._environment, spares=self._spares
        )

    @cached_property
    def _spares(self) -> WarmPool:
        from eval.supervisor.warm_pool import WarmPool

        return WarmPool()

    @property
    def _roomy(self) -> bool:
        """Whether it has the memory for several sets of baselines, and for workers in advance."""
        return self._memory.total_bytes >= ROOMY_BYTES

    @cached_property
    def _memory(self) -> DeviceMemory:
        from eval.supervisor.device_memory import DeviceMemory

        return DeviceMemory()

    @cached_property
    def _nvml(self) -> Nvml | None:
        from eval.clock.gpu_use import gpu_of_torch

        return gpu_of_torch()

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {"CUDA_VISIBLE_DEVICES": self._nvml.uuid} if self._nvml else kept

    def _trial(
        self, candidate: Candidate, language: JudgedLanguage, writable: Sequence[str] = (), **settings: Any
    ) -> Trial:
        from eval.supervisor.trial import Trial

        return Trial(
            candidate,
            language.model_copy(update={"adapter": language.gpu_adapter or language.adapter}),
            self.bench.level,
            self.bench.call_s,
            memory=self._memory,
            readable=READABLE,
            writable=(*WRITABLE, *writable),
            devices=device_files(self._nvml.minor if self._nvml else None),
            **settings,
        )


def device_files(number: int | None = None) -> tuple[str, ...]:
    """The files through which a process uses NVIDIA's GPU of that number, or any GPU of this machine."""
    its_own = "nvidia[0-9]*" if number is None else f"nvidia{number}"
    return tuple(str(path) for pattern in (*DEVICE_FILES, its_own) for path in Path("/dev").glob(pattern))
