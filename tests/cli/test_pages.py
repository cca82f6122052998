"""Every command on a page is run, and prints what the page shows.

A page is a Markdown file. Its `console` blocks are run in order, in a folder that has the project's folders, a
manual in `manuals/mi300x`, and the files that the page shows. A comment above a block says what is special about it:

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
REFUSED = ("error: ", "insufficient: ", "refused: ")
"""How a line begins that says why a command ended with status 1."""
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
    literal = re.escape if numbers else lambda text: re.sub(r"\d[\d.,]*", r"\\d[\\d.,]*", re.escape(text))
    return r"\s*".join(".*?".join(literal(text) for text in line.strip().split("[...]")) for line in lines)


@pytest.mark.usefixtures("quick_judge")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_commands_of_a_page_run_and_print_what_it_shows(
    page: Path, run: Run, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for folder in ("examples", "kb", "eval", "benchmarks"):
        (tmp_path / folder).symlink_to(ROOT / folder)
    (tmp_path / "manuals" / "mi300x").mkdir(parents=True)
    (tmp_path / "manuals" / "mi300x" / "guide.md").write_text("# MI300X guide\n\nA wavefront has 64 lanes.\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("CODEX_HOME", raising=False)
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
            assert done.status == int(any(line.startswith(REFUSED) for line in shown.output)), (
                f"{shown.command}\n{output}"
            )
            if shown.output and not mark.startswith("not compared: "):
                wanted = pattern(shown.output, numbers=mark != "numbers vary")
                assert re.search(wanted, output, re.S), f"{shown.command}\n{output}"


def anchors(page: Path) -> set[str]:
    """The names of a page's headings, as GitHub makes them."""
    headings = re.findall(r"^#+ (.*)$", re.sub(r"^```.*?^```$", "", page.read_text(), flags=re.M | re.S), re.M)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize(
    "page", [*PAGES, ROOT / "docs" / "cli.md", ROOT / "CONTRIBUTING.md"], ids=lambda page: page.stem
)
def test_the_links_of_a_page_lead_to_a_file_and_a_heading(page: Path) -> None:
    for link in re.findall(r"\]\((?!https?:)([^)\s]+)\)", page.read_text()):
        path, _, anchor = link.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), link
        assert not anchor or anchor in anchors(linked), link


def test_what_the_readme_shows_of_the_demo_is_what_the_demo_printed() -> None:
    printed = (ROOT / "examples" / "demo.txt").read_text()
    shown = [each for mark, _, text in blocks(ROOT / "README.md") if "`make demo`" in mark for each in commands(text)]

    assert shown
    for command in shown:
        after = printed.partition(f"$ {command.command}\n")[2]
        assert re.match(pattern(["[...]", *command.output], numbers=True), after, re.S), command.command
