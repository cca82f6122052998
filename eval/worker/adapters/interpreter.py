"""Makes Triton's interpreter stricter: kernels stay within their memory, and mean what they mean to the compiler."""

import builtins
import math
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any
from unittest.mock import patch

Touched = Callable[[str, Any], None]
"""Gets "loads", "stores" or "updates" for an atomic, and an array of the addresses."""


def confine_to(memory: Callable[[], Iterable[tuple[int, int]]], touched: Touched = lambda *_: None) -> None:
    """Make every load, store and atomic of an interpreted kernel raise IndexError outside of `memory`.

    Args:
        memory: Gives start and end of each piece of memory that the running call may use. It replaces an earlier one.
        touched: Is told what a kernel does within its memory, before it does it.
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
        touched(what, used)

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
            check(pointers, numpy.True_, value.dtype.itemsize, "updates")
            return native.atomic_cas(pointers, compared, value, order)

        def atomic_rmw(self, operation: Any, pointers: Any, value: Any, mask: Any, order: Any) -> Any:
            check(pointers, mask, value.dtype.itemsize, "updates")
            return native.atomic_rmw(operation, pointers, value, mask, order)

    interpreter._interpreter = Checked()  # noqa: SLF001


@contextmanager
def one_program(program: tuple[int, ...], grid: tuple[int, ...]) -> Iterator[None]:
    """Make the only program of a launch on the grid (1,) the given one of another grid; both have three dimensions."""
    from triton.runtime.interpreter import interpreter_builder as builder

    with (
        patch.object(builder, "set_grid_dim", lambda *_: setattr(builder, "grid_dim", grid)),
        patch.object(builder, "set_grid_idx", lambda *_: setattr(builder, "grid_idx", program)),
    ):
        yield


def agree_with_compiler(names: dict[str, Any], precisions: tuple[str, ...]) -> None:
    """Remove differences between interpreter and compiler by which a kernel could do other work in each.

    The interpreter has Python's numbers where the compiled kernel has Triton's, which divide and round otherwise: loop
    variables and arguments that are floats. It takes every block for true where `min` and `max` compare. It runs the
    programs of a grid in order, while a chip runs them in any; here the order is random. It multiplies in float32 where
    the compiled kernel does so in TF32. It loads zeros where a mask is false and nothing is said of other values; here
    it loads NaN or any integers.

    Args:
        names: The global names of the kernels, in which `range`, `min` and `max` get Triton's meaning.
        precisions: How `tl.dot` can multiply float32 on the target; see `cross_compile.dot_precisions`.
    """
    from triton import language
    from triton.runtime import interpreter

    semantic = interpreter.interpreter_semantic
    patch_language, convert = interpreter._patch_lang_core, interpreter._implicit_cvt  # noqa: SLF001

    def counted(*bounds: Any, **_: Any) -> Iterator[Any]:
        dtype = language.int32
        for bound in map(semantic.to_tensor, bounds):
            dtype = semantic.integer_promote_impl(dtype, bound.dtype)
        for number in builtins.range(*(bound.__index__() for bound in bounds)):
            yield semantic.scalar_constant(number, dtype)

    def chosen(builtin: Callable[..., Any]) -> Callable[..., Any]:
        def choose(*values: Any) -> Any:
            found = builtin(*values, _semantic=semantic)
            return found.value if isinstance(found, language.constexpr) else found

        return choose

    def patched_language(module: Any, scope: Any) -> None:
        patch_language(module, scope)
        scope.set_attr(module, "range", counted)

    def converted(argument: Any) -> Any:
        return semantic.scalar_constant(argument, language.float32) if type(argument) is float else convert(argument)

    _run_as_on_a_chip(interpreter.interpreter_builder, precisions)
    if patch_language.__module__ == interpreter.__name__:
        interpreter._patch_lang_core, interpreter._implicit_cvt = patched_language, converted  # noqa: SLF001
    core = language.core
    names.update(range=counted, min=chosen(core.builtin_min), max=chosen(core.builtin_max))


def _run_as_on_a_chip(builder: Any, precisions: tuple[str, ...]) -> None:
    """Change the interpreter's order of programs, products and masked loads; see `agree_with_compiler`."""
    from triton._C.libtriton import ir

    programs: Iterator[int] = iter(())

    def started(*grid: int) -> None:
        nonlocal programs
        builder.grid_dim = grid
        programs = _in_random_order(math.prod(grid))

    def next_program(*_: int) -> None:
        rest, z = divmod(next(programs), builder.grid_dim[2])
        builder.grid_idx = (*divmod(rest, builder.grid_dim[1]), z)

    multiply = type(builder).create_dot

    def multiplied(a: Any, b: Any, total: Any, precision: Any, *rest: Any) -> Any:
        if precision == ir.INPUT_PRECISION.TF32:
            a, b = map(_in_tf32, (a, b))
        return multiply(builder, a, b, total, precision, *rest)

    load = type(builder).create_masked_load

    def loaded(pointers: Any, mask: Any, other: Any, *rest: Any, **options: Any) -> Any:
        return load(builder, pointers, mask, _undefined(pointers) if other is None else other, *rest, **options)

    builder.set_grid_dim, builder.set_grid_idx, builder.create_dot = started, next_program, multiplied
    builder.create_masked_load = loaded
    builder.options = replace(builder.options, allowed_dot_input_precisions=precisions)


def _undefined(pointers: Any) -> Any:
    """What a load gives where its mask is false: NaN, of which all bits are set in each type, or random integers."""
    import numpy
    from triton.runtime.interpreter import TensorHandle, _get_np_dtype

    dtype = pointers.get_element_ty()
    size = pointers.data.size * numpy.dtype(_get_np_dtype(dtype)).itemsize
    content = b"\xff" * size if dtype.is_floating() else random.randbytes(size)  # noqa: S311 - no secret
    data = numpy.frombuffer(content, _get_np_dtype(dtype)).reshape(pointers.data.shape)
    return TensorHandle(data, dtype)


def _in_random_order(count: int) -> Iterator[int]:
    """The numbers below `count`: a random start, then steps of a random length that has no factor in common with it."""
    chance = random.SystemRandom()
    first = chance.randrange(max(1, count))
    while math.gcd(step := chance.randint(1, max(1, count)), count) > 1:
        pass
    return ((first + step * number) % count for number in builtins.range(count))


def _in_tf32(block: Any) -> Any:
    """A block of float32 without the last 13 of 23 bits of each mantissa, as matrix units read it; others unchanged."""
    import numpy
    from triton.runtime.interpreter import TensorHandle

    if block.data.dtype != numpy.float32:
        return block
    bits = numpy.ascontiguousarray(block.data).view(numpy.uint32) & numpy.uint32(0xFFFFE000)
    return TensorHandle(bits.view(numpy.float32), block.dtype)
