"""The judge reads and removes a worker's folder with its own rights, and follows no link there."""

import ctypes
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from eval.supervisor.folder import Artifacts, collect, remove
from tests.eval.judging import needs_linux

pytestmark = needs_linux

COUNT = 200
RENAMEAT2, EXCHANGE, HERE = {"x86_64": 316, "aarch64": 276}.get(os.uname().machine, 316), 2, -100


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    """A folder of the user's that the worker may not read."""
    folder = tmp_path / "precious"
    folder.mkdir()
    (folder / "file").write_text("secret")
    folder.chmod(0o755)
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The folder of a worker."""
    (tmp_path / "worker" / "kept").mkdir(parents=True)
    return tmp_path / "worker"


def kept(folder: Path) -> bytes:
    artifacts: Artifacts = {}
    collect(artifacts, folder, below="kept")
    return b"".join(content for _, content in artifacts.values())


def test_a_link_in_place_of_the_kept_folder_is_not_followed(folder: Path, precious: Path) -> None:
    (folder / "kept").rmdir()
    (folder / "kept").symlink_to(precious)

    assert kept(folder) == b""


@pytest.mark.parametrize("target", ["", "file"])
def test_a_link_among_kept_files_is_not_followed(target: str, folder: Path, precious: Path) -> None:
    (folder / "kept" / "link").symlink_to(precious / target)
    (folder / "kept" / "own").write_text("own")

    assert kept(folder) == b"own"


def test_a_pipe_among_kept_files_holds_nobody_up(folder: Path) -> None:
    os.mkfifo(folder / "kept" / "pipe")

    assert kept(folder) == b""


def test_folders_nested_without_end_are_not_kept(folder: Path) -> None:
    before = Path.cwd()
    os.chdir(folder / "kept")
    for _ in range(3000):
        Path("deep").mkdir()
        os.chdir("deep")
    os.chdir(before)

    assert kept(folder) == b""
    remove(folder, os.open(folder, os.O_RDONLY | os.O_DIRECTORY))  # pytest could not


@contextmanager
def swapping(places: list[Path], precious: Path) -> Iterator[None]:
    """Exchange folders for links to `precious` and back, all the time."""
    links = [place.with_name(f"link{number}") for number, place in enumerate(places)]
    for place, link in zip(places, links, strict=True):
        place.mkdir()
        (place / "file").write_text("decoy")
        link.symlink_to(precious)
    handles = [os.open(places[0].parent, os.O_RDONLY)]
    ends, libc = threading.Event(), ctypes.CDLL(None)

    def swap() -> None:
        while not ends.is_set():
            for place, link in zip(places, links, strict=True):
                names = (os.fsencode(path.name) for path in (place, link))
                first, second = names
                libc.syscall(RENAMEAT2, handles[0], first, handles[0], second, EXCHANGE)

    thread = threading.Thread(target=swap)
    thread.start()
    try:
        yield
    finally:
        ends.set()
        thread.join()
        os.close(handles[0])


def test_what_is_exchanged_for_links_meanwhile_is_not_read(folder: Path, precious: Path) -> None:
    with swapping([folder / "kept" / f"d{number}" for number in range(COUNT)], precious):
        found = [kept(folder) for _ in range(20)]

    assert b"secret" not in b"".join(found)


def test_a_link_that_takes_the_place_of_a_folder_is_removed_and_not_followed(
    folder: Path, precious: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    unlink = os.unlink

    def exchanged(name: str, *, dir_fd: int) -> None:
        try:
            unlink(name, dir_fd=dir_fd)
        except IsADirectoryError:
            (folder / name).rmdir()
            (folder / name).symlink_to(precious)
            raise

    monkeypatch.setattr(os, "unlink", exchanged)

    remove(folder, os.open(folder, os.O_RDONLY | os.O_DIRECTORY))

    assert not folder.exists()
    assert (precious / "file").read_text() == "secret"
    assert precious.stat().st_mode & 0o777 == 0o755
