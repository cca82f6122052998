"""A chip without facts shows its worksheet; a reader's answers bring facts that hold once they are accepted."""

import json
import os
import re
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
    shown = run("facts", "zchip").out
    assert "no fact of zchip holds: 1 read, unconfirmed\n" in shown
    assert "`kb facts zchip --all` shows what was read" in shown
    assert " more" not in shown, "one count of the same"
    assert "0 facts hold, 1 were read and have to be confirmed" in outcome.out


def test_questions_come_with_passages_their_ids_and_the_form_of_an_answer(run: Run, manual: Path) -> None:
    outcome = run("facts", "ask", "zchip", "--topic", "memory")

    assert "Which memories can a kernel use" in outcome.out
    assert "Each cluster has 128 KiB of memory." in outcome.out
    assert "manual.md:" in outcome.out
    assert '"quote"' in outcome.out
    assert '"quote": the' in run("facts", "ask", "zchip").out
    assert "kb facts answer zchip FILE" in outcome.out


def test_a_file_of_answers_is_stored_and_each_refusal_has_its_reason(run: Run, manual: Path, tmp_path: Path) -> None:
    outcome = run("facts", "answer", "zchip", answers(tmp_path, SIZE, BANKS | {"value": "33"}))

    assert outcome.status == 1
    assert "refused: tcm_banks = 33: the quote does not hold the number 33" in outcome.out
    assert "quote the words that state the value" in outcome.out
    assert "1 fact stored, of which 0 hold; 1 answer refused" in outcome.out
    assert run("facts", "accept", "--all", "zchip").out.startswith("accepted: 1 fact of zchip\n  tcm_size = 128 KiB [")
    assert run("facts", "zchip", "tcm_size").status == 0


def test_a_question_about_which_a_fact_holds_says_so_and_is_asked_again_with_all(
    run: Run, manual: Path, tmp_path: Path
) -> None:
    size = SIZE | {"quantity": "scratchpad_size"}
    run("facts", "answer", "zchip", answers(tmp_path, size))
    run("facts", "accept", "--all", "zchip")

    shown = run("facts", "ask", "zchip").out
    assert re.search(r"  holds  scratchpad_size = 128 KiB \[\w+\]\n\(not asked; --all asks for more\)", shown)
    assert "not asked" not in run("facts", "ask", "zchip", "--all").out


def test_contradicting_answers_are_listed_with_both_places(run: Run, manual: Path, tmp_path: Path) -> None:
    outcome = run("facts", "answer", "zchip", answers(tmp_path, SIZE, HOST))

    assert "These values contradict each other:" in outcome.out
    assert outcome.out.count("manual.md:3") >= 2
    assert "2 facts stored, of which 0 hold" in outcome.out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["answer", "zchip", "nowhere.jsonl"], "cannot be read"),
        (["answer", "zchip", os.devnull], "is empty"),
        (["answer", "nochip", "answers.jsonl"], "unknown target 'nochip'"),
        (["ask", "zchip", "--topic", "colour"], "no topic 'colour'"),
        (["propose", "zchip", "--author", "none"], "nobody is here to ask"),
    ],
)
def test_a_command_that_cannot_work_gives_one_error_and_one_hint(
    run: Run,
    manual: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    arguments: list[str],
    said: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    run("facts", "answer", "zchip", answers(tmp_path, SIZE))

    assert said in run("facts", *arguments).refusal[0]


def test_a_broken_line_of_answers_stores_nothing(run: Run, manual: Path, tmp_path: Path) -> None:
    message, hint = run("facts", "answer", "zchip", answers(tmp_path, SIZE, '{"quantity": 1')).refusal

    assert "line 2" in message
    assert "nothing was stored" in hint
    assert run("facts", "zchip").status == 1


def test_several_answers_are_accepted_at_once_and_of_two_values_neither_holds_before_one_is_rejected(
    run: Run, manual: Path, tmp_path: Path
) -> None:
    stored = run("facts", "answer", "zchip", answers(tmp_path, SIZE, HOST, BANKS), "--json").json["stored"]
    size, host, banks = (fact["id"] for fact in stored)

    assert "does not hold" not in run("facts", "accept", size, banks).out
    assert "it does not hold yet: `kb facts conflicts zchip`" in run("facts", "accept", host).out
    assert [f["value"] for f in run("facts", "zchip", "--json").json["facts"]] == ["32"]
    run("facts", "reject", host)
    assert [f["value"] for f in run("facts", "zchip", "--json").json["facts"]] == ["32", "128"]


def test_of_a_chip_without_facts_the_sentences_with_amounts_are_shown(run: Run, tmp_path: Path) -> None:
    (tmp_path / "qzip").mkdir()
    (tmp_path / "qzip" / "a.md").write_text("# Qzip\n\nThe Qzip core has a vector unit with 96 lanes.\n")
    run("ingest", str(tmp_path / "qzip"))

    outcome = run("facts", "qzip")

    assert "not read as a fact: The Qzip core has a vector unit with 96 lanes." in " ".join(outcome.out.split())
    [passage] = run("facts", "qzip", "--json").json["unread"]
    assert "96 lanes" in run("cite", passage["id"]).out


def test_a_question_is_open_until_the_quantities_hold_that_a_bound_needs(run: Run, tmp_path: Path) -> None:
    header = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|\n"
    (tmp_path / "qzip").mkdir()
    (tmp_path / "qzip" / "a.md").write_text(
        f"# Qzip\n\n{header}| hbm_bandwidth | 12 | GB/s | | 1 |\n\nThe clock frequency is 2 GHz.\n"
    )
    run("ingest", str(tmp_path / "qzip"))

    asked = run("facts", "ask", "qzip", "--topic", "rates").out

    assert "  holds  hbm_bandwidth = 12 GB/s" in asked
    assert "  open: peak_flops\n" in asked
    assert "The clock frequency is 2 GHz." in asked


def test_a_folder_of_several_folders_may_be_one_chip(run: Run, tmp_path: Path) -> None:
    for name in ("qzip-sdk", "qzip-hw"):
        (tmp_path / "qzip" / name).mkdir(parents=True)
        (tmp_path / "qzip" / name / "a.md").write_text("# Qzip\n\nIt has 4 cores.\n")

    ingested = run("ingest", str(tmp_path / "qzip")).out
    _, hint = run("facts", "qzip").refusal

    assert "is qzip one chip? kb ingest" in ingested
    assert hint.startswith("its documents are about qzip-hw, qzip-sdk")
