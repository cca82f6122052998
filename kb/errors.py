"""All exceptions that kb raises on purpose, as one tree.

KbError
├── SettingsError            a setting or kb.toml is wrong
├── MissingLibraryError      a library that kb needs is not installed
├── TargetError              a target is unknown, or its definition is wrong
├── SourceError              a path for ingest cannot be used (missing, empty, not readable)
│   └── DocumentError        a file cannot be read as a document (ingest continues), or no document has this name
├── QueryError               a question has no word to search for
├── FactError                a quantity or fact is unknown; kb never guesses
├── CitationError            an id is unknown, or the stored document no longer contains the cited text
├── LocalModelError          the embedding model is altered or cannot be prepared
│   └── MissingModelError    the embedding model is not on this machine
├── TaskError                a file is not a task in KernelBench's form, or its reference does not run
│   └── TaskSizeError        it does not fit into the memory of this GPU
├── CandidateError           a file is not a candidate (missing, or in the wrong language for the target)
├── JudgeError               the judge failed; this says nothing about the candidate
│   └── CanaryError          it misjudges a kernel whose verdict is known
├── ToolchainError           the TOML file of a toolchain is not right, or there is none of this name
├── SkillError               a skill directory is malformed, or a skill is unknown
├── RunError                 a run is unknown, over, or used by another process
├── CampaignError            the file of a campaign is not right, or has changed since it began
├── BatchError               a folder is not a whole batch of this home, or a verdict in it does not count
├── SynthesisError           a synthesizer cannot produce a candidate
└── StoreError               the home or the catalog cannot be used
    ├── LockedError          another process is writing
    ├── ReadOnlyError        the home cannot be written
    ├── DiskFullError        no space is left
    ├── SchemaError          another version of kb wrote the catalog
    └── CorruptError         the catalog is damaged
"""

import difflib
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec

EXTRAS = {
    "judge": ("torch", "triton"),
    "ray": ("ray",),
    "vectors": (
        "chromadb", "huggingface_hub", "onnx", "onnxruntime", "onnxscript", "sentence_transformers", "tokenizers",
        "transformers",
    ),
}  # fmt: skip
"""The libraries that an extra of the package installs; all others come with kb itself."""
NEAREST = 3
"""Most known names that a hint suggests."""


class KbError(Exception):
    """A failure that a user can act on: `message` gives what, where and the value; `hint` says what to do."""

    def __init__(self, message: str, *, hint: str) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


class SettingsError(KbError): ...


class MissingLibraryError(KbError):
    """`name` is that of the module which cannot be imported."""

    def __init__(self, name: str | None) -> None:
        library = (name or "").partition(".")[0]
        extra = next((extra for extra, libraries in EXTRAS.items() if library in libraries), "")
        hint = f"`pip install 'kb-hardware[{extra}]'` installs it" if extra else "`pip install kb-hardware` installs it"
        super().__init__(f"the library {library!r} is not installed", hint=hint)


class TargetError(KbError): ...


class SourceError(KbError): ...


class DocumentError(SourceError): ...


class QueryError(KbError): ...


class FactError(KbError): ...


class CitationError(KbError): ...


class LocalModelError(KbError): ...


class MissingModelError(LocalModelError): ...


class TaskError(KbError): ...


class TaskSizeError(TaskError): ...


class CandidateError(KbError): ...


class JudgeError(KbError): ...


class CanaryError(JudgeError): ...


class ToolchainError(KbError): ...


class SkillError(KbError): ...


class RunError(KbError): ...


class CampaignError(KbError): ...


class BatchError(KbError): ...


class SynthesisError(KbError): ...


class StoreError(KbError): ...


class LockedError(StoreError): ...


class ReadOnlyError(StoreError): ...


class DiskFullError(StoreError): ...


class SchemaError(StoreError): ...


class CorruptError(StoreError): ...


def is_installed(library: str) -> bool:
    """Whether a library can be imported, without importing it."""
    try:
        return find_spec(library) is not None
    except ModuleNotFoundError:
        return False


def nearest(name: str, known: Mapping[str, str] | Iterable[str], *, cutoff: float = 0.6) -> list[str]:
    """The known names that are most similar to `name`, nearest first.

    Args:
        known: Names, or a mapping from spellings to names.
        cutoff: Least similarity, from 0 to 1, as in difflib.
    """
    names = known if isinstance(known, Mapping) else {name: name for name in known}
    return list(dict.fromkeys(names[near] for near in difflib.get_close_matches(name, names, NEAREST, cutoff)))


def did_you_mean(names: Sequence[str]) -> str:
    """The beginning of a hint that suggests these names; empty if there are none."""
    return f"did you mean {', '.join(names)}? " if names else ""
