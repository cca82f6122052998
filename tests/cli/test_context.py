"""`kb context`: the lines that answer below their citations, and whole passages on request."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

QUESTION = ("context", "local data share of a compute unit", "--target", "mi210")


def test_the_lines_that_answer_stand_below_their_citation_and_nothing_else_is_shown(run: Run, stored: Path) -> None:
    shown = run(*QUESTION).out.splitlines()

    first = shown[0].removeprefix("[").split()[0]
    assert "64" in shown[1]
    assert "64" in run("cite", first).out
    assert shown[-1].endswith("--page 2 shows what is left)")


def test_the_next_pages_have_other_lines_until_nothing_is_left(run: Run, stored: Path) -> None:
    lines: list[str] = []
    for page in range(1, 9):
        found = run(*QUESTION, "--page", f"{page}", "--json").json
        if not found["text"]:
            break
        lines += [line for line in found["text"].splitlines() if line and not line.startswith("[")]

    assert len(lines) == len(set(lines)) > 2
    assert found["notes"] == ["the pages before have all that answers"]


@pytest.mark.parametrize("more", [("--whole",), ("--budget", "500")], ids=" ".join)
def test_whole_passages_are_given_on_request(run: Run, stored: Path, more: tuple[str, ...]) -> None:
    whole, lines = run(*QUESTION, *more, "--json").json, run(*QUESTION, "--json").json

    assert whole["text"].startswith("# ")
    assert lines["text"].startswith("[")
    assert len(lines["text"]) <= len(whole["text"])
