"""Packing keeps whole passages within a budget; passages are merged only if they say the same."""

from itertools import count, groupby

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kb.types.base import TOKEN_CHARACTERS
from kb.types.passages import Citation, Hit, Passage, ScoreParts, SearchResult, Status
from retrieval.packing import LEADING, RELEVANT, merge_repetitions, pack

WORDS = ("local", "data", "share", "bank", "cache", "line", "of", "KB")


def passage(
    text: str, *, target: str = "mi300x", key: str = "k", section: tuple[str, ...] = ("Memory",), ordinal: int = 0
) -> Passage:
    citation = Citation(id=key, path=f"{target}/a.md", sha256="0" * 64, section=section, line_start=3, line_end=4)
    return Passage(citation=citation, target=target, title="Guide", kind="text", lead="", text=text, ordinal=ordinal)


def found(*passages: Passage) -> SearchResult:
    why = ScoreParts(lexical=1.0, dense=None, phrasings=1)
    hits = tuple(Hit(passage=p, score=-float(rank), why=why) for rank, p in enumerate(passages))
    return SearchResult(status=Status.OK, hits=hits, notes=("as found",))


@st.composite
def results(draw: st.DrawFn) -> SearchResult:
    texts = st.lists(st.sampled_from(WORDS) | st.integers(0, 9).map(str), min_size=1, max_size=40).map(" ".join)
    number = count()
    passages = st.builds(
        lambda text, target, section, ordinal: passage(
            text, target=target, key=f"id{next(number)}", section=section, ordinal=ordinal
        ),
        texts,
        st.sampled_from(["mi300x", "mi355x"]),
        st.sampled_from([(), ("Memory",), ("Memory of the chip", "Local data share")]),
        st.integers(0, 30),
    )
    return found(*draw(st.lists(passages, max_size=12)))


@given(results(), st.integers(1, 200))
def test_a_context_stays_within_its_budget(result: SearchResult, budget: int) -> None:
    context = pack(result, budget_tokens=budget)

    assert context.tokens <= budget == context.budget_tokens
    assert len(context.text) <= TOKEN_CHARACTERS * budget


@given(results(), st.integers(1, 200))
def test_a_context_holds_whole_passages_and_lists_or_counts_all_others(result: SearchResult, budget: int) -> None:
    context = pack(result, budget_tokens=budget)

    packed = [p.citation.id for p in context.passages]
    left_out = [citation.id for citation in context.left_out]
    ranked = [(rank, result.hits[0].score - hit.score, hit.passage.citation.id) for rank, hit in enumerate(result.hits)]
    relevant = [key for rank, behind, key in ranked if rank < LEADING or behind <= RELEVANT]
    assert sorted(packed + left_out) == sorted(relevant)
    assert left_out == [key for key in relevant if key in left_out], "best first"
    assert context.less_relevant == len(result.hits) - len(relevant)
    assert all(f"[{p.citation.id} L3-4]" in context.text and p.body in context.text for p in context.passages)
    assert (context.status, context.notes) == (result.status, result.notes)


@given(results())
def test_the_passages_of_a_document_stand_together_in_its_order(result: SearchResult) -> None:
    ranked = result.hits
    context = pack(result, budget_tokens=100_000)

    documents = [p.source for p in context.passages]
    assert list(dict.fromkeys(documents)) == [d for d, _ in groupby(documents)], "together"
    assert documents[:1] == [hit.passage.source for hit in ranked[:1]], "the document of the best passage first"
    for source in set(documents):
        ordinals = [p.ordinal for p in context.passages if p.source == source]
        assert ordinals == sorted(ordinals)
    assert context.left_out == ()


def test_licences_are_left_out_and_a_passage_that_is_only_one_takes_no_room() -> None:
    notice = "Copyright (c) 2025 Someone. All rights reserved.\nSPDX-License-Identifier: MIT"
    code = f"```c\n// {notice.splitlines()[1]}\n\nint banks = 16;\n```"

    context = pack(found(passage(notice, key="a"), passage(code, key="b")), budget_tokens=1000)

    assert [p.citation.id for p in context.passages] == ["b"]
    assert "int banks = 16;" in context.text
    assert "SPDX" not in context.text


def test_a_listing_is_packed_whole_if_it_fits_and_else_the_part_that_was_found() -> None:
    head, tail = (
        passage(text, key=key, ordinal=n) for n, (key, text) in enumerate([("h", "```c\n{"), ("t", "}\n```")])
    )
    result = found(head)
    whole = result.model_copy(update={"hits": (result.hits[0].model_copy(update={"after": (tail,)}),)})

    packed = {budget: pack(whole, budget_tokens=budget) for budget in (16, 1000)}

    assert [p.citation.id for p in packed[16].passages] == ["h"]
    assert "[h L3-4, t L3-4] Memory\n```c\n{\n}\n```" in packed[1000].text


def test_a_passage_that_does_not_fit_makes_room_for_the_next_that_does() -> None:
    long, short = passage("word " * 400, key="long"), passage("word", key="short")

    context = pack(found(long, short), budget_tokens=100)

    assert [p.citation.id for p in context.passages] == ["short"]
    assert [c.id for c in context.left_out] == ["long"]


