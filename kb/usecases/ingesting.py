"""Ingests the user's files, and the sheets that ship with kb for their targets."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ingest.scan import SHEETS, file_digest, source_of
from kb.catalog import write_lock
from kb.errors import FactError, StoreError
from kb.targets import Targets
from kb.types.documents import IngestInterrupted, IngestReport, OfferedAlias
from kb.usecases.knowledge_base import KnowledgeBase

if TYPE_CHECKING:  # reading commands load this module, but not the readers
    from ingest.pipeline import Ingest


def ingest(kb: KnowledgeBase, work: "Ingest", paths: Sequence[Path], *, target: str | None) -> IngestReport:
    """Do the work on `paths` and on the sheets for its targets, and publish the index.

    Raises:
        IngestInterrupted: a KeyboardInterrupt, with the report so far.
    """
    try:
        if work.dry_run:
            work.read(paths, target=target)
        else:
            with write_lock(kb.settings.home):
                _ingest(kb, work, paths, target)
    except KeyboardInterrupt as interrupt:
        raise IngestInterrupted(work.report(interrupted=True)) from interrupt
    report = work.report()
    return report if work.dry_run else report.model_copy(update={"aliases": _aliases(kb, report)})


def _ingest(kb: KnowledgeBase, work: "Ingest", paths: Sequence[Path], target: str | None) -> None:
    from ingest.pipeline import Ingest

    work.targets = Targets.load(kb.settings.home)  # another process may have added some
    try:
        work.read(paths, target=target)
    finally:
        kb.targets = work.targets
    read = {f.target for f in work.report().files if f.target}
    if sheets := sorted({folder for target in read for folder in _sheet_folders(kb.targets, target)}):
        Ingest(kb.catalog, kb.targets, kb.models.embedder).read(sheets)
    work.embed()
    kb.models.publish_index()


def ensure_sheets(kb: KnowledgeBase, target: str) -> StoreError | None:
    """Ingest the sheets for `target` where they are missing or old; return why that is impossible."""
    folders = _sheet_folders(kb.targets, target)
    sheets = {source_of(file): file_digest(file) for folder in folders for file in folder.glob("*.md")}
    if kb.catalog.digests(sheets) == sheets:
        return None
    from ingest.pipeline import Ingest

    try:
        with write_lock(kb.settings.home):
            work = Ingest(kb.catalog, kb.targets, kb.models.embedder)
            interrupted = work.unembedded > 0
            work.read(folders)
            if not interrupted:  # else a question would have to wait for all that an interrupted ingest left
                work.embed()
    except StoreError as error:
        message = f"the sheets that ship with kb for {target} could not be added: {error.message}"
        return type(error)(message, hint=error.hint)
    return None


@contextmanager
def with_sheets(kb: KnowledgeBase, targets: Sequence[str]) -> Iterator[None]:
    """Ensure the sheets for `targets`; a FactError of the body then means that no document has the answer.

    If the sheets cannot be added, the user is told.

    Raises:
        StoreError: the sheets cannot be added, and the body lacks an answer that they may have.
    """
    missing = [reason for target in targets if (reason := ensure_sheets(kb, target))]
    try:
        yield
    except FactError as error:
        if missing:
            raise missing[0] from error
        raise
    for reason in missing:
        kb.notify(reason.message)


def _aliases(kb: KnowledgeBase, report: IngestReport) -> tuple[OfferedAlias, ...]:
    """Other names of the home's targets that have new documents."""
    from kb.usecases.aliases import offered_aliases

    own = sorted({f.target for f in report.files if f.outcome == "new" and kb.targets.is_own(f.target)})
    titles: dict[str, list[str]] = {name: [] for name in own}
    for document in kb.catalog.documents() if own else ():
        if document.target in titles:
            titles[document.target].append(document.title)
    return tuple(alias for name in own for alias in offered_aliases(kb.targets, name, titles[name]))


def _sheet_folders(targets: Targets, target: str) -> list[Path]:
    """Folders of the sheets in the scope of `target`."""
    return [SHEETS / name for name in sorted(targets.scope(target)) if (SHEETS / name).is_dir()]
