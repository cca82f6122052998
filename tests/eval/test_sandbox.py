"""The sandbox's limits, devices and system calls; tests/eval/test_escapes.py tries to get out of it."""

import json
import platform
import re
import subprocess
import sys
from pathlib import Path

import pytest

from eval.machine import sandbox_level
from eval.supervisor.language import WORKER
from eval.supervisor.launch import PACKAGE, limits_of
from eval.worker.sandbox import (
    ARCHITECTURES,
    CLONE,
    FALLOCATE,
    FCNTL,
    IOCTL,
    KILL,
    MADVISE,
    MISSING_CALLS,
    PRCTL,
    PRETENDED_CALLS,
    PRLIMIT64,
    REFUSED_ALONE,
    REFUSED_CALLS,
    SOCKETPAIR,
    TGKILL,
    SandboxLimits,
)
from tests.eval.confined import Place, make_place
from tests.eval.judging import needs_linux, needs_sandbox

pytestmark = needs_linux

PYTHON = [sys.executable, "-I"]
DEVICE, RANDOM_ENTROPY = "/dev/random", 0x80045200
"""A device that every machine has, and RNDGETENTCNT, a harmless command to it (random(4))."""
HEADERS = {
    "x86_64": Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
    "aarch64": Path("/usr/include/asm-generic/unistd.h"),
}


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return make_place(tmp_path)


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
        [*PYTHON, str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--", *PYTHON, "-c", script],
        cwd=place.folder, capture_output=True, check=False,
    )  # fmt: skip

    assert (place.folder / "large").stat().st_size == 1000
    assert (place.folder / "larger").stat().st_size == 1000


@pytest.mark.parametrize("limit", ["CORE", "NOFILE", "FSIZE", "DATA", "CPU"])
def test_a_lower_limit_of_the_user_s_own_stays(place: Place, limit: str) -> None:
    limits = limits_of(place.folder, level=1, call_s=1.0)
    lowest = {"CORE": 0, "NOFILE": 64, "FSIZE": 4096, "DATA": 1 << 28, "CPU": 20}[limit]
    number = f"resource.RLIMIT_{limit}"
    lowers = f"""
import os, resource, sys
resource.setrlimit({number}, ({lowest}, {lowest}))
os.execv(sys.argv[1], sys.argv[1:])
"""
    asks = f"import resource; print(resource.getrlimit({number})[1])"
    confined = [*PYTHON, str(WORKER / "sandbox.py"), json.dumps(limits._asdict()), "--", *PYTHON, "-c", asks]

    done = subprocess.run([*PYTHON, "-c", lowers, *confined], capture_output=True, text=True, check=False)

    assert (done.stdout, done.stderr) == (f"{lowest}\n", "")


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
    restricted = {
        "kill": KILL, "tgkill": TGKILL, "prlimit64": PRLIMIT64, "clone": CLONE, "prctl": PRCTL, "fcntl": FCNTL,
        "ioctl": IOCTL, "socketpair": SOCKETPAIR, "madvise": MADVISE,
        "fallocate": FALLOCATE,
    }  # fmt: skip
    named = {**REFUSED_CALLS, **REFUSED_ALONE, **PRETENDED_CALLS, **MISSING_CALLS, **restricted}

    known = {name: pair[column] for name, pair in named.items() if name in numbers and pair[column] is not None}

    assert len(known) > 60
    assert known == {name: int(numbers[name]) for name in known}


def test_machines_with_full_confinement_have_a_filter_for_their_architecture() -> None:
    assert sandbox_level() < 2 or platform.machine() in ARCHITECTURES
