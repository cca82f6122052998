"""A command, such as an agent's, that takes a prompt on standard input and answers on standard output."""

import os
import signal
import subprocess
import tempfile
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from kb.errors import KbError
from synth.authors.author import Ask, Author, AuthorError, Outcome, Reply

PASSED_ON = ("PATH", "HOME", "USER", "LOGNAME", "LANG", "LC_ALL", "SSL_CERT_FILE", "HTTPS_PROXY", "NO_PROXY")
"""What the command gets of kb's environment; its own keys are named where it is described."""
Confine = Callable[[Path, Sequence[str]], Sequence[str]]
"""Takes a folder and a command; returns the command that runs it with no other place to write, and blind for kb."""


@dataclass
class CommandAuthor(Author):
    """Runs in an empty folder of its own with a clean environment. What it starts ends with it."""

    command: Sequence[str]
    confine: Confine
    variables: Sequence[str] = ()
    """Variables of kb's environment that it needs, such as a key of its own."""
    time_s: float = 900.0

    @property
    def name(self) -> str:
        return f"command:{Path(self.command[0]).name}"

    @property
    def secrets(self) -> tuple[str, ...]:
        return tuple(os.environ.get(name, "") for name in self.variables)

    def answer(self, ask: Ask) -> Reply:
        with tempfile.TemporaryDirectory(prefix="kb-author-", ignore_cleanup_errors=True) as folder:
            status, text, errors = self._run(Path(folder), ask.text)
        if status is None:
            told = f"the command took longer than {self.time_s:g} s"
            raise AuthorError(told, Outcome.TIMED_OUT, usage=ask.counted(text))
        if status != 0:
            last = next(reversed(errors.strip().splitlines()), "it says nothing")
            raise AuthorError(f"the command ended with status {status}: {last}", Outcome.INVALID)
        return Reply(text=text, usage=ask.counted(text))

    def _run(self, folder: Path, prompt: str) -> tuple[int | None, str, str]:
        """Status (None: it took too long), output and errors. Its children may hold these, so nobody waits for them."""
        kept = {name: os.environ[name] for name in (*PASSED_ON, *self.variables) if name in os.environ}
        with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as errors:
            given.write(prompt.encode())
            given.seek(0)
            try:
                process = subprocess.Popen(
                    list(self.confine(folder, self.command)), cwd=folder, env=kept | {"TMPDIR": str(folder)},
                    stdin=given, stdout=output, stderr=errors, start_new_session=True,
                )  # fmt: skip
            except (OSError, KbError) as error:
                raise AuthorError(f"cannot run {self.command[0]}: {error}", Outcome.INVALID) from error
            status: int | None = None
            try:
                status = process.wait(self.time_s)
            except subprocess.TimeoutExpired:
                pass
            finally:
                with suppress(ProcessLookupError):
                    os.killpg(process.pid, signal.SIGKILL)
                process.wait()
            return status, _read(output), _read(errors)


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode(errors="replace")
