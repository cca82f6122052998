"""Parse a candidate from an answer: one fenced code block and one line that describes it."""

import re

from markdown_it import MarkdownIt
from markdown_it.token import Token

from kb.errors import SynthesisError
from kb.types.kernels import Candidate, Language
from synth.prompts.render import render


class AnswerError(SynthesisError):
    """The answer does not contain exactly one candidate; the message says what was found instead."""


def answer_format(language: Language) -> str:
    return render("answer", tag=language.fences[0])


def parse_answer(text: str, language: Language) -> tuple[Candidate, str]:
    """The candidate and its note (empty if the answer has none).

    Raises:
        AnswerError: there is no code block, several without exactly one in `language`, or the block is in another
            language, empty or not closed.
    """
    text = text.encode(errors="replace").decode()  # JSON may contain lone surrogates, which source files cannot
    fences = [token for token in MarkdownIt("commonmark").parse(text) if token.type == "fence"]
    fence = _chosen(fences, language)
    start, end = fence.map or (0, 0)
    lines = re.split(r"\r\n?|\n", text)
    if end - start < 2 or not lines[end - 1].strip().startswith(fence.markup):
        raise _error("the code block is not closed: its last fence is missing", language)
    if not fence.content.strip():
        raise _error("the code block is empty", language)
    outside = lines[:start] + lines[end:]
    notes = [line.partition(":")[2].strip() for line in outside if line.lower().startswith("note:")]
    return Candidate(language=language.name, source=fence.content), next(iter(notes), "")


def _chosen(fences: list[Token], language: Language) -> Token:
    tags = [fence.info.strip().lower().partition(" ")[0] for fence in fences]
    marked = [fence for fence, tag in zip(fences, tags, strict=True) if tag in language.fences]
    if len(marked) == 1:
        return marked[0]
    if len(fences) == 1 and tags == [""]:
        return fences[0]
    found = ", ".join(tag or "untagged" for tag in tags)
    raise _error(f"found these code blocks: {found}" if fences else "found no fenced code block", language)


def _error(what: str, language: Language) -> AnswerError:
    return AnswerError(what, hint=f"give the whole file in exactly one block fenced as ```{language.fences[0]}")
