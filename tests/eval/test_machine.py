"""The machine's tools are detected, and whatever they print, detection never stops `kb doctor`."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from eval import machine
from eval.machine import CpuUse, Process, running_processes

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="only Linux has /proc")
Install = Callable[[str, str], None]


@pytest.fixture
def install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Install:
    """A function that puts a tool on a path with no other tools."""
    if os.name != "posix":
        pytest.skip("the tools of these tests are shell scripts")
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    monkeypatch.setattr(machine, "QUERY_SECONDS", 5)

    def install(name: str, script: str) -> None:
        (folder / name).write_text(f"#!/bin/sh\nPATH=/usr/bin:/bin\n{script}\n", encoding="utf-8")
        (folder / name).chmod(0o755)

    return install


BROKEN = {
    "fails": "echo 'no driver'; exit 9",
    "says nothing": "exit 0",
    "ends by a signal": "kill -9 $$",
    "hangs": "exec sleep 60",
}
NO_TEXT = r"printf '\377\376\n'"


def test_a_machine_without_tools_has_no_compilers_and_no_accelerators(install: Install) -> None:
    assert machine.compilers() == {}
    assert machine.accelerators() == []


def test_each_compiler_on_the_path_is_listed_with_its_first_line(install: Install) -> None:
    install("c++", "echo 'c++ (Debian) 12.2.0'; echo Copyright")
    install("nvcc", "echo 'nvcc: NVIDIA (R) Cuda compiler driver'")

    assert machine.compilers() == {"c++": "c++ (Debian) 12.2.0", "nvcc": "nvcc: NVIDIA (R) Cuda compiler driver"}


def test_the_versions_that_evidence_names_are_those_of_this_machine(install: Install) -> None:
    install("c++", "echo 'c++ (Debian) 12.2.0'")
    machine.versions.cache_clear()
    found = machine.versions()
    machine.versions.cache_clear()

    assert found["compiler"] == "c++ (Debian) 12.2.0"
    assert found["torch"]
    assert "c++" not in found


def test_every_gpu_of_both_vendors_is_named(install: Install) -> None:
    install("nvidia-smi", "echo 'NVIDIA H200'; echo 'NVIDIA H200'")
    install("rocm-smi", r"printf '====\nGPU[0]\t\t: Card Series: \t\tAMD Instinct MI300X\nGPU[0]\t\t: GUID: 1\n====\n'")

    assert machine.accelerators() == ["NVIDIA H200", "NVIDIA H200", "AMD Instinct MI300X"]


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_a_broken_tool_reports_no_accelerator(install: Install, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    monkeypatch.setattr(machine, "QUERY_SECONDS", 0.5)
    install("nvidia-smi", script)
    install("rocm-smi", script)

    assert machine.accelerators() == []


@pytest.mark.parametrize("script", BROKEN.values(), ids=BROKEN)
def test_a_broken_compiler_is_listed_without_a_version(
    install: Install, monkeypatch: pytest.MonkeyPatch, script: str
) -> None:
    monkeypatch.setattr(machine, "QUERY_SECONDS", 0.5)
    install("clang++", script)

    assert machine.compilers() == {"clang++": ""}


def test_a_tool_whose_output_is_not_text_stops_nothing(install: Install) -> None:
    install("c++", NO_TEXT)
    install("nvidia-smi", NO_TEXT)

    assert list(machine.compilers()) == ["c++"]
    assert len(machine.accelerators()) <= 1


def test_this_machine_is_described_by_plain_values() -> None:
    assert all(isinstance(name, str) and isinstance(line, str) for name, line in machine.compilers().items())
    assert set(machine.compilers()) <= set(machine.COMPILERS)
    assert all(name.strip() for name in machine.accelerators())
    assert type(machine.landlock_abi()) is int
    assert 0 <= machine.landlock_abi() < 100
    assert type(machine.has_seccomp()) is bool


@pytest.mark.skipif(os.name != "posix", reason="this system has no sandbox for candidates")
def test_only_landlock_and_seccomp_together_confine_files_and_calls() -> None:
    both = machine.landlock_abi() > 0 and machine.has_seccomp()

    assert machine.sandbox_level() == (2 if both else 1)


@pytest.mark.parametrize(("platform", "level"), [("darwin", 1), ("win32", 0)])
def test_other_systems_have_no_landlock_and_a_lower_sandbox_level(
    monkeypatch: pytest.MonkeyPatch, platform: str, level: int
) -> None:
    monkeypatch.setattr("sys.platform", platform)

    assert machine.landlock_abi() == 0
    assert machine.sandbox_level() == level


ME = os.getpid()
JUDGE, WORKER, CHILD, STRANGER = (Process(name, parent, 10, 0) for name, parent in
                                  (("judge", 1), ("worker", ME), ("child", 7), ("stranger", 1)))  # fmt: skip
BEFORE = {ME: JUDGE, 7: WORKER, 8: CHILD, 9: STRANGER}
AFTER = {
    "nothing has changed": (BEFORE, 0.5),
    "a child works": (BEFORE | {8: CHILD._replace(ticks=50)}, 0.1),
    "a child began and ended": (BEFORE | {7: WORKER._replace(ended=40)}, 0.1),
    "a child ended, which had worked before": ({ME: JUDGE, 7: WORKER._replace(ended=50), 9: STRANGER}, 0.1),
    "a worker ended with its child": ({ME: JUDGE._replace(ended=60), 9: STRANGER}, 0.1),
    "a worker was replaced": ({ME: JUDGE._replace(ended=20), 9: STRANGER, 11: WORKER._replace(ticks=40)}, 0.1),
    "a stranger works": (BEFORE | {9: STRANGER._replace(ticks=50)}, 0.5),
    "a stranger's child ended": (BEFORE | {9: STRANGER._replace(ended=40)}, 0.5),
}


@needs_proc
@pytest.mark.parametrize(("after", "by_others"), AFTER.values(), ids=AFTER)
def test_what_ended_children_of_ours_used_is_ours(
    after: dict[int, Process], by_others: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    ticks, processes = iter([(1000, 0, 5000), (1050, 0, 5100)]), iter([BEFORE, after])
    monkeypatch.setattr(machine, "_cpu_ticks", lambda cores: next(ticks))
    monkeypatch.setattr(machine, "running_processes", lambda: next(processes))

    assert CpuUse().by_others()[0] == pytest.approx(by_others)


@needs_proc
def test_the_ticks_of_all_cores_are_those_of_each_together() -> None:
    cores = range(os.cpu_count() or 1)

    before, each, after = (machine._cpu_ticks(which) for which in (None, cores, None))
    rounded = 8 * len(cores)
    assert before[2] - rounded <= each[2] <= after[2] + rounded
    assert machine._cpu_ticks([0])[2] < after[2] or len(cores) == 1
    assert machine._cpu_ticks([0, 99_999])[2] >= after[2], "a core that is not listed"


@needs_proc
def test_the_time_of_an_ended_child_is_found_at_its_parent() -> None:
    before = running_processes()[ME]

    subprocess.run([sys.executable, "-S", "-c", "while __import__('time').process_time() < 0.1: pass"], check=True)

    after = running_processes()[ME]
    assert after.ended - before.ended >= 0.09 * os.sysconf("SC_CLK_TCK")
