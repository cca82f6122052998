"""Solutions and traces in the forms of FlashInfer-Trace and SOL-ExecBench.

A task that was made of a definition keeps it, if its file is given; for others a definition is made, whose inputs are
those of `Model` and then its parameters. See `data/` of flashinfer-ai/flashinfer-bench and of NVIDIA/SOL-ExecBench.
"""

import ast
import json
import re
import uuid
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.oracle.definition import Definition, largest_first, values_of, workload_file
from eval.oracle.definition import Workload as Drawn
from eval.oracle.task import load_task
from kb.errors import TaskError
from kb.exports.attempts import Kept
from kb.exports.kernel_file import is_on_gpu, kernel_file
from kb.exports.records import BREACHES
from kb.storage import write_whole
from kb.types.evidence import Evidence, Outcome
from kb.types.kernels import Interface, Task, TensorSpec, Workload
from kb.types.timing import Timing
from kb.usecases.judging import interface_of

MAIN = "main.py"
PYTHON = ("triton", "torch")
"""Languages whose candidates define `ModelNew`."""
STATUSES = {
    Outcome.PASSED: "PASSED", Outcome.INCORRECT: "INCORRECT_NUMERICAL", Outcome.COMPILE_ERROR: "COMPILE_ERROR",
    Outcome.INCOMPATIBLE_PARAMETERS: "COMPILE_ERROR", Outcome.OVER_LIMIT: "COMPILE_ERROR",
    Outcome.UNSUPPORTED: "COMPILE_ERROR", Outcome.TIMED_OUT: "TIMEOUT",
}  # fmt: skip
"""Those of both; every other outcome is a RUNTIME_ERROR, and the log says which."""
DTYPES = frozenset({
    "float32", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2", "int64", "int32", "int16", "int8", "bool",
})  # fmt: skip
"""Types of tensors in a definition."""
_RUN = '''

_models = []


def run({arguments}):
    """The kernel on these inputs; parameters are loaded again only when they change."""
    state = {{{state}}}
    versions = [(x.data_ptr(), x._version) for x in state.values()]
    if not _models or _models[0][1] != versions:
        with _torch.random.fork_rng():
            _torch.manual_seed(0)
            model = Model(*get_init_inputs()).to({tensor}.device)
        model.load_state_dict(state)
        _models[:] = [(model, versions, state)]
    with _torch.no_grad():
        return _models[0][0]({inputs})
'''
"""Behind a file with `Model`. `state` is kept, so that its memory is not used again."""
_PLAIN = """

_models = []


def run({arguments}):
    if not _models:
        _models.append(ModelNew())
    return _models[0]({arguments})
"""
"""Behind a candidate whose task has neither parameters nor numbers for `Model(...)`."""


@dataclass(frozen=True)
class Problem:
    """A definition with the workloads that a task is judged at."""

    definition: dict[str, Any]
    workloads: tuple[tuple[Workload, dict[str, Any]], ...]
    """The values that each gives to the task's names, and its JSON; first the one of the task's file."""
    arguments: Mapping[str, str]
    """What `run` is given for each parameter of the model, by its name in `state_dict`."""

    @property
    def name(self) -> str:
        return str(self.definition["name"])

    @property
    def inputs(self) -> list[str]:
        """What `Model` is given."""
        return [name for name in self.definition["inputs"] if name not in self.arguments.values()]

    @property
    def tensor(self) -> str:
        """The first of the inputs that is no number."""
        return next(name for name in self.inputs if self.definition["inputs"][name]["shape"] is not None)


@dataclass(frozen=True)
class Dialect:
    """Where the two forms differ."""

    definition: str
    workloads: str
    solutions: str
    traces: str
    """Where each lies, by the name of the definition."""
    statuses: Mapping[Outcome, str]
    languages: tuple[str, Mapping[str, str], str]
    """What a solution calls its languages, their names by kb's, and the name for all others in Python."""
    hardware: Mapping[bool, str]
    """What a solution runs on, by whether that is a GPU."""

    def spec(self, language: str, *, gpu: bool) -> dict[str, Any]:
        """How a solution is built."""
        field, names, other = self.languages
        name = names.get(language, other)
        return {
            field: name if field == "language" else [name],
            "target_hardware": [self.hardware[gpu]],
            "entry_point": f"{MAIN}::run",
            "destination_passing_style": False,
        }


FLASHINFER = Dialect(
    "definitions/{}.json",
    "workloads/{}.jsonl",
    "solutions/{}",
    "traces/{}.jsonl",
    STATUSES,
    ("language", {"triton": "triton"}, "python"),
    {True: "cuda", False: "cpu"},
)
SOL_EXECBENCH = Dialect(
    "{}/definition.json",
    "{}/workload.jsonl",
    "{}/solutions",
    "{}/traces.jsonl",
    STATUSES | dict.fromkeys(BREACHES, "REWARD_HACK"),
    ("languages", {"triton": "triton"}, "pytorch"),
    {True: "LOCAL", False: "LOCAL"},
)


