"""Packs candidates for a machine that has their device, and takes the verdicts back into the runs."""

import secrets
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from eval.batch.pack import (
    BATCH,
    Batch,
    BatchVerdict,
    Entry,
    TargetFacts,
    code_digest,
    must_be_new,
    read_batch,
    read_verdict,
    sealed,
    write_batch,
)
from eval.devices.registry import timed_languages
from eval.languages.registry import language_named
from kb.catalog import storage_errors
from kb.errors import BatchError, CandidateError, RunError
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.storage import write_whole
from kb.types.base import Frozen
from kb.types.kernels import Task
from kb.types.protocols import Proposal
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from kb.usecases.running import loop_of


class Taken(Frozen):
    """What a batch brought."""

    batch: str
    new: int
    """Number of attempts that have a verdict now and had none, or one of a screen."""
    runs: tuple[str, ...]
    """Ids of the runs that have the verdicts."""
    missing: tuple[str, ...]
    """What it did not bring, and why."""


def pack_runs(home: Home, folder: Path, runs: Iterable[Run]) -> Batch:
    """Write the candidates of runs that passed without being timed, or are not judged yet, into a new folder.

    Raises:
        BatchError: there are none for a CPU or a GPU; or the folder exists or cannot be written.
    """
    must_be_new(folder)
    entries = [
        Entry(run=run.id, task=run.plan.task, target=run.plan.target, proposal=proposal)
        for run in runs
        for proposal in run.untimed
        if proposal.candidate.language in timed_languages(home.targets.isa(run.plan.target))
    ]
    return _pack(home, folder, entries)


def pack_candidates(home: Home, folder: Path, task: Task, target: str, proposals: Iterable[Proposal]) -> Batch:
    """Write candidates for a task into a new folder, and start a run for each of their languages.

    Raises:
        TargetError: `target` is unknown.
        CandidateError: no device of its kind times kernels in one of the languages.
        BatchError: there are none; or the folder exists or cannot be written.
    """
    must_be_new(folder)
    name = home.targets.get(target).name
    known = timed_languages(home.targets.isa(name))
    by_language: dict[str, list[Proposal]] = {}
    for proposal in proposals:
        by_language.setdefault(proposal.candidate.language, []).append(proposal)
    if unknown := by_language.keys() - {*known}:
        hint = f"write {' or '.join(known)}" if known else "kb times kernels on CPUs and GPUs"
        raise CandidateError(f"no device times {' or '.join(sorted(unknown))} kernels for {name}", hint=hint)
    entries = []
    for language, own in by_language.items():
        hand = SynthesizerKind.EXTERNAL
        run = home.runs.start(Plan(task=task, target=name, language=language, synthesizer=hand, evaluations=len(own)))
        entries += [Entry(run=run.id, task=task, target=name, proposal=proposal) for proposal in own]
    return _pack(home, folder, entries)


def _pack(home: Home, folder: Path, entries: Sequence[Entry]) -> Batch:
    if not entries:
        hint = "of runs, those wait that passed without being timed, or are not judged yet"
        raise BatchError("no candidate waits for a device", hint=hint)
    isas = {entry.target: isa for entry in entries if (isa := home.targets.isa(entry.target))}
    batch = Batch(
        id=f"{datetime.now(UTC):%Y%m%d-%H%M%S}-{secrets.token_hex(4)}",
        key=secrets.token_hex(32),
        judge=code_digest(),
        targets={name: TargetFacts(isa=isa, facts=tuple(known_facts(home, name))) for name, isa in isas.items()},
        entries=dict(enumerate(entries, start=1)),
    )
    own = _own_copy(home, batch)
    with storage_errors(home.settings.home):
        write_whole(own, sealed(batch, batch.key))
        own.chmod(0o600)
    write_batch(batch, folder)
    return batch


def _own_copy(home: Home, batch: Batch) -> Path:
    return home.settings.home / "batches" / batch.id


def take(home: Home, folder: Path) -> Taken:
    """Take the verdicts of a batch back into the runs, each once, and save wins as skills.

    Raises:
        BatchError: the folder is no batch that this home packed.
        StoreError: the home cannot be written.
    """
    batch = read_batch(folder)
    with storage_errors(home.settings.home):
        own = _own_copy(home, batch)
        if not own.is_file() or own.read_bytes() != (folder / BATCH).read_bytes():
            raise BatchError(f"this home did not pack {folder}", hint="take it into the home that packed it")
    missing, found = list[str](), dict[str, list[BatchVerdict]]()
    for number, entry in batch.entries.items():
        try:
            verdict = read_verdict(folder, batch, number)
        except BatchError as error:
            missing.append(error.message)
            continue
        if verdict and verdict.evidence:
            found.setdefault(entry.run, []).append(verdict)
        else:
            missing.append(f"{batch.about(number)}: {verdict.failure if verdict else 'it is not judged yet'}")
    new: dict[str, int] = {}
    for run_id, verdicts in found.items():
        try:
            new[run_id] = _take_into(home, home.runs.get(run_id), batch, verdicts)
        except RunError as error:
            missing.append(error.message)
    return Taken(batch=batch.id, new=sum(new.values()), runs=tuple(new), missing=tuple(missing))


def _take_into(home: Home, run: Run, batch: Batch, verdicts: Sequence[BatchVerdict]) -> int:
    """Take verdicts into one run; return how many attempts got one. Raises RunError if the run does not take them."""
    if any(batch.entries[verdict.number].task != run.plan.task for verdict in verdicts):
        raise RunError(f"run {run.id} has another task than when it was packed", hint="pack it again")
    interface = next(verdict.interface for verdict in verdicts if verdict.interface)
    pairs = [(batch.entries[verdict.number].proposal, verdict.evidence) for verdict in verdicts if verdict.evidence]
    return loop_of(home, run, language=language_named(run.plan.language)).take(pairs, interface, batch=batch.id)
