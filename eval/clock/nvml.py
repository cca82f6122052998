"""What NVIDIA's management library (NVML) says of a GPU: clocks, power, temperature, throttling, users. Only reads.

Functions and constants: NVML API Reference, "Device Queries"; nvml.h.
"""

import ctypes
from typing import Any

from kb.types.timing import GpuState

LIBRARY = "libnvidia-ml.so.1"
CLOCK_SM, TEMPERATURE_OF_THE_GPU = 1, 0
THROTTLING = {
    0x0004: "software power cap", 0x0008: "hardware slowdown", 0x0020: "software thermal slowdown",
    0x0040: "hardware thermal slowdown", 0x0080: "hardware power brake",
}  # fmt: skip
"""Bits of nvmlClocksEventReasons that mean a slower clock than the work would have."""
MOST_SAMPLES = 1024
UNKNOWN_BYTES = (1 << 64) - 1
"""NVML_VALUE_NOT_AVAILABLE."""


class _Sample(ctypes.Structure):
    """nvmlProcessUtilizationSample_t."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("time_us", ctypes.c_ulonglong),
        ("sm_percent", ctypes.c_uint),
        ("memory_percent", ctypes.c_uint),
        ("encoder_percent", ctypes.c_uint),
        ("decoder_percent", ctypes.c_uint),
    )


class _Process(ctypes.Structure):
    """nvmlProcessInfo_t."""

    _fields_ = (
        ("pid", ctypes.c_uint),
        ("memory_bytes", ctypes.c_ulonglong),
        ("gpu_instance", ctypes.c_uint),
        ("compute_instance", ctypes.c_uint),
    )


class Nvml:
    """One GPU.

    Args:
        uuid: As nvidia-smi lists it, with the prefix `GPU-`.

    Raises:
        OSError: there is no such library or GPU.
    """

    def __init__(self, uuid: str) -> None:
        self.uuid = uuid
        self._library = ctypes.CDLL(LIBRARY)
        self._device = ctypes.c_void_p()
        for code in (
            self._library.nvmlInit_v2(),
            self._library.nvmlDeviceGetHandleByUUID(uuid.encode(), ctypes.byref(self._device)),
        ):
            if code:
                raise OSError(f"NVML does not know {uuid}: error {code}")

    @property
    def minor(self) -> int | None:
        """N in the name of the GPU's device file, /dev/nvidiaN; None if the driver does not tell it."""
        number = ctypes.c_uint()
        code = self._library.nvmlDeviceGetMinorNumber(self._device, ctypes.byref(number))
        return None if code else number.value

    def reading(self) -> GpuState:
        """The state at this moment. What a GPU does not report is 0."""
        clock_mhz = self._query("nvmlDeviceGetClockInfo", ctypes.c_uint(), CLOCK_SM)
        reasons = self._query("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong())
        return GpuState(
            sm_mhz=(clock_mhz, clock_mhz),
            power_w=self._query("nvmlDeviceGetPowerUsage", ctypes.c_uint()) / 1e3,
            temperature_c=self._query("nvmlDeviceGetTemperature", ctypes.c_uint(), TEMPERATURE_OF_THE_GPU),
            throttled=tuple(name for bit, name in THROTTLING.items() if reasons & bit),
        )

    def shares(self, since_us: int) -> dict[int, float]:
        """By process id, the largest share of time that its kernels ran since a time (since 1970)."""
        samples, count = (_Sample * MOST_SAMPLES)(), ctypes.c_uint(MOST_SAMPLES)
        code = self._library.nvmlDeviceGetProcessUtilization(
            self._device, samples, ctypes.byref(count), ctypes.c_ulonglong(since_us)
        )
        found: dict[int, float] = {}
        for sample in samples[: 0 if code else count.value]:
            if sample.time_us >= since_us:
                found[sample.pid] = max(found.get(sample.pid, 0.0), sample.sm_percent / 100)
        return found

    def memory_bytes(self, pid: int) -> int:
        """The memory that a process has now; 0 if that is unknown."""
        processes, count = (_Process * MOST_SAMPLES)(), ctypes.c_uint(MOST_SAMPLES)
        code = self._library.nvmlDeviceGetComputeRunningProcesses_v3(self._device, ctypes.byref(count), processes)
        known = processes[: 0 if code else count.value]
        return next((p.memory_bytes for p in known if p.pid == pid and p.memory_bytes != UNKNOWN_BYTES), 0)

    def _query(self, function: str, answer: Any, *arguments: int) -> int:
        code = getattr(self._library, function)(self._device, *arguments, ctypes.byref(answer))
        return 0 if code else int(answer.value)
