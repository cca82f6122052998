"""The languages that can be judged, and how to recognise them. Nothing is executed here."""

from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from eval.languages.cpp import Cpp
from eval.languages.cuda import Cuda
from eval.languages.rules import rules_of
from eval.languages.solution import solution_source
from eval.languages.torch import Torch
from eval.languages.triton import Triton
from eval.oracle.task import read_source
from eval.supervisor.language import JudgedLanguage
from kb.errors import CandidateError
from kb.types.kernels import Candidate, Language

TRITON, CPP, CUDA, TORCH = Triton(), Cpp(), Cuda(), Torch()
LANGUAGES: tuple[JudgedLanguage, ...] = (TRITON, CPP, CUDA, TORCH)
"""A file is in the first language that claims it."""


def language_named(name: str) -> JudgedLanguage:
    """Raises CandidateError if there is no such language."""
    for language in LANGUAGES:
        if language.name == name:
            return language
    raise CandidateError(f"unknown language {name!r}", hint=f"known: {', '.join(known.name for known in LANGUAGES)}")


def described_language(name: str) -> Language:
    """A language that kb knows from documents alone: it can be asked for, but not judged.

    Raises:
        CandidateError: the name is not that of a language.
    """
    suffix = next((known.suffix for known in LANGUAGES if known.name == name), ".txt")
    try:
        return Language(
            name=name, suffix=suffix, fences=(name,), rules=rules_of("described"), tunable="", judged=False,
            searched=(f"how to write a kernel in {name}", f"{name} programming guide"),
        )  # fmt: skip
    except ValidationError as error:
        raise CandidateError(f"{name!r} is no name of a language", hint="use letters, digits, - and _") from error


def language_of(path: Path, source: str, languages: Iterable[JudgedLanguage] = LANGUAGES) -> JudgedLanguage:
    """The first of the languages that a file can be in, by its suffix and its imports.

    Raises:
        CandidateError: no language has such files.
    """
    for language in (languages := tuple(languages)):
        if path.suffix in language.suffixes and language.claims(source):
            return language
    known = dict.fromkeys(suffix for language in languages for suffix in language.suffixes)
    raise CandidateError(
        f"{path} is not a candidate: its name ends in {path.suffix or 'nothing'}",
        hint=f"candidates end in {', '.join(known)}",
    )


def load_candidate(path: Path, languages: Iterable[JudgedLanguage] = LANGUAGES) -> Candidate:
    """The candidate in a file, in the first of the languages that it can be in; a .json file is a solution.

    Raises:
        CandidateError: there is no such file, or no language has such files; also as in `solution_source`.
    """
    languages, path_of = (*languages, *LANGUAGES), path.with_suffix(".py") if path.suffix == ".json" else path
    language_of(path_of, "", languages)  # refuses a wrong suffix before the file is read
    source = read_source(path, CandidateError)
    if path.suffix == ".json":
        source = solution_source(source, path)
    return Candidate(language=language_of(path_of, source, languages).name, source=source)
