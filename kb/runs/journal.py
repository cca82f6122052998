"""Runs on disk: `runs/<id>/` holds what one optimisation session did, as an append-only journal.

Every effect is one line, written and synced when it is complete, so that after a kill a run goes on where it was:
what the journal holds is neither asked, judged nor paid for again. A torn last line is an effect that did not happen.
"""

import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Literal, Self

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError

from kb.catalog import storage_errors
from kb.errors import CandidateError, RunError
from kb.model.base import Frozen
from kb.model.evidence import Evidence
from kb.model.kernels import Candidate, LanguageName, Task
from kb.model.protocols import Attempt, Proposal
from kb.storage import sync_folders, write_synced, write_whole

JOURNAL, HEADER = "journal.jsonl", "run.json"
NAME_CHARACTERS = 100
"""Of a task, in the name of a run: file systems take no more than 255."""


class SynthesizerKind(StrEnum):
    """Which synthesizer a run has."""

    TUNE = "tune"
    ANTHROPIC = "anthropic"
    EXTERNAL = "external"
    """Any agent or person, through `kb submit`."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Raises RunError when there is no such synthesizer."""
        if name not in set(cls):
            raise RunError(f"unknown synthesizer {name!r}", hint=f"known: {', '.join(cls)}")
        return cls(name)


class Plan(Frozen):
    """What a run is for and may spend; fixed when it starts."""

    task: Task
    target: str
    language: LanguageName
    synthesizer: SynthesizerKind
    model: str = ""
    """The language model, where one is asked."""
    evaluations: int = Field(gt=0)
    """Most candidates to judge."""
    seed: int = 0
    control: bool = False
    """Whether it uses no skill that has evidence and writes none: what skills are worth shows beside such a run."""
    created: str = ""
    """UTC, ISO 8601."""


class JournalEntry(Frozen):
    """One thing that happened."""

    kind: Literal["proposed", "judged", "published", "ended"]
    step: int
    """Number of the candidate it is about, counted from 1."""
    proposal: Proposal | None = None
    evidence: Evidence | None = None
    text: str = ""
    """Name of the skill that was published, or why the run ended."""


