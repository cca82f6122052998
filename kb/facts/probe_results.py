"""Results of a probe: the target they belong to, the comparison with stated facts, the sheet."""

import math
import re
from collections.abc import Iterable, Iterator, Sequence

from pydantic import computed_field

from kb.errors import TargetError
from kb.facts.select import best, compatible, conditions
from kb.targets import Targets
from kb.types.base import Frozen
from kb.types.fact import Fact
from kb.types.measurement import Findings, Measurement, ProbedDevice
from kb.types.target import CPU, Isa

TOLERANCE = 0.1
"""Largest relative difference between a measured and a stated value that is not marked."""
CPU_FEATURES = {"avx512f": "x86-avx512", "amx_tile": "x86-amx", "asimd": "arm-neon-sve", "sve": "arm-neon-sve"}
"""Targets by flags in /proc/cpuinfo."""
HEADER = "| quantity | value | unit | condition | source |\n|---|---|---|---|---|"


class Comparison(Frozen):
    """A reading and the vendor's fact to compare it with."""

    reading: Measurement
    stated: Fact | None
    """None if the vendor states nothing under compatible conditions."""

    @computed_field  # type: ignore[prop-decorator]
    @property
    def ratio(self) -> float | None:
        """Measured value divided by stated value; None if there is no stated value."""
        if self.stated is None or not self.stated.amount:
            return None
        return self.reading.amount / self.stated.amount

    @computed_field  # type: ignore[prop-decorator]
    @property
    def differs(self) -> bool:
        return self.ratio is not None and abs(self.ratio - 1) > TOLERANCE

    @property
    def measured_text(self) -> str:
        """The measured value as text; a count has no unit."""
        return f"{_written(self.reading.value)} {self.reading.unit}".removesuffix(" 1")

    @property
    def stated_text(self) -> str:
        """The stated value as text; empty if there is none."""
        return f"{self.stated.value} {self.stated.unit}".removesuffix(" 1") if self.stated else ""


def target_of(targets: Targets, device: ProbedDevice) -> str:
    """The most specific target that the device's name, architecture or features tell. Raises TargetError if none."""
    found = _cpu_targets(targets, device) if device.backend == CPU else _gpu_targets(targets, device)
    if not found:
        raise TargetError(
            f"no target is known for {device.name} ({device.architecture})",
            hint="name a target with --target, or add one with `kb targets add`",
        )
    return max(found, key=lambda name: len(targets.lineage(name)))


def _cpu_targets(targets: Targets, device: ProbedDevice) -> list[str]:
    families = [t.name for t in targets if t.isa == Isa(CPU, device.architecture)]
    known = {name for family in families for name in targets.scope(family)}
    return families + [name for flag, name in CPU_FEATURES.items() if flag in device.features and name in known]


def _gpu_targets(targets: Targets, device: ProbedDevice) -> list[str]:
    """Targets by the device's name; by its architecture only a target that stands for all its chips."""
    family = next((targets.lineage(t.name)[-2] for t in targets if t.isa and t.isa.backend == device.backend), None)
    if family is None:
        return []
    found = [family, *targets.named_below(family, device.name)]
    if architecture := targets.find(device.architecture):
        above = targets.lineage(architecture.name)
        speaks_for_all = targets.scope(architecture.name) - set(above) or architecture.name == re.sub(
            r"\W|_", "", device.architecture
        )
        found.append(architecture.name if speaks_for_all else above[1])
    return found


def compare(readings: Sequence[Measurement], stated: Sequence[Fact]) -> list[Comparison]:
    """Each reading with the nearest stated fact of compatible conditions.

    A reading with more conditions than another reading of its quantity (`copy, 64 MiB` and `copy`) is a detail, and is
    not compared.
    """
    return [
        Comparison(reading=reading, stated=None if _is_detail(reading, readings) else _nearest(reading, stated))
        for reading in readings
    ]


def _is_detail(reading: Measurement, readings: Iterable[Measurement]) -> bool:
    return any(
        other.quantity == reading.quantity and other.condition and conditions(other) < conditions(reading)
        for other in readings
    )


def _nearest(reading: Measurement, stated: Iterable[Fact]) -> Fact | None:
    fitting = best([fact for fact in stated if fact.amount and compatible(reading, fact)])
    return min(fitting, key=lambda f: abs(math.log(reading.amount / (f.amount or 1))), default=None)


def sheet(findings: Findings, target: str) -> str:
    """The findings as a document with a fact table."""
    device = findings.device
    name = _cell(device.name)
    return "\n".join(
        [
            "---",
            f'title: "{name} as measured"',
            f"target: {target}",
            f'version: "{findings.date}"',
            "---",
            f"# {name} as measured",
            "",
            f"`kb probe` measured these on {findings.date} on one {name}, with {_cell(', '.join(device.software))}.",
            "A value that was timed is the median; its source says how it was timed and how far the samples spread.",
            "",
            HEADER,
            *_rows(findings),
            "",
        ]
    )


def _rows(findings: Findings) -> Iterator[str]:
    where = f"{findings.device.name}, {', '.join(findings.device.software)}, {findings.date}"
    for reading in findings.readings:
        low, high = (_written(end(reading.samples, default=0.0)) for end in (min, max))
        spread = f"median of {len(reading.samples)}, {low} to {high} {reading.unit}" if reading.samples else ""
        parts = filter(None, (reading.how, spread, where))
        cells = (reading.quantity, _written(reading.value), reading.unit, reading.condition, "; ".join(parts))
        yield f"| {' | '.join(map(_cell, cells))} |"


def _written(value: float) -> str:
    """The value with five digits; further digits vary between measurements."""
    return f"{value:.5g}"


def _cell(text: str) -> str:
    """The text on one line, without characters that end the cell or are markup."""
    return re.sub(r"[|`*<>\"\\\s]+", " ", text).strip()
