"""Solutions, traces, generations and packages: they compute what the candidate does, and say what the judge found."""

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch  # noqa: TID253 - the files compute with it

from eval.languages.registry import load_candidate
from eval.oracle.reference import interface_of
from eval.oracle.task import load_task
from kb.errors import RunError, TaskError
from kb.exports import flashinfer, hub
from kb.exports.export import Exported, export
from kb.runs.journal import Run
from kb.types.evidence import CaseResult, Outcome
from kb.types.kernels import Candidate, Task
from kb.types.timing import Session, Timing
from kb.usecases.knowledge_base import KnowledgeBase
from tests.eval.judging import needs_compiler
from tests.eval.test_definition import DRAWN, definition
from tests.exports.test_kernel_file import IN_CPP, IN_TORCH, TASK
from tests.runs.fakes import candidate, evidence_of
from tests.web.fakes import judge, propose, started

TWICE = Task(
    name="19-twice",
    source="import torch\n\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x * 2\n\n\n"
    "def get_inputs():\n    return [torch.randn(4, 3)]\n\n\ndef get_init_inputs():\n    return []\n",
)
TWICE_NEW = "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x + x\n"
SCALED_NEW = (
    "import torch\n\n\nclass ModelNew(torch.nn.Module):\n"
    "    def forward(self, x, flat, by):\n        return x * by + flat.view(x.shape)\n"
)
FORMS = {"flashinfer": "solutions/{0}", "sol-execbench": "{0}/solutions"}


