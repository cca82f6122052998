"""Judges a batch in the pool of this machine, or in that of a cluster.

It may be stopped at any moment: each verdict is in a file of its own as soon as it is known, and the next start goes on
with the candidates that have none.
"""

import fcntl
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from eval.batch.cluster import Spreading
from eval.batch.here import job_of, judged_here, kind_that_timed
from eval.batch.pack import VERDICTS, Batch, BatchVerdict, code_digest, read_batch, read_verdict, sealed, writing
from eval.batch.ray_cluster import RayCluster
from eval.pool.cards import Run, chosen_cards
from eval.pool.judging import STOPPED, is_final
from kb.errors import BatchError
from kb.storage import write_whole
from kb.types.evidence import Evidence

Tell = Callable[[str], None]


def judge_batch(folder: Path, tell: Tell, devices: str = "", pool: str = "") -> int:
    """Judge the candidates that have no final verdict; return how many still have none.

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
            if verdict.failure != STOPPED:
                tell(f"{batch.about(number)}: {_said(verdict.evidence, verdict.failure)}")
            silent.discard(number)
            left.add(number)
            if is_final(verdict.evidence):
                left.remove(number)
    for number in sorted(silent):
        kind = known.get(job_of(batch, number).run)
        timed = f"its run was timed on {kind}, and " if kind else ""
        tell(f"{batch.about(number)}: {timed}no such device judges here")
    return len(left)


def _verdicts(
    folder: Path, batch: Batch, waiting: Sequence[int], known: Mapping[Run, str], tell: Tell, devices: str, pool: str
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


def _open(folder: Path, batch: Batch, tell: Tell) -> tuple[list[int], dict[Run, str]]:
    """What is to be judged, and the kind of card that has timed candidates of a run.

    The candidates that were tried without a final verdict are the last: one may end the machine.
    """
    new, failed = list[int](), list[int]()
    known = {job_of(batch, number).run: entry.timed_on for number, entry in batch.entries.items() if entry.timed_on}
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
        elif kind := kind_that_timed(verdict.evidence):
            known.setdefault(job_of(batch, number).run, kind)
    return new + failed, known


def _said(evidence: Evidence | None, failure: str) -> str:
    if evidence is None:
        return f"no verdict: {failure}"
    if evidence.untimed:
        return "passed; the machine was busy, so the next start times it again"
    return f"passed, {evidence.speedup:.2f}x {evidence.timing.baseline}" if evidence.timing else evidence.outcome
