"""Judges a batch on the cards of this machine: its GPUs at the same time, then its CPU.

It may be stopped at any moment: each verdict is in a file of its own as soon as it is known, and the next start goes on
with the candidates that have none.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from eval.batch.pack import VERDICTS, Batch, BatchVerdict, code_digest, read_batch, read_verdict, sealed, writing
from eval.judge.driver import LocalJudge
from eval.pool.cards import Job, Run, chosen_cards, kinds_of
from eval.pool.judging import STOPPED, Judging, is_final
from kb.errors import BatchError
from kb.storage import write_whole
from kb.types.evidence import Evidence
from kb.types.target import CPU

Tell = Callable[[str], None]


def judge_batch(folder: Path, tell: Tell, devices: str = "") -> int:
    """Judge the candidates that have no final verdict; return how many still have none.

    A verdict is final unless the judge failed, or the machine was busy and no time counts.

    Args:
        tell: Called with a line for each candidate.
        devices: See `chosen_cards`.

    Raises:
        BatchError: the folder is no batch, or one for another version of the judge; another process judges it; it
            cannot be written; or there is no such device.
    """
    batch = read_batch(folder)
    if batch.judge != code_digest():
        hint = "`python -m eval` in the folder, as it was packed, runs the judge that it holds"
        raise BatchError(f"{folder} is for another version of the judge, or its code was changed", hint=hint)
    cards = chosen_cards(devices)
    jobs = {number: _job(batch, number) for number in batch.entries}
    cache = folder / "cache"

    def start(job: Job, environment: Mapping[str, str]) -> LocalJudge:
        entry = batch.entries[job.number]
        isa, facts = batch.targets[entry.target].isa, batch.targets[entry.target].facts
        return LocalJudge(entry.task, target=entry.target, isa=isa, facts=facts, cache=cache, environment=environment)

    with _held(folder):
        waiting, known = _open(folder, batch, jobs, tell)
        left, by_kind = set(waiting), kinds_of([jobs[number] for number in waiting], known, cards)
        with writing(folder):
            cache.mkdir(exist_ok=True)
        on_cpu = {CPU: by_kind.pop(CPU, [])}
        for some in (by_kind, on_cpu):
            for found in Judging(start, cache).found(some, cards):
                verdict = BatchVerdict(batch=batch.id, judge=batch.judge, **found._asdict())
                with writing(folder):
                    file = folder / VERDICTS / str(found.number)
                    if file.is_symlink():  # what it leads to is not ours
                        file.unlink()
                    write_whole(file, sealed(verdict, batch.key))
                if found.failure != STOPPED:
                    tell(f"{batch.about(found.number)}: {_said(found.evidence, found.failure)}")
                left.add(found.number)
                if is_final(found.evidence):
                    left.remove(found.number)
    placed = {job.number for some in (by_kind, on_cpu) for own in some.values() for job in own}
    for number in sorted(left - placed):
        kind = known.get(jobs[number].run)
        timed = f"its run was timed on {kind}, and " if kind else ""
        tell(f"{batch.about(number)}: {timed}no such device judges here")
    return len(left)


def _job(batch: Batch, number: int) -> Job:
    entry = batch.entries[number]
    isa = replace(batch.targets[entry.target].isa, lanes=None)
    return Job(number, entry.proposal.candidate, (entry.run, entry.target), (entry.task.digest, entry.target), isa)


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """Keep other processes from judging the batch. The lock ends with the process."""
    with writing(folder):
        lock = (folder / ".lock").open("w")
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise BatchError(f"another process judges {folder}", hint="wait for it to end") from None
        yield


def _open(folder: Path, batch: Batch, jobs: Mapping[int, Job], tell: Tell) -> tuple[list[int], dict[Run, str]]:
    """What is to be judged, and the kind of GPU that has timed candidates of a run.

    The candidates that were tried without a final verdict are the last: one may end the machine.
    """
    new, failed, known = list[int](), list[int](), dict[Run, str]()
    for number in batch.entries:
        try:
            verdict = read_verdict(folder, batch, number)
        except BatchError as error:
            tell(f"{error.message}; the candidate is judged again")
            verdict = None
        if verdict is None:
            new.append(number)
        elif not is_final(verdict.evidence):
            failed.append(number)
        elif verdict.evidence and verdict.evidence.timing and (kind := verdict.evidence.environment.get("gpu")):
            known.setdefault(jobs[number].run, kind)
    return new + failed, known


def _said(evidence: Evidence | None, failure: str) -> str:
    if evidence is None:
        return f"no verdict: {failure}"
    if evidence.untimed:
        return "passed; the machine was busy, so the next start times it again"
    return f"passed, {evidence.speedup:.2f}x {evidence.timing.baseline}" if evidence.timing else evidence.outcome
