"""Files → catalog, with the sheets of the targets that they speak of, and the index over both."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.pipeline import Ingest, Progress
from kb.catalog import write_lock
from kb.home.sheets import sheet_folders
from kb.model.documents import IngestReport
from kb.model.records import Trust
from kb.targets import Targets

if TYPE_CHECKING:
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
    progress: Progress | None,
) -> IngestReport:
    """Arguments and errors as of `KnowledgeBase.ingest`."""
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
        if sheets := sorted({folder for target in read for folder in sheet_folders(kb.targets, target)}):
            Ingest(kb.catalog, kb.targets, embedder).run(sheets)
        kb.models.publish_index()
    return report
