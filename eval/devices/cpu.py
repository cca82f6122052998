"""This machine's CPU: candidates run natively and are timed against the fastest torch baseline."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from typing import Any

from eval.clock.baseline_sources import worker_settings
from eval.devices.device import CaseSizes, TimingDevice
from eval.languages.registry import TORCH
from eval.roofline import tensor_bytes
from eval.supervisor.launch import load_early
from kb.types.target import Isa
from kb.types.timing import WIN_SESSIONS

KEPT_BYTES = 32 << 20
"""The largest inputs of which several sets of baselines keep copies."""


class Cpu(TimingDevice):
    backends = ("cpu",)
    languages = ("cpp", "torch")
    sizes = CaseSizes(large=1 << 22, small=1 << 14, given=None)

    @classmethod
    def prepare(cls) -> None:
        shared = worker_settings()
        load_early(TORCH, (), {})
        load_early(TORCH, shared["preload"], shared["environment"])

    @classmethod
    def serves(cls, isa: Isa) -> bool:
        return super().serves(isa) and isa.architecture == platform.machine().replace("AMD64", "x86_64")

    def baseline_limits(self) -> Mapping[str, Any]:
        size = sum(map(tensor_bytes, self.setup.interface.inputs))
        return {"room": lambda _: WIN_SESSIONS if size <= KEPT_BYTES else 1}
