"""`kb bench retrieval`: the definition of an answer, the scores, and the report on a small home."""

import math
from pathlib import Path
from typing import Any

import pytest

from kb.bench.questions import load_questions
from kb.bench.retrieval import measure
from kb.bench.scores import BUDGETS, Answered, intervals, scores
from kb.errors import SourceError, TargetError
from kb.usecases.knowledge_base import KnowledgeBase
from tests.bench.two_chips import ASKED, LDS, ingest_two_chips, question, quiet


@pytest.fixture
def measured(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    ingest_two_chips(kb, tmp_path / "docs")
    return kb


def answered(**fields: Any) -> Answered:
    usual: dict[str, Any] = {
        "id": "q",
        "kind": "fact",
        "target": "mi210",
        "answerable": True,
        "refused": False,
        "rank": 1,
        "within": (True,) * len(BUDGETS),
        "wrong": 0.0,
        "confused": None,
        "invalid": 0,
        "seconds": 0.1,
    }
    return Answered(**usual | fields)


@pytest.mark.parametrize(
    ("text", "paths", "answers"),
    [
        ("64 KB of LDS", ["mi210/memory.md"], True),
        ("**64  KB** of\nlocal data share", ["other.md", "mi210/memory.md"], True),
        ("| 64 KB | :ref:`LDS <lds>` |", ["mi210/memory.md"], True),
        ("64&nbsp;KB of <b>LDS</b>", ["mi210/memory.md"], True),
        ("64 KB of LDS", ["mi250/memory.md"], False),
        ("64 KB of cache", ["mi210/memory.md"], False),
        ("164 MB of LDS", ["mi210/memory.md"], False),
    ],
)
def test_a_passage_answers_if_it_is_in_the_right_document_and_contains_every_required_string(
    text: str, paths: list[str], answers: bool
) -> None:
    assert question().is_answered_by(text, paths) is answers


@pytest.mark.parametrize(
    ("text", "reject", "confused"),
    [("96 KB of LDS", ["96 KB"], True), ("96 KB or 64 KB of LDS", ["96 KB"], False), ("96 KB of LDS", [], False)],
)
def test_a_sibling_s_value_without_the_right_one_confuses(text: str, reject: list[str], confused: bool) -> None:
    assert question(reject=reject).is_confused_by(text, ["mi210/memory.md"]) is confused


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        (["{"], ":1 is not a question"),
        (['{"id": "a"}'], "query"),
        ([], "no questions"),
        ([question().model_dump_json()] * 2, "same id"),
    ],
)
def test_a_malformed_file_of_questions_is_refused(tmp_path: Path, lines: list[str], said: str) -> None:
    (tmp_path / "q.jsonl").write_text("\n".join(lines), encoding="utf-8")

    with pytest.raises(SourceError, match=said):
        load_questions(tmp_path / "q.jsonl")


def test_a_missing_file_of_questions_is_refused(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="cannot be read"):
        load_questions(tmp_path / "none.jsonl")


def test_scores_are_means_over_the_answerable_questions() -> None:
    found = scores(
        [
            answered(rank=1),
            answered(rank=4, within=(False, True, True, True), wrong=0.4, confused=True),
            answered(rank=None, within=(False,) * 4, refused=True, confused=False, invalid=1),
            answered(answerable=False, rank=None, refused=True),
        ]
    )

    assert found["hit@1"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["hit@5"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["MRR@10"] == pytest.approx((1 + 1 / 4) / 3, abs=1e-4)
    assert found["nDCG@10"] == pytest.approx((1 + 1 / math.log2(5)) / 3, abs=1e-4)
    assert [found[f"within {b}"] for b in BUDGETS] == pytest.approx([1 / 3, 2 / 3, 2 / 3, 2 / 3], abs=1e-4)
    assert found["wrong target"] == pytest.approx(0.4 / 3, abs=1e-4)
    assert (found["confused"], found["citations valid"]) == (0.5, 0.75)
    assert (found["refused"], found["abstained"]) == (pytest.approx(1 / 3, abs=1e-4), 1.0)


def test_a_score_over_no_questions_is_left_out() -> None:
    assert "abstained" not in scores([answered()])
    assert "confused" not in scores([answered()])
    assert intervals([answered(answerable=False)]) == {}


def test_an_interval_contains_its_mean_and_is_reproducible() -> None:
    some = [answered(rank=rank) for rank in (1, 1, 2, None, 7, 3, 1, None)]

    low, high = intervals(some)["MRR@10"]

    assert low < scores(some)["MRR@10"] < high
    assert intervals(some) == intervals(some)


@pytest.mark.parametrize("phrasings", [False, True])
def test_the_report_on_a_home_has_the_right_scores(measured: KnowledgeBase, phrasings: bool) -> None:
    report, run = measure(measured, ASKED, phrasings=phrasings, progress=quiet)

    assert (report.questions, report.ceiling, report.unreachable) == (
        4,
        pytest.approx(2 / 3, abs=1e-4),
        ("unreachable",),
    )
    assert report.scores["hit@5"] == pytest.approx(2 / 3, abs=1e-4)
    assert report.scores["wrong target"] == report.scores["confused"] == report.scores["refused"] == 0
    assert report.scores["citations valid"] == report.scores["abstained"] == 1
    missed = ("unreachable", "no single stored passage answers it", None)
    assert [(m.id, m.cause, m.hit) for m in report.missed] == [missed]
    assert report.groups["target mi210"]["questions"] == 3
    assert run.keys() == {q.id for q in ASKED}


def test_sheets_that_ship_with_kb_are_not_measured(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mi300x"
    folder.mkdir()
    (folder / "a.md").write_text("# LDS\n\nThe local data share is fast.\n", encoding="utf-8")
    kb.ingest([folder])

    asked = [question(target="mi300x", query="local data share size", evidence=[LDS])]
    _, run = measure(kb, asked, phrasings=False, progress=quiet)

    assert {path for unit in run["q"].hits for path in unit.paths} == {"mi300x/a.md"}


def test_a_question_for_an_unknown_target_is_an_error(measured: KnowledgeBase) -> None:
    with pytest.raises(TargetError):
        measure(measured, [question(target="mi9999")], phrasings=False, progress=quiet)
