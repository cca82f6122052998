"""Kernel definitions of FlashInfer-Trace and SOL-ExecBench become tasks, or are refused with the reason."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.oracle.constants import at_workload, integer_constants
from eval.oracle.reference import Reference
from eval.oracle.task import load_task
from kb.errors import TaskError

torch = pytest.importorskip("torch")

SCALED = {
    "name": "scaled_rows_c8",
    "description": "Each row times a weight.",
    "axes": {
        "rows": {"type": "var"},
        "cols": {"type": "const", "value": 8},
        "both": {"type": "expr", "expression": "rows * cols"},
    },
    "inputs": {
        "x": {"shape": ["rows", "cols"], "dtype": "float32"},
        "flat": {"shape": ["both"], "dtype": "int32"},
        "by": {"shape": None, "dtype": "float32"},
    },
    "outputs": {"y": {"shape": ["rows", "cols"], "dtype": "float32"}},
    "reference": "import torch\n\nBLOCK = 4\n\n\ndef run(x, flat, by):\n    return x * by + flat.view(x.shape)\n",
}
DRAWN = {"x": {"type": "random"}, "flat": {"type": "random"}, "by": {"type": "scalar", "value": 2.5}}
WORKLOADS = [{"axes": {"rows": rows}, "inputs": DRAWN} for rows in (3, 16, 5)]
DRAW = "def draw(axes, device):\n    return {'i': torch.arange(axes['n'], device=device)}\n\n\n"


def definition(folder: Path, changes: dict[str, Any], workloads: list[dict[str, Any]] | None = None) -> Path:
    file = folder / "definition.json"
    file.write_text(json.dumps(SCALED | changes))
    lines = WORKLOADS if workloads is None else workloads
    if lines:
        (folder / "workload.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    return file


def test_a_definition_becomes_a_task_with_the_sizes_of_its_largest_workload(tmp_path: Path) -> None:
    task = load_task(definition(tmp_path, {}))
    reference = Reference(task, seed=0)
    x, flat, by = reference.inputs(1)

    assert task.name == "scaled-rows-c8"
    assert (x.shape, flat.shape, flat.dtype, by) == ((16, 8), (128,), torch.int32, 2.5)
    assert torch.equal(reference.native([x, flat, by])[0], x * by + flat.view(16, 8))


def test_each_workload_has_its_sizes_and_scalars(tmp_path: Path) -> None:
    other = {"axes": {"rows": 5}, "inputs": DRAWN | {"by": {"type": "scalar", "value": -3}}}
    task = load_task(definition(tmp_path, {}, [*WORKLOADS, WORKLOADS[0], other]))

    assert task.workloads == (
        {"rows": 16, "given_by": 2.5},
        {"rows": 5, "given_by": 2.5},
        {"rows": 5, "given_by": -3},
        {"rows": 3, "given_by": 2.5},
    )
    at = [Reference(at_workload(task, workload), seed=0).inputs(1) for workload in task.workloads]
    assert [(len(x), by) for x, _, by in at] == [(16, 2.5), (5, 2.5), (5, -3), (3, 2.5)]
    assert all(not at_workload(task, workload).workloads for workload in task.workloads)


def test_what_has_one_workload_is_a_task_like_any_other(tmp_path: Path) -> None:
    one = load_task(definition(tmp_path, {}, WORKLOADS[:1]))

    assert not one.workloads
    assert load_task(definition(tmp_path, {}, WORKLOADS[1:2])).digest != load_task(definition(tmp_path, {})).digest


def test_workloads_that_cannot_be_drawn_are_left_out_and_counted(tmp_path: Path) -> None:
    stored = {"axes": {"rows": 64}, "inputs": DRAWN | {"x": {"type": "safetensors"}}}
    task = load_task(definition(tmp_path, {}, [*WORKLOADS, stored]))

    assert [workload["rows"] for workload in task.workloads] == [16, 5, 3]
    assert "# Workloads that read inputs from files, and are left out: 1 of 4.\n" in task.source


def test_only_variable_axes_are_sizes_that_the_judge_may_change(tmp_path: Path) -> None:
    task = load_task(definition(tmp_path, {}))

    assert integer_constants(task) == {"rows": 16}
    assert Reference(task, seed=0, sizes={"rows": 7}).inputs(1)[1].shape == (56,)


def test_workloads_are_found_where_flashinfer_trace_has_them(tmp_path: Path) -> None:
    for folder in ("definitions/scale", "workloads/scale"):
        (tmp_path / folder).mkdir(parents=True)
    file = tmp_path / "definitions" / "scale" / "scaled.json"
    file.write_text(json.dumps(SCALED))
    line = {"definition": "scaled", "workload": WORKLOADS[0], "solution": None}
    (tmp_path / "workloads" / "scale" / "scaled.jsonl").write_text(json.dumps(line) + "\n")

    assert integer_constants(load_task(file)) == {"rows": 3}


def test_inputs_may_be_drawn_by_the_definition_itself(tmp_path: Path) -> None:
    changes = {
        "axes": {"n": {"type": "var"}},
        "inputs": {"i": {"shape": ["n"], "dtype": "int64"}},
        "reference": f"import torch\n\n\n{DRAW.replace('draw', 'get_inputs')}def run(i):\n    return i + 1\n",
        "custom_inputs_entrypoint": "get_inputs",
    }
    task = load_task(definition(tmp_path, changes, [{"axes": {"n": 6}, "inputs": {"i": {"type": "custom"}}}]))

    assert torch.equal(Reference(task, seed=0).inputs(1)[0], torch.arange(6))


def test_sizes_that_break_a_constraint_are_not_tried(tmp_path: Path) -> None:
    task = load_task(definition(tmp_path, {"constraints": ["rows % 4 == 0"]}))

    Reference(task, seed=0, sizes={"rows": 8})
    with pytest.raises(TaskError):
        Reference(task, seed=0, sizes={"rows": 9})


@pytest.mark.parametrize(
    ("changes", "workloads", "message"),
    [
        ({}, [], "no workload gives values of its axes rows"),
        ({}, [{"axes": {"rows": 3}, "inputs": DRAWN | {"x": {"type": "safetensors"}}}], "reads inputs from a file"),
        ({"inputs": {"x": {"shape": ["depth"], "dtype": "float32"}}}, None, "unknown axes depth"),
        ({"inputs": {"x": {"shape": ["rows"], "dtype": "float4_e2m1"}}}, None, "type float4_e2m1"),
        ({"reference": "def go(x):\n    return x\n"}, None, "does not define run"),
        ({"reference": "class Model: ...\n\n\ndef run(x):\n    return x\n"}, None, "uses the names Model"),
        ({"constraints": ["flat.max() < rows"]}, None, "must fulfil 'flat.max() < rows'"),
        ({"axes": {"rows": {"type": "odd"}}}, None, "is not a kernel definition"),
    ],
)
def test_what_a_task_cannot_express_is_refused(
    tmp_path: Path, changes: dict[str, Any], workloads: list[dict[str, Any]] | None, message: str
) -> None:
    with pytest.raises(TaskError, match=message.replace("(", r"\(").replace(")", r"\)")):
        load_task(definition(tmp_path, changes, workloads))


def test_a_file_that_is_no_json_is_refused(tmp_path: Path) -> None:
    (tmp_path / "definition.json").write_text("{")
    with pytest.raises(TaskError, match="is not a kernel definition"):
        load_task(tmp_path / "definition.json")
