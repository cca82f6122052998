"""Keeps kernels in Triton's interpreter within the memory that they were given."""

from collections.abc import Callable, Iterable
from typing import Any


def confine_to(memory: Callable[[], Iterable[tuple[int, int]]]) -> None:
    """Make every load, store and atomic of an interpreted kernel raise IndexError outside of `memory`.

    Args:
        memory: Gives start and end of each piece of memory that the running call may use. It replaces an earlier one.
    """
    import numpy
    from triton.runtime import interpreter

    def check(pointers: Any, mask: Any, size: int, what: str) -> None:
        used = pointers[numpy.broadcast_to(mask, pointers.shape)]
        inside = numpy.zeros(used.shape, bool)
        for start, end in memory():
            inside |= (used >= start) & (used + size <= end)
        if not inside.all():
            raise IndexError(f"a kernel {what} outside of its tensors")

    native = interpreter._interpreter  # noqa: SLF001 - Triton has no switch for it
    native = getattr(native, "unchecked", native)

    class Checked:
        """The functions of the interpreter that touch memory, each after a check."""

        unchecked = native

        def __getattr__(self, name: str) -> Any:
            return getattr(native, name)

        def load(self, pointers: Any, mask: Any, other: Any, dtype: Any) -> Any:
            check(pointers, mask, dtype.itemsize, "loads")
            return native.load(pointers, mask, other, dtype)

        def store(self, pointers: Any, value: Any, mask: Any) -> Any:
            check(pointers, mask, value.dtype.itemsize, "stores")
            return native.store(pointers, value, mask)

        def atomic_cas(self, pointers: Any, compared: Any, value: Any, order: Any) -> Any:
            check(pointers, numpy.True_, value.dtype.itemsize, "stores")
            return native.atomic_cas(pointers, compared, value, order)

        def atomic_rmw(self, operation: Any, pointers: Any, value: Any, mask: Any, order: Any) -> Any:
            check(pointers, mask, value.dtype.itemsize, "stores")
            return native.atomic_rmw(operation, pointers, value, mask, order)

    interpreter._interpreter = Checked()  # noqa: SLF001
