"""Measure what this machine can do: its GPU if it has one, otherwise its CPU. Only values observed here are reported.

Needs torch and, for a GPU, triton.
"""

import time
from collections.abc import Callable
from types import ModuleType

from eval.probe.sampling import Extent
from kb.types.measurement import Findings, Measurement, ProbedDevice


def device_here(*, cpu: bool = False) -> ProbedDevice:
    """The device that `probe` measures.

    Args:
        cpu: Choose the CPU even if there is a GPU.
    """
    found: ProbedDevice = _prober(cpu=cpu).device()
    return found


def probe(
    progress: Callable[[int, int], None] = lambda done, total: None, *, cpu: bool = False, extent: Extent | None = None
) -> Findings:
    """Measure this machine, which takes less than 90 s on a GPU and less than 60 s on a CPU.

    Args:
        progress: Called with the number of finished steps and of all steps.
        cpu: See `device_here`.
        extent: Amount of timing; by default enough for reliable numbers.
    """
    prober = _prober(cpu=cpu)
    steps = prober.steps(extent) if extent else prober.steps()
    readings: list[Measurement] = []
    missing = []
    for done, (name, read) in enumerate(steps.items()):
        progress(done, len(steps))
        try:
            readings += read()
        except Exception as error:  # noqa: BLE001 - a step may fail in a library or driver while others succeed
            missing.append(f"{name}: {str(error).strip().splitlines()[0] if str(error) else type(error).__name__}")
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
