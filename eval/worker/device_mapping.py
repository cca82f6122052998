"""Tensors of a worker on a GPU: inputs in the judge's memory, outputs by handles."""

from collections.abc import Sequence
from typing import Any

from eval.worker.channel import Message
from eval.worker.gpu_driver import Driver
from eval.worker.mapping import view


class DeviceMapping:
    """Opens the memory that the judge shares, once for each handle, and describes tensors to the judge."""

    def __init__(self, driver: Driver) -> None:
        self._driver = driver
        self._pages: dict[str, Any] = {}
        """The whole memory of each handle."""

    def mapped(self, specs: Sequence[Message]) -> list[Any]:
        return [view(self._page(spec["handle"]), spec) for spec in specs]

    def place_of(self, tensor: Any) -> str:
        """HANDLE:OFFSET of a tensor. A part of an input is described as such, because only its owner can export it."""
        pointer = tensor.data_ptr()
        if not tensor.numel():
            return "0"
        for handle, page in self._pages.items():
            if 0 <= pointer - page.data_ptr() < page.numel():
                return f"{handle}:{pointer - page.data_ptr()}"
        handle, offset = self._driver.export(pointer)
        return f"{handle}:{offset}"

    def _page(self, handle: str) -> Any:
        if handle not in self._pages:
            start = self._driver.open(handle)
            self._pages[handle] = self._driver.bytes_at(start, self._driver.range_of(start)[1])
        return self._pages[handle]
