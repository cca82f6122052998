"""A chip without facts shows its worksheet; a draft, a reader's answers, or one key each bring facts that hold."""

import json
import os
import pty
import re
import sys
from pathlib import Path

import pytest

from tests.cli.conftest import Run

MANUAL = """# Zchip manual

Each cluster has 128 KiB of memory. The host side has 64 KiB of memory. A cluster has 32 banks.
"""
SIZE = {"quantity": "tcm_size", "value": "128", "unit": "KiB", "quote": "has 128 KiB of memory"}
HOST = SIZE | {"value": "64", "quote": "host side has 64 KiB"}
BANKS = {"quantity": "tcm_banks", "value": "32", "unit": "", "quote": "has 32 banks"}


@pytest.fixture
def manual(run: Run, tmp_path: Path) -> Path:
    file = tmp_path / "zchip" / "manual.md"
    file.parent.mkdir()
    file.write_text(MANUAL, encoding="utf-8")
    assert run("ingest", file.parent).status == 0
    return file


def answers(tmp_path: Path, *given: object) -> Path:
    file = tmp_path / "answers.jsonl"
    file.write_text("\n".join(a if isinstance(a, str) else json.dumps(a) for a in given), encoding="utf-8")
    return file


def test_a_chip_without_facts_says_what_to_do_and_its_worksheet_what_is_open(run: Run, manual: Path) -> None:
    outcome = run("facts", "zchip")

    assert outcome.status == 1
    assert outcome.out.startswith("note: no document states facts of zchip\n")
    assert "`kb facts ask zchip`" in outcome.out
    assert "\n  open\n" in run("facts", "worksheet", "zchip").out


def test_facts_that_nobody_confirmed_are_shown_with_their_quotes(run: Run, manual: Path, tmp_path: Path) -> None:
    run("facts", "answer", "zchip", answers(tmp_path, SIZE))
    outcome = run("facts", "worksheet", "zchip")

    assert "read   tcm_size = 128 KiB" in outcome.out
    assert '"has 128 KiB of memory"' in outcome.out
    assert "1 more read, unconfirmed" in run("facts", "zchip").out
    assert "0 facts hold, 1 were read and have to be confirmed" in outcome.out


def test_questions_come_with_passages_their_ids_and_the_form_of_an_answer(run: Run, manual: Path) -> None:
    outcome = run("facts", "ask", "zchip", "--topic", "memory")

    assert "Which memories can a kernel use" in outcome.out
    assert "Each cluster has 128 KiB of memory." in outcome.out
    assert "manual.md:" in outcome.out
    assert '"quote": the' in outcome.out
    assert "kb facts answer zchip FILE" in outcome.out


def test_a_file_of_answers_is_stored_and_each_refusal_has_its_reason(run: Run, manual: Path, tmp_path: Path) -> None:
    outcome = run("facts", "answer", "zchip", answers(tmp_path, SIZE, BANKS | {"value": "33"}), "--trust-quotes")

    assert outcome.status == 1
    assert "refused: tcm_banks = 33: the quote does not hold the number 33" in outcome.out
    assert "quote the words that state the value" in outcome.out
    assert "1 facts stored, 1 of them hold, 1 answers refused" in outcome.out
    assert run("facts", "zchip", "tcm_size").status == 0


def test_a_question_about_which_a_fact_holds_says_so_and_is_asked_again_with_all(
    run: Run, manual: Path, tmp_path: Path
) -> None:
    size = SIZE | {"quantity": "scratchpad_size"}
    run("facts", "answer", "zchip", answers(tmp_path, size), "--trust-quotes")

    shown = run("facts", "ask", "zchip").out
    assert re.search(r"  holds  scratchpad_size = 128 KiB \[\w+\]\n\(not asked; --all asks for more\)", shown)
    assert "not asked" not in run("facts", "ask", "zchip", "--all").out


def test_contradicting_answers_are_listed_with_both_places(run: Run, manual: Path, tmp_path: Path) -> None:
    outcome = run("facts", "answer", "zchip", answers(tmp_path, SIZE, HOST), "--trust-quotes")

    assert "These values contradict each other:" in outcome.out
    assert outcome.out.count("manual.md:3") >= 2
    assert "2 facts stored, 0 of them hold" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["answer", "zchip"], "expected either a file of answers or --quantity"),
        (["answer", "zchip", "nowhere.jsonl"], "cannot be read"),
        (["answer", "zchip", os.devnull], "has no answers"),
        (["answer", "nochip", "--quantity", "a"], "unknown target 'nochip'"),
        (["ask", "zchip", "--topic", "colour"], "no topic 'colour'"),
        (["review", "zchip"], "no terminal to ask"),
        (["propose", "zchip"], "the settings name no model"),
    ],
)
def test_a_command_that_cannot_work_gives_one_error_and_one_hint(
    run: Run, manual: Path, tmp_path: Path, arguments: list[str], said: str
) -> None:
    run("facts", "answer", "zchip", answers(tmp_path, SIZE))

    assert said in run("facts", *arguments).refusal[0]


def test_a_broken_line_of_answers_stores_nothing(run: Run, manual: Path, tmp_path: Path) -> None:
    message, hint = run("facts", "answer", "zchip", answers(tmp_path, SIZE, '{"quantity": 1')).refusal

    assert "line 2" in message
    assert "nothing was stored" in hint
    assert run("facts", "zchip").status == 1


def test_an_edited_draft_makes_its_rows_hold_and_one_without_header_says_so(
    run: Run, manual: Path, tmp_path: Path
) -> None:
    run("facts", "answer", "zchip", answers(tmp_path, SIZE))
    draft = tmp_path / "draft.md"
    assert run("facts", "draft", "zchip", "--output", draft).status == 0
    assert run("facts", "draft", "zchip", "--output", draft).refusal[0].endswith("exists already")

    assert run("ingest", draft, "--target", "zchip").status == 0
    assert [f["value"] for f in run("facts", "zchip", "tcm_size", "--json").json["facts"]] == ["128"]

    lost = draft.read_text().replace("| quantity | value | unit | condition | source |", "| a | b | c | d | e |")
    draft.write_text(lost)
    assert "no facts were read: no table has the header" in run("ingest", draft, "--target", "zchip").out


def test_review_asks_for_each_fact_and_what_tells_two_accepted_values_apart(
    run: Run, manual: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run("facts", "answer", "zchip", answers(tmp_path, SIZE, HOST, BANKS))
    primary, secondary = pty.openpty()
    monkeypatch.setattr(sys, "stdin", os.fdopen(secondary, "r", closefd=False))
    keys = iter("raa")
    monkeypatch.setattr("click.getchar", lambda: next(keys))
    os.write(primary, b"host side\n")

    shown = run("facts", "review", "zchip")

    assert "KiB already" in shown.out
    held = run("facts", "zchip", "--json").json["facts"]
    assert {(f["quantity"], f["value"]) for f in held} == {("tcm_size", "128"), ("tcm_size", "64")}
    assert sorted(f["condition"] for f in held) == ["", "host side"]
