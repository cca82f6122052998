"""The lexical index finds identifiers whole and by part, and treats nothing in a question as an FTS5 operator."""

import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kb.catalog import Catalog
from kb.catalog.words import identifier_words, match_expression, query_words, split_identifier
from tests.catalog.documents import MODEL, WEIGHTS, text_document


@pytest.fixture(scope="module")
def catalog() -> Iterator[Catalog]:
    """A catalog with one chunk of text that looks like FTS5 operators."""
    document = text_document('Use AND or NEAR(a b) with "quotes", a* and title:x.')
    with tempfile.TemporaryDirectory() as folder, Catalog(Path(folder)) as opened:
        opened.put(document, model=MODEL)
        yield opened


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("v_mfma_f32_32x32x8_f16", ["vmfmaf3232x32x8f16", "mfma", "f32", "32x32x8", "f16"]),
        ("MI-300X", ["mi300x"]),
        ("MI300X", ["mi300x"]),
        ("s_waitcnt", ["swaitcnt", "waitcnt"]),
        ("tcgen05.mma", ["tcgen05mma", "tcgen05", "mma"]),
        ("nl.tile_size.pmax", ["nltilesizepmax", "nl", "tile", "size", "pmax"]),
        ("global_load_dwordx4", ["globalloaddwordx4", "dwordx4", "dword", "x4"]),
        ("SFPMAD", ["sfpmad"]),
        ("TensixCoprocessor", ["tensixcoprocessor", "tensix", "coprocessor"]),
        ("ReadDVALID", ["readdvalid", "read", "dvalid"]),
        ("float8_e4m3fn", ["float8e4m3fn", "float8", "e4m3fn"]),
    ],
)
def test_an_identifier_gives_its_joined_form_first_and_then_its_parts(name: str, words: list[str]) -> None:
    split = split_identifier(name)

    assert split[0] == words[0]
    assert set(words) <= set(split)


@pytest.mark.parametrize("text", ["the local data share", "Each unit, however small.", "12 34", ""])
def test_plain_words_are_not_identifiers(text: str) -> None:
    assert identifier_words(text) == ""


@pytest.mark.parametrize(
    ("text", "question"),
    [
        ("v_mfma_f32_32x32x8_f16 multiplies", "v_mfma_f32_32x32x8_f16"),
        ("v_mfma_f32_32x32x8_f16 multiplies", "MFMA"),
        ("v_mfma_f32_32x32x8_f16 multiplies", "32x32x8"),
        ("v_mfma_f32_32x32x8_f16 multiplies", "which f16 shapes"),
        ("the MI-300X has", "MI300X"),
        ("the MI300X has", "mi-300x"),
        ("wait with s_waitcnt vmcnt(0) first", "s_waitcnt vmcnt(0)"),
        ("wait with s_waitcnt vmcnt(0) first", "waitcnt"),
        ("issue tcgen05.mma now", "tcgen05"),
        ("issue tcgen05.mma now", "mma"),
        ("up to nl.tile_size.pmax rows", "pmax"),
        ("up to nl.tile_size.pmax rows", "tile size"),
        ("global_load_dwordx4 v[0:3]", "dword"),
        ("global_load_dwordx4 v[0:3]", "dwordx4"),
        ("SFPMAD is fused", "sfpmad"),
        ("the TensixCoprocessor", "coprocessor"),
        ("局所データ共有 of the unit", "局所データ共有"),
    ],
)
def test_a_question_finds_text_with_another_spelling_of_its_words(tmp_path: Path, text: str, question: str) -> None:
    with Catalog(tmp_path) as catalog:
        catalog.put(text_document(text), model=MODEL)

        found = catalog.lexical(match_expression(query_words(question)), weights=WEIGHTS, targets=None, limit=5)

    assert len(found) == 1


def test_a_question_gives_each_word_once_in_order_without_stop_words() -> None:
    assert query_words("What is the LDS size of the MI-300X, the size?") == [
        "lds",
        "size",
        "mi300x",
        "mi",
        "300x",
        "300",
    ]


def test_stop_words_inside_an_identifier_are_kept() -> None:
    assert "to" in query_words("cvt_to_f16")


OPERATORS = ['"', '""', "AND", "OR", "NOT", "NEAR", "NEAR(a b, 5)", "*", "a*", "^", "^a", "(", ")", "-a", "+", "title:"]
OPERATORS += ["{title body}: a", "a:b", "'", ";", "--", "\\", "\0", "%", 'a"b', "é", "中", "½", "²"]
QUESTIONS = st.lists(st.one_of(st.sampled_from(OPERATORS), st.text(max_size=8)), min_size=1, max_size=8).map(" ".join)


@settings(derandomize=True, deadline=None, max_examples=150)
@given(question=QUESTIONS)
def test_no_question_is_a_syntax_error(catalog: Catalog, question: str) -> None:
    words = query_words(question)

    if words:
        catalog.lexical(match_expression(words), weights=WEIGHTS, targets=None, limit=5)
    assert not any(set(word) & set('"*^() ') for word in words)


@pytest.mark.parametrize("word", ["AND", "NEAR", "NOT", "a*", "^a", "title:x", 'a"b', "(", "-a", "NEAR(a b)"])
def test_an_operator_in_a_match_expression_is_only_a_word(catalog: Catalog, word: str) -> None:
    found = catalog.lexical(match_expression(["quotes", word]), weights=WEIGHTS, targets=None, limit=5)

    assert len(found) == 1


def test_a_word_that_ends_in_a_star_is_not_a_prefix_query(catalog: Catalog) -> None:
    assert catalog.lexical(match_expression(["nea*"]), weights=WEIGHTS, targets=None, limit=5) == []
