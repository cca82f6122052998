"""Every exception kb raises on purpose, as one tree.

KbError
├── SettingsError            a setting or kb.toml is wrong
├── TargetError              a target is unknown, or its definition is wrong
├── SourceError              what was given to ingest cannot be used (missing, empty, not readable)
│   └── DocumentError        one file cannot be read as a document (the rest goes on), or no document is called so
├── QueryError               a question that nothing can be searched for
├── FactError                a quantity or fact is unknown: never answered with a guess
├── CitationError            an id is unknown, or the cited text no longer stands in the stored document
├── LocalModelError           the embedding model is altered or cannot be prepared
│   └── MissingModelError    it is not on this machine
├── TaskError                a file is not a task in KernelBench's form, or its reference does not run
├── CandidateError           what was handed in is not a candidate (no such file, wrong language for the target)
├── JudgeError               the judge, not the candidate, is at fault; says nothing about the candidate
├── SkillError               a skill directory is malformed, or a skill is unknown
├── RunError                 a run is unknown, over, or in another process's hands
├── SynthesisError           a synthesizer cannot give a candidate
└── StoreError               the home or the catalog cannot be used
    ├── LockedError          another process is writing
    ├── ReadOnlyError        the home cannot be written
    ├── DiskFullError        no space left
    ├── SchemaError          written by another version of kb
    └── CorruptError         the catalog is damaged
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence

NEAREST = 3
"""How many known names a hint suggests."""


class KbError(Exception):
    """A failure a user can act on: `message` says what, where and the value; `hint` says what to do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SettingsError(KbError): ...


class TargetError(KbError): ...


class SourceError(KbError): ...


class DocumentError(SourceError): ...


class QueryError(KbError): ...


class FactError(KbError): ...


class CitationError(KbError): ...


class LocalModelError(KbError): ...


class MissingModelError(LocalModelError): ...


class TaskError(KbError): ...


class CandidateError(KbError): ...


class JudgeError(KbError): ...


class SkillError(KbError): ...


class RunError(KbError): ...


class SynthesisError(KbError): ...


class StoreError(KbError): ...


class LockedError(StoreError): ...


class ReadOnlyError(StoreError): ...


class DiskFullError(StoreError): ...


class SchemaError(StoreError): ...


class CorruptError(StoreError): ...


def nearest(name: str, known: Mapping[str, str] | Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """The known names that are spelt most like `name`, nearest first.

    Args:
        known: The names; or how each may be spelt, and its name.
        cutoff: Least similarity, as difflib counts it.
    """
    names = known if isinstance(known, Mapping) else {name: name for name in known}
    return list(dict.fromkeys(names[near] for near in difflib.get_close_matches(name, names, NEAREST, cutoff)))


def did_you_mean(names: Sequence[str]) -> str:
    """How a hint begins that suggests these names; empty when there are none."""
    return f"did you mean {', '.join(names)}? " if names else ""