def write_solutions(
    kept: Sequence[Kept], folder: Path, dialect: Dialect, definitions: Sequence[Path]
) -> tuple[dict[str, int], Counter[str]]:
    """Write definitions, workloads, solutions and traces.

    Args:
        definitions: Files of definitions of which tasks were made.

    Returns:
        The number of records by kind, and of attempts by the reason why something of them is left out.
    """
    given = dict(map(_given, definitions))
    problems: dict[str, tuple[Problem, Interface]] = {}
    solutions, traces, left_out = 0, dict[str, list[dict[str, Any]]](), Counter[str]()
    for one in kept:
        task, names = one.run.plan.task, [problem.name for problem, _ in problems.values()]
        if task.source not in problems:
            interface = interface_of(task)
            found = given.get(task.source) or made_of(task, interface, names)
            if isinstance(found, str):
                left_out[found] += 1
                continue
            problems[task.source] = found, interface
        problem, interface = problems[task.source]
        source = _source(one, problem, interface)
        if not source:
            left_out[f"a kernel in {one.attempt.candidate.language} is no Python file"] += 1
            continue
        file = folder / dialect.solutions.format(problem.name) / f"{one.id}.json"
        _write(file, [solution_of(one, problem, source, dialect)], indent=1)
        solutions += 1
        own = traces_of(one, problem, dialect)
        traces.setdefault(problem.name, []).extend(own)
        left_out["no trace, because it passed and has no time that counts"] += not own
    for problem, _ in problems.values():
        name, definition, lines = problem.name, problem.definition, [raw for _, raw in problem.workloads]
        if dialect is FLASHINFER:
            definition = {"op_type": name} | definition  # SOL-ExecBench does not ask for one
            lines = [{"definition": name, "workload": raw} for raw in lines]
        _write(folder / dialect.definition.format(name), [definition], indent=1)
        _write(folder / dialect.workloads.format(name), lines)
        _write(folder / dialect.traces.format(name), traces.get(name, []))
    counts = {
        "definitions": len(problems), "workloads": sum(len(problem.workloads) for problem, _ in problems.values()),
        "solutions": solutions, "traces": sum(map(len, traces.values())),
    }  # fmt: skip
    return counts, +left_out


def made_of(task: Task, interface: Interface, taken: Sequence[str]) -> Problem | str:
    """A definition of a task, or why there is none.

    Args:
        taken: Names of other definitions.
    """
    names = [_name(tensor.name) for tensor in interface.inputs]
    tensors = [*interface.inputs, *interface.state, *interface.outputs]
    if len(task.workloads) > 1:
        return "its task has several workloads; name the definition of which it was made"
    if not names or _arguments(task.source) != len(names):
        return "its task takes inputs that are no tensors"
    if unknown := {tensor.dtype for tensor in tensors} - DTYPES:
        return f"no definition has tensors of {' and '.join(sorted(unknown))}"
    state = {tensor.name: f"state_{_name(tensor.name)}" for tensor in interface.state}
    inputs = dict(zip([*names, *state.values()], map(_tensor, [*interface.inputs, *interface.state]), strict=True))
    name = task.name.replace("-", "_")
    definition = {
        "name": f"{name}_{task.digest[:8]}" if name in taken else name,
        "op_type": name,
        "description": f"The task {task.name} of kb; parameters of its model are inputs.",
        "axes": {f"n{size}": {"type": "const", "value": size} for tensor in tensors for size in tensor.shape},
        "inputs": inputs,
        "outputs": {_name(tensor.name): _tensor(tensor) for tensor in interface.outputs},
        "reference": f"{task.source.rstrip()}\n\n\nimport torch as _torch\n{_run(names, state, names[0])}",
    }
    return Problem(definition, (({}, _workload(task, inputs)),), state)


def _given(path: Path) -> tuple[str, Problem]:
    """The source of the task that is made of a definition, and its problem. Raises TaskError as `load_task`."""
    if path.suffix != ".json":
        raise TaskError(f"{path} is not a kernel definition", hint="name the .json file of which the task was made")
    task, file = load_task(path), workload_file(path)
    definition = json.loads(path.read_text(encoding="utf-8"))
    defined, lines = (
        Definition.model_validate(definition),
        file.read_text(encoding="utf-8").splitlines() if file else [],
    )
    raw = [line.get("workload", line) for line in map(json.loads, filter(str.strip, lines))]
    usable = largest_first(defined, [Drawn.model_validate(each) for each in raw], str(path))
    by_values = {repr(values_of(defined, Drawn.model_validate(each))): each for each in raw}
    first = _workload(task, defined.inputs)  # of a definition without workloads
    values = task.workloads or (values_of(defined, usable[0]),)
    return task.source, Problem(definition, tuple((each, by_values.get(repr(each), first)) for each in values), {})


def _workload(task: Task, inputs: Iterable[str]) -> dict[str, Any]:
    return {
        "uuid": str(uuid.uuid5(uuid.NAMESPACE_OID, task.source)),
        "axes": {},
        "inputs": {name: {"type": "random"} for name in inputs},
    }


