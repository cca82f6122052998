"""Judges a batch on all devices of this machine: its GPUs at the same time, then its CPU.

Several judges share a GPU and take turns at timing, so that it does not wait for compilers. What fails there is judged
again after all others, by one judge alone.

It may be stopped at any moment: each verdict is in a file of its own as soon as it is known, and the next start goes on
with the candidates that have none.
"""

import fcntl
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from queue import SimpleQueue
from threading import Thread

from eval.batch.pack import VERDICTS, Batch, BatchVerdict, code_digest, read_batch, read_verdict, sealed, writing
from eval.judge.driver import LocalJudge
from eval.machine import CHOOSES_GPU, present_gpus, usable_cores
from eval.pool.turns import TURNS
from eval.worker.gpu_driver import SHARE
from kb.errors import BatchError, KbError, TaskError
from kb.storage import write_whole
from kb.types.evidence import Outcome
from kb.types.target import CPU, Isa

STOPPED = "the judge was stopped, or the machine ended, while it was judged"
MOST_SHARING, LEAST_CORES = 4, 4
"""Judges that share a GPU, at most; and the cores that each has, at least, because most of the time they compile."""
MAY_BE_DISTURBED = (Outcome.RAISED, Outcome.CRASHED, Outcome.TIMED_OUT, Outcome.FORBIDDEN, Outcome.CLOCKS_DISAGREE)
"""Refusals that count only from a judge that has the GPU for itself: others may take its memory and its time. They make
no kernel too fast."""
Tell = Callable[[str], None]


def judge_batch(folder: Path, tell: Tell) -> int:
    """Judge the candidates that have no final verdict; return how many still have none.

    A verdict is final unless the judge failed, or the machine was busy and no time counts.

    Args:
        tell: Called with a line for each candidate.

    Raises:
        BatchError: the folder is no batch, or one for another version of the judge; another process judges it; or it
            cannot be written.
    """
    batch = read_batch(folder)
    if batch.judge != code_digest():
        hint = "`python -m eval` in the folder, as it was packed, runs the judge that it holds"
        raise BatchError(f"{folder} is for another version of the judge, or its code was changed", hint=hint)
    with _held(folder):
        waiting = _open(folder, batch, tell)
        left = len(waiting)
        for isa, environments in _devices().items():
            fitting = [n for n in waiting if replace(batch.targets[batch.entries[n].target].isa, lanes=None) == isa]
            waiting = [n for n in waiting if n not in fitting]
            for verdict in _verdicts(batch, fitting, environments, folder / "cache"):
                with writing(folder):
                    file = folder / VERDICTS / str(verdict.number)
                    if file.is_symlink():  # what it leads to is not ours
                        file.unlink()
                    write_whole(file, sealed(verdict, batch.key))
                if verdict.failure != STOPPED:
                    tell(f"{batch.about(verdict.number)}: {_said(verdict)}")
                left -= _is_final(verdict)
    for number in waiting:
        tell(f"{batch.about(number)}: this machine has no such device")
    return left


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


def _open(folder: Path, batch: Batch, tell: Tell) -> list[int]:
    """The numbers of the candidates without a final verdict, those that were tried last: one may end the machine."""
    new, failed = [], []
    for number in batch.entries:
        try:
            verdict = read_verdict(folder, batch, number)
        except BatchError as error:
            tell(f"{error.message}; the candidate is judged again")
            verdict = None
        if verdict is None:
            new.append(number)
        elif not _is_final(verdict):
            failed.append(number)
    return new + failed


def _is_final(verdict: BatchVerdict) -> bool:
    return verdict.evidence is not None and not verdict.evidence.untimed


def _devices() -> dict[Isa, list[dict[str, str]]]:
    """The kinds of devices here; for each device the variables with which a judge sees no other."""
    found: dict[Isa, list[dict[str, str]]] = {}
    for name, isa in present_gpus().items():
        found.setdefault(isa, []).append({CHOOSES_GPU: name})
    return found | {Isa(CPU, platform.machine()): [{}]}


