"""Judges a batch in the pool of this machine, or in that of a cluster.

It may be stopped at any moment: each verdict, and each setting that was timed, is in its candidate's file as soon as it
is known, and the next start goes on.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from eval.batch.cluster import Spreading
from eval.batch.here import Waiting, job_of, judged_here, kind_that_timed
from eval.batch.pack import VERDICTS, Batch, BatchVerdict, code_digest, read_batch, read_verdict, sealed, writing
from eval.batch.ray_cluster import RayCluster
from eval.pool.cards import Run, chosen_cards
from eval.pool.judging import STOPPED
from eval.pool.steps import is_final, next_step
from kb.errors import BatchError
from kb.storage import write_whole
from kb.types.evidence import Evidence

Tell = Callable[[str], None]


def judge_batch(folder: Path, tell: Tell, devices: str = "", pool: str = "") -> int:
    """Judge and tune the candidates that are not done; return how many still are not.

    A verdict is final unless the judge failed, or the machine was busy and no time counts.

    Args:
        tell: Called with a line for each candidate.
        devices: See `chosen_cards`.
        pool: The cluster whose pool judges, see RAY; empty: that of this machine does.

    Raises:
        BatchError: the folder is no batch, or one for another version of the judge; another process judges it; it
            cannot be written; or there is no such device or cluster.
        MissingLibraryError: the cluster's library is not installed.
    """
    batch = read_batch(folder)
    if batch.judge != code_digest():
        hint = "`python -m eval` in the folder, as it was packed, runs the judge that it holds"
        raise BatchError(f"{folder} is for another version of the judge, or its code was changed", hint=hint)
    with _held(folder):
        waiting, known = _open(folder, batch, tell)
        left, silent = set(waiting), set(waiting)
        for verdict in _verdicts(folder, batch, waiting, known, tell, devices, pool):
            number = verdict.number
            with writing(folder):
                file = folder / VERDICTS / str(number)
                if file.is_symlink():  # what it leads to is not ours
                    file.unlink()
                write_whole(file, sealed(verdict, batch.key))
            silent.discard(number)
            left.discard(number)
            if next_step(job_of(batch, number), verdict):
                left.add(number)
            if said := _said(verdict, is_done=number not in left):
                tell(f"{batch.about(number)}: {said}")
    for number in sorted(silent):
        kind = known.get(job_of(batch, number).run)
        timed = f"its run was timed on {kind}, and " if kind else ""
        tell(f"{batch.about(number)}: {timed}no such device judges here")
    return len(left)


def _verdicts(
    folder: Path, batch: Batch, waiting: Waiting, known: Mapping[Run, str], tell: Tell, devices: str, pool: str
) -> Iterator[BatchVerdict]:
    """See `judged_here`."""
    if not pool:
        cards, cache = chosen_cards(devices), folder / "cache"
        with writing(folder):
            cache.mkdir(exist_ok=True)
        yield from judged_here(batch, waiting, known, cards, cache)
    elif waiting:
        with RayCluster(folder, pool, devices) as cluster:
            yield from Spreading(batch, waiting, known, cluster, tell).verdicts()


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


def _open(folder: Path, batch: Batch, tell: Tell) -> tuple[Waiting, dict[Run, str]]:
    """What is to be judged, and the kind of card that has timed candidates of a run.

    The candidates that were tried without coming to an end are the last: one may end the machine.
    """
    new, begun = dict[int, BatchVerdict | None](), dict[int, BatchVerdict | None]()
    known = {job_of(batch, number).run: entry.timed_on for number, entry in batch.entries.items() if entry.timed_on}
    for number in batch.entries:
        try:
            verdict = read_verdict(folder, batch, number)
        except BatchError as error:
            tell(f"{error.message}; the candidate is judged again")
            verdict = None
        if verdict is None:
            new[number] = None
        elif next_step(job_of(batch, number), verdict):
            begun[number] = verdict
        if verdict and is_final(verdict.evidence) and (kind := kind_that_timed(verdict.evidence)):
            known.setdefault(job_of(batch, number).run, kind)
    return new | begun, known


def _said(verdict: BatchVerdict, *, is_done: bool) -> str:
    """What is told of a verdict; empty if it brings nothing to an end."""
    evidence, tried = verdict.evidence, f"{len(verdict.tried)} settings timed"
    if verdict.failure == STOPPED:
        return ""
    if evidence is None:
        return f"no verdict: {verdict.failure}"
    if verdict.failure:
        return f"{tried}, then the tuner stopped: {verdict.failure}"
    if not verdict.tried:
        return _outcome(evidence)
    if not is_done and not any(one.untimed for one in verdict.tuned):
        return ""
    best = max(verdict.tuned, key=lambda one: (one.untimed, one.speedup or 0.0), default=None)
    return f"{tried}, the best {_outcome(best)}" if best else f"{tried}, none clearly faster"


def _outcome(evidence: Evidence) -> str:
    if evidence.untimed:
        return "passed; the machine was busy, so the next start times it again"
    return f"passed, {evidence.speedup:.2f}x {evidence.timing.baseline}" if evidence.timing else evidence.outcome
