"""The language of a toolchain: candidates are built and run by the commands of a TOML file."""

import importlib.metadata
import re
import resource
import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import Field

from eval.languages.registry import LANGUAGES
from eval.machine import answer_of, sandbox_level
from eval.supervisor.language import JudgedLanguage
from eval.worker.adapters.command import __file__ as ADAPTER  # noqa: N812
from kb.errors import JudgeError
from kb.types.target import Isa
from kb.types.toolchain import Command, Need, Toolchain, filled

CALL_ABI = Path(__file__).parents[1] / "call_abi"
"""The program around a candidate, in C++ and in Python."""
HEADERS = Path(__file__).parent
PROGRAM = "program"


class ToolchainLanguage(JudgedLanguage):
    """Builds and runs candidates with the commands of a toolchain."""

    adapter: Path = Path(ADAPTER)
    tensors_alone: bool = True
    launcher: bool = True
    toolchain: Toolchain
    architecture: str
    """The target's, as compilers name it; empty if they have no name for it."""
    cache: Path
    """Folder that its compiler may write, and keeps."""
    variant: Mapping[str, str] = Field(default_factory=dict)

    def compile_command(self, folder: Path) -> Sequence[str]:
        try:
            self.cache.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            hint = "free some space, or set XDG_CACHE_HOME to a folder that you own"
            raise JudgeError(f"{self.cache} cannot be made: {error.strerror}", hint=hint) from error
        return self._filled(self.toolchain.build, folder)

    def compiler_folders(self) -> tuple[str, ...]:
        return (str(self.cache),)

    def build_options(self) -> Mapping[str, Any]:
        limits = self.toolchain.limits
        return {
            "level": sandbox_level(),
            "run": self._filled(self.toolchain.run, Path("..")),
            "limits": {resource.RLIMIT_DATA: limits.memory_mb << 20, resource.RLIMIT_FSIZE: limits.output_mb << 20},
        }

    def environment(self) -> dict[str, str]:
        """Variables for its commands."""
        names = self._names(Path())
        return {name: value.format(**names) for name, value in self.toolchain.environment.items()}

    def claims(self, source: str) -> bool:
        return re.search(self.toolchain.recognised, source, re.M) is not None

    def readable(self) -> tuple[str, ...]:
        programs = (shutil.which(need.command) for need in self.toolchain.needs if need.command)
        folders = (str(Path(path).resolve().parent) for path in programs if path)
        return (str(CALL_ABI), str(HEADERS), str(self.toolchain.folder), str(self.cache), *folders)

    def versions(self) -> dict[str, str]:
        found = {need.name: version_of(need) for need in self.toolchain.needs}
        return {"toolchain": self.toolchain.name, **{name: v for name, v in found.items() if v is not None}}

    def _filled(self, command: Command, folder: Path) -> tuple[str, ...]:
        words = filled(command, {**self._names(folder), **self.variant})
        if not words:
            return ()
        program = shutil.which(words[0]) or words[0]
        return (program, *words[1:])

    def _names(self, folder: Path) -> dict[str, str]:
        return {
            "python": sys.executable,
            "here": str(self.toolchain.folder),
            "contract": str(CALL_ABI),
            "header": str(HEADERS),
            "folder": str(folder),
            "call": str(folder / "call"),
            "candidate": str(folder / f"candidate{self.suffix}"),
            "program": str(folder / PROGRAM),
            "cache": str(self.cache),
            "architecture": self.architecture,
        }


def language_of_toolchain(toolchain: Toolchain, isa: Isa | None, cache: Path) -> ToolchainLanguage:
    """Its language, ready to judge candidates for a target."""
    suffixes = (s for known in LANGUAGES if known.name == toolchain.language.name for s in known.other_suffixes)
    return ToolchainLanguage(
        **dict(toolchain.language),
        other_suffixes=tuple(suffixes),
        toolchain=toolchain,
        architecture=isa.architecture if isa else "",
        cache=cache / "toolchains" / toolchain.name,
    )


def version_of(need: Need) -> str | None:
    """The version of what is needed; None if it is missing."""
    if need.package:
        try:
            return importlib.metadata.version(need.package)
        except importlib.metadata.PackageNotFoundError:
            return None
    return next(iter(answer_of(need.command, need.version)), "") if shutil.which(need.command) else None


def missing_needs(toolchain: Toolchain) -> list[Need]:
    """What it needs that this machine lacks; what is optional is not among it."""
    return [need for need in toolchain.needs if not need.optional and version_of(need) is None]


def check_needs(toolchain: Toolchain) -> None:
    """Raises JudgeError if something is missing, with the command that installs it."""
    if missing := missing_needs(toolchain):
        names = ", ".join(need.name for need in missing)
        raise JudgeError(
            f"toolchain {toolchain.name} needs {names}, which this machine lacks",
            hint=f"install: {'; '.join(dict.fromkeys(need.install for need in missing))}",
        )
