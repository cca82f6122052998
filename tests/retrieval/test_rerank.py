"""The first candidates are ranked again by what their texts say of the question."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.passages import Citation, Passage
from retrieval.fusion import Fused
from retrieval.rerank import BY_FUSION, RERANKED, Ranked, rerank

QUESTION = "banks of the scratchpad per workgroup"


def passage(text: str, *, kind: str = "text", title: str = "Guide", path: str = "mychip/a.md") -> Passage:
    citation = Citation(id="k", path=path, sha256="0" * 64, section=(), line_start=3, line_end=4)
    return Passage(citation=citation, target="mychip", title=title, kind=kind, lead="", text=text)


def candidates(*passages: Passage, scores: list[float] | None = None) -> list[Ranked]:
    """By default all with the same scores and ranks."""
    scores = scores or [0.0] * len(passages)
    return [(Fused(i, s, None, 0.5, 1), p) for i, (s, p) in enumerate(zip(scores, passages, strict=True))]


def order(ranked: list[Ranked]) -> list[int]:
    return [fused.chunk for fused, _ in ranked]


@pytest.mark.parametrize(
    ("worse", "better"),
    [
        (passage("The scratchpad is fast."), passage("The scratchpad is fast and has banks.")),
        (passage("It has banks."), passage("It has banks.", title="The scratchpad")),
        (passage("It has banks."), passage("It has banks.", path="mychip/scratchpad.md")),
        (passage("The scratchpad is fast.\nIt has banks."), passage("The scratchpad has banks.\nIt is fast.")),
        (passage("The scratchpad has banks. It is fast."), passage("The scratchpad has 32 banks. It is fast.")),
        (passage("scratchpad banks", kind="code"), passage("scratchpad banks")),
    ],
    ids=["more words", "in the headings", "in the path", "in one line", "with a number", "no listing"],
)
def test_of_two_equal_candidates_the_one_that_says_more_is_first(worse: Passage, better: Passage) -> None:
    assert order(rerank(candidates(worse, better), [QUESTION])) == [1, 0]
    assert order(rerank(candidates(better, worse), [QUESTION])) == [0, 1]


def test_a_word_counts_with_another_ending_and_an_identifier_with_other_separators() -> None:
    plain, ending, joined = passage("Nothing."), passage("A barriered load."), passage("The MI 300-X.")

    assert order(rerank(candidates(plain, ending), ["which barriers are slow?"])) == [1, 0]
    assert order(rerank(candidates(plain, joined), ["peak of the MI300X"])) == [1, 0]


def test_a_word_that_few_candidates_have_weighs_more() -> None:
    rare, usual = passage("The banks."), passage("The scratchpad.")

    found = rerank(candidates(usual, rare, usual, usual), ["scratchpad banks"])

    assert order(found)[0] == 1


def test_what_is_equal_keeps_the_order_of_the_better_score_and_cosine() -> None:
    same = passage("The scratchpad has banks.")

    assert order(rerank(candidates(same, same, scores=[0.5, 1.0]), [QUESTION])) == [1, 0]
    near, far = Fused(0, 0.0, None, 0.6, 1), Fused(1, 0.0, None, 0.4, 1)
    assert order(rerank([(far, same), (near, same)], [QUESTION])) == [0, 1]


def test_a_passage_without_a_vector_counts_as_the_farthest() -> None:
    same = passage("The scratchpad has banks.")
    unknown, farthest = Fused(0, 0.0, None, None, 1), Fused(1, 0.0, None, 0.4, 1)

    first, second = rerank([(farthest, same), (unknown, same)], [QUESTION])

    assert first[0].score == second[0].score


def test_a_question_that_is_only_a_name_keeps_the_order() -> None:
    found = candidates(passage("Another."), passage("The ds_read_b128 reads 16 bytes."))

    assert rerank(found, ["ds_read_b128"]) == found
    assert order(rerank(found, ["ds_read_b128", "bytes that ds_read_b128 reads"])) == [1, 0]


@given(
    st.lists(st.sampled_from(["banks", "scratchpad", "of 32", "load."]), min_size=RERANKED + 2, max_size=RERANKED + 9)
)
def test_all_candidates_stay_and_the_later_ones_keep_their_order_behind_the_others(texts: list[str]) -> None:
    found = candidates(*map(passage, texts), scores=[-float(i) for i in range(len(texts))])

    ranked = rerank(found, [QUESTION])

    assert sorted(order(ranked)) == list(range(len(texts)))
    assert order(ranked)[RERANKED:] == list(range(RERANKED, len(texts)))
    scores = [fused.score for fused, _ in ranked]
    assert scores == sorted(scores, reverse=True)
    assert order(rerank(found, [QUESTION], weights=BY_FUSION)) == order(found)


def test_no_candidates_give_no_hits() -> None:
    assert rerank([], [QUESTION]) == []
