"""Find the device that judges for a target."""

from eval.devices.cpu import Cpu
from eval.devices.device import Device
from eval.devices.gpu import Gpu
from eval.devices.triton_compiler import TritonCompiler
from kb.errors import JudgeError
from kb.types.target import Isa

DEVICES: tuple[type[Device], ...] = (Cpu, Gpu, TritonCompiler)
"""The first that serves a target judges for it."""


def device_of(isa: Isa | None) -> type[Device] | None:
    """The device for a target; None if no device serves it."""
    return next((device for device in DEVICES if isa and device.serves(isa)), None)


def device_for(isa: Isa | None, target: str) -> type[Device]:
    """Raises JudgeError if there is none."""
    if (found := device_of(isa)) is None:
        raise no_judge(target)
    return found


def timed_languages(isa: Isa | None) -> tuple[str, ...]:
    """The languages of kernels that devices of a target's kind time, on whatever machine; none without such devices."""
    return next((kind.languages for kind in (Cpu, Gpu) if isa and isa.backend in kind.backends), ())


def no_judge(target: str) -> JudgeError:
    return JudgeError(
        f"kb knows no compiler for {target}, so it cannot judge kernels for it",
        hint="add a toolchain for it (docs/toolchains.md), or choose a target with one: `kb toolchains list`",
    )
