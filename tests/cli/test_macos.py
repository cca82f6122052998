"""Reading works on macOS: nothing on its path needs what only Linux has. Judging says that it needs Linux."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client

from tests.cli.conftest import Outcome, Run, one_after_the_other

ROOT = Path(__file__).parents[2]
JUDGING = ("eval.judge", "eval.worker")
READING = [
    ("ingest", "{docs}"),
    ("search", "local data share", "--target", "mi210"),
    ("context", "local data share"),
    ("facts", "mi210"),
    ("facts", "conflicts"),
    ("cite", "{id}"),
    ("docs", "list"),
    ("docs", "show", "mi210/memory.md"),
    ("targets", "list"),
    ("targets", "add", "mi400x", "--parent", "cdna"),
    ("skills", "list"),
    ("skills", "show", "softmax-triton"),
    ("runs", "list"),
    ("mcp", "install", "codex", "--print"),
    ("doctor",),
]


@pytest.fixture
def environment(home: Path) -> dict[str, str]:
    """Of a process that takes this machine for a Mac."""
    path = os.pathsep.join([str(Path(__file__).with_name("macos")), os.environ.get("PYTHONPATH", "")])
    return os.environ | {"PYTHONPATH": path, "KB_HOME": str(home)}


@pytest.fixture
def on_macos(environment: dict[str, str]) -> Callable[..., Outcome]:
    def python(*arguments: str | Path) -> Outcome:
        done = subprocess.run(
            [sys.executable, *map(str, arguments)],
            env=environment, capture_output=True, text=True, timeout=120, check=False,
        )  # fmt: skip
        return Outcome(done.returncode, done.stdout, done.stderr)

    return python


def test_the_mac_of_these_tests_lacks_what_only_linux_has(on_macos: Callable[..., Outcome]) -> None:
    there = on_macos("-c", "import os, sys; print(sys.platform, hasattr(os, 'memfd_create')); open('/proc/self/maps')")

    assert there.out == "darwin False\n"
    assert "FileNotFoundError" in there.err


@pytest.mark.slow
def test_ingest_reads_each_format_and_reading_commands_answer_without_what_judges(
    run: Run, environment: dict[str, str], on_macos: Callable[..., Outcome], docs: Path
) -> None:
    cells = {"cells": [{"cell_type": "markdown", "source": ["# Tiles"]}]}
    texts = {"a.rst": "Title\n=====\n", "b.html": "<h1>Title</h1>", "c.adoc": "= Title\n", "d.csv": "a,b\n1,2\n",
             "e.ipynb": json.dumps(cells), "f.txt": "text\n"}  # fmt: skip
    for name, text in texts.items():
        (docs / "mi210" / name).write_text(text, encoding="utf-8")
    ingested = on_macos("-m", "kb.cli", "ingest", docs)
    assert (ingested.status, "Traceback" in ingested.err) == (0, False), ingested
    stored = {Path(document["path"]).name for document in run("docs", "list", "--json").json}
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]

    commands = [[part.format(id=citation, docs=docs) for part in command] for command in READING]
    outcomes, modules = one_after_the_other(commands, **environment)

    assert stored >= texts.keys()
    *reading, doctor = outcomes
    assert [outcome.status for outcome in reading] == [0] * len(reading), reading
    assert "Traceback" not in doctor.err  # a library for macOS is not here, and it says so
    assert "cannot read pdf: no" in doctor.out.replace("\n", " ")
    assert [module for module in modules if module.startswith(JUDGING)] == []


@pytest.mark.slow
def test_mcp_answers(run: Run, environment: dict[str, str], stored: Path) -> None:
    async def ask() -> Any:
        server = StdioServerParameters(command=sys.executable, args=["-m", "kb.cli", "mcp"], env=environment)
        async with Client(stdio_client(server)) as client:
            found = await client.call_tool("kb_search", {"phrasings": ["local data share"], "target": "mi210"})
        return found.structured_content

    assert anyio.run(ask)["text"]


def test_judging_is_refused_with_where_it_works(environment: dict[str, str]) -> None:
    task, kernel = ROOT / "examples" / "softmax.py", ROOT / "kb/skills/softmax-triton/scripts/kernel.py"
    commands = [("verify", task, kernel, "--target", target) for target in ("cpu-x86", "mi300x")]

    for outcome in one_after_the_other(commands, **environment)[0]:
        message, hint = outcome.refusal
        assert message == "candidates are judged on Linux only"
        assert "Linux" in hint
