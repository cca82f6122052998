"""Every command on a page is run, and prints what the page shows.

A page is a Markdown file. Its `console` blocks are run in order, in a folder of their own that has the project's folders
and what the page says the reader has. A comment above a block says what is special about it:

    <!-- file: PATH -->           the block is a file that the reader has
    <!-- not run: WHY -->         it is not run
    <!-- not compared: WHY -->    it is run, and may print something else
    <!-- numbers vary -->         as on the page, apart from numbers

`[...]` on the page stands for any text.
"""

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from tests.cli.conftest import Run

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted(page for page in (ROOT / "docs").glob("*.md") if page.name != "cli.md")]
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*) -->\n)?^(?P<fence>`{3,})(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$", re.M | re.S
)
MARKS = ("file: ", "not run: ", "not compared: ", "numbers vary")


@dataclass(slots=True)
class Shown:
    """A command on a page, and what the page shows of its output."""

    command: str
    output: list[str] = field(default_factory=list)


def blocks(page: Path) -> Iterator[tuple[str, str, str]]:
    """The fenced blocks of a page: the comment above, the kind, the text."""
    for found in BLOCK.finditer(page.read_text()):
        yield found["mark"] or "", found["kind"], found["text"]


def commands(text: str) -> list[Shown]:
    shown: list[Shown] = []
    for line in text.replace("\\\n", "").splitlines():
        if line.startswith("$ "):
            shown.append(Shown(line[2:]))
        elif shown and line.strip():
            shown[-1].output.append(line)
    return shown


def arguments(command: str, home: Path) -> list[str]:
    """The words of a `kb` command without what is the shell's; `RUN` is the last run."""
    program, *words = shlex.split(command.split(" > ")[0], comments=True)
    assert program == "kb", f"not a command of kb: mark the block: {command}"
    return [max(folder.name for folder in (home / "runs").iterdir()) if word == "RUN" else word for word in words]


def pattern(lines: list[str], *, numbers: bool) -> str:
    """A regular expression for an output that has these lines in this order."""
    parts = [re.escape(line.strip()) for line in lines]
    if not numbers:
        parts = [re.sub(r"\d+([.,]\d+)*", r"[\\d.,]+", part.replace(r"\.", ".").replace(r"\,", ",")) for part in parts]
    return r"\s*".join(parts).replace(re.escape("[...]"), ".*?")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_and_print_what_it_shows(
    page: Path, run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("examples", "kb", "eval", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    monkeypatch.chdir(tmp_path)
    for mark, kind, text in blocks(page):
        assert not mark or mark.startswith(MARKS), f"an unknown mark: {mark}"
        if mark.startswith("file: "):
            path = tmp_path / mark.removeprefix("file: ")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        if kind != "console" or mark.startswith("not run: "):
            continue
        for shown in commands(text):
            done = run(*arguments(shown.command, home))
            output = done.err + done.out
            assert done.status == int(any(line.startswith(("error: ", "insufficient: ")) for line in shown.output)), (
                f"{shown.command}\n{output}"
            )
            if shown.output and not mark.startswith("not compared: "):
                wanted = pattern(shown.output, numbers=mark != "numbers vary")
                assert re.search(wanted, output, re.S), f"{shown.command}\n{output}"