def _verdicts(
    batch: Batch, numbers: Sequence[int], environments: Sequence[Mapping[str, str]], cache: Path
) -> Iterator[BatchVerdict]:
    """The verdicts as they come; for each candidate first one that says that it was STOPPED."""
    parts = _parts(batch, numbers, len(environments))
    cores = len(usable_cores()) // len(environments)
    sharing = min(MOST_SHARING, cores // LEAST_CORES, len(parts) // len(environments))
    if sharing > 1 and all(CHOOSES_GPU in environment for environment in environments):
        with writing(cache.parent):
            cache.mkdir(exist_ok=True)
        shared = [
            {**environment, TURNS: f"{cache}/turns-{environment[CHOOSES_GPU]}", SHARE: f"{1 / sharing}"}
            for environment in environments
        ]
        unsure = []
        for verdict in _judged(batch, parts, shared * sharing, cache):
            if verdict.failure == STOPPED or _is_certain(verdict):
                yield verdict
            else:
                unsure.append(verdict.number)
        parts = _parts(batch, sorted(unsure), len(environments))
    yield from _judged(batch, parts, environments, cache)


def _parts(batch: Batch, numbers: Sequence[int], devices: int) -> list[list[int]]:
    """The candidates for the same task and target together, but no more than fall to each device."""
    by_judge: dict[tuple[str, str], list[int]] = {}
    for number in numbers:
        by_judge.setdefault((batch.entries[number].task.digest, batch.entries[number].target), []).append(number)
    most = -(-len(numbers) // devices)
    return [own[at : at + most] for own in by_judge.values() for at in range(0, len(own), most)]


def _is_certain(verdict: BatchVerdict) -> bool:
    """Whether what other judges of the same GPU did cannot be the cause."""
    return _is_final(verdict) and verdict.evidence is not None and verdict.evidence.outcome not in MAY_BE_DISTURBED


def _judged(
    batch: Batch, parts: Sequence[list[int]], environments: Sequence[Mapping[str, str]], cache: Path
) -> Iterator[BatchVerdict]:
    """The verdicts of one judge for each of the environments."""
    waiting = iter(parts)
    found: SimpleQueue[BatchVerdict | None] = SimpleQueue()
    cores = usable_cores()
    for number, environment in enumerate(environments):
        own = cores[number :: len(environments)] or cores
        # The system ends a judge with the thread that started it, and daemons end with the process.
        Thread(target=_judge_parts, args=(batch, waiting, environment, own, cache, found), daemon=True).start()
    for _ in environments:
        yield from iter(found.get, None)


def _judge_parts(
    batch: Batch,
    parts: Iterator[list[int]],
    environment: Mapping[str, str],
    cores: Sequence[int],
    cache: Path,
    found: "SimpleQueue[BatchVerdict | None]",
) -> None:
    """Judge on one device.

    Args:
        parts: Numbers of candidates for the same task and target, in lists; devices take turns at it.
        cores: The judge and all that it starts run on these: what other devices' judges do is no work of others.
        found: Gets the verdicts, and at the end None.
    """
    if sys.platform == "linux":
        os.sched_setaffinity(0, cores)  # of this thread and what it starts

    def put(number: int, **what: object) -> None:
        found.put(BatchVerdict.model_validate({"batch": batch.id, "number": number, "judge": batch.judge, **what}))

    try:
        for part in parts:
            while part:
                put(part[0], failure=STOPPED)
                entry = batch.entries[part[0]]
                isa, facts = batch.targets[entry.target].isa, batch.targets[entry.target].facts
                try:
                    with LocalJudge(
                        entry.task, target=entry.target, isa=isa, facts=facts, cache=cache, environment=environment
                    ) as judge:
                        while part:
                            evidence = judge.verify(batch.entries[part[0]].proposal.candidate)
                            put(part.pop(0), evidence=evidence, interface=judge.interface)
                            if part:
                                put(part[0], failure=STOPPED)
                except TaskError as error:
                    while part:
                        put(part.pop(0), failure=error.message)
                except KbError as error:
                    put(part.pop(0), failure=error.message)
    finally:
        found.put(None)


def _said(verdict: BatchVerdict) -> str:
    evidence = verdict.evidence
    if evidence is None:
        return f"no verdict: {verdict.failure}"
    if evidence.untimed:
        return "passed; the machine was busy, so the next start times it again"
    return f"passed, {evidence.speedup:.2f}x {evidence.timing.baseline}" if evidence.timing else evidence.outcome
