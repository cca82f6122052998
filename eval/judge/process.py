"""Run the judge's process, which eval.judge.driver starts: `python -P -m eval.judge.process READ_FD WRITE_FD`.

One process serves one task and target, so that references, expected outputs and baselines are computed once. With
`SOCKET SECONDS` behind, it stays so long for the next command.
"""

import signal
import sys
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from eval.devices.registry import device_for
from eval.judge.driver import Assignment, Question
from eval.judge.staying import next_clients, while_wanted
from eval.worker.channel import Channel, Message
from kb.errors import KbError

if TYPE_CHECKING:
    from eval.judge.task_judge import TaskJudge


class Service:
    """Answers drivers, one after the other, who all have the same assignment."""

    def __init__(self, at_end: ExitStack) -> None:
        self._at_end = at_end
        self._assignment: Assignment | None = None
        self.judge: TaskJudge | None = None

    def answer(self, channel: Channel) -> None:
        """Answer one driver until it closes the channel."""
        is_assigned = False
        while True:
            try:
                question = channel.receive()
            except (EOFError, ConnectionError):
                return
            with while_wanted(channel):
                try:
                    if is_assigned and self.judge:
                        asked = Question.model_validate(question)
                        answer = (self.judge.estimate if asked.estimate else self.judge.verify)(asked.candidate)
                        reply: Message = {"answer": answer.model_dump(mode="json")}
                    else:
                        reply, is_assigned = self._assign(question), True
                except KbError as error:
                    reply = {"error": type(error).__name__, "message": error.message, "hint": error.hint}
            with suppress(BrokenPipeError):  # it left when it had waited long enough
                channel.send(reply)

    def _assign(self, question: Message) -> Message:
        assignment = Assignment.model_validate(question)
        if assignment.describe:
            from eval.oracle.allowed import described

            return {"interface": described(assignment.task).model_dump(mode="json")}
        if self.judge is None:
            self.judge = _judge_of(assignment)
            self._at_end.callback(self.judge.close)
            self._assignment = assignment
            from eval.oracle.allowed import allowed_errors

            self._interface = self.judge.interface.model_copy(update={"allowed": allowed_errors(assignment.task)})
        elif assignment != self._assignment:
            sys.exit()
        return {"interface": self._interface.model_dump(mode="json")}


def _judge_of(assignment: Assignment) -> "TaskJudge":
    if not assignment.toolchain:
        device_for(assignment.isa, assignment.target).prepare()
    from eval.judge.task_judge import TaskJudge  # loads torch, as what `prepare` has started does beside it

    return TaskJudge(**{name: value for name, value in assignment if name not in ("describe", "made_of")})


def main() -> None:
    """Answer the driver until it closes the channel, and then those who come to the socket."""
    read_fd, write_fd, *stay = sys.argv[1:]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # unwinds the stack, which ends the worker
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the driver too, which ends this process
    channel = Channel(int(read_fd), int(write_fd))
    with ExitStack() as at_end:
        service = Service(at_end)
        service.answer(channel)
        channel.close()
        if stay and service.judge:
            for client in next_clients(Path(stay[0]), float(stay[1])):
                service.answer(client)


if __name__ == "__main__":
    main()
