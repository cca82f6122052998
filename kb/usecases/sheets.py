"""Keeps the sheets that ship with kb in a home: those of a target are ingested when it is first asked about."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import write_lock
from kb.errors import FactError, StoreError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from ingest.pipeline import Ingest
    from kb.targets import Targets
    from kb.usecases.home import Home


def ensure_sheets(home: Home, target: str) -> StoreError | None:
    """Ingest the sheets for `target` where they are missing or old; return why that is impossible.

    Callers that go on without the sheets tell the user: without them most questions about a target have no answer.
    """
    folders = sheet_folders(home.targets, target)
    sheets = {source_of(file): file_digest(file) for folder in folders for file in folder.glob("*.md")}
    if home.catalog.digests(sheets) == sheets:
        return None
    from ingest.pipeline import Ingest

    try:
        with write_lock(home.settings.home):
            work = Ingest(home.catalog, home.targets, home.models.embedder)
            interrupted = work.unembedded > 0
            read_sheets(work, folders)
            if not interrupted:  # else a question would have to wait for all that an interrupted ingest left
                work.embed()
    except StoreError as error:
        message = f"the sheets that ship with kb for {target} could not be added: {error.message}"
        return type(error)(message, hint=error.hint)
    return None


def read_sheets(work: Ingest, folders: Sequence[Path]) -> None:
    """Read the sheets in these folders. Raises StoreError if one cannot be read."""
    work.read(folders)
    if unread := [file for file in work.report().files if file.outcome == "failed"]:
        raise StoreError(unread[0].reason, hint="`kb doctor` says what is missing")


@contextmanager
def with_sheets(home: Home, *targets: str) -> Iterator[None]:
    """Ensure the sheets for `targets`; a FactError of the body then means that no document has the answer.

    If the sheets cannot be added, the user is told.

    Raises:
        StoreError: the sheets cannot be added, and the body lacks an answer that they may have.
    """
    missing = [reason for target in targets if (reason := ensure_sheets(home, target))]
    try:
        yield
    except FactError as error:
        if missing:
            raise missing[0] from error
        raise
    for reason in missing:
        home.notify(reason.message)


def sheet_folders(targets: Targets, target: str) -> list[Path]:
    """Folders of the sheets in the scope of `target`."""
    return [SHEETS / name for name in sorted(targets.scope(target)) if (SHEETS / name).is_dir()]
