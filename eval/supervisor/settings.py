"""What a worker is started with: its language, its sandbox, and the guards of the judge."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import StrEnum

from eval.supervisor.language import JudgedLanguage


class Guard(StrEnum):
    """A defence of the judge against cheating candidates. Tests switch one off to show that it catches them."""

    SANDBOX = "sandbox"
    CHANNEL = "channel"
    """Any message that is not a reply refuses the candidate."""
    EXIT = "exit"
    """The worker must end with status 0."""
    COMPARISON = "comparison"
    ALIASING = "aliasing"
    MUTATION = "mutation"
    GAPS = "gaps"
    """While a candidate is checked, the memory around its inputs holds garbage."""
    FRESH_INPUTS = "fresh_inputs"
    """Every timed call gets new values, and its outputs are compared."""
    TURNS = "turns"
    """The inputs of a timed call are written just before it, while the worker is stopped: nothing is computed ahead."""
    OVERWRITING = "overwriting"
    """The judge overwrites the outputs of each call afterwards, so that none can be returned a second time."""
    AT_ONCE = "at_once"
    """Outputs are read as soon as the reply comes and must not change afterwards."""
    PAUSE = "pause"
    """The worker is stopped between questions, so that it can neither work ahead nor slow the baseline."""
    REST = "rest"
    """While the worker is stopped, no kernels of its run on the GPU."""
    CLOCKS = "clocks"
    BATCHES = "batches"
    """Several calls are also timed in one question: what a candidate hides in a question is shared by them."""


ALL_GUARDS = frozenset(Guard)


@dataclass
class Spent:
    """Seconds of a verdict in which the judge waits for compilers."""

    compile_s: float = 0.0
    """For what is built of the candidate, and its first call at each set of sizes if a call compiles it."""
    baselines_s: float = 0.0
    """Until the baselines have started, which pause for the turns of other judges of the same GPU."""
    turns_s: float = 0.0
    """It waits while other judges of the same GPU have their turns."""

    @contextmanager
    def on(self, part: str) -> Iterator[None]:
        """Add the time of a `with` block to a field."""
        start = time.monotonic()
        try:
            yield
        finally:
            setattr(self, part, getattr(self, part) + time.monotonic() - start)


@dataclass(frozen=True, kw_only=True)
class WorkerSettings:
    """What a worker is started with. Workers with equal settings can stand in for each other."""

    language: JudgedLanguage
    level: int
    """Sandbox level; see eval.machine.sandbox_level."""
    call_s: float = 60.0
    """Time limit for one build or call."""
    guards: frozenset[Guard] = ALL_GUARDS
    environment: Mapping[str, str] = field(default_factory=dict)
    readable: tuple[str, ...] = ()
    """Files and folders that it may read besides those of its language."""
    writable: tuple[str, ...] = ()
    """Folders, besides its own, that it may write."""
    devices: tuple[str, ...] = ()
    """Device files, and folders of them, that it may use."""
    preload: tuple[str, ...] = ()
    """Modules that it needs besides those of its language."""
