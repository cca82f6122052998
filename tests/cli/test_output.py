"""What commands print: for people within the width of the screen, for programs as JSON that holds no less."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Run

COMMANDS = {
    ("search", "local data share", "--target", "mi210"): "",
    (
        "context",
        "local data share",
        "--target",
        "mi210",
    ): "more page 2",
    (
        "context",
        "local data share",
        "--target",
        "mi210",
        "--whole",
    ): "of tokens nothing relevant was left out passages found are far less",
    (
        "facts",
        "mi210",
    ): "stated in kb cite ID opens the cited place json shows each source inherited from execution memory",
    ("cite", "{id}"): "",
    ("targets", "list"): "",
    ("targets", "show", "mi210"): "lineage descendants aliases documents none in scope of",
    ("doctor",): "",
}
"""The words that the text of each command has besides what it tells."""

COUNTED = ("passages", "left_out")
"""Lists of which the text says how many there are, or which is the how manieth."""


def values(node: Any) -> Iterator[str]:
    """Every name and value of a JSON document as text."""
    if isinstance(node, dict):
        for name, value in node.items():
            yield name
            yield from map(str, range(len(value) + 1)) if name in COUNTED else ()
            yield from values(value)
    elif isinstance(node, list):
        for value in node:
            yield from values(value)
    else:
        yield str(node)[:8] if re.fullmatch("[0-9a-f]{64}", str(node)) else str(node)


def words(text: str) -> set[str]:
    return set(re.findall(r"\w+", re.sub(r"\bL(?=\d)", "", text)))


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_json_holds_all_that_the_text_shows(run: Run, stored: Path, command: tuple[str, ...]) -> None:
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]
    arguments = [part.format(id=citation) for part in command]

    text, data = run(*arguments).out, run(*arguments, "--json").json

    told = words(text) - words(COMMANDS[command])
    assert len(told) > 5
    assert told - {w for value in values(data) for w in words(value)} == set()


def test_json_of_a_search_shows_how_each_hit_was_scored(run: Run, stored: Path) -> None:
    shown = run("search", "local data share", "--why").out
    passages = run("search", "local data share", "--why", "--json").json["passages"]

    assert re.findall(r"score [-+].*lexical .*", shown) == [passage["why"] for passage in passages]


def test_several_phrasings_are_searched_together(run: Run, stored: Path) -> None:
    alone = run("search", "zebra", "--json")
    together = run("search", "zebra", "--also", "local data share", "--json")

    assert (alone.status, alone.json["status"]) == (1, "insufficient")
    assert (together.status, together.json["status"]) == (0, "ok")


def test_a_question_without_an_answer_is_exit_status_1_with_the_reason_on_the_screen(run: Run, stored: Path) -> None:
    outcome = run("search", "lds", "--target", "hexagon")

    assert (outcome.status, outcome.err) == (1, "")
    assert outcome.out.startswith("insufficient: no documents of hexagon")
    assert "mi210" in outcome.out


def test_facts_of_a_target_come_with_those_it_inherits_and_without_those_of_its_sibling(run: Run, stored: Path) -> None:
    found = run("facts", "mi210", "--json").json["facts"]

    assert [(f["quantity"], f["value"], f["target"]) for f in found] == [
        ("wavefront_size", "64", "cdna2"),
        ("l2_size", "8", "mi210"),
        ("lds_size", "64", "mi210"),
    ]
    assert "777" not in run("facts", "mi210").out


def test_a_citation_opens_the_lines_of_the_file(run: Run, stored: Path, docs: Path) -> None:
    [fact] = run("facts", "mi210", "lds_size", "--json").json["facts"]

    shown = run("cite", fact["id"]).out

    line = int(fact["place"].rpartition(":")[2])
    text = (docs / "mi210" / "memory.md").read_text(encoding="utf-8").splitlines()[line - 1]
    assert f"> {line:>2} | {text}" in shown
    assert f"{docs / 'mi210' / 'memory.md'}:{line}" in shown


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda file: file.write_text("# Other\n", encoding="utf-8"), "has changed;"),
        (lambda file: file.unlink(), "no longer exists"),
    ],
)
def test_a_citation_reports_that_its_file_changed_or_is_gone(run: Run, stored: Path, docs: Path, change, said) -> None:
    citation = run("facts", "mi210", "lds_size", "--json").json["facts"][0]["id"]
    change(docs / "mi210" / "memory.md")

    outcome = run("cite", citation)

    assert outcome.status == 0
    assert said in outcome.out
    assert "| lds_size | 64 | KiB |" in outcome.out


def test_a_search_fits_a_screen_of_80_columns(run: Run, on_screen: Run, docs: Path) -> None:
    prose = "The local data share is a memory of each compute unit and every wavefront of a workgroup may use it. " * 5
    heading = "A very long heading about the local data share and its banks " * 4
    row = "| local data share | " + "bank " * 60 + "|"
    text = f"# {heading}\n\n{prose}\n\n## Table\n\n| what | {'how ' * 30}|\n|---|---|\n{row}\n\n- {prose}\n"
    (docs / "mi210" / "long.md").write_text(text, encoding="utf-8")
    run("ingest", docs)

    outcome = on_screen("search", "local data share bank workgroup", "--target", "mi210")

    lines = outcome.out.splitlines()
    # A citation is copied and opened, so it stays in one piece.
    assert [line for line in lines if len(line) > 80 and not re.match(r"   [0-9a-f]{12}  ", line)] == []
    assert sum(len(line) > 60 for line in lines) > 5


def test_a_dry_run_says_what_would_be_read_and_writes_nothing(run: Run, docs: Path, home: Path) -> None:
    outcome = run("ingest", docs, "--dry-run")

    assert outcome.status == 0
    assert "7 documents would be read" in outcome.out
    assert {t["documents"] for t in run("targets", "list", "--json").json["targets"]} == {0}
    assert not (home / "targets.toml").exists()


def test_a_row_is_shown_with_its_headers_and_never_with_its_bars(run: Run, home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    rows = "\n".join(f"| unit{n} | {n} |" for n in range(100))
    (folder / "t.md").write_text(f"# Units\n\n| Unit | Banks |\n|---|---|\n{rows}\n", encoding="utf-8")
    run("ingest", folder)

    table = run("search", "banks of unit2", "--target", "mi210").out
    fact = run("search", "lds_size", "--target", "mi300x").out

    assert "Unit | Banks\n" in table
    assert "unit2 | 2\n" in table
    assert "\n   lds_size = 64 KiB, per compute unit\n" in fact
    assert not [line for line in (table + fact).splitlines() if line.strip().startswith("|")]
