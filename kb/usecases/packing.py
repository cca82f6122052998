"""Writes candidates into a folder, which a machine with their device can judge."""

import secrets
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from eval.batch.here import kind_that_timed
from eval.batch.pack import Batch, Entry, TargetFacts, code_digest, must_be_new, sealed, write_batch
from eval.devices.registry import timed_languages
from kb.catalog import storage_errors
from kb.errors import BatchError, CandidateError
from kb.runs.journal import Plan, Run, SynthesizerKind
from kb.storage import write_whole
from kb.tuner import FINALISTS
from kb.types.kernels import Task
from kb.types.protocols import Proposal
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home


def pack_runs(home: Home, folder: Path, runs: Iterable[Run]) -> Batch:
    """Write the candidates of runs that passed without being timed, or are not judged yet, into a new folder.

    Raises:
        BatchError: there are none for a CPU or a GPU; or the folder exists or cannot be written.
    """
    must_be_new(folder)
    entries = [entry for run in runs for entry in entries_of(run, timed_languages(home.targets.isa(run.plan.target)))]
    return pack(home, folder, entries)


def entry_of(run: Run, proposal: Proposal, known: str = "") -> Entry:
    """A candidate of a run, with the kind of card that has timed others: of the journal, or else the known one."""
    kind = timed_on(run) or known
    plan = run.plan
    return Entry(run=run.id, task=plan.task, target=plan.target, proposal=proposal, timed_on=kind, seed=plan.seed)


def entries_of(run: Run, languages: Collection[str]) -> Iterator[Entry]:
    """Those of a run. It tunes within its limit; of kernels that differ in their settings alone, only the first."""
    plan, known = run.plan, {one.template for one in run.tried}
    is_tuned = plan.synthesizer is not SynthesizerKind.EXTERNAL and plan.search == "two-level"
    left = run.evaluations_left - (run.pending is not None) if is_tuned and "tuner" not in plan.without else 0
    for proposal in run.untimed:
        if (kernel := proposal.candidate).language in languages:
            is_new = kernel.parameters and kernel.template_digest not in known
            finalists = max(0, min(FINALISTS, left)) if is_new else 0
            left -= finalists
            known.add(kernel.template_digest)
            yield entry_of(run, proposal).model_copy(update={"finalists": finalists})


def timed_on(run: Run) -> str:
    """The kind of card that has timed candidates of a run; empty if none has."""
    return next(filter(None, (kind_that_timed(attempt.evidence) for attempt in run.attempts)), "")


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
    return pack(home, folder, entries)


def pack(home: Home, folder: Path, entries: Sequence[Entry]) -> Batch:
    """Write candidates into a new folder. Raises BatchError if there are none, or it cannot be written."""
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
    own = own_copy(home, batch)
    with storage_errors(home.settings.home):
        write_whole(own, sealed(batch, batch.key))
        own.chmod(0o600)
    write_batch(batch, folder)
    return batch


def own_copy(home: Home, batch: Batch) -> Path:
    """What the home keeps of a batch, with which its verdicts are compared."""
    return home.settings.home / "batches" / batch.id
