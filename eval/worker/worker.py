"""What the process of a candidate does, once eval.worker.zygote has forked and confined it: it answers the judge.

The judge trusts nothing that it says: the worker reports the addresses of its outputs, and the judge reads them there.
This module and what it imports need only the standard library; an adapter loads torch if its language needs it.
"""

import importlib
import importlib.util
import os
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter
from types import ModuleType
from typing import Protocol

from eval.worker.channel import Channel, Message
from eval.worker.fault import Fault

ROOT = Path(__file__).parents[2]
LOG_CHARACTERS, LINE_BYTES = 4000, 64


class BuiltCandidate(Protocol):
    """A candidate that an adapter has built."""

    def map_inputs(self, sets: list[list[Message]]) -> None:
        """Map the input sets in the shared memory, so that `call` can refer to them by number."""

    def capture(self, *, on: bool) -> bool:
        """Record the calls on all sets, so that later ones replay them, or stop that; return whether they are recorded.

        Only candidates on a GPU can; others lack this function.
        """

    def ready(self, number: int) -> None:
        """Do what a call on a set, or on ALL (see eval.worker.channel), needs before its inputs are there.

        The judge does not time it.
        """

    def call(self, number: int) -> float:
        """Call the candidate on the set for which it has got ready, and keep the outputs.

        Returns:
            The seconds by the worker's clock.
        """

    def launched(self) -> list[str]:
        """Names of the kernels that the calls have launched. Only candidates in Triton's interpreter know."""

    def compile(self, described: list[Message] | None) -> Message:
        """Call the candidate with each launch compiled instead; see eval.worker.adapters.triton.CompiledModel."""

    def places(self) -> Sequence[int | str]:
        """Address of each output of the last calls, or HANDLE:OFFSET. It is quick, because the judge times it."""

    def layouts(self) -> list[Message]:
        """Describe type, shape and strides of each output of the last calls; see eval.supervisor.memory.Layout."""

    def forget_outputs(self) -> None:
        """Free the outputs of the last calls."""

    def changed(self, state: list[Message]) -> list[str]:
        """The names of parameters and buffers in the candidate's memory that are not as in the shared memory."""


class Worker:
    def __init__(self, folder: Path, memory: int) -> None:
        self.folder, self.memory = folder, memory
        self.candidate: BuiltCandidate | None = None

    def answer(self, question: Message) -> Message:
        match question["verb"]:
            case "ping":
                pass
            case "warm":
                adapter(question["adapter"]).warm()
            case "build":
                self.candidate = adapter(question["adapter"]).load(self.folder, self.memory, question)
            case "inputs":
                self._built.map_inputs(question["sets"])
            case "ready":
                self._built.ready(question["set"])
            case "layouts":
                return {"layouts": self._built.layouts()}
            case "forget":
                self._built.forget_outputs()
            case "state":
                if changed := set(self._built.changed(question["state"])) & set(question["names"]):
                    raise Fault("mutated_input", f"the calls changed its parameters {', '.join(sorted(changed))}")
            case "capture":
                return {"captured": hasattr(self._built, "capture") and self._built.capture(on=question["on"])}
            case "launched":
                return {"launched": self._built.launched()}
            case "compile":
                return self._built.compile(question["inputs"])
            case verb:
                raise ValueError(verb)
        return {}

    @property
    def _built(self) -> BuiltCandidate:
        if self.candidate is None:
            raise RuntimeError("nothing is built")
        return self.candidate


def adapter(file: str) -> ModuleType:
    """The adapter in a file; see eval.supervisor.language.JudgedLanguage. One of kb's own is imported by its name."""
    path = Path(file)
    if path.is_relative_to(ROOT):
        return importlib.import_module(".".join(path.relative_to(ROOT).with_suffix("").parts))
    return module_in(path, "adapter")


def module_in(file: Path, name: str) -> ModuleType:
    """The module in a file, imported under a name."""
    spec = importlib.util.spec_from_file_location(name, file)
    if spec is None or spec.loader is None:
        raise ImportError(str(file))
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def fault_of(error: Exception, verb: str) -> Fault:
    """The fault that an exception of a candidate stands for."""
    text = "".join(traceback.format_exception_only(error)).strip()[-LOG_CHARACTERS:]
    chain: BaseException | None = error
    while chain is not None:
        if isinstance(chain, Fault):
            return chain
        if isinstance(chain, PermissionError):
            return Fault("forbidden", text)
        chain = chain.__cause__ or chain.__context__
    building = verb == "build" and isinstance(error, SyntaxError | ImportError | NameError | AttributeError)
    return Fault("compile_error" if building or "Compil" in type(error).__name__ else "raised", text)


def refusal(error: Exception, verb: str) -> Message:
    traceback.print_exc()
    fault = fault_of(error, verb)
    return {"outcome": fault.outcome, "detail": fault.detail}


def call(candidate: BuiltCandidate, number: int, channel: Channel) -> None:
    """Wait for the start, which is a token; call the candidate; answer with token, seconds awake, seconds, places.

    Nothing else is done here, because the judge's clock runs: a candidate that answers in the worker's place could use
    the time that the worker takes.
    """
    token = os.read(channel.read_fd, LINE_BYTES).decode().rstrip()
    start = perf_counter()
    try:
        answer = f"{candidate.call(number)} {' '.join(map(str, candidate.places()))}"
        os.write(channel.write_fd, f"{token} {perf_counter() - start} {answer}\n".encode())
    except Exception as error:  # noqa: BLE001 - whatever a candidate raises is its outcome
        channel.send({"token": token, **refusal(error, "call")})


def serve(read: int, write: int, memory: int, folder: Path) -> None:
    """Answer questions until one says `exit`.

    Args:
        memory: Handle of the memory that is shared with the judge, in which tensors come.
        folder: Holds the candidate as `candidate` with the suffix of its language.
    """
    channel, worker = Channel(read, write), Worker(folder, memory)
    while (question := channel.receive())["verb"] != "exit":
        verb = question["verb"]
        try:
            answer = worker.answer(question)
        except Exception as error:  # noqa: BLE001 - whatever a candidate raises is its outcome
            answer = refusal(error, verb)
        channel.send({"token": question["token"], **answer})
        if verb == "ready" and worker.candidate:
            call(worker.candidate, question["set"], channel)
