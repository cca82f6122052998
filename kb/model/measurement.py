"""What a probe measured on a device."""

from typing import Literal

from kb.model.base import Frozen
from kb.model.units import unit_of


class ProbedDevice(Frozen):
    """What was probed."""

    name: str
    """As its driver or the system calls it."""
    backend: Literal["cuda", "hip", "cpu"]
    architecture: str
    """As compilers call it: `sm_90`, `gfx942`, `x86_64`."""
    features: tuple[str, ...] = ()
    """Of a CPU, as the system names them."""
    software: tuple[str, ...]
    """Names and versions of all that has a part in the numbers."""


class Measurement(Frozen):
    """One number of a device, timed or as its driver reports it."""

    quantity: str
    value: float
    """In `unit`; of what was timed, the median."""
    unit: str
    condition: str
    """Phrases between commas: dtype, `dense`, `matrix` or `vector`, what was run, how large."""
    samples: tuple[float, ...] = ()
    """In `unit`, in the order in which they were taken; none for what a driver reports."""
    how: str

    @property
    def amount(self) -> float:
        """The value in whole bytes, bytes/s, FLOP/s, Hz, ..."""
        return self.value * scale_of(self.unit)


class Findings(Frozen):
    """What one probe found."""

    device: ProbedDevice
    date: str
    readings: tuple[Measurement, ...]
    missing: tuple[str, ...]
    """What could not be measured here, and why."""


def scale_of(unit: str) -> float:
    found = unit_of(unit)
    if found is None:
        raise ValueError(unit)
    return found.scale
