"""`kb bench retrieval`: the definition of an answer, the scores, and the report on a small home."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from kb.bench.names import ask_for_names
from kb.bench.questions import Question, load_questions
from kb.bench.retrieval import export_run, measure
from kb.bench.scores import BUDGETS, Answered, intervals, scores
from kb.bench.systems import other_systems, reciprocal_rank_fusion
from kb.bench.tuning import fit
from kb.errors import SourceError, TargetError
from kb.usecases.knowledge_base import KnowledgeBase

LDS = {"path": "mi210/memory.md", "must": ["64 KB", "LDS|local data share"]}


def question(**fields: Any) -> Question:
    return Question.model_validate({"id": "q", "query": "LDS size", "target": "mi210", "evidence": [LDS]} | fields)


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


def test_rank_fusion_uses_only_ranks() -> None:
    fused = reciprocal_rank_fusion([({1: 100.0, 2: 1.0}, {2: 0.9, 3: 0.1})])

    assert [f.chunk for f in fused] == [2, 1, 3]


@pytest.fixture
def measured(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    for target, size in (("mi210", "64 KB"), ("mi250", "96 KB")):
        folder = tmp_path / "docs" / target
        folder.mkdir(parents=True)
        text = f"# Memory\n\n## Local data share\n\nEach compute unit has {size} of local data share (LDS).\n"
        filler = "\n".join(f"## Counter {n}\n\nCounts event {n} of the cache.\n" for n in range(30))
        (folder / "memory.md").write_text(text + filler, encoding="utf-8")
        kb.ingest([folder])
    return kb


ASKED = [
    question(id="own", reject=["96 KB"], phrasings=["local data share per compute unit"]),
    question(id="all", target=None, query="LDS of 64 KB"),
    question(id="unreachable", query="events of the cache", evidence=[LDS | {"must": ["not there"]}]),
    question(id="unknown", query="throughput of TDPBSSD", evidence=[]),
]


def quiet(done: int, total: int) -> None:
    pass


@pytest.mark.parametrize("phrasings", [False, True])
def test_the_report_on_a_home_has_the_right_scores(measured: KnowledgeBase, phrasings: bool) -> None:
    report, run = measure(measured, ASKED, phrasings=phrasings, baselines=True, progress=quiet)

    ours, *others = report.systems
    assert (report.questions, report.ceiling, report.unreachable) == (
        4,
        pytest.approx(2 / 3, abs=1e-4),
        ("unreachable",),
    )
    assert ours.scores["hit@5"] == pytest.approx(2 / 3, abs=1e-4)
    assert ours.scores["wrong target"] == ours.scores["confused"] == ours.scores["refused"] == 0
    assert ours.scores["citations valid"] == ours.scores["abstained"] == 1
    missed = ("unreachable", "no single stored passage answers it", None)
    assert [(m.id, m.cause, m.hit) for m in report.missed] == [missed]
    assert ours.groups["target mi210"]["questions"] == 3
    assert [m.system for m in others] == list(other_systems(measured))
    assert all(m.scores["abstained"] == 0 or m.system.startswith("BM25") for m in others)
    assert run.keys() == {q.id for q in ASKED}


def test_sheets_that_ship_with_kb_are_not_measured(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mi300x"
    folder.mkdir()
    (folder / "a.md").write_text("# LDS\n\nThe local data share is fast.\n", encoding="utf-8")
    kb.ingest([folder])

    asked = [question(target="mi300x", query="local data share size", evidence=[LDS])]
    _, run = measure(kb, asked, phrasings=False, baselines=True, progress=quiet)

    assert {path for unit in run["q"].hits for path in unit.paths} == {"mi300x/a.md"}


def test_an_export_contains_hits_and_context_with_their_paths(measured: KnowledgeBase, tmp_path: Path) -> None:
    _, run = measure(measured, ASKED, phrasings=False, baselines=False, progress=quiet)
    export_run(tmp_path / "run.jsonl", run)

    rows = {row["id"]: row for row in map(json.loads, (tmp_path / "run.jsonl").read_text().splitlines())}
    assert rows["unknown"] == {"id": "unknown", "hits": [], "context": []}
    assert rows["own"]["hits"][0]["paths"] == ["mi210/memory.md"]
    assert "64 KB" in rows["own"]["hits"][0]["text"]
    assert rows["own"]["context"]


def test_a_weight_is_fitted_and_scored_on_held_out_questions(measured: KnowledgeBase) -> None:
    tuning = fit(measured, ASKED, phrasings=True, progress=quiet)

    assert tuning.by_weight[tuning.lexical_weight] == max(tuning.by_weight.values())
    assert 0 <= tuning.cross_validated <= 1


def test_a_question_for_an_unknown_target_is_an_error(measured: KnowledgeBase) -> None:
    with pytest.raises(TargetError):
        measure(measured, [question(target="mi9999")], phrasings=False, baselines=False, progress=quiet)


def test_names_of_headings_and_names_that_one_passage_has_are_searched_for(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    text = "\n\n".join(f"## v_op_{n}\n\nv_op_{n} sets flag_{n}_x and reads common_name." for n in range(12))
    (folder / "isa.md").write_text(f"# Instructions\n\n{text}\n", encoding="utf-8")
    kb.ingest([folder])

    found = ask_for_names(kb)

    assert (found.headings, found.headings_first) == (12, 12)
    assert 0 < found.lone == found.lone_first
    assert ask_for_names(kb) == found
