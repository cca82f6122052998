"""A machine without a library that kb needs: each command says which one is missing, in one line."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

HOOK = """import os, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == os.environ["HIDDEN_LIBRARY"]:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hook())
"""
ROOT = Path(__file__).parents[2]
KERNEL = ("examples/softmax.py", "kb/skills/softmax-triton/scripts/kernel.py", "--target", "mi300x")


def run_without(library: str, folder: Path, *command: str, model: str = "none") -> tuple[int, str, str]:
    """Exit status, output and errors of a kb that cannot import `library`, and whose home is in `folder`."""
    (folder / "hook").mkdir(exist_ok=True)
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    paths = {"PYTHONPATH": str(folder / "hook"), "KB_HOME": str(folder / "home")}
    environment = {**os.environ, **paths, "HIDDEN_LIBRARY": library, "KB_EMBEDDING_MODEL": model, "COLUMNS": "80"}
    program = [sys.executable, "-c", "from kb.cli import main; main()", *command]
    done = subprocess.run(program, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("library", ["selectolax", "docutils", "markdown_it", "yaml"])
def test_a_question_about_a_target_says_which_library_its_sheets_need(library: str, tmp_path: Path) -> None:
    missing = f"the sheets that ship with kb for mi300x could not be added: the library '{library}' is not installed"

    for command in (("facts", "mi300x", "lds_size"), ("search", "LDS", "--target", "mi300x")):
        status, out, errors = run_without(library, tmp_path, *command)

        assert (status, out) == (1, "")
        assert errors.splitlines() == [f"error: {missing}", "hint: `kb doctor` says what is missing"]


def test_an_ingest_names_the_library_once_for_all_files_that_need_it(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / f"{name}.html").write_text("<p>The cache has 64 lines.</p>")

    status, out, _ = run_without("selectolax", tmp_path, "ingest", str(tmp_path), "--target", "zchip")

    assert status == 1
    assert "failed: the library 'selectolax' is not installed: 2\n" in out


def test_a_verdict_without_facts_says_why(tmp_path: Path) -> None:
    pytest.importorskip("triton")

    status, out, errors = run_without("selectolax", tmp_path, "verify", *KERNEL)

    assert (status, out.partition(":")[0]) == (0, "passed")
    assert [line for line in errors.splitlines() if "library 'selectolax' is not installed" in line] == [
        "note: the sheets that ship with kb for mi300x could not be added: the library 'selectolax' is not installed"
    ]


@pytest.mark.parametrize(
    ("library", "model"),
    [
        ("huggingface_hub", "someone/some-model"),
        ("tokenizers", "all-MiniLM-L6-v2"),
        ("onnxruntime", "all-MiniLM-L6-v2"),
    ],
)
def test_without_what_runs_a_model_search_is_lexical_and_says_so(library: str, model: str, tmp_path: Path) -> None:
    status, out, errors = run_without(library, tmp_path, "search", "LDS size", "--target", "mi300x", model=model)

    assert (status, out.partition("\n")[0][:2]) == (0, "1 ")
    [note] = errors.splitlines()
    assert note.startswith("note: search is lexical only: ")
    assert f"the library '{library}' is not installed" in note


def test_any_other_library_is_named_instead_of_a_traceback(tmp_path: Path) -> None:
    _, _, errors = run_without("filelock", tmp_path, "facts", "mi300x")

    assert errors.splitlines()[0] == "error: the library 'filelock' is not installed"


def test_doctor_lists_the_formats_that_cannot_be_read(tmp_path: Path) -> None:
    status, out, _ = run_without("docutils", tmp_path, "doctor")

    [line] = [line for line in out.splitlines() if " readers " in line]
    assert (status, line[:4]) == (1, "FAIL")
    assert "rst: no docutils" in line
