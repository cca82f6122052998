"""Help and reading commands are quick because they load little."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kb.settings import DEFAULT_MODEL
from tests.retrieval.embedding.default_model import compile_once, needs_model

RUN_AND_LIST_MODULES = """
import json, sys
sys.argv = ["kb", *json.loads(sys.argv[1])]
from kb.cli import main
try:
    main()
except SystemExit as ended:
    status = ended.code or 0
print(json.dumps([status, sorted(sys.modules)]))
"""

MODEL_MAKERS = {"torch", "sentence_transformers", "transformers", "chromadb"}


def loaded(*arguments: str | Path, **environment: str) -> tuple[int, set[str]]:
    """Exit status of `kb` and the modules it had loaded at its end."""
    done = subprocess.run(
        [sys.executable, "-c", RUN_AND_LIST_MODULES, json.dumps([str(a) for a in arguments])],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    status, modules = json.loads(done.stdout.splitlines()[-1])
    return status, set(modules)


def test_the_list_of_modules_would_show_a_heavy_one(stored: Path) -> None:
    status, modules = loaded("search", "lds")

    assert status == 0
    assert {"numpy", "pydantic"} <= modules


@pytest.mark.parametrize("arguments", [["--help"], ["ingest", "--help"], ["targets", "--help"], ["--version"]])
def test_help_loads_nothing_heavy_and_of_kb_the_command_line_alone(arguments: list[str]) -> None:
    status, modules = loaded(*arguments)

    assert status == 0
    # Not pydantic itself: typer loads it to convert arguments.
    assert modules & (MODEL_MAKERS | {"numpy", "pydantic_settings", "onnxruntime", "sqlite3", "rich"}) == set()
    own = {m for m in modules if m.partition(".")[0] in ("kb", "ingest", "retrieval", "eval")}
    assert {m for m in own if not m.startswith("kb.cli")} == {"kb", "kb.errors", "kb.types", "kb.types.records"}


@pytest.mark.parametrize(
    "arguments",
    [
        ["search", "local data share", "--target", "mi210"],
        ["context", "local data share"],
        ["facts", "mi210"],
        ["cite", "{id}"],
        ["targets", "list"],
    ],
    ids=lambda arguments: arguments[0],
)
def test_a_reading_command_without_a_model_loads_none_of_what_makes_models(stored: Path, run, arguments) -> None:
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]

    status, modules = loaded(*(a.format(id=citation) for a in arguments))

    assert status == 0
    assert modules & (MODEL_MAKERS | {"onnxruntime", "tokenizers"}) == set()


@needs_model
def test_a_search_with_a_compiled_model_loads_neither_torch_nor_chroma(stored: Path) -> None:
    compile_once()

    status, modules = loaded("search", "local data share", KB_EMBEDDING_MODEL=DEFAULT_MODEL)

    assert status == 0
    assert "onnxruntime" in modules
    assert modules & MODEL_MAKERS == set()
