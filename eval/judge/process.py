"""Run the judge's process, which eval.judge.driver starts: `python -P -m eval.judge.process READ_FD WRITE_FD`.

One process serves one task and target, so that references, expected outputs and baselines are computed once.
"""

import ctypes
import signal
import sys
from contextlib import ExitStack
from typing import TYPE_CHECKING

from eval.devices.registry import device_for
from eval.judge.driver import Assignment, Question
from eval.worker.channel import Channel, Message
from eval.worker.sandbox import PR_SET_PDEATHSIG
from kb.errors import KbError
from kb.types.kernels import Interface, Task

if TYPE_CHECKING:
    from eval.judge.task_judge import TaskJudge


def _judge_of(assignment: Assignment) -> "TaskJudge":
    if not assignment.toolchain:
        device_for(assignment.isa, assignment.target).prepare()
    from eval.judge.task_judge import TaskJudge  # loads torch, as what `prepare` has started does beside it

    return TaskJudge(**{name: value for name, value in assignment if name != "describe"})


def _described(task: Task) -> Interface:
    from eval.oracle.allowed import described

    return described(task)


def _with_errors(interface: Interface, task: Task) -> Interface:
    from eval.oracle.allowed import allowed_errors

    return interface.model_copy(update={"allowed": allowed_errors(task)})


def main() -> None:
    """Answer the driver until it closes the channel."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # unwinds the stack, which ends the worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver too, which ends this process
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    with ExitStack() as at_end:
        _answer_questions(channel, at_end)


def _answer_questions(channel: Channel, at_end: ExitStack) -> None:
    judge: TaskJudge | None = None
    while True:
        try:
            question = channel.receive()
        except EOFError:
            return
        try:
            if judge is None:
                assignment = Assignment.model_validate(question)
                if assignment.describe:
                    interface = _described(assignment.task)
                else:
                    judge = _judge_of(assignment)
                    at_end.callback(judge.close)
                    interface = _with_errors(judge.interface, assignment.task)
                reply: Message = {"interface": interface.model_dump(mode="json")}
            else:
                asked = Question.model_validate(question)
                answer = (judge.estimate if asked.estimate else judge.verify)(asked.candidate)
                reply = {"answer": answer.model_dump(mode="json")}
        except KbError as error:
            reply = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
        channel.send(reply)


if __name__ == "__main__":
    main()
