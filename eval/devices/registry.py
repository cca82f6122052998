"""Find the device that judges for a target."""

from eval.devices.cpu import Cpu
from eval.devices.device import Device
from eval.devices.gpu import Gpu
from eval.devices.triton_compiler import TritonCompiler
from kb.errors import JudgeError
from kb.model.target import Isa

DEVICES: tuple[type[Device], ...] = (Cpu, Gpu, TritonCompiler)
"""The first that serves a target judges for it."""


def device_for(isa: Isa | None, target: str) -> type[Device]:
    """Raises JudgeError if there is none."""
    found = next((device for device in DEVICES if isa and device.serves(isa)), None)
    if found is None:
        raise JudgeError(
            f"kb knows no compiler for {target}, so it cannot judge kernels for it",
            hint="choose a target with a compiler, such as mi300x, h200 or cpu-x86",
        )
    return found
