"""Parse a candidate from an answer: the last code block outside of the model's reasoning, and a line about it."""

import re
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kb.errors import SynthesisError
from kb.types.kernels import Candidate, Language
from synth.prompts.render import render

_MARKDOWN = MarkdownIt("commonmark", {"html": False})
"""With HTML, a tag alone in its line, such as `<answer>`, would swallow the fence below it."""
_NAME = r"(?:\w+:)?(?i:think(?:ing)?|thoughts?|reasoning|reflection|analysis|scratchpad)(?:\s[^>\n]*)?\|?>"
_OPEN = rf"(?:<(?:\|begin_of_)?{_NAME}|\[THINK\]|◁think▷|<\|channel\|>analysis)"
_CLOSE = rf"(?:<(?:/|\|end_of_){_NAME}|\[/THINK\]|◁/think▷|<\|channel\|>final(?:<\|message\|>)?)"
_BODY = rf"(?:(?![ \t]*{_CLOSE}[ \t]*\n(?:.*\n)*?[ \t]*(?:```|~~~)\w).*\n)*?"
"""The lines of a block; where reasoning ends and another block follows, they are not whole."""
_PARTS = re.compile(
    rf"(?:^|(?<=>))(?:[ \t]*(?!{_OPEN}|{_CLOSE})<[^>\n]*>){{0,3}}"
    rf"(?P<block>[ \t]*(?P<mark>```+|~~~+)[^`\n]*\n{_BODY}[ \t]*(?P=mark)[`~]*)[ \t]*(?:</[^>\n]*>[ \t]*){{0,3}}$"
    rf"|{_OPEN}(?:.|\n)*?{_CLOSE}|(?P<close>{_CLOSE})",
    re.MULTILINE,
)
"""A whole block with the tags beside it, a thought, or the end of a thought that began before the answer. What looks
like a thought inside of a block is code."""

_NOTE_LINE = re.compile(r"\ufeff?(?:#|//)?\s*note:\s*(.*?)\s*", re.IGNORECASE)
_SETTING = re.compile(r"([A-Za-z_]\w*)\s*[=:]\s*(-?\d+)")
LONGEST_TAG, MOST_TAGS = 12, 9
"""Of the tags in an error, which the author of the next answer reads."""
LEAST_SETTINGS, MOST_SETTINGS, MOST_PLANS = 8, 15, 3
"""How many lines with settings are asked for, and how many of these and of plans are read."""


class Answer(NamedTuple):
    """What an author's answer says."""

    candidate: Candidate
    note: str
    """Empty if it has none."""
    plans: tuple[str, ...] = ()
    """Other structures that the author would try."""
    settings: tuple[dict[str, int], ...] = ()
    """Values of the kernel's parameters that the author expects to be fast."""


class AnswerError(SynthesisError):
    """The answer does not contain a candidate; the message says what was found instead."""


def answer_format(language: Language, *, settings: bool = False, plans: bool = False) -> str:
    """How to answer; `settings` asks for values of tunable constants, too, and `plans` for other structures."""
    most = MOST_SETTINGS if settings and language.tunable else 0
    return render("answer", tag=language.fences[0], settings=most, least=LEAST_SETTINGS, plans=plans)


def answer_in_file(kernel: Candidate) -> Answer:
    """What a source file says: a first line `note:`, perhaps as a comment, is its note and no part of the kernel."""
    first, _, rest = kernel.source.partition("\n")
    note = _NOTE_LINE.fullmatch(first)
    return Answer(kernel.model_copy(update={"source": rest}), note[1]) if note else Answer(kernel, "")


def parse_answer(text: str, language: Language) -> Answer:
    """The last whole code block in `language` outside of the model's reasoning, and what the lines around it say.

    A single block may do without a tag, and one in the reasoning counts if there is no other. The note says which block
    was taken if there was a choice.

    Raises:
        AnswerError: there is no such block, or it is empty or not closed.
    """
    text = text.encode(errors="replace").decode()  # JSON may contain lone surrogates, which source files cannot
    text = re.sub(r"\r\n?", "\n", text.removeprefix("\ufeff"))
    answer, taken = _without_reasoning(text), ""
    if not (fences := _fences(answer, language)) and (fences := _fences(text, language)):
        answer, taken = text, "the block stood in the reasoning"
    if not fences:
        found = ", ".join(_tag(fence)[:LONGEST_TAG] or "untagged" for fence in _all_fences(text)[:MOST_TAGS])
        raise _error(f"found these code blocks: {found}" if found else "found no fenced code block", language)
    lines = answer.split("\n")
    if not (whole := [fence for fence in fences if _is_closed(fence, lines)]):
        raise _error("the code block is not closed: its last fence is missing", language)
    if not (fence := whole[-1]).content.strip():
        raise _error("the code block is empty", language)
    if len(fences) > 1:
        taken = f"block {fences.index(fence) + 1} of {len(fences)} was taken"
    start, end = fence.map or (0, 0)
    said = [(line.partition(":")[0].lower(), line.partition(":")[2].strip()) for line in lines[:start] + lines[end:]]
    notes, plans, settings = ([text for name, text in said if name == key] for key in ("note", "plan", "settings"))
    return Answer(
        candidate=Candidate(language=language.name, source=fence.content),
        note="; ".join(filter(None, (*notes[:1], taken))),
        plans=tuple(plans[:MOST_PLANS]),
        settings=tuple({name: int(value) for name, value in _SETTING.findall(s)} for s in settings[:MOST_SETTINGS]),
    )


def _without_reasoning(text: str) -> str:
    """The answer without thoughts and without tags beside fences; each line keeps its number."""
    closes = [part.end() for part in _PARTS.finditer(text) if part["close"]]
    begin = max(closes, default=0)
    return "\n" * text.count("\n", 0, begin) + _PARTS.sub(
        lambda part: part["block"] or "\n" * part[0].count("\n"), text[begin:]
    )


def _fences(text: str, language: Language) -> list[Token]:
    """The blocks in `language`, or the only block if it has no tag."""
    fences = _all_fences(text)
    marked = [fence for fence in fences if _tag(fence) in language.fences]
    return marked or (fences if [*map(_tag, fences)] == [""] else [])


def _all_fences(text: str) -> list[Token]:
    return [token for token in _MARKDOWN.parse(text) if token.type == "fence"]


def _tag(fence: Token) -> str:
    return fence.info.strip().lower().partition(" ")[0]


def _is_closed(fence: Token, lines: list[str]) -> bool:
    start, end = fence.map or (0, 0)
    return end - start >= 2 and lines[end - 1].strip().startswith(fence.markup)


def _error(what: str, language: Language) -> AnswerError:
    return AnswerError(what, hint=f"give the whole file in exactly one block fenced as ```{language.fences[0]}")
