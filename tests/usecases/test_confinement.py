"""A command that writes kernels sees no file of kb: no run, no document, no judge."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path

import pytest

from eval.machine import sandbox_level
from kb.errors import SettingsError
from kb.usecases.confinement import PACKAGES, all_but, confined
from synth.authors.author import Ask, AuthorError
from synth.authors.command import CommandAuthor

needs_sandbox = pytest.mark.skipif(sandbox_level() < 2, reason="this machine has no Landlock")
PYTHON = getattr(sys, "_base_executable", sys.executable)
"""Not that of an environment, which may lie in a temporary folder."""
ASK = Ask(system="rules", said=("task",), output_tokens=1000)
TRY = """
import json, os, socket, subprocess, sys
def tried(do):
    try:
        return str(do())
    except OSError as error:
        return f"refused: {error.strerror}"
paths = json.loads(sys.stdin.read().splitlines()[-1])
found = {path: tried(lambda: os.listdir(path) if os.path.isdir(path) else open(path).read()) for path in paths}
found["own"] = tried(lambda: open("own.txt", "w").write("x"))
found["elsewhere"] = tried(lambda: open(os.path.expanduser("~/planted-by-an-author"), "w").write("x"))
found["environ"] = tried(lambda: open(f"/proc/{PARENT}/environ").read())
found["child"] = subprocess.run([sys.executable, "-c", "print(1)"], capture_output=True, text=True).stdout
found["session"] = str(os.setsid())
found["group"] = os.getpgid(0) == os.getpgid(os.getpid())
socket.create_server(("127.0.0.1", 0)).close()
print(json.dumps(found))
"""


@needs_sandbox
def test_a_command_sees_nothing_of_kb_and_writes_only_in_its_own_folder(tmp_path: Path) -> None:
    home = tmp_path / "home"
    (home / "runs").mkdir(parents=True)
    (home / "runs" / "journal.jsonl").write_text("planted")
    judge = Path(sys.modules["eval.machine"].__file__ or "")
    hidden = [home, home / "runs" / "journal.jsonl", judge, Path(tempfile.gettempdir()), *PACKAGES]
    code = TRY.replace("PARENT", str(os.getpid()))
    author = CommandAuthor([PYTHON, "-c", code], partial(confined, home, writable=(), time_s=60))

    found = json.loads(author.answer(ASK.model_copy(update={"said": (json.dumps(list(map(str, hidden))),)})).text)

    for path in map(str, hidden):
        assert found[path] == "refused: Permission denied", path
    assert found["own"] == "1"
    assert found["elsewhere"].startswith("refused")
    assert found["environ"].startswith("refused"), "kb's own environment holds keys"
    assert found["child"] == "1\n", "it may start programs"
    assert found["group"] is True, "it does not leave its group, whatever it asks for"


@needs_sandbox
def test_a_command_that_is_not_there_is_told(tmp_path: Path) -> None:
    author = CommandAuthor(["no-such-agent"], partial(confined, tmp_path, writable=(), time_s=60))
    with pytest.raises((SettingsError, AuthorError), match="no-such-agent"):
        author.answer(ASK)


def test_without_landlock_no_command_is_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kb.usecases.confinement.sandbox_level", lambda: 1)
    with pytest.raises(SettingsError, match="has no Landlock"):
        confined(tmp_path, tmp_path, ["true"], writable=(), time_s=60)


def test_all_but_what_is_hidden_is_told_without_links(tmp_path: Path) -> None:
    for name in ("a/secret/x", "a/open/y", "b/z"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "way").symlink_to(tmp_path / "a" / "secret")

    found = {str(path.relative_to(tmp_path)) for path in all_but(tmp_path, [tmp_path / "a" / "secret"])}

    assert found == {"a/open", "b"}


@needs_sandbox
def test_if_kb_is_killed_the_command_and_its_children_end(tmp_path: Path) -> None:
    run = f"""
from functools import partial
from pathlib import Path
from kb.usecases.confinement import confined
from synth.authors.author import Ask
from synth.authors.command import CommandAuthor
code = "import subprocess, sys; subprocess.run([sys.executable, '-c', 'import time; time.sleep({SLEEP_S})'])"
author = CommandAuthor([{PYTHON!r}, "-c", code], partial(confined, Path({str(tmp_path)!r}), writable=(), time_s=60))
author.answer(Ask(system="", said=("",), output_tokens=1))
"""
    kb = subprocess.Popen([sys.executable, "-c", run])
    assert _until(lambda: len(_sleepers()) == 2), "the command and its child run"
    kb.kill()
    kb.wait()
    assert _until(lambda: not _sleepers())


SLEEP_S = "59.0625"


def _sleepers() -> list[str]:
    """The processes whose command line has the number of the test above, but not its code."""
    lines = []
    for process in Path("/proc").iterdir():
        with suppress(OSError):
            if process.name.isdecimal() and SLEEP_S in (line := (process / "cmdline").read_text()):
                lines.append(line)
    return [line for line in lines if "CommandAuthor" not in line and "sandbox.py" not in line]


def _until(true: Callable[[], bool]) -> bool:
    for _ in range(300):
        if true():
            return True
        time.sleep(0.1)
    return False
