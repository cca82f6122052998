"""Runs on disk: `runs/<id>/` holds an append-only journal of one optimisation session.

Every completed step is one line, written and synced at once, so that a killed run resumes where it stopped: nothing in
the journal is requested, judged or paid for again. An incomplete last line counts as a step that did not happen.
"""

import json
import secrets
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from threading import RLock
from typing import Any, Literal, Self

from filelock import FileLock, Timeout
from pydantic import Field, ValidationError, model_validator

from kb.catalog import storage_errors
from kb.errors import CandidateError, RunError, StoreError
from kb.runs.entries import JournalEntry, entries_of
from kb.runs.lines import Lines
from kb.storage import sync_folders, write_synced, write_whole
from kb.types.base import Frozen, reason_of
from kb.types.campaign import Part, Skills
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, LanguageName, Task
from kb.types.protocols import Attempt, Proposal, Tried
from synth.authors.asking import Exchange, Spent
from synth.authors.spending import Budget
from synth.prompts.prompt import Prompt
from synth.search.moves import NEAR_ROOF, Ask, SearchName, SearchPart

JOURNAL, HEADER, KERNEL_FILE = "journal.jsonl", "run.json", "kernel.py"
NAME_CHARACTERS = 100
"""Maximum length of the task's name in the name of a run: file systems allow 255 characters in all."""
TOKEN_BYTES, REPLY_BYTES = 8, 4096
"""Room that the journal keeps for a reply: for each of its tokens, and for all else of its entry."""


class SynthesizerKind(StrEnum):
    """The kind of synthesizer that drives a run."""

    TUNE = "tune"
    AUTHORS = "authors"
    """The authors of the plan."""
    EXTERNAL = "external"
    """Any agent or person, through `kb submit`."""

    @classmethod
    def named(cls, name: str) -> Self:
        """Raises RunError if there is no such synthesizer."""
        if name not in set(cls):
            raise RunError(f"unknown synthesizer {name!r}", hint=f"known: {', '.join(cls)}")
        return cls(name)


class Rules(StrEnum):
    """Which rules the authors of a run get: what mended kernels that were refused in earlier runs."""

    NONE = "none"
    LEARNT = "learnt"
    RANDOM = "random"
    """As many as `learnt`, drawn from all for the language: a comparison shows what their choice is worth."""


class Plan(Frozen):
    """The goal and the limits of a run, fixed when it starts."""

    task: Task
    target: str
    language: LanguageName
    synthesizer: SynthesizerKind
    authors: tuple[str, ...] = ()
    """Who writes candidates, each as for `kb optimize --author`; no name holds a key."""
    budget: Budget = Budget()
    """The most that the user lets the authors spend."""
    evaluations: int = Field(gt=0)
    """Maximum number of candidates to judge."""
    seed: int = 0
    control: bool = False
    """Whether it has only the kernels that ship with kb, as if never tried, and publishes none, for a comparison."""
    rules: Rules = Rules.LEARNT
    skills: Skills = Skills.ALL
    search: SearchName = "two-level"
    without: tuple[SearchPart, ...] = ()
    near_roof: float = Field(default=NEAR_ROOF, ge=0)
    documents: bool = True
    """Whether authors are told what documents state, and what limits a kernel by it."""
    devices: str = ""
    """Those of a machine that judge, as for `kb optimize --devices`; empty: its first, or all of each of a pool's."""
    pool: str = ""
    """The cluster that judges, as for `kb optimize --pool`; empty: this machine does."""
    part: Part | None = None
    """None if the run belongs to no campaign."""
    held_back: int = 0
    """Number of private documents about the target that no author of the run gets."""
    created: str = ""
    """Time in UTC, ISO 8601."""

    @model_validator(mode="before")
    @classmethod
    def _of_earlier_versions(cls, fields: Any) -> Any:  # noqa: ANN401 - any JSON
        """They had one author, `anthropic`, with the name of its model."""
        if isinstance(fields, dict) and "model" in fields:
            model = fields["model"]
            fields = {name: value for name, value in fields.items() if name != "model"}
            if fields.get("synthesizer") == "anthropic":
                fields |= {"synthesizer": "authors", "authors": [f"anthropic:{model}"]}
        return fields


