"""Read files ahead in separate processes: a file that hangs or needs too much memory fails alone."""

import json
import os
import subprocess
import sys
import time
from collections import deque
from collections.abc import Collection, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue
from subprocess import DEVNULL, PIPE

from pydantic import TypeAdapter

from ingest.builder import ParsedDocument
from ingest.scan import seen
from kb.errors import DocumentError


@dataclass(frozen=True, slots=True)
class ReaderLimits:
    size_bytes: int = 256 << 20
    seconds: float = 300
    """The slowest known manual, 387 pages of tables, took 26 s, and 81 s on a busy machine."""
    memory_bytes: int = 3 << 30
    """Address space of the process that reads the file."""


BYTES_AHEAD = 16 << 20
"""Size of the files that are read before they are needed: enough that the slowest manual holds up no other process."""

CONFINED_BY: list[str] = []
"""How the commands of these processes begin, where they may reach nothing but documents."""
DOCUMENTS = TypeAdapter(ParsedDocument)
"""Documents pass between processes as JSON: output from a parser of untrusted files is never unpickled."""


@dataclass(frozen=True, slots=True)
class ReadFile:
    sha256: str
    """Digest of the bytes that were read."""
    stamp: str
    """See ingest.scan.stamp. The file is stamped before it is read, so that the next ingest notices a later change."""
    document: ParsedDocument


def read_all(
    files: Iterable[tuple[Path, Path]], limits: ReaderLimits = ReaderLimits(), *, documents: Collection[str] = ()
) -> Generator[ReadFile | DocumentError, None, None]:
    """Read each (path, root) and yield the results in order. Close the generator to end the processes early.

    Args:
        documents: See ingest.readers.read.
    """
    count = os.cpu_count() or 1
    idle: SimpleQueue[_Process] = SimpleQueue()
    processes = [_Process(limits, documents) for _ in range(count)]
    for process in processes:
        idle.put(process)

    def read(path: Path, root: Path) -> ReadFile | DocumentError:
        process = idle.get()
        try:
            return process.read(path, root)
        finally:
            idle.put(process)

    waiting: deque[tuple[Future[ReadFile | DocumentError], int]] = deque()
    bytes_ahead = 0
    with ThreadPoolExecutor(count) as threads:
        try:
            for path, root in files:
                waiting.append((threads.submit(read, path, root), file_bytes(path)))
                bytes_ahead += waiting[-1][1]
                while bytes_ahead > BYTES_AHEAD and len(waiting) > count:
                    future, size = waiting.popleft()
                    bytes_ahead -= size
                    yield future.result()
            while waiting:
                yield waiting.popleft()[0].result()
        finally:
            for future, _ in waiting:
                future.cancel()
            for process in processes:
                process.kill()  # a thread may be waiting for its answer
            threads.shutdown()
            for process in processes:
                process.end()


def file_bytes(path: Path) -> int:
    """Return the size of a file; 0 if it is gone, which reading it reports."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


class _Process:
    """A process that reads one file after another. It starts when first needed, and again after it died."""

    def __init__(self, limits: ReaderLimits, documents: Collection[str]) -> None:
        self._limits = limits
        self._process: subprocess.Popen[bytes] | None = None
        self._killed = False
        self.tell(documents)

    def tell(self, documents: Collection[str]) -> None:
        """Tell the process, before its next file, which files are documents of their own."""
        self._documents = self._news = _line(documents=sorted(documents))

    def read(self, path: Path, root: Path) -> ReadFile | DocumentError:
        began, before = time.monotonic(), seen(path)
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None  # noqa: S101, PT018 - both are pipes
        try:
            process.stdin.write(self._news + _line(path=os.fspath(path), root=os.fspath(root)))
            process.stdin.flush()
            self._news = b""
            kind, *words = json.loads(process.stdout.readline())
            if kind == "error":
                return DocumentError(words[0], hint=words[1])
            document = DOCUMENTS.validate_json(process.stdout.readline())
        except (BrokenPipeError, ValueError):  # it died before or during its answer
            return self._death(process, path, time.monotonic() - began)
        return ReadFile(words[0], json.dumps([before, *(seen(Path(i)) for i in document.includes)]), document)

    def kill(self) -> None:
        self._killed = True
        if process := self._process:
            process.kill()

    def end(self) -> None:
        if process := self._process:
            process.kill()
            process.communicate()

    def _start(self) -> subprocess.Popen[bytes]:
        limits = (self._limits.seconds, self._limits.memory_bytes, self._limits.size_bytes)
        command = [*CONFINED_BY, sys.executable, "-P", "-m", "ingest.reading_process", *map(str, limits)]
        self._process = subprocess.Popen(command, stdin=PIPE, stdout=PIPE, stderr=DEVNULL)
        if self._killed:  # while it was being started
            self._process.kill()
        self._news = self._documents
        return self._process

    def _death(self, process: subprocess.Popen[bytes], path: Path, seconds: float) -> DocumentError:
        self._process = None
        process.kill()  # it may still run, after an invalid answer
        code = process.wait()
        process.communicate()
        most = self._limits.seconds
        reason = f"took more than {most:g} s to read" if seconds >= most else f"crashed its reader (status {code})"
        return DocumentError(f"{path} {reason}", hint="please report it with the document")


def _line(**values: object) -> bytes:
    return json.dumps(values).encode() + b"\n"
