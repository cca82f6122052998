"""What the judge must know of a language to have a candidate built and called in a worker."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from kb.model.kernels import Language


class JudgedLanguage(Language):
    """A language that the judge can build. One subclass each, in eval/languages/."""

    adapter: Path
    """File that a worker loads. It defines `load(folder, memory, question)`, which gives an `eval.worker.worker.Model`,
    and may define what else a device asks of it by name, such as `compile_only(folder, question)`."""
    other_suffixes: tuple[str, ...] = ()
    """That a candidate's file may have instead."""
    tensors_alone: bool = False
    """Whether a candidate takes tensors and no other arguments."""

    @property
    def suffixes(self) -> tuple[str, ...]:
        return (self.suffix, *self.other_suffixes)

    def claims(self, source: str) -> bool:
        """Whether a file with one of its suffixes is written in this language; the suffix may be another's too."""
        return True

    def build_options(self) -> Mapping[str, Any]:
        """What else a worker is told when it builds a candidate.

        Raises:
            JudgeError: candidates cannot be built on this machine.
        """
        return {}

    def readable(self) -> tuple[str, ...]:
        """Files and folders that a worker must read besides Python, its packages and the system's libraries."""
        return ()

    def versions(self) -> dict[str, str]:
        """Of the tools that build and run a candidate, for the evidence."""
        return {}
