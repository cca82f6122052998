"""The questions of a prompt; questions.toml explains the fields."""

import tomllib
from collections.abc import Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import Field, ValidationError

from kb.errors import SettingsError
from kb.types.base import Frozen
from synth.briefing.topics import Limit, Subject

MOST_QUESTIONS = 15
"""Most questions of a prompt."""
FILE = "questions.toml"


class Question(Frozen):
    asks: str
    quantities: tuple[str, ...] = ()
    sections: tuple[str, ...] = ()
    search: tuple[str, ...] = ()
    most: int = Field(default=1, gt=0)
    both: bool = False
    code: bool = False
    names: bool = False
    sheets: bool = False
    taught: bool = False
    limits: tuple[Limit, ...] = ()
    families: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()

    def fits(self, subject: Subject) -> bool:
        own = {*subject.targets, *subject.operations, subject.judged}
        return (
            _allows(self.limits, {str(subject.limit)})
            and _allows(self.families, {subject.family})
            and _allows(self.languages, {subject.language})
            and _allows(self.operations, own)
            and own.isdisjoint(self.unless)
        )


def questions_for(
    subject: Subject, own: Path, *, first: Sequence[Question] = (), taught: bool = False
) -> list[Question]:
    """The questions for a prompt: the user's own, then `first`, then those that ship with kb.

    Args:
        own: Folder in which a user's file with more questions may lie.
        taught: Whether the prompt has to teach the language.

    Raises:
        SettingsError: that file is not right.
    """
    fitting = [
        question
        for question in (*_read(own / FILE), *first, *_shipped())
        if question.fits(subject) and taught >= question.taught
    ]
    return fitting[:MOST_QUESTIONS]


def _allows(wanted: tuple[str, ...], own: Iterable[str]) -> bool:
    return not wanted or not set(wanted).isdisjoint(own)


@cache
def _shipped() -> tuple[Question, ...]:
    return _parsed(tomllib.loads(files("synth.briefing").joinpath(FILE).read_text(encoding="utf-8")))


def _read(file: Path) -> tuple[Question, ...]:
    try:
        return _parsed(tomllib.loads(file.read_text(encoding="utf-8")))
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError, KeyError, TypeError) as error:
        hint = "each [[question]] has the fields that synth/briefing/questions.toml explains"
        raise SettingsError(f"{file} is not a valid list of questions: {error}", hint=hint) from error


def _parsed(table: dict[str, Any]) -> tuple[Question, ...]:
    return tuple(Question(**entry) for entry in table["question"])
