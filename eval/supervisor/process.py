"""Control one worker: start it in the sandbox, ask it, and interpret its silence or death."""

import json
import os
import secrets
import select
import subprocess
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any, Self

from eval.pool.starts import STARTS
from eval.supervisor.folder import Artifacts, collect, new_folder, remove, restore
from eval.supervisor.forked import START_S, ForkedWorker
from eval.supervisor.launch import TRITON, Launch, cpu_limit_s, end, kill
from eval.supervisor.rate_limit import RateLimit
from eval.supervisor.settings import Guard, Spent, WorkerSettings
from eval.supervisor.shared_pages import new_memory
from eval.supervisor.tree import ProcessTree
from eval.worker.channel import CLOSED, Channel, Message, NotAMessage, message_of
from eval.worker.fault import Fault, signal_name
from eval.worker.zygote import Handles
from kb.errors import JudgeError
from kb.types.evidence import Outcome
from kb.types.kernels import Candidate

DEATH_S = 5.0
LIMITS_S = 0.05
"""Time between two looks at what a worker that has a question uses of the machine."""
LOG_CHARACTERS, DETAIL_CHARACTERS = 2000, 4000


class WorkerProcess:
    """A worker for one candidate, in its own folder, which is removed at the end. Use it as a context manager.

    It runs only during questions and is stopped between them. It may start before it has its candidate; see
    `start_warm`.

    Args:
        memory: Handle of the memory to share with it, which stays open; None: it gets memory of its own.

    Attributes:
        memory: Handle of the shared memory; see eval.supervisor.memory.SharedTensors.
        reply_s: Seconds from the last question to its reply, by the clock of this process.
        lingering_s: Seconds from the last reply until the worker stood still; work that goes on delays that.
        gpu_activity: The looks at whether a GPU works while this worker stands still.
        at_end: What to release once the process has ended.
        tree: Its processes, once it has started.
    """

    def __init__(self, settings: WorkerSettings, memory: int | None = None) -> None:
        self._language, self._call_s, self._guards = settings.language, settings.call_s, settings.guards
        self.folder, self._lock = new_folder()
        self.memory = new_memory() if memory is None else os.dup(memory)
        self.reply_s = self.lingering_s = 0.0
        self.gpu_activity = RateLimit()
        self.at_end = ExitStack()
        self._artifacts: Artifacts = {}
        self._spent = Spent()
        self._log = (self.folder / "log").open("a+b")
        self._channel = Channel(CLOSED, CLOSED)
        self._launch = Launch(settings, self.folder, self._log)
        self._process: ForkedWorker | None = None
        self._interrupted = False

    def give(self, candidate: Candidate, artifacts: Artifacts | None = None, spent: Spent | None = None) -> Self:
        """Give it its candidate, before it is entered.

        Args:
            artifacts: What compilers made of the candidate in its first worker, which fills this in.
            spent: The time for that is added here.
        """
        (self.folder / f"candidate{self._language.suffix}").write_text(candidate.source, encoding="utf-8")
        self._artifacts, self._spent = {} if artifacts is None else artifacts, spent or Spent()
        restore(self._artifacts, self.folder)
        return self

    def start_warm(self) -> None:
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
            if self._launch.compiler and not self._artifacts:
                with self._spent.on("compile_s"):
                    self._launch.compile()
                collect(self._artifacts, self.folder)
        except BaseException:
            self.kill()
            raise
        return self

    def _start(self) -> None:
        questions, replies = os.pipe(), os.pipe()
        self._channel = Channel(replies[0], questions[1])
        try:
            handles = Handles(questions[0], replies[1], self.memory, self._log.fileno())
            self._process = self._launch.worker(handles, lambda: not self._interrupted)
        finally:
            os.close(questions[0])
            os.close(replies[1])
        self.tree = ProcessTree(self.pid, self.folder, alone=self._launch.alone and self._launch.level > 1)
        try:
            self.ask("ping", within_s=START_S)
        except Fault as fault:
            raise JudgeError(
                f"a worker does not start: {fault.detail}; {self.log}", hint="`kb doctor` says what this machine allows"
            ) from fault

    def __exit__(self, *_: object) -> None:
        self.kill()

    @property
    def is_compiled(self) -> bool:
        """Whether the candidate is compiled before it is loaded; otherwise its first call may compile it."""
        return bool(self._launch.compiler)

    @property
    def is_alive(self) -> bool:
        """Whether its process has started and not ended."""
        return self._process is not None and self._process.poll() is None

    @property
    def is_reusable(self) -> bool:
        """Whether it lives, and has not used half of the CPU time that the sandbox allows it."""
        return self.is_alive and self.tree.cpu_s() < cpu_limit_s(self._call_s) / 2

    @property
    def pid(self) -> int:
        return self._running.pid

    @property
    def _running(self) -> ForkedWorker:
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
        """Ask the worker and return its reply.

        Raises:
            Fault: the candidate failed, died, was too slow, or sent something that is not a reply.
        """
        token = secrets.token_hex(8)
        return self._send(verb, json.dumps({"verb": verb, "token": token, **fields}), token, within_s)

    def start_call(self, *, then: Callable[[], None] = lambda: None) -> Message:
        """Start the call for which the worker has got ready; errors as in `ask`.

        Args:
            then: What is done at once after the time of the call was taken, before the worker is stopped.

        Returns:
            As text: its `seconds` by the clock inside the worker, those from start to reply as `awake_s`, and the
            `places` of its outputs.
        """
        token = secrets.token_hex(8)
        return self._send("call", token, token, None, then)

    def _send(
        self, verb: str, question: str, token: str, within_s: float | None, then: Callable[[], None] = lambda: None
    ) -> Message:
        limit_s, line = within_s or self._call_s, question.encode()
        deadline = time.monotonic() + limit_s
        self.tree.check_rest()
        start = time.perf_counter()
        try:
            if len(line) < select.PIPE_BUF:  # sent while it is stopped, and timed from before it wakes
                self._channel.send_line(line, within_s=limit_s)
                start = time.perf_counter()
                self.tree.resume()
            else:
                self.tree.resume()
                self._channel.send_line(line, within_s=limit_s)
            reply = self._reply(token, deadline)
        except TimeoutError:
            raise Fault(Outcome.TIMED_OUT, f"no answer to `{verb}` within {limit_s:g} s") from None
        except (EOFError, BrokenPipeError):
            raise Fault(Outcome.CRASHED, f"its process {self._death()} during `{verb}`") from None
        self.reply_s = time.perf_counter() - start
        then()
        self.lingering_s = self._stop() - start - self.reply_s
        if "outcome" in reply:
            refusals = (o for o in Outcome if o == reply["outcome"] and o is not Outcome.PASSED)
            detail = reply.get("detail")
            text = detail[:DETAIL_CHARACTERS] if isinstance(detail, str) else ""
            raise Fault(next(refusals, Outcome.FORGED), text)
        return reply

    def _reply(self, token: str, deadline: float) -> Message:
        while True:
            left_s = deadline - time.monotonic()
            try:
                line = self._channel.receive_line(within_s=max(0.0, min(left_s, LIMITS_S)))
                reply = _call_reply(line) if line.startswith(token.encode()) else message_of(line)
                if reply.pop("token", None) == token:
                    return reply
                what = ", ".join(reply)[:80]
            except NotAMessage as error:
                what = str(error)
            except TimeoutError:
                if left_s <= 0:
                    raise
                self.tree.check_limits()
                deadline += STARTS.pause_point(self.pid)
                continue
            if Guard.CHANNEL in self._guards:
                raise Fault(Outcome.FORGED, f"this came in place of an answer: {what!r}")

    def let_run(self, seconds: float) -> None:
        """Let the worker run for a while without a question.

        Raises:
            Fault: the worker ran while it was stopped, or does not stop afterwards.
        """
        self.tree.check_and_resume()
        time.sleep(seconds)
        self._stop()

    def _stop(self) -> float:
        """When it stood still, by time.perf_counter."""
        return self.tree.stop() if Guard.PAUSE in self._guards else time.perf_counter()

    def finish(self) -> None:
        """End the worker, for which it has as long as for a question.

        Raises:
            Fault: it does not end, or ends with an error.
        """
        if Guard.EXIT not in self._guards:
            return
        self.tree.check_and_resume()
        try:
            self._channel.send({"verb": "exit", "token": ""}, within_s=self._call_s)
            status = self._running.wait(self._call_s)
        except (subprocess.TimeoutExpired, TimeoutError):
            raise Fault(Outcome.TIMED_OUT, f"its process does not end within {self._call_s:g} s") from None
        except BrokenPipeError:
            status = None
        if status != 0:
            raise Fault(Outcome.CRASHED, f"its process {self._death()} at the end")
        end(self.pid)
        collect(self._artifacts, self.folder, below=TRITON)

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
            end(self._process.pid)

    def kill(self) -> None:
        """Kill the worker and its child processes, and remove its folder; again, it does nothing."""
        if self._log.closed:
            return
        if self._process:
            kill(self._process)
            self._process.report_end()
        self.at_end.close()
        _ = self.log
        self._log.close()
        self._channel.close()
        os.close(self.memory)
        remove(self.folder, self._lock)


def _call_reply(line: bytes) -> Message:
    token, _, rest = line.decode(errors="replace").partition(" ")
    awake_s, _, rest = rest.partition(" ")
    seconds, *places = rest.split(" ")
    return {"token": token, "awake_s": awake_s, "seconds": seconds, "places": places}
