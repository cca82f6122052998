"""The judge's hold on one worker: starts it confined, asks it, and says what its silence or death means."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from eval.channel import Channel, Message, NotAMessage
from eval.fault import Fault
from eval.sandbox import Limits
from kb.errors import JudgeError
from kb.evidence import Outcome
from kb.kernels import Candidate

HERE = Path(__file__).parent
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system",
          "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat")  # fmt: skip
START_S, EXIT_S = 60.0, 5.0
FILE_BYTES = 1 << 30
LOG_CHARACTERS = 2000
SHARED_MEMORY = Path("/dev/shm")  # noqa: S108 - only to make a private folder in
ROOM_BYTES = 2 << 30


class Guard(StrEnum):
    """What the judge does against candidates that cheat. Tests switch one off to show that it is what catches them."""

    SANDBOX = "sandbox"
    CHANNEL = "channel"
    """Whatever comes that is no answer refuses the candidate."""
    EXIT = "exit"
    """The worker must end well."""
    COMPARISON = "comparison"
    ALIASING = "aliasing"
    MUTATION = "mutation"
    FRESH_INPUTS = "fresh_inputs"
    """Other values at the same addresses before every timed round, and the outputs of that round compared."""
    AT_ONCE = "at_once"
    """Outputs are read when the answer comes, and must stay as they are."""
    CLOCKS = "clocks"


ALL_GUARDS = frozenset(Guard)


class WorkerProcess:
    """A worker for one candidate, in a folder of its own that vanishes with it. Use it as a context manager.

    Args:
        level: Of the sandbox; see eval.machine.sandbox_level.
        call_s: Longest time one question may take.
    """

    def __init__(
        self,
        candidate: Candidate,
        *,
        level: int,
        call_s: float,
        guards: frozenset[Guard],
        environment: Mapping[str, str],
    ) -> None:
        self._call_s, self._guards = call_s, guards
        self.folder = _new_folder()
        (self.folder / f"candidate{candidate.language.suffix}").write_text(candidate.source, encoding="utf-8")
        self._log = (self.folder / "log").open("w+b")
        ours, theirs = os.pipe(), os.pipe()
        self._channel = Channel(theirs[0], ours[1])
        self._process = subprocess.Popen(
            self._command(level if Guard.SANDBOX in guards else 0, ours[0], theirs[1]),
            cwd=self.folder, env=self._environment(environment), stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, close_fds=True, pass_fds=(ours[0], theirs[1]), start_new_session=True,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])

    def _command(self, level: int, read_fd: int, write_fd: int) -> list[str]:
        python = [sys.executable, "-I"]
        worker = [*python, str(HERE / "worker.py"), str(read_fd), str(write_fd), str(self.folder)]
        if level == 0:
            return worker
        limits = Limits(
            level=level,
            listable=[str(HERE.parent)],
            readable=[
                *SYSTEM,
                str(HERE),
                sys.prefix,
                sys.base_prefix,
                *(p for p in sys.path[1:] if p != str(HERE.parent)),
            ],
            writable=[str(self.folder)],
            cpu_s=int(self._call_s * (os.cpu_count() or 1) * 4) + 60,
            file_bytes=FILE_BYTES,
        )
        return [*python, str(HERE / "sandbox.py"), json.dumps(limits._asdict()), "--", *worker]

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        here = str(self.folder)
        return {"PATH": "/usr/bin:/bin", "HOME": here, "TMPDIR": here, "TRITON_CACHE_DIR": f"{here}/triton", **extra}

    def __enter__(self) -> Self:
        try:
            self.ask("ping", within_s=START_S)
        except Fault as fault:
            self.kill()
            raise JudgeError(
                f"a worker does not start: {fault.detail}; {self.log}", hint="`kb doctor` says what this machine allows"
            ) from fault
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of what the candidate printed."""
        if not self._log.closed:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - LOG_CHARACTERS))
            self._last_log = self._log.read().decode(errors="replace")
        return self._last_log

    def ask(self, verb: str, *, within_s: float | None = None, **fields: Any) -> Message:
        """The worker's answer.

        Raises:
            Fault: the candidate failed, died, was too slow, or spoke out of turn.
        """
        token = secrets.token_hex(8)
        limit_s = within_s or self._call_s
        deadline = time.monotonic() + limit_s
        try:
            self._channel.send({"verb": verb, "token": token, **fields})
            answer = self._answer(token, deadline)
        except TimeoutError:
            raise Fault(Outcome.TIMED_OUT, f"no answer to `{verb}` within {limit_s:g} s") from None
        except (EOFError, BrokenPipeError):
            raise Fault(Outcome.CRASHED, f"its process {self._death()} during `{verb}`") from None
        if "outcome" in answer:
            raise Fault(Outcome(answer["outcome"]), str(answer["detail"]))
        return answer

    def _answer(self, token: str, deadline: float) -> Message:
        while True:
            try:
                answer = self._channel.receive(within_s=max(0.0, deadline - time.monotonic()))
                if answer.get("token") == token:
                    return answer
                what = str(answer)[:80]
            except NotAMessage as error:
                what = str(error)
            if Guard.CHANNEL in self._guards:
                raise Fault(Outcome.FORGED, f"this came in place of an answer: {what!r}")

    def finish(self) -> None:
        """End the worker.

        Raises:
            Fault: it does not end, or not well.
        """
        if Guard.EXIT not in self._guards:
            return
        try:
            self._channel.send({"verb": "exit", "token": ""})
            if self._process.wait(EXIT_S) == 0:
                return
        except (subprocess.TimeoutExpired, BrokenPipeError):
            pass
        raise Fault(Outcome.CRASHED, f"its process {self._death()} at the end")

    def _death(self) -> str:
        try:
            status = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return "did not end"
        return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

    def kill(self) -> None:
        """End the worker and all it started, and remove its folder."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        _ = self.log
        self._log.close()
        self._channel.close()
        shutil.rmtree(self.folder, ignore_errors=True)


def _new_folder() -> Path:
    """In memory, where there is room: pages that the judge rewrites are then never written to a disk.

    Folders of judges that were killed are removed on the way.
    """
    try:
        parent = SHARED_MEMORY if shutil.disk_usage(SHARED_MEMORY).free > ROOM_BYTES else Path(tempfile.gettempdir())
    except OSError:
        parent = Path(tempfile.gettempdir())
    for folder in parent.glob("kb-worker-*-*"):
        if not Path(f"/proc/{folder.name.split('-')[2]}").exists():
            shutil.rmtree(folder, ignore_errors=True)
    return Path(tempfile.mkdtemp(prefix=f"kb-worker-{os.getpid()}-", dir=parent))
