"""The kernels that ship as skills are right where values are hard, in Triton's interpreter."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("triton")

SKILLS = Path(__file__).parents[2] / "kb" / "skills"
BEGINS_WITH_MINUS_INFINITY = """
import runpy, sys, torch
kernel = runpy.run_path(sys.argv[1])
x = torch.linspace(-3, 3, 2 * 2600).reshape(2, 2600)
x[0, :2100] = float("-inf")
x[1, 100:2600] = float("-inf")
labels = torch.tensor([2550, 7])
for block in (256, 1024, 4096):
    kernel["ModelNew"].forward.__globals__["BLOCK"] = block
    given, right = {
        "softmax": ((x,), x.softmax(-1)),
        "cross-entropy": ((x, labels), torch.nn.functional.cross_entropy(x, labels, reduction="none")),
    }[sys.argv[2]]
    torch.testing.assert_close(kernel["ModelNew"]()(*given), right)
"""


@pytest.mark.parametrize("operation", ["softmax", "cross-entropy"])
def test_whole_blocks_of_minus_infinity_add_nothing_to_a_row(operation: str) -> None:
    kernel = SKILLS / f"{operation}-triton" / "scripts" / "kernel.py"
    command = [sys.executable, "-c", BEGINS_WITH_MINUS_INFINITY, str(kernel), operation]
    subprocess.run(command, env={**os.environ, "TRITON_INTERPRET": "1"}, check=True, timeout=120)
