"""The judge needs torch, triton, numpy and pydantic alone, and a batch holds all of its code."""

import os
import subprocess
import sys
from pathlib import Path

from eval.batch.pack import code_files, write_batch
from tests.eval.batches import batch_of

BARE = Path(__file__).with_name("bare")
IMPORT = """
import sys
for module in sys.argv[1:]:
    __import__(module)
print(*(m.__file__ for n, m in sys.modules.items() if n.partition(".")[0] in ("kb", "eval") and m.__file__), sep="\\n")
"""
"""Imports modules, and prints the files of all that are then loaded of kb and eval."""
NOT_IMPORTED = ("__main__.py", "__init__.py")


def imported(*modules: str, folder: Path | str = "") -> subprocess.CompletedProcess[str]:
    """Import modules on a bare machine; those of kb and eval come from a folder, if one is given."""
    path = os.pathsep.join([str(BARE), str(folder)])
    return subprocess.run(
        [sys.executable, "-P", "-c", IMPORT, *modules], env=os.environ | {"PYTHONPATH": path},
        capture_output=True, text=True, check=False,
    )  # fmt: skip


def test_a_batch_holds_all_of_the_judge_which_needs_torch_triton_numpy_and_pydantic_alone(tmp_path: Path) -> None:
    write_batch(batch_of(), tmp_path / "batch")
    files = [file for file in code_files() if file.suffix == ".py"]
    own = [file for file in files if "selftest" not in file.parts and file.name not in NOT_IMPORTED]

    done = imported(
        "eval.selftest.known", *(".".join(file.with_suffix("").parts) for file in own), folder=tmp_path / "batch"
    )

    assert done.returncode == 0, done.stderr
    assert {*done.stdout.splitlines()} <= {str(tmp_path / "batch" / file) for file in files}


def test_what_needs_more_does_not_load_there() -> None:
    assert "No module named 'typer'" in imported("kb.cli.kernels").stderr
