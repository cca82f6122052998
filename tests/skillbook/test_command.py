"""`kb skills` lists, shows and finds skills; it reports malformed skills without stopping."""

import json
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from typer.main import get_command

from kb.cli import skills
from kb.errors import SkillError
from kb.runs.journal import Runs
from kb.skillbook.library import Skillbook
from kb.targets import Targets
from tests.skillbook.conftest import measured, write
from tests.skillbook.evidence import KERNEL, evidence, kernel, skill

Run = Callable[..., Any]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], book: Skillbook) -> Run:
    """A function that runs `kb skills` on the library `book` and returns exit status, output and notes."""

    @contextmanager
    def opened() -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(skills=book, targets=Targets.load(book.home), runs=Runs(book.home))

    monkeypatch.setattr(skills, "open_kb", opened)
    monkeypatch.setenv("COLUMNS", "80")

    def run(*arguments: str) -> tuple[int, str, str]:
        status = get_command(skills.app).main(list(arguments), standalone_mode=False) or 0
        return status, *capsys.readouterr()

    return run


@pytest.fixture(autouse=True)
def stored(book: Skillbook, shipped: Path) -> None:
    measured(book, skill("won", evidence=(evidence(speedup=1.5),)))
    write(
        shipped,
        skill("hopper-only", target="hopper"),
        skill("plain-c", target="any", candidate=kernel("// c", "cpp")),
    )


def test_the_list_shows_standing_target_language_and_speedup(run: Run) -> None:
    status, out, notes = run("list")

    assert (status, notes) == (0, "")
    assert [line.split() for line in out.splitlines()] == [
        ["name", "kind", "standing", "target", "language", "speed-up"],
        ["hopper-only", "kernel", "hypothesis", "hopper", "triton", "-"],
        ["plain-c", "kernel", "hypothesis", "any", "cpp", "-"],
        ["won", "kernel", "verified", "mi300x", "triton", "1.50"],
    ]


def test_a_speedup_that_nobody_measured_here_is_not_listed(run: Run, book: Skillbook) -> None:
    book.publish(skill("told", candidate=kernel("told"), evidence=(evidence(kernel("told"), speedup=2.0),)))
    book.publish(book.find("won").model_copy(update={"evidence": (evidence(speedup=9.0),)}))

    listed = {s["name"]: s["speedup"] for s in json.loads(run("list", "--json")[1])}

    assert (listed["told"], listed["won"]) == (None, 1.5)


def test_the_list_for_a_target_leaves_out_its_siblings(run: Run) -> None:
    listed = json.loads(run("list", "--target", "mi300x", "--json")[1])

    assert [(s["name"], s["standing"], s["speedup"]) for s in listed] == [
        ("plain-c", "hypothesis", None),
        ("won", "verified", 1.5),
    ]


def test_a_note_with_the_list_names_a_malformed_skill(run: Run, book: Skillbook) -> None:
    (book.folder / "won" / "SKILL.md").unlink()

    status, out, notes = run("list")

    assert status == 0
    assert "plain-c" in out
    assert notes.startswith(f"note: {book.folder / 'won'} is not a skill: ")


def test_show_prints_the_standing_and_the_text(run: Run) -> None:
    _, out, _ = run("show", "won")

    assert "kind:        kernel\nstanding:    verified\n" in out
    assert "speedup:     1.50\n" in out
    assert "gain:        row-softmax for mi300x on Test Machine: 100.00 us, torch.compile 150.00 us\n" in out
    assert re.search(r"1\.50 +1\.43 to 1\.58 +measured here +row-softmax on mi300x; Test Machine; passed; 2025", out)
    assert out.endswith("# Softmax\n\nOne program for each row.\n")


def test_the_code_is_printed_byte_for_byte(run: Run) -> None:
    assert run("show", "won", "--code")[1] == KERNEL.source


def test_json_output_contains_the_whole_skill(run: Run) -> None:
    shown = json.loads(run("show", "won", "--json")[1])

    assert (shown["candidate"]["source"], shown["standing"]) == (KERNEL.source, "verified")
    assert shown["evidence"][0]["timing"]["baseline"] == "torch.compile"


def test_an_unknown_skill_is_a_skill_error(run: Run) -> None:
    with pytest.raises(SkillError, match="unknown skill 'wom'"):
        run("show", "wom")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ((), ["won", "hopper-only", "plain-c"]),
        (("--target", "mi300x"), ["won", "plain-c"]),
        (("--language", "cpp"), ["plain-c"]),
    ],
    ids=str,
)
def test_a_search_is_limited_to_target_and_language(run: Run, options: tuple[str, ...], expected: list[str]) -> None:
    status, out, _ = run("search", "softmax", *options, "--json")

    assert (status, [found["name"] for found in json.loads(out)]) == (0, expected)


def test_a_search_that_finds_nothing_has_exit_status_1(run: Run) -> None:
    assert run("search", "softmax", "--target", "mi300x", "--language", "torch") == (1, "no skills\n", "")


def test_a_search_accepts_every_language(run: Run) -> None:
    for language in ("triton", "cpp", "torch"):
        status, _, err = run("search", "softmax", "--language", language)

        assert (status in (0, 1), err) == (True, "")
