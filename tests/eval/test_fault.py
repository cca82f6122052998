"""Refusals say what happened in words."""

import signal

import pytest

from eval.fault import signal_name


@pytest.mark.parametrize("number", range(1, signal.NSIG))
def test_every_signal_has_a_name(number: int) -> None:
    assert signal_name(number) in (f"signal {number}", *signal.Signals.__members__)
