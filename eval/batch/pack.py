"""A batch as a folder, which holds the judge's code too, so that `python -m eval` works in it.

    batch          the candidates, their tasks, the targets' facts, and a key that no other batch has
    eval/, kb/     the judge's code
    verdicts/N     the verdict on the candidate with number N, and what the tuner found so far

The first line of `batch` and of each verdict is its signature with the key. Whoever has the folder can sign: a
signature shows that a verdict is whole and belongs to this batch, not that a judge gave it.
"""

import hashlib
import hmac
import json
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path

from pydantic import Field

from eval.pool.steps import Found
from eval.regular_file import regular_text
from kb.errors import BatchError
from kb.storage import STAGED, write_synced
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.kernels import Task
from kb.types.protocols import Proposal
from kb.types.target import IsaText

BATCH, VERDICTS = "batch", "verdicts"
MOST_BYTES = 1 << 30
"""No file of a batch has more."""
ROOT = Path(__file__).parents[2]
"""The folder with the judge's code: a batch, or where kb is installed."""
CODE = (
    "eval", "kb/__init__.py", "kb/errors.py", "kb/storage.py", "kb/tuner.py", "kb/types", "kb/facts/__init__.py",
    "kb/facts/quantities.py", "kb/facts/quantities.toml", "kb/facts/select.py",
)  # fmt: skip
"""The judge's code: eval, and what it imports of kb."""


class Entry(Frozen):
    """A candidate of a batch."""

    run: str
    """Id of the run that gets the verdict."""
    task: Task
    target: str
    proposal: Proposal
    timed_on: str = ""
    """The kind of card that has timed candidates of the run: no other kind judges the rest. Empty: none has."""
    finalists: int = 0
    """The most settings of its parameters that are judged in full; 0: it is not tuned."""
    seed: int = 0
    """Of the tuner's random choices."""


class TargetFacts(Frozen):
    """What a judge must know of a target."""

    isa: IsaText
    facts: tuple[Fact, ...]


class Batch(Frozen):
    id: str = Field(pattern=r"^[0-9a-f-]+$")
    key: str
    judge: str
    """`code_digest` of the judge that belongs to it."""
    targets: dict[str, TargetFacts]
    entries: dict[int, Entry]
    """By number, from 1."""

    def about(self, number: int) -> str:
        return f"{number} of {len(self.entries)}: {self.entries[number].task.name} for {self.entries[number].target}"


class BatchVerdict(Found):
    batch: str
    judge: str
    """`code_digest` of the judge that judged it."""


def code_files() -> list[Path]:
    """The files of the judge's code, relative to ROOT, in order."""
    found = (file for name in CODE for file in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name]))
    return sorted(file.relative_to(ROOT) for file in found if file.is_file() and "__pycache__" not in file.parts)


@cache
def code_digest() -> str:
    """The version of the judge's code that runs here."""
    lines = (f"{hashlib.sha256((ROOT / file).read_bytes()).hexdigest()} {file.as_posix()}\n" for file in code_files())
    return hashlib.sha256("".join(lines).encode()).hexdigest()


def sealed(model: Batch | BatchVerdict, key: str) -> str:
    """The text of a file of a batch: a line with its signature, and one with the value."""
    text = json.dumps(model.model_dump(mode="json", exclude_defaults=True))
    return f"{_signature(text, key)}\n{text}\n"


def _signature(text: str, key: str) -> str:
    """HMAC-SHA256 (RFC 2104)."""
    return hmac.new(key.encode(), text.encode(), hashlib.sha256).hexdigest()


def _is_signed(signature: str, text: str, key: str) -> bool:
    return hmac.compare_digest(signature.encode(), _signature(text, key).encode())


def write_batch(batch: Batch, folder: Path) -> None:
    """Write the folder of a batch, whole or not at all. Raises BatchError if it cannot be written."""
    with writing(folder):
        staged = Path(tempfile.mkdtemp(prefix=STAGED, dir=folder.absolute().parent))
        try:
            for file in code_files():
                (staged / file).parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(ROOT / file, staged / file)
            (staged / VERDICTS).mkdir()
            write_synced(staged / BATCH, sealed(batch, batch.key).encode())
            (staged / BATCH).chmod(0o600)
            staged.rename(folder)
        except OSError:
            shutil.rmtree(staged, ignore_errors=True)
            raise


def must_be_new(folder: Path) -> None:
    """Raises BatchError if the folder exists."""
    if folder.exists():
        raise BatchError(f"{folder} exists already", hint="name a folder that does not exist yet")


@contextmanager
def writing(folder: Path) -> Iterator[None]:
    """Turn errors of the system into a BatchError about this folder."""
    try:
        yield
    except OSError as error:
        hint = "free some space there, or use another folder; verdicts that are written stay"
        raise BatchError(f"{folder} cannot be written: {error.strerror}", hint=hint) from error


def read_batch(folder: Path) -> Batch:
    """Raises BatchError if the folder is no batch, or its candidates were changed since it was packed."""
    try:
        signature, text = regular_text(folder / BATCH, most=MOST_BYTES).splitlines()
        batch = Batch.model_validate(json.loads(text))
    except (OSError, ValueError, RecursionError) as error:
        hint = "name the folder that `kb batch pack` wrote"
        raise BatchError(f"{folder} is not a batch, or its file `{BATCH}` is damaged", hint=hint) from error
    if not _is_signed(signature, text, batch.key):
        raise BatchError(f"{folder / BATCH} was changed since it was packed", hint="pack the candidates again")
    return batch


def read_verdict(folder: Path, batch: Batch, number: int) -> BatchVerdict | None:
    """The verdict on a candidate, with or without evidence; None if there is none yet.

    Raises:
        BatchError: it is damaged, not signed with the batch's key, or that of another judge, candidate or task.
    """
    file, entry = folder / VERDICTS / str(number), batch.entries[number]
    hint = "`python -m eval` in the batch's folder judges this candidate again"
    try:
        signature, text = regular_text(file, most=MOST_BYTES).splitlines()
        if not _is_signed(signature, text, batch.key):
            raise ValueError(signature)
        verdict = BatchVerdict.model_validate(json.loads(text))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:
        raise BatchError(f"{file} is damaged, or not signed with the key of this batch", hint=hint) from error
    if (verdict.batch, verdict.number) != (batch.id, number) or not _is_about(entry, verdict):
        raise BatchError(f"{file} is on another task, candidate or target", hint=hint)
    if verdict.judge != batch.judge:
        raise BatchError(f"{file} is by another version of the judge", hint=hint)
    return verdict


def _is_about(entry: Entry, found: Found) -> bool:
    """Whether all that is found is on this candidate, or settings of it that were tried, and on its task and target."""
    kernel = entry.proposal.candidate
    settings = {kernel.with_parameters(one.values).digest for one in found.tried}
    verdicts = [(found.evidence, {kernel.digest})] if found.evidence else []
    verdicts += [(one, settings) for one in found.tuned]
    return all(one.template == kernel.template_digest for one in found.tried) and all(
        (one.task_digest, one.target) == (entry.task.digest, entry.target) and one.candidate_digest in own
        for one, own in verdicts
    )
