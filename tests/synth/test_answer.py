"""An answer must contain exactly one code block, and anything else is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.languages.registry import CPP, LANGUAGES, TORCH
from kb.types.kernels import Language
from synth.prompts.answer import AnswerError, answer_format, parse_answer
from synth.prompts.render import fenced

CODE = "void model_new() {}\n"

READ = {
    "one block": ("note: first\n\n```cpp\n{code}```\n", "first"),
    "note below": ("Here it is.\n```cpp\n{code}```\n\nNote:  two words \nnote: another", "two words"),
    "no note": ("```cpp\n{code}```", ""),
    "an untagged block": ("```\n{code}```\nnote: n", "n"),
    "another tag of the language": ("```C++ title\n{code}```", ""),
    "tildes": ("~~~cpp\n{code}~~~", ""),
    "longer fence": ("`````cpp\n{code}`````", ""),
    "carriage returns": ("note: n\r\n```cpp\r\n{code}```\r\n", "n"),
    "page breaks": ("a\x0cb\u2028c\nnote: n\n```cpp\n{code}```", "n"),
    "one of several in the language": ("```sh\nmake\n```\n```cpp\n{code}```\n```\nx\n```", ""),
}

REFUSED = {
    "nothing": ("", "no fenced"),
    "code alone": (CODE, "no fenced"),
    "two in the language": (f"```cpp\n{CODE}```\n```cpp\n{CODE}```", ": cpp, cpp$"),
    "two untagged": (f"```\n{CODE}```\n```\n{CODE}```", ": untagged, untagged$"),
    "another language": (f"```python\n{CODE}```", ": python$"),
    "empty": ("```cpp\n\n  \n```", "empty"),
    "not closed": (f"```cpp\n{CODE}", "not closed"),
    "closed by a shorter fence": (f"````cpp\n{CODE}```", "not closed"),
    "nothing but an opening": ("```cpp", "not closed"),
}


@pytest.mark.parametrize(("text", "note"), READ.values(), ids=READ)
def test_one_code_block_and_its_note_are_read(text: str, note: str) -> None:
    candidate, said = parse_answer(text.replace("{code}", CODE), CPP)

    assert (candidate.language, candidate.source, said) == ("cpp", CODE, note)


def test_a_note_inside_the_code_is_part_of_the_code() -> None:
    assert parse_answer("```cpp\nnote: code\n```", CPP)[1] == ""


@pytest.mark.parametrize(("text", "found"), REFUSED.values(), ids=REFUSED)
def test_an_answer_without_exactly_one_block_is_refused_and_the_error_says_what_was_found(
    text: str, found: str
) -> None:
    with pytest.raises(AnswerError, match=found) as caught:
        parse_answer(text, CPP)
    assert "```cpp" in caught.value.hint


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_parser_reads_the_format_that_the_prompt_asks_for(language: Language) -> None:
    shown = answer_format(language).partition("\n\n")[2]

    candidate, note = parse_answer(shown, language)

    assert (candidate.source, note) == ("<the whole file>\n", "<one line>")


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\0")).filter(str.strip))
def test_code_is_read_unchanged(source: str) -> None:
    code = source.rstrip() + "\n"

    assert parse_answer(f"note: n\n\n{fenced(code, 'python')}", TORCH)[0].source == code
