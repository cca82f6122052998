"""The process that runs a candidate: `python -I worker.py READ_FD WRITE_FD FOLDER`, started inside the sandbox.

Nothing it says is believed: it answers where its outputs lie, and the judge looks there itself. Only the standard
library is imported here; torch when the candidate needs it. The candidate lies in FOLDER as `candidate.py` or
`candidate.cpp`; tensors come in files there, see `_mapped`.
"""

import sys
import traceback
from pathlib import Path
from typing import Protocol

sys.path.insert(0, str(Path(__file__).parents[1]))

from eval.channel import Channel, Message
from eval.fault import Fault

LOG_CHARACTERS = 4000


class Model(Protocol):
    """A built candidate."""

    def map_inputs(self, file: str, sets: list[list[Message]]) -> None:
        """Make the input sets in `file` callable by number."""

    def run(self, sets: list[int]) -> float:
        """Call the candidate on each set, keep the outputs, give the seconds it took by the clock in here."""

    def outputs(self) -> list[list[Message]]:
        """Where the outputs of the last run lie, per call."""


class Worker:
    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.model: Model | None = None

    def answer(self, question: Message) -> Message:
        match question["verb"]:
            case "ping":
                return {}
            case "build":
                self.model = self._build(question)
                return {}
            case "inputs":
                self._built.map_inputs(question["file"], question["sets"])
                return {}
            case "run":
                seconds = self._built.run(question["sets"])
                return {"seconds": seconds, "outputs": self._built.outputs()}
            case "cross_compile":
                from eval.python_model import cross_compile

                return {"kernels": cross_compile(self.folder, question)}
        raise ValueError(question["verb"])

    @property
    def _built(self) -> Model:
        if self.model is None:
            raise RuntimeError("nothing is built")
        return self.model

    def _build(self, question: Message) -> Model:
        if question["language"] == "cpp":
            from eval.cpp_model import CppModel

            return CppModel(self.folder, question)
        from eval.python_model import PythonModel

        return PythonModel(self.folder, question)


def fault_of(error: Exception, verb: str) -> Fault:
    """What an exception of a candidate means."""
    if isinstance(error, Fault):
        return error
    text = "".join(traceback.format_exception_only(error)).strip()[-LOG_CHARACTERS:]
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, PermissionError):
            return Fault("forbidden", text)
        chain = chain.__cause__ or chain.__context__
    building = verb == "build" and isinstance(error, SyntaxError | ImportError | NameError | AttributeError)
    return Fault("compile_error" if building or "Compil" in type(error).__name__ else "raised", text)


def main() -> None:
    channel = Channel(int(sys.argv[1]), int(sys.argv[2]))
    worker = Worker(Path(sys.argv[3]))
    while (question := channel.receive())["verb"] != "exit":
        try:
            answer = worker.answer(question)
        except Exception as error:  # noqa: BLE001 - whatever a candidate raises is its outcome
            traceback.print_exc()
            fault = fault_of(error, question["verb"])
            answer = {"outcome": fault.outcome, "detail": fault.detail}
        channel.send({"token": question["token"], **answer})


if __name__ == "__main__":
    main()
