"""The last whole block of the language outside of the reasoning is the candidate; an answer without one is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eval.languages.registry import CPP, LANGUAGES, TORCH
from kb.types.kernels import Candidate, Language
from synth.prompts.answer import Answer, AnswerError, answer_format, answer_in_file, parse_answer
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
    "a byte order mark": ("\ufeffnote: n\n```cpp\n{code}```", "n"),
    "page breaks": ("a\x0cb\u2028c\nnote: n\n```cpp\n{code}```", "n"),
    "one of several in the language": ("```sh\nmake\n```\n```cpp\n{code}```\n```\nx\n```", ""),
    "the last of two": ("note: n\n```cpp\nint old;\n```\nBetter:\n```cpp\n{code}```", "n; block 2 of 2 was taken"),
    "the last that is whole": ("```cpp\n{code}```\nThen\n```cpp\nint cut", "block 1 of 2 was taken"),
    "a tag above the fence": ("note: n\n\n<answer>\n```cpp\n{code}```\n</answer>\n", "n"),
    "tags beside the fence": ("<answer>```cpp\n{code}```</answer>\nnote: n", "n"),
    "a block of HTML above the fence": ("<details>\n<summary>Code</summary>\n```cpp\n{code}```\n</details>", ""),
    "a thought": ("<think>\nnote: no\n</think>\n```cpp\n{code}```\nnote: n", "n"),
    "a thought with a block": ("<think>\n```cpp\nint no;\n```\n</think>\n```cpp\n{code}```", ""),
    "a thought with an open block": ("<think>\n```cpp\nint no;\n</think>\n```cpp\n{code}```", ""),
    "a thought behind the block": ("```cpp\n{code}```\n<think>\n```cpp\nint no;\n```\n</think>", ""),
    "a thought that began before the answer": ("```cpp\nint no;\n```\nDone.</think>```cpp\n{code}```", ""),
    "an open block in such a thought": ("```cpp\nint no;\n</think>\n```cpp\n{code}```", ""),
    "a thought within a thought": ("<think><think>\n```cpp\nint no;\n```\n</think></think>\n```cpp\n{code}```", ""),
    "another word for a thought": ("<Reasoning>\n```cpp\nint no;\n```\n</Reasoning>\n```cpp\n{code}```", ""),
    "a thought in brackets": ("[THINK]\n```cpp\nint no;\n```\n[/THINK]\n```cpp\n{code}```", ""),
    "channels": (
        "<|channel|>analysis<|message|>\n```cpp\nint no;\n```<|end|><|channel|>final<|message|>```cpp\n{code}```",
        "",
    ),
    "the only block in a thought": (
        "<think>\n```cpp\n{code}```\n</think>\nnote: n",
        "n; the block stood in the reasoning",
    ),
    "a thought that does not end": ("<think>\n```cpp\n{code}```", ""),
}

IN_CODE = ["// <think>\n", "<think>\nx\n</think>\n", "// </think>\n", "<answer>\n</answer>\n", "</think>\n"]

REFUSED = {
    "nothing": ("", "no fenced"),
    "code alone": (CODE, "no fenced"),
    "two untagged": (f"```\n{CODE}```\n```\n{CODE}```", ": untagged, untagged$"),
    "another language": (f"```python\n{CODE}```", ": python$"),
    "empty": ("```cpp\n\n  \n```", "empty"),
    "not closed": (f"```cpp\n{CODE}", "not closed"),
    "closed by a shorter fence": (f"````cpp\n{CODE}```", "not closed"),
    "nothing but an opening": ("```cpp", "not closed"),
}


@pytest.mark.parametrize(("text", "note"), READ.values(), ids=READ)
def test_one_code_block_and_its_note_are_read(text: str, note: str) -> None:
    answer = parse_answer(text.replace("{code}", CODE), CPP)

    assert answer == Answer(Candidate(language="cpp", source=CODE), note)


def test_a_note_inside_the_code_is_part_of_the_code() -> None:
    assert parse_answer("```cpp\nnote: code\n```", CPP).note == ""


@pytest.mark.parametrize(("text", "found"), REFUSED.values(), ids=REFUSED)
def test_an_answer_without_a_whole_block_in_the_language_is_refused_and_the_error_says_what_was_found(
    text: str, found: str
) -> None:
    with pytest.raises(AnswerError, match=found) as caught:
        parse_answer(text, CPP)
    assert "```cpp" in caught.value.hint


@pytest.mark.parametrize("code", IN_CODE)
def test_tags_inside_the_code_are_code(code: str) -> None:
    assert parse_answer(f"<think>\nx\n</think>\n```cpp\n{CODE}{code}```", CPP).candidate.source == CODE + code


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_parser_reads_the_format_that_the_prompt_asks_for(language: Language) -> None:
    shown = answer_format(language, plans=True, settings=True).partition("\n\n")[2]

    answer = parse_answer(shown, language)

    assert (answer.candidate.source, answer.note) == ("<the whole file>\n", "<one line>")
    assert answer.plans == ("<another structure, in one line>", "<a third structure>")


def test_plans_and_settings_are_read_from_the_lines_around_the_block_and_not_more_than_a_few() -> None:
    settings = "\n".join(f"Settings: UNROLL={n}, BLOCK = {2 * n}" for n in range(20))
    plans = "".join(f"plan: structure {n}\n" for n in range(9))
    answer = parse_answer(f"{plans}note: one\n\n```cpp\n{CODE}// settings: A=1\n```\n\n{settings}\n", CPP)

    assert answer.plans == ("structure 0", "structure 1", "structure 2")
    assert answer.settings == tuple({"UNROLL": n, "BLOCK": 2 * n} for n in range(15))


def test_a_prompt_asks_for_settings_only_if_kb_times_them() -> None:
    assert "8 to 15 lines that begin with `settings:`" in " ".join(answer_format(CPP, settings=True).split())
    assert "settings:" not in answer_format(CPP)
    assert "plan:" not in answer_format(CPP, settings=True)


@given(st.text(st.characters(codec="utf-8", exclude_characters="\r\0")).filter(str.strip))
def test_code_is_read_unchanged(source: str) -> None:
    code = source.rstrip() + "\n"

    assert parse_answer(f"note: n\n\n{fenced(code, 'python')}", TORCH).candidate.source == code


@pytest.mark.parametrize(
    ("first", "note"),
    [
        ("note: wide loads\n", "wide loads"),
        ("# note: wide loads\n", "wide loads"),
        ("//Note:  wide loads \r\n", "wide loads"),
        ("\ufeff# note: n\n", "n"),
        ("# note:\n", ""),
    ],
)
def test_a_first_line_note_of_a_source_file_is_the_note_and_no_part_of_the_kernel(first: str, note: str) -> None:
    said = answer_in_file(Candidate(language="cpp", source=first + CODE))

    assert (said.candidate.source, said.note) == (CODE, note)


@pytest.mark.parametrize("source", [CODE, f"{CODE}// note: below\n", "# notes: x\n", "x = 1  # note: y\n", ""])
def test_a_source_file_without_such_a_line_is_the_kernel_as_it_is(source: str) -> None:
    kernel = Candidate(language="cpp", source=source)

    assert answer_in_file(kernel) == Answer(kernel, "")