@pytest.fixture(autouse=True)
def _interfaces(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for module in (flashinfer, hub):
        monkeypatch.setattr(module, "interface_of", interface_of)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def run_of(home: Path, task: Task, kernel: Candidate, **more: Any) -> Run:
    run = started(home, task=task, language=kernel.language)
    judge(run, propose(run, kernel, author="a", note="adds"), **more)
    return run


def in_torch(source: str) -> Candidate:
    return Candidate(language="torch", source=source)


def records(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text().splitlines()]


def loaded(source: str, folder: Path, name: str = "main") -> ModuleType:
    path = folder / f"{name}.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location(f"{folder.name}_{name}", path)
    assert spec
    assert spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("form", FORMS)
def test_a_solution_and_its_trace_say_what_the_judge_found(
    form: str, kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    run, out = run_of(home, TWICE, in_torch(TWICE_NEW), speedup=2.0), tmp_path / "out"

    done = export(kb, [run], form, out)

    assert done.files == {"definitions": 1, "workloads": 1, "solutions": 1, "traces": 1}
    (file,) = (out / FORMS[form].format("19_twice")).iterdir()
    solution = json.loads(file.read_text())
    assert (solution["definition"], solution["author"], solution["spec"]["entry_point"]) == (
        "19_twice", "a", "main.py::run",
    )  # fmt: skip
    x = torch.randn(4, 3)
    assert torch.equal(loaded(solution["sources"][0]["content"], tmp_path).run(x), x + x)
    (trace,) = records(next(out.rglob("*trace*/*.jsonl"), out / "19_twice" / "traces.jsonl"))
    found = trace["evaluation"]
    assert (trace["solution"], found["status"]) == (solution["name"], "PASSED")
    assert found["performance"] == {
        "latency_ms": pytest.approx(0.05), "reference_latency_ms": pytest.approx(0.1), "speedup_factor": 2.0,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("outcome", "detail", "status", "sol_status"),
    [
        (Outcome.INCORRECT, "", "INCORRECT_NUMERICAL", "INCORRECT_NUMERICAL"),
        (Outcome.COMPILE_ERROR, "", "COMPILE_ERROR", "COMPILE_ERROR"),
        (Outcome.TIMED_OUT, "", "TIMEOUT", "TIMEOUT"),
        (Outcome.BAD_OUTPUT, "dtype float64, not float32", "INCORRECT_DTYPE", "INCORRECT_DTYPE"),
        (Outcome.BAD_OUTPUT, "shape [3]", "INCORRECT_SHAPE", "INCORRECT_SHAPE"),
        (Outcome.CRASHED, "", "RUNTIME_ERROR", "RUNTIME_ERROR"),
        (Outcome.STALE_OUTPUT, "", "RUNTIME_ERROR", "REWARD_HACK"),
    ],
)
def test_a_refusal_has_the_status_of_each_form(
    outcome: Outcome, detail: str, status: str, sol_status: str, kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    case = CaseResult(name="all", outcome=outcome, max_error=0.5, error_ratio=9.0)
    run = run_of(home, TWICE, in_torch(TWICE_NEW), speedup=None, outcome=outcome, detail=detail, cases=(case,))

    export(kb, [run], "flashinfer", tmp_path / "f")
    export(kb, [run], "sol-execbench", tmp_path / "s")

    (trace,) = records(tmp_path / "f" / "traces" / "19_twice.jsonl")
    (sol_trace,) = records(tmp_path / "s" / "19_twice" / "traces.jsonl")
    assert (trace["evaluation"]["status"], sol_trace["evaluation"]["status"]) == (status, sol_status)
    assert ("correctness" in trace["evaluation"]) is (status == "INCORRECT_NUMERICAL")
    assert "performance" not in trace["evaluation"]


def test_a_kernel_that_no_time_is_known_of_has_a_solution_and_no_trace(
    kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    busy = evidence_of(candidate(), speedup=2.0).timing
    assert busy
    sessions = tuple(s.model_copy(update={"others": 0.9}) for s in busy.sessions)
    run = run_of(home, TWICE, in_torch(TWICE_NEW), timing=busy.model_copy(update={"sessions": sessions}))
    assert run.attempts[0].evidence.untimed

    done = export(kb, [run], "flashinfer", tmp_path / "out")

    assert (done.files["solutions"], done.files["traces"]) == (1, 0)
    assert list(done.left_out.values()) == [1]


@pytest.mark.parametrize(
    "kernel",
    [
        pytest.param(Candidate(language="cpp", source=IN_CPP), marks=needs_compiler, id="cpp"),
        pytest.param(in_torch(IN_TORCH), id="torch"),
    ],
)
def test_the_parameters_of_a_model_are_inputs_of_its_definition(
    kernel: Candidate, kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    export(kb, [run_of(home, TASK, kernel)], "flashinfer", out)

    (definition,) = (json.loads(file.read_text()) for file in (out / "definitions").iterdir())
    (solution,) = (json.loads(file.read_text()) for file in (out / "solutions" / "scale").iterdir())
    reference = loaded(definition["reference"], tmp_path, "reference")
    kernel_of = loaded(solution["sources"][0]["content"], tmp_path)

    assert list(definition["inputs"]) == ["x", "state_weight"]
    for weight in (torch.ones(6), torch.arange(6.0)):
        x = torch.randn(8, 6)
        assert torch.allclose(reference.run(x, weight), x * weight * 2)
        assert torch.allclose(kernel_of.run(x, weight), x * weight * 2 + 1)  # the kernel adds one, to be told apart
        weight += 1
        assert torch.allclose(kernel_of.run(x, weight), x * weight * 2 + 1)


def test_a_definition_of_which_the_task_was_made_is_kept_with_its_workloads(
    kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    lines = [{"uuid": str(rows), "axes": {"rows": rows}, "inputs": DRAWN} for rows in (3, 16)]
    file = definition(tmp_path, {}, lines)
    task = load_task(file)
    session = Session(
        baseline_us=(100.0,) * 3, candidate_us=(50.0,) * 3, inside_us=(50.0,) * 3, speedup=2.0, low=1.9, high=2.1
    )
    small, large = (
        Timing(baseline="eager", baselines_us={"eager": 100.0}, sessions=(session,) * 3, workload=workload)
        for workload in reversed(task.workloads)
    )
    timing = large.model_copy(update={"other_workloads": (small,)})
    run, out = run_of(home, task, in_torch(SCALED_NEW), timing=timing), tmp_path / "out"

    made = export(kb, [run], "sol-execbench", tmp_path / "made")
    export(kb, [run], "sol-execbench", out, definitions=[file])

    assert made.files["definitions"] == 0
    assert list(made.left_out) == ["its task has several workloads; name the definition of which it was made"]
    written = out / "scaled_rows_c8"
    assert json.loads((written / "definition.json").read_text()) == json.loads(file.read_text())
    assert records(written / "workload.jsonl") == lines[::-1]
    assert [trace["workload"]["uuid"] for trace in records(written / "traces.jsonl")] == ["16", "3"]
    (solution,) = (json.loads(one.read_text()) for one in (written / "solutions").iterdir())
    x, flat = torch.randn(3, 8), torch.arange(24, dtype=torch.int32)
    found = loaded(solution["sources"][0]["content"], tmp_path).run(x, flat, 2.5)
    assert torch.equal(found, x * 2.5 + flat.view(3, 8))


def test_a_definition_without_variable_axes_needs_no_workloads(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    changes = {
        "name": "fixed", "axes": {"n": {"type": "const", "value": 8}},
        "inputs": {"x": {"shape": ["n"], "dtype": "float32"}},
        "reference": "def run(x):\n    return x * 2\n",
    }  # fmt: skip
    file, out = definition(tmp_path, changes, []), tmp_path / "out"

    export(kb, [run_of(home, load_task(file), in_torch(TWICE_NEW))], "flashinfer", out, definitions=[file])

    assert json.loads((out / "definitions" / "fixed.json").read_text()) == {"op_type": "fixed"} | json.loads(
        file.read_text()
    )
    (workload,) = records(out / "workloads" / "fixed.jsonl")
    assert workload["workload"]["inputs"] == {"x": {"type": "random"}}


def test_a_task_in_python_is_no_definition(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    (tmp_path / "t.py").write_text(TWICE.source)

    with pytest.raises(TaskError, match="is not a kernel definition"):
        export(kb, [], "flashinfer", tmp_path / "out", definitions=[tmp_path / "t.py"])


UNDEFINED = {
    "return [torch.randn(4, 3), 2]": "its task takes inputs that are no tensors",
    "return [torch.randn(4, 3).double()]": "no definition has tensors of float64",
}


@pytest.mark.parametrize("drawn", UNDEFINED)
def test_a_task_that_no_definition_can_state_is_left_out(
    drawn: str, kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    forward = "def forward(self, x, by):" if drawn.endswith("2]") else "def forward(self, x):"
    source = TWICE.source.replace("return [torch.randn(4, 3)]", drawn).replace("def forward(self, x):", forward)

    done = export(
        kb, [run_of(home, Task(name="t", source=source), in_torch(TWICE_NEW))], "flashinfer", tmp_path / "out"
    )

    assert (done.files["definitions"], done.left_out) == (0, {UNDEFINED[drawn]: 1})


def test_an_exported_solution_is_read_as_the_candidate_that_it_was(
    kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    export(kb, [run_of(home, TWICE, in_torch(TWICE_NEW))], "flashinfer", tmp_path / "out")

    (file,) = (tmp_path / "out" / "solutions" / "19_twice").iterdir()

    assert load_candidate(file).source.startswith(TWICE_NEW)


KERNELBENCH: dict[str, tuple[Candidate, Task, str]] = {
    "with parameters that it loads itself": (
        in_torch("class ModelNew:\n    def load_reference(self, state): ...\n"), TWICE, "load_reference",
    ),
    "not in Python": (candidate(), TWICE, "is no Python file"),
    "without ModelNew": (in_torch("x = 1\n"), TWICE, "ModelNew"),
    "of another task": (in_torch(TWICE_NEW), TASK, "begins with its number"),
}  # fmt: skip


def test_kernelbench_finds_each_sample_of_a_problem_by_its_name(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    run = run_of(home, TWICE, in_torch(TWICE_NEW))
    judge(run, propose(run, in_torch(TWICE_NEW + "# 2\n"), parent=1))

    done = export(kb, [run], "kernelbench", tmp_path / "out", level=1)

    assert done.files == {"level_1_problem_19": 2}
    assert (tmp_path / "out" / "level_1_problem_19_sample_1_kernel.py").read_text() == TWICE_NEW + "# 2\n"


@pytest.mark.parametrize("name", KERNELBENCH)
def test_what_kernelbench_cannot_run_is_left_out(name: str, kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    kernel, task, why = KERNELBENCH[name]

    done = export(kb, [run_of(home, task, kernel)], "kernelbench", tmp_path / "out", level=1)

    assert done.files == {}
    assert [why in reason for reason in done.left_out] == [True]


@pytest.mark.parametrize(("form", "needed"), [("kernelbench", "level"), ("hub", "licence")])
def test_what_only_the_user_knows_is_asked_for(form: str, needed: str, kb: KnowledgeBase, tmp_path: Path) -> None:
    with pytest.raises(RunError, match=needed):
        export(kb, [], form, tmp_path / "out")


def package(kb: KnowledgeBase, run: Run, folder: Path) -> Exported:
    return export(kb, [run, run_of(folder.parent / "home", TWICE, in_torch(TWICE_NEW))], "hub", folder, licence="mit")


def test_a_package_holds_the_best_kernel_its_build_and_a_digest_of_each_file(
    kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    run = run_of(home, TWICE, in_torch(TWICE_NEW), speedup=1.5)
    judge(run, propose(run, in_torch(TWICE_NEW.replace("x + x", "2 * x")), parent=1), speedup=3.0)

    done = package(kb, run, tmp_path / "out")

    assert list(done.files) == ["kb-19-twice-cpu-x86", "kb-19-twice-cpu-x86-n2"]
    built = tmp_path / "out" / "kb-19-twice-cpu-x86" / "build" / "torch-cpu"
    metadata = json.loads((built / "metadata.json").read_text())
    assert (metadata["name"], metadata["license"], metadata["backend"]) == (
        "kb-19-twice-cpu-x86", "mit", {"type": "cpu"},
    )  # fmt: skip
    assert sorted(metadata["digest"]["files"]) == ["__init__.py", "kb_19_twice_cpu_x86/__init__.py"]
    sys.path.insert(0, str(built))
    try:
        module = __import__("kb_19_twice_cpu_x86")
    finally:
        sys.path.remove(str(built))
    x = torch.randn(4, 3)
    assert torch.equal(module.Model()(x), 2 * x)
    assert "2 * x" in (built / "__init__.py").read_text()


def test_a_run_without_a_right_kernel_has_no_package(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    run = run_of(home, TWICE, in_torch(TWICE_NEW), speedup=None)

    done = export(kb, [run], "hub", tmp_path / "out", licence="mit")

    assert (done.files, list(done.left_out)) == ({}, ["no kernel of its run passed"])
