"""Control one worker: start it in the sandbox, ask it, and interpret its silence or death."""

import json
import os
import secrets
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from enum import StrEnum
from typing import Any, Self, Unpack

from eval.fault import Fault, signal_name
from eval.supervisor.compiled import Compiled, keep, names_in, restore
from eval.supervisor.folder import new_folder, remove
from eval.supervisor.forked import START_S, Process
from eval.supervisor.language import JudgedLanguage
from eval.supervisor.launch import TRITON, Launch, LaunchSettings, end, kill
from eval.supervisor.limits import cpu_limit_s
from eval.supervisor.rate_limit import RateLimit
from eval.supervisor.tree import ProcessTree
from eval.worker.channel import CLOSED, Channel, Message, NotAMessage, message_of
from eval.worker.mapping import new_memory
from eval.worker.zygote import Handles
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate

DEATH_S = 5.0
LIMITS_S = 0.05
"""Time between two looks at what an answering worker uses of the machine."""
LOG_CHARACTERS, DETAIL_CHARACTERS = 2000, 4000


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
    TOGETHER = "together"
    """Several calls are timed together as well: what a candidate hides in a question is shared by them."""


ALL_GUARDS = frozenset(Guard)


class WorkerProcess:
    """A worker for one candidate, in its own folder, which is removed at the end. Use it as a context manager.

    It runs only during questions and is stopped between them. It may start before it has its candidate; see `warm`.

    Args:
        level: Sandbox level; see eval.machine.sandbox_level.
        call_s: Time limit for one question.
        memory: Handle of the memory to share with it, which stays open; None: it gets memory of its own.
        settings: What it may use and needs.

    Attributes:
        memory: Handle of the shared memory; see eval.supervisor.memory.SharedTensors.
        answer_s: Seconds from the last question to its answer, by the clock of this process.
        late_s: Seconds that `then` of the last call took.
        busy: The looks at whether a GPU works while this worker stands still.
        at_end: What to release once the process has ended.
    """

    def __init__(
        self,
        language: JudgedLanguage,
        *,
        level: int,
        call_s: float,
        guards: frozenset[Guard],
        memory: int | None = None,
        **settings: Unpack[LaunchSettings],
    ) -> None:
        self._language, self._call_s, self._guards = language, call_s, guards
        self.folder, self._lock = new_folder()
        self.memory = new_memory() if memory is None else os.dup(memory)
        self.answer_s = self.late_s = 0.0
        self.busy = RateLimit()
        self.at_end = ExitStack()
        self._compiled: Compiled = {}
        self._log = (self.folder / "log").open("a+b")
        self._channel = Channel(CLOSED, CLOSED)
        self._level = level if Guard.SANDBOX in guards else 0
        self._launch = Launch(language, self.folder, self._log, level=self._level, call_s=call_s, **settings)
        self._process: Process | None = None
        self._interrupted = False

    def give(self, candidate: Candidate, compiled: Compiled | None = None) -> Self:
        """Give it its candidate, before it is entered.

        Args:
            compiled: What compilers made of the candidate in its first worker, which fills this in.
        """
        (self.folder / f"candidate{self._language.suffix}").write_text(candidate.source, encoding="utf-8")
        self._compiled = {} if compiled is None else compiled
        restore(self._compiled, self.folder)
        return self

    def warm(self) -> None:
        """Start, and load what all candidates need; errors as in `ask`."""
        try:
            self._start()
            self.ask("warm", adapter=str(self._language.adapter))
        except BaseException:
            self.kill()
            raise

    def __enter__(self) -> Self:
        try:
            if self._process is None:
                self._start()
            if self._launch.compiler and not self._compiled:
                before = names_in(self.folder)
                self._launch.compile()
                keep(self._compiled, self.folder, known=before)
        except BaseException:
            self.kill()
            raise
        return self

    def _start(self) -> None:
        ours, theirs = os.pipe(), os.pipe()
        self._channel = Channel(theirs[0], ours[1])
        try:
            handles = Handles(ours[0], theirs[1], self.memory, self._log.fileno())
            self._process = self._launch.worker(handles, lambda: not self._interrupted)
        finally:
            os.close(ours[0])
            os.close(theirs[1])
        self._tree = ProcessTree(self.pid, self.folder, alone=self._launch.alone and self._level > 1)
        try:
            self.ask("ping", within_s=START_S)
        except Fault as fault:
            raise JudgeError(
                f"a worker does not start: {fault.detail}; {self.log}", hint="`kb doctor` says what this machine allows"
            ) from fault

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def lives(self) -> bool:
        """Whether its process has started and not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def lasts(self) -> bool:
        """Whether it lives, and has not used half of the CPU time that the sandbox allows it."""
        return self.lives and self._tree.cpu_s() < cpu_limit_s(self._call_s) / 2

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def _running(self) -> Process:
        if self._process is None:
            raise RuntimeError("the worker has not been started")
        return self._process

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
        return self._asked(verb, json.dumps({"verb": verb, "token": token, **fields}), token, within_s)

    def start_call(self, *, within_s: float | None = None, then: Callable[[], None] = lambda: None) -> Message:
        """Start the call for which the worker has got ready; errors as in `ask`.

        Args:
            then: What is done at once after the time of the call was taken, before the worker is stopped.

        Returns:
            As text: its `seconds` by the clock inside the worker, those from start to answer as `awake_s`, and the
            `places` of its outputs.
        """
        token = secrets.token_hex(8)
        return self._asked("call", token, token, within_s, then)

    def _asked(
        self, verb: str, question: str, token: str, within_s: float | None, then: Callable[[], None] = lambda: None
    ) -> Message:
        limit_s, line = within_s or self._call_s, question.encode()
        deadline = time.monotonic() + limit_s
        self._tree.check_rest()
        start = time.perf_counter()
        try:
            if len(line) < select.PIPE_BUF:  # sent while it is stopped, and timed from before it wakes
                self._channel.send_line(line, within_s=limit_s)
                start = time.perf_counter()
                self._tree.wake()
            else:
                self._tree.wake()
                self._channel.send_line(line, within_s=limit_s)
            answer = self._answer(token, deadline)
        except TimeoutError:
            raise Fault(Outcome.TIMED_OUT, f"no answer to `{verb}` within {limit_s:g} s") from None
        except (EOFError, BrokenPipeError):
            raise Fault(Outcome.CRASHED, f"its process {self._death()} during `{verb}`") from None
        self.answer_s = time.perf_counter() - start
        then()
        self.late_s = self._stop() - start - self.answer_s
        if "outcome" in answer:
            refusals = (o for o in Outcome if o == answer["outcome"] and o is not Outcome.PASSED)
            detail = answer.get("detail")
            text = detail[:DETAIL_CHARACTERS] if isinstance(detail, str) else ""
            raise Fault(next(refusals, Outcome.FORGED), text)
        return answer

    def _answer(self, token: str, deadline: float) -> Message:
        while True:
            left_s = deadline - time.monotonic()
            try:
                line = self._channel.receive_line(within_s=max(0.0, min(left_s, LIMITS_S)))
                answer = _call_answer(line) if line.startswith(token.encode()) else message_of(line)
                if answer.pop("token", None) == token:
                    return answer
                what = ", ".join(answer)[:80]
            except NotAMessage as error:
                what = str(error)
            except TimeoutError:
                if left_s <= 0:
                    raise
                self._tree.check_limits()
                continue
            if Guard.CHANNEL in self._guards:
                raise Fault(Outcome.FORGED, f"this came in place of an answer: {what!r}")

    def let_run(self, seconds: float) -> None:
        """Let the worker run for a while without a question.

        Raises:
            Fault: the worker ran while it was stopped, or does not stop afterwards.
        """
        self._tree.go_on()
        time.sleep(seconds)
        self._stop()

    def _stop(self) -> float:
        """When it stood still, by time.perf_counter."""
        return self._tree.stop() if Guard.PAUSE in self._guards else time.perf_counter()

    def beside(self) -> AbstractContextManager[None]:
        """See `ProcessTree.beside`."""
        return self._tree.beside()

    def finish(self) -> None:
        """End the worker, for which it has as long as for a question.

        Raises:
            Fault: it does not end, or ends with an error.
        """
        if Guard.EXIT not in self._guards:
            return
        self._tree.go_on()
        try:
            self._channel.send({"verb": "exit", "token": ""}, within_s=self._call_s)
            status = self._running.wait(self._call_s)
        except (subprocess.TimeoutExpired, TimeoutError):
            raise Fault(Outcome.TIMED_OUT, f"its process does not end within {self._call_s:g} s") from None
        except BrokenPipeError:
            status = None
        if status != 0:
            raise Fault(Outcome.CRASHED, f"its process {self._death()} at the end")
        end(self._running)
        keep(self._compiled, self.folder, below=TRITON)

    def _death(self) -> str:
        try:
            status = self._running.wait(DEATH_S)
        except subprocess.TimeoutExpired:
            return "did not end"
        return f"died of {signal_name(-status)}" if status < 0 else f"ended with status {status}"

    def interrupt(self) -> None:
        """End the worker's processes while another thread starts or asks it, which then gets a Fault."""
        self._interrupted = True
        if self._process:
            end(self._process)

    def kill(self) -> None:
        """Kill the worker and its child processes, and remove its folder; again, it does nothing."""
        if self._log.closed:
            return
        if self._process:
            kill(self._process)
        self.at_end.close()
        _ = self.log
        self._log.close()
        self._channel.close()
        os.close(self.memory)
        remove(self.folder, self._lock)


def _call_answer(line: bytes) -> Message:
    token, _, said = line.decode(errors="replace").partition(" ")
    awake_s, _, rest = said.partition(" ")
    seconds, *places = rest.split(" ")
    return {"token": token, "awake_s": awake_s, "seconds": seconds, "places": places}
