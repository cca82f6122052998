"""The sheets that ship with kb: every number is accepted, has its conditions and is stated once."""

import re
from collections import defaultdict
from functools import cache
from pathlib import Path

import pytest

from ingest.readers import read
from ingest.scan import SHEETS
from kb.targets import Targets
from kb.types.records import FactRecord
from tests.ingest.documents import facts_of

FILES = sorted(SHEETS.rglob("*.md"))
DTYPE = re.compile(r"(b?float\d+|tf32|u?int\d+|mxfp\d+|float8_e\dm\d\w*)")


@cache
def facts_in(sheet: Path) -> tuple[list[FactRecord], list[str]]:
    return facts_of(read(sheet, sheet.read_bytes(), root=SHEETS), target=sheet.parent.name)


def test_there_are_sheets() -> None:
    assert {f.parent.name for f in FILES} >= {"mi300x", "mi355x", "h200", "cpu-x86"}


def test_a_sheet_is_read_without_a_warning_and_without_a_refused_fact() -> None:
    for sheet in FILES:
        document = read(sheet, sheet.read_bytes(), root=SHEETS)
        found, refused = facts_in(sheet)

        assert (document.warnings, refused) == ((), [])
        assert len(found) > 5


def test_a_sheet_states_title_version_licence_and_the_target_of_its_folder() -> None:
    for sheet in FILES:
        metadata = read(sheet, sheet.read_bytes(), root=SHEETS).metadata

        assert metadata["target"] == sheet.parent.name
        assert Targets.load(Path("/nowhere")).get(sheet.parent.name).name == sheet.parent.name
        assert all(metadata[key] for key in ("title", "version", "licence"))


def test_a_peak_states_dtype_density_and_execution_unit() -> None:
    for sheet in FILES:
        for fact in facts_in(sheet)[0]:
            if fact.quantity in ("peak_flops", "flops_per_clock"):
                dtype, *rest = [part.strip() for part in fact.condition.split(",")]
                assert DTYPE.fullmatch(dtype), fact
                assert len({"dense", "sparse"} & set(rest)) == 1, fact
                assert len({"matrix", "vector"} & set(rest)) == 1, fact


def test_a_quantity_has_one_value_under_one_condition() -> None:
    for sheet in FILES:
        values = defaultdict(set)
        for fact in facts_in(sheet)[0]:
            values[fact.quantity, fact.condition].add((fact.value, fact.unit))

        assert {key: stated for key, stated in values.items() if len(stated) > 1} == {}


def test_a_sparse_peak_is_twice_the_dense_one() -> None:
    """The usual mistake is to state the sparse number as the dense one."""
    for sheet in FILES:
        peaks = {f.condition: f.number or 0 for f in facts_in(sheet)[0] if f.quantity == "peak_flops"}

        for condition, peak in peaks.items():
            dense = peaks.get(condition.replace("sparse", "dense"))
            if "sparse" in condition and dense is not None:
                assert peak == pytest.approx(2 * dense, rel=0.01), condition
