"""Control one worker: start it in the sandbox, ask it, and interpret its silence or death."""

import fcntl
import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from enum import StrEnum
from pathlib import Path
from typing import Any, Self

from eval.fault import Fault
from eval.worker.channel import Channel, Message, NotAMessage
from eval.worker.language import JudgedLanguage
from eval.worker.sandbox import SandboxLimits
from kb.errors import JudgeError
from kb.model.evidence import Outcome
from kb.model.kernels import Candidate

HERE = Path(__file__).parent
PACKAGE = HERE.parent
"""The only part of kb that a worker may import."""
SYSTEM = ("/usr", "/lib", "/lib64", "/bin", "/opt", "/etc/ld.so.cache", "/etc/alternatives", "/sys/devices/system",
          "/proc/self", "/proc/cpuinfo", "/proc/meminfo", "/proc/stat")  # fmt: skip
START_S, EXIT_S, STOP_S = 60.0, 5.0, 5.0
STILL_S = 0.002
STOPPED_CPU_S = 0.001
"""CPU time that a stopped process may use; it should use none."""
FILE_BYTES = 1 << 30
LOG_CHARACTERS, DETAIL_CHARACTERS = 2000, 4000
FOLDER = "kb-worker-"


class Guard(StrEnum):
    """A defence of the judge against cheating candidates. Tests switch one off to show that it catches them."""

    SANDBOX = "sandbox"
    CHANNEL = "channel"
    """Any message that is not an answer refuses the candidate."""
    EXIT = "exit"
    """The worker must end with status 0."""
    COMPARISON = "comparison"
    ALIASING = "aliasing"
    MUTATION = "mutation"
    FRESH_INPUTS = "fresh_inputs"
    """Every timed call gets new values, and its outputs are compared."""
    TURNS = "turns"
    """The inputs of a timed call are written just before it, while the worker is stopped: nothing is computed ahead."""
    OVERWRITING = "overwriting"
    """The judge overwrites the outputs of each call afterwards, so that none can be returned a second time."""
    AT_ONCE = "at_once"
    """Outputs are read as soon as the answer comes and must not change afterwards."""
    PAUSE = "pause"
    """The worker is stopped between questions, so that it can neither work ahead nor slow the baseline."""
    CLOCKS = "clocks"


ALL_GUARDS = frozenset(Guard)


