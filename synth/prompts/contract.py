"""The rules for a candidate, in words for a model or a person."""

import ast

from kb.types.kernels import Interface, Language, Precision, Task, workload_name
from kb.types.terms import Terms
from kb.types.timing import LEAST_OF_WORKLOADS, WIN_MARGIN, WIN_SESSIONS
from synth.prompts.render import render

TF32 = (
    " Only the error counts, not the types in between: products of parts in a narrower type are allowed, so are fast "
    "approximations. One product in TF32 or bfloat16 is too coarse where both signs occur. A baseline in TF32 counts "
    "only where it is within the error as a candidate must be, at other sizes and values too."
)
"""What holds for float32 products on a GPU."""
CONVOLVED = (
    "So a convolution, torch's or your own, may do one product in TF32 for each in float32 "
    '(in Triton: `input_precision="tf32"`).'
)
COARSE = ("float16", "bfloat16")
LISTED = 40
"""Most tensors of a kind that are listed: networks have hundreds, whose names and shapes follow from the source."""
TRACKED = "num_batches_tracked"
"""The end of a buffer's name in torch's layers that keep running statistics."""
PRECISION = {
    Precision.IEEE: "The precision is `ieee`: a convolution of torch needs `torch.backends.cudnn.allow_tf32 = False`.",
    Precision.DEFAULT: "The precision is `default`, that of PyTorch when it runs the reference: convolutions and "
    "recurrent layers in float32 may use TF32, and the error that this gives them is allowed there.",
}


def contract(task: Task, interface: Interface, language: Language, terms: Terms) -> str:
    """The tensors of the task, the rules of the language, and how the judge decides."""
    own = (f"{name} {version.removeprefix(f'{name} version ')}" for name, version in terms.versions.items())
    versions = ", ".join(own)
    return render(
        "contract",
        workloads=[workload_name(workload) for workload in task.workloads],
        interface=interface,
        listed=LISTED,
        numbers=_numbers(task, interface),
        language=language,
        terms=terms,
        versions=f" ({versions})" if versions else "",
        sizes=[f"`{name}`" for name in _sizes(task)],
        tracked=any(tensor.name.endswith(TRACKED) for tensor in interface.state),
        precise=_precision(task, interface, terms),
        win_sessions=WIN_SESSIONS,
        win_margin=WIN_MARGIN,
        least_of_workloads=LEAST_OF_WORKLOADS,
    )


def _precision(task: Task, interface: Interface, terms: Terms) -> list[str]:
    """In which precision the reference computes, and in which to sum."""
    dtypes = {tensor.dtype for tensor in (*interface.inputs, *interface.state, *interface.outputs)}
    said = []
    if interface.matrix_operations and interface.products and "float32" in dtypes:
        said.append(
            f"The reference computes float32 products in float32, without TF32.{TF32 * (terms.judged == 'gpu')}"
        )
    if terms.judged == "gpu":
        said += [PRECISION[task.precision], *([CONVOLVED] if interface.in_tf32 else [])]
    if summed := [name for name in COARSE if name in dtypes]:
        said.append(f"Sum {' and '.join(summed)} in float32, and compute functions of such values in float32.")
    return said


def _numbers(task: Task, interface: Interface) -> list[str]:
    """The numbers given to `Model(...)`, with the names of its arguments where each argument is a number."""
    values = [str(int(value)) if value.is_integer() else repr(value) for value in interface.init]
    names = _arguments(task)
    if len(names) != len(values):
        return values
    return [f"`{name}` = {value}" for name, value in zip(names, values, strict=True)]


def _arguments(task: Task) -> list[str]:
    """Names of the arguments of `Model(...)`."""
    for node in ast.walk(ast.parse(task.source)):
        if isinstance(node, ast.ClassDef) and node.name == "Model":
            made = [f for f in node.body if isinstance(f, ast.FunctionDef) and f.name == "__init__"]
            return [argument.arg for function in made for argument in function.args.args[1:]]
    return []


def _sizes(task: Task) -> list[str]:
    """Names to which the task's file assigns whole numbers: its sizes. The judge changes those above 2."""
    return [
        name.id
        for node in ast.parse(task.source).body
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Constant | ast.BinOp | ast.Tuple | ast.List)
        if any(isinstance(n, ast.Constant) and type(n.value) is int and n.value > 2 for n in ast.walk(node.value))
        for target in node.targets
        for name in ast.walk(target)
        if isinstance(name, ast.Name)
    ]
