"""Probes this machine, compares the results with the vendor's facts, and stores them."""

from collections.abc import Callable
from pathlib import Path

from ingest.pipeline import Ingest
from kb.catalog import storage_errors
from kb.errors import StoreError, TargetError
from kb.facts.probe_results import Comparison, compare, sheet, target_of
from kb.storage import slug, write_whole
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.measurement import Findings, ProbedDevice
from kb.types.records import Trust
from kb.usecases.fact_lookup import known_facts
from kb.usecases.home import Home
from kb.usecases.ingesting import ingest


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


def probe(home: Home, target: str | None, *, dry_run: bool, progress: Callable[[int, int], None]) -> ProbeReport:
    """Measure this machine. Arguments and errors as in `KnowledgeBase.probe`."""
    from eval.probe import prober

    isa = home.targets.isa(target) if target else None
    cpu = isa is not None and isa.is_cpu
    device = prober.device_here(cpu=cpu)
    name = _target(home, target, device)
    findings = prober.probe(progress, cpu=cpu)
    return ProbeReport(
        target=name,
        device=device,
        date=findings.date,
        missing=findings.missing,
        compared=tuple(compare(findings.readings, stated_facts(home, name))),
        sheet=None if dry_run else store(home, findings, name),
    )


def _target(home: Home, target: str | None, device: ProbedDevice) -> str:
    """The target that the measurements belong to: the named one, if the device is one of its kind.

    Raises:
        TargetError: no target is known for the device, or the named one is another chip.
    """
    if target is None:
        return target_of(home.targets, device)
    name, isa = home.targets.get(target).name, home.targets.isa(target)
    try:
        is_it = name in home.targets.scope(target_of(home.targets, device))
    except TargetError:
        is_it = isa is not None and isa.backend == device.backend
    if not is_it:
        raise TargetError(
            f"the device of this machine is {device.name}, not {name}",
            hint="run the probe on a machine with that chip; `kb probe` without --target measures this one",
        )
    return name


def stated_facts(home: Home, target: str) -> list[Fact]:
    """The vendor's facts that hold for a target."""
    return [fact for fact in known_facts(home, target) if fact.trust is Trust.VENDOR]


def store(home: Home, findings: Findings, target: str) -> Path:
    """Store the findings as a sheet of measured facts in the home, in place of the device's earlier sheet.

    Raises:
        StoreError: the home cannot be written, or the sheet cannot be ingested.
    """
    file = home.settings.home / "measured" / target / f"{slug(findings.device.name)}.md"
    with storage_errors(home.settings.home):
        write_whole(file, sheet(findings, target))
    work = Ingest(home.catalog, home.targets, home.models.embedder, trust=Trust.MEASURED)
    report = ingest(home, work, [file], target=target)
    if failed := [f.reason for f in report.files if f.outcome == "failed"]:
        raise StoreError(f"cannot ingest {file}: {failed[0]}", hint="probe again")
    return file
