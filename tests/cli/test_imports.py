"""Help and reading commands are quick because they load little."""

from collections.abc import Sequence
from pathlib import Path

from kb.settings import DEFAULT_MODEL
from tests.cli.conftest import Run, one_after_the_other
from tests.retrieval.embedding.default_model import compile_once, needs_model

MODEL_MAKERS = {"torch", "sentence_transformers", "transformers", "chromadb"}


def loaded(*commands: Sequence[str], **environment: str) -> set[str]:
    """The modules that a process has loaded after these commands."""
    outcomes, modules = one_after_the_other(commands, **environment)
    assert [outcome.status for outcome in outcomes] == [0] * len(commands)
    return modules


def test_the_list_of_modules_would_show_a_heavy_one(stored: Path) -> None:
    assert {"numpy", "pydantic"} <= loaded(["search", "lds"])


def test_help_loads_nothing_heavy_and_of_kb_the_command_line_alone() -> None:
    modules = loaded(["--help"], ["ingest", "--help"], ["targets", "--help"], ["--version"])

    # Not pydantic itself: typer loads it to convert arguments.
    assert modules & (MODEL_MAKERS | {"numpy", "pydantic_settings", "onnxruntime", "sqlite3", "rich"}) == set()
    own = {m for m in modules if m.partition(".")[0] in ("kb", "ingest", "retrieval", "eval")}
    assert {m for m in own if not m.startswith("kb.cli")} == {
        "kb", "kb.errors", "kb.printable", "kb.types", "kb.types.records",
    }  # fmt: skip


def test_reading_commands_without_a_model_load_none_of_what_makes_models(stored: Path, run: Run) -> None:
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]

    modules = loaded(
        ["search", "local data share", "--target", "mi210"],
        ["context", "local data share"],
        ["facts", "mi210"],
        ["cite", citation],
        ["targets", "list"],
    )

    assert modules & (MODEL_MAKERS | {"onnxruntime", "tokenizers"}) == set()


@needs_model
def test_a_search_with_a_compiled_model_loads_neither_torch_nor_chroma(stored: Path) -> None:
    compile_once()

    modules = loaded(["search", "local data share"], KB_EMBEDDING_MODEL=DEFAULT_MODEL)

    assert "onnxruntime" in modules
    assert modules & MODEL_MAKERS == set()
