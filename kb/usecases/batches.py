"""Takes the verdicts of batches back into the runs."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from eval.batch.here import job_of
from eval.batch.pack import BATCH, Batch, BatchVerdict, read_batch, read_verdict
from eval.languages.registry import language_named
from eval.pool.steps import is_half_tuned
from kb.catalog import storage_errors
from kb.errors import BatchError, RunError
from kb.runs.journal import Run
from kb.types.base import Frozen
from kb.types.evidence import Evidence
from kb.types.protocols import Proposal
from kb.usecases.home import Home
from kb.usecases.packing import own_copy
from kb.usecases.running import loop_of
from synth.search.moves import tuned_proposal


class Taken(Frozen):
    """What a batch brought."""

    batch: str
    new: int
    """Number of attempts that have a verdict now and had none, or one of a screen."""
    runs: tuple[str, ...]
    """Ids of the runs that have the verdicts."""
    missing: tuple[str, ...]
    """What it did not bring, and why."""


def take(home: Home, folder: Path) -> Taken:
    """Take what a batch has found back into the runs, each verdict and setting once, and save wins as skills.

    Raises:
        BatchError: the folder is no batch that this home packed.
        StoreError: the home cannot be written.
    """
    batch = read_batch(folder)
    with storage_errors(home.settings.home):
        own = own_copy(home, batch)
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
            if is_half_tuned(job_of(batch, number), verdict):
                missing.append(f"{batch.about(number)}: the tuner has not come to its end")
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
    """Take what was found into one run; return how many attempts got a verdict. Raises RunError if it takes none."""
    if any(batch.entries[verdict.number].task != run.plan.task for verdict in verdicts):
        raise RunError(f"run {run.id} has another task than when it was packed", hint="pack it again")
    interface = next(verdict.interface for verdict in verdicts if verdict.interface)
    tried = [one for verdict in verdicts for one in verdict.tried]
    loop = loop_of(home, run, language=language_named(run.plan.language))
    return loop.take(_proposed(run, batch, verdicts), interface, batch=batch.id, tried=tried)


def _proposed(run: Run, batch: Batch, verdicts: Sequence[BatchVerdict]) -> Iterator[tuple[Proposal, Evidence]]:
    """Each verdict with its proposal. Those on settings come when the run has those on the kernels as written."""
    for verdict in verdicts:
        if verdict.evidence:
            yield batch.entries[verdict.number].proposal, verdict.evidence
    for verdict in verdicts:
        kernel, tried = batch.entries[verdict.number].proposal.candidate, verdict.tried
        settings = {one.digest: one for one in (kernel.with_parameters(point.values) for point in tried)}
        number = min(run.verdicts(kernel))
        for evidence in verdict.tuned:
            setting = settings[evidence.candidate_digest]
            yield tuned_proposal(run.attempts[number - 1], number, setting, len(tried)), evidence
