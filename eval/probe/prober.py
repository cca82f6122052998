"""Measures what this machine can do: its GPU where it has one, else its CPU. Nothing is told that was not seen here.

Needs torch and, for a GPU, triton.
"""

import time
from collections.abc import Callable
from types import ModuleType

from eval.probe.sampling import Extent
from kb.model.measurement import Findings, Measurement, ProbedDevice


def device_here(*, cpu: bool = False) -> ProbedDevice:
    """What `probe` measures.

    Args:
        cpu: Of the CPU, though there is a GPU.
    """
    found: ProbedDevice = _prober(cpu=cpu).device()
    return found


def probe(
    progress: Callable[[int, int], None] = lambda done, total: None, *, cpu: bool = False, extent: Extent | None = None
) -> Findings:
    """All readings of this machine: under 90 s on a GPU, under 60 s on a CPU.

    Args:
        progress: Is told how many steps of how many are done.
        cpu: As of `device_here`.
        extent: How much is timed; by default as much as the numbers need.
    """
    prober = _prober(cpu=cpu)
    steps = prober.steps(extent) if extent else prober.steps()
    readings: list[Measurement] = []
    missing = []
    for done, step in enumerate(steps):
        progress(done, len(steps))
        try:
            readings += step.read()
        except Exception as error:  # noqa: BLE001 - whatever one library or driver cannot do here, others can
            missing.append(f"{step.name}: {str(error).strip().splitlines()[0] if str(error) else type(error).__name__}")
    progress(len(steps), len(steps))
    return Findings(
        device=prober.device(), date=time.strftime("%Y-%m-%d"), readings=tuple(readings), missing=tuple(missing)
    )


def _prober(*, cpu: bool) -> ModuleType:
    import torch

    if torch.cuda.is_available() and not cpu:
        from eval.probe import gpu as probe_gpu

        return probe_gpu
    from eval.probe import cpu as probe_cpu

    return probe_cpu
