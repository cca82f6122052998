"""Benchmark questions with their answering passages, read from JSON lines.

A line has `id`, `target` (a name, or null for all documents), `query` and `evidence`, and may have `kind`, `phrasings`
(the same question in other words) and `reject` (strings that only a sibling's answer contains). Each evidence entry has
a `path` (as citations show it) and `must`: strings that one passage of it must all contain to answer by itself, with
alternatives separated by `|`. A question without evidence cannot be answered from the documents.
"""

import re
from collections.abc import Collection, Sequence
from pathlib import Path

from pydantic import BaseModel, ValidationError

from kb.errors import SourceError
from kb.types.base import reason_of

_ROLE = re.compile(r":[a-z:]+:`([^`<]*)(?:<[^>]*>)?`")
_TAG = re.compile(r"<[^>]{1,200}>")
_MARKUP = re.compile(r"[`*_|\\+=~^]+")
_ENTITIES = {"&nbsp;": " ", "&#160;": " ", "&lt;": "<", "&gt;": ">", "&amp;": "&"}


class GoldPassage(BaseModel, frozen=True):
    path: str
    must: tuple[str, ...]


class Question(BaseModel, frozen=True):
    id: str
    target: str | None = None
    kind: str = ""
    query: str
    phrasings: tuple[str, ...] = ()
    evidence: tuple[GoldPassage, ...]
    reject: tuple[str, ...] = ()

    def is_answered_by(self, text: str, paths: Collection[str]) -> bool:
        return any(e.path in paths and _holds(text, e.must) for e in self.evidence)

    def is_confused_by(self, text: str, paths: Collection[str]) -> bool:
        """Whether `text` states a sibling's value instead of an answer."""
        return bool(self.reject) and _holds(text, self.reject) and not self.is_answered_by(text, paths)


def load_questions(file: Path) -> list[Question]:
    """Raises SourceError if the file cannot be read, a line is not a question, or two questions have the same id."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SourceError(f"{file} cannot be read: {error}", hint="give a file of questions as JSON lines") from error
    questions = [_question(line, file, number) for number, line in enumerate(lines, 1) if line.strip()]
    if len({q.id for q in questions}) < max(1, len(questions)):
        raise SourceError(f"{file} has no questions, or two with the same id", hint="write one JSON object per line")
    return questions


def _question(line: str, file: Path, number: int) -> Question:
    try:
        return Question.model_validate_json(line)
    except ValidationError as error:
        message = f"{file}:{number} is not a question: {reason_of(error)}"
        raise SourceError(message, hint="`kb bench retrieval --help` lists the fields") from error


def _holds(text: str, groups: Sequence[str]) -> bool:
    plain = _plain(text)
    return all(any(_plain(option).strip() in plain for option in group.split("|")) for group in groups)


def _plain(text: str) -> str:
    """Lower case without reST, Markdown, HTML and table markup, one space between words."""
    text = _MARKUP.sub(" ", _TAG.sub(" ", _ROLE.sub(r"\1", text)))
    for entity, sign in _ENTITIES.items():
        text = text.replace(entity, sign)
    return " ".join(text.split()).lower()
