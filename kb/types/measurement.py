"""Measurements of a device by a probe."""

from typing import Literal

from kb.types.base import Frozen
from kb.types.units import unit_of


class ProbedDevice(Frozen):
    """The device that was probed."""

    name: str
    """Name given by the driver or the system."""
    backend: Literal["cuda", "hip", "cpu"]
    architecture: str
    """Compilers' name for it: `sm_90`, `gfx942`, `x86_64`."""
    features: tuple[str, ...] = ()
    """Instruction set extensions of a CPU, as the system names them."""
    software: tuple[str, ...]
    """Names and versions of all software that affects the numbers."""


class Measurement(Frozen):
    """One number of a device, timed or reported by its driver."""

    quantity: str
    value: float
    """Value in `unit`; for timed quantities the median."""
    unit: str
    condition: str
    """Comma-separated phrases: dtype, `dense`, `matrix` or `vector`, what was run, its size."""
    samples: tuple[float, ...] = ()
    """Timed samples in `unit`, in the order taken; none for a number from the driver."""
    how: str

    @property
    def amount(self) -> float:
        """The value in bytes, bytes/s, FLOP/s, Hz, ..."""
        return self.value * scale_of(self.unit)


class Findings(Frozen):
    """The results of one probe."""

    device: ProbedDevice
    date: str
    readings: tuple[Measurement, ...]
    missing: tuple[str, ...]
    """Quantities that could not be measured on this device, and why."""


def scale_of(unit: str) -> float:
    found = unit_of(unit)
    if found is None:
        raise ValueError(unit)
    return found.scale
