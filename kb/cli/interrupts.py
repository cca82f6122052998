"""Lets Ctrl-C and SIGTERM end a command in the same way: it tidies up, and its exit status names the signal."""

import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

import typer

ONE_INTERRUPT_S = 1.0
"""Signals within this time are one interrupt: keys bounce, and `timeout` sends its signal twice."""


@contextmanager
def interruptible() -> Iterator[None]:
    """Inside this context SIGINT and SIGTERM raise KeyboardInterrupt; it ends with exit status 128 + signal."""
    last_signal, last_time = 0, float("-inf")

    def interrupt(number: int, frame: FrameType | None) -> None:
        nonlocal last_signal, last_time
        before, last_time = last_time, time.monotonic()
        if last_time - before > ONE_INTERRUPT_S:
            last_signal = number
            raise KeyboardInterrupt

    handlers = {number: signal.signal(number, interrupt) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    except KeyboardInterrupt:
        raise typer.Exit(128 + last_signal) from None
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
