"""Files → catalog: what the user names, and the sheets that ship with kb for the targets that are spoken of."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import write_lock
from kb.errors import StoreError
from kb.model.documents import IngestReport
from kb.model.records import Trust
from kb.targets import Targets

if TYPE_CHECKING:
    from ingest.pipeline import Progress
    from kb.home.knowledge_base import KnowledgeBase


def ingest(
    kb: "KnowledgeBase",
    paths: Sequence[Path],
    *,
    target: str | None,
    trust: Trust | None,
    hidden: bool,
    unknown: bool,
    dry_run: bool,
    progress: "Progress | None",
) -> IngestReport:
    """Arguments and errors as of `KnowledgeBase.ingest`."""
    from ingest.pipeline import Ingest

    embedder = kb.models.embedder
    work = Ingest(kb.catalog, kb.targets, embedder, trust=trust, hidden=hidden, unknown=unknown, dry_run=dry_run)
    if progress:
        work.progress = progress
    if dry_run:
        return work.run(paths, target=target)
    with write_lock(kb.settings.home):
        work.targets = Targets.load(kb.settings.home)  # another process may have added some
        report = work.run(paths, target=target)
        kb.targets = work.targets
        read = {f.target for f in report.files if f.target}
        if sheets := sorted({folder for target in read for folder in _sheet_folders(kb.targets, target)}):
            Ingest(kb.catalog, kb.targets, embedder).run(sheets)
        kb.models.publish_index()
    return report


def ensure_sheets(kb: "KnowledgeBase", target: str) -> None:
    """As `KnowledgeBase.ensure_sheets`. Where they cannot be added, the user is told, and the target does without."""
    folders = _sheet_folders(kb.targets, target)
    sheets = {source_of(file): file_digest(file) for folder in folders for file in folder.glob("*.md")}
    if kb.catalog.digests(sheets) == sheets:
        return
    from ingest.pipeline import Ingest

    try:
        with write_lock(kb.settings.home):
            Ingest(kb.catalog, kb.targets, kb.models.embedder).run(folders)
    except StoreError as error:
        kb.notify(f"the sheets that ship with kb for {target} could not be added: {error.message}")


def _sheet_folders(targets: Targets, target: str) -> list[Path]:
    """Folders of the sheets that may speak for `target`."""
    return [SHEETS / name for name in sorted(targets.scope(target)) if (SHEETS / name).is_dir()]
