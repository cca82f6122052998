"""`kb batch`: two kernels go to a machine with four packages alone, and their verdicts come back into a run."""

import json
import os
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eval.machine import sandbox_level
from tests.cli.conftest import Run
from tests.cli.test_kernels import RIGHT, TASK, needs_compiler, needs_linux
from tests.eval.test_bare_machine import BARE

TARGET = {"x86_64": "cpu-x86", "aarch64": "arm"}.get(platform.machine(), "")
READS_THE_KEY = RIGHT.replace(
    '#include "kb_tensor.h"', '#include "kb_tensor.h"\n#include <cstdio>\n#include <cstdlib>'
).replace("    const float *x", '    if (!std::fopen("BATCH", "r")) std::abort();\n    const float *x')


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    wrong = RIGHT.replace("+ 1", "+ 2")
    reads = READS_THE_KEY.replace("BATCH", str(tmp_path / "batch" / "batch"))
    for name, text in {"task.py": TASK, "right.cpp": RIGHT, "wrong.cpp": wrong, "reads.cpp": reads}.items():
        (tmp_path / name).write_text(text)
    return [str(tmp_path / name) for name in ("right.cpp", "wrong.cpp", "reads.cpp")]


@pytest.mark.slow
@needs_linux
@needs_compiler
@pytest.mark.skipif(not TARGET, reason="kb has no target for this CPU")
@pytest.mark.skipif(sandbox_level() < 2, reason="this kernel lacks Landlock or seccomp")
def test_two_kernels_are_judged_where_four_packages_are_installed_and_come_back(
    run: Run, files: list[str], tmp_path: Path
) -> None:
    folder = tmp_path / "batch"
    packed = run("batch", "pack", folder, *files, "--task", tmp_path / "task.py", "--target", TARGET, "--json")
    assert packed.status == 0, packed
    assert json.loads((folder / "batch").read_text().splitlines()[1])["key"] not in packed.out

    environment = os.environ | {"PYTHONPATH": str(BARE), "KB_HOME": str(tmp_path / "none")}
    judged = subprocess.run(
        [sys.executable, "-m", "eval"], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert judged.stderr == ""
    first, second, third = judged.stdout.splitlines()
    assert first.startswith(f"1 of 3: task for {TARGET}: passed")
    assert judged.returncode == ("busy" in first)
    assert second == f"2 of 3: task for {TARGET}: incorrect"
    assert third == f"3 of 3: task for {TARGET}: crashed", "a candidate that cannot read the key ends itself"

    shutil.move(folder, tmp_path / "back")
    taken = run("batch", "take", tmp_path / "back")
    assert taken.status == 0, taken
    (name,) = packed.json["runs"]
    shown = run("runs", "show", name, "--json").json[0]
    assert [a["verdict"]["evidence"]["outcome"] for a in shown["attempts"]] == ["passed", "incorrect", "crashed"]
    assert [a["note"] for a in shown["attempts"]] == ["right.cpp", "wrong.cpp", "reads.cpp"]
    assert "3 verdicts taken that the runs did not have" in taken.out

    again = run("batch", "take", tmp_path / "back", "--json")
    assert (again.status, again.json["new"]) == (0, 0)


def test_a_batch_without_verdicts_brings_nothing_and_says_so(run: Run, files: list[str], tmp_path: Path) -> None:
    task, folder = tmp_path / "task.py", tmp_path / "batch"
    assert run("batch", "pack", folder, files[0], "--task", task, "--target", "cpu-x86").status == 0

    taken = run("batch", "take", folder)

    assert taken.status == 1
    assert "missing: 1 of 1: task for cpu-x86: it is not judged yet" in taken.out


def test_a_task_without_a_target_is_wrong_usage(run: Run, tmp_path: Path) -> None:
    done = run("batch", "pack", tmp_path / "batch", "--task", tmp_path / "task.py")

    assert done.status == 2
    assert "--task and --target belong together" in done.err


@pytest.mark.parametrize(("words", "asked"), [([], "ray://head:10001"), (["--pool", "ray"], "ray")])
def test_the_environment_names_the_pool_and_an_option_wins(
    words: list[str], asked: str, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools = list[str]()
    monkeypatch.setenv("KB_POOL", "ray://head:10001")
    monkeypatch.setattr("eval.batch.judge.judge_batch", lambda folder, tell, devices, pool: pools.append(pool))

    assert run("batch", "judge", tmp_path, *words).status == 0
    assert pools == [asked]
