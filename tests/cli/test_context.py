"""`kb context`: the lines that answer below their citations, and whole passages on request."""

from pathlib import Path

import pytest

from tests.cli.conftest import Run

QUESTION = ("context", "local data share of a compute unit", "--target", "mi210")


def test_the_lines_that_answer_stand_below_their_citation_and_nothing_else_is_shown(run: Run, stored: Path) -> None:
    shown = run(*QUESTION).out.splitlines()

    first = shown[0].removeprefix("[").split("]")[0]
    assert "64" in shown[1]
    assert "64" in run("cite", first).out
    assert shown[-1] == "(more: --page 2)"


def test_a_citation_is_a_path_with_lines_on_request(run: Run, stored: Path) -> None:
    place, id_ = (run(*QUESTION, *more).out.removeprefix("[").split("]")[0] for more in [("--paths",), ()])

    assert place.startswith("mi210/")
    assert run("cite", place).out == run("cite", id_).out


@pytest.mark.parametrize("asked", ["mi210", "MI210", "gfx90a"])
def test_a_citation_names_the_target_unless_it_is_the_one_asked_for(run: Run, stored: Path, asked: str) -> None:
    cited = run(*QUESTION[:2], "--target", asked).out.split("]")[0]

    assert cited.endswith(" mi210") is (asked == "gfx90a")


def test_notes_stand_on_the_first_page_alone(run: Run, stored: Path) -> None:
    asked = (*QUESTION, "--also", "local data share of zebra_size")

    first, second = (run(*asked, "--page", page, "--json").json["notes"] for page in "12")

    assert "zebra_size" in first[0]
    assert "zebra_size" not in "".join(second)


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


def test_what_does_not_fit_is_named_and_is_no_missing_answer(run: Run, stored: Path) -> None:
    assert "did not fit" in run(*QUESTION, "--budget", "5").out
