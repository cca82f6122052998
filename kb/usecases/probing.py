"""Probes this machine, compares the results with the vendor's facts, and stores them."""

from collections.abc import Callable
from pathlib import Path

from kb.catalog import storage_errors
from kb.errors import StoreError, TargetError
from kb.facts.measured import Comparison, compare, sheet, target_of
from kb.storage import slug, write_whole
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.measurement import Findings, ProbedDevice
from kb.types.records import Trust
from kb.usecases.knowledge_base import KnowledgeBase


class ProbeReport(Frozen):
    """The results of one probe."""

    target: str
    device: ProbedDevice
    date: str
    missing: tuple[str, ...]
    """Measurements that failed or do not apply here, with the reason."""
    compared: tuple[Comparison, ...]
    sheet: Path | None
    """Path of the stored results; None if they were not stored."""


def probe(kb: KnowledgeBase, target: str | None, *, dry_run: bool, progress: Callable[[int, int], None]) -> ProbeReport:
    """See `KnowledgeBase.probe`."""
    from eval.probe import prober

    isa = kb.targets.isa(target) if target else None
    cpu = isa is not None and isa.is_cpu
    device = prober.device_here(cpu=cpu)
    name = _target(kb, target, device)
    findings = prober.probe(progress, cpu=cpu)
    return ProbeReport(
        target=name,
        device=device,
        date=findings.date,
        missing=findings.missing,
        compared=tuple(compare(findings.readings, stated_facts(kb, name))),
        sheet=None if dry_run else store(kb, findings, name),
    )


def _target(kb: KnowledgeBase, target: str | None, device: ProbedDevice) -> str:
    """The target that the measurements belong to: the named one, if the device is one of its kind.

    Raises:
        TargetError: no target is known for the device, or the named one is another chip.
    """
    if target is None:
        return target_of(kb.targets, device)
    name, isa = kb.targets.get(target).name, kb.targets.isa(target)
    try:
        is_it = name in kb.targets.scope(target_of(kb.targets, device))
    except TargetError:
        is_it = isa is not None and isa.backend == device.backend
    if not is_it:
        raise TargetError(
            f"the device of this machine is {device.name}, not {name}",
            hint="run the probe on a machine with that chip; `kb probe` without --target measures this one",
        )
    return name


def stated_facts(kb: KnowledgeBase, target: str) -> list[Fact]:
    """The vendor's facts that hold for a target."""
    return [fact for fact in kb.known_facts(target) if fact.trust is Trust.VENDOR]


def store(kb: KnowledgeBase, findings: Findings, target: str) -> Path:
    """Store the findings as a sheet of measured facts in the home, in place of the device's earlier sheet.

    Raises:
        StoreError: the home cannot be written, or the sheet cannot be ingested.
    """
    file = kb.settings.home / "measured" / target / f"{slug(findings.device.name)}.md"
    with storage_errors(kb.settings.home):
        write_whole(file, sheet(findings, target))
    report = kb.ingest([file], target=target, trust=Trust.MEASURED)
    if failed := [f.reason for f in report.files if f.outcome == "failed"]:
        raise StoreError(f"cannot ingest {file}: {failed[0]}", hint="probe again")
    return file
