"""Keeps the seeds of cases that refused a candidate, so that it cannot wait for easier cases."""

from contextlib import suppress
from pathlib import Path

from pydantic import ValidationError

from eval.oracle.cases import CaseSeed
from kb.storage import write_whole

KEPT = 8
"""Most cases of one task that later judgements try again."""


class Counterexamples:
    """The seeds of one task, one per line of a file.

    Args:
        path: None keeps nothing. A file that cannot be read or written does not stop a verdict.
    """

    def __init__(self, path: Path | None) -> None:
        self._path = path

    def latest(self) -> list[CaseSeed]:
        """The latest seeds. A line that a crash cut short is skipped."""
        seeds: list[CaseSeed] = []
        if self._path:
            with suppress(OSError):
                for line in self._path.read_text(encoding="utf-8", errors="replace").splitlines():
                    with suppress(ValidationError):
                        seeds.append(CaseSeed.model_validate_json(line))
        return seeds[-KEPT:]

    def add(self, seed: CaseSeed) -> None:
        if self._path is None or seed in (kept := self.latest()):
            return
        with suppress(OSError):
            write_whole(self._path, "".join(f"{each.model_dump_json()}\n" for each in (*kept, seed)[-KEPT:]))
