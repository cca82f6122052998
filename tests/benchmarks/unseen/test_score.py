"""Rules for the scores of an unseen chip."""

import pytest

from benchmarks.unseen import score
from kb.bench.answers import RankedText, Response
from kb.bench.questions import GoldPassage, Question

QUESTION = Question(id="q", query="capacity?", evidence=(GoldPassage(path="chip/a.md", must=("capacity", "12 words")),))
TRAPS = {"draft": [{"path": "chip/draft.md", "must": ["capacity", "10 words"]}]}
ANSWER = RankedText("The capacity is 12 words.", ("chip/a.md",), "chip")
BAIT = RankedText("The capacity is 10 words.", ("chip/draft.md",), "chip")
OTHER = RankedText("The package has 12 words.", ("chip/b.md",), "chip")


@pytest.mark.parametrize(
    ("hits", "met"),
    [
        ([BAIT], ["draft"]),
        ([OTHER, BAIT, ANSWER], ["draft"]),
        ([ANSWER, BAIT], []),
        ([OTHER] * score.FIRST + [BAIT], []),
        ([], []),
    ],
)
def test_a_trap_is_met_if_it_is_among_the_first_hits_before_an_answer(hits, met):
    assert score.traps_met(QUESTION, TRAPS, Response(hits, [])) == met


def test_the_interval_of_equal_values_is_their_value_and_others_hold_the_mean():
    assert score.interval([0.5, 0.5, 0.5]) == (0.5, 0.5)
    low, high = score.interval([0.0, 0.25, 0.5, 1.0])
    assert 0 <= low < 0.4375 < high <= 1


def test_scores_of_seeds_are_averaged_and_their_misses_kept():
    result = score.over([1, 3], lambda seed: score.Scored({"hit": seed / 4}, [{"id": seed}]))
    assert result["scores"]["hit"]["mean"] == 0.5
    assert result["misses"] == {1: [{"id": 1}], 3: [{"id": 3}]}


@pytest.mark.slow
def test_a_seed_is_scored_from_its_documents():
    pytest.importorskip("reportlab")
    read = score.facts(1).scores
    assert read["careful reader: held"] > 0.9
    assert read["reader of the sibling: misleading refused"] > 0.9
    assert read["hasty reader: held"] < read["careful reader: held"]
    answered = score.retrieval(1).scores
    assert answered["reachable"] == 1
    assert answered["hit@5"] > 0.5
