"""Run programs and probes in the sandbox, as this user or another."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from eval.supervisor.language import WORKER
from eval.supervisor.launch import limits_of
from tests.eval import probes

ALONE = """
import importlib.util, json, sys
spec = importlib.util.spec_from_file_location("sandbox", sys.argv[1])
sandbox = importlib.util.module_from_spec(spec)
spec.loader.exec_module(sandbox)
sandbox.confine(sandbox.SandboxLimits(**json.loads(sys.argv[2])))
exec(open(sys.argv[3]).read())
"""
"""Confines itself and becomes a script, because it may start no program."""
VICTIM = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
"""Script of the parent of the confined process, so that nothing is tried on the process of the tests."""


@dataclass(frozen=True)
class Place:
    """Folders in which a confined process is tried."""

    root: Path
    user: int | None = None
    """Id of the user who runs it; None: this one."""
    python: str = sys.executable

    @property
    def folder(self) -> Path:
        """Folder of the worker."""
        return self.root / "folder"

    @property
    def home(self) -> Path:
        """Home of someone else."""
        return self.root / "home"

    def run(self, *command: str, level: int, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a program; `options` are arguments of `limits_of`."""
        limits = json.dumps(limits_of(self.folder, level=level, call_s=60.0, **options)._asdict())
        confined = [self.python, "-I", str(WORKER / "sandbox.py"), limits, "--", *command]
        if options.get("alone"):
            confined = [self.python, "-I", "-c", ALONE, str(WORKER / "sandbox.py"), limits, command[-1]]
        return subprocess.run(
            [self.python, "-I", "-c", VICTIM, *confined], cwd=self.folder, capture_output=True, text=True, timeout=60,
            check=False, user=self.user, group=self.user, extra_groups=None if self.user is None else (),
        )  # fmt: skip

    def script(self, text: str, **options: Any) -> subprocess.CompletedProcess[str]:
        """Run a Python script."""
        (self.folder / "script.py").write_text(text, encoding="utf-8")
        return self.run(self.python, "-I", str(self.folder / "script.py"), **options)

    def probe(self, *, level: int, **options: Any) -> dict[str, str]:
        """The outcome of each probe; `options` are arguments of `limits_of`."""
        # A copy, because a confined process cannot read this project's files.
        script = self.folder / "probes.py"
        script.write_text(Path(probes.__file__).read_text(encoding="utf-8"), encoding="utf-8")
        arguments = (str(self.folder), str(self.home), probes.__file__)
        done = self.run(self.python, "-I", str(script), *arguments, level=level, **options)
        assert done.returncode == 0, done.stderr
        outcomes: dict[str, str] = json.loads(done.stdout)
        return outcomes


def make_place(root: Path, user: int | None = None, python: str = sys.executable) -> Place:
    place = Place(root, user, python)
    for folder in (place.folder, place.home):
        folder.mkdir()
    (place.home / "secret").write_text("secret")
    (place.home / "spare").write_text("spare")
    (place.home / "program").write_text("#!/bin/sh\nexit 0\n")
    (place.home / "program").chmod(0o755)
    if user is not None:
        for path in (root, *root.rglob("*")):
            os.chown(path, user, user)
    return place
