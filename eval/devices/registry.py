"""Find the device that judges for a target."""

from eval.devices.cpu import Cpu
from eval.devices.device import Device
from eval.devices.triton_compiler import TritonCompiler
from kb.errors import JudgeError
from kb.model.target import Isa

DEVICES: tuple[type[Device], ...] = (Cpu, TritonCompiler)


def device_for(isa: Isa | None, target: str) -> type[Device]:
    """Raises JudgeError if there is none."""
    found = next((device for device in DEVICES if isa and isa.backend in device.backends), None)
    if found is None:
        raise JudgeError(
            f"kb knows no compiler for {target}, so it cannot judge kernels for it",
            hint="choose a target with a compiler, such as mi300x, h200 or cpu-x86",
        )
    return found
