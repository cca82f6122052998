"""What is written outlasts a kill and a full disk: whole or not at all, and nothing is left beside it."""

import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

from kb.errors import KbError
from kb.mcp.hosts import CodexFile, JsonFile, ServerEntry
from kb.runs.journal import Plan, Run, Runs, SynthesizerKind
from kb.storage import slug, write_whole
from kb.targets import Targets
from kb.types.kernels import Task
from kb.types.measurement import Findings, ProbedDevice
from kb.usecases.knowledge_base import KnowledgeBase
from kb.usecases.probing import store

DEVICE = ProbedDevice(name="NVIDIA H200", backend="cuda", architecture="sm_90", features=(), software=("torch 2",))


def a_run(home: Path) -> Run:
    plan = Plan(
        task=Task(name="t", source="x"), target="h200", language="triton",
        synthesizer=SynthesizerKind.TUNE, evaluations=1,
    )  # fmt: skip
    return Runs(home).start(plan)


def add_target(kb: KnowledgeBase) -> None:
    Targets.load(kb.settings.home).with_new("chip", aliases=["c"]).save()


def store_probe(kb: KnowledgeBase) -> None:
    store(kb, Findings(device=DEVICE, date="2026-01-02", readings=(), missing=()), "h200")


def install(kb: KnowledgeBase, host: type[CodexFile] | type[JsonFile]) -> None:
    host(kb.settings.home / "host" / "config").add(ServerEntry("kb", ["mcp"], {"KB_HOME": str(kb.settings.home)}))


WRITERS: dict[str, Callable[[KnowledgeBase], object]] = {
    "targets add": add_target,
    "probe": store_probe,
    "mcp install codex": lambda kb: install(kb, CodexFile),
    "mcp install cursor": lambda kb: install(kb, JsonFile),
    "runs start": lambda kb: a_run(kb.settings.home),
    "prompt": lambda kb: a_run(kb.settings.home).write("prompts/001.md", "text"),
}


def left_aside(home: Path) -> list[Path]:
    """What is not complete: by the ways in which kb and tempfile name such files."""
    return [p for p in home.rglob("*") if p.name.startswith((".staged-", ".new-", ".stage-", "tmp"))]


@pytest.mark.parametrize("call", ["os.fsync", "pathlib.Path.replace", "pathlib.Path.rename"])
@pytest.mark.parametrize("writer", WRITERS)
def test_no_temporary_file_is_left_when_the_disk_refuses(
    kb: KnowledgeBase, monkeypatch: pytest.MonkeyPatch, writer: str, call: str
) -> None:
    def refuse(*arguments: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(call, refuse)
    with suppress(KbError, OSError):
        WRITERS[writer](kb)

    assert left_aside(kb.settings.home) == []


@pytest.mark.parametrize("writer", WRITERS)
def test_no_temporary_file_is_left_after_success(kb: KnowledgeBase, writer: str) -> None:
    WRITERS[writer](kb)

    assert left_aside(kb.settings.home) == []


def test_a_write_that_is_interrupted_leaves_the_old_file_and_nothing_beside_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "file"
    file.write_text("old", encoding="utf-8")

    def interrupted(handle: int) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("os.fsync", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_whole(file, "new")

    assert (file.read_text(encoding="utf-8"), list(tmp_path.iterdir())) == ("old", [file])


def test_a_file_keeps_its_permissions_and_a_new_one_has_what_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        write_whole(tmp_path / "new", "text")
        (tmp_path / "old").touch()
        (tmp_path / "old").chmod(0o604)
        write_whole(tmp_path / "old", "text")
    finally:
        os.umask(before)

    assert [(tmp_path / name).stat().st_mode & 0o777 for name in ("new", "old")] == [0o640, 0o604]


def test_what_a_link_points_at_is_written_and_the_link_stays(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "dotfiles" / "file")

    write_whole(tmp_path / "link", "é\n")

    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "dotfiles" / "file").read_bytes() == "é\n".encode()


@pytest.mark.parametrize(("text", "name"), [("NVIDIA H200 (NVL)", "nvidia-h200-nvl"), ("--", ""), ("é_ß", "")])
def test_a_slug_has_small_letters_digits_and_single_hyphens(text: str, name: str) -> None:
    assert slug(text) == name
