"""What the judge found is shown line by line."""

import pytest

from eval.languages.registry import TRITON
from kb.cli.verdicts import show_verdict
from kb.types.profiler import KernelProfile, Profile
from kb.views.verdicts import verdict
from tests.synth.samples import candidate, evidence


def test_each_profiled_kernel_has_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    kernels = tuple(
        KernelProfile(kernel=name, launches=2, microseconds=us, metrics={"launch__registers_per_thread": 32.0})
        for name, us in (("scale_rows", 7.5), ("add", 2.0))
    )
    found = Profile(kernels=kernels, launches=4, microseconds=9.5)

    show_verdict(verdict(evidence(candidate(TRITON), speedup=0.8).model_copy(update={"profile": found})))

    lines = capsys.readouterr().out.splitlines()
    assert "  kernel scale_rows: 7.5 us, 2 launches; 32 registers per thread" in lines
    assert "  kernel add: 2.0 us, 2 launches; 32 registers per thread" in lines
