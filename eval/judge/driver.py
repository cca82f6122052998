"""Start a judge in its own process and talk to it. This process runs no task and no candidate."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Self

from eval.devices.registry import device_for
from eval.judge.staying import EXIT_S, Stay, connected
from eval.languages.toolchain import ToolchainLanguage
from eval.supervisor.launch import REUSED_MEMORY
from eval.worker.channel import Channel, Message, NotAMessage
from kb import errors
from kb.errors import JudgeError, MissingLibraryError, is_installed
from kb.storage import slug
from kb.types.base import Frozen
from kb.types.evidence import Estimate, Evidence
from kb.types.fact import Fact
from kb.types.kernels import Candidate, Interface, Task
from kb.types.target import ABSENT, Isa, IsaText

CALL_S = 60.0
"""Time limit for one build or call of a candidate."""
ANSWER_S = 1800.0
"""Time limit for one complete verdict at one workload, including baselines."""
KNOWS_S = 2.0
"""A judge that stays and knows its assignment says so within this time."""
LOG = ".log"
PROCESS = (sys.executable, "-P", "-m", "eval.judge.process")
_STAYING: list[subprocess.Popen[bytes]] = []
"""Judges that this process has started and does not end: Python warns of the end of a Popen before its process."""
JUDGES_MEMORY = {**REUSED_MEMORY, "PYTORCH_ALLOC_CONF": "expandable_segments:True"}
"""Environment of the judge's process. With it torch can use all GPU memory that it has freed for one large tensor.
Without it up to 9 GiB of 24 lay in pieces, and none was large enough (judge-h200.json)."""
STDERR = 2
"""The judge's output goes to stderr, for people."""


class Assignment(Frozen):
    """What a judge is told first. The fields are arguments of TaskJudge."""

    task: Task
    target: str
    isa: IsaText
    facts: tuple[Fact, ...]
    call_s: float
    toolchain: ToolchainLanguage | None
    counterexamples: Path
    describe: bool = False
    """Whether only the interface is asked for, with the errors allowed: then nothing is judged."""
    made_of: str = ""
    """See eval.judge.staying.Stay."""


class Question(Frozen):
    """What a judge is asked then."""

    candidate: Candidate
    estimate: bool = False
    """Whether only an `Estimate` is wanted, and no `Evidence`."""


class LocalJudge:
    """Judges candidates for one task and target on this machine. Use it as a context manager.

    Args:
        isa: The target as compilers name it.
        facts: Facts about the target, with its limits.
        toolchain: What judges instead of a device of this machine.
        describe: Whether only `interface` is asked for, with the errors allowed: then it judges nothing.
        cache: Folder for compiled baselines and the seeds of cases that refused candidates.
        environment: Variables for the judge's process beside those of this one.
        stay: Where a judge may stay from the last command, and stays for the next; None: it ends with this one.

    Raises:
        TaskError: the reference fails.
        JudgeError: this machine cannot judge for this target.
    """

    interface: Interface
    _channel: Channel
    _workloads: int
    _describes: bool
    _stay: Stay | None
    _process: subprocess.Popen[bytes] | None = None
    """None if it stayed from another command."""

    def __init__(
        self,
        task: Task,
        *,
        target: str,
        isa: Isa | None,
        facts: Sequence[Fact],
        cache: Path,
        call_s: float = CALL_S,
        toolchain: ToolchainLanguage | None = None,
        environment: Mapping[str, str] | None = None,
        describe: bool = False,
        stay: Stay | None = None,
    ) -> None:
        if toolchain is None:
            device_for(isa, target)
        if sys.platform != "linux":
            raise JudgeError("candidates are judged on Linux only", hint="run kb on a Linux machine")
        if not is_installed("torch"):
            raise MissingLibraryError("torch")
        self._workloads, self._stay, self._describes = max(1, len(task.workloads)), stay, describe
        variables = {**(environment or {}), **JUDGES_MEMORY, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor"}
        assignment = Assignment(
            task=task, target=target, isa=isa or ABSENT, facts=tuple(facts), call_s=call_s, toolchain=toolchain,
            counterexamples=cache / "refused" / f"{slug(str(isa or target))}-{task.digest}.jsonl",
            describe=describe, made_of=stay.made_of if stay else "",
        )  # fmt: skip
        if stay and (channel := connected(stay.path)):
            self._channel = channel
            with suppress(JudgeError):  # it has another assignment, is busy, or has died
                self.interface = self._assigned(assignment, KNOWS_S)
                return
            channel.close()
        self._start(variables)
        try:
            self.interface = self._assigned(assignment)
        except BaseException:
            self.close()
            raise

    def _start(self, variables: Mapping[str, str]) -> None:
        questions, replies = os.pipe(), os.pipe()
        self._channel = Channel(replies[0], questions[1])
        handles, stay = (questions[0], replies[1]), self._stay
        stays = [str(stay.path), str(stay.waits_s)] if stay else []
        with stay.path.with_suffix(LOG).open("wb") if stay else nullcontext(STDERR) as said:
            self._process = subprocess.Popen(
                [*PROCESS, *map(str, handles), *stays],
                stdin=subprocess.DEVNULL, stdout=said, stderr=said, pass_fds=handles, start_new_session=bool(stay),
                env={**os.environ, **variables},
            )  # fmt: skip
        if stay:
            _STAYING.append(self._process)
        os.close(questions[0])
        os.close(replies[1])

    def _assigned(self, assignment: Assignment, within_s: float | None = None) -> Interface:
        return Interface.model_validate(self._ask(assignment, within_s)["interface"])

    def verify(self, candidate: Candidate) -> Evidence:
        """The judge's evidence on one candidate.

        Raises:
            JudgeError: the judge failed, or cannot judge this language for this target.
        """
        return Evidence.model_validate(self._ask(Question(candidate=candidate))["answer"])

    def estimate(self, candidate: Candidate) -> Estimate:
        """See `kb.types.protocols.Judge`; errors as in `verify`, also where the target's kernels are not timed here."""
        return Estimate.model_validate(self._ask(Question(candidate=candidate, estimate=True))["answer"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """End the judge and its worker, by force if necessary. One that stays ends by itself if it has not answered."""
        if self._process and not self._stay:
            if self._describes:  # it has no worker, and torch ends slowly
                self._process.kill()
            self._process.terminate()
            try:
                self._process.wait(EXIT_S)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._channel.close()

    def _ask(self, question: Frozen, within_s: float | None = None) -> Message:
        limit_s = within_s or ANSWER_S * self._workloads
        try:
            self._channel.send(question.model_dump(mode="json"), within_s=limit_s)
            reply = self._channel.receive(within_s=limit_s)
        except TimeoutError:
            self.close()  # otherwise a late answer would be taken for the answer to the next question
            raise JudgeError(f"no verdict within {limit_s:g} s", hint="is the reference very slow here?") from None
        except (EOFError, ConnectionError, NotAMessage) as error:
            status = self._process.poll() if self._process else "unknown"
            place = f"in {self._stay.path.with_suffix(LOG)}" if self._stay else "above"
            hint = f"its last words are {place}; is memory short?"
            raise JudgeError(f"the judge died (exit status {status})", hint=hint) from error
        if "error" in reply:
            raise getattr(errors, reply["error"])(reply["message"], hint=reply["hint"])
        return reply
