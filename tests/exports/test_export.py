"""What leaves kb as data: each attempt with its rewards, pairs where one is surely better, and nothing private."""

import json
from pathlib import Path
from typing import Any

import pytest

from kb.errors import RunError
from kb.exports.export import FORMS, export
from kb.exports.trajectories import without_passages
from kb.runs.journal import Run
from kb.types.evidence import Grade
from kb.types.kernels import Precision, Task
from kb.types.protocols import Stage
from kb.usecases.knowledge_base import KnowledgeBase
from kb.views.report import report
from synth.prompts.prompt import Prompt
from tests.runs.fakes import candidate
from tests.web.fakes import answer, ask, judge, propose, started, whole_run


def exported(
    kb: KnowledgeBase, run: Run, folder: Path, form: str = "trajectories", **more: Any
) -> dict[str, list[Any]]:
    """The records by the name of their table."""
    export(kb, [run], form, folder, **more)
    return {file.stem: [json.loads(line) for line in file.read_text().splitlines()] for file in folder.glob("*.jsonl")}


def test_each_attempt_has_its_prompt_answer_verdict_and_rewards(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    records = exported(kb, whole_run(home), tmp_path / "out")["attempts"]

    assert [(r["attempt"], r["parent"], r["stage"], r["outcome"]) for r in records] == [
        (1, 0, "draft", "passed"), (2, 1, "", "passed"), (3, 0, "rethink", "incorrect"), (4, 3, "fix", "passed"),
    ]  # fmt: skip
    assert [message["role"] for message in records[0]["messages"]] == ["system", "user"]
    assert (records[0]["answer"], records[0]["model"]) == ("An answer.", "maker/model-2026-10-01")
    assert records[1]["settings"] == [{"name": "UNROLL", "value": "4"}, {"name": "BLOCK", "value": "64"}]
    assert records[1]["rewards"] == {"rules": 1, "builds": 1, "correct": 1, "won": 1, "speedup": pytest.approx(2.5)}
    assert records[2]["rewards"] == {"rules": 1, "builds": 1, "correct": 0, "won": 0, "speedup": None}


def test_a_pair_has_an_attempt_that_is_surely_better_and_why(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    pairs = exported(kb, whole_run(home), tmp_path / "out")["preferences"]

    assert [(p["chosen_id"][-3:], p["rejected_id"][-3:], p["why"]) for p in pairs] == [
        ("002", "001", "1.25 times as fast"),
        ("002", "003", "one passes, the other is refused: incorrect"),
        ("004", "003", "one passes, the other is refused: incorrect"),
        ("002", "004", "1.67 times as fast"),
    ]
    assert pairs[0]["prompt"] == [
        {"role": "system", "content": "The rules."},
        {"role": "user", "content": "The task."},
    ]


def test_a_trace_leads_from_the_first_draft_to_the_best(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    (trace,) = exported(kb, whole_run(home), tmp_path / "out")["traces"]

    assert trace["attempts"] == [1, 2]
    assert [m["role"] for m in trace["messages"]] == ["system", "user", "assistant", "user", "assistant"]
    assert "UNROLL = 4" in trace["messages"][-1]["content"]


def test_what_is_best_in_a_run_is_best_in_its_exports_and_its_report(
    kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    run = started(home)
    for cycles in (200, 100, 300):
        ask(run, skills=("some-skill",))
        answer(run)
        kernel = propose(run, f"// {cycles}\n", stage=Stage.DRAFT, skills_used=("some-skill",))
        judge(run, kernel, timing=None, grade=Grade.SIMULATED, cycles=cycles)

    (trace,) = exported(kb, run, tmp_path / "out")["traces"]

    assert run.best
    assert "// 100" in run.best.candidate.source
    assert trace["attempts"] == [2]
    assert [skill.best[:2] for skill in report(kb, run).skills] == ["2:"]


def test_a_failure_has_its_cause_its_case_and_what_mended_it(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    (failure,) = exported(kb, whole_run(home), tmp_path / "out", "failures")["failures"]

    assert (failure["outcome"], failure["case"], failure["log"]) == ("incorrect", "ROWS=3", "nan nan")
    assert (failure["mended_by"], failure["mended"]) == (4, "// columns, mended\n")


@pytest.mark.parametrize("changed", ["", "# another\n"])
def test_a_task_that_is_held_out_is_marked_by_its_source(
    changed: str, kb: KnowledgeBase, home: Path, tmp_path: Path
) -> None:
    source = "class Model: ...\ndef get_inputs(): ...\ndef get_init_inputs(): ...\n"
    tasks = tmp_path / "tasks"
    tasks.mkdir()
    (tasks / "t.py").write_text(source)
    (tasks / "helper.py").write_text("")
    run = started(home, task=Task(name="t", source=source + changed, precision=Precision.IEEE))
    judge(run, propose(run, candidate()))

    (record,) = exported(kb, run, tmp_path / "out", held_out=[tasks])["attempts"]

    assert record["held_out"] is (not changed)


def prompt_of(rest: str) -> Prompt:
    return Prompt(
        rules="", stable="", rest=rest, stage=Stage.DRAFT, skills=(), cited=(), items=(), left_out=(),
    )  # fmt: skip


def test_words_of_documents_become_their_citation_and_a_digest_and_facts_stay() -> None:
    rest = (
        "## The hardware\n\n### How large?\n\n````text\nlds size = 64 KiB [1:5]\n- Words of a vendor. [1:7-9]\n"
        "- An example [1:11]\n```c\ncode();\n```\n````\n\n## Answer\n\n```text\n- as it was\n```"
    )

    shown = without_passages(prompt_of(rest))

    assert "lds size = 64 KiB [1:5]" in shown
    assert "[1:7-9] [1:11]" in shown
    assert "SHA-256" in shown
    assert "vendor" not in shown
    assert "code()" not in shown
    assert shown.endswith("## Answer\n\n```text\n- as it was\n```")


@pytest.mark.parametrize("with_passages", [False, True])
def test_passages_are_citations_unless_their_text_is_wanted(
    with_passages: bool, home: Path, kb: KnowledgeBase, manuals: Path, tmp_path: Path
) -> None:
    kb.ingest([manuals])
    (hit, *_) = kb.search("local data share", target="mi300x").hits
    run = started(home)
    ask(run, cited=(hit.passage.citation.id,))
    answer(run)
    judge(run, propose(run, candidate(), author="a", stage=Stage.DRAFT))

    (record,) = exported(kb, run, tmp_path / "out", with_passages=with_passages)["attempts"]
    (passage,) = record["passages"]

    assert passage["id"] == hit.passage.citation.id
    assert len(passage["sha256"]) == 64
    assert ("64 KB of local data share" in passage["text"]) is with_passages


@pytest.mark.parametrize("form", ["trajectories", "failures"])
def test_nothing_that_comes_from_a_private_document_is_exported(
    form: str, home: Path, kb: KnowledgeBase, manuals: Path, tmp_path: Path
) -> None:
    kb.ingest([manuals], private=True)
    (hit, *_) = kb.search("local data share", target="mi300x").hits
    id_, run = hit.passage.citation.id, started(home)
    secret = "Each compute unit has 64 KB of local data share (LDS)."
    ask(run, said=f"- {secret} [1:5]", cited=(id_,))
    answer(run, f"note: {secret}")
    judge(run, propose(run, "int a;\n", author="a", stage=Stage.DRAFT))  # its prompt is private
    judge(run, propose(run, "int b;\n", author="a", parent=1), speedup=None)  # made of the one before
    for said, source, log in (
        (secret, "int c;\n", ""),
        ("open", f"int d;\n//  {secret}\n", ""),
        ("open", "int e;\n", secret),
        ("open", f"int f;  // of {id_}\n", ""),
        ("open\n```cpp\nint a;\n```\n", "int g;\n", ""),
    ):
        ask(run, said=said)
        answer(run)
        judge(run, propose(run, source, author="a", stage=Stage.RETHINK), speedup=None, log=log)
    ask(run, said="open")
    answer(run)
    judge(run, propose(run, "int open;\n", author="a", stage=Stage.RETHINK), speedup=None)

    done = export(kb, [run], form, tmp_path / "out", with_passages=True)

    written = "".join(file.read_text() for file in (tmp_path / "out").iterdir())
    assert done.held_back == 7
    assert "int open;" in written
    assert not [n for n in "abcdefg" if f"int {n};" in written]
    for planted in ("64 KB", "memory.md", id_):
        assert planted not in written


def test_an_attempt_whose_document_is_gone_is_held_back(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    run = started(home)
    ask(run, cited=("0123456789ab",))
    answer(run)
    judge(run, propose(run, candidate(), author="a", stage=Stage.DRAFT))

    assert export(kb, [run], "trajectories", tmp_path / "out").held_back == 1


def test_the_manifest_counts_what_was_written(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    run = whole_run(home)
    done = export(kb, [run, run], "trajectories", tmp_path / "out")

    assert {name: count for name, count in done.files.items() if name.endswith("jsonl")} == {
        "attempts.jsonl": 4, "preferences.jsonl": 4, "traces.jsonl": 1, "results.jsonl": 1,
    }  # fmt: skip
    manifest = json.loads((tmp_path / "out" / "export.json").read_text())
    assert (manifest["runs"], manifest["files"], manifest["held_back"]) == ([run.id], done.files, 0)


def test_an_unknown_form_or_a_folder_in_use_is_refused(kb: KnowledgeBase, home: Path, tmp_path: Path) -> None:
    (tmp_path / "used").mkdir()
    (tmp_path / "used" / "file").write_text("")

    with pytest.raises(RunError, match="kb exports no csv"):
        export(kb, [], "csv", tmp_path / "out")
    for form in FORMS:
        with pytest.raises(RunError, match="not an empty folder"):
            export(kb, [], form, tmp_path / "used")
