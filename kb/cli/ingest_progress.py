"""Shows how far an ingest has come: a bar on a terminal, a line every ten seconds elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread

from kb.cli.output import progress_bar
from kb.types.documents import Progress

LINE_S = 10.0
LEAST_S, LEAST_SHARE = 5.0, 0.05
"""A rate that was measured for a shorter time, or on a smaller share of the work, tells nothing of the rest."""
COUNTED = {"reading": "files", "embedding": "passages"}


class State:
    """The last progress of an ingest, in words."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._phase = ""
        self._began_s = 0.0
        self.line = ""

    def update(self, progress: Progress) -> None:
        now_s = self._clock()
        if progress.phase != self._phase:
            self._phase, self._began_s = progress.phase, now_s
        self.line = f"{progress.phase}: {progress.done:,} of {progress.total:,} {COUNTED[progress.phase]}"
        if left := _remaining(now_s - self._began_s, progress.share):
            self.line += f", {left} left"


def _remaining(elapsed_s: float, share: float) -> str:
    """The rest of a phase at its rate so far, in words; empty if it cannot be told yet."""
    if elapsed_s < LEAST_S or share < LEAST_SHARE or share >= 1:
        return ""
    rest_s = elapsed_s * (1 - share) / share
    return f"about {rest_s / 60:.0f} min" if rest_s >= 90 else f"about {max(rest_s, 1):.0f} s"


@contextmanager
def ingest_progress(*, quiet: bool) -> Iterator[Callable[[Progress], None]]:
    """Show on standard error what the yielded function is told."""
    state = State()
    if quiet:
        yield lambda progress: None
    elif sys.stderr.isatty():
        with progress_bar("", quiet=False) as show:

            def tell(progress: Progress) -> None:
                state.update(progress)
                show(progress.share, 1, state.line)

            yield tell
    else:
        ended = Event()
        printer = Thread(target=_print_lines, args=(state, ended), daemon=True)
        printer.start()
        try:
            yield state.update
        finally:
            ended.set()


def _print_lines(state: State, ended: Event) -> None:
    while not ended.wait(LINE_S):
        if state.line:
            print(state.line, file=sys.stderr, flush=True)
