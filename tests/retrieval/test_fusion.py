"""Fusion ranks all candidates once, and the order of the phrasings does not matter."""

from math import isfinite

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.fusion import CANDIDATES, Scores, fuse

DENSE = st.dictionaries(st.integers(1, 30), st.integers(-640, 640).map(lambda n: n / 64), max_size=12)
BM25 = st.dictionaries(st.integers(1, 30), st.integers(1, 640).map(lambda n: n / 64), max_size=12)
PAIRS = st.lists(st.tuples(BM25, DENSE), min_size=1, max_size=4)
WEIGHT = st.floats(0, 1)


def ranked(scores: Scores) -> list[int]:
    return sorted(scores, key=lambda chunk: (-scores[chunk], chunk))


def lexical_of(scores: Scores, chunk: int) -> float:
    """A short lexical list has every chunk that shares a word with the question."""
    return scores.get(chunk, 0.0)


def dense_of(scores: Scores, chunk: int) -> float:
    return scores.get(chunk, min(scores.values(), default=0.0))


@given(PAIRS, WEIGHT, st.randoms(use_true_random=False))
def test_the_order_of_the_phrasings_changes_nothing(pairs: list[tuple[Scores, Scores]], weight: float, random) -> None:
    shuffled = random.sample(pairs, len(pairs))

    assert fuse(shuffled, lexical_weight=weight) == fuse(pairs, lexical_weight=weight)


@given(PAIRS, WEIGHT)
def test_every_chunk_of_any_list_is_ranked_once(pairs: list[tuple[Scores, Scores]], weight: float) -> None:
    chunks = [fused.chunk for fused in fuse(pairs, lexical_weight=weight)]

    assert sorted(chunks) == sorted({chunk for pair in pairs for scores in pair for chunk in scores})


@given(BM25.filter(bool), WEIGHT, st.booleans())
def test_if_one_list_is_empty_the_other_decides(scores: Scores, weight: float, lexical: bool) -> None:
    pair: tuple[Scores, Scores] = (scores, {}) if lexical else ({}, scores)

    assert [fused.chunk for fused in fuse([pair], lexical_weight=weight)] == ranked(scores)


@given(BM25.filter(bool), DENSE.filter(bool), st.sampled_from([0.0, 1.0]))
def test_a_list_with_all_the_weight_decides(lexical: Scores, dense: Scores, weight: float) -> None:
    chunks = [fused.chunk for fused in fuse([(lexical, dense)], lexical_weight=weight)]

    pool = {c: lexical_of(lexical, c) if weight else dense_of(dense, c) for c in {*lexical, *dense}}
    assert chunks == ranked(pool)


@given(PAIRS, WEIGHT)
def test_a_chunk_at_least_as_good_in_every_list_is_not_ranked_below(
    pairs: list[tuple[Scores, Scores]], weight: float
) -> None:
    score = {fused.chunk: fused.score for fused in fuse(pairs, lexical_weight=weight)}

    def values(chunk: int) -> list[float]:
        return [value for lex, dense in pairs for value in (lexical_of(lex, chunk), dense_of(dense, chunk))]

    for better in score:
        for worse in score:
            if all(b >= w for b, w in zip(values(better), values(worse), strict=True)):
                assert score[better] >= score[worse] - 1e-9


@given(st.sets(st.integers(1, 30), min_size=2), WEIGHT)
def test_ties_are_ordered_by_chunk_id(chunks: set[int], weight: float) -> None:
    even = dict.fromkeys(chunks, 1.5)

    assert [fused.chunk for fused in fuse([(even, even)], lexical_weight=weight)] == sorted(chunks)


@given(
    st.lists(
        st.tuples(*[st.dictionaries(st.integers(1, 9), st.floats(-1e6, 1e6, allow_subnormal=True), max_size=6)] * 2),
        min_size=1,
        max_size=3,
    ),
    WEIGHT,
)
def test_every_score_is_a_number_and_the_best_comes_first(pairs: list[tuple[Scores, Scores]], weight: float) -> None:
    scores = [fused.score for fused in fuse(pairs, lexical_weight=weight)]

    assert all(isfinite(score) for score in scores)
    assert scores == sorted(scores, reverse=True)


@given(PAIRS, WEIGHT)
def test_each_chunk_says_which_lists_found_it(pairs: list[tuple[Scores, Scores]], weight: float) -> None:
    for fused in fuse(pairs, lexical_weight=weight):
        found = [(fused.chunk in lexical, fused.chunk in dense) for lexical, dense in pairs]

        assert (fused.lexical is not None) == any(lexical for lexical, _ in found)
        assert (fused.dense is not None) == any(dense for _, dense in found)
        assert fused.phrasings == sum(lexical or dense for lexical, dense in found)


def test_scores_are_compared_by_their_z_score_in_their_list() -> None:
    """Worked by hand: BM25 of 9, 6, 3 and cosines of 0.3, 0.9, 0.6 are z-scores of 1.2247, 0, -1.2247 in some order."""
    fused = fuse([({1: 9, 2: 6, 3: 3}, {1: 0.3, 2: 0.9, 3: 0.6})], lexical_weight=0.6)

    assert [(f.chunk, f.score) for f in fused] == [
        (2, pytest.approx(0.4 * 1.2247449)),
        (1, pytest.approx(0.6 * 1.2247449 - 0.4 * 1.2247449)),
        (3, pytest.approx(-0.6 * 1.2247449)),
    ]


def test_a_single_lexical_match_among_many_dense_ones_comes_first() -> None:
    dense = {chunk: chunk / 100 for chunk in range(1, 60)}

    assert fuse([({1: 3.5}, dense)], lexical_weight=0.7)[0].chunk == 1


def test_a_chunk_that_a_full_lexical_list_lacks_counts_as_its_worst_and_not_as_zero() -> None:
    full = {chunk: float(chunk) for chunk in range(1, CANDIDATES + 1)}

    fused = fuse([(full, {1: 0.5, CANDIDATES + 1: 0.5})], lexical_weight=0.7)

    assert [f.score for f in fused[-2:]] == [fused[-1].score] * 2
    assert {f.chunk for f in fused[-2:]} == {1, CANDIDATES + 1}


def test_empty_lists_give_an_empty_ranking() -> None:
    assert fuse([({}, {}), ({}, {})], lexical_weight=0.6) == []


@given(BM25.filter(bool), DENSE.filter(bool), WEIGHT)
def test_of_chunks_without_a_vector_the_words_decide(lexical: Scores, dense: Scores, weight: float) -> None:
    unembedded = lexical.keys() - dense.keys()

    fused = fuse([(lexical, dense)], unembedded, lexical_weight=weight)

    by_words = {f.chunk: f.score for f in fuse([(lexical, dense)], lexical_weight=1)}
    assert {f.chunk: f.score for f in fused if f.chunk in unembedded} == {c: by_words[c] for c in unembedded}