class WorkerProcess:
    """A worker for one candidate, in its own folder, which is removed at the end. Use it as a context manager.

    It runs only during questions and is stopped between them.

    Args:
        level: Sandbox level; see eval.machine.sandbox_level.
        call_s: Time limit for one question.
        writable: Folders, besides its own, that it may write.

    Attributes:
        memory: Handle of the shared memory; see eval.worker.memory.SharedTensors.
        answer_s: Seconds from the last question to its answer, by the clock of this process.
    """

    def __init__(
        self,
        candidate: Candidate,
        language: JudgedLanguage,
        *,
        level: int,
        call_s: float,
        guards: frozenset[Guard],
        environment: Mapping[str, str],
        writable: Sequence[str] = (),
    ) -> None:
        self._call_s, self._guards, self._writable = call_s, guards, writable
        self._readable = (str(language.adapter), *language.readable())
        self.folder, self._lock = _new_folder()
        self.memory = _new_memory()
        self.answer_s = 0.0
        self._stopped_at_cpu_s: float | None = None
        (self.folder / f"candidate{language.suffix}").write_text(candidate.source, encoding="utf-8")
        self._log = (self.folder / "log").open("w+b")
        ours, theirs = os.pipe(), os.pipe()
        self._channel = Channel(theirs[0], ours[1])
        self._process = subprocess.Popen(
            self._command(level if Guard.SANDBOX in guards else 0, ours[0], theirs[1], self.memory),
            cwd=self.folder, env=self._environment(environment), stdin=subprocess.DEVNULL, stdout=self._log,
            stderr=self._log, close_fds=True, pass_fds=(ours[0], theirs[1], self.memory), start_new_session=True,
        )  # fmt: skip
        os.close(ours[0])
        os.close(theirs[1])

    def _command(self, level: int, *handles: int) -> list[str]:
        python = [sys.executable, "-I"]
        worker = [*python, str(HERE / "worker.py"), *map(str, handles), str(self.folder)]
        if level == 0:
            return worker
        limits = limits_of(
            self.folder, level=level, call_s=self._call_s, readable=self._readable, writable=self._writable
        )
        return [*python, str(HERE / "sandbox.py"), json.dumps(limits._asdict()), "--", *worker]

    def _environment(self, extra: Mapping[str, str]) -> dict[str, str]:
        here = str(self.folder)
        return {"PATH": "/usr/bin:/bin", "HOME": here, "TMPDIR": here, "TRITON_CACHE_DIR": f"{here}/triton", **extra}

    def __enter__(self) -> Self:
        try:
            self.ask("ping", within_s=START_S)
        except BaseException as error:
            self.kill()
            if not isinstance(error, Fault):
                raise
            raise JudgeError(
                f"a worker does not start: {error.detail}; {self.log}", hint="`kb doctor` says what this machine allows"
            ) from error
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def log(self) -> str:
        """The end of the candidate's output."""
        if not self._log.closed:
            size = self._log.seek(0, os.SEEK_END)
            self._log.seek(max(0, size - LOG_CHARACTERS))
            self._last_log = self._log.read().decode(errors="replace")
        return self._last_log

    def ask(self, verb: str, *, within_s: float | None = None, **fields: Any) -> Message:
        """Ask the worker and return its answer.

        Raises:
            Fault: the candidate failed, died, was too slow, or sent something that is not an answer.
        """
        token = secrets.token_hex(8)
        limit_s = within_s or self._call_s
        deadline = time.monotonic() + limit_s
        self._go_on()
        start = time.perf_counter()
        try:
            self._channel.send({"verb": verb, "token": token, **fields}, within_s=limit_s)
            answer = self._answer(token, deadline)
        except TimeoutError:
            raise Fault(Outcome.TIMED_OUT, f"no answer to `{verb}` within {limit_s:g} s") from None
        except (EOFError, BrokenPipeError):
            raise Fault(Outcome.CRASHED, f"its process {self._death()} during `{verb}`") from None
        self.answer_s = time.perf_counter() - start
        self._stop()
        if "outcome" in answer:
            refusals = (o for o in Outcome if o == answer["outcome"] and o is not Outcome.PASSED)
            detail = answer.get("detail")
            text = detail[:DETAIL_CHARACTERS] if isinstance(detail, str) else ""
            raise Fault(next(refusals, Outcome.FORGED), text)
        return answer

    def _answer(self, token: str, deadline: float) -> Message:
        while True:
            try:
                answer = self._channel.receive(within_s=max(0.0, deadline - time.monotonic()))
                if answer.pop("token", None) == token:
                    return answer
                what = ", ".join(answer)[:80]
            except NotAMessage as error:
                what = str(error)
            if Guard.CHANNEL in self._guards:
                raise Fault(Outcome.FORGED, f"this came in place of an answer: {what!r}")

    def let_run(self, seconds: float) -> None:
        """Let the worker run for a while without a question.

        Raises:
            Fault: the worker ran while it was stopped, or does not stop afterwards.
        """
        self._go_on()
        time.sleep(seconds)
        self._stop()

    def _stop(self) -> None:
        if Guard.PAUSE not in self._guards:
            return
        os.killpg(self.pid, signal.SIGSTOP)
        if not self._comes_to(os.WSTOPPED | os.WEXITED):
            raise Fault(Outcome.FORBIDDEN, "its process does not stop when it is told to")
        self._stopped_at_cpu_s = self._cpu_s_at_rest()

    def _go_on(self) -> None:
        if self._stopped_at_cpu_s is None:
            return
        if self.cpu_s() > self._stopped_at_cpu_s + STOPPED_CPU_S and not self._comes_to(os.WEXITED):
            raise Fault(Outcome.FORBIDDEN, "its process worked while it should have stood still")
        self._stopped_at_cpu_s = None
        os.killpg(self.pid, signal.SIGCONT)

    def _comes_to(self, states: int) -> bool:
        """Whether the process reaches one of these os.waitid states within STOP_S."""
        if sys.platform != "linux":
            return False
        deadline = time.monotonic() + STOP_S
        while os.waitid(os.P_PID, self.pid, states | os.WNOHANG | os.WNOWAIT) is None:
            if time.monotonic() > deadline:
                return False
            time.sleep(1e-5)
        return True

    def _cpu_s_at_rest(self) -> float:
        """Wait until the CPU time is constant: a thread that loses its core while it stops is charged for it later."""
        deadline = time.monotonic() + STOP_S
        before_s = None
        while (cpu_s := self.cpu_s()) != before_s:
            if time.monotonic() > deadline:
                raise Fault(Outcome.FORBIDDEN, "its process does not stand still when it is stopped")
            before_s = cpu_s
            time.sleep(STILL_S)
        return cpu_s

    def cpu_s(self) -> float:
        """CPU time of the worker. The number of its clock: CPUCLOCK_SCHED in Linux's posix-timers_types.h."""
        return time.clock_gettime(~self.pid << 3 | 2)

    def finish(self) -> None:
        """End the worker.

        Raises:
            Fault: it does not end, or ends with an error.
        """
        if Guard.EXIT not in self._guards:
            return
        self._go_on()
        try:
            self._channel.send({"verb": "exit", "token": ""}, within_s=EXIT_S)
            if self._process.wait(EXIT_S) == 0:
                return
        except (subprocess.TimeoutExpired, TimeoutError, BrokenPipeError):
            pass
        raise Fault(Outcome.CRASHED, f"its process {self._death()} at the end")

    def _death(self) -> str:
        try:
            status = self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            return "did not end"
        return f"died of {signal.Signals(-status).name}" if status < 0 else f"ended with status {status}"

    def kill(self) -> None:
        """Kill the worker and its child processes, and remove its folder."""
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        _ = self.log
        self._log.close()
        self._channel.close()
        os.close(self.memory)
        _remove(self.folder, self._lock)


