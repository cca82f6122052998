"""The questions and techniques of a prompt; questions.toml and techniques.toml explain the fields."""

import re
import tomllib
from collections.abc import Collection, Iterable, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TypeVar

from pydantic import Field, ValidationError

from kb.errors import SettingsError
from kb.types.base import Frozen
from synth.briefing.topics import Limit, Subject

MOST_QUESTIONS = 15
"""Most questions of a prompt."""
MOST_TECHNIQUES = 5
"""Most techniques of a prompt."""


class _ForSubjects(Frozen):
    """An entry of questions.toml or techniques.toml, with the fields that say for which prompts it is."""

    limits: tuple[Limit, ...] = ()
    families: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()
    operations: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()

    def fits(self, subject: Subject) -> bool:
        own = {*subject.targets, *subject.operations, subject.judged}
        return (
            _allows(self.limits, {str(subject.limit)})
            and _allows(self.families, {subject.family})
            and _allows(self.languages, {subject.language})
            and _allows(self.operations, own)
            and _allows(self.dtypes, subject.dtypes)
            and own.isdisjoint(self.unless)
        )


class Question(_ForSubjects):
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


class Technique(_ForSubjects):
    does: str
    needs: str
    source: str
    quantities: tuple[str, ...] = ()
    code: tuple[str, ...] = ()
    shapes: tuple[str, ...] = ()

    def fits(self, subject: Subject) -> bool:
        return super().fits(subject) and (not subject.shapes or _allows(self.shapes, subject.shapes))

    def __str__(self) -> str:
        return f"{self.does} Only if {self.needs}. ({self.source})"

    def is_for(self, source: str) -> bool:
        """Whether a task's source has all that it is for."""
        return all(re.search(pattern, source) for pattern in self.code)


Entry = TypeVar("Entry", Question, Technique)


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
        for question in (*_read(own, Question), *first, *_shipped(Question))
        if question.fits(subject) and taught >= question.taught
    ]
    return fitting[:MOST_QUESTIONS]


def techniques_for(subject: Subject, source: str, own: Path, stated: Collection[str] = ()) -> list[Technique]:
    """The techniques for a task: the user's own, then those that ship with kb. Arguments and errors as above.

    Args:
        stated: Quantities of which facts are known.
    """
    known = (one for one in (*_read(own, Technique), *_shipped(Technique)) if {*one.quantities} <= {*stated})
    return [one for one in known if one.fits(subject) and one.is_for(source)][:MOST_TECHNIQUES]


def _allows(wanted: tuple[str, ...], own: Iterable[str]) -> bool:
    return not wanted or not set(wanted).isdisjoint(own)


def _file(kind: type[Entry]) -> str:
    return f"{kind.__name__.lower()}s.toml"


@cache
def _shipped(kind: type[Entry]) -> tuple[Entry, ...]:
    return _parsed(files("synth.briefing").joinpath(_file(kind)).read_text(encoding="utf-8"), kind)


def _read(own: Path, kind: type[Entry]) -> tuple[Entry, ...]:
    file = own / _file(kind)
    try:
        return _parsed(file.read_text(encoding="utf-8"), kind)
    except FileNotFoundError:
        return ()
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, ValidationError, KeyError, TypeError) as error:
        hint = f"each [[{file.stem[:-1]}]] has the fields that synth/briefing/{file.name} explains"
        raise SettingsError(f"{file} is not a valid list of {file.stem}: {error}", hint=hint) from error


def _parsed(text: str, kind: type[Entry]) -> tuple[Entry, ...]:
    return tuple(kind(**entry) for entry in tomllib.loads(text)[kind.__name__.lower()])
