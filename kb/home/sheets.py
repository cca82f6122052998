"""The documents that ship with kb: added the first time a target of their lineage is used."""

from pathlib import Path
from typing import TYPE_CHECKING

from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import write_lock
from kb.errors import StoreError
from kb.targets import Targets

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase


def sheet_folders(targets: Targets, target: str) -> list[Path]:
    """Folders of the sheets that may speak for `target`."""
    return [SHEETS / name for name in sorted(targets.scope(target)) if (SHEETS / name).is_dir()]


def ensure_sheets(kb: "KnowledgeBase", target: str) -> None:
    """Ingest the sheets that may speak for `target`, where they are not stored in this version yet."""
    folders = sheet_folders(kb.targets, target)
    sheets = {source_of(file): file_digest(file) for folder in folders for file in folder.glob("*.md")}
    if kb.catalog.digests(sheets) == sheets:
        return
    from ingest.pipeline import Ingest

    try:
        with write_lock(kb.settings.home):
            Ingest(kb.catalog, kb.targets, kb.models.embedder).run(folders)
    except StoreError as error:
        kb.notify(f"the sheets that ship with kb for {target} could not be added: {error.message}")
