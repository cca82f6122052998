"""A confined process cannot reach anything outside its folder, and still has what a kernel needs."""

import json
import platform
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest

from eval.machine import sandbox_level
from eval.worker.process import HERE, PACKAGE, limits_of
from eval.worker.sandbox import (
    ARCHITECTURES,
    CALLS_ON_ITSELF,
    CLONE,
    PRCTL,
    PRETENDED_CALLS,
    PRLIMIT64,
    REFUSED_CALLS,
    SandboxLimits,
)
from tests.eval import probes
from tests.eval.judging import needs_linux, needs_sandbox

pytestmark = needs_linux

PYTHON = [sys.executable, "-I"]
VICTIM = "import subprocess, sys; sys.exit(subprocess.run(sys.argv[1:]).returncode)"
"""Script of the parent of the confined process, so that nothing is tried on the process of the tests."""
DEVICE, RANDOM_ENTROPY = "/dev/random", 0x80045200
"""A device that every machine has, and RNDGETENTCNT, a harmless command to it (random(4))."""
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@dataclass(frozen=True)
class Place:
    folder: Path
    """Folder of the worker."""
    home: Path
    """Home of someone else."""

    def run(self, *command: str, level: int, devices: Sequence[str] = ()) -> subprocess.CompletedProcess[str]:
        limits = limits_of(self.folder, level=level, call_s=60.0, devices=devices)
        confined = [*PYTHON, str(HERE / "sandbox.py"), json.dumps(limits._asdict()), "--", *command]
        return subprocess.run(
            [*PYTHON, "-c", VICTIM, *confined], cwd=self.folder, capture_output=True, text=True, timeout=60, check=False
        )

    def probe(self, *, level: int) -> dict[str, str]:
        # A copy, because a confined process cannot read this project's files.
        script = self.folder / "probes.py"
        script.write_text(Path(probes.__file__).read_text(encoding="utf-8"), encoding="utf-8")
        done = self.run(*PYTHON, str(script), str(self.folder), str(self.home), probes.__file__, level=level)
        assert done.returncode == 0, done.stderr
        outcomes: dict[str, str] = json.loads(done.stdout)
        return outcomes


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


def make_place(root: Path) -> Place:
    for folder in ("folder", "home"):
        (root / folder).mkdir()
    (root / "home" / "secret").write_text("secret")
    (root / "home" / "spare").write_text("spare")
    (root / "home" / "program").write_text("#!/bin/sh\nexit 0\n")
    (root / "home" / "program").chmod(0o755)
    return Place(root / "folder", root / "home")


@pytest.fixture(scope="module")
def confined(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    return make_place(tmp_path_factory.mktemp("confined")).probe(level=2)


@pytest.fixture(scope="module")
def free(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Outcomes of the probes without confinement: a probe that fails there proves nothing."""
    return make_place(tmp_path_factory.mktemp("free")).probe(level=1)


@needs_sandbox
@pytest.mark.parametrize("name", probes.PROBES)
def test_every_forbidden_action_is_refused(name: str, confined: dict[str, str], free: dict[str, str]) -> None:
    if free[name] != "done":
        pytest.skip(f"not possible on this system even without confinement: {free[name]}")

    assert confined[name] == "refused"


@needs_sandbox
@pytest.mark.parametrize("name", probes.NEEDS)
def test_a_confined_process_has_what_a_kernel_needs(name: str, confined: dict[str, str]) -> None:
    assert confined[name] == "done"


@needs_sandbox
def test_a_device_takes_commands_only_if_it_is_listed(place: Place) -> None:
    if not Path(DEVICE).exists():
        pytest.skip(f"there is no {DEVICE}")
    script = f"import fcntl; fcntl.ioctl(open({DEVICE!r}, 'rb'), {RANDOM_ENTROPY}, bytes(4))"

    done = {
        devices: place.run(*PYTHON, "-c", script, level=2, devices=devices).returncode for devices in ((), (DEVICE,))
    }

    assert done == {(): 1, (DEVICE,): 0}


@needs_sandbox
def test_leaving_the_process_group_or_changing_a_mode_reports_success_but_does_nothing(place: Place) -> None:
    secret = place.home / "secret"
    mode = secret.stat().st_mode
    script = "import os; before = os.getpgid(0); os.setsid(); os.setpgid(0, 0); assert os.getpgid(0) == before"

    done = place.run(*PYTHON, "-c", f"{script}; os.chmod({str(secret)!r}, 0o777)", level=2)

    assert done.returncode == 0, done.stderr
    assert secret.stat().st_mode == mode


@needs_sandbox
def test_a_confined_process_has_no_capabilities_and_cannot_gain_any(place: Place) -> None:
    status = place.run("/bin/cat", "/proc/self/status", level=2).stdout

    assert re.search(r"^CapEff:\s+0+$", status, re.M)
    assert re.search(r"^CapPrm:\s+0+$", status, re.M)
    assert re.search(r"^NoNewPrivs:\s+1$", status, re.M)


@pytest.mark.parametrize("level", [1, 2])
def test_a_file_cannot_grow_beyond_its_limit(place: Place, level: int) -> None:
    if level > sandbox_level():
        pytest.skip("this kernel lacks Landlock or seccomp")
    limits = limits_of(place.folder, level=level, call_s=1.0)._replace(file_bytes=1000)
    script = "open('large', 'wb', 0).write(bytes(1000)); open('larger', 'wb', 0).write(bytes(1001))"

    subprocess.run(
        [*PYTHON, str(HERE / "sandbox.py"), json.dumps(limits._asdict()), "--", *PYTHON, "-c", script],
        cwd=place.folder, capture_output=True, check=False,
    )  # fmt: skip

    assert (place.folder / "large").stat().st_size == 1000
    assert (place.folder / "larger").stat().st_size == 1000


def test_limits_survive_json_and_exclude_the_project_s_own_files(place: Place) -> None:
    limits = limits_of(place.folder, level=2, call_s=60.0)

    assert limits == SandboxLimits(**json.loads(json.dumps(limits._asdict())))
    assert limits.writable == [str(place.folder)]
    assert str(PACKAGE.parent) not in limits.readable


@pytest.mark.parametrize("machine", ARCHITECTURES)
def test_system_calls_have_the_numbers_of_the_kernel_headers(machine: str) -> None:
    header = HEADERS[machine]
    if not header.exists():
        pytest.skip(f"there is no {header}")
    numbers = dict(re.findall(r"^#define __NR(?:3264)?_(\w+)\s+(\d+)$", header.read_text(encoding="utf-8"), re.M))
    column = list(ARCHITECTURES).index(machine)
    named = {**REFUSED_CALLS, **PRETENDED_CALLS, **CALLS_ON_ITSELF, "prlimit64": PRLIMIT64, "clone": CLONE}

    known = {name: pair[column] for name, pair in {**named, "prctl": PRCTL}.items() if name in numbers}

    assert len(known) > 40
    assert known == {name: int(numbers[name]) for name in known}


def test_machines_with_full_confinement_have_a_filter_for_their_architecture() -> None:
    assert sandbox_level() < 2 or platform.machine() in ARCHITECTURES
