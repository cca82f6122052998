"""The process that runs a candidate: `python -I worker.py READ_FD WRITE_FD MEMORY_FD FOLDER`, started in the sandbox.

Nothing it says is believed: it answers where its outputs lie, and the judge looks there itself. Only the standard
library is imported here; torch when the candidate needs it. The candidate lies in FOLDER as `candidate` with the suffix
of its language; tensors come in the memory of MEMORY_FD, which the judge holds too.
"""

import importlib.util
import sys
import traceback
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Protocol

sys.path.insert(0, str(Path(__file__).parents[2]))

from eval.fault import Fault
from eval.worker.channel import Channel, Message

LOG_CHARACTERS = 4000


class Model(Protocol):
    """A built candidate."""

    def map_inputs(self, sets: list[list[Message]]) -> None:
        """Make the input sets in the shared memory callable by number."""

    def run(self, sets: list[int]) -> float:
        """Call the candidate on each set, keep the outputs, give the seconds it took by the clock in here."""

    def forget_outputs(self) -> None:
        """Give back the memory of the outputs of the last run."""

    def outputs(self) -> Message:
        """The `layout` of each output of the last run, the same in all its calls, and per call the `pointers` to them.

        This is short because it is said on the judge's clock.
        """


class Worker:
    def __init__(self, folder: Path, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.model: Model | None = None

    def answer(self, question: Message) -> Message:
        match question["verb"]:
            case "ping":
                return {}
            case "rehearse":
                return rehearsed(question["sets"], question["outputs"], question["busy_s"])
            case "build":
                self.model = adapter(question["adapter"]).load(self.folder, self.memory, question)
                return {}
            case "inputs":
                self._built.map_inputs(question["sets"])
                return {}
            case "forget":
                self._built.forget_outputs()
                return {}
            case "run":
                seconds = self._built.run(question["sets"])
                return {"seconds": seconds, **self._built.outputs()}
            case "compile":
                return {"kernels": adapter(question["adapter"]).compile_only(self.folder, question)}
        raise ValueError(question["verb"])

    @property
    def _built(self) -> Model:
        if self.model is None:
            raise RuntimeError("nothing is built")
        return self.model


def adapter(file: str) -> ModuleType:
    """The module of a language; see eval.worker.language.JudgedLanguage."""
    spec = importlib.util.spec_from_file_location(f"adapter_{Path(file).stem}", file)
    if spec is None or spec.loader is None:
        raise ImportError(file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rehearsed(sets: list[int], outputs: int, busy_s: float) -> Message:
    """An answer like that of a run that takes `busy_s`: it shows what asking costs besides."""
    start = perf_counter()
    while perf_counter() - start < busy_s:
        pass
    return {"seconds": perf_counter() - start, "layout": [], "pointers": [[1 << 46] * outputs for _ in sets]}


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
    worker = Worker(Path(sys.argv[4]), int(sys.argv[3]))
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
