"""The worker's adapter for toolchains: each call of a candidate is a run of a command, with tensors in files.

It does not import torch. The command is started in the folder `call`, which holds `call.txt` and the arguments.
"""

import ctypes
import resource
import subprocess
import sys
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from eval.worker.adapters.cpp import row_major
from eval.worker.channel import Message
from eval.worker.fault import Fault, signal_name
from eval.worker.mapping import end_of, shared_pages, size_bytes
from eval.worker.sandbox import become

PRINTED_CHARACTERS = 3000
"""Of what a run printed, which a refusal repeats."""


class CommandCandidate:
    """See `eval.worker.worker.BuiltCandidate`. It gets the fields of `ToolchainLanguage.build_options`."""

    def __init__(self, folder: Path, memory: int, question: Message) -> None:
        self._memory, self._command = memory, question["run"]
        self._limits: dict[int, int] = {int(number): limit for number, limit in question["limits"].items()}
        self._level = question["level"]
        self._folder = folder / "call"
        self._folder.mkdir(exist_ok=True)
        self._specs: list[Message] = question["outputs"]
        self._about = [_line("state", i, spec) for i, spec in enumerate(question["state"])]
        self._about += [_line("output", i, spec) for i, spec in enumerate(self._specs)]
        self._about += [f"init {' '.join(map(repr, question['init']))}"]
        self._write("state", question["state"])
        self._inputs: list[list[Message]] = []
        self._outputs: list[Any] = []

    def map_inputs(self, sets: list[list[Message]]) -> None:
        self._inputs = sets

    def ready(self, number: int) -> None:
        for i in range(len(self._specs)):
            self._output(i).unlink(missing_ok=True)

    def call(self, number: int) -> float:
        inputs = self._inputs[number]
        self._write("input", inputs)
        lines = [*(_line("input", i, spec) for i, spec in enumerate(inputs)), *self._about]
        (self._folder / "call.txt").write_text("\n".join(lines) + "\n", encoding="ascii")
        start = perf_counter()
        self._run()
        seconds = perf_counter() - start
        self._outputs = [self._read(i, spec) for i, spec in enumerate(self._specs)]
        return seconds

    def places(self) -> list[int]:
        return [ctypes.addressof(data) for data in self._outputs]

    def layouts(self) -> list[Message]:
        return row_major(self._specs)

    def forget_outputs(self) -> None:
        self._outputs = []

    def changed(self, state: list[Message]) -> list[str]:
        return []  # they are files

    def _run(self) -> None:
        """Run the command. Raises Fault if it fails, with the end of what it printed."""
        with (self._folder / "printed").open("w+b") as output:
            done = subprocess.run(
                self._command, cwd=self._folder, stdin=subprocess.DEVNULL, stdout=output, stderr=output, check=False,
                preexec_fn=partial(become, self._command, self._limits, level=self._level),
            )  # fmt: skip
            printed = output.seek(0, 2)
            output.seek(max(0, printed - PRINTED_CHARACTERS))
            text = output.read().decode(errors="replace").strip()
        if printed >= self._limits[resource.RLIMIT_FSIZE]:
            raise Fault("raised", f"it printed {printed:,} bytes or more, which is more than is allowed")
        if done.returncode < 0:
            raise Fault("crashed", f"it died of {signal_name(-done.returncode)}; it printed: {text}")
        if done.returncode:
            raise Fault("raised", text or f"it ended with status {done.returncode} and printed nothing")
        sys.stdout.write(text)  # into the log of the worker
        sys.stdout.flush()

    def _write(self, kind: str, specs: list[Message]) -> None:
        with shared_pages(self._memory, end_of(specs)) as pages:
            for i, spec in enumerate(specs):
                (self._folder / f"{kind}_{i}.bin").write_bytes(pages[spec["offset"] : end_of([spec])])

    def _output(self, number: int) -> Path:
        return self._folder / f"output_{number}.bin"

    def _read(self, number: int, spec: Message) -> Any:
        try:
            with self._output(number).open("rb") as file:
                data = file.read(size_bytes(spec) + 1)
        except FileNotFoundError:
            raise Fault("bad_output", f"it wrote no {self._output(number).name}") from None
        if len(data) != size_bytes(spec):
            raise Fault("bad_output", f"{self._output(number).name} is not of {size_bytes(spec)} bytes")
        return (ctypes.c_char * max(1, len(data))).from_buffer_copy(data or b"\0")


load = CommandCandidate


def _line(kind: str, number: int, spec: Message) -> str:
    return " ".join(map(str, (kind, number, spec["dtype"], *spec["shape"])))
