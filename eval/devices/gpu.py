"""This machine's GPU: candidates run natively and are timed against the fastest baseline."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eval.clock.baseline_sources import gpu_sources
from eval.clock.memory_plan import MemoryPlan
from eval.devices.device import CaseSizes, TimingDevice, Verdict
from eval.machine import CpuUse, present_gpu, usable_cores
from eval.roofline import IMPLAUSIBLE, least_bytes
from eval.supervisor.language import JudgedLanguage
from eval.worker.fault import Fault
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate, Interface
from kb.types.target import Isa
from kb.types.timing import Timing

if TYPE_CHECKING:
    from eval.clock.nvml import Nvml
    from eval.supervisor.device_memory import DeviceMemory
    from eval.supervisor.trial import Trial
    from eval.supervisor.warm_pool import WarmPool

DEVICE_FILES = ("nvidiactl", "nvidia-uvm", "kfd", "dri")
"""Files of /dev that every process on an NVIDIA or AMD GPU opens. Each NVIDIA GPU has one more; see `device_files`."""
READABLE, WRITABLE = ("/proc/driver/nvidia", "/proc/devices"), ("/proc/self",)
"""What the driver reads when it starts, and where it names its threads."""
AT_ONCE = max(4, len(usable_cores()) // 2)
"""Baselines that start at the same time. Most of the time each compiles on one core; the others are for candidates."""
ROOMY_BYTES = 32 << 30
"""Least memory of a GPU on which workers stay or start in advance, because each takes about half a GB for the driver's
context."""
KEPT = ("LD_LIBRARY_PATH", "CUDA_HOME", "CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES")
"""Environment variables that say where the driver's libraries are, and which GPU is meant."""
ONE_QUEUE = {"CUDA_DEVICE_MAX_CONNECTIONS": "1"}
"""With one hardware queue instead of eight a process begins in half the time: NVIDIA's driver makes them one after
another, for all GPUs of a machine (pool-gpus.json). Only work on several streams needs more."""


class Gpu(TimingDevice):
    backends = ("cuda", "hip")
    languages = ("triton", "cuda", "torch")
    sizes = CaseSizes(large=1 << 24, small=1 << 16, given=None)
    tensors = "cuda"

    @classmethod
    def serves(cls, isa: Isa) -> bool:
        gpu = present_gpu() if super().serves(isa) else None
        return gpu is not None and (gpu.backend, gpu.architecture) == (isa.backend, isa.architecture)

    def sources(self) -> Mapping[str, str]:
        return gpu_sources(self.setup.task, self.setup.interface)

    def baseline_limits(self) -> Mapping[str, Any]:
        return {
            "at_once": AT_ONCE,
            "room": self._plan.sets if self._has_room else lambda _: 1,
            "one_by_one": not self._plan.starts_together(len(self.sources())),
            "on_host": not self._plan.keeps_expected,
        }

    @classmethod
    def prepare(cls) -> None:
        from eval.pool.turns import join

        join()

    @classmethod
    def check_room(cls, interface: Interface) -> None:
        _plan_of(interface).check()

    def start(self) -> None:
        if self._plan.starts_beside_cases:  # otherwise they start when they are timed
            super().start()

    def _watch(self) -> CpuUse:
        from eval.clock.gpu_use import GpuUse

        return GpuUse()

    @contextmanager
    def _turn(self) -> Iterator[None]:
        """Have the GPU alone, when all that starts has started."""
        from eval.pool.turns import turn, wait_for

        spent = self.setup.spent
        with spent.on("baselines_s"):
            wait_for(self.baselines.wait)
        wait_for(self._warm_pool.wait)
        with ExitStack() as at_end:
            with spent.on("turns_s"):
                at_end.enter_context(turn())
            yield
            with spent.on("turns_s"):
                at_end.close()

    @contextmanager
    def _memory_that_suffices(self) -> Iterator[None]:
        """Raises Fault if the memory is full all the same, or JudgeError where the plan is a narrow one."""
        from torch import OutOfMemoryError

        from eval.worker.gpu_driver import DriverError

        try:
            yield
        except (OutOfMemoryError, DriverError) as error:
            said = str(error)[:300]  # who has how much of it
            if self._plan.is_narrow:
                hint = "make the task's sizes smaller"
                raise JudgeError(f"this GPU's memory does not suffice to judge it: {said}", hint=hint) from error
            raise Fault(Outcome.CRASHED, f"it leaves too little of the GPU's memory for its inputs: {said}") from error

    def close(self) -> None:
        super().close()
        self._warm_pool.close()

    def timed_verdict(self, timing: Timing, notes: Sequence[str], log: str) -> Verdict:
        """As on other devices; nor can a candidate be faster than this GPU copies as many bytes as it must move."""
        if (moved := least_bytes(self.setup.interface) - self._memory.l2_bytes) > 0:
            copy_us = 1e6 * self._memory.copy_s(moved)
            if timing.candidate_us * IMPLAUSIBLE < copy_us:
                took = f"{timing.candidate_us:,.1f} us, but this GPU takes {copy_us:,.1f} us"
                raise Fault(Outcome.TOO_FAST, f"{took} to copy {moved:,} bytes, which it must move")
        return super().timed_verdict(timing, notes, log)

    def trial(self, candidate: Candidate, language: JudgedLanguage, **settings: Any) -> Trial:
        adapter = language.gpu_adapter or language.adapter
        queues = {} if "stream" in f"{candidate.source} {self.setup.task.source}".lower() else ONE_QUEUE
        own: dict[str, Any] = {
            "memory": self._memory,
            "readable": READABLE,
            "writable": (*WRITABLE, *settings.pop("writable", ())),
            "devices": device_files(self._nvml.minor if self._nvml else None),
            "environment": {**self._environment, **queues, **settings.pop("environment", {})},
            "warm_pool": self._warm_pool if self._has_room else None,
        }
        return super().trial(candidate, language.model_copy(update={"adapter": adapter}), **{**own, **settings})

    @cached_property
    def _warm_pool(self) -> WarmPool:
        from eval.supervisor.warm_pool import WarmPool

        return WarmPool()

    @property
    def _has_room(self) -> bool:
        """Whether it has the memory for several sets of baselines, and for workers in advance."""
        return self._plan.total >= ROOMY_BYTES and self._plan.keeps_expected

    @cached_property
    def _plan(self) -> MemoryPlan:
        return _plan_of(self.setup.interface)

    @cached_property
    def _memory(self) -> DeviceMemory:
        from eval.supervisor.device_memory import DeviceMemory

        return DeviceMemory(slot_bytes=self._plan.slot_bytes)

    @cached_property
    def _nvml(self) -> Nvml | None:
        from eval.clock.gpu_use import gpu_of_torch

        return gpu_of_torch()

    @property
    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in KEPT if name in os.environ}
        return kept | {"CUDA_VISIBLE_DEVICES": self._nvml.uuid} if self._nvml else kept


def _plan_of(interface: Interface) -> MemoryPlan:
    from eval.worker.gpu_driver import installed_driver

    return MemoryPlan.of(interface, installed_driver().total_bytes())


def device_files(number: int | None = None) -> tuple[str, ...]:
    """The files through which a process uses NVIDIA's GPU of that number, or any GPU of this machine."""
    its_own = "nvidia[0-9]*" if number is None else f"nvidia{number}"
    return tuple(str(path) for pattern in (*DEVICE_FILES, its_own) for path in Path("/dev").glob(pattern))
