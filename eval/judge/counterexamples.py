"""Keeps the draws that refused a candidate, so that it cannot wait for a kinder draw."""

from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from eval.oracle.cases import Draw
from kb.storage import write_whole

KEPT = 8
"""Most draws of one task that later judgements try again."""


class Counterexamples:
    """The draws of one task, one per line of a file.

    Args:
        path: None keeps nothing. A file that cannot be read or written does not stop a verdict.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def latest(self) -> list[Draw]:
        """The latest draws. A line that a crash cut short is skipped."""
        draws: list[Draw] = []
        if self._path:
            with suppress(OSError):
                for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
                    with suppress(ValidationError):
                        draws.append(Draw.model_validate_json(line))
        return draws[-KEPT:]

    def add(self, draw: Draw) -> None:
        if self._path is None or draw in (kept := self.latest()):
            return
        with suppress(OSError):
            write_whole(self._path, "".join(f"{d.model_dump_json()}\n" for d in (*kept, draw)[-KEPT:]))
