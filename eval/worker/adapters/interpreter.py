"""Makes Triton's interpreter show mistakes that it would hide: it computes as the compiled kernel would on a chip."""

import builtins
import gc
import inspect
import math
import random
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from typing import Any

from eval.worker.fault import Fault

Memory = tuple[int, int]
"""Start and end of a piece of memory."""
MOST_ADDRESSES = 1 << 12
"""Elements of a tensor that may be a table of pointers."""
OTHERWISE_IN_TORCH = {"round"}
"""Functions of libdevice that are others than those of this name in torch."""


class Interpreter:
    """Triton's interpreter in this process, which the environment must have chosen before Triton was imported.

    A kernel that it cannot run raises the fault `unsupported`: it lacks inline assembly, for example.

    Args:
        precisions: How `tl.dot` can multiply float32 on the target; see `cross_compile.dot_precisions`.

    Attributes:
        inputs: The memory of each input, of which several may lie in one storage of torch.
        launched: Names of the kernels that were launched, in order.
    """

    def __init__(self, precisions: tuple[str, ...]) -> None:
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.interpreter import InterpretedFunction

        self.inputs: list[Memory] = []
        self.launched: dict[str, None] = {}
        self._memory: list[Memory] = []
        self._names = _names_of_triton()
        _use_numbers_of_triton(self._names["range"])
        _run_as_on_a_chip(precisions)
        _compute_in_bfloat16()
        _confine_to(lambda: self._memory)
        _take_libdevice_from_torch()
        native = InterpretedFunction.run

        def run(kernel: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> None:
            if not warmup:
                self.launched[kernel.fn.__name__] = None
                grid = _size_of(grid, kernel, args, kwargs)
                with self._launching(kernel, [*args, *kwargs.values()]):
                    native(kernel, *args, grid=grid, warmup=False, **kwargs)

        InterpretedFunction.run = run
        Autotuner._bench = lambda *_, **__: [0.0]  # noqa: SLF001 - of equally fast ones Triton takes the first

    @contextmanager
    def _launching(self, kernel: Any, arguments: Iterable[Any]) -> Iterator[None]:
        """While it lasts, names mean to the kernel what they mean to the compiler, and it has its tensors' memory."""
        from triton.runtime.errors import InterpreterError

        names = kernel.fn.__globals__
        added = {name: value for name, value in self._names.items() if name not in names}
        names.update(added)
        given = list(_tensors(arguments))
        self._memory = [self._piece(tensor) for tensor in (*given, *_addressed(given))]
        try:
            yield
        except InterpreterError as error:
            raise _cause(kernel.fn.__name__, error) from error
        finally:
            for name in added:
                del names[name]

    def _piece(self, tensor: Any) -> Memory:
        """The memory that a kernel may use for a tensor: the whole input or else storage of which it is a part."""
        address, storage = tensor.data_ptr(), tensor.untyped_storage()
        whole = storage.data_ptr(), storage.data_ptr() + storage.nbytes()
        return next((piece for piece in self.inputs if piece[0] <= address < piece[1]), whole)


interpreter = cache(Interpreter)
"""The interpreter of this process, changed once."""


def memory_of(tensor: Any) -> Memory:
    return tensor.data_ptr(), tensor.data_ptr() + tensor.nbytes


def _size_of(grid: Any, kernel: Any, args: Any, kwargs: dict[str, Any]) -> tuple[int, ...]:
    """The grid of a launch, which may be a function of the arguments."""
    if callable(grid):
        named = {name: value for name, value in kwargs.items() if name in kernel.arg_names}
        bound = inspect.signature(kernel.fn).bind(*args, **named)
        bound.apply_defaults()
        grid = grid(bound.arguments)
    return tuple(map(int, grid))


def _tensors(arguments: Iterable[Any]) -> Iterator[Any]:
    """The tensors among arguments of a kernel, also those within tuples, descriptors and Triton's wrappers."""
    for argument in arguments:
        if isinstance(argument, tuple | list):
            yield from _tensors(argument)
        elif hasattr(argument, "untyped_storage"):
            yield argument
        elif hasattr(argument, "base"):
            yield from _tensors([argument.base])


def _addressed(tensors: Iterable[Any]) -> list[Any]:
    """The tensors that a table of pointers (a tensor of integers) points to."""
    import torch

    tables = [t for t in tensors if t.dtype in (torch.int64, torch.uint64) and t.numel() <= MOST_ADDRESSES]
    addresses = {value for table in tables for value in table.flatten().tolist() if value >> 32}
    known = gc.get_objects() if addresses else ()
    return [x for x in known if issubclass(type(x), torch.Tensor) and x.data_ptr() in addresses]


def _cause(kernel: str, error: BaseException) -> Exception:
    """What ended a kernel. The interpreter refuses what the compiler accepts; only an assertion is the kernel's own."""
    from triton.runtime.errors import InterpreterError

    while isinstance(error, InterpreterError) and error.__cause__:
        error = error.__cause__
    if isinstance(error, Fault):
        return error
    why = f"{kernel}: {type(error).__name__}: {error}"
    return Fault("raised" if isinstance(error, AssertionError) else "unsupported", why)


def _names_of_triton() -> dict[str, Any]:
    """`range`, `min` and `max` as the compiler takes them, and the language itself, which the interpreter looks for.

    The interpreter takes Python's: loop variables that divide and round otherwise, and `min` and `max` for which every
    block is true.
    """
    from triton import language
    from triton.runtime.interpreter import interpreter_semantic as semantic

    def counted(*bounds: Any, **_: Any) -> Iterator[Any]:
        dtype = language.int32
        for bound in map(semantic.to_tensor, bounds):
            dtype = semantic.integer_promote_impl(dtype, bound.dtype)
        for number in builtins.range(*(bound.__index__() for bound in bounds)):
            yield semantic.scalar_constant(number, dtype)

    def choose(builtin: Callable[..., Any], *values: Any) -> Any:
        found = builtin(*values, _semantic=semantic)
        return found.value if isinstance(found, language.constexpr) else found

    smaller, larger = (partial(choose, getattr(language.core, f"builtin_{name}")) for name in ("min", "max"))
    return {"range": counted, "min": smaller, "max": larger, "_language": language}


def _use_numbers_of_triton(counted: Callable[..., Any]) -> None:
    """Make `tl.range` count in Triton's integers, and arguments that are floats have the digits of float32."""
    from triton import language
    from triton.runtime import interpreter as native

    semantic = native.interpreter_semantic
    patch_language, convert = native._patch_lang_core, native._implicit_cvt  # noqa: SLF001

    def patched_language(module: Any, scope: Any) -> None:
        patch_language(module, scope)
        scope.set_attr(module, "range", counted)

    def converted(argument: Any) -> Any:
        return semantic.scalar_constant(argument, language.float32) if type(argument) is float else convert(argument)

    native._patch_lang_core, native._implicit_cvt = patched_language, converted  # noqa: SLF001


def _run_as_on_a_chip(precisions: tuple[str, ...]) -> None:
    """Run the programs of a grid in random order, multiply in the target's precision, and load garbage where a mask is
    false and nothing is said of other values: the interpreter counts up, multiplies in float32 and loads zeros."""
    from triton._C.libtriton import ir
    from triton.runtime.interpreter import interpreter_builder as builder

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


def _compute_in_bfloat16() -> None:
    """Make the interpreter compute with numbers of bfloat16, and round each result once: numpy lacks the type, so it
    adds and multiplies their bits as integers, and drops bits where it should round."""
    import numpy
    from triton import language
    from triton.runtime.interpreter import ReduceOps, TensorHandle
    from triton.runtime.interpreter import interpreter_builder as builder

    def is_narrow(x: Any) -> bool:
        return isinstance(x, TensorHandle) and x.dtype.scalar == language.bfloat16

    def widened(x: Any) -> Any:
        bits = x.data.astype(numpy.uint32) << numpy.uint32(16) if is_narrow(x) else None
        return x if bits is None else TensorHandle(bits.view(numpy.float32), language.float32)

    def rounded(x: Any) -> Any:
        bits = x.data.astype(numpy.float32).view(numpy.uint32).astype(numpy.uint64)
        bits = numpy.where(numpy.isnan(x.data), 0x7FC00000, bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        return TensorHandle(bits.astype(numpy.uint16), language.bfloat16)

    def computed(native: Callable[..., Any], *given: Any) -> Any:
        result = native(builder, *map(widened, given))
        return rounded(result) if any(map(is_narrow, given)) and result.data.dtype == numpy.float32 else result

    for name in ("binary_op", "ternary_op", "unary_op", "create_erf", "create_fma", "create_rsqrt"):
        setattr(builder, name, partial(computed, getattr(type(builder), name)))
    cast, multiply = builder.cast_impl, builder.create_dot

    def converted(source: Any, wanted: Any) -> Any:
        is_number = wanted.scalar.is_floating() or wanted.scalar.is_int()
        if is_number and is_narrow(source) and wanted.scalar != language.bfloat16:
            return cast(widened(source), wanted)
        if wanted.scalar == language.bfloat16 and not is_narrow(source):
            return rounded(cast(source, wanted.with_element_ty(language.float32)))
        return cast(source, wanted)

    def constant(value: float) -> Any:
        return rounded(builder.get_fp32(value))

    def summed(operation: Any, given: Any) -> Any:
        if not is_narrow(given.handle):
            return add_up(operation, given)
        total = add_up(operation, operation.to_tensor(widened(given.handle).data, language.float32))
        return operation.to_tensor(rounded(total.handle).data, language.bfloat16)

    add_up, ReduceOps.sum = ReduceOps.sum, summed
    builder.cast_impl, builder.get_bf16 = converted, constant
    builder.create_dot = lambda a, b, *rest: multiply(widened(a), widened(b), *rest)


def _confine_to(memory: Callable[[], Iterable[Memory]]) -> None:
    """Make every load, store and atomic of a kernel raise a fault outside of `memory`."""
    import numpy
    from triton.runtime import interpreter as module

    native = module._interpreter  # noqa: SLF001 - Triton has no switch for it

    def check(pointers: Any, mask: Any, size: int, what: str) -> None:
        used = pointers[numpy.broadcast_to(mask, pointers.shape)]
        inside = numpy.zeros(used.shape, bool)
        for start, end in memory():
            inside |= (used >= start) & (used + size <= end)
        if not inside.all():
            raise Fault("raised", f"a kernel {what} outside of its tensors")

    class Checked:
        """The functions of the interpreter that touch memory, each after a check."""

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

    module._interpreter = Checked()  # noqa: SLF001


def _take_libdevice_from_torch() -> None:
    """Give the interpreter the functions of libdevice that torch has too; the others say what is lacking."""
    import torch
    from triton.language.extra import cuda, hip, libdevice

    for module in (libdevice, cuda.libdevice, hip.libdevice):
        for name in [name for name, function in vars(module).items() if inspect.isfunction(function)]:
            known = name not in OTHERWISE_IN_TORCH and hasattr(torch, name)
            setattr(module, name, partial(_computed, getattr(torch, name)) if known else partial(_lacking, name))


def _computed(function: Callable[..., Any], *values: Any, **_: Any) -> Any:
    """What a function of torch gives for blocks of a kernel, as one of Triton's."""
    import torch
    from triton import language
    from triton.runtime.interpreter import TensorHandle, interpreter_semantic

    blocks = [interpreter_semantic.to_tensor(value) for value in values]
    result = function(*(torch.from_numpy(block.handle.data.copy()) for block in blocks))
    widest = max(blocks, key=lambda block: len(block.shape))
    dtype = widest.dtype if result.is_floating_point() else language.int32
    data = result.numpy() if result.is_floating_point() else result.int().numpy()
    type_ = language.block_type(dtype, widest.shape) if widest.shape else dtype
    return language.tensor(TensorHandle(data, dtype), type_)


def _lacking(name: str, *_: Any, **__: Any) -> Any:
    raise NotImplementedError(f"libdevice.{name} is not in the interpreter")


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
