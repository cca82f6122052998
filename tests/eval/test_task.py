"""Tasks and candidates are read from files without being run; a bad file gives one clear error."""

from pathlib import Path

import pytest

from eval.languages.registry import CPP, LANGUAGES, TORCH, TRITON, load_candidate
from eval.oracle.task import MAX_SOURCE_BYTES, load_task
from eval.selftest.known import CORRECT, TASKS
from eval.supervisor.language import JudgedLanguage
from kb.errors import CandidateError, TaskError

TASK = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"


def write(folder: Path, name: str, source: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(source.encode() if isinstance(source, str) else source)
    return path


def test_a_task_is_named_after_its_file_and_its_source_is_kept(tmp_path: Path) -> None:
    task = load_task(write(tmp_path, "19_ReLU (fast).py", TASK))

    assert task.name == "19-relu-fast"
    assert task.source == TASK


def test_reading_a_task_does_not_run_it(tmp_path: Path) -> None:
    assert load_task(write(tmp_path, "task.py", f"raise SystemExit('run')\n{TASK}")).name == "task"


MISSING = {
    "Model": TASK.replace("class Model", "class Other"),
    "get_inputs": TASK.replace("def get_inputs", "def inputs"),
    "get_init_inputs": TASK.replace("def get_init_inputs", "def init_inputs"),
    "Model and get_inputs and get_init_inputs": "",
    "get_inputs and get_init_inputs": "class Model:\n    def get_inputs(): ...\n    def get_init_inputs(): ...\n",
}


@pytest.mark.parametrize(("names", "source"), MISSING.items())
def test_the_error_for_an_incomplete_task_lists_the_missing_names(tmp_path: Path, names: str, source: str) -> None:
    with pytest.raises(TaskError, match=f"does not define {names}$"):
        load_task(write(tmp_path, "task.py", source))


UNREADABLE = {
    "not Python": ("class Model\n", "not valid Python"),
    "a null byte": (TASK + "\0", "not valid Python"),
    "not text": (b"\xff\xfe\x00", "cannot be read"),
    "too large": (TASK + "#" * MAX_SOURCE_BYTES, "larger than"),
}


@pytest.mark.parametrize(("source", "message"), UNREADABLE.values(), ids=UNREADABLE)
def test_a_malformed_task_file_is_one_clear_error(tmp_path: Path, source: str | bytes, message: str) -> None:
    with pytest.raises(TaskError, match=message) as caught:
        load_task(write(tmp_path, "task.py", source))

    assert "task.py" in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize("name", ["missing.py", "."])
def test_a_missing_task_file_is_one_clear_error(tmp_path: Path, name: str) -> None:
    with pytest.raises(TaskError, match="cannot be read"):
        load_task(tmp_path / name)


FILES = {
    "kernel.cpp": ("void model_new();", CPP),
    "kernel.cc": ("import triton", CPP),
    "torch.py": ("import torch\n# import triton", TORCH),
    "triton.py": ("import torch\nimport triton.language as tl", TRITON),
    "inside.py": ("def f():\n    from triton import jit", TRITON),
}


@pytest.mark.parametrize(("name", "expected"), FILES.items())
def test_the_language_of_a_candidate_follows_from_its_suffix_and_imports(
    tmp_path: Path, name: str, expected: tuple[str, JudgedLanguage]
) -> None:
    source, language = expected

    candidate = load_candidate(write(tmp_path, name, source))

    assert (candidate.language, candidate.source) == (language.name, source)


@pytest.mark.parametrize("name", ["kernel", "kernel.rs", "kernel.txt", "kernel.py.txt"])
def test_a_file_with_another_suffix_is_not_a_candidate(tmp_path: Path, name: str) -> None:
    with pytest.raises(CandidateError, match="is not a candidate"):
        load_candidate(write(tmp_path, name, "x"))


def test_a_missing_candidate_file_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(CandidateError, match="cannot be read"):
        load_candidate(tmp_path / "missing.cpp")


@pytest.mark.parametrize("path", sorted(TASKS.glob("*.py")), ids=lambda p: p.stem)
def test_the_tasks_in_these_tests_can_be_loaded(path: Path) -> None:
    assert load_task(path).name == path.stem.replace("_", "-")


@pytest.mark.parametrize(
    "path",
    sorted({p for language in LANGUAGES for s in language.suffixes for p in CORRECT.glob(f"*{s}")}),
    ids=lambda p: p.name,
)
def test_the_candidates_in_these_tests_can_be_loaded(path: Path) -> None:
    assert load_candidate(path).source