def solution_of(one: Kept, problem: Problem, source: str, dialect: Dialect) -> dict[str, Any]:
    candidate, evidence = one.attempt.candidate, one.attempt.evidence
    return {
        "name": one.id,
        "definition": problem.name,
        "author": one.attempt.author or "kb",
        "description": "\n".join(filter(None, (one.attempt.note, one.verdict.summary))),
        "spec": dialect.spec(candidate.language, gpu=is_on_gpu(candidate, evidence)),
        "sources": [{"path": MAIN, "content": source}],
    }


def traces_of(one: Kept, problem: Problem, dialect: Dialect) -> list[dict[str, Any]]:
    """What the judge found, for each workload that it timed; none if it passed without a time, which no trace says."""
    evidence, by_values = one.attempt.evidence, {repr(values): raw for values, raw in problem.workloads}
    first = problem.workloads[0][1]
    status = dialect.statuses.get(evidence.outcome, "RUNTIME_ERROR")
    if evidence.outcome is Outcome.BAD_OUTPUT:
        status = "INCORRECT_DTYPE" if "dtype" in evidence.detail else "INCORRECT_SHAPE"
    hardware = f"{evidence.target} ({evidence.machine or 'machine unknown'})"
    found: dict[str, Any] = {
        "status": status,
        "environment": {"hardware": hardware, "libs": evidence.environment},
        "timestamp": evidence.created,
        "log": f"{evidence.outcome}: {evidence.detail}\n{evidence.log}".strip(),
    }
    if status in ("PASSED", "INCORRECT_NUMERICAL"):
        found["correctness"] = _correctness(evidence)
    evaluated = [(first, found)]
    if status == "PASSED":
        timed = evidence.timing.workloads if evidence.timing and not evidence.untimed else ()
        evaluated = [
            (
                by_values[repr(timing.workload)] if timing.workload else first,
                found | {"performance": _performance(timing)},
            )
            for timing in timed
            if not timing.workload or repr(timing.workload) in by_values
        ]
    return [
        {"definition": problem.name, "workload": workload, "solution": one.id, "evaluation": evaluation}
        for workload, evaluation in evaluated
    ]


def _source(one: Kept, problem: Problem, interface: Interface) -> str:
    """The file of a solution; empty if there is none in Python."""
    task, candidate = one.run.plan.task, one.attempt.candidate
    if candidate.language in PYTHON and not problem.arguments and _is_plain(task.source, candidate.source):
        return candidate.source.rstrip() + "\n" + _PLAIN.format(arguments=", ".join(problem.inputs))
    source = kernel_file(task, candidate, one.attempt.evidence, interface)
    return source and source + _run(problem.inputs, problem.arguments, problem.tensor)


def _is_plain(task: str, candidate: str) -> bool:
    """Whether `ModelNew()` is all that it takes to build the candidate."""
    try:
        tree = ast.parse(candidate)
    except (SyntaxError, ValueError):
        return True  # as it was refused
    names = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    init = next(n for n in ast.parse(task).body if isinstance(n, ast.FunctionDef) and n.name == "get_init_inputs")
    returned = [node.value for node in ast.walk(init) if isinstance(node, ast.Return)]
    no_init = all(isinstance(value, ast.List | ast.Tuple) and not value.elts for value in returned)
    return no_init and not names & {"run", "load_reference"}


def _run(inputs: Sequence[str], state: Mapping[str, str], tensor: str) -> str:
    return _RUN.format(
        arguments=", ".join((*inputs, *state.values())),
        state=", ".join(f"{name!r}: {argument}" for name, argument in state.items()),
        inputs=", ".join(inputs),
        tensor=tensor,
    )


def _tensor(tensor: TensorSpec) -> dict[str, Any]:
    return {"shape": [f"n{size}" for size in tensor.shape], "dtype": tensor.dtype}


def _correctness(evidence: Evidence) -> dict[str, Any]:
    """The largest error over all cases, which have other sizes too. kb measures no relative error."""
    errors = [case.max_error for case in evidence.cases if case.max_error is not None]
    ratios = [case.error_ratio for case in evidence.cases if case.error_ratio is not None]
    extra = {"cases": len(evidence.cases), "error_over_allowed": max(ratios, default=None)}
    return {"extra": extra} | ({"max_absolute_error": max(errors)} if errors else {})


def _performance(timing: Timing) -> dict[str, float]:
    """Against the fastest baseline, which is more than the reference as it stands."""
    return {
        "latency_ms": timing.candidate_us / 1000,
        "reference_latency_ms": timing.baseline_us / 1000,
        "speedup_factor": timing.speedup,
    }


def _arguments(source: str) -> int:
    """Number of arguments of the reference's `forward`."""
    model = next(n for n in ast.parse(source).body if isinstance(n, ast.ClassDef) and n.name == "Model")
    forward = next((n for n in model.body if isinstance(n, ast.FunctionDef) and n.name == "forward"), None)
    return len(forward.args.posonlyargs) + len(forward.args.args) - 1 if forward else -1


def _name(name: str) -> str:
    """A name of a tensor as one of Python."""
    return re.sub(r"\W", "_", name)


def _write(file: Path, records: Sequence[object], indent: int | None = None) -> None:
    if records:
        write_whole(file, "".join(f"{json.dumps(record, indent=indent)}\n" for record in records))