class Run:
    """One run. Reading needs nothing; appending needs `held`."""

    def __init__(self, folder: Path) -> None:
        """Read a run.

        Raises:
            RunError: the folder holds no run, or its journal is damaged before its last line.
        """
        self.folder = folder
        self._load()

    def _load(self) -> None:
        folder = self.folder
        try:
            self.plan = Plan.model_validate_json((folder / HEADER).read_text(encoding="utf-8"))
            self.entries = _entries(folder / JOURNAL)
        except ValidationError as error:
            problem = error.errors()[0]
            raise _unreadable(folder, f"{'.'.join(map(str, problem['loc']))}: {problem['msg']}") from error
        except (OSError, ValueError) as error:
            raise _unreadable(folder, str(error)) from error

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Candidates that were judged, in order."""
        proposals = {e.step: e.proposal for e in self.entries if e.kind == "proposed"}
        return tuple(
            Attempt(candidate=proposal.candidate, evidence=entry.evidence, note=proposal.note)
            for entry in self.entries
            if entry.kind == "judged" and entry.evidence and (proposal := proposals.get(entry.step))
        )

    @property
    def step(self) -> int:
        """Number of the candidate that is under way or next."""
        return 1 + sum(e.kind == "judged" for e in self.entries)

    @property
    def pending(self) -> Proposal | None:
        """What was proposed and not judged yet."""
        proposed = [e.proposal for e in self.entries if e.kind == "proposed" and e.step == self.step]
        return proposed[-1] if proposed else None

    @property
    def published(self) -> tuple[str, ...]:
        """Names of the skills it gave."""
        return tuple(e.text for e in self.entries if e.kind == "published")

    @property
    def ended(self) -> str:
        """Why it ended; empty while it has not."""
        return next((e.text for e in self.entries if e.kind == "ended"), "")

    @property
    def best(self) -> Attempt | None:
        """The fastest of those that won, else of those that passed; None when none did."""
        passed = [a for a in self.attempts if a.evidence.passed]
        return max(passed, key=lambda a: (a.evidence.won, a.evidence.speedup or 0.0), default=None)

    @property
    def usage(self) -> dict[str, int]:
        """Tokens paid for, by kind."""
        total: dict[str, int] = {}
        for proposal in (e.proposal for e in self.entries if e.proposal):
            for kind, tokens in proposal.usage.items():
                total[kind] = total.get(kind, 0) + tokens
        return total

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from going on with this run; drop what a kill left unfinished.

        Raises:
            RunError: another process holds it, or its journal is damaged.
        """
        lock = FileLock(self.folder / ".lock", timeout=0)
        with storage_errors(self.folder):
            try:
                lock.acquire()
            except Timeout:
                raise RunError(f"run {self.id} is in another process's hands", hint="wait for it to end") from None
        try:
            self._load()
            journal = self.folder / JOURNAL
            with storage_errors(self.folder), journal.open("r+b") as file:
                file.truncate(journal.read_bytes().rfind(b"\n") + 1)
            yield
        finally:
            lock.release()

    def must_be_open(self) -> None:
        """Raises RunError when it is over."""
        if self.ended:
            raise RunError(f"run {self.id} is over: {self.ended}", hint="start another one")

    def must_be_by_hand(self) -> None:
        """Raises RunError when it is over, or its candidates do not come from a person or an agent."""
        self.must_be_open()
        if self.plan.synthesizer is not SynthesizerKind.EXTERNAL:
            raise RunError(
                f"run {self.id} is driven by {self.plan.synthesizer}, not by hand",
                hint="`kb runs resume` goes on with it",
            )

    def must_take(self, candidate: Candidate) -> None:
        """Raises RunError as `must_be_by_hand`, and CandidateError when it is in another language than the run."""
        self.must_be_by_hand()
        if candidate.language != self.plan.language:
            raise CandidateError(
                f"this candidate is in {candidate.language}, the run is in {self.plan.language}",
                hint=f"hand in a {self.plan.language} kernel, or start a run with --language {candidate.language}",
            )

    def append(self, entry: JournalEntry) -> None:
        """Add to the journal; on return it is on the disk."""
        with storage_errors(self.folder), (self.folder / JOURNAL).open("a", encoding="utf-8") as file:
            # Not model_dump_json, which writes infinity as null and refuses half a surrogate pair.
            file.write(json.dumps(entry.model_dump(mode="json", exclude_defaults=True)) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.entries = [*self.entries, entry]

    def write(self, name: str, text: str) -> Path:
        """A file beside the journal for people to read: a prompt, a candidate. Not part of the truth."""
        path = self.folder / name
        with storage_errors(self.folder):
            write_whole(path, text)
        return path


class Runs:
    """All runs of a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "runs"

    def __iter__(self) -> Iterator[Run]:
        """Those that can be read, oldest first."""
        runs = [run for _, run in self._read() if isinstance(run, Run)]
        return iter(sorted(runs, key=lambda run: (run.plan.created, run.id)))

    def problems(self) -> list[tuple[Path, RunError]]:
        """The folders that cannot be read, and why."""
        return [(folder, error) for folder, error in self._read() if isinstance(error, RunError)]

    def _read(self) -> Iterator[tuple[Path, Run | RunError]]:
        for folder in self._folders():
            try:
                yield folder, Run(folder)
            except RunError as error:
                yield folder, error

    def _folders(self) -> list[Path]:
        found = self._folder.iterdir() if self._folder.is_dir() else ()
        return sorted(folder for folder in found if not folder.name.startswith("."))

    def get(self, run_id: str) -> Run:
        """The run of that id, or of an unambiguous beginning or end of it.

        Raises:
            RunError: there is none, or more than one.
        """
        names = [folder.name for folder in self._folders()]
        found = [n for n in names if n == run_id] or [n for n in names if n.startswith(run_id) or n.endswith(run_id)]
        if len(found) != 1:
            many = f"{len(found)} runs match {run_id!r}" if found else f"there is no run {run_id!r}"
            raise RunError(many, hint="`kb runs list` shows all")
        return Run(self._folder / found[0])

    def start(self, plan: Plan) -> Run:
        """A new run, complete from the moment it can be seen."""
        now = datetime.now(UTC)
        plan = plan.model_copy(update={"created": now.isoformat(timespec="seconds")})
        name = f"{plan.task.name[:NAME_CHARACTERS]}-{plan.target}-{now:%Y%m%d-%H%M%S}-{secrets.token_hex(2)}"
        with storage_errors(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
            staged = Path(tempfile.mkdtemp(prefix=".new-", dir=self._folder))
            try:
                write_synced(staged / HEADER, plan.model_dump_json(indent=1).encode())
                write_synced(staged / JOURNAL, b"")
                sync_folders(staged)
                staged.rename(self._folder / name)
                sync_folders(self._folder)
            except OSError:
                shutil.rmtree(staged, ignore_errors=True)
                raise
        return Run(self._folder / name)


def _unreadable(folder: Path, why: str) -> RunError:
    return RunError(f"run {folder} cannot be read: {why}", hint="`kb runs list` shows the others")


def _entries(journal: Path) -> list[JournalEntry]:
    """All complete lines."""
    text = journal.read_bytes()
    return [JournalEntry.model_validate(json.loads(line)) for line in text[: text.rfind(b"\n") + 1].splitlines()]
