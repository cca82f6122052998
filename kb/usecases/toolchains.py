"""The toolchains of a home, and which of them, or which device of this machine, judges for a target."""

import tomllib
from collections.abc import Mapping
from functools import cached_property
from importlib.resources import files
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from eval.devices.registry import device_of, no_judge
from eval.judge.driver import LocalJudge
from eval.languages.registry import LANGUAGES, language_named
from eval.languages.rules import CONTRACT
from eval.languages.toolchain import check_needs, language_of_toolchain, missing_needs, version_of
from eval.oracle.task import load_task
from eval.supervisor.language import JudgedLanguage
from kb.errors import ToolchainError, did_you_mean, nearest
from kb.settings import cache_dir
from kb.targets import Targets
from kb.types.base import Frozen, reason_of
from kb.types.evidence import Evidence
from kb.types.kernels import Candidate, Language
from kb.types.toolchain import Toolchain

FOLDER = "toolchains"
SHIPPED = Path(str(files("kb") / FOLDER))
EXAMPLE = "{example}"
"""In the rules of a language: the source of the toolchain's example."""


class ToolchainState(Frozen):
    """A toolchain, and whether this machine has what it needs."""

    name: str
    title: str
    targets: tuple[str, ...]
    language: str
    grade: str
    file: str
    ready: bool
    needs: dict[str, str | None]
    """Version of each program and package; None if it is missing."""
    install: tuple[str, ...]
    """Commands that install what is missing, optional or not."""


class Toolchains:
    """Those that kb ships, and those in the folder `toolchains` of the home, which replace others of the same name.

    Raises:
        ToolchainError: a file is not right.
    """

    def __init__(self, home: Path, targets: Targets) -> None:
        self._home, self._targets = home, targets

    @cached_property
    def by_name(self) -> dict[str, Toolchain]:
        folders = (SHIPPED, self._home / FOLDER)
        return {file.stem: load(file) for folder in folders for file in sorted(folder.glob("*.toml"))}

    def get(self, name: str) -> Toolchain:
        """Raises ToolchainError if there is none of this name."""
        if name in self.by_name:
            return self.by_name[name]
        known = did_you_mean(nearest(name, list(self.by_name)))
        raise ToolchainError(f"there is no toolchain {name!r}", hint=f"{known}`kb toolchains list` lists all")

    def serving(self, target: str) -> list[Toolchain]:
        """The toolchains for a target: the home's own first, then those for its nearest ancestors."""
        lineage = self._targets.lineage(target)

        def distance(found: Toolchain) -> int:
            names = set(map(self._targets.name_of, found.targets))
            return next((steps for steps, name in enumerate(lineage) if name in names), len(lineage))

        served = [found for found in self.by_name.values() if distance(found) < len(lineage)]
        return sorted(served, key=lambda found: (found.folder != self._home / FOLDER, distance(found), found.name))

    def check(self, name: str) -> Evidence:
        """The judge's evidence on a toolchain's own example, for the first of its targets.

        Raises:
            JudgeError: this machine lacks what it needs.
            ToolchainError: there is none of this name, or the files of the example are missing.
        """
        toolchain = self.get(name)
        check_needs(toolchain)
        target = self._targets.find(toolchain.targets[0])
        isa = self._targets.isa(target.name) if target else None
        language = language_of_toolchain(toolchain, isa, cache_dir())
        task, source = _file(toolchain, toolchain.task), _file(toolchain, toolchain.example)
        candidate = Candidate(language=language.name, source=source.read_text(encoding="utf-8"))
        with LocalJudge(
            load_task(task), target=toolchain.targets[0], isa=isa, facts=(), cache=cache_dir(), toolchain=language
        ) as judge:
            return judge.verify(candidate)

    def judges(self, target: str) -> dict[str, JudgedLanguage]:
        """The languages of kernels for a target, the usual one first.

        Those of a device that is here come first.

        Raises:
            JudgeError: nothing judges for it.
        """
        isa = self._targets.isa(target)
        device = device_of(isa)
        found: dict[str, JudgedLanguage] = {}
        for name in device.languages if device else ():
            found[name] = language_named(name)
        for toolchain in self.serving(target):
            found.setdefault(toolchain.language.name, language_of_toolchain(toolchain, isa, cache_dir()))
        if not found:
            raise no_judge(target)
        return found

    def states(self) -> list[ToolchainState]:
        return [self.state(name) for name in self.by_name]

    def state(self, name: str) -> ToolchainState:
        """Raises ToolchainError if there is none of this name."""
        toolchain = self.get(name)
        needs = {need.name: version_of(need) for need in toolchain.needs}
        return ToolchainState(
            name=toolchain.name,
            title=toolchain.title,
            targets=toolchain.targets,
            language=toolchain.language.name,
            grade=toolchain.grade,
            file=str(toolchain.folder / f"{toolchain.name}.toml"),
            ready=not missing_needs(toolchain),
            needs=needs,
            install=tuple(dict.fromkeys(need.install for need in toolchain.needs if needs[need.name] is None)),
        )


def load(file: Path) -> Toolchain:
    """The toolchain in a file. Raises ToolchainError if it is not right."""
    try:
        given = tomllib.loads(file.read_text(encoding="utf-8"))
        if not isinstance(given.get("language"), dict):
            raise ToolchainError(f"{file}: it has no table [language]", hint="docs/toolchains.md describes the file")
        language = given["language"] = _completed(given["language"])
        if EXAMPLE in str(language.get("rules", "")):
            source = (file.parent / str(given.get("example", ""))).read_text(encoding="utf-8")
            language["rules"] = language["rules"].replace(EXAMPLE, source)
        return Toolchain.model_validate({**given, "name": file.stem, "folder": file.parent})
    except ValidationError as error:
        message = f"{file}: {reason_of(error).replace('Value error, ', '', 1)}"
        raise ToolchainError(message, hint="docs/toolchains.md describes the file") from error
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ToolchainError(f"{file} cannot be read: {error}", hint="docs/toolchains.md describes the file") from error


def _completed(language: Mapping[str, Any]) -> dict[str, Any]:
    """The language of a file with what kb knows of the language of that name."""
    known = next((known for known in LANGUAGES if known.name == language.get("name")), None)
    if known is None:
        return dict(language)
    inherited = {name: getattr(known, name) for name in Language.model_fields}
    rules = str(language.get("rules", CONTRACT)).replace(CONTRACT, known.contract)
    return {**inherited, **language, "rules": rules}


def _file(toolchain: Toolchain, name: str) -> Path:
    """A file in the folder of the toolchain, or else in kb's own."""
    for folder in (toolchain.folder, SHIPPED):
        if (folder / name).is_file():
            return folder / name
    raise ToolchainError(f"toolchain {toolchain.name} has no file {name}", hint=f"put it into {toolchain.folder}")
