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
    assert shown[-1].endswith("--whole shows whole passages)") or "less relevant: " in shown[-1]


@pytest.mark.parametrize("more", [("--whole",), ("--budget", "500")], ids=" ".join)
def test_whole_passages_are_given_on_request(run: Run, stored: Path, more: tuple[str, ...]) -> None:
    whole, lines = run(*QUESTION, *more, "--json").json, run(*QUESTION, "--json").json

    assert whole["text"].startswith("# ")
    assert lines["text"].startswith("[")
    assert lines["tokens"] <= whole["tokens"]
