"""Watches a GPU during a session: its clocks, power and temperature, and other processes that use it."""

import time

import torch

from eval.clock.nvml import Nvml
from eval.machine import CpuUse, own_processes, running_processes, usable_cores
from kb.types.timing import GpuState


class GpuUse(CpuUse):
    """As CpuUse for the cores that this process may use, as work on others does not slow a GPU.

    Other processes' use of the GPU counts too, where the driver reports it (NVIDIA's does).
    """

    def __init__(self) -> None:
        super().__init__(usable_cores())
        self._since_us = int(time.time() * 1e6)
        self._readings: list[GpuState] = []
        self._nvml = gpu_of_torch()
        self.look()

    def look(self) -> None:
        if self._nvml:
            self._readings.append(self._nvml.reading())

    def gpu(self) -> GpuState | None:
        if not self._readings:
            return None
        clocks = [reading.sm_mhz[0] for reading in self._readings]
        return GpuState(
            sm_mhz=(min(clocks), max(clocks)),
            power_w=max(reading.power_w for reading in self._readings),
            temperature_c=max(reading.temperature_c for reading in self._readings),
            throttled=tuple(sorted({reason for reading in self._readings for reason in reading.throttled})),
        )

    def memory_bytes(self, pid: int) -> int:
        """The GPU's memory that a process has. Torch keeps what it once had."""
        return self._nvml.memory_bytes(pid) if self._nvml else 0

    def by_others(self) -> tuple[float, tuple[str, ...]]:
        share, users = super().by_others()
        if self._nvml is None:
            return share, users
        processes = running_processes()
        strangers = processes.keys() - own_processes(processes)  # an id that is not here belongs to another namespace
        used = {pid: part for pid, part in self._nvml.shares(self._since_us).items() if pid in strangers and part}
        named = tuple(f"{processes[pid].name} {part:.0%} of the GPU" for pid, part in used.items())
        return max(share, *used.values(), 0.0), named + users


def gpu_of_torch() -> Nvml | None:
    """The GPU that torch uses; None if it is not one of NVIDIA's."""
    try:
        return Nvml(f"GPU-{torch.cuda.get_device_properties(0).uuid}")
    except (OSError, AttributeError):
        return None
