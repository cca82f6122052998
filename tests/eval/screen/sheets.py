"""Facts of the sheets that ship for chips."""

from functools import cache
from pathlib import Path

from ingest.facts import facts as facts_in
from ingest.readers import read
from ingest.scan import SHEETS
from kb.siblings import siblings_of
from kb.targets import Targets
from kb.types.fact import Fact
from kb.types.passages import Citation
from kb.types.target import Isa

AMD, CDNA4, NVIDIA, BLACKWELL = map(Isa.parse, ("hip gfx942 64", "hip gfx950 64", "cuda 90 32", "cuda 100 32"))
TARGETS = {AMD: "mi300x", CDNA4: "mi355x", NVIDIA: "h200"}


def fact(quantity: str, value: str, unit: str, condition: str) -> Fact:
    citation = Citation(id=f"{quantity}, {condition}", path="a.md", sha256="0", section=(), line_start=1, line_end=1)
    return Fact(
        target="t", quantity=quantity, value=value, number=float(value) if "x" not in value else None, unit=unit,
        condition=condition, source="a document", citation=citation,
    )  # fmt: skip


def facts_of(isa: Isa) -> list[Fact]:
    """Those of the chip of a target; none where it has no chip here."""
    return facts_of_chip(TARGETS[isa]) if isa in TARGETS else []


@cache
def facts_of_chip(name: str) -> list[Fact]:
    """Those of the sheet that ships for a chip. A citation's id is quantity and condition."""
    path = SHEETS / name / f"{name}.md"
    document = read(path, path.read_bytes(), root=SHEETS)
    found, _ = facts_in(document, title="", siblings=siblings_of(Targets.load(Path("no-home")), name))
    return [fact(f.quantity, f.value, f.unit, f.condition) for f in found]
