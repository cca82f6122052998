"""A solution of FlashInfer-Trace or SOL-ExecBench is a candidate, if one Python file is all of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from eval.languages.registry import load_candidate
from kb.errors import CandidateError

torch = pytest.importorskip("torch")

SOURCE = "import torch\n\n\ndef double(x):\n    return x + x\n"
SPEC = {"language": "python", "entry_point": "main.py::double", "destination_passing_style": False}
SOLUTION = {"name": "s", "definition": "d", "spec": SPEC, "sources": [{"path": "main.py", "content": SOURCE}]}


def solution(folder: Path, **changes: Any) -> Path:
    file = folder / "solution.json"
    file.write_text(json.dumps(SOLUTION | changes))
    return file


@pytest.mark.parametrize(("first", "language"), [("", "torch"), ("import triton\n", "triton")])
def test_a_solution_is_a_candidate_in_the_language_that_it_imports(first: str, language: str, tmp_path: Path) -> None:
    found = load_candidate(solution(tmp_path, sources=[{"path": "main.py", "content": first + SOURCE}]))
    namespace: dict[str, Any] = {}
    exec(found.source.removeprefix(first), namespace)

    assert found.language == language
    assert torch.equal(namespace["ModelNew"]()(torch.ones(2)), torch.full((2,), 2.0))


def test_a_solution_with_model_new_is_that(tmp_path: Path) -> None:
    source = "import torch\n\n\nclass ModelNew(torch.nn.Module): ...\n"

    assert load_candidate(solution(tmp_path, sources=[{"path": "main.py", "content": source}])).source == source


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"spec": None}, "is not a solution: spec: "),
        ({"spec": SPEC | {"destination_passing_style": True}}, "writes to outputs that it is given"),
        ({"spec": SPEC | {"entry_point": "other.py::double"}}, "is a solution of main.py"),
        ({"spec": SPEC | {"entry_point": "main.py::a b"}}, "names no function"),
        ({"sources": [*SOLUTION["sources"], {"path": "more.py", "content": "x"}]}, "is a solution of main.py, more.py"),
        ({"spec": SPEC | {"entry_point": "k.cu::f"}, "sources": [{"path": "k.cu", "content": "x"}]}, "of k.cu"),
    ],
)
def test_another_solution_is_refused_with_the_reason(changes: dict[str, Any], message: str, tmp_path: Path) -> None:
    with pytest.raises(CandidateError) as refused:
        load_candidate(solution(tmp_path, **changes))

    assert message in refused.value.message