def limits_of(
    folder: Path, *, level: int, call_s: float, readable: Sequence[str] = (), writable: Sequence[str] = ()
) -> SandboxLimits:
    """The sandbox limits of a worker in `folder`."""
    return SandboxLimits(
        level=level,
        listable=[str(PACKAGE.parent)],
        readable=[
            *SYSTEM,
            *readable,
            str(PACKAGE),
            sys.prefix,
            sys.base_prefix,
            *(p for p in sys.path[1:] if p != str(PACKAGE.parent)),
        ],
        writable=[str(folder), *writable],
        cpu_s=int(call_s * (os.cpu_count() or 1) * 4) + 60,
        file_bytes=FILE_BYTES,
    )


def _new_folder() -> tuple[Path, int]:
    """A new folder, with a lock that shows that its judge is alive. Folders of killed judges are removed first."""
    for folder in Path(tempfile.gettempdir()).glob(f"{FOLDER}*"):
        with suppress(OSError):
            _remove(folder, _locked(folder))
    while True:
        folder = Path(tempfile.mkdtemp(prefix=FOLDER))
        with suppress(BlockingIOError, FileNotFoundError):  # another judge may lock and remove it before us
            return folder, _locked(folder)


def _remove(folder: Path, lock: int) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    os.close(lock)


def _locked(folder: Path) -> int:
    """Raises OSError if another process holds the lock. The kernel releases it when the holder dies."""
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(handle)
        raise
    return handle


def _new_memory() -> int:
    """Anonymous memory to share with a worker, sealed so that neither side can shrink it."""
    if sys.platform != "linux":
        raise JudgeError("candidates are judged on Linux only", hint="run kb on a Linux machine")
    memory = os.memfd_create("kb-tensors", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    fcntl.fcntl(memory, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_SEAL)
    return memory
