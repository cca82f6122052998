"""`kb probe` on a screen and as JSON; what it stores, and when it stores nothing."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kb.types.measurement import Findings, Measurement, ProbedDevice
from tests.cli.conftest import Run

H200 = ProbedDevice(name="NVIDIA H200", backend="cuda", architecture="sm_90", software=("torch 2.11", "driver 580"))
XEON = ProbedDevice(name="Some Xeon", backend="cpu", architecture="x86_64", software=(), features=("avx512f",))
COPY = Measurement(
    quantity="hbm_bandwidth", value=4274.2, unit="GB/s", condition="copy", samples=(4264.0, 4281.0), how="copy_"
)
LDS = Measurement(
    quantity="lds_size", value=227, unit="KiB", condition="per workgroup, opt-in", how="as the driver says"
)
LAUNCH = Measurement(
    quantity="launch_latency", value=17.8, unit="us", condition="empty kernel, to completion", how="empty"
)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A machine with an H200 and a CPU with AVX-512 in place of this one; holds how it was asked."""
    asked: list[dict[str, Any]] = []

    def probe(progress: Callable[[int, int], None], *, cpu: bool) -> Findings:
        asked.append({"cpu": cpu})
        progress(1, 1)
        return Findings(device=H200, date="2026-01-02", readings=(COPY, LDS, LAUNCH), missing=("int8 peak: refused",))

    monkeypatch.setattr("eval.probe.prober.device_here", lambda *, cpu: XEON if cpu else H200)
    monkeypatch.setattr("eval.probe.prober.probe", probe)
    return asked


def measured(run: Run, target: str = "h200") -> list[str]:
    return [f["quantity"] for f in run("facts", target, "--json").json["facts"] if f["trust"] == "measured"]


def test_each_number_stands_beside_the_vendors_and_a_disagreement_is_marked(run: Run) -> None:
    shown = run("probe")

    assert shown.status == 0
    lines = {line.split()[0]: line.split() for line in shown.out.splitlines() if line.strip()}
    assert lines["hbm_bandwidth"] == ["hbm_bandwidth", "copy", "4274.2", "GB/s", "4.8", "TB/s", "0.89", "!"]
    assert lines["lds_size"][-1] == "1.00"
    assert "17.8 us" in " ".join(lines["launch_latency"])
    assert "more than 10 %" in shown.out
    assert shown.err == "note: not measured: int8 peak: refused\n"


def test_a_disagreement_is_explained_only_where_there_is_one(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = Findings(device=H200, date="2026-01-02", readings=(LDS,), missing=())
    monkeypatch.setattr("eval.probe.prober.probe", lambda progress, *, cpu: found)

    assert "10 %" not in run("probe", "--dry-run").out


def test_what_was_measured_is_stored_beside_the_vendors_facts(run: Run, home: Path) -> None:
    shown = run("probe")

    assert sorted(measured(run)) == ["hbm_bandwidth", "launch_latency", "lds_size"]
    assert f"stored in {home / 'measured' / 'h200' / 'nvidia-h200.md'}" in shown.out
    assert {f["trust"] for f in run("facts", "h200", "hbm_bandwidth", "--json").json["facts"]} == {"vendor", "measured"}


def test_a_dry_run_shows_the_same_and_stores_nothing(run: Run, home: Path) -> None:
    shown = run("probe", "--dry-run")

    assert "4274.2 GB/s" in shown.out
    assert "stored nothing" in shown.out
    assert measured(run) == []
    assert not (home / "measured").exists()


def test_json_holds_samples_ratios_and_where_the_vendor_says_so(run: Run) -> None:
    found = run("probe", "--json").json

    copy, _, launch = found["compared"]
    assert (found["target"], found["device"]["name"], found["missing"]) == (
        "h200",
        "NVIDIA H200",
        ["int8 peak: refused"],
    )
    assert copy["reading"]["samples"] == [4264.0, 4281.0]
    assert copy["ratio"] == pytest.approx(0.89, abs=0.01)
    assert copy["differs"] is True
    assert copy["stated"]["citation"]["path"] == "hardware_docs/h200/h200.md"
    assert (launch["stated"], launch["ratio"], launch["differs"]) == (None, None, False)


@pytest.mark.parametrize("target", ["H-100", "mi300x", "trainium2"])
def test_a_target_that_is_another_chip_is_refused_before_anything_is_measured(
    run: Run, home: Path, machine: list[dict[str, Any]], target: str
) -> None:
    assert "the device of this machine is NVIDIA H200" in run("probe", "--target", target).refusal[0]
    assert machine == []
    assert not (home / "measured").exists()


@pytest.mark.parametrize(("target", "cpu"), [("cpu-x86", True), ("x86-avx512", True), ("h200", False)])
def test_for_a_cpu_target_the_cpu_is_measured(run: Run, machine: list[dict[str, Any]], target: str, cpu: bool) -> None:
    run("probe", "--target", target, "--dry-run")

    assert machine == [{"cpu": cpu}]


def test_an_unknown_target_is_refused_before_anything_is_measured(run: Run, machine: list[dict[str, Any]]) -> None:
    assert "unknown target 'h2000x'" in run("probe", "--target", "h2000x").refusal[0]
    assert machine == []
