"""The base class of languages that the judge can have built and called in a worker."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from eval.machine import versions as versions_here
from kb.types.kernels import Language

WORKER = Path(__file__).parents[1] / "worker"
"""The code that runs in the process of a candidate."""
ADAPTERS = WORKER / "adapters"
WAIT = "wait_us"
"""File that tells an idle candidate how long to wait."""


class JudgedLanguage(Language):
    """A language that the judge can build. Each has a subclass in eval/languages/."""

    adapter: Path
    """File that a worker loads. It defines `load(folder, memory, question)`, which returns an
    `eval.worker.worker.BuiltCandidate`; for workers that start in advance also `warm()`."""
    gpu_adapter: Path | None = None
    """The adapter for candidates on a GPU, if it is another one."""
    other_suffixes: tuple[str, ...] = ()
    """Other suffixes that a candidate's file may have."""
    contract: str = ""
    """The rules without the part that depends on the compiler and the chip."""
    tensors_alone: bool = False
    """Whether a candidate accepts only tensors as arguments."""
    strided: bool = False
    """Whether a candidate gets inputs with the strides that the task gives them; otherwise they are contiguous."""
    preload: tuple[str, ...] = ()
    """Modules that all its candidates need. A worker is forked from a process that has loaded them."""
    tools: tuple[str, ...] = ()
    """What builds and runs its candidates, as eval.machine.versions names it."""
    launcher: bool = False
    """Whether a worker launches the candidate as a program of its own; see eval.worker.sandbox.SandboxLimits."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (self.suffix, *self.other_suffixes)

    def idle(self, reference: str) -> str:
        """The source of a candidate that takes as many microseconds as the file `WAIT` in its folder says, or more.

        Empty if there is none; then the baselines show how long honest workers take to answer.

        Args:
            reference: The source of the task's reference.
        """
        return ""

    def claims(self, source: str) -> bool:
        """Whether a file with one of its suffixes is in this language; languages may share a suffix."""
        return True

    def build_options(self) -> Mapping[str, Any]:
        """Extra fields of the question that makes a worker build a candidate.

        Raises:
            JudgeError: candidates cannot be built on this machine.
        """
        return {}

    def compile_command(self, folder: Path) -> Sequence[str]:
        """A command that compiles the candidate in a folder before the worker there loads it; empty if there is none.

        It runs in a sandboxed process of its own. A worker of a language that has one may start no other process,
        unless the language says so.

        Raises:
            JudgeError: candidates cannot be built on this machine.
        """
        return ()

    def compiler_folders(self) -> tuple[str, ...]:
        """Folders that its compiler may write, and no candidate."""
        return ()

    def readable(self) -> tuple[str, ...]:
        """Files and folders that a worker must read, other than Python, its packages and the system's libraries."""
        return ()

    def versions(self) -> dict[str, str]:
        """Versions of the tools that build and run a candidate, for the evidence."""
        return {tool: version for tool, version in versions_here().items() if tool in self.tools}
