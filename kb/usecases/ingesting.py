"""Ingests the user's files, and with them the sheets that ship with kb for their targets."""

from collections.abc import Sequence
from pathlib import Path

from ingest.pipeline import Ingest
from kb.catalog import write_lock
from kb.errors import StoreError
from kb.targets import ROOT, Targets
from kb.types.documents import IngestInterrupted, IngestReport, NewTarget
from kb.usecases.home import Home
from kb.usecases.sheets import read_sheets, sheet_folders

OFTEN = 0.005
"""Least share of a chip's passages that name the instructions of a family: in the manuals of nine chips without such
vectors at most .0002 do, in those of one with them .011 (2026-11-28)."""


def ingest(home: Home, work: Ingest, paths: Sequence[Path | str], *, target: str | None) -> IngestReport:
    """Update the catalog to match files, folders and archives. Arguments and errors as in `KnowledgeBase.ingest`."""
    files = [Path(path) for path in paths]
    try:
        if work.dry_run:
            work.read(files, target=target)
            return work.report()
        with write_lock(home.settings.home):
            _ingest(home, work, files, target)
    except KeyboardInterrupt as interrupt:
        raise IngestInterrupted(work.report(interrupted=True)) from interrupt
    report = work.report()
    return report.model_copy(update={"new_targets": tuple(_with_family(home, new) for new in report.new_targets)})


def _with_family(home: Home, new: NewTarget) -> NewTarget:
    """A new target; if it has no family, with that of the vector instructions that its documents name most often."""
    if new.parent != ROOT:
        return new
    named = [
        (max(home.catalog.shares_with((one.name, *one.aliases), targets={new.name}).values()), one.name)
        for one in home.targets
        if not (one.isa or home.targets.is_own(one.name)) and (isa := home.targets.isa(one.name)) and isa.is_cpu
    ]
    share, family = max(named)
    return new.model_copy(update={"family": family}) if share >= OFTEN else new


def _ingest(home: Home, work: Ingest, paths: Sequence[Path], target: str | None) -> None:
    work.targets = Targets.load(home.settings.home)  # another process may have added some
    try:
        work.read(paths, target=target)
    finally:
        home.targets = work.targets
    read = {f.target for f in work.report().files if f.target}
    if sheets := sorted({folder for target in read for folder in sheet_folders(home.targets, target)}):
        try:
            read_sheets(Ingest(home.catalog, home.targets, home.models.embedder), sheets)
        except StoreError as error:
            home.notify(f"the sheets that ship with kb could not be added: {error.message}")
    work.embed()
    home.models.publish_index()
