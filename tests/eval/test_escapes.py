"""A confined process cannot reach anything outside its folder, as this user and as nobody; probes.py has the table."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from eval.devices.gpu import READABLE, WRITABLE, device_files
from eval.supervisor.language import WORKER
from tests.eval import probes
from tests.eval.confined import Place, make_place
from tests.eval.judging import needs_linux, needs_sandbox

pytestmark = [needs_linux, needs_sandbox]

NOBODY = 65534
"""Id of a user without rights. The tests become this user if they run as root."""
USERS = {"this user": None, "nobody": NOBODY}


@pytest.fixture(scope="module", params=USERS.values(), ids=USERS)
def user(request: pytest.FixtureRequest) -> int | None:
    chosen: int | None = request.param
    return chosen


@pytest.fixture(scope="module")
def python(user: int | None) -> str:
    """A Python that the user can start."""
    if user is None:
        return sys.executable
    if os.getuid():
        pytest.skip("only root can become another user")
    for python in (sys.executable, shutil.which("python3", path="/usr/bin:/usr/local/bin")):
        if python and can_start(python, user):
            return python
    return pytest.skip("that user can start no Python, or cannot read this project")


def can_start(python: str, user: int) -> bool:
    script = f"open({str(WORKER / 'sandbox.py')!r})"
    try:
        done = subprocess.run([python, "-I", "-c", script], user=user, group=user, extra_groups=(), check=False)
    except OSError:
        return False
    return done.returncode == 0


def probed(user: int | None, python: str, *, level: int, **options: Any) -> dict[str, str]:
    with tempfile.TemporaryDirectory() as root:
        return make_place(Path(root), user, python).probe(level=level, **options)


@pytest.fixture(
    scope="module", params=[pytest.param(False, id="no GPU"), pytest.param(True, id="GPU", marks=pytest.mark.gpu)]
)
def confined(request: pytest.FixtureRequest, user: int | None, python: str) -> dict[str, str]:
    given = {"devices": device_files(), "readable": READABLE, "writable": WRITABLE} if request.param else {}
    if request.param and not given["devices"]:
        pytest.skip("there is no GPU")
    return probed(user, python, level=2, **given)


@pytest.fixture(scope="module")
def free(user: int | None, python: str) -> dict[str, str]:
    """Outcomes of the probes without confinement: a probe that fails there proves nothing."""
    return probed(user, python, level=1)


def test_every_forbidden_action_is_refused(confined: dict[str, str], free: dict[str, str]) -> None:
    possible = [name for name in probes.PROBES if free[name] == "done"]

    assert possible
    assert {name: confined[name] for name in possible} == dict.fromkeys(possible, "refused")


def test_a_confined_process_has_what_a_kernel_needs(confined: dict[str, str]) -> None:
    assert {name: confined[name] for name in probes.NEEDS} == dict.fromkeys(probes.NEEDS, "done")


@pytest.fixture
def place(user: int | None, python: str) -> Iterator[Place]:
    with tempfile.TemporaryDirectory() as root:
        yield make_place(Path(root), user, python)


ALONE = """
import ctypes, os, subprocess, threading
thread = threading.Thread(target=int)
thread.start()
thread.join()
for start in (os.fork, lambda: os.execv("/bin/true", ["true"]), lambda: subprocess.run(["/bin/true"])):
    try:
        start()
    except OSError as error:
        print(error.errno)
print(*[ctypes.CDLL(None).syscall(number, 17, 0, 0, 0, 0) for number in (56, 57, 58, 322, 435)])
"""


def test_a_process_that_must_be_alone_starts_threads_only(place: Place) -> None:
    done = place.script(ALONE, level=2, alone=True)

    assert done.stdout == "1\n1\n1\n-1 -1 -1 -1 -1\n", done.stderr


UNCHANGED = """
import os, sys
file = {file!r}
os.chmod(file, 0o777)
os.chown(file, -1, os.getgid())
os.utime(file, (0, 0))
try:
    os.setxattr(file, "user.kb", b"x")
finally:
    before = os.getsid(0), os.getpgid(0)
    os.setsid()
    os.setpgid(0, 0)
    assert before == (os.getsid(0), os.getpgid(0))
"""


def test_changing_the_properties_of_a_file_or_leaving_the_session_reports_success_but_does_nothing(
    place: Place,
) -> None:
    secret = place.home / "secret"
    before = secret.stat(), os.listxattr(secret)

    done = place.script(UNCHANGED.format(file=str(secret)), level=2)

    assert done.returncode == 0, done.stderr
    assert (secret.stat(), os.listxattr(secret)) == before


def test_a_crash_leaves_no_core_dump(place: Place) -> None:
    place.script("import os; os.abort()", level=2)

    assert not list(place.folder.glob("core*"))


def test_open_files_are_limited(place: Place) -> None:
    done = place.script("import os\nwhile True: print(os.dup(0))", level=2)

    assert "Too many open files" in done.stderr
