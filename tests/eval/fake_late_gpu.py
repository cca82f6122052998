"""As fake_gpu, but parameters are copied as late as a GPU may copy them: before the next call, or when asked."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch  # noqa: TID253

from eval.worker.channel import Message
from tests.eval.fake_gpu import FakeDriver, FakeGpuCandidate, HostClock, warm

__all__ = ["load", "warm"]


class LateDriver(FakeDriver):
    def __init__(self) -> None:
        super().__init__()
        self._late: list[tuple[torch.Tensor, torch.Tensor]] = []

    def clone(self, tensor: torch.Tensor) -> torch.Tensor:
        self._late.append((torch.zeros_like(tensor), tensor))
        return self._late[-1][0]

    def synchronize(self) -> None:
        while self._late:
            copy, tensor = self._late.pop(0)
            copy.copy_(tensor)


class LateClock(HostClock):
    def __init__(self, driver: LateDriver) -> None:
        super().__init__()
        self._driver = driver

    def time(self, run: Callable[[], None], *, everywhere: bool) -> float:
        self._driver.synchronize()
        return super().time(run, everywhere=everywhere)


class LateGpuCandidate(FakeGpuCandidate):
    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        self._late_driver = LateDriver()
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(torch.Tensor, "clone", lambda tensor: self._late_driver.clone(tensor))
            super().__init__(folder, memory, question, self._late_driver)

    def _new_clock(self) -> LateClock:
        return LateClock(self._late_driver)


load = LateGpuCandidate
