"""The audit of a task finds what would make a verdict meaningless, and never fails itself."""

import sys
from pathlib import Path

import pytest

from benchmarks.kernelbench import audit as driver
from benchmarks.kernelbench.audit import Audit, Usability
from benchmarks.kernelbench.audit_process import audit
from eval.oracle.task import task_of
from kb.types.kernels import Task
from tests.eval.judging import needs_linux

pytestmark = needs_linux

TASK = """
import os
import time
import torch
from torch import nn

ROWS = 64
COLS = 32


class Model(nn.Module):
    def forward(self, x):
        {forward}


def get_inputs():
    return [torch.randn(ROWS, COLS)]


def get_init_inputs():
    return []
"""


def task(forward: str, changes: dict[str, str] | None = None) -> Task:
    source = TASK.format(forward=forward)
    for old, new in (changes or {}).items():
        source = source.replace(old, new)
    return task_of(source, name="made-up", place="a test")


def audited(forward: str, changes: dict[str, str] | None = None) -> Audit:
    """The audit in this process, which has torch."""
    *_, found = audit(task(forward, changes))
    return found


def test_a_sound_task_is_usable() -> None:
    found = audited("return x @ x.T")

    assert (found.verdict, found.reason, found.degenerate, found.random) == (Usability.USABLE, "", (), False)
    assert set(found.sizes) == {"ROWS", "COLS"}


@pytest.mark.parametrize(
    ("forward", "reason"),
    [
        ("return (x - x.mean(1, keepdim=True)).mean(1, keepdim=True) * 0 * x", "other inputs"),
        ("return torch.where(x > 99, x, 0.0)", "other inputs|zeros"),
        ("return x.clone()", "input 0"),
        ("return x + 0 * torch.rand_like(x) + torch.rand_like(x)", "draws random numbers"),
        ("return nn.functional.dropout(x)", "draws random numbers"),
        ("return x / 0", "infinities or NaN"),
        ("self.kept = getattr(self, 'kept', x.clone()); return self.kept.copy_(x)", "a buffer of its own"),
        ("return x.add_(1)", "changes its inputs"),
    ],
)
def test_a_task_whose_verdicts_would_mean_nothing_is_refused(forward: str, reason: str) -> None:
    found = audited(forward)

    assert found.verdict is Usability.REFUSED, found
    assert any(part in found.reason for part in reason.split("|")), found.reason


@pytest.mark.parametrize(
    ("forward", "changes", "reason"),
    [
        ("return x", {"import time": "import no_such_package"}, "No module named 'no_such_package'"),
        ("return y", {}, "NameError"),
    ],
)
def test_a_task_that_does_not_run_fails_with_the_reason(forward: str, changes: dict[str, str], reason: str) -> None:
    found = audited(forward, changes)

    assert found.verdict is Usability.FAILS
    assert reason in found.reason


def test_a_task_that_is_too_large_is_audited_at_smaller_sizes() -> None:
    found = audited("return x * 2", {"COLS = 32": "COLS = 1048576", "ROWS = 64": "ROWS = 1024 * 1024"})

    assert found.verdict is Usability.NOT_HERE
    assert "GiB in float64" in found.reason
    assert found.degenerate == ()


AUDITOR = """#!{python}
import subprocess, sys, time
print({said!r}, flush=True)
{then}
"""
LEAVES = "subprocess.Popen(['sleep', '20'], start_new_session=True)"


@pytest.mark.parametrize(
    ("then", "reason"),
    [
        pytest.param("sys.exit(3)", "its process ended with status 3 (loading)", id="dies"),
        pytest.param("time.sleep(60)", "the audit took more than 1 s (loading)", id="hangs"),
        pytest.param(f"{LEAVES}; time.sleep(60)", "the audit took more than 1 s", id="leaves its group and hangs"),
    ],
)
def test_a_task_that_hangs_or_dies_costs_only_its_own_audit(
    then: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = Audit(task="made-up", task_digest="", reason="loading").model_dump_json()
    auditor = tmp_path / "auditor"
    auditor.write_text(AUDITOR.format(python=sys.executable, said=said, then=then))
    auditor.chmod(0o755)
    monkeypatch.setattr(driver, "REST_S", 0.5)
    monkeypatch.setattr(sys, "executable", str(auditor))

    found = driver.audit(task("return x"), limit_s=1 if "sleep" in then else 60)

    assert found.verdict is Usability.NOT_HERE
    assert found.reason.startswith(reason)
    assert found.seconds < 15


@pytest.mark.slow
def test_what_a_task_prints_is_not_taken_for_the_audit() -> None:
    found = driver.audit(task("print('{}'); return x * x"))

    assert (found.verdict, found.reason) == (Usability.USABLE, "")
