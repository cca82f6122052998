"""What this machine measures of itself, beside what its vendor states, and kept as facts of the home."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from kb.catalog import storage_errors
from kb.errors import StoreError
from kb.facts.measured import Comparison, compare, sheet, target_of
from kb.model.base import Frozen
from kb.model.fact import Fact
from kb.model.measurement import Findings, ProbedDevice
from kb.model.records import Trust
from kb.storage import slug, write_whole

if TYPE_CHECKING:
    from kb.home.knowledge_base import KnowledgeBase


class ProbeReport(Frozen):
    """What one probe found."""

    target: str
    device: ProbedDevice
    date: str
    missing: tuple[str, ...]
    """What could not be measured here, and why."""
    compared: tuple[Comparison, ...]
    sheet: Path | None
    """Where the findings are stored; None when they are not."""


def probe(
    kb: "KnowledgeBase", target: str | None, *, dry_run: bool, progress: Callable[[int, int], None]
) -> ProbeReport:
    """Arguments and errors as of `KnowledgeBase.probe`."""
    from eval.probe import prober

    isa = kb.targets.isa(target) if target else None
    cpu = isa is not None and isa.is_cpu
    device = prober.device_here(cpu=cpu)
    name = kb.targets.get(target).name if target else target_of(kb.targets, device)
    findings = prober.probe(progress, cpu=cpu)
    return ProbeReport(
        target=name,
        device=device,
        date=findings.date,
        missing=findings.missing,
        compared=tuple(compare(findings.readings, stated_facts(kb, name))),
        sheet=None if dry_run else store(kb, findings, name),
    )


def stated_facts(kb: "KnowledgeBase", target: str) -> list[Fact]:
    """What the vendor says of a target and its ancestors."""
    return [fact for fact in kb.known_facts(target) if fact.trust is Trust.VENDOR]


def store(kb: "KnowledgeBase", findings: Findings, target: str) -> Path:
    """Keep what was found as a sheet of measured facts in the home, in place of what the device had there.

    Raises:
        StoreError: the home cannot be written, or the sheet cannot be read back.
    """
    file = kb.settings.home / "measured" / target / f"{slug(findings.device.name)}.md"
    with storage_errors(kb.settings.home):
        write_whole(file, sheet(findings, target))
    report = kb.ingest([file], target=target, trust=Trust.MEASURED)
    if failed := [f.reason for f in report.files if f.outcome == "failed"]:
        raise StoreError(f"{file} cannot be read back: {failed[0]}", hint="probe again")
    return file