@given(results())
def test_every_hit_is_kept_or_cited_by_the_better_hit_that_it_repeats(result: SearchResult) -> None:
    kept = merge_repetitions(result.hits)

    by_id = {hit.passage.citation.id: hit.passage for hit in result.hits}
    folded = [(hit.passage, by_id[citation.id]) for hit in kept for citation in hit.also_in]
    assert sorted(by_id) == sorted([h.passage.citation.id for h in kept] + [p.citation.id for _, p in folded])
    assert [h.score for h in kept] == sorted((h.score for h in kept), reverse=True)
    for better, repeated in folded:
        assert repeated.target == better.target
        assert repeated.text.split() == better.text.split()
        assert list(by_id).index(better.citation.id) < list(by_id).index(repeated.citation.id)


@given(results())
def test_no_two_kept_hits_of_a_target_have_the_same_words_in_the_same_order(result: SearchResult) -> None:
    kept = [(hit.passage.target, *hit.passage.text.split()) for hit in merge_repetitions(result.hits)]

    assert len(set(kept)) == len(kept)


SENTENCE = ["the", "unit", "must", "be", "aligned", "before", "a", "load", "of", "16", "bytes", "at", "1.5", "GB/s"]
OTHER = ["not", "no", "never", "after", "write", "store", "unaligned", "cannot", "32", "2.5", "v_add", "Gb/s", "<"]


@given(st.integers(0, len(SENTENCE) - 1), st.sampled_from(OTHER), st.sampled_from(["replace", "insert", "move"]))
def test_one_other_number_name_or_word_keeps_passages_apart(place: int, word: str, change: str) -> None:
    changed = [*SENTENCE]
    if change == "move":
        changed.append(changed.pop(place))
    else:
        changed[place : place + (change == "replace")] = [word]
    if [w for w in changed if w not in ("the", "a", "be")] == [w for w in SENTENCE if w not in ("the", "a", "be")]:
        return
    texts = [" ".join(SENTENCE), " ".join(changed)]

    kept = merge_repetitions(found(*(passage(text, key=text) for text in texts)).hits)

    assert len(kept) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("A misaligned access raises a fault.", "A misaligned access raises no fault."),
        (
            "Buffers must be aligned to 64 bytes and may overlap.",
            "Buffers may be aligned to 64 bytes and must overlap.",
        ),
        ("Loads the minimum of signed bytes.", "Loads the maximum of signed bytes."),
        ("Reads before the barrier are visible.", "Reads after the barrier are visible."),
        ("Shifts the left operand by the right.", "Shifts the right operand by the left."),
        ("apt install rocm-bandwidth-test", "yum install rocm-bandwidth-test"),
        ("The link runs at 64 GBps.", "The link runs at 64 Gbps."),
        ("Valid if a < b.", "Valid if a > b."),
        ("Adds -1 to the counter.", "Adds 1 to the counter."),
        ("Throughput for int8, dense", "Throughput for int8, sparse"),
    ],
)
def test_passages_that_say_something_else_in_nearly_the_same_words_are_not_repetitions(one: str, other: str) -> None:
    assert len(merge_repetitions(found(passage(one, key="1"), passage(other, key="2")).hits)) == 2


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Each bank is 4 bytes wide.", "each bank is `4` bytes\n  wide"),
        ("**Note**: the LDS has 32 banks.", "Note - LDS has 32 banks"),
        ("The value is a 32-bit word.", "The value: a 32 bit word"),
        ("NEVER write while a read is pending.", "Never write while the read is pending."),
    ],
)
def test_passages_that_differ_in_markup_case_and_articles_are_repetitions(one: str, other: str) -> None:
    [hit] = merge_repetitions(found(passage(one, key="1"), passage(other, key="2")).hits)

    assert [citation.id for citation in hit.also_in] == ["2"]


def test_the_same_passage_of_another_target_is_not_a_repetition() -> None:
    own, sibling = passage("64 KB of LDS", key="a"), passage("64 KB of LDS", key="b", target="mi355x")

    assert len(merge_repetitions(found(own, sibling).hits)) == 2


def test_near_identical_rows_with_different_numbers_are_not_repetitions() -> None:
    rows = [passage(f"| lds_size | {kib} | KiB | per compute unit |", key=str(kib)) for kib in (64, 160)]

    assert len(merge_repetitions(found(*rows).hits)) == 2


def test_rows_of_different_names_with_the_same_numbers_are_not_repetitions() -> None:
    rows = [
        passage(f"| {name} | 16 | passes | 4 | VGPRs |", key=name)
        for name in ("v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16")
    ]

    kept = merge_repetitions(found(*rows).hits)

    assert [hit.passage.citation.id for hit in kept] == ["v_mfma_f32_32x32x8_f16", "v_mfma_f32_32x32x8_bf16"]


def test_an_include_that_was_not_found_is_left_out() -> None:
    code = "```cpp\n{{#include ../a.cpp}}\n```"

    context = pack(
        found(passage(f"{{{{#include ../b.md}}}}\n\nIt has 16 banks.\n\n{code}", key="a")), budget_tokens=1000
    )

    assert "include" not in context.text
    assert context.text.endswith("It has 16 banks.")
