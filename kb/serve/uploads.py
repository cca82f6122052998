"""Documents that people send. They lie in `uploads/TARGET/` of the home, and kb reads them as `kb ingest` does."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.readers import FORMATS, format_of
from ingest.scan import file_digest
from kb.catalog import storage_errors
from kb.errors import DocumentError
from kb.storage import sync_folders
from kb.types.documents import Document, IngestReport
from kb.types.records import Trust

if TYPE_CHECKING:
    from kb.usecases.knowledge_base import KnowledgeBase

NAME = re.compile(r"[A-Za-z0-9][\w.+-]{0,127}", re.ASCII)
FOLDER = "uploads"


def check_name(target: str, name: str) -> None:
    """Raises DocumentError if these cannot be the names of a folder and of a document in it."""
    if not (NAME.fullmatch(target) and NAME.fullmatch(name)):
        hint = "use letters, digits and any of . _ + -, and begin with a letter or digit"
        raise DocumentError("this is no name of a target and of a file", hint=hint)
    if format_of(Path(name)) is None:
        raise DocumentError(f"kb reads no {Path(name).suffix or name}", hint=f"known: {', '.join(sorted(FORMATS))}")


def add(kb: "KnowledgeBase", sent: Path, target: str, name: str, trust: Trust) -> IngestReport:
    """Keep a file that is complete, and read it into the home.

    Raises:
        DocumentError: the home has the document already, or another of this name; or the file cannot be read as a
            document. Nothing is kept.
        TargetError, StoreError: as `KnowledgeBase.ingest`.
    """
    file, digest = kb.settings.home / FOLDER / target / name, file_digest(sent)
    for one in kb.documents.stored():
        if one.sha256 == digest:
            raise DocumentError("the home has this document already", hint="a curator can remove it")
        if one.source == str(file):
            raise DocumentError(f"another document is called {name}", hint="choose another name")
    with storage_errors(kb.settings.home):
        file.parent.mkdir(parents=True, exist_ok=True)
        sent.replace(file)
        sync_folders(file.parent, *file.parents[1:3])
    try:
        report = kb.ingest([file], target=target, trust=trust)
        if failed := [one.reason for one in report.files if one.outcome in ("failed", "skipped")]:
            raise DocumentError(failed[0], hint="send a file that kb can read")
    except BaseException:
        file.unlink()
        raise
    return report


def remove(kb: "KnowledgeBase", path: str) -> list[Document]:
    """Remove one document, with its file if it was sent. Raises as `Documents.remove`."""
    document = kb.documents.get(path)
    removed = kb.documents.remove([document.source])
    file = Path(document.source)
    if file.is_relative_to(kb.settings.home / FOLDER):
        file.unlink(missing_ok=True)
    return removed
