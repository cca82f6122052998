"""Start a judge in its own process and talk to it. This process runs no task and no candidate."""

import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

from eval.devices.registry import device_for
from eval.languages.toolchain import ToolchainLanguage
from eval.supervisor.launch import REUSED_MEMORY
from eval.worker.channel import Channel, Message, NotAMessage
from kb import errors
from kb.errors import JudgeError
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
EXIT_S = 5.0
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

    Raises:
        TaskError: the reference fails.
        JudgeError: this machine cannot judge for this target.
    """

    interface: Interface
    _channel: Channel
    _process: subprocess.Popen[bytes]

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
    ) -> None:
        if toolchain is None:
            device_for(isa, target)
        if sys.platform != "linux":
            raise JudgeError("candidates are judged on Linux only", hint="run kb on a Linux machine")
        self._workloads = max(1, len(task.workloads))
        questions, replies = os.pipe(), os.pipe()
        self._channel = Channel(replies[0], questions[1])
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "eval.judge.process", str(questions[0]), str(replies[1])],
            stdin=subprocess.DEVNULL, stdout=STDERR, pass_fds=(questions[0], replies[1]),
            env={**os.environ, **(environment or {}), **REUSED_MEMORY, "TORCHINDUCTOR_CACHE_DIR": f"{cache}/inductor"},
        )  # fmt: skip
        os.close(questions[0])
        os.close(replies[1])
        assignment = Assignment(
            task=task, target=target, isa=isa or ABSENT, facts=tuple(facts), call_s=call_s, toolchain=toolchain,
            counterexamples=cache / "refused" / f"{slug(str(isa or target))}-{task.digest}.jsonl",
            describe=describe,
        )  # fmt: skip
        try:
            self.interface = Interface.model_validate(self._ask(assignment)["interface"])
        except BaseException:
            self.close()
            raise

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
        """End the judge and its worker, by force if necessary."""
        self._process.terminate()
        try:
            self._process.wait(EXIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._channel.close()

    def _ask(self, question: Frozen) -> Message:
        limit_s = ANSWER_S * self._workloads
        try:
            self._channel.send(question.model_dump(mode="json"), within_s=limit_s)
            reply = self._channel.receive(within_s=limit_s)
        except TimeoutError:
            self.close()  # otherwise a late answer would be taken for the answer to the next question
            raise JudgeError(f"no verdict within {limit_s:g} s", hint="is the reference very slow here?") from None
        except (EOFError, BrokenPipeError, NotAMessage) as error:
            raise JudgeError(
                f"the judge died (exit status {self._process.poll()})",
                hint="its last words are above; is memory short?",
            ) from error
        if "error" in reply:
            raise getattr(errors, reply["error"])(reply["message"], hint=reply["hint"])
        return reply
