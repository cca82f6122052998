"""What a candidate must be, language by language, in words that a model or a person can follow."""

from kb.model.evidence import WIN_MARGIN, WIN_SESSIONS
from kb.model.kernels import Interface, Language, TensorSpec

JUDGING = f"""\
How the judge decides:
- Correct first. Outputs are compared with the reference computed in 64-bit floating point, on other values (both signs,
  several orders of magnitude) and at other sizes (odd ones too) than the task's file gives, and with other parameters.
  The error allowed is a few times that of the reference in its own precision: sum in at least that precision.
- Every call counts. The candidate is called again with other values in the same memory: an answer kept from an earlier
  call, an input written to, or an output that is finished after the call has returned, each refuse it.
- Then speed, if the judge has the target: timed from outside, in turn with the fastest of PyTorch's eager mode and its
  compiled modes. For a win the speed-up is above {WIN_MARGIN} at the lower end of its 95 % interval in each of
  {WIN_SESSIONS} sessions.
- Without the target it is compiled for it and held against the limits that the target's documents state (registers,
  spills, scratchpad, instructions used). No speed follows from that.
- Nothing that the candidate prints, measures or claims is looked at. It has no network and no files but its own."""

_CPP = """\
Write one C++17 file. It is compiled with `-O3 -march=native -fopenmp`; OpenMP and the intrinsics of the processor are
available, other libraries are not. Begin with `#include "kb_tensor.h"`, which declares:

```c
typedef struct {
    void *data;           /* contiguous, row-major, aligned to 64 bytes */
    const int64_t *shape; /* ndim sizes */
    int64_t ndim;
    int64_t count;        /* number of elements: the product of the sizes */
} Tensor;

void model_new(const Tensor *inputs, const Tensor *state, const double *init, Tensor *outputs);
void load_reference(const Tensor *state, const double *init);
```

- Define `model_new`, which computes the outputs of one call. The header gives it C linkage.
- `inputs`, `state` and `init` come in the order listed above, `outputs` are allocated and not initialised: all of them
  must be fully written when it returns. Write to no input and to no state.
- Sizes vary between builds: read them from `shape` and `count`, and numbers from `init`.
- `load_reference` is optional. It is called once, untimed, before the first call: convert or repack the state there,
  into memory of your own.
- No thread may run on after the call, but for OpenMP's own pool. No files, no network, no other processes."""

_PYTHON = """\
- Define `class ModelNew(torch.nn.Module)`. It is built as `ModelNew(*get_init_inputs())`, so its constructor takes what
  `Model`'s takes, and called as `forward(*inputs)` with the arguments of `Model.forward`.
- Parameters: either its `state_dict` has the names and shapes listed above (it is loaded strictly), or it defines
  `load_reference(self, state)`, which is given them as a dict of name to tensor, once, untimed.
- Return fresh tensors of the listed number, order and dtype: never an input, a view of one, or a tensor kept from an
  earlier call. Change no input.
- Allocate on the device of the inputs, as `torch.empty_like(x)` or `x.new_empty(...)` do; name no device.
- Sizes vary between builds: take them from the tensors."""

_TRITON = f"""\
Write one Python file that imports `torch`, `triton` and `triton.language as tl`.
{_PYTHON}
- All computation on tensor values happens in `@triton.jit` kernels; torch allocates and reshapes around them.
- It must also work in Triton's interpreter on CPU tensors: no inline assembly, no questions to a device.
- Code outside the kernels may look at shapes, strides and dtypes but not at values: no `.item()`, no branch on data.
- Mask every tail: no size is a multiple of any block.
- Use 64-bit integers for offsets into tensors that may exceed 2**31 elements: `pid.to(tl.int64)`.
- No `triton.autotune`: declare what may be tuned as described below, and hand it to the kernel as `tl.constexpr`."""

_TORCH = f"""\
Write one Python file that uses `torch` alone; `torch.utils.cpp_extension.load_inline` is part of it.
{_PYTHON}"""

_TUNING = """\
What may be tuned is declared on a line of its own, from its first column, at the top level of the file:
`{example}`
The number is the value in use; the choices after `tune:` are whole numbers. Every combination must be correct."""

_RULES = {
    Language.CPP: (_CPP, "constexpr int UNROLL = 4;  // tune: 1, 2, 4, 8"),
    Language.TRITON: (_TRITON, "BLOCK = 1024  # tune: 256, 512, 1024"),
    Language.TORCH: (_TORCH, "BLOCK = 1024  # tune: 256, 512, 1024"),
}


def contract(interface: Interface, language: Language) -> str:
    """The tensors that go in and out, the rules of the language, and how the judge decides."""
    rules, example = _RULES[language]
    return "\n\n".join((_described(interface), rules, _TUNING.format(example=example), JUDGING))


def _described(interface: Interface) -> str:
    return "\n".join(
        (
            "At the sizes of the task's file:",
            *_listed("Inputs of one call", interface.inputs),
            *_listed("State: parameters and buffers of `Model`", interface.state),
            *_listed("Outputs", interface.outputs),
            f"- Numbers given to `Model(...)`: {', '.join(map(_number, interface.init)) or 'none'}.",
        )
    )


def _listed(title: str, tensors: tuple[TensorSpec, ...]) -> list[str]:
    if not tensors:
        return [f"- {title}: none."]
    return [f"- {title}, in order:", *(f"  {i}. `{tensor}`" for i, tensor in enumerate(tensors))]


def _number(value: float) -> str:
    return str(int(value)) if value.is_integer() else repr(value)