class Run:
    """One run. Append only inside `held`; reading needs no lock."""

    def __init__(self, folder: Path) -> None:
        """Read a run.

        Raises:
            RunError: the folder is not a run, or its journal is damaged before the last line.
        """
        self.folder = folder
        self._appending, self._is_held = RLock(), False  # authors answer in threads of their own
        self._lines, self._room = Lines(folder / JOURNAL), dict[int, int]()  # in bytes, for each request under way
        self._load()

    def _load(self) -> None:
        folder = self.folder
        try:
            self.plan = Plan.model_validate_json((folder / HEADER).read_text(encoding="utf-8"))
            self.entries = entries_of(self._lines.read())
        except (OSError, ValueError) as error:
            raise _unreadable(folder, reason_of(error)) from error
        self._proposed, self._judged = dict[int, Proposal](), dict[int, Evidence]()
        self._attempts, self._tried, self._exchanges = dict[int, Attempt](), list[Tried](), dict[int, Exchange]()
        self._took_s, self.asked = dict[tuple[str, str], float](), dict[int, Ask]()  # `asked` by number of question
        for entry in self.entries:
            self._count(entry)

    def _count(self, entry: JournalEntry) -> None:
        """Bring what is asked for at every step up to date: made of all entries, it would take longer and longer."""
        if entry.kind == "proposed" and entry.proposal:
            self._proposed[entry.step] = entry.proposal
        if entry.kind == "judged" and (evidence := entry.evidence):
            self._judged[entry.step] = evidence
            if evidence.took:  # one verdict may stand there twice
                self._took_s[evidence.candidate_digest, evidence.created] = evidence.took.seconds
            if proposal := self._proposed.get(entry.step):
                self._attempts[entry.step] = Attempt(**vars(proposal), evidence=evidence)
        if entry.tried:
            self._tried.append(entry.tried)
        if made := entry.exchange:
            self._exchanges[made.number] = made
            if entry.ask:
                self.asked[made.question] = entry.ask

    @property
    def id(self) -> str:
        return self.folder.name

    @property
    def attempts(self) -> tuple[Attempt, ...]:
        """Judged candidates, in order, each with its last verdict: a batch may bring a second one."""
        return tuple(self._attempts.values())

    @property
    def tried(self) -> tuple[Tried, ...]:
        """Settings that were timed quickly, in order."""
        return tuple(self._tried)

    @property
    def step(self) -> int:
        """Number of the current or next candidate."""
        return 1 + len(self._judged)

    @property
    def evaluations_left(self) -> int:
        return self.plan.evaluations - len(self._judged)

    @property
    def pending(self) -> Proposal | None:
        """The proposal that is not judged yet; None if there is none."""
        return self._proposed.get(self.step)

    @property
    def untimed(self) -> tuple[Proposal, ...]:
        """The proposals that a device may still time: those that passed without a time, and the pending one."""
        waiting = [self._proposed[step] for step, evidence in self._judged.items() if evidence.untimed]
        waiting += [self.pending] if self.pending else []
        return tuple({proposal.candidate.digest: proposal for proposal in waiting}.values())

    @property
    def published(self) -> tuple[str, ...]:
        """Names of the skills that the run published."""
        return tuple(e.text for e in self.entries if e.kind == "published")

    @property
    def ended(self) -> str:
        """Why the run ended; empty if it has not."""
        return next((e.text for e in self.entries if e.kind == "ended"), "")

    @property
    def best(self) -> Attempt | None:
        """The first by `rank`; None if none passed."""
        return min((one for one in self.attempts if one.evidence.passed), key=self.rank, default=None)

    def rank(self, attempt: Attempt) -> tuple[bool, tuple[float, ...]]:
        """Sorts candidates that passed, the best first: the fastest that won, or else the one with the least cost."""
        return not attempt.evidence.won, attempt.cost(self.tried)

    @property
    def exchanges(self) -> Sequence[Exchange]:
        """All requests to authors, in order, each as it was recorded last."""
        return list(self._exchanges.values())

    @property
    def spent(self) -> Spent:
        return Spent.of(self.exchanges)

    @property
    def judged_s(self) -> float:
        """Seconds for all verdicts and quick timings; those of earlier versions, which did not write it, count 0."""
        return sum(self._took_s.values()) + sum(one.took_s for one in self._tried)

    def record(self, exchange: Exchange, ask: Ask | None) -> None:
        """Append a request, or what became of it, and sync it.

        With a request, the journal keeps room for the reply: what is paid must be recorded, also on a full disk.

        Raises:
            RunError: a thread does so after the hold.
            StoreError: it cannot be kept; if it is a request, the author must not get it.
        """
        kind: Literal["asked", "answered"] = "answered" if exchange.answered else "asked"
        with self._appending:
            if not self._is_held:
                raise RunError(f"run {self.id} is not held any more", hint="resume it")
            self._room[exchange.number] = 0 if exchange.answered else REPLY_BYTES + TOKEN_BYTES * exchange.output_tokens
            try:
                self.append(JournalEntry(kind=kind, step=self.step, exchange=exchange, ask=ask))
            except StoreError as error:
                self._room.pop(exchange.number)
                if not exchange.answered:
                    raise
                lost = f"what {exchange.author} answered to request {exchange.number} is lost, and may be paid again"
                raise type(error)(f"{error.message}: {lost}", hint=error.hint) from error

    @contextmanager
    def held(self) -> Iterator[None]:
        """Keep other processes from continuing this run, and remove an incomplete last line of the journal.

        Raises:
            RunError: another process holds it, or its journal is damaged.
        """
        lock = FileLock(self.folder / ".lock", timeout=0)
        with storage_errors(self.folder):
            try:
                lock.acquire()
            except Timeout:
                raise RunError(f"run {self.id} is in use by another process", hint="wait for it to end") from None
        try:
            self._load()
            with storage_errors(self.folder):
                self._lines.trim()
            self._is_held = True
            yield
        finally:
            with self._appending, suppress(OSError):
                self._room.clear()
                if self._is_held:
                    self._is_held = False
                    self._lines.trim()
            lock.release()

    def verdicts(self, candidate: Candidate) -> dict[int, Evidence]:
        """The verdicts on a candidate, by the numbers of its attempts, from 1."""
        return {n: a.evidence for n, a in enumerate(self.attempts, 1) if a.candidate.digest == candidate.digest}

    def must_be_open(self) -> None:
        """Raises RunError if the run is over."""
        if self.ended:
            raise RunError(f"run {self.id} is over: {self.ended}", hint="start another run")

    def must_be_by_hand(self) -> None:
        """Raises RunError if the run is not driven by hand."""
        if self.plan.synthesizer is not SynthesizerKind.EXTERNAL:
            by = self.plan.synthesizer
            raise RunError(f"run {self.id} is driven by {by}, not by hand", hint="`kb runs resume` continues it")

    def must_take(self, candidate: Candidate) -> None:
        """Raises RunError or CandidateError where `Loop.submit` does, before a judge starts."""
        self.must_be_by_hand()
        if not any(evidence.disturbed for evidence in self.verdicts(candidate).values()):
            self.must_be_open()
        if candidate.language != (own := self.plan.language):
            hint = f"submit a {own} kernel, or start a run with --language {candidate.language}"
            raise CandidateError(f"this candidate is in {candidate.language}, the run is in {own}", hint=hint)

    def append(self, entry: JournalEntry) -> None:
        """Append an entry to the journal and sync it to disk. Raises StoreError if it is not there."""
        # model_dump_json would write infinity as null and refuse a lone surrogate.
        line = json.dumps(entry.model_dump(mode="json", exclude_defaults=True)) + "\n"
        with self._appending, storage_errors(self.folder):
            self._lines.append(line.encode(), room=0 if entry.kind == "answered" else sum(self._room.values()))
            self.entries = [*self.entries, entry]
            self._count(entry)

    def keep_prompt(self, prompt: Prompt, question: int) -> None:
        """Keep a prompt beside the journal: as a text for people, and whole for reports."""
        self.write(f"prompts/{question:03d}.md", prompt.text)
        self.write(f"prompts/{question:03d}.json", prompt.model_dump_json())

    def prompt(self, question: int) -> Prompt | None:
        """The prompt with this number; None if the run did not keep it, as those of earlier versions."""
        try:
            return Prompt.model_validate_json((self.folder / f"prompts/{question:03d}.json").read_bytes())
        except (OSError, ValidationError):
            return None

    def write(self, name: str, text: str) -> Path:
        """Write a file beside the journal for people to read."""
        path = self.folder / name
        with storage_errors(self.folder):
            write_whole(path, text)
        return path


class Runs:
    """All runs of a home."""

    def __init__(self, home: Path) -> None:
        self._folder = home / "runs"

    def __iter__(self) -> Iterator[Run]:
        """The readable runs, oldest first."""
        runs = [run for _, run in self._read() if isinstance(run, Run)]
        return iter(sorted(runs, key=lambda run: (run.plan.created, run.id)))

    def problems(self) -> list[tuple[Path, RunError]]:
        """The unreadable folders, and why."""
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
        """The run with this id, or whose id alone begins or ends with `run_id`.

        Raises:
            RunError: no run matches, or several do.
        """
        names = [folder.name for folder in self._folders()]
        found = [n for n in names if n == run_id] or [n for n in names if n.startswith(run_id) or n.endswith(run_id)]
        if len(found) != 1:
            many = f"{len(found)} runs match {run_id!r}" if found else f"there is no run {run_id!r}"
            raise RunError(many, hint="`kb runs list` shows all runs")
        return Run(self._folder / found[0])

    def start(self, plan: Plan) -> Run:
        """Start a new run. Its folder appears only when it is complete."""
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
