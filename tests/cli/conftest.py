"""The command line in this process, or in one of its own with fewer rights; and manuals to ask about."""

import io
import json
import os
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import typer

from kb.catalog import Catalog
from kb.cli import main

if TYPE_CHECKING:
    from kb.runs.journal import Run as KernelRun

CONFINED = Path(__file__).with_name("confined.py")

FACT_HEADER = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"

CDNA2 = (
    f"# The family\n\nWavefronts have 64 lanes.\n\n{FACT_HEADER}| wavefront_size | 64 | lane |  | ISA guide, 2.1 |\n"
)
MI210 = (
    "# Memory of the MI210\n\n## Local data share\n\nEach compute unit has 64 KB of local data share (LDS).\n\n"
    f"{FACT_HEADER}| lds_size | 64 | KiB | per compute unit | guide, table 3 |\n"
    "| l2_size | 8 | MiB | shared by all | guide, table 4 |\n"
)
MI250 = (
    "# Memory of the MI250\n\n## Local data share\n\nEach compute unit has 96 KB of local data share (LDS).\n\n"
    f"{FACT_HEADER}| lds_size | 96 | KiB | per compute unit | guide, table 3 |\n"
    "| xgmi_links | 777 | 1 |  | guide, table 9 |\n"
)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command left behind."""

    status: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def refusal(self) -> tuple[str, str]:
        """Message and hint of a command that was refused, and nothing else."""
        lines = self.err.splitlines()
        assert (self.status, self.out, len(lines)) == (1, "", 2), self
        assert (lines[0][:7], lines[1][:6]) == ("error: ", "hint: "), self
        return lines[0][7:], lines[1][6:]


Run = Callable[..., Outcome]


def documents(home: Path) -> list[tuple[str, str, str]]:
    """What the catalog of `home` holds, read behind kb's back."""
    db = sqlite3.connect(home / "catalog.sqlite")
    rows = db.execute("SELECT source, target, sha256 FROM document ORDER BY source").fetchall()
    db.close()
    return rows


def forget_sheets(home: Path) -> None:
    """Make `home` one that an earlier kb wrote, which had no sheets."""
    with Catalog(home) as catalog:
        catalog.remove([source for source in catalog.states() if source.startswith("sheet:")])


command_of = cache(typer.main.get_command)
"""The commands of an app, which take longer to describe than most of them to run."""


@pytest.fixture(autouse=True)
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lexical search, as these tests are about words on a screen; and a screen of the usual width."""
    monkeypatch.setenv("KB_EMBEDDING_MODEL", "none")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.setattr(typer.main, "get_command", command_of)


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    """`kb` in this process."""

    def run(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys, "argv", ["kb", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main()
        return Outcome(int(ended.value.code or 0), *capsys.readouterr())

    return run


@pytest.fixture
def answering(run: Run, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Outcome]:
    """`kb` whose user answers each question with one word."""

    def ask(answer: str, *arguments: str) -> Outcome:
        stdin = io.StringIO(f"{answer}\n")
        monkeypatch.setattr(stdin, "isatty", lambda: True)
        monkeypatch.setattr(sys, "stdin", stdin)
        return run(*arguments)

    return ask


@pytest.fixture
def on_screen(run: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """`kb` as on a terminal of 80 columns."""

    def show(*arguments: str | Path) -> Outcome:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
        return run(*arguments)

    return show


ONE_AFTER_THE_OTHER = """
import contextlib, io, json, sys
from kb.cli import main
done = []
for arguments in json.loads(sys.argv[1]):
    sys.argv, out, err, status = ["kb", *arguments], io.StringIO(), io.StringIO(), 0
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
        except SystemExit as ended:
            status = ended.code or 0
    done.append([status, out.getvalue(), err.getvalue()])
print(json.dumps([done, sorted(sys.modules)]))
"""


def one_after_the_other(
    commands: Sequence[Sequence[str | Path]], *python: str | Path, **environment: str
) -> tuple[list[Outcome], set[str]]:
    """What each `kb` leaves behind in one process that `python` starts, and the modules loaded at its end."""
    asked = json.dumps([[str(part) for part in command] for command in commands])
    done = subprocess.run(
        [*(python or [sys.executable]), "-c", ONE_AFTER_THE_OTHER, asked], env=os.environ | environment,
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    outcomes, modules = json.loads(done.stdout)
    return [Outcome(*each) for each in outcomes], set(modules)


@pytest.fixture
def run_confined() -> Run:
    """`kb` in a process of its own that obeys file permissions even when the tests run as root."""

    def run(*arguments: str | Path, file_limit: int | None = None) -> Outcome:
        limit = ["--file-limit", str(file_limit)] if file_limit is not None else []
        done = subprocess.run(
            [sys.executable, str(CONFINED), *limit, "-m", "kb.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Outcome(done.returncode, done.stdout, done.stderr)

    return run


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    """Manuals of two sibling chips without sheets of kb's own and of their family; `mi210` has five."""
    root = tmp_path / "docs"
    for target, text in (("cdna2", CDNA2), ("mi210", MI210), ("mi250", MI250)):
        (root / target).mkdir(parents=True)
        (root / target / "memory.md").write_text(text, encoding="utf-8")
    for number in range(4):
        (root / "mi210" / f"note{number}.md").write_text(f"# Note {number}\n\nRemark {number}.\n", encoding="utf-8")
    return root


@pytest.fixture
def stored(run: Run, docs: Path, home: Path) -> Path:
    """A home that holds `docs`."""
    assert run("ingest", docs).status == 0
    return home


@pytest.fixture
def started(home: Path) -> "KernelRun":
    """Nothing above loads what it needs: processes of these tests load this file, and some tell what they loaded."""
    from kb.runs.journal import Plan, Runs, SynthesizerKind
    from kb.types.kernels import Task

    plan = Plan(
        task=Task(name="t", source="x"), target="h200", language="triton",
        synthesizer=SynthesizerKind.TUNE, evaluations=1,
    )  # fmt: skip
    return Runs(home).start(plan)
