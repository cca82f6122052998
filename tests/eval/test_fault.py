"""Refusals say what happened in words."""

import signal

from eval.worker.fault import signal_name


def test_every_signal_has_a_name() -> None:
    for number in range(1, signal.NSIG):
        assert signal_name(number) in (f"signal {number}", *signal.Signals.__members__)
