"""Benchmarks of search: the alternatives, exact names, and the weight that is fitted to other targets."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.exact_names import ask_for_names
from benchmarks.fusion_weight import WEIGHTS, cross_validated, fit
from benchmarks.ranking_weights import Example, examples
from benchmarks.ranking_weights import fit as fit_ranking
from benchmarks.retrieval_baselines import alternatives, measured, reciprocal_rank_fusion
from kb.usecases.knowledge_base import KnowledgeBase
from retrieval.rerank import Features
from tests.bench.two_chips import ASKED, ingest_two_chips


@pytest.fixture
def two_chips(kb: KnowledgeBase, tmp_path: Path) -> KnowledgeBase:
    ingest_two_chips(kb, tmp_path / "docs")
    return kb


def test_rank_fusion_uses_only_ranks() -> None:
    fused = reciprocal_rank_fusion([({1: 100.0, 2: 1.0}, {2: 0.9, 3: 0.1})])

    assert [f.chunk for f in fused] == [2, 1, 3]


def test_each_alternative_is_scored_on_the_same_questions(two_chips: KnowledgeBase) -> None:
    found = measured(two_chips, alternatives(two_chips), ASKED, phrasings=False)

    assert list(found) == ["BM25 only", "BM25, 1000/200 windows", "dense only", "reciprocal rank fusion"]
    for name, system in found.items():
        assert system["scores"]["wrong target"] == 0, name
        assert system["scores"]["within 8000"] == pytest.approx(2 / 3, abs=1e-4), name
        assert system["scores"]["abstained"] == (1 if name.startswith("BM25") else 0), name


def test_sheets_that_ship_with_kb_are_no_answers_of_an_alternative(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mi300x"
    folder.mkdir()
    (folder / "a.md").write_text("# LDS\n\nThe local data share is fast.\n", encoding="utf-8")
    kb.ingest([folder])

    for name, search in alternatives(kb).items():
        response = search(["local data share size"], "mi300x")
        assert {path for hit in response.hits for path in hit.paths} == {"mi300x/a.md"}, name


def test_a_weight_is_scored_on_targets_to_which_it_was_not_fitted() -> None:
    rows = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.2, 0.4]]

    assert sum(cross_validated(rows, ["a", "a", "b", "b"])) == pytest.approx(0.2)
    assert sum(cross_validated(rows[:2], ["a", "b"])) == 2


def test_the_fitted_weight_is_the_best_over_all_questions(two_chips: KnowledgeBase) -> None:
    fitted = fit(two_chips, ASKED, phrasings=True)

    assert set(fitted["by_weight"]) == set(WEIGHTS)
    assert fitted["by_weight"][fitted["lexical_weight"]] == max(fitted["by_weight"].values())


def test_names_of_headings_and_names_that_one_passage_has_are_searched_for(kb: KnowledgeBase, tmp_path: Path) -> None:
    folder = tmp_path / "mi210"
    folder.mkdir()
    text = "\n\n".join(f"## v_op_{n}\n\nv_op_{n} sets flag_{n}_x and reads common_name." for n in range(12))
    (folder / "isa.md").write_text(f"# Instructions\n\n{text}\n", encoding="utf-8")
    kb.ingest([folder])

    found = ask_for_names(kb)

    assert (found["headings"], found["headings_first"]) == (12, 12)
    assert 0 < found["lone"] == found["lone_first"]
    assert ask_for_names(kb) == found


def test_weights_are_fitted_so_that_the_passages_that_answer_come_first() -> None:
    random = np.random.default_rng(0)
    found = []
    for _ in range(40):
        features = random.normal(size=(5, len(Features._fields)))
        answers = np.arange(5) == int(features[:, Features._fields.index("said")].argmax())
        found.append(Example("a", 1.0, features, answers))

    weights = fit_ranking(found)

    assert max(weights._asdict(), key=lambda name: abs(weights._asdict()[name])) == "said"
    assert weights.said > 0


def test_an_example_has_the_candidates_of_one_phrasing_and_says_which_answer(two_chips: KnowledgeBase) -> None:
    asked = next(question for question in ASKED if question.evidence)

    found = examples(two_chips, asked)

    assert len(found) == 1 + len(asked.phrasings)
    assert all(one.answers.any() and one.features.shape == (len(one.answers), len(Features._fields)) for one in found)
