"""A cluster by Ray. Nothing else imports ray.

Ray carries the batch to each node as the working directory of its worker, and nothing but the batch's own code runs
there. A worker has a whole node, so that nothing else that Ray runs disturbs its times.
"""

import os
import socket
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self
from urllib.parse import urlsplit
from warnings import catch_warnings
from zipfile import ZIP_DEFLATED, ZipFile

from eval.batch.cluster import Answer, Lost
from eval.batch.here import Waiting, judged_here
from eval.batch.pack import BATCH, ROOT, BatchVerdict, code_digest, code_files, read_batch, writing
from eval.pool.cards import Card, Run, chosen_cards
from kb.errors import BatchError, KbError, MissingLibraryError, is_installed

RAY = "ray"
"""A pool of this name is the cluster whose address RAY_ADDRESS has, or that runs here; `ray://HOST:PORT` another."""
POLL_S = 1.0
STARTS = "`ray start --head` starts one here; KB_POOL or --pool names another, as ray://HOST:10001"
ANSWER_S = 10.0
"""kb waits so many seconds for a connection to an address. Ray itself would try for minutes."""


class Worker:
    """Judges on one node. It is lost with the node, and then starts nowhere else.

    Args:
        devices: See `chosen_cards`.
    """

    def __init__(self, devices: str) -> None:
        self._devices, self._cards = devices, list[Card]()
        self._found: Iterator[BatchVerdict] = iter(())
        os.environ.pop("OMP_NUM_THREADS", None)  # Ray sets it; torch chooses as on a machine without Ray

    def next(self, part: Waiting, known: Mapping[Run, str]) -> BatchVerdict | list[Card]:
        """See `Cluster.ask`. Raises RuntimeError, because Ray cannot carry a KbError."""
        try:
            if not self._cards:
                self._cards = chosen_cards(self._devices)
            if part:
                self._found = self._judged(part, known)
            return next(self._found, self._cards)
        except KbError as error:
            raise RuntimeError(error.message) from None

    def _judged(self, part: Waiting, known: Mapping[Run, str]) -> Iterator[BatchVerdict]:
        batch, cache = read_batch(ROOT), ROOT / "cache"
        if batch.judge != code_digest():
            raise BatchError("its Python finds another version of the judge", hint="uninstall kb there")
        cache.mkdir(exist_ok=True)
        yield from judged_here(batch, part, known, self._cards, cache)


class RayCluster:
    """The nodes of a Ray cluster that have CPUs. Use it as a context manager.

    Args:
        folder: The batch.
        pool: See RAY.
        devices: See `chosen_cards`; each node has these.

    Raises:
        MissingLibraryError: ray is not installed.
        BatchError: there is no such cluster. Each method raises it if the cluster fails.
    """

    def __init__(self, folder: Path, pool: str, devices: str = "") -> None:
        if not is_installed("ray"):
            raise MissingLibraryError("ray")
        os.environ.setdefault("RAY_CLIENT_MAX_CONNECTION_TIMEOUT_S", "5")  # its client tries three times
        import ray

        self._ray, self._devices = ray, devices
        self._has = dict[str, dict[str, float]]()
        """Resources of each node."""
        self._workers, self._asked = dict[str, Any](), dict[Any, str]()
        where = os.environ.get("RAY_ADDRESS", "") if pool == RAY else pool
        none = f"no Ray cluster answers {f'at {where}' if where else 'here'}"
        with _failing(none, STARTS):
            _must_answer(where)
        with TemporaryDirectory() as carried:
            environment = {"working_dir": _zipped(folder, Path(carried, "batch.zip"))}
            with _failing(none, STARTS), catch_warnings(action="ignore"):
                ray.init(where or "auto", runtime_env=environment, log_to_driver=False, logging_level="ERROR")

    def machines(self) -> Collection[str]:
        with _failing():
            alive = (node for node in self._ray.nodes() if node["Alive"] and node["Resources"].get("CPU"))
            self._has = {node["NodeID"]: node["Resources"] for node in alive}
        return self._has

    def ask(self, machine: str, part: Waiting | None = None, known: Mapping[Run, str] | None = None) -> None:
        with _failing():
            if machine not in self._workers:
                there = self._ray.util.scheduling_strategies.NodeAffinitySchedulingStrategy(machine, soft=False)
                cpus, gpus = self._has[machine]["CPU"], self._has[machine].get("GPU", 0)
                whole = self._ray.remote(num_cpus=cpus, num_gpus=gpus, scheduling_strategy=there, max_restarts=0)
                self._workers[machine] = whole(Worker).remote(self._devices)
            self._asked[self._workers[machine].next.remote(part or {}, known or {})] = machine

    def answers(self) -> Sequence[tuple[str, Answer]]:
        if not self._asked:
            time.sleep(POLL_S)
            return []
        with _failing():
            ready, _ = self._ray.wait([*self._asked], timeout=POLL_S)
            return [(self._asked[ref], self._answer(ref)) for ref in ready]

    def _answer(self, ref: Any) -> Answer:
        machine = self._asked.pop(ref)
        try:
            answer: Answer = self._ray.get(ref)
        except self._ray.exceptions.RayError as error:
            del self._workers[machine]  # without a reference Ray ends it
            is_said = isinstance(error, self._ray.exceptions.RayTaskError)  # by the worker, which says it again
            return Lost(str(error.cause) if is_said else type(error).__name__, again=not is_said)
        return answer

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._ray.shutdown()


def _zipped(folder: Path, file: Path) -> str:
    """Write what nodes need of a batch; return the file. Ray carries 512 MiB at most, and would not compress them."""
    with writing(file.parent), ZipFile(file, "w", ZIP_DEFLATED, strict_timestamps=False) as whole:
        for name in (Path(BATCH), *code_files()):
            whole.write(folder / name, name)
    return str(file)


def _must_answer(address: str) -> None:
    """Raises OSError if nothing answers at an address that has a port, or ValueError if it is none."""
    place = urlsplit(address if "://" in address else f"//{address}")
    if place.hostname and place.port:
        socket.create_connection((place.hostname, place.port), ANSWER_S).close()


@contextmanager
def _failing(
    what: str = "the Ray cluster has failed", hint: str = "the same command goes on with what has no verdict"
) -> Iterator[None]:
    """Turn errors of Ray, which have no class in common, into a BatchError."""
    try:
        yield
    except Exception as error:
        raise BatchError(f"{what}: {getattr(error, 'strerror', None) or error}", hint=hint) from error
